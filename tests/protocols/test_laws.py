"""Laws of every response of every protocol, and for all nonsense that a server can send."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.folds.segments import complete_segments, deltas
from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.openai_chat import OPENAI
from llmcore.protocols.protocol import Frame
from llmcore.schema.errors import StreamError
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.messages import Message
from llmcore.schema.result import Failure, Success
from llmcore.testing import decode_recorded
from tests.support.strategies.native.anthropic import MESSAGES
from tests.support.strategies.native.bedrock import BEDROCK
from tests.support.strategies.native.chat import drawn
from tests.support.strategies.native.drawn import DrawnResponses
from tests.support.strategies.native.gemini import GEMINI
from tests.support.strategies.native.responses import RESPONSES
from tests.support.strategies.values import json_values
from tests.support.wire.protocol import response

EVERY: Final = {
    "openai-chat": drawn(OPENAI),
    "openai-chat, thinking in tags": drawn(evolve(OPENAI, think_tags=((".*", "think"),))),
    "openai-responses": RESPONSES,
    "anthropic-messages": MESSAGES,
    "gemini": GEMINI,
    "bedrock-converse": BEDROCK,
}

every = pytest.mark.parametrize("native", EVERY.values(), ids=EVERY)


def frames_of(native: DrawnResponses, events: Sequence[Any]) -> list[Frame]:
    """Return the frames of the stream of *events*."""
    decoder = native.wire.framing.new_decoder()
    return [*decoder.feed(native.bytes_of(events)), *decoder.close()]


def decoded(native: DrawnResponses, events: Sequence[Any]) -> list[Any]:
    """Return *events* as the machine takes them."""
    decode = native.wire.protocol.stream.decode
    return [event for event in map(decode, frames_of(native, events)) if event is not None]


def obeys_the_grammar(native: DrawnResponses, events: Iterable[Any]) -> bool:
    """Return whether the machine alone, completed by the fold, obeys the grammar."""
    machine = native.wire.protocol.stream
    state = machine.initial(native.asked)
    bare: list[LLMEvent] = []
    for event in events:
        state, emitted = machine.step(state, event)
        bare += emitted
        if any(isinstance(one, ErrorEvent) for one in emitted):
            break
        if machine.terminal(event):
            bare += machine.halt(state)
            break
    else:
        bare += machine.halt(state)
    done = complete_segments(bare)
    first_error = next((n for n, e in enumerate(done) if isinstance(e, ErrorEvent)), len(done))
    return violations(done[: first_error + 1]) == []


def test_every_protocol_is_among_them() -> None:
    assert {native.wire.protocol.id for native in EVERY.values()} == set(PROTOCOL_IDS)


# -- responses, streamed and whole


@every
@given(st.data())
def test_a_stream_and_a_whole_body_are_one_response(
    native: DrawnResponses, data: st.DataObject
) -> None:
    events, document = data.draw(native.answers)

    assert response(native.streamed(native.bytes_of(events))) == response(native.whole(document))


@every
@given(st.data())
def test_where_the_network_cuts_never_shows(native: DrawnResponses, data: st.DataObject) -> None:
    """Any slices of the bytes give the same events, inside characters and line ends too."""
    body = native.bytes_of(data.draw(native.answers)[0])
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=20)))
    pieces = [body[a:b] for a, b in pairwise([0, *places, len(body)])]

    assert native.streamed(*pieces) == native.streamed(body)


@pytest.mark.parametrize(
    "native", [native for native in EVERY.values() if native.pings],
    ids=[name for name, native in EVERY.items() if native.pings],
)  # fmt: skip
@given(st.data())
def test_pings_and_comments_are_ignored(native: DrawnResponses, data: st.DataObject) -> None:
    """Keep-alives between any two events change nothing."""
    events = data.draw(native.answers)[0]
    pings = st.lists(st.sampled_from(native.pings), max_size=2).map(b"".join)
    noisy = b"".join(data.draw(pings) + native.frame(one) for one in events)

    assert native.streamed(noisy + native.tail) == native.streamed(native.bytes_of(events))


# -- steps


@every
@given(st.data())
def test_a_step_is_pure(native: DrawnResponses, data: st.DataObject) -> None:
    """An old state steps to the same events again, whatever came after it."""
    machine = native.wire.protocol.stream
    messy = st.lists(native.messy_events, max_size=6)
    drawn_events = data.draw(st.one_of(native.answers.map(lambda answer: answer[0]), messy))
    state = machine.initial(native.asked)
    steps = []
    for event in decoded(native, drawn_events):
        before = repr(state), repr(event)
        after, emitted = machine.step(state, event)
        assert (repr(state), repr(event)) == before
        if any(isinstance(one, ErrorEvent) for one in emitted):
            break
        steps.append((state, event, repr(after), list(emitted), _bare(machine.halt(after))))
        state = after

    for old, event, then, emitted, ended in steps:
        after, again = machine.step(old, event)
        assert (repr(after), list(again)) == (then, emitted)
        assert _bare(machine.halt(after)) == ended


def _bare(events: Iterable[LLMEvent]) -> list[object]:
    return [str(event.error) if isinstance(event, ErrorEvent) else event for event in events]


@every
@given(st.data())
def test_the_fast_path_reads_what_a_step_does(native: DrawnResponses, data: st.DataObject) -> None:
    """The per-token path is a short cut, not another reading."""
    machine = native.wire.protocol.stream
    assert machine.fast_reader is not None
    state = machine.initial(native.asked)
    for frame in frames_of(native, data.draw(native.answers)[0]):
        reader = machine.fast_reader(state)
        texts = [] if reader is None else reader.read([frame])
        event = machine.decode(frame)
        if event is None:
            continue
        state, events = machine.step(state, event)
        if reader is not None and texts:
            assert list(events) == deltas(reader.kind, reader.segment, filter(None, texts))


@every
@given(st.data())
def test_bare_events_obey_the_grammar_once_completed(
    native: DrawnResponses, data: st.DataObject
) -> None:
    """Also without the decoder: the state machine alone, completed by the fold."""
    messy = st.lists(native.messy_events, max_size=8)
    events = data.draw(st.one_of(native.answers.map(lambda answer: answer[0]), messy))

    assert obeys_the_grammar(native, decoded(native, events))


# -- mess: whatever comes, the events obey the grammar and end with one terminal event, and what is
# a response can be sent back


def sends_back(native: DrawnResponses, events: Iterable[LLMEvent]) -> None:
    """Build the next request if *events* are a response."""
    result = collect(events)
    if isinstance(result, Success):
        said = (*native.asked.messages, result.unwrap().message, Message.user("Go on."))
        native.wire.protocol.body.build(evolve(native.asked, messages=said), False)


@every
@given(st.data())
def test_no_mess_raises_in_a_stream(native: DrawnResponses, data: st.DataObject) -> None:
    events = data.draw(st.lists(native.messy_events, max_size=8))

    sends_back(native, native.streamed(native.bytes_of([*events, *native.ends])))


@every
@given(st.data())
def test_no_mess_raises_in_a_whole_body(native: DrawnResponses, data: st.DataObject) -> None:
    sends_back(native, native.whole(data.draw(native.messy_documents)))


@every
@given(values=st.lists(json_values(), max_size=4))
def test_any_json_is_a_response_or_an_error(native: DrawnResponses, values: list[Any]) -> None:
    machine = native.wire.protocol.stream
    events = []
    for value in values:
        native.whole(value)
        with suppress(ValueError):
            events.append(machine.decode(("", json.dumps(value).encode())))

    assert obeys_the_grammar(native, [event for event in events if event is not None])


@every
@given(
    name=st.sampled_from(["", "error", "ping", "error:x", "metadata", "x"]),
    data=st.binary(max_size=20),
)
def test_no_frame_raises_but_value_error(native: DrawnResponses, name: str, data: bytes) -> None:
    """Frames of any bytes are read, or refused as not JSON."""
    with suppress(ValueError):
        event = native.wire.protocol.stream.decode((name, data))
        assert event is None or obeys_the_grammar(native, [event])


@every
@given(body=st.binary(max_size=200))
def test_any_bytes_are_an_error(native: DrawnResponses, body: bytes) -> None:
    assert isinstance(native.streamed(body)[-1], ErrorEvent)
    assert isinstance(native.whole(body)[-1], ErrorEvent)


# -- whole bodies without anything


@pytest.mark.parametrize(
    ("protocol_id", "body"),
    [
        ("openai-chat", {"choices": [{"message": None}]}),
        ("openai-chat", {"choices": [{"message": {"content": ""}, "finish_reason": None}]}),
        ("anthropic-messages", {"type": "message", "content": [], "stop_reason": None}),
        ("gemini", {"candidates": [{"content": {}}]}),
        ("bedrock-converse", {"output": {"message": {"role": "assistant", "content": []}}}),
    ],
)
def test_a_body_with_neither_content_nor_a_finish_reason_is_an_error(
    protocol_id: str, body: dict[str, Any]
) -> None:
    """A server that failed may send it with a status of 200."""
    headers = {"content-type": "application/json"}
    read = decode_recorded(
        protocol_id, status=200, headers=headers, body=json.dumps(body).encode(), streaming=False
    )

    assert isinstance(read, Failure)
    assert isinstance(read.failure(), StreamError)
    assert "has neither content nor a" in read.failure().message
