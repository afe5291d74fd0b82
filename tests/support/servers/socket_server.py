"""A real WebSocket server on loopback that speaks the events of Responses.

Like OpenAI's, it remembers one response a connection: a request that continues another is refused.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define, field, frozen
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

from tests.support.waiting import wait_until
from tests.support.wire.responses import events_of, message

Native = dict[str, Any]


@frozen
class Close:
    """Close the connection with this code."""

    code: int = 1000
    reason: str = ""


@frozen
class Cut:
    """Drop the connection without a word."""


@frozen
class Ping:
    """Ping the client, without waiting."""


@frozen
class Pieces:
    """Send a text message in several frames."""

    texts: tuple[str, ...]


@frozen
class Raw:
    """Send these bytes at once, whether they are frames or not."""

    data: bytes


@frozen
class Reset:
    """Reset the connection, so that the client can read what was sent, and write nothing."""


Action = Native | str | bytes | float | Close | Cut | Ping | Pieces | Raw | Reset
"""An event, bare text, a binary message, seconds to wait, an end, or the other frames."""

Answers = Callable[[Native, str], Iterable[Action]]
"""The actions for a request, given the id that its response is to have."""


def says(text: str) -> Answers:
    """Answer every request with *text*."""
    return lambda _asked, response_id: answer(response_id, message(text))


def answer(response_id: str, *output: Native, **fields: Any) -> list[Action]:
    """Return the events of a response with these items."""
    events: list[Action] = []
    for event in events_of(output, **fields):
        if "response" in event:
            event["response"] = {**event["response"], "id": response_id}
        events.append(event)
    return events


def error(code: str, status: int = 400, text: str = "No.") -> Native:
    """Return an error event."""
    return {"type": "error", "status": status, "error": {"code": code, "message": text}}


@define
class SocketServer:
    """The server's actions, and the requests that it received."""

    answers: Answers
    greeting: Iterable[Action] = ()
    """Actions before the first request of each connection."""
    port: int = 0
    secure: bool = False
    received: list[tuple[int, Native]] = field(factory=list)
    """Each request, with the number of its connection."""
    handshakes: list[dict[str, str]] = field(factory=list)
    closed: list[tuple[int, int | None]] = field(factory=list)
    """Each connection that ended, with the close code that the client sent."""
    pongs: list[threading.Event] = field(factory=list)
    """Each ping, set when it was answered."""
    most: int = 0
    """How many requests were being answered at once, at most."""
    acted: int = 0
    """How many requests were answered, but for closing the connection."""
    _running: int = 0
    _responses: int = 0
    _lock: threading.Lock = field(factory=threading.Lock)

    @property
    def url(self) -> str:
        """The base URL, as for HTTP."""
        return f"{'https' if self.secure else 'http'}://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[Native]:
        """The requests alone."""
        return [asked for _, asked in self.received]

    @property
    def connections(self) -> list[int]:
        """The number of the connection that each request came over."""
        return [number for number, _ in self.received]

    def wait_closed(self, count: int) -> None:
        """Wait until so many connections have ended."""
        wait_until(lambda: len(self.closed) >= count)

    def handle(self, connection: ServerConnection) -> None:
        """Serve one connection."""
        assert connection.request is not None
        with self._lock:
            number = len(self.handshakes)
            self.handshakes.append(dict(connection.request.headers.raw_items()))
        try:
            self._serve(connection, number)
        except (ConnectionClosed, OSError):
            pass
        finally:
            sent = connection.protocol.close_rcvd
            self.closed.append((number, None if sent is None else sent.code))

    def _serve(self, connection: ServerConnection, number: int) -> None:
        last: str | None = None
        self._act(connection, self.greeting)
        for text in connection:
            asked = json.loads(text)
            with self._lock:
                self.received.append((number, asked))
                self._responses += 1
                response_id = f"resp_{self._responses}"
                self._running += 1
                self.most = max(self.most, self._running)
            try:
                previous = asked.get("previous_response_id")
                if previous not in (None, last):
                    actions: Iterable[Action] = [error("previous_response_not_found")]
                else:
                    actions = self.answers(asked, response_id)
                last = self._act(connection, actions)
                self.acted += 1
            finally:
                with self._lock:
                    self._running -= 1

    def _act(self, connection: ServerConnection, actions: Iterable[Action]) -> str | None:
        remembered = None
        for action in actions:
            match action:
                case int() | float():
                    time.sleep(action)
                case Close(code, reason):
                    self.acted += 1
                    connection.close(code, reason)
                case Cut():
                    self.acted += 1
                    connection.socket.close()
                case Ping():
                    self.pongs.append(connection.ping())
                case Pieces(texts):
                    connection.send(iter(texts))
                case Raw(data):
                    connection.socket.sendall(data)
                case Reset():
                    lingering = struct.pack("ii", 1, 0)
                    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, lingering)
                    connection.socket.shutdown(socket.SHUT_RD)
                case str() | bytes():
                    connection.send(action)
                case _:
                    connection.send(json.dumps(action))
                    if action["type"] == "response.completed":
                        remembered = action["response"]["id"]
        return remembered


@contextmanager
def sockets(answers: Answers, **options: Any) -> Iterator[SocketServer]:
    """Run a server for the block; *options* are those of `websockets.sync.server.serve`."""
    kept = SocketServer(answers, secure="ssl" in options)
    with serve(kept.handle, "127.0.0.1", 0, **options) as server:
        kept.port = server.socket.getsockname()[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield kept
        finally:
            _stop(server)
            thread.join()


def _stop(server: Server) -> None:
    server.shutdown()
