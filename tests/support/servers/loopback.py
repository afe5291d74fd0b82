"""A real HTTP server on loopback whose responses are scripts, and which notices who leaves."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from attrs import define, field

from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.schema.model import Model

Script = Iterable[bytes | float]
"""Bytes to send, and seconds to wait between them."""


@define
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body)


@define
class Answer:
    """A response: status, headers, and the body as a script."""

    script: Script
    status: int = 200
    headers: dict[str, str] = field(factory=dict)
    length: int | None = None
    """Content-Length to declare; without it the body is chunked."""
    cut: bool = False
    """Whether to drop the connection instead of ending the body."""


Handler = Callable[[Received], Answer]


class Loopback:
    """Serves on 127.0.0.1 in threads; keeps what it received and counts broken connections.

    `closed` counts those that it has closed, or whose client has.
    """

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.received: list[Received] = []
        self.disconnects: list[float] = []
        self.connections = 0
        self.closed = 0
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._closing = False
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self._closing = True
        stop_accepting(self._socket, self._accepting)

    def _accept(self) -> None:
        while not self._closing:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            if self._closing:
                connection.close()
                return
            # Else what follows the head waits 40 ms for the client's delayed acknowledgement.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            self._serve_requests(connection)
        self.closed += 1

    def _serve_requests(self, connection: socket.socket) -> None:
        buffer = b""
        while True:
            request, buffer = _read_request(connection, buffer)
            if request is None:
                return
            self.received.append(request)
            if not self._answer(connection, self.handler(request)):
                return

    def _answer(self, connection: socket.socket, answer: Answer) -> bool:
        headers = dict(answer.headers)
        if answer.length is not None:
            headers["content-length"] = str(answer.length)
        else:
            headers["transfer-encoding"] = "chunked"
        head = [f"HTTP/1.1 {answer.status} X", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
        try:
            connection.sendall("\r\n".join(head).encode())
            for item in answer.script:
                if isinstance(item, int | float):
                    if _gone_within(connection, item):
                        self.disconnects.append(time.monotonic())
                        return False
                elif answer.length is not None:
                    connection.sendall(item)
                elif item:
                    connection.sendall(b"%x\r\n%b\r\n" % (len(item), item))
            if answer.cut:
                return False
            if answer.length is None:
                connection.sendall(b"0\r\n\r\n")
        except OSError:
            self.disconnects.append(time.monotonic())
            return False
        return True


def stop_accepting(listener: socket.socket, accepting: threading.Thread) -> None:
    """Close *listener* once the thread that accepts its connections has ended.

    A thread that is about to call accept while the listener is closed calls it with a number that
    may be the next server's by then, and takes a connection of that.
    """
    if listener.fileno() < 0:  # closed before
        return
    address = listener.getsockname()
    try:
        listener.shutdown(socket.SHUT_RDWR)  # on Linux, what waits for a connection fails
    except OSError:  # elsewhere it goes on, and is sent one
        with suppress(OSError):
            socket.create_connection(address, timeout=1).close()
    accepting.join(20)
    listener.close()


def held(release: threading.Event, script: Script) -> Script:
    """Return *script*, which begins once *release* is set."""
    assert release.wait(20)
    yield from script


def _gone_within(connection: socket.socket, seconds: float) -> bool:
    """Wait *seconds*; return early, and True, if the client closed the connection."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        connection.settimeout(min(left, 0.05))
        try:
            if connection.recv(1, socket.MSG_PEEK) == b"":
                return True
            time.sleep(min(left, 0.02))
        except TimeoutError:
            continue
        except OSError:
            return True
        finally:
            connection.settimeout(None)
    return False


def _read_request(connection: socket.socket, buffer: bytes) -> tuple[Received | None, bytes]:
    try:
        while b"\r\n\r\n" not in buffer:
            data = connection.recv(65536)
            if not data:
                return None, b""
            buffer += data
        head, _, rest = buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", "0"))
        while len(rest) < size:
            data = connection.recv(65536)
            if not data:
                return None, b""
            rest += data
        return Received(method, path, headers, rest[:size]), rest[size:]
    except OSError:
        return None, b""


@contextmanager
def serve(handler: Handler) -> Iterator[Loopback]:
    """Run a server for the block."""
    server = Loopback(handler)
    try:
        yield server
    finally:
        server.close()


# -- Chat Completions, as scripts


def chat_chunk(**choice: object) -> bytes:
    """Return one streamed chunk with a single choice."""
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m-1",
        "choices": [{"index": 0, "delta": {}, "finish_reason": None, **choice}],
    }
    return sse(chunk)


def sse(value: object) -> bytes:
    """Return *value* as one event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def chat_stream(texts: Sequence[str] = ("Hel", "lo"), *, pause: float = 0) -> list[bytes | float]:
    """Return the script of a streamed text answer."""
    script: list[bytes | float] = []
    for text in texts:
        script.append(chat_chunk(delta={"content": text}))
        if pause:
            script.append(pause)
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    last = {"id": "chatcmpl-1", "model": "m-1", "choices": [], "usage": usage}
    return [*script, chat_chunk(finish_reason="stop"), sse(last), DONE]


def chat_whole(text: str = "Hello") -> bytes:
    """Return the body of a text answer that is not streamed."""
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m-1",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        }
    ).encode()


def chat_handler(received: Received) -> Answer:
    """Answer any Chat request, streamed or whole as asked, and 404 to what has no body.

    A port is soon given to the next server, and a late request to its former one is not the test's.
    """
    if not received.body:
        return Answer([b""], 404, length=0)
    body = json.loads(received.body)
    if body.get("stream"):
        return Answer(chat_stream(), headers={"content-type": "text/event-stream"})
    data = chat_whole()
    return Answer([data], headers={"content-type": "application/json"}, length=len(data))


def model_at(url: str, **settings: Any) -> Model:
    """Return the model `m` of a Chat server at *url*, configured with *settings* and a key."""
    key = settings.pop("api_key", "sk-secret-key")
    return OpenAICompatible.configure(name="loop", base_url=url, api_key=key, **settings).model("m")
