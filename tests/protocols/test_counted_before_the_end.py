"""Responses that fail after the server has counted tokens: the error's `partial` has the counts."""

from collections.abc import Sequence
from typing import Any

import pytest

from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.decoding import ResponseDecoder
from llmcore.routes.framing import Framing
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.usage import Usage
from tests.support.wire import anthropic, bedrock, chat, gemini, responses

WORDS = "Some words of an answer."
FAILED = {"error": {"code": "server_error", "message": "Broken."}}

CHAT = [*chat.text_chunks(WORDS, finish=None), chat.usage_chunk()]
GEMINI = [
    gemini.chunk({"text": text}, usageMetadata={**gemini.USAGE, "candidatesTokenCount": count})
    for text, count in (("Some words ", 3), ("of an ", 6), ("answer.", 9))
]
MESSAGES = anthropic.stream_of(anthropic.message(anthropic.text(WORDS)))
CONVERSE = bedrock.stream_of(bedrock.document({"text": WORDS}))
RESPONSES = responses.events_of([responses.message(WORDS)])[:-1]


def _failed(status: str) -> dict[str, Any]:
    error = FAILED["error"] if status == "failed" else None
    document = responses.document([], status, error=error)
    return {"type": f"response.{status}", "response": document}


STREAMS: dict[str, tuple[list[LLMEvent], tuple[int, int]]] = {
    "Chat, an error after the usage": (chat.streamed(chat.sse([*CHAT, FAILED])), (7, 5)),
    "Chat, the usage beside the error": (
        chat.streamed(chat.sse([*CHAT[:-1], {**FAILED, "usage": chat.USAGE}])),
        (7, 5),
    ),
    "Chat, the usage beside a choice that failed": (
        chat.streamed(
            chat.sse([*CHAT[:-1], {**chat.usage_chunk(), "choices": [{"index": 0, **FAILED}]}])
        ),
        (7, 5),
    ),
    "Chat, cut": (chat.streamed(chat.sse(CHAT, done=False)), (7, 5)),
    "Messages, an error after the counts": (
        anthropic.streamed([*MESSAGES[:-1], {"type": "error", **FAILED}]),
        (12, 7),
    ),
    "Converse, an error after the counts": (
        bedrock.streamed([*CONVERSE, ("exception:internalServerException", {"message": "No."})]),
        (12, 7),
    ),
    "Responses, failed": (responses.streamed([*RESPONSES, _failed("failed")]), (20, 10)),
    "Responses, cancelled": (responses.streamed([*RESPONSES, _failed("cancelled")]), (20, 10)),
}


def _partial_usage(events: Sequence[LLMEvent]) -> Usage:
    last = events[-1]
    assert isinstance(last, ErrorEvent)
    assert last.error.partial is not None
    assert last.error.partial.text == WORDS
    return last.error.partial.usage


@pytest.mark.parametrize("name", STREAMS)
def test_the_counts_of_a_response_that_failed_are_kept(name: str) -> None:
    events, (input_tokens, output_tokens) = STREAMS[name]

    usage = _partial_usage(events)

    assert (usage.input_tokens, usage.output_tokens) == (input_tokens, output_tokens)
    assert not usage.estimated
    assert usage.raw


COUNTED_PROMPT = {"prompt_tokens": 7, "completion_tokens": 0, "total_tokens": 7}


@pytest.mark.parametrize(
    ("events", "output_tokens"),
    [
        (gemini.streamed(gemini.sse([*GEMINI, FAILED])), 9),
        (gemini.streamed(gemini.sse(GEMINI)), 9),
        (chat.streamed(chat.sse([{**CHAT[0], "usage": COUNTED_PROMPT}, *CHAT[1:-1]])), 6),
    ],
    ids=["Gemini, an error", "Gemini, cut", "Chat, the prompt alone"],
)
def test_counts_that_are_not_the_last_are_an_estimate(
    events: Sequence[LLMEvent], output_tokens: int
) -> None:
    """Which is not below four characters for each token: a server may count the prompt first."""
    usage = _partial_usage(events)

    assert (usage.input_tokens, usage.output_tokens) == (7, output_tokens)
    assert usage.estimated


def test_counts_of_a_stream_that_is_left_are_kept() -> None:
    """Which its reader closes before the end."""
    protocol = protocol_by_id("gemini")
    decoder = ResponseDecoder(protocol, Framing.sse(), gemini.ASKED)
    decoder.feed(gemini.sse(GEMINI[:2]))

    decoder.keep_usage()

    assert (decoder.partial.text, decoder.partial.usage.output_tokens) == ("Some words of an ", 6)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_counts_of_a_whole_response_that_failed_are_kept(status: str) -> None:
    (*_, last) = responses.whole(_failed(status)["response"])

    assert isinstance(last, ErrorEvent)
    assert last.error.partial is not None
    assert last.error.partial.usage.input_tokens == 20
