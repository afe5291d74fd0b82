"""Streams in which events are left out, repeated, renumbered or in another order.

Vendors' documents and accumulators allow all of these; servers of their APIs send them. Whatever
can be known otherwise, the response is the one of the usual stream. OpenAI's and Anthropic's
accumulators refuse some (other numbers than the places in the lists, missing beginnings).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest

from llmcore.folds.response import collect
from llmcore.schema.events import LLMEvent
from tests.support.wire import anthropic, gemini, responses

Event: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[list[Event]], Sequence[Event]]


def _said(events: list[LLMEvent]) -> object:
    made = collect(events).unwrap()
    return made.message.content, made.finish_reason, made.usage, made.id, made.model


def _each(change: Callable[[Event], Event | Sequence[Event]]) -> Change:
    """Return the change of every event to another one, or to several."""

    def changed(events: list[Event]) -> list[Event]:
        made = map(change, events)
        return [e for one in made for e in ([one] if isinstance(one, dict) else one)]

    return changed


def _without_fields(*names: str) -> Change:
    return _each(lambda event: {k: v for k, v in event.items() if k not in names})


def _renumbered(*names: str, by: Callable[[int], Any]) -> Change:
    return _each(lambda e: {k: by(v) if k in names else v for k, v in e.items()})


def _without(*parts_of_types: str) -> Change:
    return lambda events: [e for e in events if not any(p in e["type"] for p in parts_of_types)]


# -- Messages

SEARCH: list[Event] = [
    {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
]
MESSAGES: dict[str, Event] = {
    "calls": anthropic.message(
        anthropic.thinking("Hm, well.", "sig"),
        anthropic.text("Let me see."),
        anthropic.tool_use("look", {"at": [1, {"b": None}]}, id="toolu_1"),
        anthropic.tool_use("stop", {}, id="toolu_2"),
        stop="tool_use",
    ),
    "a search": anthropic.message(
        {"type": "redacted_thinking", "data": "d"},
        anthropic.thinking("", "sig"),
        *SEARCH,
        {"type": "dream", "sheep": 1},
        anthropic.text("So."),
    ),
    "a refusal": anthropic.message(
        stop="refusal", stop_details={"type": "refusal", "explanation": "No."}
    ),
}
PARTIAL = {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 1}}
VENDOR: list[Event] = [{"type": "vendor_event", "index": 0}, {"type": "content_block_flush"}]
_DELTAS = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}


def _stops(events: list[Event]) -> list[Event]:
    return [event for event in events if event["type"] == "content_block_stop"]


def _with_empty_deltas(events: list[Event]) -> list[Event]:
    """Return *events* with deltas of nothing at the end of each block."""
    made: list[Event] = []
    kind = ""
    for event in events:
        kind = event.get("content_block", {}).get("type", kind)
        input_ = ("input_json_delta", "partial_json") if kind.endswith("tool_use") else None
        named = _DELTAS.get(kind, input_)
        if event["type"] == "content_block_stop" and named:
            name, field = named
            nothing: list[Event] = [{field: ""}, {field: None}, {}]
            made += [anthropic.delta(event["index"], name, **fields) for fields in nothing]
        made.append(event)
    return made


def _without_zero(event: Event) -> Event:
    """Return *event* as a server in Go may write it, which leaves out a number that is 0."""
    return {name: value for name, value in event.items() if (name, value) != ("index", 0)}


def _with_several_signatures(event: Event) -> Sequence[Event]:
    """Return *event* between others of its kind: the last signature counts."""
    if event.get("delta", {}).get("type") != "signature_delta":
        return [event]
    first = anthropic.delta(event["index"], "signature_delta", signature="first")
    return [first, event, anthropic.delta(event["index"], "signature_delta", signature=None)]


OF_MESSAGES: dict[str, Change] = {
    "indexes from 5": _renumbered("index", by=lambda n: n + 5),
    "indexes with gaps": _renumbered("index", by=lambda n: n * 3),
    "no indexes": _without_fields("index"),
    "no index of the first": _each(lambda event: [_without_zero(event)]),
    "other events between": _each(lambda event: [event, *VENDOR]),
    "counts early": lambda events: [events[0], PARTIAL, *events[1:]],
    "the end twice": lambda events: [*events[:-1], events[-2], events[-1], events[-1]],
    "an end without a reason": lambda events: [
        *events[:-1],
        {"type": "message_delta", "delta": {"stop_reason": None}, "usage": None},
        events[-1],
    ],
    "no stops": lambda events: [e for e in events if e not in _stops(events)],
    "stops twice": _each(lambda event: [event, *_stops([event])]),
    "late stops": lambda events: [
        *(e for e in events[:-2] if e not in _stops(events)), *_stops(events), *events[-2:],
    ],
    "no message_stop": lambda events: events[:-1],
    "empty deltas": _with_empty_deltas,
    "several signatures": _each(_with_several_signatures),
}  # fmt: skip


@pytest.mark.parametrize("change", OF_MESSAGES)
@pytest.mark.parametrize("name", MESSAGES)
def test_a_stream_of_messages_is_read_alike_in_another_form(name: str, change: str) -> None:
    events = anthropic.stream_of(MESSAGES[name])

    changed = list(OF_MESSAGES[change](events))

    assert _said(anthropic.streamed(changed)) == _said(anthropic.streamed(events))


# -- Responses

ITEMS: dict[str, list[Event]] = {
    "all": [
        responses.reasoning("Hm", "so", content=["deep"]),
        responses.message("Hello", responses.refusal_part("no")),
        responses.function_call(n=1),
        responses.function_call('{"city":"B"}', n=2),
        responses.custom_call("ls", n=3),
    ],
    "twins": [
        responses.reasoning("a", id="rs_1"),
        responses.reasoning("b", encrypted="other", id="rs_2"),
        responses.message("one", id="msg_1"),
        responses.message("two", "three", id="msg_2"),
    ],
    "a search": [*responses.HOSTED["web_search"], responses.message("Hello")],
    "a shell": [responses.message("Hello"), *responses.HOSTED["shell"]],
}
DREAM: Event = {"type": "response.dream.delta", "delta": "x", "output_index": 0, "item_id": "d"}


def _with_end(change: Callable[[Event], Event]) -> Change:
    """Return the change of the response in the last event."""
    return lambda events: [*events[:-1], {**events[-1], "response": change(events[-1]["response"])}]


def _with_nothing_between(event: Event) -> Sequence[Event]:
    if not event["type"].endswith(".delta"):
        return [event]
    bare = {name: value for name, value in event.items() if name != "delta"}
    return [{**event, "delta": ""}, {**event, "delta": None}, bare, event]


def _with_lifecycle(event: Event) -> Sequence[Event]:
    started = responses.document([], "in_progress", usage=None)
    again = {"type": "response.in_progress", "response": started}
    return [event, again] if "output_item" in event["type"] else [event]


OF_RESPONSES: dict[str, Change] = {
    "no parts": _without("part.added", "part.done"),
    "no ends of texts": _without("text.done", "refusal.done"),
    "no ends of inputs": _without("arguments.done", "input.done"),
    "no beginnings of items": _without("output_item.added"),
    "no response.created": lambda events: [e for e in events if e["type"] != "response.created"],
    "null for the output at the end": _with_end(lambda r: {**r, "output": None}),
    "an empty output at the end": _with_end(lambda r: {**r, "output": []}),
    "no output at the end": _with_end(lambda r: {k: v for k, v in r.items() if k != "output"}),
    "the end alone": lambda events: [events[0], events[-1]],
    "no status at the end": _with_end(lambda r: {k: v for k, v in r.items() if k != "status"}),
    "response.done": lambda events: [*events[:-1], {**events[-1], "type": "response.done"}],
    "the end twice": lambda events: [*events, events[-1]],
    "all numbers 0": _renumbered("output_index", by=lambda _: 0),
    "no numbers of items": _without_fields("output_index"),
    "no numbers of parts": _without_fields("content_index", "summary_index"),
    "numbers of parts from 3": _renumbered("content_index", "summary_index", by=lambda n: n + 3),
    "no ids of items": _without_fields("item_id"),
    "no numbers of events": _without_fields("sequence_number", "obfuscation", "logprobs"),
    "other events between": _each(lambda event: [event, DREAM, {"type": "vendor.thing"}]),
    "empty deltas": _each(_with_nothing_between),
    "the state again": _each(_with_lifecycle),
}  # fmt: skip


@pytest.mark.parametrize("change", OF_RESPONSES)
@pytest.mark.parametrize("name", ITEMS)
def test_a_stream_of_responses_is_read_alike_in_another_form(name: str, change: str) -> None:
    events = list(responses.events_of(ITEMS[name]))

    changed = list(OF_RESPONSES[change](events))

    assert _said(responses.streamed(changed)) == _said(responses.streamed(events))


# -- Gemini

COUNTS = {**gemini.USAGE, "thoughtsTokenCount": 3, "totalTokenCount": 15}
CHUNKS: dict[str, list[Event]] = {
    "calls": [
        gemini.chunk({"text": "Let me", "thought": True}),
        gemini.chunk({"text": " see.", "thought": True}),
        gemini.chunk({"text": "He"}),
        gemini.chunk({"text": "llo"}),
        gemini.chunk({"text": "", "thoughtSignature": "c2ln"}),
        gemini.chunk(gemini.call(id="c1")),
        gemini.chunk({"functionCall": {"name": "g"}, "thoughtSignature": "c2lo"}),
        gemini.chunk(finish="STOP", usageMetadata=COUNTS),
    ],
    "code": [
        gemini.chunk({"executableCode": {"language": "PYTHON", "code": "1"}}),
        gemini.chunk({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
        gemini.chunk({"inlineData": {"mimeType": "image/png", "data": "eA=="}}),
        gemini.chunk({"text": "It is 1"}, finish="MAX_TOKENS"),
    ],
    "arguments in pieces": [
        *gemini.pieces(
            gemini.piece("$.a", stringValue="x", more=True),
            gemini.piece("$.a", stringValue="y"),
            gemini.piece("$.n", numberValue=3),
        ),
        gemini.chunk(finish="STOP"),
    ],
    "a blocked prompt": [
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": gemini.USAGE}
    ],
}
OTHER = {"index": 1, "content": {"parts": [{"text": "other"}]}, "finishReason": "STOP"}
EMPTY: list[Event] = [
    {},
    {"candidates": []},
    {"candidates": [{}]},
    {"candidates": [{"content": {"parts": []}, "index": 0}]},
    {"candidates": [{"content": {"parts": [{}]}, "index": 0}]},
]


def _candidates(change: Callable[[Event], Event | Sequence[Event]]) -> Change:
    """Return the change of every candidate to another one, or to several."""

    def changed(chunk: Event) -> Event:
        if "candidates" not in chunk:
            return chunk
        return {**chunk, "candidates": list(_each(change)(chunk["candidates"]))}

    return _each(changed)


def _without_parts(empty: dict[str, Any]) -> Callable[[Event], Event]:
    """Return the change of the content of a candidate that has no parts."""

    def changed(candidate: Event) -> Event:
        if candidate["content"]["parts"]:
            return candidate
        return {k: v for k, v in candidate.items() if k != "content"} | empty

    return changed


def _ended(reason: str | None) -> Change:
    """Return the change of the finish reasons before the last one."""

    def changed(events: list[Event]) -> list[Event]:
        early = _candidates(lambda candidate: {**candidate, "finishReason": reason})
        return [*early(events[:-1]), events[-1]]

    return changed


def _counted_at_the_end(chunk: Event) -> Change:
    """Return the change of the counts: to the ones of an own last chunk."""

    def changed(events: list[Event]) -> list[Event]:
        counts = {"usageMetadata": events[-1]["usageMetadata"]}
        return [*_without_fields("usageMetadata")(events), {**chunk, **counts}]

    return changed


OF_GEMINI: dict[str, Change] = {
    "no index": _candidates(lambda c: {k: v for k, v in c.items() if k != "index"}),
    "a null index": _candidates(lambda c: {**c, "index": None}),
    "no empty content": _candidates(_without_parts({})),
    "null for empty content": _candidates(_without_parts({"content": None})),
    "null for empty parts": _candidates(_without_parts({"content": {"parts": None}})),
    "an unspecified reason early": _ended("FINISH_REASON_UNSPECIFIED"),
    "STOP early": _ended("STOP"),
    "an empty reason early": _ended(""),
    "counts in a last chunk": _counted_at_the_end({}),
    "counts in a last chunk with candidates": _counted_at_the_end({"candidates": []}),
    "counts in a last chunk with null": _counted_at_the_end({"candidates": None}),
    "empty chunks between": _each(lambda chunk: [chunk, *EMPTY]),
    "another candidate": _candidates(lambda c: [c, OTHER]),
    "another candidate first": _candidates(lambda c: [OTHER, c]),
    "another candidate in chunks of its own": _each(lambda chunk: [chunk, {"candidates": [OTHER]}]),
    "feedback without a reason": _each(lambda chunk: {"promptFeedback": {}, **chunk}),
    "an unspecified block": _each(
        lambda c: {"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}, **c}
    ),
    "a null error": _each(lambda chunk: {"error": None, **chunk}),
    "chunks of a vendor": _each(lambda chunk: [{"vendor": 1}, chunk]),
}


@pytest.mark.parametrize("change", OF_GEMINI)
@pytest.mark.parametrize("name", CHUNKS)
def test_a_stream_of_gemini_is_read_alike_in_another_form(name: str, change: str) -> None:
    changed = list(OF_GEMINI[change](CHUNKS[name]))

    assert _said(gemini.streamed(changed)) == _said(gemini.streamed(CHUNKS[name]))
