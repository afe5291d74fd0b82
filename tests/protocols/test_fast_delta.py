"""The per-token path reads the delta that the state machine would, or leaves the frame to it."""

import json
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from llmcore.folds.segments import deltas
from llmcore.protocols import (
    anthropic_messages,
    bedrock_converse,
    gemini,
    openai_chat,
    openai_responses,
)
from llmcore.protocols.gemini.stream import fast_reader
from llmcore.protocols.protocol import Frame, Protocol
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.events import ErrorEvent, ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.model import Model
from llmcore.schema.persistent import to_list
from llmcore.schema.request import request
from llmcore.testing import recorded_events

Event = dict[str, Any]

ASKED = request(model=Model("m", "p"), prompt="Hello")


@frozen
class Case:
    """A stream that has something open, an event that continues it, and the delta it is."""

    protocol: Protocol[Any, Any, Any]
    before: tuple[Event, ...]
    event: Event
    delta: object

    def state(self) -> Any:
        """Return the state in which the event comes."""
        machine = self.protocol.stream
        state = machine.initial(ASKED)
        for event in self.before:
            state, _ = machine.step(state, machine.decode(_frame(event)))
        return state


def _frame(event: Event) -> Frame:
    return event.get("type", ""), json.dumps(event).encode()


def _chat(delta: Event) -> Event:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta}], "usage": None}


def _called(arguments: str, **first: object) -> Event:
    call = {"index": 0, "function": {"arguments": arguments}, **first}
    return _chat({"tool_calls": [call]})


def _item(kind: str, **fields: object) -> Event:
    item = {"type": kind, "id": "i", **fields}
    return {"type": "response.output_item.added", "output_index": 0, "item": item}


def _said(kind: str, part: str, text: str) -> Event:
    place = {"item_id": "i", "output_index": 0, part: 0}
    return {"type": f"response.{kind}.delta", **place, "delta": text, "logprobs": []}


def _block(kind: str, **fields: object) -> Event:
    block = {"type": kind, **fields}
    return {"type": "content_block_start", "index": 0, "content_block": block}


def _more(kind: str, **fields: object) -> Event:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **fields}}


def _bedrock(kind: str, **fields: object) -> Event:
    return {"type": f"contentBlock{kind}", "contentBlockIndex": 0, **fields}


CREATED: Event = {"type": "response.created", "response": {"id": "r", "model": "m"}}
STARTED: Event = {"type": "message_start", "message": {"id": "a", "usage": {"input_tokens": 1}}}
NAMED = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{"}}
CASES = {
    "chat text": Case(
        openai_chat.protocol,
        (_chat({"content": "a"}),),
        _chat({"content": "b"}),
        TextDelta("text_0", "b"),
    ),
    "chat reasoning": Case(
        openai_chat.protocol,
        (_chat({"reasoning_content": "a", "content": None}),),
        _chat({"reasoning_content": "b", "content": None}),
        ReasoningDelta("reasoning_0", "b"),
    ),
    "chat tool input": Case(
        openai_chat.protocol,
        (_called("", **NAMED), _called('"a')),
        _called('": 1'),
        ToolInputDelta("call_1", '": 1'),
    ),
    "responses text": Case(
        openai_responses.protocol,
        (CREATED, _item("message", content=[]), _said("output_text", "content_index", "a")),
        _said("output_text", "content_index", "b"),
        TextDelta("text_0_0", "b"),
    ),
    "responses reasoning": Case(
        openai_responses.protocol,
        (
            CREATED,
            _item("reasoning", summary=[]),
            _said("reasoning_summary_text", "summary_index", "a"),
        ),
        _said("reasoning_summary_text", "summary_index", "b"),
        ReasoningDelta("summary_0_0", "b"),
    ),
    "messages text": Case(
        anthropic_messages.protocol,
        (STARTED, _block("text", text="")),
        _more("text_delta", text="b"),
        TextDelta("text_0", "b"),
    ),
    "messages thinking": Case(
        anthropic_messages.protocol,
        (STARTED, _block("thinking", thinking="", signature="")),
        _more("thinking_delta", thinking="b"),
        ReasoningDelta("reasoning_0", "b"),
    ),
    "messages tool input": Case(
        anthropic_messages.protocol,
        (
            STARTED,
            _block("tool_use", id="call_1", name="look", input={}),
            _more("input_json_delta", partial_json="{"),
        ),
        _more("input_json_delta", partial_json="}"),
        ToolInputDelta("call_1", "}"),
    ),
    "converse text": Case(
        bedrock_converse.protocol,
        (_bedrock("Delta", delta={"text": "a"}),),
        _bedrock("Delta", delta={"text": "b"}, p="abc"),
        TextDelta("text_0", "b"),
    ),
    "converse reasoning": Case(
        bedrock_converse.protocol,
        (_bedrock("Delta", delta={"reasoningContent": {"text": "a"}}),),
        _bedrock("Delta", delta={"reasoningContent": {"text": "b"}}),
        ReasoningDelta("reasoning_0", "b"),
    ),
    "converse tool input": Case(
        bedrock_converse.protocol,
        (_bedrock("Start", start={"toolUse": {"toolUseId": "call_1", "name": "look"}}),),
        _bedrock("Delta", delta={"toolUse": {"input": "{}"}}),
        ToolInputDelta("call_1", "{}"),
    ),
}
BY_NAME = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def _continued(case: Case, frame: Frame) -> object:
    reader_of = case.protocol.stream.fast_reader
    assert reader_of is not None
    reader = reader_of(case.state())
    texts = [] if reader is None else reader.read([frame])
    return deltas(reader.kind, reader.segment, texts)[0] if reader and texts else None


@BY_NAME
def test_a_continuation_is_read_at_once(case: Case) -> None:
    """The usual event takes the short way, and means what the long one makes of it."""
    machine = case.protocol.stream
    state = case.state()

    _, events = machine.step(state, machine.decode(_frame(case.event)))

    assert _continued(case, _frame(case.event)) == case.delta
    assert list(events) == [case.delta]


@BY_NAME
def test_frames_are_read_up_to_one_that_may_do_more(case: Case) -> None:
    """The frames after it are left, though they continue the segment, too."""
    reader_of = case.protocol.stream.fast_reader
    assert reader_of is not None
    reader, frame = reader_of(case.state()), _frame(case.event)
    assert reader is not None

    texts = reader.read([frame, frame, (frame[0], b"{}"), frame])

    assert deltas(reader.kind, reader.segment, texts) == [case.delta] * 2


@BY_NAME
def test_fast_path_reads_nothing_before_a_segment_is_open(case: Case) -> None:
    """Before anything is open, the short way reads nothing."""
    reader_of = case.protocol.stream.fast_reader
    assert reader_of is not None

    assert reader_of(case.protocol.stream.initial(ASKED)) is None


@pytest.mark.parametrize(
    "beside",
    [
        {"extra_content": {"google": {"thought_signature": "abc"}}},
        {"custom": {"input": "x"}},
    ],
)
def test_fields_beside_the_arguments_of_a_call_are_not_lost(beside: Event) -> None:
    """The short way leaves fragments with more than the arguments to the long one."""
    case = CASES["chat tool input"]

    assert _continued(case, _frame(_called('": 1', **beside))) is None


_FRAGMENTS = st.lists(
    st.sampled_from(["{", '{"a":', '{"a":1', '{"a":1}', "1", "}", " ", "{}", '"b"', ""]), max_size=6
)


@given(_FRAGMENTS, _FRAGMENTS, st.booleans())
def test_arguments_are_read_as_without_the_short_way(
    first: list[str], second: list[str], at_once: bool
) -> None:
    """Whether they are deltas, repeat what came before, or come again as a whole."""
    calls: list[Event] = []
    for index, (name, texts) in enumerate((("f", first), ("g", second))):
        calls.append({"index": index, "id": name, "function": {"name": name, "arguments": ""}})
        calls += [{"index": index, "function": {"arguments": text}} for text in texts]
    events = [_chat({"tool_calls": [call]}) for call in calls]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    chunks = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    machine = openai_chat.protocol.stream
    slow = evolve(openai_chat.protocol, stream=evolve(machine, fast_reader=None, one_text=None))

    assert _read(openai_chat.protocol, [b"".join(chunks)] if at_once else chunks) == (
        _read(slow, chunks)
    )


def _read(protocol: Protocol[Any, Any, Any], chunks: list[bytes]) -> list[object]:
    read = decode_response(
        protocol, Framing.sse(), ASKED, status=200, headers={}, chunks=chunks, streaming=True
    )
    return [str(one.error) if isinstance(one, ErrorEvent) else one for one in read]


@pytest.mark.parametrize("name", ["search_info", "web_search", "venice_parameters", "x_groq"])
def test_content_beside_the_choices_is_not_lost_where_a_chunk_before_had_some(name: str) -> None:
    """Pages, and the usage or error of Groq, come in several chunks."""
    first, second = ({**_chat({"content": text}), name: {"id": text}} for text in "ab")
    first["choices"][0][name] = {"id": "a"}
    case = Case(openai_chat.protocol, (first,), second, TextDelta("text_0", "b"))

    assert _continued(case, _frame(second)) is None


def test_mistral_s_padding_leaves_text_on_the_short_way() -> None:
    """Its chunks have random letters of their own in `p`."""
    first, second = ({**_chat({"content": text}), "p": text * 3} for text in "ab")
    case = Case(openai_chat.protocol, (first,), second, TextDelta("text_0", "b"))

    assert _continued(case, _frame(second)) == case.delta


def test_usage_in_the_choice_is_not_lost() -> None:
    """Some servers count there; the short way leaves such a chunk to the long one."""
    case = CASES["chat text"]
    event = json.loads(json.dumps(case.event))
    event["choices"][0]["usage"] = {"prompt_tokens": 1}

    assert _continued(case, _frame(event)) is None


ODD = st.sampled_from(
    [None, "", "x", 0, 1, True, -1, 0.5, [], [1], {}, {"a": 1}, "text_delta", [{"index": 0}]]
)
KEYS = st.sampled_from(
    [
        "type",
        "index",
        "delta",
        "choices",
        "content",
        "reasoning",
        "tool_calls",
        "finish_reason",
        "usage",
        "error",
        "logprobs",
        "item_id",
        "output_index",
        "content_index",
        "text",
        "role",
        "citations",
        "x_groq",
        "function",
        "arguments",
        "id",
        "name",
        "thinking",
        "partial_json",
        "contentBlockIndex",
        "toolUse",
        "input",
        "",
        "reasoningContent",
        "signature",
        "citation",
        "candidates",
        "parts",
        "thought",
        "thoughtSignature",
        "usageMetadata",
        "promptTokenCount",
        "createTime",
        "modelVersion",
        "safetyRatings",
        "groundingMetadata",
        "avgLogprobs",
        "finishReason",
    ]
)
WAYS = st.sampled_from(
    [
        "choices",
        0,
        "delta",
        "tool_calls",
        "function",
        "toolUse",
        "reasoningContent",
        "candidates",
        "content",
        "parts",
        "usageMetadata",
    ]
)


@st.composite
def changes(draw: st.DrawFn) -> tuple[list[object], str, object, bool]:
    """Draw a change: a way into the event, a key, a value, and whether the key goes instead."""
    way: list[object] = [*draw(st.lists(WAYS, max_size=5))]
    return way, draw(KEYS), draw(ODD), draw(st.booleans())


def _change(event: Event, change: tuple[list[object], str, object, bool]) -> Event:
    changed: Event = json.loads(json.dumps(event))
    way, key, value, removed = change
    place: Any = changed
    for step in way:
        inner = place.get(step) if isinstance(place, dict) else place[0] if place else None
        place = inner if isinstance(inner, dict | list) else place
    if isinstance(place, list):
        place.append(value)
    elif removed:
        place.pop(key, None)
    else:
        place[key] = value
    return changed


@BY_NAME
@given(asked=st.lists(changes(), max_size=3))
def test_whatever_comes_the_two_ways_agree(
    case: Case, asked: list[tuple[list[object], str, object, bool]]
) -> None:
    """An event changed at random is left to the long way, or read as the long way reads it."""
    event = case.event
    for change in asked:
        event = _change(event, change)
    frame = (
        _frame(event)
        if isinstance(event.get("type", ""), str)
        else ("", json.dumps(event).encode())
    )
    machine = case.protocol.stream

    delta = _continued(case, frame)

    if delta is not None:
        before = case.state()
        after, events = machine.step(before, machine.decode(frame))
        assert list(events) == [delta]
        if case.protocol is openai_chat.protocol:  # which keeps what chunks say beside the response
            metadata = before.info.metadata
            after = replace(after, info=replace(after.info, metadata=metadata))
        assert after == before


# -- Gemini, whose state changes with every chunk


def _arguments(text: str, **more: object) -> Event:
    piece = {"jsonPath": "$.at", "stringValue": text, "willContinue": True}
    return {"functionCall": {"partialArgs": [piece], "willContinue": True, **more}}


def _gemini(*parts: Event, **fields: object) -> Event:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 2}
    return {"candidates": [candidate], "usageMetadata": usage, "createTime": "now", **fields}


THINKING = _gemini({"text": "a", "thought": True})
SPEAKING = _gemini({"text": "a"})
BEFORE = {
    "nothing": (),
    "thoughts": (THINKING,),
    "text": (THINKING, SPEAKING),
    "a call": (SPEAKING, _gemini({"functionCall": {"name": "look", "willContinue": True}})),
}
CHUNKS = {
    "text": _gemini({"text": "b"}),
    "a thought": _gemini({"text": "b", "thought": True}),
    "no text": _gemini({"text": ""}),
    "two": _gemini({"text": "b"}, {"text": "c"}),
    "signed": _gemini({"text": "b", "thoughtSignature": "c2ln"}),
    "late usage": _gemini({"text": "b"}, usageMetadata={"trafficType": "ON_DEMAND"}),
    "arguments": _gemini(_arguments("b")),
    "the last arguments": _gemini(_arguments("b", willContinue=False)),
    "arguments of a name": _gemini(_arguments("b", name="look")),
    "arguments that are thought": _gemini({**_arguments("b"), "thought": True}),
    "arguments and text": _gemini({**_arguments("b"), "text": "c"}),
    "the end": _gemini(),
}


def _known(state: Any) -> object:
    call = state.info.call
    given = [one for piece in to_list(call and call.pieces) for one in piece.get("partialArgs", ())]
    opened = call and (call.id, call.name, call.native, given)
    info = replace(state.info, call=None, texts=None)
    return info, to_list(state.info.texts), opened, state.usage, "".join(to_list(state.pieces))


def _gemini_state(before: tuple[Event, ...]) -> Any:
    machine = gemini.protocol.stream
    state = machine.initial(ASKED)
    for event in before:
        state, _ = machine.step(state, event)
    return state


@pytest.mark.parametrize(
    ("before", "chunk", "text"),
    [("text", "text", "b"), ("thoughts", "a thought", "b"), ("a call", "arguments", "")],
)
def test_continuations_of_gemini_are_read_at_once(before: str, chunk: str, text: str) -> None:
    """Arguments give no event: they come when the call is complete."""
    state = _gemini_state(BEFORE[before])
    reader = fast_reader(state)
    frame = "", json.dumps(CHUNKS[chunk]).encode()

    assert reader is not None
    assert reader.after is not None
    assert reader.read([frame, frame]) == [text, text]
    long, _ = gemini.protocol.stream.step(state, CHUNKS[chunk])
    long, _ = gemini.protocol.stream.step(long, CHUNKS[chunk])
    assert _known(reader.after()) == _known(long)


@pytest.mark.parametrize("chunk", CHUNKS.values(), ids=CHUNKS)
@given(asked=st.lists(changes(), max_size=3))
def test_whatever_comes_from_gemini_the_two_ways_agree(
    chunk: Event, asked: list[tuple[list[object], str, object, bool]]
) -> None:
    """A fast delta and the decoded chunk give the same events and the same state."""
    for change in asked:
        chunk = _change(chunk, change)
    for name, before in BEFORE.items():
        state = _gemini_state(before)
        reader = fast_reader(state)
        texts = [] if reader is None else reader.read([("", json.dumps(chunk).encode())])
        if reader is None or not texts:
            continue

        long, events = gemini.protocol.stream.step(state, chunk)

        assert reader.after is not None
        assert list(events) == deltas(reader.kind, reader.segment, filter(None, texts)), name
        assert _known(reader.after()) == _known(long), name


@pytest.mark.parametrize("after_a_call", [False, True], ids=["one text", "after a call"])
@pytest.mark.parametrize(
    ("place", "value"), [("chunk", {"x": 1}), ("choice", 5)], ids=["chunk", "choice"]
)
def test_a_field_that_first_comes_in_the_middle_of_a_chat_stream_is_kept(
    place: str, value: Any, *, after_a_call: bool
) -> None:
    """Also where it was null before."""
    chunks = [_chat({"content": text}) for text in "abcdefg"]
    if after_a_call:
        chunks[1] = _called("{}", **NAMED)
    holders = [chunk if place == "chunk" else chunk["choices"][0] for chunk in chunks]
    holders[3] |= {"later": None}
    holders[4] |= {"later": None, "other": None}
    holders[5] |= {"later": value}
    ended = _chat({})
    ended["choices"][0]["finish_reason"] = "stop"
    body = b"".join(b"data: %b\n\n" % _frame(chunk)[1] for chunk in (*chunks, ended))
    headers = {"content-type": "text/event-stream"}

    events = recorded_events("openai-chat", status=200, headers=headers, body=body, streaming=True)

    assert events[-1].provider_metadata == {"openai": {"later": value}}  # type: ignore[union-attr]


def test_chunks_with_fields_that_came_before_are_read_on_the_fast_path() -> None:
    """Whatever their values: the last chunk has the last ones."""
    chunk = {**_chat({"content": "a"}), "provider": "p", "none": None}
    machine = openai_chat.protocol.stream
    decoded = machine.decode(_frame(chunk))
    assert decoded is not None
    assert machine.fast_reader is not None
    state, _ = machine.step(machine.initial(ASKED), decoded)
    reader = machine.fast_reader(state)

    assert reader is not None
    assert reader.read([_frame({**chunk, "provider": "q"})]) == ["a"]
    assert reader.read([_frame({**chunk, "none": 1})]) == []
    assert reader.read([_frame({**chunk, "new": 1})]) == []
