"""Decoding recorded responses."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    LLMError,
    RateLimitError,
    StreamError,
)
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure
from llmcore.testing import decode_recorded
from tests.support.wire.chat import completion, sse, text_chunks, usage_chunk

SSE = {"Content-Type": "text/event-stream; charset=utf-8"}
JSON = {"content-type": "application/json"}
STREAM = sse([*text_chunks("Hel", "lö"), usage_chunk()])


def _decoded(
    body: bytes, headers: Mapping[str, str], *, streaming: bool, **more: Any
) -> LLMResponse | LLMError:
    result = decode_recorded(
        "openai-chat", status=200, headers=headers, body=body, streaming=streaming, **more
    )
    return result.failure() if isinstance(result, Failure) else result.unwrap()


def test_a_recorded_stream_decodes_to_a_response() -> None:
    """Through the framing, the protocol and the fold that the client uses."""
    answer = _decoded(STREAM, SSE, streaming=True)

    assert isinstance(answer, LLMResponse)
    assert answer.text == "Hellö"
    assert answer.usage is not None


def _numbered(*pieces: tuple[int, str]) -> bytes:
    """Return a stream of pieces of text, each with the number of its choice."""
    chunks = [{"choices": [{"index": at, "delta": {"content": text}}]} for at, text in pieces]
    ends = {at: {"choices": [{"index": at, "finish_reason": "stop"}]} for at, _ in pieces[:2]}
    return sse([*chunks, *ends.values()])


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([(0, "a"), (1, "b"), (0, "c"), (1, "d")], "ac"),
        ([(0, "a"), (0, "c"), (1, "b"), (1, "d")], "ac"),
        ([(1, "b"), (0, "a"), (1, "d"), (0, "c")], "bd"),
        ([(0, "a"), (0, "b"), (0, "c")], "abc"),
    ],
    ids=["interleaved", "one after the other", "the second first", "one"],
)
def test_a_recorded_stream_of_several_choices_decodes_to_the_one_that_came_first(
    pieces: list[tuple[int, str]], text: str
) -> None:
    """The request, which asked for them, is not known."""
    answer = _decoded(_numbered(*pieces), SSE, streaming=True)

    assert isinstance(answer, LLMResponse)
    assert answer.text == text


def test_a_recorded_stream_whose_chunks_are_numbered_decodes_to_one_choice() -> None:
    """Servers have numbered the chunks in place of the choices."""
    chunks = [
        {"choices": [{"index": at, "delta": {"content": text}}]} for at, text in enumerate("abc")
    ]
    end = {"choices": [{"index": 3, "delta": {}, "finish_reason": "stop"}]}
    answer = _decoded(sse([*chunks, end]), SSE, streaming=True)

    assert isinstance(answer, LLMResponse)
    assert answer.text == "abc"


@pytest.mark.parametrize("size", [1, 2, 7, 1000, 10**6])
def test_chunks_of_any_size_decode_to_the_same_response(size: int) -> None:
    """Where the bytes are cut never shows."""
    assert _decoded(STREAM, SSE, streaming=True, chunk_size=size) == _decoded(
        STREAM, SSE, streaming=True
    )


def test_a_recorded_whole_body_decodes_to_a_response() -> None:
    """Streamed and whole responses are the same response."""
    document = json.dumps(completion({"content": "Hellö"}, usage=usage_chunk()["usage"])).encode()

    assert _decoded(document, JSON, streaming=False) == _decoded(STREAM, SSE, streaming=True)


def test_a_document_in_place_of_a_stream_is_decoded() -> None:
    """The content type tells: the server did not stream."""
    document = json.dumps(completion({"content": "Hi"})).encode()

    answer = _decoded(document, JSON, streaming=True)

    assert isinstance(answer, LLMResponse)
    assert answer.text == "Hi"


@pytest.mark.parametrize("streaming", [True, False])
def test_a_stream_with_the_content_type_of_json_is_decoded(streaming: bool) -> None:
    """Proxies send it, and OpenAI's SDK reads it."""
    expected = _decoded(STREAM, SSE, streaming=True)

    for body in (STREAM, b": ping\n\n" + STREAM, b"event: message\n" + STREAM):
        assert _decoded(body, JSON, streaming=streaming) == expected
    cut = _decoded(STREAM[: STREAM.index(b"stop")], JSON, streaming=streaming)
    assert isinstance(cut, StreamError)


@pytest.mark.parametrize("headers", [SSE, JSON])
def test_a_document_before_the_sentinel_of_a_stream_is_decoded(headers: dict[str, str]) -> None:
    """As a gateway answers that streams to itself."""
    document = json.dumps(completion({"content": "Hi"})).encode()

    answer = _decoded(document + b"\n\ndata: [DONE]\n\n", headers, streaming=False)

    assert isinstance(answer, LLMResponse)
    assert answer.text == "Hi"


LINES = b"".join(
    json.dumps(one).encode() + b"\n" for one in [*text_chunks("Hel", "lö"), usage_chunk()]
)
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.mark.parametrize(
    ("body", "headers"),
    [(LINES, SSE), (LINES, NDJSON), (LINES, JSON), (LINES, {}), (STREAM, NDJSON)],
    ids=[
        "lines as events",
        "lines",
        "lines as a document",
        "lines without a type",
        "events as lines",
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("size", [5, 10**6])
def test_lines_and_events_are_told_apart_by_what_they_hold(
    body: bytes, headers: dict[str, str], size: int, streaming: bool
) -> None:
    """Servers give one the content type of the other."""
    answer = _decoded(body, headers, streaming=streaming, chunk_size=size)

    assert answer == _decoded(STREAM, SSE, streaming=True)


def test_a_document_that_is_not_json_stays_an_error() -> None:
    """Words that only contain the name of a field are not a stream."""
    failed = _decoded(b"Bad gateway, data: none", JSON, streaming=True)

    assert isinstance(failed, StreamError)
    assert "is not JSON" in failed.message


def test_the_usual_framing_is_used_without_a_content_type() -> None:
    """Chat Completions streams server-sent events."""
    assert isinstance(_decoded(STREAM, {}, streaming=True), LLMResponse)


def test_ndjson_is_framed_by_its_content_type() -> None:
    """The content type names another framing than the usual one."""
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in text_chunks("Hi"))

    answer = _decoded(lines, {"content-type": "application/x-ndjson"}, streaming=True)

    assert isinstance(answer, LLMResponse)
    assert answer.text == "Hi"


def test_a_cut_stream_is_a_stream_error() -> None:
    """With what had come."""
    failed = _decoded(STREAM[: STREAM.index(b"stop")], SSE, streaming=True)

    assert isinstance(failed, StreamError)
    assert failed.partial is not None


def test_an_error_status_decodes_to_its_error_class() -> None:
    """With status and headers read as the client reads them."""
    result = decode_recorded(
        "openai-chat",
        status=429,
        headers={**JSON, "retry-after": "3"},
        body=b'{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}',
        streaming=True,
    )

    failed = result.failure()
    assert isinstance(failed, RateLimitError)
    assert (failed.status_code, failed.retry_after) == (429, 3.0)


def test_an_unknown_protocol_is_refused() -> None:
    """A bug in the test, not in the bytes."""
    with pytest.raises(ConfigurationError, match="openai-chat"):
        decode_recorded("chat", status=200, headers={}, body=b"", streaming=True)


def test_a_chunk_size_of_zero_is_refused() -> None:
    """A chunk size counts bytes."""
    with pytest.raises(InvalidRequestError, match="chunk_size"):
        _decoded(STREAM, SSE, streaming=True, chunk_size=0)
