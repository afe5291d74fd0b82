"""Events that only add to a text are recognised; several mean what one with all of it does."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.response import Accumulator
from llmcore.folds.segments import SegmentFold
from llmcore.protocols.protocol import DeltaForm
from llmcore.schema.model import Model
from llmcore.schema.request import request
from tests.support.wire.text_events import TEXT_EVENTS, Event, TextEvents

ASKED = request(model=Model("m", "p"), prompt="Hello")
BY_NAME = pytest.mark.parametrize("case", TEXT_EVENTS.values(), ids=TEXT_EVENTS)


def _form(case: TextEvents) -> DeltaForm:
    form = case.protocol.stream.deltas
    assert form is not None
    return form


def _payload(event: Event) -> bytes:
    return json.dumps(event).encode()


def _answer(case: TextEvents, events: list[Event]) -> Any:
    """Return what a stream of *events* has made of the response so far."""
    machine, fold, answer = case.protocol.stream, SegmentFold(), Accumulator()
    state = machine.initial(ASKED)
    for event in (*case.before, *events):
        state, bare = machine.step(state, machine.decode((event.get("type", ""), _payload(event))))
        for one in bare:
            for complete in fold.feed(one):
                answer.feed(complete)
    return answer.partial


@BY_NAME
def test_the_text_of_an_event_that_only_adds_to_one_is_read(case: TextEvents) -> None:
    """By what the event before it gave."""
    read = _form(case).reader(_payload(case.more))

    assert read is not None
    assert read(_payload(case.adding("words \u00e9\n"))) == "words \u00e9\n"


@BY_NAME
def test_an_event_that_may_do_more_is_left_to_the_machine(case: TextEvents) -> None:
    """Another text, an end, counts, an error; and what is not an event at all."""
    form = _form(case)
    read = form.reader(_payload(case.more))
    assert read is not None

    for other in case.others:
        assert not read(_payload(other)), other
    for broken in (b"", b"{", b"[]", b"[DONE]", b"null", _payload(case.more)[:-3]):
        assert not read(broken)
        assert form.reader(broken) is None


@BY_NAME
@given(texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=6))
def test_events_in_a_row_mean_one_with_all_their_text(case: TextEvents, texts: list[str]) -> None:
    """In whatever pieces a text comes."""
    joined = case.adding(texts[-1])
    _form(case).with_text(joined, "".join(texts))

    assert _answer(case, [joined]) == _answer(case, [case.adding(text) for text in texts])
