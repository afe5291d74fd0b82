"""Any server that speaks Chat Completions: `llmcore/routes/openai_compatible.py`."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve

from llmcore.client.client import Client
from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.auth import Auth
from llmcore.routes.chat_providers import DeepSeek, Groq
from llmcore.routes.openai import OpenAI
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.openrouter import OpenRouter
from llmcore.routes.xai import XAI
from llmcore.schema.content import ReasoningPart, TextPart, ToolCallPart
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.events import Finish, TextDelta, ToolCall
from llmcore.schema.messages import Message, Origin
from llmcore.schema.request import request
from llmcore.schema.tools import ToolDefinition
from llmcore.testing import scripted
from tests.support.servers.loopback import (
    DONE,
    Answer,
    Loopback,
    Received,
    chat_chunk,
    chat_handler,
    serve,
)


@pytest.mark.parametrize("name", ["acme", "acme-2", "Acme.ai", "a_b", "7b"])
def test_names_that_can_be_ids(name: str) -> None:
    """Letters, digits, dots, dashes and underscores."""
    model = OpenAICompatible.configure(name=name, base_url="https://h/v1").model("m")

    assert (model.provider, model.id) == (name, "m")


@pytest.mark.parametrize("name", ["", " acme", "acme:x", "acme/x", "-acme", "acme\n"])
def test_invalid_names_raise_configuration_error_naming_the_argument(name: str) -> None:
    """They are a ConfigurationError that names the argument."""
    with pytest.raises(ConfigurationError, match="name"):
        OpenAICompatible.configure(name=name, base_url="https://h/v1")


def test_request_without_a_key_is_not_signed() -> None:
    """With one, it is a bearer key; with an auth, whatever that does."""
    url = "https://h/v1"
    ways = [
        (OpenAICompatible.configure(name="a", base_url=url), {}),
        (OpenAICompatible.configure(name="a", base_url=url, api_key="k"), {"authorization"}),
        (OpenAICompatible.configure(name="a", base_url=url, auth=Auth.header("x", "k")), {"x"}),
    ]
    for provider, signed in ways:
        ready = Client().prepare(request(model=provider.model("m"), prompt="Hi")).unwrap()
        assert {"authorization", "x"} & ready.headers.keys() == set(signed)


def test_the_dialect_is_data() -> None:
    """It decides the form of the body."""
    dialect = evolve(COMPATIBLE, max_tokens_field="max_completion_tokens")
    provider = OpenAICompatible.configure(name="a", base_url="https://h/v1", dialect=dialect)
    ready = Client().prepare(request(model=provider.model("m"), prompt="Hi", max_tokens=3)).unwrap()

    assert ready.body["max_completion_tokens"] == 3


# -- a provider defined in a few lines, against a real server


def _answer(received: Received) -> Answer:
    """Call the tool if there is one and its result is not there yet, else answer in text."""
    body = json.loads(received.body)
    if "tools" not in body or body["messages"][-1]["role"] == "tool":
        return chat_handler(received)
    function = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    calls = [{"index": 0, "id": "call_1", "type": "function", "function": function}]
    script = [
        chat_chunk(delta={"role": "assistant", "tool_calls": calls}),
        chat_chunk(finish_reason="tool_calls"),
        DONE,
    ]
    return Answer(script, headers={"content-type": "text/event-stream"})


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(_answer) as running:
        yield running


@pytest.mark.anyio
async def test_text_tools_and_streaming_through_a_new_provider(server: Loopback) -> None:
    """Five lines make a provider, and everything works with it."""
    acme = OpenAICompatible.configure(
        name="acme",
        base_url=server.url + "/v1",
        auth=Auth.env("ACME_API_KEY"),
    )
    weather = ToolDefinition("get_weather", "The weather.")
    async with Client(providers={"acme": acme}, environ={"ACME_API_KEY": "sk-acme"}) as client:
        whole = await client.complete(request(model="m-1", provider="acme", prompt="Hi"))
        streamed = request(model=acme.model("m-1"), prompt="Weather?", tools=[weather])
        async with client.stream(streamed) as events:
            called = [event async for event in events if isinstance(event, ToolCall | Finish)]
        async with client.stream(request(model=acme.model("m-1"), prompt="Hi")) as events:
            said = [event.text async for event in events if isinstance(event, TextDelta)]

    assert whole.text == "Hello"
    assert isinstance(called[0], ToolCall)
    assert (called[0].name, called[0].arguments) == ("get_weather", {"city": "Oslo"})
    assert isinstance(called[1], Finish)
    assert said == ["Hel", "lo"]
    assert {one.headers["authorization"] for one in server.received} == {"Bearer sk-acme"}
    assert {one.path for one in server.received} == {"/v1/chat/completions"}


def test_server_of_unknown_host_gets_its_thinking_back() -> None:
    origin = Origin(provider="acme", model="m-1", protocol="openai-chat")
    said = Message.assistant(ReasoningPart("Hm."), TextPart("Hi"), origin=origin)
    model = OpenAICompatible(name="acme", base_url="https://h/v1", api_key="k").model("m-1")
    asked = request(model=model, messages=[Message.user("Hi"), said, Message.user("Go")])

    sent = Client().prepare(asked).unwrap().body["messages"][1]

    assert sent == {"role": "assistant", "content": "Hi", "reasoning_content": "Hm."}


GEMINI_HOSTS = (
    "https://generativelanguage.googleapis.com/v1beta/openai",
    "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi",
    "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi",
    "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/endpoints/openapi",
)
SIGNED = {"google": {"thought_signature": "c2ln"}}
SKIPPED = {"google": {"thought_signature": "skip_thought_signature_validator"}}


@pytest.mark.parametrize(
    ("base_url", "model", "maker", "sent"),
    [
        *((url, "google/gemini-3.6-flash", "gpt-6", [SKIPPED, None]) for url in GEMINI_HOSTS),
        (GEMINI_HOSTS[0], "gemini-3.6-flash", "gemini-3.6-flash", [SIGNED, None]),
        (GEMINI_HOSTS[0], "gemini-3.6-flash", "gemini-3-pro", [SKIPPED, None]),
        (GEMINI_HOSTS[0], "gemini-flash-latest", "gpt-6", [SKIPPED, None]),
        (GEMINI_HOSTS[0], "models/gemini-4-hydrogen", "gpt-6", [SKIPPED, None]),
        (GEMINI_HOSTS[0], "gemini-2.5-flash", "gpt-6", [None, None]),
        (GEMINI_HOSTS[0], "gemma-4-31b-it", "gpt-6", [None, None]),
        (GEMINI_HOSTS[1], "meta/llama-4-maas", "gpt-6", [None, None]),
        ("https://example.com/v1", "gemini-3.6-flash", "gpt-6", [None, None]),
    ],
)
def test_calls_that_gemini_did_not_make_skip_its_check_over_chat_completions(
    base_url: str, model: str, maker: str, sent: list[Any]
) -> None:
    """Google's endpoint answers 400 if the first call of a message has no signature."""
    target = OpenAICompatible(name="g", base_url=base_url, api_key="k").model(model)
    calls = [ToolCallPart("c1", "f", {}), ToolCallPart("c2", "f", {})]
    calls[0] = evolve(calls[0], provider_metadata={"openai": {"extra_content": SIGNED}})
    provider = "g" if maker.startswith("gemini") else "openai"
    made = Origin(provider=provider, model=maker, protocol="openai-chat")
    history = [
        Message.user("Hi"),
        Message.assistant(*calls, origin=made),
        Message.tool("c1", "1"),
        Message.tool("c2", "2"),
    ]

    prepared = Client().prepare(request(model=target, messages=history)).unwrap()

    body: Any = prepared.body
    native = body["messages"][1]["tool_calls"]
    codes = [(note.code, note.path) for note in prepared.diagnostics]
    assert [call.get("extra_content") for call in native] == sent
    assert (("thought-signature-skipped", "messages[1]") in codes) is (SKIPPED in sent)


@pytest.mark.parametrize(
    ("base_url", "facade"),
    [
        ("https://api.groq.com/openai/v1", Groq),
        ("https://API.deepseek.com/beta", DeepSeek),
        ("https://api.openai.com/v1", OpenAI),
        ("https://openrouter.ai/api/v1", OpenRouter),
        ("https://api.x.ai/v1", XAI),
    ],
    ids=["groq", "deepseek", "openai", "openrouter", "xai"],
)
def test_known_host_has_the_dialect_of_its_facade(base_url: str, facade: Any) -> None:
    asked: Any = {"max_tokens": 9, "reasoning_effort": "low", "prompt": "Hi"}
    found = OpenAICompatible(name="mine", base_url=base_url, api_key="k").chat("m-1")
    own = facade(api_key="k", base_url=base_url).chat("m-1")

    client = Client()
    mine, expected = (
        client.prepare(request(model=model, **asked)).unwrap() for model in (found, own)
    )

    assert mine.body == expected.body
    assert mine.url == expected.url


def test_responses_at_the_host_of_xai_are_in_its_dialect() -> None:
    """Models of Grok whose thinking has no degrees get no `reasoning`."""
    made = OpenAICompatible(name="mine", base_url="https://api.x.ai/v1", api_key="k")
    asked: Any = {"reasoning_effort": "low", "prompt": "Hi"}
    client = Client()

    mine, expected = (
        client.prepare(request(model=one.responses("grok-4-fast"), **asked)).unwrap()
        for one in (made, XAI(api_key="k"))
    )

    assert mine.body == expected.body
    assert "reasoning" not in mine.body


def test_given_dialect_goes_before_that_of_the_host() -> None:
    dialect = evolve(COMPATIBLE, max_tokens_field="max_tokens")
    made = OpenAICompatible(name="mine", base_url="https://api.groq.com/openai/v1", dialect=dialect)

    body = Client().prepare(request(model=made.chat("m"), prompt="Hi", max_tokens=9)).unwrap().body

    assert body["max_tokens"] == 9


@pytest.mark.anyio
async def test_server_of_the_responses_api_is_reached_by_its_url() -> None:
    made = OpenAICompatible(name="mine", base_url="https://h/v1", api_key="k")
    answer = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "m",
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
            }
        ],
    }
    transport = scripted(answer)

    asked = request(model=made.responses("m"), prompt="Hi")
    response = (await Client(transport=transport).generate(asked)).unwrap()

    assert (response.text, response.provider) == ("Hello", "mine")
    assert transport.requests[0].url == "https://h/v1/responses"
    assert transport.requests[0].headers["authorization"] == "Bearer k"
