"""A stream that is one text has the events of the state machine, which it does not need."""

import copy
import json
from collections.abc import Sequence
from typing import Any, Final

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.protocol import Protocol, protocol_by_id
from llmcore.routes.decoding import ResponseDecoder
from llmcore.routes.framing import Framing
from llmcore.routes.response_facts import ResponseContext
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent, TextDelta
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from tests.support.json_paths import places

_REQUEST: Final = LLMRequest(model=Model("asked", "acme"), messages=(Message.user("?"),))
_CONTEXT: Final = ResponseContext(request_id="r", service_tier="flex")

Frame = tuple[str, Any]
"""The name of an event and its document."""


def _chunk(delta: Any, reason: str | None = None, **more: Any) -> Frame:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return "", {**head, "service_tier": "default", "choices": [choice], "usage": None, **more}


_CHAT: Final[tuple[Frame, ...]] = (
    _chunk({"role": "assistant", "content": "", "refusal": None}),
    _chunk({"content": "Hel"}),
    _chunk({"content": "lo"}),
    _chunk({"content": " \u2603"}),
    _chunk({}, "stop"),
    _chunk({}, choices=[], usage={"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}),
    ("", "[DONE]"),
)
_MORE_CHAT: Final[tuple[Frame, ...]] = (
    _chunk({"content": ""}),
    _chunk({"content": "!"}, "length"),
    _chunk({"content": "a"}, logprobs=None),
    _chunk({"reasoning_content": "Hm"}),
    _chunk({"tool_calls": [{"index": 0, "id": "k", "function": {"name": "f", "arguments": "{}"}}]}),
    _chunk({}, usage={"prompt_tokens": 0, "completion_tokens": 0}),
    _chunk({}, choices=[]),
    _chunk({"role": "assistant", "content": "\ud83d"}),
    ("", {"error": {"message": "over", "code": 500}}),
    ("error", {"message": "over"}),
    ("ping", ""),
)


def _event(kind: str, **fields: Any) -> Frame:
    return f"response.{kind}", {"type": f"response.{kind}", "sequence_number": 1, **fields}


_PLACE: Final = {"item_id": "msg", "output_index": 0, "content_index": 0}
_PART: Final = {"type": "output_text", "annotations": [], "logprobs": []}
_ITEM: Final = {"id": "msg", "type": "message", "role": "assistant", "phase": "final_answer"}
_SAID: Final = "Hello \u2603"
_WHOLE: Final = {**_ITEM, "status": "completed", "content": [{**_PART, "text": _SAID}]}
_RESPONSE: Final = {"id": "resp", "model": "m", "service_tier": "flex", "error": None}
_COUNTS: Final = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
_RESPONSES: Final[tuple[Frame, ...]] = (
    _event("created", response={**_RESPONSE, "status": "in_progress", "output": []}),
    _event("in_progress", response={**_RESPONSE, "status": "in_progress", "output": []}),
    _event("output_item.added", output_index=0, item={**_ITEM, "content": []}),
    _event("content_part.added", **_PLACE, part={**_PART, "text": ""}),
    _event("output_text.delta", **_PLACE, delta="Hel", logprobs=[]),
    _event("output_text.delta", **_PLACE, delta="lo", logprobs=[]),
    _event("output_text.delta", **_PLACE, delta=" \u2603", logprobs=[]),
    _event("output_text.done", **_PLACE, text=_SAID, logprobs=[]),
    _event("content_part.done", **_PLACE, part={**_PART, "text": _SAID}),
    _event("output_item.done", output_index=0, item=_WHOLE),
    _event(
        "completed",
        response={**_RESPONSE, "status": "completed", "output": [_WHOLE], "usage": _COUNTS},
    ),
)
_THOUGHT: Final = {"id": "rs", "type": "reasoning", "summary": []}
_MORE_RESPONSES: Final[tuple[Frame, ...]] = (
    _event("output_text.delta", **_PLACE, delta=""),
    _event("output_text.delta", **_PLACE, delta="\ud83d"),
    _event("output_text.delta", **{**_PLACE, "item_id": "other"}, delta="a"),
    _event("output_text.annotation.added", **_PLACE, annotation={"type": "url_citation"}),
    _event("output_item.added", output_index=1, item=_THOUGHT),
    _event("output_item.done", output_index=0, item={**_WHOLE, "content": []}),
    _event("created", response={**_RESPONSE, "id": "r2", "background": True}),
    _event("completed", response={**_RESPONSE, "status": "incomplete", "output": [_WHOLE]}),
    _event("failed", response={**_RESPONSE, "status": "failed", "error": {"message": "over"}}),
    ("error", {"type": "error", "message": "over"}),
    ("keepalive", {"type": "keepalive"}),
    ("", "[DONE]"),
)


def _named(kind: str, **fields: Any) -> Frame:
    return kind, {"type": kind, **fields}


_TOKENS: Final = {"input_tokens": 3, "output_tokens": 1, "service_tier": "standard"}
_MESSAGE: Final = {"id": "a", "type": "message", "model": "m", "content": [], "usage": _TOKENS}
_BEGUN: Final = _named("message_start", message={**_MESSAGE, "stop_reason": None})
_BLOCK: Final = _named("content_block_start", index=0, content_block={"type": "text", "text": ""})
_STOPPED: Final = _named(
    "message_delta",
    delta={"stop_reason": "end_turn", "stop_sequence": None},
    usage={"output_tokens": 4},
)


def _said(text: str, index: int = 0) -> Frame:
    delta = {"type": "text_delta", "text": text}
    return _named("content_block_delta", index=index, delta=delta)


_MESSAGES: Final[tuple[Frame, ...]] = (
    _BEGUN,
    _BLOCK,
    _named("ping"),
    _said("Hel"),
    _said("lo"),
    _said(" \u2603"),
    _named("content_block_stop", index=0),
    _STOPPED,
    _named("message_stop"),
)
_REFUSED: Final = {"stop_reason": "refusal", "stop_details": {"explanation": "no"}}
_CITED: Final = {"type": "citations_delta", "citation": {"cited_text": "a"}}
_MORE_MESSAGES: Final[tuple[Frame, ...]] = (
    _said(""),
    _said("a", 1),
    _named("content_block_delta", index=0, delta=_CITED),
    _named("content_block_start", index=1, content_block={"type": "thinking", "thinking": ""}),
    _named("message_delta", delta=_REFUSED, usage={"input_tokens": 0}),
    _named("message_delta", delta={"container": {"id": "c"}}, context_management={"a": 1}),
    _named("message_start", message={**_MESSAGE, "id": "b", "content": [{"type": "text"}]}),
    ("ping", {"type": "message_stop"}),
    ("ping", "{"),
    ("error", {"type": "error", "error": {"type": "overloaded_error", "message": "over"}}),
    _named("vendor_event", value=1),
)


def _candidate(*parts: Any, reason: str | None = None, **more: Any) -> Frame:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if reason is not None:
        candidate |= {"finishReason": reason, "avgLogprobs": -0.5}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
    head = {"modelVersion": "m", "responseId": "g", "createTime": "2026-01-01T00:00:00Z"}
    return "", {"candidates": [candidate], "usageMetadata": usage, **head, **more}


_COUNTED: Final = {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}
_GEMINI: Final[tuple[Frame, ...]] = (
    _candidate({"text": "Hel"}),
    _candidate({"text": "lo"}),
    _candidate({"text": " \u2603"}, reason="STOP", usageMetadata=_COUNTED),
)
_MORE_GEMINI: Final[tuple[Frame, ...]] = (
    _candidate({"text": ""}),
    _candidate({"text": ""}, reason="STOP"),
    _candidate({"text": "Hm", "thought": True}),
    _candidate({"text": "Hm", "thought": True}, reason="STOP"),
    _candidate({"text": "a", "thoughtSignature": "c2ln"}),
    _candidate({"text": "a"}, {"text": "b"}),
    _candidate({"text": "a"}, createTime="2026-01-01T00:00:01Z"),
    _candidate({"text": "a"}, usageMetadata={"trafficType": "ON_DEMAND"}),
    _candidate({"text": "\ud83d"}),
    _candidate({"functionCall": {"name": "f", "args": {}}}, reason="STOP"),
    ("", {"candidates": [{"finishReason": "MAX_TOKENS"}], "usageMetadata": _COUNTED}),
    ("", {"candidates": [{"content": {}, "groundingMetadata": {"webSearchQueries": ["q"]}}]}),
    ("", {"promptFeedback": {"blockReason": "SAFETY"}}),
    ("", {"usageMetadata": {"promptTokenCount": 9}}),
    ("", {"error": {"message": "over", "code": 500}}),
    ("error", {"message": "over"}),
    ("", "[DONE]"),
)


STREAMS: Final = {
    "anthropic-messages": (_MESSAGES, _MORE_MESSAGES),
    "gemini": (_GEMINI, _MORE_GEMINI),
    "openai-chat": (_CHAT, _MORE_CHAT),
    "openai-responses": (_RESPONSES, _MORE_RESPONSES),
}
"""By protocol, a stream that is one text, and frames that other streams have."""


def _bytes(frames: Sequence[Frame]) -> bytes:
    made = b""
    for name, document in frames:
        data = document if isinstance(document, str) else json.dumps(document)
        made += (f"event: {name}\n" if name else "").encode() + b"data: " + data.encode() + b"\n\n"
    return made


def _protocol(protocol_id: str, *, with_machine: bool) -> Protocol[Any, Any, Any]:
    """Return the protocol; *with_machine*, its state machine alone reads all."""
    protocol = protocol_by_id(protocol_id)
    assert protocol.stream.one_text is not None
    if not with_machine:
        return protocol
    return evolve(protocol, stream=evolve(protocol.stream, one_text=None))


def _read(
    protocol: Protocol[Any, Any, Any], chunks: Sequence[bytes], *, until_delta: bool
) -> list[Any]:
    """Return what is known of a response after each chunk, and at its end."""
    decoder = ResponseDecoder(protocol, Framing.sse(), _REQUEST, _CONTEXT)
    decoder.until_delta = until_delta
    known: list[Any] = []

    def note(events: list[LLMEvent]) -> None:
        shown = [repr(event) if isinstance(event, ErrorEvent) else event for event in events]
        known.append((shown, decoder.partial, decoder.ended))

    for chunk in chunks:
        note(decoder.feed(chunk))
        while decoder.keeps_frames:
            note(decoder.feed(b""))
    note(decoder.end())
    return [*known, repr(decoder.accumulator.response()), decoder.cursor]


_NAMES: Final = st.sampled_from(
    ("error", "type", "object", "role", "delta", "text", "id", "citations", "logprobs", "index")
)
_UNKNOWN: Final = st.sampled_from(("agent", "future"))
"""Fields that are kept without being read. Of a Chat stream, deltas may lose theirs on any path."""
_VALUES: Final = st.recursive(
    st.sampled_from([None, True, 0, 1, "", "stop", "error", "null", "[" * 200, "\ud800", 1e300]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(_NAMES, inner, max_size=2)
    ),
    max_leaves=4,
)


def _changed(document: dict[str, Any], data: st.DataObject, names: st.SearchStrategy[str]) -> Any:
    """Return *document* with another value somewhere, or one member more."""
    made: Any = copy.deepcopy(document)
    path = data.draw(st.sampled_from(list(places(made))))
    holder = made
    for step in path[:-1]:
        holder = holder[step]
    inner = holder[path[-1]]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        inner[data.draw(names)] = data.draw(_VALUES)
    else:
        holder[path[-1]] = data.draw(_VALUES)
    return made


def _cut(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    ends = sorted({min(cut, len(data)) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True) if a < b]


def _check(
    protocol_id: str, frames: Sequence[Frame], cuts: Sequence[int], *, until_delta: bool
) -> None:
    chunks = _cut(_bytes(frames), cuts)
    read = [
        _read(_protocol(protocol_id, with_machine=alone), chunks, until_delta=until_delta)
        for alone in (False, True)
    ]
    assert read[0] == read[1]


@pytest.mark.parametrize("protocol_id", STREAMS)
def test_a_stream_of_one_text_needs_no_state(protocol_id: str) -> None:
    def fail(*_: object) -> Any:
        raise AssertionError("the state machine was used")

    protocol = _protocol(protocol_id, with_machine=False)
    machine = evolve(protocol.stream, initial=fail, step=fail, halt=fail)
    frames, _ = STREAMS[protocol_id]
    decoder = ResponseDecoder(evolve(protocol, stream=machine), Framing.sse(), _REQUEST)
    events = decoder.feed(_bytes(frames)) + decoder.end()
    assert [event.text for event in events if isinstance(event, TextDelta)] == [
        "Hel",
        "lo",
        " \u2603",
    ]
    assert isinstance(events[-1], Finish)
    assert decoder.partial.text == "Hello \u2603"


@pytest.mark.parametrize("protocol_id", STREAMS)
@pytest.mark.parametrize("until_delta", [False, True])
def test_a_stream_of_one_text_has_the_events_of_the_state_machine(
    protocol_id: str, until_delta: bool
) -> None:
    frames, _ = STREAMS[protocol_id]
    ends = [len(_bytes(frames[:count])) for count in range(1, len(frames))]
    for cuts in ([], ends, ends[1:3]):
        _check(protocol_id, frames, cuts, until_delta=until_delta)


@pytest.mark.parametrize("protocol_id", STREAMS)
def test_a_stream_of_one_text_with_another_frame_has_the_events_of_the_state_machine(
    protocol_id: str,
) -> None:
    frames, others = STREAMS[protocol_id]
    for at in range(len(frames) + 1):
        _check(protocol_id, frames[:at], (), until_delta=False)
        _check(protocol_id, (*frames[:at], *frames[at + 1 :]), (), until_delta=False)
        for other in (*others, *frames):
            _check(protocol_id, (*frames[:at], other, *frames[at:]), (), until_delta=False)


@pytest.mark.parametrize("protocol_id", STREAMS)
@given(data=st.data())
def test_a_changed_stream_has_the_events_of_the_state_machine(
    protocol_id: str, data: st.DataObject
) -> None:
    frames, others = STREAMS[protocol_id]
    names = _NAMES if protocol_id == "openai-chat" else _NAMES | _UNKNOWN
    changed = list(frames)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(changed) - 1))
        if data.draw(st.booleans()):
            changed.insert(at, data.draw(st.sampled_from(others)))
            continue
        name, document = changed[at]
        if isinstance(document, dict) and document:
            changed[at] = name, _changed(document, data, names)
    size = len(_bytes(changed))
    cuts = data.draw(st.lists(st.integers(1, size), max_size=4))
    _check(protocol_id, changed, cuts, until_delta=data.draw(st.booleans()))
