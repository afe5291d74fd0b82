"""The end of the server: connections that the kernel has accepted are answered."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn

from llmcore.bridge.http.asgi import Receive, Scope, Send
from llmcore.bridge.http.draining import DrainingServer
from llmcore.bridge.http.server import listening

REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
_BUSY_S = 0.5
"""Longer than the time between two looks at whether the server is to end."""


class Busy:
    """An application whose first request keeps the event loop busy while the server is ended."""

    def __init__(self) -> None:
        self.server: uvicorn.Server | None = None
        self.is_busy = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/busy" and self.server is not None:
            self.server.should_exit = True
            self.is_busy.set()
            time.sleep(_BUSY_S)  # noqa: ASYNC251  (it is to block the event loop)
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def running(app: Busy, loop: str) -> Iterator[int]:
    """Serve *app* in a thread until it has ended, on the event loop *loop*; yield its port."""
    config = uvicorn.Config(app, lifespan="off", log_config=None, loop=loop)
    app.server = server = DrainingServer(config)
    with listening("127.0.0.1", 0, send_s=60) as listener:
        port: int = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join(10)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("sends_first", [True, False], ids=["sent", "on_its_way"])
def test_queued_connections_are_answered_at_the_end(loop: str, sends_first: bool) -> None:
    """Their requests have come, or are still on their way, when the server stops listening."""
    pytest.importorskip("uvloop") if loop == "uvloop" else None
    app = Busy()
    with running(app, loop) as port:

        def connected(request: bytes) -> socket.socket:
            client = socket.create_connection(("127.0.0.1", port), timeout=10)
            client.sendall(request)
            return client

        busy = connected(REQUEST.replace(b"/", b"/busy", 1))
        assert app.is_busy.wait(10)
        queued = [connected(REQUEST if sends_first else REQUEST[:20]) for _ in range(20)]
        if not sends_first:
            time.sleep(_BUSY_S)
            for client in queued:
                client.sendall(REQUEST[20:])
        answers = [_read(client) for client in (busy, *queued)]

    assert [answer[:15] for answer in answers] == [b"HTTP/1.1 200 OK"] * 21


def _read(client: socket.socket) -> bytes:
    with client:
        return b"".join(iter(lambda: client.recv(4096), b""))
