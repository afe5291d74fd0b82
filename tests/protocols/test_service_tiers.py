"""Service tiers: in the request of each API, in its responses, and in the cost."""

from typing import Any, cast

import pytest
from anthropic.types import Message as AnthropicMessage
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from attrs import evolve
from google.genai import types as genai
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from llmcore import (
    AmazonBedrock,
    Anthropic,
    Client,
    Google,
    LLMRequest,
    LLMResponse,
    Model,
    OpenAI,
    OpenAICompatible,
    Usage,
    generate,
    request,
)
from llmcore.catalog.cost import cost_of, response_cost
from llmcore.routes.chat_providers import Cerebras, Fireworks, Groq
from llmcore.routes.mistral import Mistral
from llmcore.routes.vertex import Vertex
from llmcore.routes.xai import XAI
from llmcore.schema import json
from llmcore.schema.errors import InvalidRequestError
from llmcore.testing import (
    decode_recorded,
    read_as_front,
    recorded_events,
    scripted,
    write_as_front,
)
from tests.support.wire.prepared import prepare

OPENAI = OpenAI.configure(api_key="k")
BEDROCK = AmazonBedrock.configure(api_key="k", region="us-east-1")
VERTEX = Vertex.configure(api_key="k")
MODELS: dict[str, Model] = {
    "chat": OPENAI.chat("gpt-5.2"),
    "responses": OPENAI.responses("gpt-5.2"),
    "messages": Anthropic.configure(api_key="k").model("claude-opus-4-6"),
    "gemini": Google.configure(api_key="k").model("gemini-3-flash-preview"),
    "converse": BEDROCK.model("anthropic.claude-opus-4-6-v1"),
    "bedrock chat": BEDROCK.chat("openai.gpt-oss-120b-1:0"),
    "vertex": VERTEX.gemini("gemini-3-flash-preview"),
    "vertex claude": VERTEX.claude("claude-opus-4-6"),
    "groq": Groq.configure(api_key="k").model("openai/gpt-oss-120b"),
    "cerebras": Cerebras.configure(api_key="k").model("gpt-oss-120b"),
    "fireworks": Fireworks.configure(api_key="k").model("accounts/fireworks/models/glm-4p7"),
    "mistral": Mistral.configure(api_key="k").model("mistral-large-latest"),
    "xai": XAI.configure(api_key="k").chat("grok-4"),
    "server": OpenAICompatible.configure(name="s", base_url="https://s.example/v1").model("m"),
}

# -- asking


@pytest.mark.parametrize(
    ("name", "tier", "sent"),
    [
        ("chat", "auto", "auto"),
        ("chat", "default", "default"),
        ("chat", "flex", "flex"),
        ("chat", "scale", "scale"),
        ("responses", "priority", "priority"),
        ("responses", "fast", "fast"),
        ("messages", "auto", "auto"),
        ("messages", "default", "standard_only"),
        ("messages", "standard_only", "standard_only"),
        ("gemini", "auto", None),
        ("gemini", "default", "standard"),
        ("gemini", "flex", "flex"),
        ("converse", "auto", None),
        ("converse", "default", {"type": "default"}),
        ("converse", "reserved", {"type": "reserved"}),
        ("bedrock chat", "priority", "priority"),
        ("vertex", "default", None),
        ("vertex claude", "default", None),
        ("groq", "default", "on_demand"),
        ("groq", "performance", "performance"),
        ("cerebras", "auto", "auto"),
        ("cerebras", "flex", "flex"),
        ("fireworks", "priority", "priority"),
        ("fireworks", "auto", None),
        ("mistral", "auto", "auto"),
        ("mistral", "default", "standard_only"),
        ("xai", "priority", "priority"),
        ("server", "auto", None),
        ("server", "default", None),
    ],
)
def test_a_tier_is_sent_in_the_words_of_the_api(name: str, tier: str, sent: object) -> None:
    """Words of the API's own go as they are; what happens anyway is not asked for."""
    prepared = prepare(request(model=MODELS[name], prompt="Hi", service_tier=tier))
    body = cast("dict[str, Any]", prepared.body)

    assert body.get("service_tier", body.get("serviceTier")) == sent
    assert prepared.diagnostics == ()


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("messages", "flex"),
        ("messages", "priority"),
        ("vertex claude", "priority"),
        ("groq", "priority"),
        ("fireworks", "flex"),
        ("mistral", "priority"),
        ("xai", "flex"),
        ("server", "flex"),
        ("server", "own"),
    ],
)
def test_a_tier_that_the_api_does_not_have_is_reported(name: str, tier: str) -> None:
    """It is not sent."""
    prepared = prepare(request(model=MODELS[name], prompt="Hi", service_tier=tier))
    (note,) = prepared.diagnostics

    assert (note.code, note.path) == ("unsupported-parameter", "generation.service_tier")
    assert "service_tier" not in cast("dict[str, Any]", prepared.body)


def test_vertex_is_asked_by_a_header() -> None:
    """Source: https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/flex-paygo."""
    flex, plain = (
        prepare(request(model=MODELS["vertex"], prompt="Hi", service_tier=tier)).http.headers
        for tier in ("flex", None)
    )

    assert flex["x-vertex-ai-llm-shared-request-type"] == "flex"
    assert "x-vertex-ai-llm-shared-request-type" not in plain


@pytest.mark.parametrize("name", ["chat", "responses", "messages", "gemini"])
def test_a_provider_option_goes_before_the_field(name: str) -> None:
    """Native fields are laid over the body, as they were before there was the field."""
    native = "serviceTier" if name == "gemini" else "service_tier"
    key = MODELS[name].provider
    asked = request(
        model=MODELS[name],
        prompt="Hi",
        service_tier="default",
        provider_options={key: {native: "x"}},
    )

    assert cast("dict[str, Any]", prepare(asked).body)[native] == "x"


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("chat", CompletionCreateParamsNonStreaming),
        ("responses", ResponseCreateParamsNonStreaming),
        ("messages", MessageCreateParamsNonStreaming),
    ],
)
def test_the_vendors_types_have_what_is_sent(name: str, types: Any) -> None:
    """The field is known to the SDK, with this value."""
    asked = request(model=MODELS[name], prompt="Hi", service_tier="auto")
    read = TypeAdapter(types).validate_python(json.loads(prepare(asked).http.body))

    assert read["service_tier"] == "auto"


def test_a_tier_is_text() -> None:
    """Anything else is refused before anything is sent."""
    with pytest.raises(InvalidRequestError, match="service_tier is an int"):
        request(model="m", prompt="Hi", service_tier=cast("Any", 3))


# -- responses

CHAT: dict[str, Any] = {
    "id": "c1", "object": "chat.completion", "created": 0, "model": "gpt-5.2",
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "Hi"}}],
    "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0, "total_tokens": 1_000_000},
}  # fmt: skip
RESPONSES: dict[str, Any] = {
    "id": "r1", "object": "response", "created_at": 0, "status": "completed", "model": "gpt-5.2",
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    "output": [{"id": "m1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}],
    "usage": {"input_tokens": 1_000_000, "output_tokens": 0, "total_tokens": 1_000_000},
}  # fmt: skip
MESSAGES: dict[str, Any] = {
    "id": "m1", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
    "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "stop_sequence": None,
    "usage": {"input_tokens": 1_000_000, "output_tokens": 0},
}  # fmt: skip
GEMINI: dict[str, Any] = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]},
                    "finishReason": "STOP", "index": 0}],
    "modelVersion": "gemini-3-flash-preview", "responseId": "g1",
    "usageMetadata": {"promptTokenCount": 1_000_000, "totalTokenCount": 1_000_000},
}  # fmt: skip
CONVERSE: dict[str, Any] = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1_000_000, "outputTokens": 0, "totalTokens": 1_000_000},
}


def stating(protocol_id: str, word: str) -> dict[str, Any]:
    """Return a response that *word* served, in the form of an API."""
    match protocol_id:
        case "openai-chat":
            return {**CHAT, "service_tier": word}
        case "openai-responses":
            return {**RESPONSES, "service_tier": word}
        case "anthropic-messages":
            return {**MESSAGES, "usage": {**MESSAGES["usage"], "service_tier": word}}
        case "gemini":
            name = "trafficType" if word.isupper() else "serviceTier"
            return {**GEMINI, "usageMetadata": {**GEMINI["usageMetadata"], name: word}}
        case _:
            return {**CONVERSE, "serviceTier": {"type": word}}


def recorded(protocol_id: str, word: str) -> dict[str, Any]:
    """Return the arguments of `decode_recorded`."""
    return {
        "protocol_id": protocol_id,
        "status": 200,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(stating(protocol_id, word)),
        "streaming": False,
    }


SERVED = [
    ("openai-chat", "default", "default"),
    ("openai-chat", "on_demand", "default"),
    ("openai-chat", "flex", "flex"),
    ("openai-responses", "priority", "priority"),
    ("anthropic-messages", "standard", "default"),
    ("anthropic-messages", "batch", "batch"),
    ("gemini", "standard", "default"),
    ("gemini", "priority", "priority"),
    ("gemini", "ON_DEMAND", "default"),
    ("gemini", "ON_DEMAND_FLEX", "flex"),
    ("gemini", "PROVISIONED_THROUGHPUT", "PROVISIONED_THROUGHPUT"),
    ("bedrock-converse", "priority", "priority"),
]


@pytest.mark.parametrize(("protocol_id", "word", "tier"), SERVED)
def test_the_tier_that_served_a_response_is_in_its_usage(
    protocol_id: str, word: str, tier: str
) -> None:
    """In the same words, whichever API answered."""
    answered = decode_recorded(**recorded(protocol_id, word)).unwrap()

    assert answered.usage.service_tier == tier


def test_the_documents_are_those_that_the_sdks_read() -> None:
    """The fields stand where the vendors' types have them."""
    chat = ChatCompletion.model_validate(stating("openai-chat", "flex"), strict=False)
    details = {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}
    details |= {"output_tokens_details": {"reasoning_tokens": 0}}
    document = stating("openai-responses", "flex")
    document["usage"] = {**document["usage"], **details}
    responses = Response.model_validate(document, strict=False)
    message = AnthropicMessage.model_validate(stating("anthropic-messages", "priority"))
    gemini = genai.GenerateContentResponse.model_validate(stating("gemini", "ON_DEMAND_FLEX"))

    assert (chat.service_tier, responses.service_tier) == ("flex", "flex")
    assert message.usage.service_tier == "priority"
    assert gemini.usage_metadata is not None
    assert gemini.usage_metadata.traffic_type == genai.TrafficType.ON_DEMAND_FLEX


@pytest.mark.parametrize(
    ("front_id", "tier", "written"),
    [
        ("openai-chat", "flex", "flex"),
        ("openai-chat", "default", "default"),
        ("openai-chat", "batch", None),
        ("openai-responses", "priority", "priority"),
        ("anthropic-messages", "default", "standard"),
        ("anthropic-messages", "priority", "priority"),
        ("anthropic-messages", "flex", None),
        ("gemini", "default", "standard"),
        ("gemini", "flex", "flex"),
        ("gemini", "scale", None),
    ],
)
def test_a_front_writes_the_tier_of_any_upstream(
    front_id: str, tier: str, written: str | None
) -> None:
    """In the words of the client's API; a tier that it has no word for is left out."""
    upstream = {
        "openai-chat": "bedrock-converse",
        "openai-responses": "gemini",
        "anthropic-messages": "openai-chat",
        "gemini": "openai-responses",
    }[front_id]
    events = recorded_events(**recorded(upstream, tier))
    whole: Any = json.loads(write_as_front(front_id, events, streaming=False))
    place = whole.get("usageMetadata", whole.get("usage", {}))
    word = {**whole, **place}.get("serviceTier" if front_id == "gemini" else "service_tier")

    assert word == (written if front_id != "openai-responses" else written or "default")


@pytest.mark.parametrize(
    ("front_id", "fields", "tier"),
    [
        ("openai-responses", {"input": "Hi", "service_tier": "flex"}, "flex"),
        ("openai-responses", {"input": "Hi", "service_tier": "auto"}, "auto"),
        ("anthropic-messages", {"max_tokens": 9, "service_tier": "standard_only"}, "default"),
        ("anthropic-messages", {"max_tokens": 9, "service_tier": "auto"}, "auto"),
        ("gemini", {"serviceTier": "standard"}, "default"),
        ("gemini", {"service_tier": "SERVICE_TIER_PRIORITY"}, "priority"),
        ("gemini", {"serviceTier": "SERVICE_TIER_UNSPECIFIED"}, None),
    ],
)
def test_a_front_reads_the_tier_that_a_client_asks_for(
    front_id: str, fields: dict[str, Any], tier: str | None
) -> None:
    """As the field of the request, which every protocol writes in the words of its API."""
    said: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    path = ""
    if front_id == "gemini":
        said = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
        path = "/v1beta/models/m:generateContent"
    asked = read_as_front(front_id, {**said, **fields}, path=path).unwrap()

    assert asked.generation.service_tier == tier
    assert asked.provider_options == {}


def test_a_chat_server_gets_the_field_of_its_own_client_unchanged() -> None:
    """The Chat front passes on every field of a client to an upstream of the same API."""
    messages = [{"role": "user", "content": "Hi"}]
    said: dict[str, Any] = {"model": "m", "messages": messages, "service_tier": "own"}
    asked: LLMRequest = read_as_front("openai-chat", said).unwrap()

    assert asked.provider_options == {"openai": {"service_tier": "own"}}


# -- cost

TIERS = st.sampled_from([None, "default", "flex", "priority"])


@given(st.lists(TIERS, max_size=5), st.integers(0, 5))
def test_usages_add_up_to_one_tier_or_to_mixed(tiers: list[str | None], cut: int) -> None:
    """In any grouping."""
    usages = [Usage(service_tier=tier) for tier in tiers]
    known = set(tiers) - {None}
    total = sum(usages, Usage())

    assert total == sum(usages[:cut], Usage()) + sum(usages[cut:], Usage())
    assert total.service_tier == (next(iter(known), None) if len(known) < 2 else "mixed")


@pytest.mark.parametrize(
    ("tier", "dollars"), [("flex", 0.875), ("default", 1.75), ("priority", 3.5), ("mixed", None)]
)
def test_the_tier_of_a_usage_sets_its_price(tier: str, dollars: float | None) -> None:
    """A tier without a listed price costs an unknown amount."""
    usage = Usage.make(input_tokens=1_000_000, output_tokens=0, service_tier=tier)

    assert cost_of("openai", "gpt-5.2", usage) == dollars


def test_a_tier_whose_price_the_catalog_does_not_have_costs_an_unknown_amount() -> None:
    """Gemini's tier stands in the usage alone."""
    flex, standard = (
        evolve(decode_recorded(**recorded("gemini", word)).unwrap(), provider="google")
        for word in ("flex", "standard")
    )

    assert (response_cost(flex), response_cost(standard)) == (None, 0.5)


@pytest.mark.anyio
async def test_a_tier_that_only_a_header_states_is_read() -> None:
    """Gemini downgrades requests beyond the limit of priority, and states so in a header."""
    headers = {"content-type": "application/json", "x-gemini-service-tier": "standard"}
    answer = (200, headers, json.dumps(GEMINI))
    async with Client(http=scripted(answer)) as client:
        asked = request(model=MODELS["gemini"], prompt="Hi", service_tier="priority")
        response = (await client.generate(asked)).unwrap()

    assert (response.usage.service_tier, response.cost) == ("default", 0.5)


@pytest.mark.anyio
async def test_a_run_asks_for_the_tier_and_prices_the_one_that_served_it() -> None:
    """Asked for priority, and served by the standard tier."""
    network = scripted(json.dumps(stating("openai-responses", "default")))
    async with Client(http=network) as client:
        result = await generate(MODELS["responses"], "Hi", service_tier="priority", client=client)
    response: LLMResponse = result.response

    sent = cast("dict[str, Any]", network.bodies[0])
    assert sent["service_tier"] == "priority"
    assert (response.usage.service_tier, response.cost) == ("default", 1.75)
