"""Laws of the Messages API alone; those of all protocols are in `test_laws.py`."""

from itertools import pairwise
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from llmcore.protocols.anthropic_messages import contract, protocol, stream
from llmcore.schema.errors import LLMError
from llmcore.schema.events import ProviderEvent, ToolCall
from llmcore.schema.json import dumps
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Success
from tests.support.strategies.native.anthropic import SAMPLE, answers
from tests.support.strategies.native.drawn import Answer
from tests.support.strategies.requests import requests
from tests.support.strategies.values import json_objects
from tests.support.wire.anthropic import ASKED, sse, stream_of, streamed, whole
from tests.support.wire.protocol import error, response


@given(answers())
def test_a_response_can_be_sent_back(answer: Answer) -> None:
    """A response can be part of the next request, twice with the same bytes."""
    said = response(whole(answer[1])).message
    asked = evolve(ASKED, messages=(*ASKED.messages, said, *ASKED.messages))

    bodies: list[Any] = [protocol.body.build(asked, False).unwrap().body for _ in range(2)]

    assert dumps(bodies[0]) == dumps(bodies[1])


BYTES = sse(stream_of(SAMPLE, size=3))
EVENTS = streamed(BYTES)


def test_body_in_single_bytes_gives_the_same_response() -> None:
    """A body that comes in single bytes is the same."""
    assert streamed(BYTES, cut=[BYTES[n : n + 1] for n in range(len(BYTES))]) == EVENTS


END_OF_DELTA = BYTES.rindex(b"}", 0, BYTES.rindex(b"event: message_stop"))
"""The last byte of the event with the stop reason; gateways leave out what follows."""


@given(st.integers(0, END_OF_DELTA))
@example(END_OF_DELTA)
def test_any_cut_is_an_error(place: int) -> None:
    """A stream that stops before its stop reason is an error, and its calls are incomplete."""
    events = streamed(BYTES[:place])

    found = error(events)
    assert found.partial is not None
    begun = BYTES[:place].rfind(b"content_block_start")
    if BYTES.find(b"content_block_stop", begun) >= place:
        assert not any(isinstance(event, ToolCall) for event in events)


@given(st.data(), json_objects())
def test_unknown_events_are_passed_on_and_change_nothing(data: st.DataObject, fields: Any) -> None:
    """Events of a later API change nothing and are passed on."""
    events = stream_of(SAMPLE, size=9)
    news = {**fields, "type": "event_of_2031"}
    news.pop("error", None)
    place = data.draw(st.integers(0, len(events) - 1))

    got = streamed([*events[:place], news, *events[place:]])

    assert response(got) == response(EVENTS)
    assert [e.data for e in got if isinstance(e, ProviderEvent)] == [news]


# -- any request

MODELS = ["claude-sonnet-4-5", "claude-opus-4-8", "claude-sonnet-5-5", "claude-3-haiku", "other"]


@given(requests(), st.sampled_from(MODELS))
def test_any_request_gives_a_legal_body_or_an_error(asked: LLMRequest, model: str) -> None:
    """Bodies keep the API's rules: sides take turns, calls have results, types round-trip."""
    asked = evolve(asked, model=Model(model, "anthropic"))

    result = protocol.body.build(asked, False)

    stream.initial(asked)
    if not isinstance(result, Success):
        assert isinstance(result.failure(), LLMError)
        return
    sent: Any = result.unwrap().body
    assert dumps(sent)
    assert contract.write(contract.read_request(sent, tolerant=True)) == sent
    roles = [said["role"] for said in sent["messages"]]
    assert all(one != other for one, other in pairwise(roles))
    _check_pairs(sent["messages"])


def _check_pairs(messages: list[Any]) -> None:
    """Check that each call is answered first thing in the next turn, in order."""
    for said, after in pairwise([*messages, {"content": []}]):
        asked = [block["id"] for block in said["content"] if block.get("type") == "tool_use"]
        answers = after["content"][: len(asked)]
        assert [block.get("tool_use_id") for block in answers] == asked


@pytest.mark.parametrize("model", MODELS)
def test_empty_conversation_gives_a_body(model: str) -> None:
    """Even nothing gives a body; the API will say what it thinks of it."""
    asked = LLMRequest(model=Model(model, "anthropic"), messages=())

    assert protocol.body.build(asked, False).unwrap().body["messages"] == []
