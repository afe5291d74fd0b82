"""Arguments that are an object in a string reach clients of each API as the object."""

from typing import Any

import pytest

from llmcore.folds.response import collect
from llmcore.folds.segments import complete_segments
from llmcore.schema import json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.events import LLMEvent
from llmcore.testing import decode_recorded, write_as_front
from tests.support.events import call, stream

FRONTS = ("openai-chat", "openai-responses", "anthropic-messages", "gemini")
OBJECT = '{"city": "Paris", "quoted": "\\"no\\""}'
ONCE = json.dumps(OBJECT).decode()


def shown(front: str, *pieces: str, streaming: bool) -> ToolCallPart:
    """Return the call that a client of *front* reads, of one that came in *pieces*."""
    events: list[LLMEvent] = complete_segments(stream(call("look", *pieces)))
    body = write_as_front(front, events, streaming=streaming)
    kind = "text/event-stream" if streaming else "application/json"
    read = decode_recorded(
        front, status=200, headers={"content-type": kind}, body=body, streaming=streaming
    )
    (part,) = read.unwrap().tool_calls
    return part


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize(
    "pieces",
    [
        (ONCE,),
        tuple(ONCE),
        (" ", "\n", *ONCE),
        (json.dumps(ONCE).decode(),),
    ],
    ids=["at once", "by characters", "after spaces", "twice"],
)
def test_an_object_in_a_string_is_shown_as_the_object(
    pieces: tuple[str, ...], front: str, streaming: bool
) -> None:
    """Most clients decode once, and take the string for the arguments."""
    part = shown(front, *pieces, streaming=streaming)

    assert part.arguments == {"city": "Paris", "quoted": '"no"'}
    if front.startswith("openai"):
        assert part.raw_arguments == OBJECT


@pytest.mark.parametrize("front", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize(
    "text",
    [OBJECT, f" {OBJECT}", '"a text"', '"{no json}"', '"[1]"', '"{\\"cut'],
    ids=["an object", "spaces", "a text", "no JSON", "a list", "cut"],
)
def test_other_arguments_are_shown_as_they_came(text: str, front: str) -> None:
    """Also those that no client can use: they say what the model wrote."""
    for pieces in ((text,), tuple(text)):
        assert shown(front, *pieces, streaming=True).arguments_text == text


def test_arguments_that_begin_with_an_object_are_streamed_as_they_come() -> None:
    """Only a quotation mark is waited for."""
    events: Any = complete_segments(stream(call("look", "{", '"a":', "1}")))
    body = write_as_front("openai-chat", events, streaming=True).decode()

    pieces = ['"arguments":"{"', '"arguments":"\\"a\\":"', '"arguments":"1}"']
    assert [piece in body for piece in pieces] == [True] * 3
    assert collect(events).unwrap().tool_calls[0].arguments == {"a": 1}
