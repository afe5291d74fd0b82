"""Fronts without a server: requests read, and responses written, in the form of each API."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.response import collect
from llmcore.fronts.front import FRONT_IDS
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, OverloadedError
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    FinishReason,
    LLMEvent,
    StepFinish,
    StepStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from llmcore.schema.result import Failure
from llmcore.schema.tools import CustomTool
from llmcore.schema.usage import Usage
from llmcore.testing import decode_recorded, read_as_front, write_as_front

USER = {"role": "user", "content": "Hi"}
ASKED: dict[str, tuple[dict[str, Any], str]] = {
    "openai-chat": (
        {"model": "m", "messages": [USER], "stream_options": {"include_usage": True}},
        "",
    ),
    "openai-responses": ({"model": "m", "input": "Hi"}, ""),
    "anthropic-messages": ({"model": "m", "max_tokens": 9, "messages": [USER]}, ""),
    "gemini": (
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        "/v1beta/models/m:streamGenerateContent",
    ),
}
TYPES = {True: "text/event-stream", False: "application/json"}
STOP = FinishReason("stop", "stop")
USAGE = Usage.make(input_tokens=3, output_tokens=2)


def answer_of(*texts: str) -> list[LLMEvent]:
    """Return the events of a response whose text comes in *texts*."""
    deltas = [TextDelta("t", text) for text in texts]
    ended: dict[str, Any] = {"finish_reason": STOP, "usage": USAGE}
    end = (TextEnd("t", "".join(texts)), StepFinish(**ended), Finish(**ended))
    begin = StreamStart(provider="acme", model="m", protocol="openai-chat", id="r1")
    return [begin, StepStart(), TextStart("t"), *deltas, *end]


def decoded(front_id: str, body: bytes, *, streaming: bool) -> Any:
    """Return what our own client makes of *body*."""
    headers = {"content-type": TYPES[streaming]}
    return decode_recorded(front_id, status=200, headers=headers, body=body, streaming=streaming)


def test_every_front_is_tried() -> None:
    assert ASKED.keys() == set(FRONT_IDS)


@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_a_native_request_is_read_with_its_model_and_text(front_id: str) -> None:
    body, path = ASKED[front_id]
    request = read_as_front(front_id, body, path=path).unwrap()

    assert (request.model_id, request.messages[-1].text) == ("m", "Hi")


def test_a_freeform_tool_of_responses_stays_one() -> None:
    """An upstream of the same API has it."""
    body: dict[str, Any] = {
        "model": "m",
        "input": "Hi",
        "tools": [{"type": "custom", "name": "run"}],
    }

    assert read_as_front("openai-responses", body).unwrap().tools == (CustomTool("run"),)


@pytest.mark.parametrize("front_id", FRONT_IDS)
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("of_request", [True, False])
@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_a_written_answer_is_read_back_alike(
    front_id: str, streaming: bool, of_request: bool, texts: list[str]
) -> None:
    """By the protocol of the same API; for a request or for none."""
    body, path = ASKED[front_id]
    given_request = {"request": body, "path": path} if of_request else {}
    written = write_as_front(
        front_id,
        answer_of(*texts),
        streaming=streaming,
        **given_request,  # type: ignore[arg-type]
    )
    response = decoded(front_id, written, streaming=streaming).unwrap()

    assert response.text == "".join(texts)
    assert response.finish_reason.reason == "stop"
    assert response.usage.total_tokens == 5


@pytest.mark.parametrize("front_id", FRONT_IDS)
@pytest.mark.parametrize("streaming", [True, False])
def test_a_response_that_another_model_continues_is_written_as_one(
    front_id: str, streaming: bool
) -> None:
    """The segments of the second model may have the ids of the first."""
    begin, *first = answer_of("The sum")[:-2]
    _, _, *second = answer_of(" is 4.")
    other = StreamStart(provider="other", model="n", protocol="gemini", id="r2")
    events = [begin, *first, StepStart(continues=True, start=other), *second]

    written = write_as_front(front_id, events, streaming=streaming)

    assert decoded(front_id, written, streaming=streaming).unwrap().text == "The sum is 4."


@pytest.mark.parametrize("front_id", FRONT_IDS)
@pytest.mark.parametrize("streaming", [True, False])
def test_a_failed_response_is_an_error_in_the_form_of_the_api(
    front_id: str, streaming: bool
) -> None:
    """A response that stops without an end fails too."""
    failed = [*answer_of("Hel")[:4], ErrorEvent(OverloadedError("too many calls"))]
    for events in (failed, answer_of("Hel")[:4]):
        written = write_as_front(front_id, events, streaming=streaming)
        assert isinstance(decoded(front_id, written, streaming=streaming), Failure)
    assert isinstance(collect(failed), Failure)


@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_a_request_that_cannot_be_read_is_a_failure_and_cannot_be_answered(front_id: str) -> None:
    _, path = ASKED[front_id]
    body: dict[str, Any] = {"model": "m", "messages": 7, "input": 7, "contents": 7}
    result = read_as_front(front_id, body, path=path)

    assert isinstance(result, Failure)
    assert isinstance(result.failure(), InvalidRequestError)
    with pytest.raises(InvalidRequestError):
        write_as_front(front_id, answer_of("x"), streaming=True, request=body, path=path)


@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_a_request_without_a_model_is_a_failure(front_id: str) -> None:
    body = {name: value for name, value in ASKED[front_id][0].items() if name != "model"}

    assert isinstance(read_as_front(front_id, body, path="/elsewhere"), Failure)
    with pytest.raises(InvalidRequestError):
        write_as_front(front_id, answer_of("x"), streaming=True, request=body, path="/elsewhere")


def test_an_unknown_front_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="anthropic-messages"):
        read_as_front("gopher", {})
    with pytest.raises(ConfigurationError, match="openai-chat"):
        write_as_front("gopher", [], streaming=False)
