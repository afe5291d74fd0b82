"""Tokens, before anything is generated: counted, estimated, and compared with the window."""

import json
from typing import Any

import pytest
from attrs import evolve

from llmcore import (
    AmazonBedrock,
    Anthropic,
    Client,
    Google,
    Model,
    OpenAI,
    OpenAICompatible,
    RateLimitError,
    RequestTimeoutError,
    Timeouts,
    ToolDefinition,
    request,
)
from llmcore.catalog.model_info import ModelInfo, Prices, Rates
from llmcore.routes.auth import Auth
from llmcore.routes.chat_providers import Groq
from llmcore.routes.chat_servers import LlamaCpp
from llmcore.routes.defaults import ModelLimits, RouteDefaults
from llmcore.routes.vertex import Vertex
from llmcore.schema.json import JsonObject
from llmcore.schema.options import ResponseFormat
from llmcore.schema.tools import HostedTool
from llmcore.testing import scripted
from tests.support.servers.loopback import chat_whole

pytestmark = pytest.mark.anyio

TOOL = ToolDefinition(name="look", description="Looks.", parameters={"type": "object"})
AWS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"}

COUNTERS: dict[str, tuple[Model, str, JsonObject, set[str]]] = {
    "anthropic": (
        Anthropic.configure(api_key="k").model("claude-sonnet-4-5"),
        "https://api.anthropic.com/v1/messages/count_tokens",
        {"input_tokens": 14},
        {"model", "messages", "tools"},
    ),
    "openai": (
        OpenAI.configure(api_key="k").model("gpt-5.2"),
        "https://api.openai.com/v1/responses/input_tokens",
        {"object": "response.input_tokens", "input_tokens": 14},
        {"model", "input", "tools"},
    ),
    "google": (
        Google.configure(api_key="k").model("gemini-3-pro"),
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:countTokens",
        {"totalTokens": 14, "promptTokensDetails": []},
        {"generateContentRequest"},
    ),
    "vertex": (
        Vertex.configure(base_url="https://example.com/v1", auth=Auth.bearer("t")).model(
            "gemini-3-pro"
        ),
        "https://example.com/v1/publishers/google/models/gemini-3-pro:countTokens",
        {"totalTokens": 14, "totalBillableCharacters": 40},
        {"contents", "tools", "generationConfig"},
    ),
    "bedrock": (
        AmazonBedrock.configure(region="us-east-1", api_key="k").model("amazon.nova-pro-v1:0"),
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/count-tokens",
        {"inputTokens": 14},
        {"input"},
    ),
    "llamacpp": (
        LlamaCpp.configure().model("m"),
        "http://localhost:8080/v1/chat/completions/input_tokens",
        {"input_tokens": 14},
        {"model", "messages", "tools", "max_tokens"},
    ),
}


@pytest.mark.parametrize("provider", COUNTERS)
async def test_tokens_are_counted_by_the_provider(provider: str) -> None:
    model, url, answer, fields = COUNTERS[provider]
    transport = scripted(answer)
    asked = request(model=model, prompt="Where is Oslo?", tools=[TOOL], max_tokens=9)

    count = (await Client(transport=transport).count_tokens(asked)).unwrap()

    assert (count.tokens, count.estimated, count.diagnostics) == (14, False, ())
    assert (transport.requests[0].method, transport.requests[0].url) == ("POST", url)
    body = transport.bodies[0]
    assert isinstance(body, dict)
    assert fields <= body.keys()
    assert "Where is Oslo?" in json.dumps(body)


ANSWER = ResponseFormat.json_schema({"type": "object", "properties": {"a": {"type": "string"}}})
EDITS: JsonObject = {"edits": [{"type": "clear_tool_uses_20250919"}]}
DOCS = HostedTool.mcp(server_label="docs", server_url="https://mcp.example")


@pytest.mark.parametrize(
    ("model", "options", "counted"),
    [
        (
            Anthropic.configure(api_key="k").model("claude-opus-5"),
            {"anthropic": {"context_management": EDITS, "speed": "fast", "inference_geo": "us"}},
            {"output_config", "mcp_servers", "tools", "context_management", "speed"},
        ),
        (
            OpenAI.configure(api_key="k").model("gpt-5.2"),
            {"openai": {"previous_response_id": "resp_1", "safety_identifier": "me"}},
            {"text", "tools", "previous_response_id"},
        ),
    ],
    ids=["anthropic", "openai"],
)
async def test_all_that_makes_tokens_is_counted(
    model: Model, options: Any, counted: set[str]
) -> None:
    """Formats, servers whose tools are named, and what the provider stores or leaves out."""
    transport = scripted({"input_tokens": 14})
    asked = request(
        model=model,
        prompt="Hi",
        tools=[DOCS],
        response_format=ANSWER,
        provider_options=options,
        max_tokens=9,
    )

    (await Client(transport=transport).count_tokens(asked)).unwrap()

    body = transport.bodies[0]
    assert isinstance(body, dict)
    fields = body.keys() - {"model", "messages", "input", "parallel_tool_calls", "cache_control"}
    assert fields == counted


async def test_a_count_at_bedrock_is_signed_for_its_own_path() -> None:
    model = AmazonBedrock.configure(region="us-east-1").model("amazon.nova-pro-v1:0")
    transport = scripted({"inputTokens": 14})
    client = Client(transport=transport, environ=AWS)

    await client.count_tokens(request(model=model, prompt="Hi"))
    counted = transport.requests[0]
    whole = client.prepare(request(model=model, prompt="Hi")).unwrap().http

    assert counted.headers["authorization"].startswith("AWS4-HMAC-SHA256")
    assert counted.headers["authorization"] != whole.headers["authorization"]
    converse = json.loads(counted.body)["input"]["converse"]
    assert converse["messages"][0]["content"][0] == {"text": "Hi"}
    assert "inferenceConfig" not in converse


@pytest.mark.parametrize(
    ("model", "answers"),
    [
        (Groq.configure(api_key="k").model("m"), []),
        (OpenAICompatible.configure(name="acme", base_url="https://acme/v1").model("m"), [404]),
        (OpenAI.configure(api_key="k").chat("gpt-5.2"), []),
    ],
    ids=["none", "another server", "chat completions"],
)
async def test_without_a_service_the_count_is_an_estimate_and_marked(
    model: Model, answers: list[int]
) -> None:
    transport = scripted(*((status, {}, {"error": {"message": "no"}}) for status in answers))
    text = "word " * 100

    count = (
        await Client(transport=transport).count_tokens(request(model=model, prompt=text))
    ).unwrap()

    assert count.estimated
    assert 100 <= count.tokens <= 400
    assert [note.code for note in count.diagnostics] == ["estimated-count"]
    transport.finish()


async def test_a_refused_count_is_a_failure_without_the_key() -> None:
    model = Anthropic.configure(api_key="sk-ant-secret").model("claude-sonnet-4-5")
    said = {"error": {"type": "rate_limit_error", "message": "sk-ant-secret is too fast"}}
    client = Client(transport=scripted((429, {"retry-after": "3"}, said)))

    error = (await client.count_tokens(request(model=model, prompt="Hi"))).failure()

    assert isinstance(error, RateLimitError)
    assert (error.retry_after, error.provider) == (3.0, "anthropic")
    assert "sk-ant-secret" not in f"{error!r} {error.raw}"


async def test_a_silent_count_ends_with_the_time_limit() -> None:
    model = OpenAI.configure(api_key="k").model("gpt-5.2")
    client = Client(transport=scripted([("{}", 60_000.0)]))

    found = await client.count_tokens(
        request(model=model, prompt="Hi"), timeouts=Timeouts(step=0.05, first_event=None)
    )

    error = found.failure()
    assert isinstance(error, RequestTimeoutError)
    assert error.error_code == "step"


# -- the window


HOUSE = ModelInfo(
    id="house-1",
    provider="house",
    display_name="House",
    context_window=5000,
    max_output=1000,
    prices=Prices(standard=Rates(input=2.0, output=10.0)),
)


def house(**configured: Any) -> Model:
    provider = OpenAICompatible.configure(
        name="house", base_url="https://house/v1", api_key="k", **configured
    )
    return provider.model("house-1")


@pytest.mark.parametrize(
    ("words", "limit", "noted"),
    [(10, None, False), (4_000, None, True), (4_000, 60_000, False), (40_000, 60_000, True)],
)
def test_a_request_larger_than_the_known_window_is_noted_before_it_is_sent(
    words: int, limit: int | None, noted: bool
) -> None:
    model = house(defaults=RouteDefaults(limits=ModelLimits(context=limit)))
    client = Client(models=[HOUSE])

    prepared = client.prepare(request(model=model, prompt="words " * words)).unwrap()

    assert ("context-window-exceeded" in [note.code for note in prepared.diagnostics]) == noted


async def test_a_note_keeps_no_request_back_and_is_on_the_response() -> None:
    """An estimate may be wrong, so that a strict request is sent as well."""
    client = Client(models=[HOUSE], transport=scripted(json.loads(chat_whole())))

    asked = request(model=house(), prompt="words " * 4_000, strict=True)
    response = (await client.generate(asked)).unwrap()

    assert "context-window-exceeded" in [note.code for note in response.diagnostics]


# -- tokens and cost before sending


def test_a_prepared_request_estimates_its_tokens_and_cost() -> None:
    client = Client(models=[HOUSE])
    prepared = client.prepare(request(model=house(), prompt="words " * 300, max_tokens=500))

    estimate = prepared.unwrap().estimate()  # at the client's own prices

    assert estimate.count.estimated
    assert 300 <= estimate.input_tokens <= 1000
    assert (estimate.max_output_tokens, estimate.fits) == (500, True)
    assert estimate.input_cost == pytest.approx(estimate.input_tokens * 2 / 1e6)
    assert estimate.max_cost == pytest.approx((estimate.input_tokens * 2 + 500 * 10) / 1e6)
    assert prepared.unwrap().estimate(models=()).input_cost is None


async def test_an_exact_count_takes_the_place_of_the_estimate() -> None:
    client = Client(models=[HOUSE], transport=scripted({"input_tokens": 4900}))
    asked = request(model=house(), prompt="Hi")

    count = (await client.count_tokens(asked)).unwrap()
    estimate = client.prepare(asked).unwrap().estimate(count)

    assert (estimate.input_tokens, estimate.count.context_window, estimate.fits) == (
        4900,
        5000,
        True,
    )
    assert estimate.max_output_tokens == 1000
    assert evolve(count, tokens=5001).fits is False


def test_an_unknown_model_has_tokens_and_no_cost() -> None:
    prepared = Client().prepare(request(model=house(), prompt="Hi")).unwrap()

    estimate = prepared.estimate()

    assert estimate.input_tokens > 0
    assert (estimate.input_cost, estimate.max_cost, estimate.fits) == (None, None, None)
