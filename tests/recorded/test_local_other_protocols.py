"""The Responses and Messages protocols against the same real server, recorded and replayed."""

from typing import Any

import pytest

from llmcore import LLMRequest, Message, Model, evolve, request
from llmcore.folds.grammar import violations
from llmcore.protocols import anthropic_messages, openai_responses
from llmcore.protocols.protocol import Protocol
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.local import Local
from llmcore.routes.route import Route
from llmcore.testing import CassetteFixture
from tests.support.servers.local_scenes import EXAMPLE, TIME, WEATHER

pytestmark = pytest.mark.anyio

BASE_URL = "http://local/v1"


def local_model(path: str, protocol: Protocol[Any, Any, Any]) -> Model:
    model = Local.configure().model()
    assert isinstance(model.route, Route)
    return model.route.with_(
        protocol=protocol,
        endpoint=Endpoint.path(path, base_url=BASE_URL),
    ).model(model.id)


RESPONSES = local_model("/responses", openai_responses.protocol)
MESSAGES = local_model("/messages", anthropic_messages.protocol)


def asking(model: Model, prompt: str, max_tokens: int = 24) -> LLMRequest:
    return request(
        model=model,
        messages=[Message.user(prompt)],
        system="You are a helpful assistant.",
        max_tokens=max_tokens,
        temperature=0.0,
        provider_options={"local": {"cache_prompt": False}},
    )


async def check_text(cassette: CassetteFixture, model: Model) -> None:
    """Streamed and whole responses say the same, and count the same tokens."""
    async with cassette.client() as client:
        whole = await client.complete(asking(model, "Why is the sky blue?"))
        async with client.stream(asking(model, "Why is the sky blue?")) as stream:
            events = [event async for event in stream]
        streamed = (await stream.result()).unwrap()

    assert len(whole.text) > 20
    assert streamed.text == whole.text
    assert violations(events) == []
    assert whole.usage is not None
    assert streamed.usage is not None
    assert streamed.usage.output_tokens == whole.usage.output_tokens == 24


async def check_tools(cassette: CassetteFixture, model: Model) -> None:
    """Ask for two tools at once, give their results, and get a response."""
    question = Message.user("What are the weather and the time in Oslo?")
    first = evolve(
        asking(model, "", max_tokens=80), messages=(*EXAMPLE, question), tools=(WEATHER, TIME)
    )
    async with cassette.client() as client:
        called = (await client.stream(first).result()).unwrap()
        whole = await client.complete(first)
        results = [
            Message.tool(call.id, "3 degrees, snow" if call.name == "get_weather" else "15:30")
            for call in called.tool_calls
        ]
        second = evolve(first, messages=(*first.messages, called.message, *results))
        answer = await client.complete(second)

    calls = [(call.name, call.arguments) for call in called.tool_calls]
    assert calls == [("get_weather", {"city": "Oslo"}), ("get_time", {"city": "Oslo"})]
    assert [(call.name, call.arguments) for call in whole.tool_calls] == calls
    assert called.finish_reason.reason == whole.finish_reason.reason == "tool_calls"
    assert answer.text


@pytest.mark.cassette("local/responses_text", provider="local", protocol="openai-responses")
async def test_text_is_read_over_responses(cassette: CassetteFixture) -> None:
    """Text over /v1/responses."""
    await check_text(cassette, RESPONSES)


@pytest.mark.cassette(
    "local/responses_tools", provider="local", protocol="openai-responses", tags=["tools"]
)
async def test_tools_are_called_over_responses_without_indexes(cassette: CassetteFixture) -> None:
    """Tools over /v1/responses, though this server numbers nothing."""
    await check_tools(cassette, RESPONSES)


@pytest.mark.cassette("local/messages_text", provider="local", protocol="anthropic-messages")
async def test_text_is_read_over_messages(cassette: CassetteFixture) -> None:
    """Text over /v1/messages."""
    await check_text(cassette, MESSAGES)


@pytest.mark.cassette(
    "local/messages_tools", provider="local", protocol="anthropic-messages", tags=["tools"]
)
async def test_tools_are_called_over_messages(cassette: CassetteFixture) -> None:
    """Tools over /v1/messages."""
    await check_tools(cassette, MESSAGES)
