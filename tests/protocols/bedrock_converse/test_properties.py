"""Laws of every response, however it is cut, and for all nonsense that a server can send."""

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.bedrock_converse import protocol, stream
from llmcore.schema.errors import StreamError
from llmcore.schema.events import ErrorEvent, ProviderEvent, ToolCall
from llmcore.schema.json import dumps
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Success
from tests.support.strategies.examples import costly
from tests.support.strategies.requests import requests
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.bedrock import (
    ASKED,
    BEGIN,
    Event,
    body,
    delta,
    document,
    end,
    frames,
    reasoning,
    stream_of,
    streamed,
    tool_use,
    whole,
)
from tests.support.wire.protocol import error, response


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a response that was not streamed."""
    said = [{"text": text} for text in draw(st.lists(texts(1), max_size=2))]
    thought = [reasoning(text, "c2ln") for text in draw(st.lists(texts(1), max_size=1))]
    given = draw(st.lists(json_objects(), max_size=3))
    calls = [tool_use(f"tool_{i}", arguments, id=f"c{i}") for i, arguments in enumerate(given)]
    reason = draw(st.sampled_from(["end_turn", "max_tokens", "content_filtered"]))
    return document(*thought, *said, *calls, stop="tool_use" if calls else reason)


@costly
@given(answers(), st.integers(1, 9))
def test_a_stream_and_a_whole_body_are_one_response(answer: dict[str, Any], size: int) -> None:
    """The same response gives the same response, streamed or not."""
    assert response(streamed(stream_of(answer, size))) == response(whole(answer))


@costly
@given(answers(), st.data())
def test_where_the_network_cuts_never_shows(answer: dict[str, Any], data: st.DataObject) -> None:
    """Any slices of the bytes give the same events."""
    bytes_ = frames(stream_of(answer))
    places = sorted(data.draw(st.lists(st.integers(0, len(bytes_)), max_size=20)))
    pieces = [bytes_[a:b] for a, b in pairwise([0, *places, len(bytes_)])]

    assert streamed(bytes_, cut=pieces) == streamed(bytes_)


@costly
@given(answers(), st.data())
def test_a_cut_is_an_error(answer: dict[str, Any], data: st.DataObject) -> None:
    """Bytes that end too soon are never a success, and an open call never counts as complete."""
    events = stream_of(answer)
    bytes_ = frames(events)
    message_end = len(frames(events[:-1]))  # between the last two events the message is whole
    place = data.draw(st.integers(0, len(bytes_) - 1).filter(lambda at: at != message_end))

    got = streamed(bytes_[:place])

    assert isinstance(error(got), StreamError)
    whole_calls = [event for event in got if isinstance(event, ToolCall)]
    assert len(whole_calls) <= len(response(whole(answer)).tool_calls)


_LATER = st.dictionaries(st.sampled_from(["xNew", "xMore"]), json_values(), max_size=2)


@costly
@given(answers(), st.lists(_LATER, min_size=1, max_size=3), st.data())
def test_unknown_events_and_fields_anywhere(
    answer: dict[str, Any], noise: list[dict[str, Any]], data: st.DataObject
) -> None:
    """Next year's events and fields, anywhere, neither raise nor touch what was said."""
    later: list[Event] = []
    for name, payload in stream_of(answer):
        later += [("xEvent", one) for one in data.draw(st.lists(st.sampled_from(noise)))]
        later.append((name, {**data.draw(st.sampled_from(noise)), **payload}))
    got, expected = response(streamed(later)), response(streamed(stream_of(answer)))

    assert (got.message, got.finish_reason, got.usage) == (
        expected.message,
        expected.finish_reason,
        expected.usage,
    )


@costly
@given(answers())
def test_a_step_is_pure(answer: dict[str, Any]) -> None:
    """An old state steps to the same events again, whatever came after it."""
    state = stream.initial(ASKED)
    steps = []
    for event in stream_of(answer):
        after, said = stream.step(state, (event[0], dict(event[1])))
        steps.append((state, event, list(said)))
        state = after

    for before, event, said in steps:
        assert list(stream.step(before, (event[0], dict(event[1])))[1]) == said


# -- mess

_NAMES = [
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
    "exception:throttlingException",
    "xNew",
]
_SCALARS: st.SearchStrategy[Any] = st.sampled_from([None, "", "a", "{}", 0, 1, -1, 1.5, True])
_KINDS = ["text", "toolUse", "toolResult", "reasoningContent", "citation", "image", "xNew"]
_INNER = st.dictionaries(
    st.sampled_from(
        [
            "text",
            "signature",
            "redactedContent",
            "toolUseId",
            "name",
            "input",
            "type",
            "source",
            "format",
            "location",
            "bytes",
            "reasoningText",
            "content",
            "citations",
        ]
    ),
    _SCALARS | json_objects(),
    max_size=3,
)
_VALUES = _SCALARS | _INNER | st.lists(_INNER, max_size=2) | json_values()
_BLOCKS = st.dictionaries(st.sampled_from([*_KINDS, "citationsContent"]), _VALUES, max_size=2)
_PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "contentBlockIndex": st.integers(0, 2) | _SCALARS,
        "start": _BLOCKS | _VALUES,
        "delta": _BLOCKS | _VALUES,
        "stopReason": _SCALARS,
        "usage": _VALUES,
        "message": _SCALARS,
    },
)
_EVENTS = st.tuples(st.sampled_from(_NAMES), _PAYLOADS)


@given(st.lists(_EVENTS, max_size=8))
def test_no_mess_raises_in_a_stream(events: list[Event]) -> None:
    """Whatever JSON comes, the events obey the grammar and end with one terminal event."""
    streamed([*events, *end()])


@given(st.lists(_BLOCKS, max_size=4), _VALUES)
def test_no_mess_raises_in_a_whole_body(blocks: list[Any], other: Any) -> None:
    """The same for bodies that were not streamed."""
    whole(document(*blocks))
    whole({"output": {"message": other}, "stopReason": other, "usage": other})
    whole(other)


@costly
@given(
    st.lists(st.tuples(st.sampled_from(["", "error:x", "metadata", "x"]), st.binary(max_size=9)))
)
def test_no_frame_raises_but_value_error(given_frames: list[tuple[str, bytes]]) -> None:
    """Frames of any bytes are read, or refused as not JSON."""
    for frame in given_frames:
        with suppress(ValueError):
            found = stream.decode(frame)
            assert found is None or isinstance(found[1], dict)


@costly
@given(json_values())
def test_event_names_inside_frames_are_read(value: Any) -> None:
    """Other framings carry the event's name inside."""
    for name, payload in [BEGIN, delta(0, text="a")]:
        found = stream.decode(("", json.dumps({name: payload}).encode()))
        assert found == (name, payload)
    found = stream.decode(("", json.dumps(value).encode()))
    assert found is None or isinstance(found[1], dict)


@costly
@given(requests())
def test_any_request_is_built_twice_the_same(asked: LLMRequest) -> None:
    """The same bytes each time, or the same error; never an exception."""
    first, again = (stream_body(asked) for _ in range(2))

    assert first == again


def stream_body(asked: LLMRequest) -> object:
    """Return the bytes of a body, or the type of the error in its place."""
    built = protocol.body.build(asked, True)
    if not isinstance(built, Success):
        return type(built.failure())
    body: Any = built.unwrap().body
    return dumps(body)


def test_the_response_is_not_taken_for_a_notification() -> None:
    """A control for the tests above: known events are read."""
    events = streamed([BEGIN, delta(0, text="Hi"), *end()])

    assert not any(isinstance(event, ProviderEvent | ErrorEvent) for event in events)
    assert body(ASKED)["messages"]
