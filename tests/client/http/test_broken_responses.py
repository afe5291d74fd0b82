"""Responses whose end is broken: the error has the status, and what came before, at once.

The engines differ in what they notice by themselves; the results are the same over all of them.
"""

import gzip
import socket
import threading
from typing import Any

import anyio
import httpcore
import pytest

from llmcore.client import error_responses
from llmcore.client.client import Client
from llmcore.client.http import httpx_network
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import (
    AuthenticationError,
    ContextLengthError,
    LLMError,
    NetworkError,
    ProviderError,
    RateLimitError,
    StreamError,
)
from llmcore.schema.request import request
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result
from tests.support.servers.loopback import chat_chunk, chat_stream, chat_whole, model_at
from tests.support.servers.raw_http import RESET, Piece, chunk, head, raw
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.anyio

CHUNKED = "transfer-encoding: chunked"
BODY = chat_whole("Hello")
REFUSAL = b'{"error": {"message": "no such key"}}'
MUCH_LATER: float = 600.0
A_MOMENT: float = 0.03


async def asked(
    url: str, *, streaming: bool = False, prompt: str = "Hi"
) -> Result[LLMResponse, LLMError]:
    """Return the result of a call, which fails the test if it waits for its time limits."""
    limits = Timeouts(connect=60, first_event=300, idle=300)
    async with Client(timeouts=limits) as client:
        wanted = request(model=model_at(url), prompt=prompt)
        with anyio.fail_after(PATIENCE_S):
            if streaming:
                return await client.stream(wanted).result()
            return await client.generate(wanted)


BROKEN: dict[str, tuple[tuple[Piece, ...], type[LLMError], str]] = {
    "the size of a chunk is no number": (
        (head(CHUNKED) + chunk(BODY[:9]), A_MOMENT, b"zz\r\n", MUCH_LATER),
        NetworkError,
        "zz",
    ),
    "a chunk is longer than its size": (
        (head(CHUNKED) + chunk(BODY[:9]), A_MOMENT, b"2\r\nabcdef\r\n", MUCH_LATER),
        NetworkError,
        "chunk",
    ),
    "an error of a proxy in the middle of a body": (
        (
            head(CHUNKED) + chunk(BODY[:9]),
            A_MOMENT,
            b"HTTP/1.1 502 Bad Gateway\r\n\r\n",
            MUCH_LATER,
        ),
        NetworkError,
        "chunk",
    ),
    "a trailer is no field": (
        (head(CHUNKED) + chunk(BODY), A_MOMENT, b"0\r\nno field\r\n\r\n", MUCH_LATER),
        NetworkError,
        "no field",
    ),
    "a reset ends a body without a length": (
        (head() + BODY, A_MOMENT, RESET),
        NetworkError,
        "Connection reset by peer",
    ),
    "nothing follows the head": (
        (head("content-length: 0"),),
        StreamError,
        "the response is empty",
    ),
    "a body of white space": (
        (head("content-length: 2") + b"\r\n",),
        StreamError,
        "the response is empty",
    ),
    "a change of protocol": (
        (head("upgrade: x", "connection: upgrade", status="101 X"), MUCH_LATER),
        NetworkError,
        "",
    ),
    "no content, with content": (
        (head(f"content-length: {len(BODY)}", status="204 X") + BODY,),
        StreamError,
        "the response is empty",
    ),
    "not modified, with content": (
        (head(f"content-length: {len(BODY)}", status="304 X") + BODY,),
        ProviderError,
        "HTTP 304",
    ),
    "an error that is longer than its length": (
        (head("content-length: 9", status="401 X") + REFUSAL,),
        AuthenticationError,
        '{"error":',
    ),
    "an error with a broken chunk": (
        (head(CHUNKED, status="401 X") + b"zz\r\n" + REFUSAL,),
        AuthenticationError,
        "HTTP 401",
    ),
    "an error that is broken later": (
        (head(CHUNKED, status="401 X") + chunk(REFUSAL), A_MOMENT, b"zz\r\n", MUCH_LATER),
        AuthenticationError,
        "no such key",
    ),
    "an error that is reset": (
        (head(CHUNKED, status="401 X") + chunk(REFUSAL), A_MOMENT, RESET),
        AuthenticationError,
        "no such key",
    ),
}


@pytest.mark.parametrize(("pieces", "kind", "said"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_response_is_an_error_at_once(
    pieces: tuple[Piece, ...], kind: type[LLMError], said: str
) -> None:
    with raw(*pieces) as server:
        error = (await asked(server.url)).failure()

    assert type(error) is kind
    assert said in error.message


@pytest.mark.parametrize("stalls", [True, False], ids=["stalls", "drips"])
async def test_the_status_of_an_error_is_enough_where_its_body_does_not_end(
    stalls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_responses, "_ERROR_BODY_SECONDS", 0.1)
    begun = head("content-length: 500", "retry-after: 3", status="429 X") + b"{"
    more = [MUCH_LATER] if stalls else [b" ", 0.02] * 100
    with raw(begun, *more) as server:
        error = (await asked(server.url)).failure()

    assert isinstance(error, RateLimitError)
    assert error.retry_after == 3.0


EVENT = chat_chunk(delta={"content": "Hel"})
STREAM = head(CHUNKED, kind="text/event-stream") + chunk(EVENT)


@pytest.mark.parametrize(
    "pieces",
    [
        (STREAM + b"zz\r\n", MUCH_LATER),
        (STREAM, A_MOMENT, b"zz\r\n", MUCH_LATER),
        (STREAM, A_MOMENT, RESET),
        (head(kind="text/event-stream") + EVENT, A_MOMENT, RESET),
    ],
    ids=["at once", "later", "reset", "reset without a length"],
)
async def test_events_before_the_break_are_kept(pieces: tuple[Piece, ...]) -> None:
    with raw(*pieces) as server:
        error = (await asked(server.url, streaming=True)).failure()

    assert isinstance(error, NetworkError)
    assert error.partial is not None
    assert error.partial.text == "Hel"


# -- codings of content


ZIPPED = gzip.compress(BODY)
CODED = {
    "identity": BODY,
    "identity, identity": BODY,
    "gzip, identity": ZIPPED,
    "identity,GZIP": ZIPPED,
    "gzip,": ZIPPED,
    "utf-8": BODY,
    "none": BODY,
}


@pytest.mark.parametrize(("coding", "body"), CODED.items(), ids=CODED)
async def test_names_that_are_no_compression_are_left_out(coding: str, body: bytes) -> None:
    with raw(head(f"content-encoding: {coding}", f"content-length: {len(body)}") + body) as server:
        assert (await asked(server.url)).unwrap().text == "Hello"


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "gzip, gzip"])
async def test_a_compression_that_was_not_requested_is_named(coding: str) -> None:
    with raw(head(f"content-encoding: {coding}", "content-length: 4") + b"\x0b\x01\x80x") as server:
        error = (await asked(server.url)).failure()

    assert isinstance(error, NetworkError)
    assert repr(coding) in error.message


# -- responses before the end of the request


TOO_LARGE = head("content-length: 27", status="413 X") + b'{"error":{"message":"big"}}'
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
PROMPT = "long " * 1_000_000


def answered(listening: socket.socket, pieces: tuple[Piece, ...], reads: bool) -> None:
    """Send *pieces* once a request has begun to come, and then read it, or not."""
    with listening.accept()[0] as connection:
        begun = connection.recv(1024)
        for piece in pieces:
            if isinstance(piece, bytes):
                connection.sendall(piece)
            else:
                threading.Event().wait(float(piece))
        if reads:
            fields, end, body = begun.partition(b"\r\n\r\n")
            assert end
            left = int(fields.rpartition(b"content-length: ")[2].split()[0]) - len(body)
            while left > 0:
                left -= len(connection.recv(1 << 20))
            connection.sendall(head(f"content-length: {len(BODY)}") + BODY)


async def uploaded(*pieces: Piece, reads: bool = False) -> Result[LLMResponse, LLMError]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        arguments: tuple[Any, ...] = (listening, pieces, reads)
        threading.Thread(target=answered, args=arguments, daemon=True).start()
        return await asked(f"http://127.0.0.1:{listening.getsockname()[1]}", prompt=PROMPT)


@pytest.mark.parametrize("open_s", [0.15, MUCH_LATER], ids=["closes", "stays open"])
async def test_a_large_request_that_is_refused_before_it_was_read_has_its_error(
    open_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one of the network, after which it would be sent again."""
    monkeypatch.setattr(httpx_network, "_REFUSED_SECONDS", 0.1)
    error = (await uploaded(TOO_LARGE, open_s)).failure()

    assert isinstance(error, ContextLengthError)
    assert error.message == "big"


class Waiting(httpcore.AsyncNetworkStream):
    """A connection without a response, which knows whether one was waited for while it wrote."""

    is_read = was_read = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        self.is_read = True
        await anyio.sleep(MUCH_LATER)
        return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        self.was_read = self.is_read


async def test_a_large_request_is_written_once_its_response_is_waited_for() -> None:
    """A server that closes at once resets the connection, and asyncio then reads no more."""
    connection = Waiting()
    stream = httpx_network.TrackedStream(connection, set())
    await stream.write(b"POST / HTTP/1.1\r\n\r\n")
    await stream.write(b"x" * 100_000)

    assert connection.was_read


async def test_a_large_request_is_sent_whole_after_an_informational_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(httpx_network, "_REFUSED_SECONDS", 0.01)

    assert (await uploaded(CONTINUE, 0.1, reads=True)).unwrap().text == "Hello"


async def test_a_stream_that_is_complete_before_the_break_is_no_error() -> None:
    events = b"".join(piece for piece in chat_stream() if isinstance(piece, bytes))
    whole = head(CHUNKED, kind="text/event-stream") + chunk(events)
    with raw(whole + b"zz\r\n", MUCH_LATER) as server:
        assert (await asked(server.url, streaming=True)).unwrap().text == "Hello"
