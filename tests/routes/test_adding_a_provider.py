"""A user's own provider has a few lines, and does all that the others do."""

import inspect
import json
from collections.abc import Iterator

import pytest

from llmcore import Client, Message, Model, ToolDefinition, request
from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.routes.chat_provider import ChatProvider, Profile
from llmcore.schema.content import ToolCallPart
from tests.support.servers.loopback import (
    DONE,
    Answer,
    Loopback,
    Received,
    chat_chunk,
    chat_handler,
    serve,
)

pytestmark = pytest.mark.anyio


class Acme(ChatProvider):
    """Acme, configured."""

    profile = Profile(
        id="acme",
        base_url="https://api.acme.example/v1",
        key_variables=("ACME_API_KEY",),
        dialect=ChatDialect(max_tokens_field="max_tokens", strict_tools=False),
    )


WEATHER = ToolDefinition(
    "weather", "Of a city.", {"type": "object", "properties": {"city": {"type": "string"}}}
)


def tool_handler(received: Received) -> Answer:
    """Call the tool first, and response in text once there is a result."""
    body = json.loads(received.body)
    if "tools" not in body or body["messages"][-1]["role"] == "tool":
        return chat_handler(received)
    function = {"name": "weather", "arguments": '{"city": "Oslo"}'}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    script = [
        chat_chunk(delta={"tool_calls": [call]}),
        chat_chunk(finish_reason="tool_calls"),
        DONE,
    ]
    return Answer(script, headers={"content-type": "text/event-stream"})


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(tool_handler) as running:
        yield running


def model_at(server: Loopback) -> Model:
    return Acme.configure(base_url=server.url).model("acme-1")


def test_it_takes_eight_lines() -> None:
    """Imports and blank lines not counted, the docstring counted."""
    lines = [line for line in inspect.getsource(Acme).splitlines() if line.strip()]

    assert len(lines) <= 8


async def test_example_provider_answers_whole_and_streamed(server: Loopback) -> None:
    """The key comes from its variable; limits take the name that the dialect gives them."""
    wanted = request(model=model_at(server), prompt="Hi", max_tokens=9)
    async with Client(environ={"ACME_API_KEY": "k-1"}) as client:
        assert (await client.complete(wanted)).text == "Hello"
        async with client.stream(wanted) as stream:
            texts = [text async for text in stream.text_stream]

    assert texts == ["Hel", "lo"]
    for received in server.received:
        assert received.headers["authorization"] == "Bearer k-1"
        assert json.loads(received.body)["max_tokens"] == 9


async def test_a_tool_call_and_its_result_pass_an_added_provider(server: Loopback) -> None:
    """A call comes, its result goes back, and the response follows."""
    wanted = request(model=model_at(server), prompt="Weather in Oslo?", tools=[WEATHER])
    async with Client(environ={"ACME_API_KEY": "k-1"}) as client:
        called = (await client.stream(wanted).result()).unwrap()
        (call,) = called.tool_calls
        result = Message.tool(call.id, {"celsius": 4}, name="weather")
        history = [Message.user("Weather in Oslo?"), called.message, result]
        asked = request(model=model_at(server), messages=history, tools=[WEATHER])
        answer = await client.complete(asked)

    assert isinstance(call, ToolCallPart)
    assert (call.name, call.arguments) == ("weather", {"city": "Oslo"})
    assert answer.text == "Hello"
    assert json.loads(server.received[1].body)["messages"][-1]["tool_call_id"] == "call_1"
