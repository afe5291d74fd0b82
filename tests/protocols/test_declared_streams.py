"""Streams of every kind of content that the vendors' packages declare, read as the whole bodies."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import pytest

from llmcore.folds.response import collect
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import object_or_empty, objects
from llmcore.schema.result import Failure
from tests.support.wire import anthropic, gemini, responses
from tests.support.wire.sdk_responses import answers

Body: TypeAlias = dict[str, Any]


def _messages(body: Body) -> list[LLMEvent]:
    return anthropic.streamed(anthropic.stream_of(body))


def _gemini(body: Body) -> list[LLMEvent]:
    """Return the events of a stream with a chunk for each part, and the rest in the last one."""
    candidates = objects(body.get("candidates"))
    content = object_or_empty(candidates[0].get("content")) if len(candidates) == 1 else {}
    head = {name: body[name] for name in ("modelVersion", "responseId") if name in body}
    chunks = [
        {**head, "candidates": [{"content": {**content, "parts": [part]}}]}
        for part in objects(content.get("parts"))
    ]
    if not chunks:
        return gemini.streamed([body])
    last = {**candidates[0], "content": {**content, "parts": []}}
    return gemini.streamed([*chunks, {**body, "candidates": [last]}])


def _responses(body: Body) -> list[LLMEvent]:
    status = body["status"]
    if status not in ("completed", "incomplete", "failed"):  # which no stream ends with
        return responses.whole(body)
    events = responses.events_of(body["output"], status)
    return responses.streamed([*events[:-1], {**events[-1], "response": body}])


def _with_ids(body: Body) -> Body:
    """Return *body* with an id on each item, as items of streams have one."""
    output = [{"id": f"item_{at}", **item} for at, item in enumerate(body["output"])]
    return {**body, "output": output}


STREAMS: dict[str, tuple[Callable[[Body], list[LLMEvent]], Callable[[Body], list[LLMEvent]]]] = {
    "anthropic-messages": (_messages, anthropic.whole),
    "gemini": (_gemini, gemini.whole),
    "openai-responses": (_responses, responses.whole),
}


def _outcome(events: Iterable[LLMEvent]) -> object:
    """Return what can be compared of a response, or of the error in its place."""
    result = collect(events)
    if isinstance(result, Failure):
        return type(result.failure()), str(result.failure())
    made = result.unwrap()
    codes = [diagnostic.code for diagnostic in made.diagnostics]
    return made.message.content, made.finish_reason, made.usage, codes


@pytest.mark.slow
@pytest.mark.parametrize("protocol_id", STREAMS)
def test_every_declared_content_is_read_alike_streamed_and_whole(protocol_id: str) -> None:
    """Parts, items and blocks of every type, with each of their fields."""
    stream, whole = STREAMS[protocol_id]
    bodies = list(answers(protocol_id))
    if protocol_id == "openai-responses":
        bodies = list(map(_with_ids, bodies))

    different = [
        json.dumps(body) for body in bodies if _outcome(stream(body)) != _outcome(whole(body))
    ]

    assert len(bodies) > 100
    assert different == []
