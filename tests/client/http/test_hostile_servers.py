"""Unsolicited bytes of servers and abandoned responses never reach another call."""

import gc
import socket
import threading
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import httpx2
import pytest

from llmcore.client.client import Client
from llmcore.client.http import engine
from llmcore.client.http.options import HttpOptions
from llmcore.schema.errors import NetworkError
from llmcore.schema.request import request
from llmcore.schema.result import Success
from tests.client.http.conftest import ENGINES
from tests.support.programs.open_sockets import needs_proc, open_sockets, port_of
from tests.support.servers.loopback import (
    Answer,
    chat_handler,
    chat_stream,
    chat_whole,
    model_at,
    serve,
)
from tests.support.servers.raw_http import Raw, raw, response
from tests.support.servers.tls_loopback import Authority, new_authority
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return new_authority(tmp_path_factory.mktemp("ca"))


POISON = response("POISON")
EXTRA = {
    "a whole response": POISON,
    "two responses": POISON + POISON,
    "a chunked response": response("POISON", chunked=True),
    "the beginning of a response": POISON[:60],
    "part of a header": b"HTTP/1.1 200 OK\r\nx-a: ",
    "the end of a chunked body": b"0\r\n\r\n",
    "a header like the end of a chunked body": b"HTTP/1.1 200 OK\r\nx-a: 0\r\n\r\n",
}


async def texts(
    url: str, count: int = 2, sent: threading.Event | None = None, **options: Any
) -> list[str]:
    """Return what *count* calls in a row are answered, each made once all is *sent*."""
    async with Client(**options) as client:
        found = []
        for _ in range(count):
            result = await client.generate(request(model=model_at(url), prompt="Hi"))
            found.append(result.unwrap().text)
            if sent is not None:
                assert await anyio.to_thread.run_sync(sent.wait, 10)
            await anyio.sleep(0.05)
    return found


async def test_bytes_that_are_not_http_are_an_error_in_one_line() -> None:
    """Without the status 400 that aiohttp makes up for it."""
    with raw(b"\x16\x03\x01garbage\r\n\r\n") as server:
        async with Client() as client:
            error = (
                await client.generate(request(model=model_at(server.url), prompt="Hi"))
            ).failure()

    assert isinstance(error, NetworkError)
    assert "garbage" in error.message
    assert "\n" not in error.message
    assert "400 " not in error.message


# -- bytes after a response


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("extra", EXTRA.values(), ids=EXTRA)
async def test_bytes_after_a_response_do_not_answer_the_next_call(
    extra: bytes, chunked: bool
) -> None:
    """They come in the same segment; the next call gets a connection of its own."""
    with raw(response("first", chunked=chunked) + extra) as server:
        assert await texts(server.url) == ["first", "second"]

    assert server.requests == [1, 2]


@pytest.mark.parametrize("cut", [10, -1, -3], ids=["in a line", "in its end", "before its end"])
async def test_bytes_after_a_response_whose_head_came_in_pieces_do_not_answer_the_next_call(
    cut: int,
) -> None:
    """Then it is not known from lengths that there are none."""
    first = response("first")
    at = cut % (first.index(b"\r\n\r\n") + 4)
    with raw(first[:at], 0.02, first[at:] + POISON) as server:
        assert await texts(server.url) == ["first", "second"]

    assert server.requests == [1, 2]


async def test_bytes_after_a_response_that_informational_ones_precede_do_not_answer() -> None:
    """The next call gets a connection of its own."""
    early = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    with raw(early + response("first") + POISON) as server:
        assert await texts(server.url) == ["first", "second"]

    assert server.requests == [1, 2]


@pytest.mark.parametrize("anyio_backend", ["aiohttp", "aiohttp-uvloop"], indirect=True)
async def test_informational_responses_without_an_end_break_the_connection() -> None:
    """Reading them would take all time of the event loop."""
    early = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    with raw(early * 1000 + response("first")) as server:
        assert await texts(server.url, count=1) == ["first"]
    broken = pytest.raises(NetworkError, match="more than 1000 informational responses")
    with raw(early * 1001 + response("first")) as server, broken:
        await texts(server.url, count=1)


@pytest.mark.parametrize("extra", EXTRA.values(), ids=EXTRA)
async def test_bytes_that_come_while_a_connection_is_idle_do_not_answer_the_next_call(
    extra: bytes,
) -> None:
    """They come a moment after the response."""
    with raw(response("first"), 0.02, extra) as server:
        assert await texts(server.url, sent=server.first_is_sent) == ["first", "second"]

    assert server.requests == [1, 2]


async def test_bytes_after_a_response_behind_tls_do_not_answer_the_next_call(
    authority: Authority,
) -> None:
    """In a TLS record of their own: neither the socket nor the HTTP parser shows them."""
    options = HttpOptions(ca_file=str(authority.file))
    for first in ([response("first") + POISON], [response("first"), POISON]):
        with raw(*first, context=authority.server_context("http/1.1")) as server:
            assert await texts(server.url, http=options) == ["first", "second"]

        assert server.requests == [1, 2]


async def test_bytes_after_a_streamed_response_do_not_answer_the_next_call() -> None:
    """Also where the stream ends by its own sentinel."""
    events = b"".join(piece for piece in chat_stream() if isinstance(piece, bytes))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    stream = head + b"content-length: %d\r\n\r\n%b" % (len(events), events)
    with raw(stream + POISON) as server:
        async with Client() as client:
            asked = request(model=model_at(server.url), prompt="Hi")
            assert (await client.stream(asked).result()).unwrap().text == "Hello"
            assert (await client.generate(asked)).unwrap().text == "second"

    assert server.requests == [1, 2]


@pytest.mark.parametrize("make", [httpx.AsyncClient, httpx2.AsyncClient])
async def test_bytes_after_a_response_do_not_answer_the_next_call_of_a_given_client(
    make: Any,
) -> None:
    """The clients of httpx and httpx2 would give them to it."""
    with raw(response("first") + POISON) as server:
        async with make() as http:
            assert await texts(server.url, http=http) == ["first", "second"]

    assert server.requests == [1, 2]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_connection_is_used_again_after_a_clean_response(chunked: bool) -> None:
    """Informational responses before it belong to it."""
    early = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    with raw(early + response("first", chunked=chunked)) as server:
        assert await texts(server.url, 3) == ["first", "second", "second"]

    assert server.requests == [1, 1, 1]


@pytest.mark.parametrize("make", [httpx.AsyncClient, httpx2.AsyncClient])
async def test_a_connection_of_a_given_client_is_used_again(make: Any) -> None:
    """The check for bytes after a response knows the streams of both libraries."""
    with raw(response("first")) as server:
        async with make() as http:
            assert await texts(server.url, 3, http=http) == ["first", "second", "second"]

    assert server.requests == [1, 1, 1]


async def test_a_connection_behind_tls_is_used_again(authority: Authority) -> None:
    """Session tickets, which come after the handshake, do not count as bytes after a response."""
    options = HttpOptions(ca_file=str(authority.file))
    with raw(response("first"), context=authority.server_context("http/1.1")) as server:
        assert await texts(server.url, 3, http=options) == ["first", "second", "second"]

    assert server.requests == [1, 1, 1]


class Early(Raw):
    """Answers the first request once its headers have come, and never reads the rest of it."""

    def __init__(self) -> None:
        super().__init__([response("first")], None)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def _read(self, connection: socket.socket) -> bool:  # type: ignore[override]
        if connection is not self.connections[0]:
            return Raw._read(connection)
        if self.requests:
            threading.Event().wait(600)
            return False
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(1)
        return True


@pytest.mark.parametrize("anyio_backend", [ENGINES["aiohttp"], ENGINES["aiohttp-uvloop"]])
async def test_a_connection_is_not_used_again_while_it_holds_a_part_of_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server has answered early; what it does not read would delay the next request."""
    small = (socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    monkeypatch.setattr(engine, "SOCKET_OPTIONS", (*engine.SOCKET_OPTIONS, small))
    server = Early()
    try:
        async with Client() as client:
            for prompt, text in (("x" * 900_000, "first"), ("Hi", "second")):
                asked = request(model=model_at(server.url), prompt=prompt)
                with anyio.fail_after(PATIENCE_S):
                    assert (await client.generate(asked)).unwrap().text == text
    finally:
        server.close()

    assert server.requests == [1, 2]


# -- redirects to another host


OWN = {
    "X-Portkey-Api-Key": "own-secret",
    "Helicone-Auth": "own-secret",
    "X-Anything": "own-secret",
    "Cookie": "own-secret",
}


async def test_a_redirect_to_another_host_carries_none_of_the_callers_headers() -> None:
    """No list of names can say which of them are secret."""
    with serve(chat_handler) as other, serve(chat_handler) as server:
        away = {"location": f"{other.url}/v1/chat/completions?subscription-key=own-secret&b=2"}
        server.handler = lambda _: Answer([b""], 307, away, length=0)
        query = {"subscription-key": "own-secret", "a": "1"}
        model = model_at(server.url, headers=OWN, query=query)
        async with Client() as client:
            assert isinstance(await client.generate(request(model=model, prompt="x")), Success)

    (seen,) = other.received
    assert "own-secret" not in repr(seen.headers) + seen.path
    assert seen.path.endswith("?b=2")
    assert not {name.lower() for name in OWN} & seen.headers.keys()
    assert seen.headers["content-type"] == "application/json"
    assert seen.body == server.received[0].body


async def test_a_redirect_on_the_same_host_carries_the_callers_headers() -> None:
    """It is the server that they were meant for."""
    with serve(chat_handler) as server:

        def handler(received: Any) -> Answer:
            if received.path.startswith("/new"):
                return chat_handler(received)
            return Answer([b""], 307, {"location": "/new"}, length=0)

        server.handler = handler
        async with Client() as client:
            model = model_at(server.url, headers=OWN)
            assert isinstance(await client.generate(request(model=model, prompt="x")), Success)

    assert server.received[1].headers["helicone-auth"] == "own-secret"


@pytest.mark.parametrize("make", [httpx.AsyncClient, httpx2.AsyncClient])
async def test_a_given_client_that_follows_redirects_does_not_follow_ours(make: Any) -> None:
    """It would take all headers but `authorization` to the other host."""
    with serve(chat_handler) as other, serve(chat_handler) as server:
        away = {"location": f"{other.url}/v1/chat/completions"}
        server.handler = lambda _: Answer([b""], 307, away, length=0)
        async with make(follow_redirects=True) as http, Client(http=http) as client:
            model = model_at(server.url, headers=OWN)
            assert isinstance(await client.generate(request(model=model, prompt="x")), Success)

    assert "own-secret" not in repr(other.received[0].headers)


# -- what is left open


@needs_proc
async def test_closing_a_client_while_calls_connect_leaves_no_socket_open() -> None:
    """At whatever moment of their beginning it is closed."""
    with serve(chat_handler) as server:
        asked = request(model=model_at(server.url), prompt="Hi")
        for steps in (0, 1, 2, 3, 5, 8, 13, 21, 40):
            client = Client()
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(client.stream(asked).result)
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                await client.aclose()
            await client.aclose()

            assert await until(lambda: open_sockets(port_of(server)) == 0)
    gc.collect()


@needs_proc
async def test_idle_connections_are_closed_when_their_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though no request uses the pool again."""
    monkeypatch.setattr(engine, "IDLE_SECONDS", 1.0)
    with serve(chat_handler) as server:
        async with Client() as client:
            asked = request(model=model_at(server.url), prompt="Hi")
            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(client.generate, asked)
            assert open_sockets(port_of(server)) > 0
            assert await until(lambda: open_sockets(port_of(server)) == 0)
            assert isinstance(await client.generate(asked), Success)


async def test_calls_that_a_closed_client_cuts_fail_with_an_error_of_the_network() -> None:
    """It is a value like every other failure."""
    with serve(lambda _: Answer([5.0, chat_whole()], headers=JSON)) as server:
        client = Client()
        results: list[Any] = []

        async def ask() -> None:
            results.append(await client.generate(request(model=model_at(server.url), prompt="Hi")))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            assert await until(lambda: bool(server.received))
            await anyio.sleep(0.05)
            await client.aclose()

    assert isinstance(results[0].failure(), NetworkError)
