"""WebSockets of clients that send floods of frames, or unfinished ones, on the real server."""

import json
import logging
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from socket import create_connection
from typing import Any
from urllib.parse import urlsplit

import pytest
from attrs import evolve
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.sync.client import ClientConnection, connect

from llmcore.bridge.configuration.settings import GatewaySettings, Limits
from llmcore.bridge.http.web_socket import GatewayWebSocket
from tests.support.servers.bridge_service import listening
from tests.support.servers.loopback import Loopback
from tests.support.waiting import wait_until

CREATE = json.dumps({"type": "response.create", "model": "m-1", "store": False, "input": "Hi"})

HANDSHAKE = (
    b"GET /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\n"
    b"connection: upgrade\r\nsec-websocket-version: 13\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def sent(opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> bytes:
    """Return a frame as a client sends it."""
    return Frame(opcode, data, fin).serialize(mask=True)


TEXT, PART, CLOSE = Opcode.TEXT, Opcode.CONT, sent(Opcode.CLOSE, struct.pack("!H", 1000))


@pytest.fixture
def socket(upstream: Loopback, settings: GatewaySettings) -> Iterator[ClientConnection]:
    """Connect to a gateway that waits a moment for a message."""
    with (
        listening(evolve(settings, limits=Limits(body_s=0.5))) as url,
        connect(f"{url.replace('http', 'ws', 1)}/responses", proxy=None) as opened,
    ):
        yield opened


def is_answered(socket: ClientConnection) -> bool:
    """Return whether the response to a request is complete, after whatever came before."""
    socket.send(CREATE)
    return any(json.loads(text)["type"] == "response.completed" for text in socket)


@pytest.mark.slow
def test_many_tiny_messages_are_read_in_steps_and_all_answered(
    socket: ClientConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step is short, so that other clients have their turns."""
    steps: list[int] = []
    receive_data = ServerProtocol.receive_data

    def counted(protocol: ServerProtocol, data: bytes) -> None:
        steps.append(len(data))
        receive_data(protocol, data)

    monkeypatch.setattr(ServerProtocol, "receive_data", counted)
    messages = [json.dumps({"type": "x", "stream_id": str(n)}).encode() for n in range(3000)]
    socket.socket.sendall(b"".join(sent(TEXT, message) for message in messages))
    ids = [json.loads(socket.recv(timeout=20))["stream_id"] for _ in messages]

    assert ids == [str(number) for number in range(3000)]
    assert max(steps) <= 16 * 1024
    assert is_answered(socket)


def test_the_time_that_the_gateway_takes_to_read_is_not_the_clients(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All messages have arrived, though the last ones are read after the limit of one."""
    make: Any = GatewayWebSocket.__init__

    def impatient(served: GatewayWebSocket, _body_s: float, **more: Any) -> None:
        make(served, 0.02, **more)

    monkeypatch.setattr(GatewayWebSocket, "__init__", impatient)
    message = sent(TEXT, json.dumps({"type": "x", "pad": "x" * 100}).encode())
    with (
        listening(settings) as url,
        connect(f"{url.replace('http', 'ws', 1)}/responses", proxy=None) as opened,
    ):
        opened.socket.sendall(message * 1000)
        answers = [json.loads(opened.recv(timeout=20)) for _ in range(1000)]

    assert {answer["type"] for answer in answers} == {"error"}


@pytest.mark.slow
def test_pongs_do_not_pile_up_for_a_client_that_does_not_read(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are left out."""
    waiting: list[int] = []
    handle_ping = GatewayWebSocket.handle_ping

    def watched(connection: GatewayWebSocket) -> None:
        handle_ping(connection)
        waiting.append(connection.transport.get_write_buffer_size())

    monkeypatch.setattr(GatewayWebSocket, "handle_ping", watched)
    with listening(settings) as url, create_connection(("127.0.0.1", urlsplit(url).port)) as raw:
        raw.sendall(HANDSHAKE)
        assert raw.recv(4096).startswith(b"HTTP/1.1 101")
        raw.sendall(sent(Opcode.PING, b"x" * 125) * 80_000)
        wait_until(lambda: len(waiting) == 80_000, 30)

    assert max(waiting) < 200_000


@pytest.mark.parametrize("end", [b"", sent(TEXT, b"\xff"), CLOSE], ids=["", "again", "close"])
def test_a_message_that_is_not_utf_8_closes_the_socket_without_a_traceback(
    end: bytes, socket: ClientConnection, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever comes with it."""
    caplog.set_level(logging.WARNING)
    socket.socket.sendall(sent(TEXT, b"\xff") + end)
    with pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=10)

    if end != CLOSE:  # which has closed it already
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (
            1007,
            "the message is not UTF-8",
        )
    assert caplog.records == []


def test_a_client_that_is_still_sending_reads_why_the_socket_is_closed(
    settings: GatewaySettings,
) -> None:
    """It sends all of its message first, more than any buffer holds."""
    limited = evolve(settings, limits=Limits(max_body_bytes=10_000))
    with listening(limited) as url, create_connection(("127.0.0.1", urlsplit(url).port)) as raw:
        raw.settimeout(30)
        raw.sendall(HANDSHAKE)
        assert raw.recv(4096).startswith(b"HTTP/1.1 101")
        raw.sendall(sent(TEXT, b"x" * 20_000_000))
        received = b"".join(iter(lambda: raw.recv(4096), b""))

    assert received[0] == 0x88
    assert received[2:4] == struct.pack("!H", 1009)


@pytest.mark.parametrize(
    "begun",
    [
        sent(TEXT, CREATE.encode())[:-1],
        sent(TEXT, CREATE.encode(), fin=False),
        sent(TEXT, CREATE.encode(), fin=False) + sent(PART, fin=False) * 10_000,
        b"\x81",
    ],
    ids=["frame", "fragment", "empty fragments", "head of a frame"],
)
def test_a_message_that_does_not_arrive_closes_the_socket(
    begun: bytes, socket: ClientConnection
) -> None:
    """Its client would hold memory for as long as it likes."""
    assert is_answered(socket)
    socket.socket.sendall(begun)
    with pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=10)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008


def test_unfinished_messages_count_in_the_memory_of_their_caller(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """Over all its connections; what a closed one held is free again."""
    most = 8 * 50_000
    limited = evolve(settings, limits=Limits(max_body_bytes=50_000, body_s=30.0))
    with listening(limited) as url, ExitStack() as opened:
        address = f"{url.replace('http', 'ws', 1)}/responses"
        sockets = [opened.enter_context(connect(address, proxy=None)) for _ in range(10)]
        assert is_answered(sockets[0])
        for one in sockets:
            one.socket.sendall(sent(TEXT, b"x" * 49_000, fin=False))
        refused = len(sockets) - most // 49_000
        wait_until(lambda: sum(map(is_closed, sockets)) >= refused)
        codes = [closing_code(one) for one in sockets]
        for one in sockets:
            one.socket.close()
        again = opened.enter_context(connect(address, proxy=None))
        wait_until(lambda: is_answered(again))

    assert codes.count(1013) == refused
    assert codes.count(None) == most // 49_000


def is_closed(socket: ClientConnection) -> bool:
    return socket.protocol.state is not State.OPEN


def closing_code(socket: ClientConnection) -> int | None:
    """Return the code by which the gateway has closed a connection; None if it has not."""
    try:
        socket.recv(timeout=0.1)
    except TimeoutError:
        return None
    except ConnectionClosed as closed:
        return None if closed.rcvd is None else closed.rcvd.code
    raise AssertionError("a message")


def test_a_large_message_may_take_longer(socket: ClientConnection) -> None:
    """A second for each 8 KiB of it; the time between messages does not count."""
    large = {**json.loads(CREATE), "input": "x" * 40_000}
    frame = sent(TEXT, json.dumps(large).encode())
    socket.socket.sendall(frame[:30_000])
    time.sleep(0.8)
    socket.socket.sendall(frame[30_000:])
    assert json.loads(socket.recv(timeout=10))["type"] == "response.created"
    assert any(json.loads(text)["type"] == "response.completed" for text in socket)
    time.sleep(0.8)
    assert is_answered(socket)
