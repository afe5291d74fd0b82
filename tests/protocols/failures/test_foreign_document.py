"""The error of a server that speaks another API names it, and is not retried."""

from collections.abc import Callable
from typing import Any

import pytest

from llmcore.protocols import openai_chat, openai_responses
from llmcore.protocols.failures import error_body
from llmcore.protocols.protocol import Protocol
from llmcore.schema.errors import StreamError
from llmcore.schema.events import ErrorEvent, LLMEvent
from tests.support.wire import chat, responses
from tests.support.wire.protocol import error

CHAT = chat.completion({"content": "Hi"})
RESPONSE = responses.document([responses.message("Hi")])
MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}]}
GEMINI = {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}

BODIES: dict[str, tuple[Callable[[Any], list[LLMEvent]], Any, str]] = {
    "Chat Completions from a Responses route": (
        responses.whole,
        CHAT,
        "OpenAI(...).chat",
    ),
    "Messages from a Responses route": (responses.whole, MESSAGE, "Anthropic"),
    "Gemini from a Responses route": (responses.whole, GEMINI, "Google"),
    "Responses from a Chat route": (chat.whole, RESPONSE, ".responses(model)"),
    "Messages from a Chat route": (chat.whole, MESSAGE, "Anthropic"),
    "Gemini from a Chat route": (chat.whole, GEMINI, "Google"),
}


@pytest.mark.parametrize(("read", "body", "named"), BODIES.values(), ids=BODIES.keys())
def test_a_body_of_another_api_is_named_and_not_retryable(
    read: Callable[[Any], list[LLMEvent]], body: Any, named: str
) -> None:
    """The error says which API the server speaks, and what to use for it."""
    failed = error(read(body))

    assert isinstance(failed, StreamError)
    assert named in failed.message
    assert not failed.retryable
    assert failed.raw == body


FIRST: dict[str, tuple[Protocol[Any, Any, Any], Any]] = {
    "Chat Completions from a Responses route": (
        openai_responses.protocol,
        chat.chunk({"content": "Hi"}),
    ),
    "Messages from a Responses route": (
        openai_responses.protocol,
        {"type": "message_start", "message": {"id": "msg_1", "content": []}},
    ),
    "Gemini from a Responses route": (openai_responses.protocol, GEMINI),
    "Responses from a Chat route": (
        openai_chat.protocol,
        {"type": "response.created", "response": RESPONSE},
    ),
    "Messages from a Chat route": (
        openai_chat.protocol,
        {"type": "message_start", "message": {"id": "msg_1", "content": []}},
    ),
    "Gemini from a Chat route": (openai_chat.protocol, GEMINI),
}


@pytest.mark.parametrize(("protocol", "frame"), FIRST.values(), ids=FIRST.keys())
def test_the_first_frame_of_another_api_is_named_and_not_retryable(
    protocol: Protocol[Any, Any, Any], frame: Any
) -> None:
    """A stream is known by its first frame."""
    state = protocol.stream.initial(chat.ASKED)
    _, events = protocol.stream.step(state, frame)

    (failed,) = events
    assert isinstance(failed, ErrorEvent)
    assert "this server answers as" in failed.error.message
    assert not failed.error.retryable


@pytest.mark.parametrize(
    ("protocol", "frame"),
    [
        (openai_chat.protocol, {"object": "chat.completion.chunk", "usage": chat.USAGE}),
        (openai_responses.protocol, {"type": "response.of_tomorrow"}),
    ],
    ids=["Chat Completions", "Responses"],
)
def test_a_first_frame_of_the_own_api_loads_no_other_protocol(
    protocol: Protocol[Any, Any, Any], frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing the others takes as long as many frames do."""
    monkeypatch.setattr(error_body, "protocol_by_id", pytest.fail)

    _, events = protocol.stream.step(protocol.stream.initial(chat.ASKED), frame)

    assert not any(isinstance(event, ErrorEvent) for event in events)


def test_an_error_of_another_api_stays_that_error() -> None:
    """An error body is an error, whichever API says it."""
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}

    for read in (chat.whole, responses.whole):
        assert "Busy" in error(read(body)).message
