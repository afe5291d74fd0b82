"""Turns that the provider's tools pause: a run sends the message back, and the turn continues.

Source: https://platform.claude.com/docs/build-with-claude/handling-stop-reasons, read November
2026.
"""

from typing import Any

import pytest

from llmcore.client.client import Client
from llmcore.generation.generate import generate
from llmcore.generation.results import step_count_is
from llmcore.generation.stream import stream
from llmcore.routes.anthropic import Anthropic
from llmcore.routes.openai import OpenAI
from llmcore.schema.events import StepFinish
from llmcore.schema.options import CachePolicy
from llmcore.testing import scripted

pytestmark = pytest.mark.anyio

SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "w"},
}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
MODEL = Anthropic.configure(api_key="sk-1").model("claude-opus-4-5")


def answer(stop: str, *content: Any) -> dict[str, Any]:
    """Return the body of a response."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5"}
    return {**head, "content": list(content), "stop_reason": stop, "usage": usage}


PAUSED = answer("pause_turn", SEARCH, FOUND)
ENDED = answer("end_turn", {"type": "text", "text": "It rains."})


async def run(*answers: Any, **settings: Any) -> tuple[Any, list[Any]]:
    """Return the result of a run, and the bodies of its requests."""
    wire = scripted(*answers)
    async with Client(http=wire) as client:
        result = await generate(MODEL, "Weather?", client=client, max_tokens=99, **settings)
    return result, wire.bodies


async def test_a_paused_turn_is_continued_with_its_message() -> None:
    result, (first, second) = await run(PAUSED, ENDED, cache=CachePolicy(mode="off"))

    assert (result.text, str(result.finish_reason)) == ("It rains.", "stop")
    assert second["messages"] == [
        *first["messages"],
        {"role": "assistant", "content": [SEARCH, FOUND]},
    ]
    assert {**second, "messages": None} == {**first, "messages": None}
    total = result.total_usage
    assert (total.input_tokens, total.output_tokens) == (20, 10)


async def test_a_turn_that_pauses_without_end_is_continued_five_times() -> None:
    result, bodies = await run(*[PAUSED] * 9)

    assert len(bodies) == 6
    assert (str(result.finish_reason), result.finish_reason.raw) == ("other", "pause_turn")


async def test_a_condition_to_stop_holds_for_a_paused_turn() -> None:
    result, bodies = await run(PAUSED, ENDED, stop_when=step_count_is(1))

    assert len(bodies) == 1
    assert result.finish_reason.raw == "pause_turn"


async def test_a_paused_turn_is_a_step_of_a_stream() -> None:
    wire = scripted(PAUSED, ENDED)
    async with Client(http=wire) as client:
        reader = stream(MODEL, "Weather?", client=client, max_tokens=99)
        steps = [event.step async for event in reader if isinstance(event, StepFinish)]

    assert steps == [0, 1]


async def test_the_word_for_a_pause_ends_a_run_over_an_api_that_has_no_pauses() -> None:
    choice = {"index": 0, "message": {"content": "Hm."}, "finish_reason": "pause_turn"}
    wire = scripted({"object": "chat.completion", "choices": [choice]})
    model = OpenAI.configure(api_key="sk-1").chat("gpt-4.1")
    async with Client(http=wire) as client:
        result = await generate(model, "Weather?", client=client)

    assert (result.text, len(wire.bodies)) == ("Hm.", 1)
