"""Exchanges recorded from a real llama.cpp server, replayed."""

import json

import pytest

from llmcore import (
    ContextLengthError,
    InvalidRequestError,
    LLMRequest,
    Local,
    Message,
    ToolChoice,
    evolve,
    request,
)
from llmcore.folds.grammar import violations
from llmcore.schema.json import JsonObject
from llmcore.schema.options import HttpOverlay, ResponseFormat
from llmcore.testing import CassetteFixture, assert_prefix_stable
from tests.support.servers.local_scenes import EXAMPLE, TIME, WEATHER

pytestmark = pytest.mark.anyio

MODEL = Local.configure().model()
REPEATABLE = {"local": {"cache_prompt": False}}
"""Without the server's prompt cache, temperature 0 repeats itself exactly."""


def asking(prompt: str, **more: object) -> LLMRequest:
    options = {"max_tokens": 24, "temperature": 0.0, "provider_options": REPEATABLE, **more}
    messages = [Message.user(prompt)]
    return request(model=MODEL, messages=messages, **options)  # type: ignore[arg-type]


@pytest.mark.cassette("local/text", provider="local", protocol="openai-chat", tags=["text"])
async def test_text_whole_and_streamed(cassette: CassetteFixture) -> None:
    """Both ways give the same words, and the stream counts its tokens."""
    async with cassette.client() as client:
        whole = await client.complete(asking("Why is the sky blue?"))
        async with client.stream(asking("Why is the sky blue?")) as stream:
            events = [event async for event in stream]
        streamed = (await stream.result()).unwrap()

    assert len(whole.text) > 20
    assert streamed.text == whole.text
    assert violations(events) == []
    assert len(events) > 8
    assert whole.usage is not None
    assert streamed.usage == whole.usage
    assert whole.model == "SmolLM2-135M-Instruct"


@pytest.mark.cassette(
    "local/tools", provider="local", protocol="openai-chat", tags=["tools", "parallel"]
)
async def test_parallel_tools_round_trip(cassette: CassetteFixture) -> None:
    """Two calls at once, run, answered; the second request begins with the first."""
    first = evolve(
        asking("", tools=[WEATHER, TIME], max_tokens=80),
        messages=(*EXAMPLE, Message.user("What are the weather and the time in Oslo?")),
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
        bodies = [client.prepare(turn).unwrap().body for turn in (first, second)]

    assert [(call.name, call.arguments) for call in called.tool_calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_time", {"city": "Oslo"}),
    ]
    assert called.finish_reason.reason == "tool_calls"
    assert len({call.id for call in called.tool_calls}) == 2
    assert [call.arguments for call in whole.tool_calls] == [{"city": "Oslo"}] * 2
    assert "Oslo" in answer.text
    assert_prefix_stable(bodies)


@pytest.mark.cassette(
    "local/tool_choice", provider="local", protocol="openai-chat", tags=["tools", "tool-choice"]
)
async def test_a_call_that_must_happen_happens(cassette: CassetteFixture) -> None:
    """The forced call is made from a schema, streamed too, and reported."""
    wanted = asking("What is the time in Paris?", tools=[WEATHER, TIME], max_tokens=60)
    required = evolve(wanted, tool_choice=ToolChoice.required())
    named = evolve(wanted, tool_choice=ToolChoice.named("get_time"))
    async with cassette.client() as client:
        one = await client.complete(required)
        other = (await client.stream(named).result()).unwrap()

    assert len(one.tool_calls) == 1
    assert one.tool_calls[0].arguments == {"city": "Paris"}
    assert [(call.name, call.arguments) for call in other.tool_calls] == [
        ("get_time", {"city": "Paris"})
    ]
    assert "tool-choice-emulated" in {note.code for note in other.diagnostics}


@pytest.mark.cassette(
    "local/json_schema", provider="local", protocol="openai-chat", tags=["structured-output"]
)
async def test_a_json_schema_binds_the_response(cassette: CassetteFixture) -> None:
    """The text is JSON of the wanted shape."""
    person: JsonObject = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    wanted = asking(
        "Extract the person: Alice is 30 years old.",
        response_format=ResponseFormat.json_schema(person, name="person"),
    )
    async with cassette.client() as client:
        response = await client.complete(wanted)

    assert json.loads(response.text) == {"name": "Alice", "age": 30}


@pytest.mark.cassette("local/length", provider="local", protocol="openai-chat", tags=["length"])
async def test_a_limit_ends_the_response(cassette: CassetteFixture) -> None:
    """The finish reason is the limit."""
    async with cassette.client() as client:
        response = (await client.stream(asking("Tell me a story.", max_tokens=5)).result()).unwrap()

    assert response.finish_reason.reason == "length"
    assert response.usage is not None
    assert response.usage.output_tokens == 5


@pytest.mark.cassette("local/errors", provider="local", protocol="openai-chat", tags=["error"])
async def test_errors_of_the_server_are_typed_streamed_or_not(cassette: CassetteFixture) -> None:
    """Too long, and senseless: each is its own error, streamed or not."""
    too_long = asking("a " * 4200)
    senseless = asking("Hi", http=HttpOverlay(body={"n": 2}))
    async with cassette.client() as client:
        overflow = (await client.generate(too_long)).failure()
        streamed = (await client.stream(too_long).result()).failure()
        invalid = (await client.generate(senseless)).failure()

    assert isinstance(overflow, ContextLengthError)
    assert overflow.limit_tokens == 4096
    assert overflow.actual_tokens is not None
    assert overflow.actual_tokens > 4096
    assert isinstance(streamed, ContextLengthError)
    assert isinstance(invalid, InvalidRequestError)
    assert invalid.status_code == 400
