"""Conversations over WebSockets, replayed: `cassettes/openai/websocket_tools.json`."""

import pytest

from llmcore import Message, OpenAI, ToolDefinition, evolve, request
from llmcore.testing import CassetteFixture, WebSocketInteraction, load

pytestmark = pytest.mark.anyio

WEATHER = ToolDefinition(
    "get_weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@pytest.mark.cassette(
    "openai/websocket_tools",
    provider="openai",
    protocol="openai-responses",
    tags=["tools", "websocket"],
)
async def test_tool_loop_over_one_websocket_sends_only_new_items(cassette: CassetteFixture) -> None:
    """A call, its result, a response: over one socket, the second request with what is new."""
    model = OpenAI.configure().responses_websocket("gpt-5.2")
    question = request(model=model, prompt="Weather in Oslo?", tools=[WEATHER])
    async with cassette.client() as client:
        called = (await client.stream(question).result()).unwrap()
        results = [Message.tool(call.id, "3 degrees") for call in called.tool_calls]
        after = evolve(question, messages=(*question.messages, called.message, *results))
        answer = (await client.stream(after).result()).unwrap()

    assert [call.arguments for call in called.tool_calls] == [{"city": "Oslo"}]
    assert answer.text == "It is 3 degrees in Oslo."
    assert (called.diagnostics, answer.diagnostics) == ((), ())
    (socket,) = load(cassette.path).interactions
    assert isinstance(socket, WebSocketInteraction)
    sent = [one.text for one in socket.messages if one.direction == "client"]
    assert ["Weather in Oslo?" in text for text in sent] == [True, False]
