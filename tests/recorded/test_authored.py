"""Providers that no test can reach: exchanges written after their documents.

Each cassette names the document. They do not prove how a provider behaves, but they
hold whole conversations still: the requests we build, and what we read in the responses.
"""

from pathlib import Path

import pytest

from llmcore import Message, OpenAI, OpenRouter, ToolDefinition, evolve, request
from llmcore.routes.chat_providers import DeepSeek
from llmcore.schema.content import ReasoningPart
from llmcore.testing import Authored, CassetteFixture, load

pytestmark = pytest.mark.anyio

WEATHER = ToolDefinition(
    "get_weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@pytest.mark.cassette("openai/tools", provider="openai", protocol="openai-chat", tags=["tools"])
async def test_two_parallel_calls_and_their_results_are_replayed(cassette: CassetteFixture) -> None:
    """Two parallel calls, their results, a response with cached tokens."""
    model = OpenAI.configure().chat("gpt-5.2")
    question = request(model=model, prompt="Weather in Oslo and Rome?", tools=[WEATHER])
    async with cassette.client() as client:
        called = (await client.stream(question).result()).unwrap()
        results = [Message.tool(call.id, "3 degrees") for call in called.tool_calls]
        after = evolve(question, messages=(*question.messages, called.message, *results))
        answer = (await client.stream(after).result()).unwrap()

    assert [call.arguments for call in called.tool_calls] == [{"city": "Oslo"}, {"city": "Rome"}]
    assert answer.text == "It is 3 degrees in both."
    assert answer.usage is not None
    assert (answer.usage.cache_read_tokens, answer.usage.uncached_input_tokens) == (64, 56)


@pytest.mark.cassette(
    "deepseek/thinking_tools", provider="deepseek", protocol="openai-chat", tags=["reasoning"]
)
async def test_deepseek_thinking_goes_back_with_tool_results(cassette: CassetteFixture) -> None:
    """Thinking that led to a call is in the next request, as the server demands."""
    model = DeepSeek.configure().model("deepseek-chat")
    question = request(model=model, prompt="Weather in Oslo?", tools=[WEATHER])
    async with cassette.client() as client:
        called = (await client.stream(question).result()).unwrap()
        result = Message.tool(called.tool_calls[0].id, "3 degrees")
        after = evolve(question, messages=(*question.messages, called.message, result))
        answer = (await client.stream(after).result()).unwrap()

    assert called.reasoning == "I need the weather."
    assert answer.text == "It is 3 degrees."
    assert called.usage is not None
    assert called.usage.cache_read_tokens == 16


@pytest.mark.cassette(
    "openrouter/reasoning_details",
    provider="openrouter",
    protocol="openai-chat",
    tags=["reasoning", "cost"],
)
async def test_openrouter_reasoning_details_come_back_unchanged(cassette: CassetteFixture) -> None:
    """Signed reasoning is replayed block by block; the provider's cost is kept."""
    model = OpenRouter.configure().model("anthropic/claude-sonnet-4.5")
    question = request(model=model, prompt="Weather in Oslo?", tools=[WEATHER])
    async with cassette.client() as client:
        called = (await client.stream(question).result()).unwrap()
        result = Message.tool(called.tool_calls[0].id, "3 degrees")
        after = evolve(question, messages=(*question.messages, called.message, result))
        answer = (await client.stream(after).result()).unwrap()

    thought = called.message.content[0]
    assert isinstance(thought, ReasoningPart)
    assert thought.signature == "c2lnbmF0dXJl"
    assert answer.text == "It is 3 degrees."
    assert answer.usage is not None
    assert answer.usage.cost_usd == 0.0012


def test_every_cassette_names_its_origin() -> None:
    """Recorded ones name server and version, authored ones their document."""
    cassettes = sorted((Path(__file__).parent.parent.parent / "cassettes").rglob("*.json"))
    assert len(cassettes) > 10
    for path in cassettes:
        origin = load(path).metadata.origin
        if isinstance(origin, Authored):
            assert "https://" in origin.source, path
            assert "read" in origin.source, path
        else:
            assert origin.server, path
            assert origin.version, path
