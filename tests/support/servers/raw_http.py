"""An HTTP server on loopback that sends any bytes, also invalid ones."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.support.servers.loopback import chat_whole, stop_accepting

RESET: Final = "reset"
"""Ends the connection as a network that fails does: the client is sent a reset."""
Piece = bytes | float | str
"""Bytes to send, seconds to wait, or `RESET`."""


def head(*fields: str, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """Return the head of a response whose content is *kind*, with further *fields*."""
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", *fields, "", ""]
    return "\r\n".join(lines).encode()


def chunk(data: bytes) -> bytes:
    """Return *data* as one chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def response(text: str, *, chunked: bool = False) -> bytes:
    """Return a whole HTTP response that says *text*."""
    body = chat_whole(text)
    if chunked:
        return head("transfer-encoding: chunked") + chunk(body) + b"0\r\n\r\n"
    return head(f"content-length: {len(body)}") + body


class Raw:
    """Answers each request with bytes of its choice; remembers which connection it came over."""

    def __init__(self, first: list[Piece], context: ssl.SSLContext | None) -> None:
        self.first = first
        """The response to the first request of the first connection."""
        self.first_is_sent = threading.Event()
        self.requests: list[int] = []
        self.context = context
        self.connections: list[socket.socket] = []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._closing = False
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        self._closing = True
        stop_accepting(self.socket, self._accepting)

    @property
    def url(self) -> str:
        scheme = "http" if self.context is None else "https"
        return f"{scheme}://127.0.0.1:{self.socket.getsockname()[1]}"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            if self._closing:
                connection.close()
                return
            self.connections.append(connection)
            number = len(self.connections)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            if self.context is not None:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection:
                while self._read(connection):
                    self.requests.append(number)
                    if len(self.requests) == 1:
                        for piece in self.first:
                            self._send(connection, piece)
                        self.first_is_sent.set()
                    else:
                        connection.sendall(response("second"))
        except OSError:
            return

    @staticmethod
    def _send(connection: socket.socket, piece: Piece) -> None:
        if isinstance(piece, bytes):
            connection.sendall(piece)
        elif isinstance(piece, str):
            at_once = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            connection.close()
        else:
            threading.Event().wait(piece)

    @staticmethod
    def _read(connection: socket.socket) -> bool:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return False
            data += piece
        fields, _, body = data.partition(b"\r\n\r\n")
        lines = [line.partition(b":") for line in fields.lower().split(b"\r\n")]
        length = next(int(value) for name, _, value in lines if name == b"content-length")
        while len(body) < length:
            body += connection.recv(65536)
        return True


@contextmanager
def raw(*first: Piece, context: ssl.SSLContext | None = None) -> Iterator[Raw]:
    """Run a server for the block, which answers its first request with the pieces *first*."""
    server = Raw(list(first), context)
    try:
        yield server
    finally:
        server.close()
