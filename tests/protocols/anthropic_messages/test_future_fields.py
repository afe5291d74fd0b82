"""Fields of blocks that the API may add: they go back with the block to the model that made it.

"Include the complete, unmodified block back to the API":
https://platform.claude.com/docs/en/build-with-claude/extended-thinking, read November 2026.
"""

from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols.anthropic_messages import protocol
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.messages import Message, Origin
from tests.support.wire.anthropic import (
    ASKED,
    MODEL,
    ask,
    codes,
    message,
    messages,
    sse,
    stream_of,
    streamed,
    text,
    thinking,
    tool_use,
    whole,
)
from tests.support.wire.protocol import response

FUTURE: dict[str, Any] = {"tone": "calm", "proof": {"of": [1, 2]}}
BLOCKS: list[dict[str, Any]] = [
    {**thinking("Hm."), **FUTURE},
    {"type": "redacted_thinking", "data": "ZGF0YQ==", **FUTURE},
    text("Hi.", **FUTURE),
    tool_use("look", {"at": 1}, **FUTURE),
]
FORMS = {"whole": whole, "stream": lambda document: streamed(stream_of(document))}
HERE = Origin(provider="anthropic", model=MODEL, protocol="anthropic-messages")


def _answered(said: Message) -> list[Message]:
    results = [Message.tool(call.id, "ok") for call in said.tool_calls]
    return [Message.user("Hi"), said, *(results or [Message.user("So?")])]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("blocks", [BLOCKS, BLOCKS[2:3]], ids=["several", "a text alone"])
def test_fields_that_are_not_read_go_back_to_the_model(
    blocks: list[dict[str, Any]], form: str
) -> None:
    said = evolve(response(FORMS[form](message(*blocks))).message, origin=HERE)
    asked = ask(messages=_answered(said))

    assert messages(asked)[1]["content"] == blocks
    assert codes(asked) == []


def test_a_stream_of_one_text_keeps_them() -> None:
    """It is read in a shorter way by the client, which such a text is not."""
    native = text("Hi.", **FUTURE)
    events = decode_response(
        protocol,
        Framing.sse(),
        ASKED,
        status=200,
        headers={"content-type": "text/event-stream"},
        chunks=[sse(stream_of(message(native)))],
        streaming=True,
    )
    said = evolve(response(events).message, origin=HERE)

    assert messages(ask(messages=_answered(said)))[1]["content"] == [native]


def test_null_is_not_sent() -> None:
    """Requests refuse it for fields that responses have it for."""
    said = evolve(response(whole(message(text("Hi.", tone=None)))).message, origin=HERE)

    assert messages(ask(messages=_answered(said)))[1]["content"] == [text("Hi.")]


def test_they_do_not_go_to_another_model_and_are_reported() -> None:
    """Their meaning is unknown, and may be bound to the model, as that of a signature."""
    said = evolve(response(whole(message(BLOCKS[2]))).message, origin=HERE)
    asked = ask("claude-opus-4-1", messages=_answered(said))

    assert messages(asked)[1]["content"] == [text("Hi.")]
    assert codes(asked) == [("opaque-data-dropped", "messages[1].content[0]")]
