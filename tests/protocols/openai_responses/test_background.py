"""A background response whose stream was cut continues where it stopped."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.response import collect
from llmcore.folds.segments import SegmentFold
from llmcore.protocols.openai_responses import cursor, resume, stream
from llmcore.protocols.openai_responses.state import ResponsesState
from llmcore.protocols.protocol import ResumeRequest
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import LLMEvent
from llmcore.schema.response import LLMResponse
from tests.support.wire.protocol import response
from tests.support.wire.responses import ANSWERS, ASKED, Native, events_of, streamed

BACKGROUND: Any = {"background": True}


def after(events: list[Native], query: dict[str, str]) -> list[Native]:
    """Return what a server sends of *events* to who asks for the rest."""
    start = int(query.get("starting_after", "-1"))
    return [event for event in events if event["sequence_number"] > start]


def stepped(state: ResponsesState, events: list[Native], told: list[LLMEvent]) -> ResponsesState:
    """Return the state after *events*; what they tell is added to *told*."""
    for event in events:
        state, said = stream.step(state, event)
        told += said
    return state


@given(st.sampled_from(sorted(ANSWERS)), st.data())
def test_a_cut_never_shows(name: str, data: st.DataObject) -> None:
    """Wherever the stream was cut, the same fold goes on to the same response."""
    events = events_of(ANSWERS[name], size=2, **BACKGROUND)
    cut = data.draw(st.integers(1, len(events) - 1))
    told: list[LLMEvent] = []

    state = stepped(stream.initial(ASKED), events[:cut], told)
    rest = resume(cursor(state, events[cut - 1]))
    stepped(state, after(events, dict(rest.query)), told)

    assert _answer(told) == response(streamed(events))


def _answer(bare: list[LLMEvent]) -> LLMResponse:
    fold = SegmentFold()
    return collect(done for event in bare for done in fold.feed(event)).unwrap()


@pytest.mark.parametrize("name", ANSWERS)
def test_a_new_fold_from_the_start_gives_the_response_too(name: str) -> None:
    """A stream that is resumed from its beginning lacks only its first event."""
    events = events_of(ANSWERS[name], **BACKGROUND)

    assert response(streamed(events[1:])) == response(streamed(events))


@pytest.mark.parametrize("name", ["text", "everything"])
def test_a_new_fold_from_the_middle_has_the_whole_texts(name: str) -> None:
    """The ends and the final response have the text of missed deltas, if in another order."""
    events = events_of(ANSWERS[name], **BACKGROUND)
    whole = response(streamed(events))

    late = response(streamed(events[len(events) // 2 :]))

    assert sorted(map(str, late.message.content)) == sorted(map(str, whole.message.content))


def test_the_cursor_is_the_last_event() -> None:
    """Response id and sequence number, under the protocol's key."""
    events = events_of(ANSWERS["text"], **BACKGROUND)
    state = stepped(stream.initial(ASKED), events[:5], [])

    assert cursor(state, events[4]) == {
        "openai": {"resume": {"response_id": "resp_1", "sequence_number": 4}}
    }


def test_what_cannot_be_resumed_has_no_cursor() -> None:
    """Responses in the foreground end with their connection; ended ones are whole."""
    foreground = events_of(ANSWERS["text"])
    background = events_of(ANSWERS["text"], **BACKGROUND)
    ended = stepped(stream.initial(ASKED), background, [])

    assert cursor(stepped(stream.initial(ASKED), foreground[:5], []), foreground[4]) == {}
    assert cursor(ended, background[-1]) == {}
    assert cursor(stream.initial(ASKED), {}) == {}


CURSORS: dict[str, tuple[Any, ResumeRequest]] = {
    "after an event": (
        {"response_id": "resp_1", "sequence_number": 7},
        ResumeRequest(path="responses/resp_1", query={"stream": "true", "starting_after": "7"}),
    ),
    "from the start": (
        {"response_id": "resp_1", "sequence_number": None},
        ResumeRequest(path="responses/resp_1", query={"stream": "true"}),
    ),
    "odd id": (
        {"response_id": "a/b?c", "sequence_number": 0},
        ResumeRequest(path="responses/a%2Fb%3Fc", query={"stream": "true", "starting_after": "0"}),
    ),
}


@pytest.mark.parametrize("name", CURSORS)
def test_resuming_sends_a_get_after_the_last_event(name: str) -> None:
    """A GET of the response, as a stream, after the last event."""
    place, wanted = CURSORS[name]

    assert resume({"openai": {"resume": place}}) == wanted


@pytest.mark.parametrize("metadata", [{}, {"openai": {}}, {"openai": {"resume": {}}}])
def test_resuming_a_response_without_background_is_an_error(metadata: Any) -> None:
    """It says which responses can be resumed."""
    with pytest.raises(InvalidRequestError, match="background"):
        resume(metadata)


def test_a_queued_response_is_read_from_its_start() -> None:
    """Its cursor has no number yet."""
    answer = response(streamed(events_of([], "completed", **BACKGROUND)))
    assert "resume" not in answer.provider_metadata["openai"]

    metadata: Any = {"openai": {"resume": {"response_id": "resp_1", "sequence_number": None}}}
    assert "starting_after" not in resume(metadata).query
