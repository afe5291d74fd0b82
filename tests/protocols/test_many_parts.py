"""Answers of very many parts: what reading them costs, and where they end."""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest

from llmcore.folds import segments
from llmcore.protocols.openai_responses import state
from llmcore.schema.errors import StreamError
from llmcore.schema.json import dumps
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result
from llmcore.testing import decode_recorded

Frames = Callable[[int], Sequence[dict[str, Any]]]


def decoded(protocol: str, frames: Sequence[dict[str, Any]]) -> Result[LLMResponse, Any]:
    """Return what *frames*, as server-sent events, amount to."""
    named = (f"event: {frame.get('type', '')}\n" if "type" in frame else "" for frame in frames)
    text = "".join(
        f"{name}data: {dumps(frame).decode()}\n\n"
        for name, frame in zip(named, frames, strict=True)
    )
    headers, body = {"content-type": "text/event-stream"}, text.encode()
    return decode_recorded(protocol, status=200, headers=headers, body=body, streaming=True)


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "model": "m", "choices": [choice]}


def chat_calls(count: int) -> list[dict[str, Any]]:
    calls = [
        {"index": n, "id": f"c{n}", "function": {"name": "f", "arguments": "{}"}}
        for n in range(count)
    ]
    return [*(chunk({"tool_calls": [call]}) for call in calls), chunk({}, "tool_calls")]


def responses(events: Sequence[dict[str, Any]], output: Sequence[Any]) -> list[dict[str, Any]]:
    whole = {"id": "r", "status": "completed", "model": "m", "output": [*output]}
    return [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        *events,
        {"type": "response.completed", "response": whole},
    ]


def responses_calls(count: int) -> list[dict[str, Any]]:
    base = {"type": "function_call", "name": "f"}
    calls = [{**base, "id": f"fc{n}", "call_id": f"c{n}", "arguments": "{}"} for n in range(count)]
    events = [
        {"type": f"response.output_item.{state}", "output_index": n, "item": call}
        for n, call in enumerate(calls)
        for state in ("added", "done")
    ]
    return responses(events, calls)


def responses_open_items(count: int) -> list[dict[str, Any]]:
    """Messages that are announced first and filled afterwards, by their ids alone."""
    base: dict[str, Any] = {"type": "message", "role": "assistant", "content": []}
    added = [
        {"type": "response.output_item.added", "item": {**base, "id": f"m{n}"}}
        for n in range(count)
    ]
    delta = {"type": "response.output_text.delta", "content_index": 0, "delta": "a"}
    deltas = [{**delta, "item_id": f"m{n}"} for n in range(count)]
    return responses([*added, *deltas], [])


def grounding(count: int) -> list[dict[str, Any]]:
    chunks = [{"web": {"uri": f"https://h/{n}", "title": "t"}} for n in range(count)]
    supports = [
        {"segment": {"startIndex": 0, "endIndex": 3}, "groundingChunkIndices": [n]}
        for n in range(count)
    ]
    candidate = {
        "content": {"role": "model", "parts": [{"text": "abc"}]},
        "finishReason": "STOP",
        "groundingMetadata": {"groundingChunks": chunks, "groundingSupports": supports},
    }
    return [{"candidates": [candidate]}]


ANSWERS: dict[str, tuple[str, Frames]] = {
    "chat calls": ("openai-chat", chat_calls),
    "responses calls": ("openai-responses", responses_calls),
    "responses open items": ("openai-responses", responses_open_items),
    "gemini citations": ("gemini", grounding),
}


def lines_run(protocol: str, frames: Sequence[dict[str, Any]]) -> int:
    """Return how many lines of Python are run in reading *frames*."""
    lines = 0

    def count(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        decoded(protocol, frames).unwrap()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("answer", ANSWERS)
def test_part_costs_the_same_however_many_came_before(answer: str) -> None:
    """Nothing is searched for part by part; twice the parts run about twice the lines."""
    protocol, frames = ANSWERS[answer]
    lines_run(protocol, frames(2))  # what the first call alone does
    hundred, two_hundred = (lines_run(protocol, frames(count)) for count in (100, 200))

    assert two_hundred < 2.2 * hundred


@pytest.mark.parametrize("answer", ["chat calls", "responses calls"])
def test_answer_of_too_many_parts_is_an_error(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of parts is bounded, since some of the state is copied for each."""
    for module in (segments, state):
        monkeypatch.setattr(module, "MAX_PARTS", 50)
    protocol, frames = ANSWERS[answer]
    error = decoded(protocol, frames(51)).failure()

    assert len(decoded(protocol, frames(50)).unwrap().tool_calls) == 50
    assert isinstance(error, StreamError)
    assert "more than 50" in error.message
