"""Laws of Converse alone; those of all protocols are in `test_laws.py`."""

import json
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
from tests.support.strategies.native.bedrock import answers
from tests.support.strategies.native.drawn import Answer
from tests.support.strategies.requests import requests
from tests.support.strategies.values import json_values
from tests.support.wire.bedrock import (
    ASKED,
    BEGIN,
    Event,
    body,
    delta,
    end,
    frames,
    streamed,
    whole,
)
from tests.support.wire.protocol import error, response


@costly
@given(answers(), st.data())
def test_a_cut_is_an_error(answer: Answer, data: st.DataObject) -> None:
    """Bytes that end too soon are never a success, and an open call never counts as complete."""
    events, document = answer
    bytes_ = frames(events)
    message_end = len(frames(events[:-1]))  # between the last two events the message is whole
    place = data.draw(st.integers(0, len(bytes_) - 1).filter(lambda at: at != message_end))

    got = streamed(bytes_[:place])

    assert isinstance(error(got), StreamError)
    whole_calls = [event for event in got if isinstance(event, ToolCall)]
    assert len(whole_calls) <= len(response(whole(document)).tool_calls)


_LATER = st.dictionaries(st.sampled_from(["xNew", "xMore"]), json_values(), max_size=2)


@costly
@given(answers(), st.lists(_LATER, min_size=1, max_size=3), st.data())
def test_unknown_events_and_fields_anywhere(
    answer: Answer, noise: list[dict[str, Any]], data: st.DataObject
) -> None:
    """Next year's events and fields, anywhere, neither raise nor touch what was said."""
    later: list[Event] = []
    for name, payload in answer[0]:
        later += [("xEvent", one) for one in data.draw(st.lists(st.sampled_from(noise)))]
        later.append((name, {**data.draw(st.sampled_from(noise)), **payload}))
    got, expected = response(streamed(later)), response(streamed(answer[0]))

    assert (got.message, got.finish_reason, got.usage) == (
        expected.message,
        expected.finish_reason,
        expected.usage,
    )


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
