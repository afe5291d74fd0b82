"""One WebSocket: the handshake, frames, and how it ends."""

import json
import logging
import sys
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import evolve

from llmcore import Client, ConfigurationError, OpenAI, Timeouts, request
from llmcore.client.http.options import HttpOptions
from llmcore.client.websocket import connection as connection_module
from llmcore.client.websocket.connection import WebSocketConnection, WebSocketDialer
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import WebSocket
from llmcore.schema.errors import NetworkError, RequestTimeoutError, StreamError
from tests.support.servers.socket_server import (
    Action,
    Close,
    Cut,
    Native,
    Pieces,
    Ping,
    Raw,
    Reset,
    SocketServer,
    answer,
    says,
    sockets,
)
from tests.support.servers.tls_loopback import new_authority, proxy
from tests.support.waiting import PATIENCE_S, until
from tests.support.wire.responses import message

pytestmark = pytest.mark.anyio

KEY = "sk-test-websocket-0123456789"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no proxy of this machine count."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def opened(
    server: SocketServer, spec: WebSocket | None = None, options: HttpOptions | None = None
) -> WebSocketConnection:
    """Open a socket to *server*."""
    handshake = HttpRequest(
        method="GET",
        url=f"ws{server.url.removeprefix('http')}/responses",
        headers={"authorization": f"Bearer {KEY}"},
    )
    dialer = WebSocketDialer(options)
    return await dialer.open_socket(handshake, Timeouts(), spec or WebSocket())


def acts(*actions: Action) -> Any:
    """Answer every request with *actions*."""
    return lambda _asked, _id: actions


async def received(server: SocketServer, count: int, **options: Any) -> list[bytes]:
    """Return the first *count* messages that answer a request."""
    connection = await opened(server, **options)
    try:
        await connection.send(b"{}")
        messages: list[bytes] = []
        while len(messages) < count:
            messages += await connection.receive()
        return messages
    finally:
        await connection.aclose()


# -- frames


@pytest.mark.parametrize("compression", [True, False])
async def test_messages_go_both_ways(compression: bool) -> None:
    """Also large ones, compressed or not."""
    big = {"type": "x", "text": "é" * 300_000}

    def echo(asked: Native, _id: str) -> Iterable[Action]:
        return [asked]

    with sockets(echo) as server:
        connection = await opened(server, WebSocket(compression=compression))
        await connection.send(json.dumps(big, ensure_ascii=False).encode())
        (message,) = await connection.receive()
        await connection.aclose()

    assert json.loads(message) == big
    offered = server.handshakes[0].get("sec-websocket-extensions", "")
    assert ("permessage-deflate" in offered) == compression


async def test_a_message_may_come_in_frames() -> None:
    """It is one message still; pings in between are answered."""
    with sockets(acts(Pieces(("a", "b", "c")), Ping(), "d")) as server:
        messages = await received(server, 2)

    assert messages == [b"abc", b"d"]


async def test_pings_are_answered_while_reading() -> None:
    """A server that pings to see whether we live sees it."""
    with sockets(acts("a", Ping(), 0.1, "b")) as server:
        await received(server, 2)
        assert server.pongs[0].wait(PATIENCE_S)


@pytest.mark.parametrize("compression", [True, False])
async def test_a_message_over_the_limit_is_refused(compression: bool) -> None:
    """Even if few bytes blow up to many; asking again would not help."""
    spec = WebSocket(max_message_bytes=10_000, compression=compression)
    with sockets(acts("x" * 10_000, "x" * 10_001)) as server:
        with pytest.raises(StreamError) as caught:
            await received(server, 2, spec=spec)
        server.wait_closed(1)

    assert not caught.value.retryable
    assert server.closed[0][1] == 1009


async def test_a_binary_message_is_an_error() -> None:
    """The protocol has JSON text alone."""
    with sockets(acts(b"{}")) as server, pytest.raises(StreamError, match="binary"):
        await received(server, 1)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (b"\x82\x01z", "binary"),
        (b"\x81\x01\xff", "not UTF-8"),
        (b"\x83\x00", "invalid opcode"),
        (b"\x01\x01c\x81\x01d", "expected a continuation frame"),
        (b"\x81\x81\x00\x00\x00\x00a", "incorrect masking"),
        (b"\x88\x02\x03\xf5", r"closed the WebSocket \(1013\)"),
    ],
)
async def test_messages_read_together_with_a_fault_come_before_its_error(
    fault: bytes, message: str
) -> None:
    """However the network cuts the bytes; each later read has the same error."""
    with sockets(acts(Raw(b"\x81\x01a\x81\x01b" + fault))) as server:
        connection = await opened(server)
        await connection.send(b"{}")
        messages = [*await connection.receive()]
        while len(messages) < 2:
            messages += await connection.receive()
        for _ in range(2):
            with pytest.raises((StreamError, NetworkError), match=message):
                await connection.receive()
        assert await connection.settle() is None
        await connection.aclose()

    assert messages == [b"a", b"b"]


async def test_messages_before_a_ping_that_cannot_be_answered_are_returned() -> None:
    """The server has sent all that it had, and is gone."""
    with sockets(acts(Raw(b"\x81\x01a\x89\x00"), Reset())) as server:
        connection = await opened(server)
        await connection.send(b"{}")
        server.wait_closed(1)
        assert await connection.receive() == [b"a"]
        with pytest.raises((StreamError, NetworkError), match=r"broke: .*\w"):
            await connection.receive()
        await connection.aclose()


async def test_empty_fragments_without_end_take_no_memory() -> None:
    """They add nothing to the message."""
    frames = b"\x01\x01a" + b"\x00\x00" * 10_000
    with sockets(acts(Raw(frames), Ping())) as server:
        connection = await opened(server)
        await connection.send(b"{}")
        tracemalloc.start()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(connection.receive)
                was_read = await until(lambda: bool(server.pongs) and server.pongs[0].is_set())
                held, _ = tracemalloc.get_traced_memory()
                group.cancel_scope.cancel()
        finally:
            tracemalloc.stop()
        await connection.aclose()

    assert was_read
    assert held < 60_000


# -- ends


async def test_the_servers_close_code_is_reported() -> None:
    """With its reason."""
    told = pytest.raises(NetworkError, match=r"1013: try later")
    with sockets(acts(Close(1013, "try later"))) as server, told as caught:
        await received(server, 1)

    assert caught.value.error_code == "1013"
    assert caught.value.retryable


async def test_a_connection_that_is_cut_has_no_code() -> None:
    """Reading and writing fail alike."""
    with sockets(acts(Cut())) as server:
        connection = await opened(server)
        await connection.send(b"{}")
        with pytest.raises(NetworkError) as caught:
            await connection.receive()
        with pytest.raises(NetworkError):
            await connection.receive()
        with pytest.raises(NetworkError):
            await connection.send(b"{}")
        await connection.aclose()
        await connection.aclose()

    assert caught.value.error_code is None


async def test_closing_sends_a_close_frame() -> None:
    """The server receives a close frame with a reason."""
    with sockets(acts("a")) as server:
        await received(server, 1)
        server.wait_closed(1)

    assert server.closed == [(0, 1000)]


async def test_idle_socket_reports_messages_before_its_next_use() -> None:
    """Whether it can still be used is known before anything is sent."""
    with sockets(acts("a", 0.03, "b", "c", 0.1, Close(1001))) as server:
        connection = await opened(server)
        assert await connection.settle() == []
        await connection.send(b"{}")
        assert await connection.receive() == [b"a"]
        found: list[bytes] = []
        with anyio.fail_after(10):
            while (idle := await connection.settle()) is not None:
                found += idle
                await anyio.sleep(0.02)
        assert found == [b"b", b"c"]
        await connection.aclose()


@pytest.mark.parametrize(
    ("idle", "reads"), [(Ping(), 20), (" " * 600_000, 1000)], ids=["pings", "large messages"]
)
async def test_an_idle_socket_on_which_much_arrives_is_not_used_again(
    idle: Action, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not read without end while no request is on it."""
    monkeypatch.setattr(connection_module, "_MOST_IDLE_READS", reads)
    actions = [action for _ in range(200) for action in (idle, 0.01)]
    with sockets(acts("a", 0.1, *actions)) as server:
        connection = await opened(server)
        await connection.send(b"{}")
        assert await connection.receive() == [b"a"]
        with anyio.fail_after(20):
            while True:
                connection.rest()
                await anyio.sleep(0.5)
                if await connection.settle() is None:
                    break
        await connection.aclose()


# -- the handshake


async def test_a_server_that_is_not_there() -> None:
    """A NetworkError, without anything of ours in it."""
    gone = HttpRequest(method="GET", url="ws://127.0.0.1:9/x", headers={"authorization": KEY})
    with pytest.raises(NetworkError) as caught:
        await WebSocketDialer().open_socket(gone, Timeouts(), WebSocket())

    assert KEY not in f"{caught.value!r} {caught.value.__cause__!r}"


async def test_a_server_that_answers_wrongly_is_refused() -> None:
    """A 101 without the right key comes from a server that does not speak WebSocket."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def serve(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(
                b"HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
                b"sec-websocket-accept: nonsense\r\n\r\n"
            )

    asked = HttpRequest(method="GET", url=f"ws://127.0.0.1:{port}/")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        with pytest.raises(NetworkError, match="did not open a WebSocket"):
            await WebSocketDialer().open_socket(asked, Timeouts(), WebSocket())
        group.cancel_scope.cancel()


async def test_a_handshake_has_its_limit() -> None:
    """That of connecting."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    asked = HttpRequest(method="GET", url=f"ws://127.0.0.1:{port}/")
    async with listener:
        with pytest.raises(RequestTimeoutError) as caught:
            await WebSocketDialer().open_socket(asked, Timeouts(connect=0.05), WebSocket())

    assert caught.value.error_code == "connect"


async def test_keys_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Not even where everything is."""
    caplog.set_level(logging.DEBUG)
    with sockets(acts("a"), logger=logging.Logger("server", logging.CRITICAL)) as server:
        await received(server, 1)

    assert server.handshakes[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in caplog.text


async def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is sent; there is no quiet way round by HTTP."""
    monkeypatch.setitem(sys.modules, "websockets.client", None)
    model = OpenAI.configure(api_key=KEY).responses_websocket("gpt-5.2")
    async with Client() as client:
        refused = (await client.generate(request(model=model, prompt="Hi"))).failure()

    assert isinstance(refused, ConfigurationError)
    assert "llmcore-routes[websocket]" in refused.message


# -- TLS and proxies


async def test_certificates_and_proxies_are_those_of_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A private authority by option, a tunnel by HTTPS_PROXY; the proxy sees no key."""
    authority = new_authority(tmp_path)
    context = authority.server_context("http/1.1")
    with sockets(says("Hello."), ssl=context) as server, proxy() as tunnel:
        monkeypatch.setenv("HTTPS_PROXY", tunnel.url)
        asked = request(
            model=OpenAI.configure(api_key=KEY, base_url=server.url).responses_websocket("m"),
            prompt="Hi",
        )
        async with Client(http=HttpOptions(ca_file=str(authority.file))) as client:
            first = (await client.generate(asked)).unwrap()
            again = (await client.generate(asked)).unwrap()

    assert first.text == again.text == "Hello."
    assert first.diagnostics == ()
    assert server.connections == [0, 0]
    assert tunnel.targets == [f"CONNECT 127.0.0.1:{server.port}"]
    assert KEY not in "".join(tunnel.heads)


async def test_an_unknown_authority_is_not_trusted(tmp_path: Path) -> None:
    """Neither over a socket nor by HTTP."""
    context = new_authority(tmp_path).server_context("http/1.1")
    with sockets(says("Hello."), ssl=context) as server, pytest.raises(NetworkError):
        await opened(server)

    assert server.received == []


async def test_http2_does_not_get_into_the_way(tmp_path: Path) -> None:
    """Sockets speak HTTP/1.1, whatever is offered otherwise with the same certificates."""
    authority = new_authority(tmp_path)
    options = HttpOptions(http2=True, ssl_context=authority.client_context())
    with sockets(says("Hello."), ssl=authority.server_context("h2", "http/1.1")) as server:
        assert options.ssl_context is not None
        options.ssl_context.set_alpn_protocols(["h2", "http/1.1"])
        messages = await received(server, 1, options=options)

    assert json.loads(messages[0])["type"] == "response.created"


async def test_a_route_without_compression_offers_none() -> None:
    """The route's spec decides."""
    with sockets(lambda _asked, id_: answer(id_, message("Fine."))) as server:
        route = OpenAI.configure(api_key=KEY, base_url=server.url).responses_route
        plain = route.with_(transport=evolve(WebSocket(), compression=False))
        async with Client() as client:
            await client.complete(request(model=plain.model("m"), prompt="Hi"))

    assert "sec-websocket-extensions" not in server.handshakes[0]
