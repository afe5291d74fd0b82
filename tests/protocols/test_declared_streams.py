"""Streams of every kind of content that the vendors' packages declare, read as the whole bodies.

They are read alike however their servers write fields that state nothing.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeAlias, get_args

import attrs
import pytest
from anthropic.types.beta import BetaRawMessageStreamEvent
from google.genai.types import GenerateContentResponse
from openai.types.chat import ChatCompletionChunk
from openai.types.responses.response_stream_event import ResponseStreamEvent

from llmcore.folds.response import collect
from llmcore.schema.events import LLMEvent
from llmcore.schema.native_json import object_or_empty, objects
from llmcore.schema.result import Failure
from tests.support.wire import anthropic, chat, gemini, responses
from tests.support.wire.declared_fields import FORMS, restated, stated
from tests.support.wire.sdk_responses import answers

Body: TypeAlias = dict[str, Any]


def _messages(body: Body) -> list[Body]:
    return anthropic.stream_of(body)


def _gemini(body: Body) -> list[Body]:
    """Return a chunk for each part, and the rest in the last one."""
    candidates = objects(body.get("candidates"))
    content = object_or_empty(candidates[0].get("content")) if len(candidates) == 1 else {}
    head = {name: body[name] for name in ("modelVersion", "responseId") if name in body}
    chunks = [
        {**head, "candidates": [{"content": {**content, "parts": [part]}}]}
        for part in objects(content.get("parts"))
    ]
    if not chunks:
        return [body]
    last = {**candidates[0], "content": {**content, "parts": []}}
    return [*chunks, {**body, "candidates": [last]}]


def _responses(body: Body) -> list[Body] | None:
    status = body["status"]
    if status not in ("completed", "incomplete", "failed"):  # which no stream ends with
        return None
    events = responses.events_of(body["output"], status)
    return [*events[:-1], {**events[-1], "response": body}]


def _chat(body: Body) -> list[Body]:
    """Return the first choice as two chunks, the last of which has the finish reason."""
    choice = body["choices"][0]
    delta = {**choice["message"]}
    if delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(delta["tool_calls"])]
    said = {"index": 0, "delta": delta, "finish_reason": None, "logprobs": choice.get("logprobs")}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    head = {name: body[name] for name in ("id", "created", "model")}
    return [
        {**head, "object": "chat.completion.chunk", "choices": [said]},
        {**body, "object": "chat.completion.chunk", "choices": [end]},
    ]


def _with_ids(body: Body) -> Body:
    """Return *body* with an id on each item, as items of streams have one."""
    output = [{"id": f"item_{at}", **item} for at, item in enumerate(body["output"])]
    return {**body, "output": output}


Reader: TypeAlias = Callable[[Any], list[LLMEvent]]
STREAMS: dict[str, tuple[Callable[[Body], list[Body] | None], Reader, Reader, Any]] = {
    "anthropic-messages": (
        _messages,
        anthropic.streamed,
        anthropic.whole,
        BetaRawMessageStreamEvent,
    ),
    "gemini": (_gemini, gemini.streamed, gemini.whole, GenerateContentResponse),
    "openai-responses": (
        _responses,
        responses.streamed,
        responses.whole,
        get_args(ResponseStreamEvent)[0],
    ),
    "openai-chat": (_chat, chat.streamed, chat.whole, ChatCompletionChunk),
}
"""The events of a whole body, what reads them and the body, and the type of an event."""


@cache
def _bodies(protocol_id: str) -> list[Body]:
    bodies = list(answers(protocol_id))
    return [*map(_with_ids, bodies)] if protocol_id == "openai-responses" else bodies


def _outcome(events: Iterable[LLMEvent]) -> object:
    """Return what can be compared of a response, or of the error in its place."""
    result = collect(events)
    if isinstance(result, Failure):
        return type(result.failure()), str(result.failure())
    made = result.unwrap()
    codes = [diagnostic.code for diagnostic in made.diagnostics]
    return made.message.content, made.finish_reason, made.usage, codes


@pytest.mark.slow
@pytest.mark.parametrize("protocol_id", sorted(STREAMS.keys() - {"openai-chat"}))
def test_every_declared_content_is_read_alike_streamed_and_whole(protocol_id: str) -> None:
    """Parts, items and blocks of every type, with each of their fields."""
    events_of, streamed, whole, _ = STREAMS[protocol_id]
    bodies = _bodies(protocol_id)
    streams = [(body, events_of(body)) for body in bodies]

    different = [
        json.dumps(body)
        for body, events in streams
        if events is not None and _outcome(streamed(events)) != _outcome(whole(body))
    ]

    assert len(bodies) > 100
    assert different == []


# -- fields that state nothing


def _said(events: Iterable[LLMEvent]) -> object:
    """Return what a response says, without what keeps its native form."""
    result = collect(events)
    if isinstance(result, Failure):
        return type(result.failure())
    made = result.unwrap()
    parts = [
        (type(part).__name__, attrs.asdict(part, filter=lambda field, _: field.name not in _NATIVE))
        for part in made.message.content
    ]
    return stated(parts), made.finish_reason, made.usage, made.id, made.model


_NATIVE = ("provider_metadata", "raw_arguments")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("protocol_id", STREAMS)
def test_fields_that_state_nothing_change_nothing(protocol_id: str, form: str) -> None:
    """Null, empty or absent, in objects of every type, or unknown."""
    _, streamed, _, declared = STREAMS[protocol_id]

    different = [
        json.dumps(events)
        for events, said in _streams(protocol_id)
        if _said(streamed([restated(event, declared, form) for event in events])) != said
    ]

    assert different == []


@cache
def _streams(protocol_id: str) -> list[tuple[list[Body], object]]:
    """Return the events of every stream, and what they say."""
    events_of, streamed, _, _ = STREAMS[protocol_id]
    streams = [events for body in _bodies(protocol_id) if (events := events_of(body)) is not None]
    return [(events, _said(streamed(events))) for events in streams]


@pytest.mark.parametrize("protocol_id", STREAMS)
def test_fields_that_state_nothing_are_found_in_every_event(protocol_id: str) -> None:
    """A control: the types are followed into the objects of an event."""
    events_of, _, _, declared = STREAMS[protocol_id]
    events = next(filter(None, map(events_of, _bodies(protocol_id))))

    assert all("x_of_tomorrow" in restated(event, declared, "unknown") for event in events)
