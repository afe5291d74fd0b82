"""The end of the server: connections that the kernel has accepted are answered."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from llmcore.bridge.http import draining
from llmcore.bridge.http.asgi import Receive, Scope, Send
from llmcore.bridge.http.draining import DrainingServer
from llmcore.bridge.http.server import listening
from llmcore.schema.errors import ConfigurationError
from tests.support.waiting import PATIENCE_S

REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


class Busy:
    """An application whose first request keeps the event loop busy while the server is ended."""

    def __init__(self) -> None:
        self.server: uvicorn.Server | None = None
        self.is_busy, self.may_go_on = threading.Event(), threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/busy" and self.server is not None:
            self.server.should_exit = True
            self.is_busy.set()
            self.may_go_on.wait(PATIENCE_S)  # blocks the event loop
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


class SleepsUntil:
    """asyncio, but for sleeps, of which the first has `begun`, that also wait for *event*."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event
        self.begun = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, delay: float) -> None:
        self.begun.set()
        while not self._event.is_set():  # noqa: ASYNC110  (another thread's event)
            await asyncio.sleep(0.01)
        await asyncio.sleep(delay)


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
            thread.join(PATIENCE_S)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("sends_first", [True, False], ids=["sent", "on_its_way"])
def test_queued_connections_are_answered_at_the_end(
    loop: str, sends_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their requests have come, or are still on their way, when the server stops listening."""
    pytest.importorskip("uvloop") if loop == "uvloop" else None
    app, all_sent = Busy(), threading.Event()
    loops = SleepsUntil(all_sent)
    monkeypatch.setattr(draining, "asyncio", loops)
    with running(app, loop) as port:

        def connected(request: bytes) -> socket.socket:
            client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
            client.sendall(request)
            return client

        busy = connected(REQUEST.replace(b"/", b"/busy", 1))
        assert app.is_busy.wait(PATIENCE_S)
        queued = [connected(REQUEST if sends_first else REQUEST[:20]) for _ in range(20)]
        app.may_go_on.set()
        if not sends_first:
            assert loops.begun.wait(PATIENCE_S)  # it does not listen any more
            for client in queued:
                client.sendall(REQUEST[20:])
        all_sent.set()
        answers = [_read(client) for client in (busy, *queued)]

    assert [answer[:15] for answer in answers] == [b"HTTP/1.1 200 OK"] * 21


def _read(client: socket.socket) -> bytes:
    with client:
        return b"".join(iter(lambda: client.recv(4096), b""))


@pytest.mark.parametrize(
    ("host", "remedy"),
    [("127.0.0.1", "set another --port"), ("192.0.2.1", "--host to an address of this machine")],
)
def test_address_that_cannot_be_listened_on_is_an_error_that_says_what_to_set(
    host: str, remedy: str
) -> None:
    with listening("127.0.0.1", 0, 60) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"cannot listen on {host}:{port}: .*{remedy}"):
            listening(host, port, 60)
