"""The gateway's connections: uvicorn's over httptools, with limits that it does not have.

uvicorn waits without a limit for the head of a request, and httptools holds a head or a trailer of
any size. A few thousand connections that never finish their heads, or one whose head never ends,
would take all that a process can have.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any, ClassVar, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from llmcore.bridge.http.asgi import BODY_IS_THERE
from llmcore.bridge.http.client_connection import SCOPE_KEY, ClientConnection

_FRAMING_BYTES: Final = 20
"""The framing of one chunk of a body: up to sixteen hexadecimal digits and two line ends.
Extensions of chunks count as headers."""
_ON_ITS_WAY_S: Final = 0.3
"""How long idle connections are read when the gateway stops."""
_CHUNKED: Final = b"transfer-encoding: chunked\r\n"


class _Connection(HttpToolsProtocol):
    head_s: ClassVar[float]
    max_header_bytes: ClassVar[int]
    _late: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    """Bytes of the request that are neither its body nor the framing of that."""
    _is_draining = False
    _ignores_upgrade = False
    """Whether the request that is being read asks for a protocol that is not spoken here."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._client = ClientConnection()
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self.parser is None:  # the connection is lost
            return
        self._head_bytes += len(data)
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self._unwatch()
                self.handle_websocket_upgrade()
                return
        except httptools.HttpParserCallbackError as error:  # its own text has no reason
            self._refuse(400, f"the target of the request is not a path: {error.__context__}")
        except httptools.HttpParserError as error:
            self._refuse(400, str(error))
        if self._head_bytes > self.max_header_bytes:
            self._refuse(431, f"the headers are larger than {self.max_header_bytes} bytes")
        self._watch()

    def _parse(self, data: bytes) -> None:
        """Read *data*; HttpParserUpgrade for a connection that is to speak another protocol.

        A server may ignore that a client asks for one (RFC 9110, 7.8), as Java's does for HTTP/2 in
        every request. httptools then takes the body for the other protocol, and it is read again.
        """
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                if not self._ignores_upgrade:
                    raise
                data = self._head() + data[upgrade.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
            else:
                return

    def _head(self) -> bytes:
        """Return the head of the request that is being read, without what it asks to upgrade to."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        kept = ((name, value) for name, value in self.headers if name != b"upgrade")
        fields = b"".join(b"%b: %b\r\n" % field for field in kept)
        return b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, fields)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self.scope[SCOPE_KEY] = self._client  # type: ignore[typeddict-unknown-key]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a field of the head; leave those of a trailer out, which no proxy has checked.

        RFC 9110, 6.5.1: only recipients that know a field may take it from a trailer for a header.
        """
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        upgraded = self.parser.should_upgrade() and not self._should_upgrade()
        self._ignores_upgrade = upgraded and any(name == b"upgrade" for name, _ in self.headers)
        if self._ignores_upgrade:
            return
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before and self.cycle is not None:
            self.cycle.keep_alive = self.cycle.keep_alive and not self._is_draining
            is_old = self.scope["http_version"] == "1.0"
            kind = UnchunkedTransport if is_old else CoalescingTransport
            self.cycle.transport = kind(self.transport, self.loop)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        self._head_bytes -= len(body)
        super().on_body(body)

    def on_chunk_header(self) -> None:
        """Leave the framing of a chunk out of the count; httptools calls this for each."""
        self._head_bytes -= _FRAMING_BYTES

    def on_message_complete(self) -> None:
        if self._ignores_upgrade:
            return
        self._head_bytes = 0
        self.scope[BODY_IS_THERE] = True  # type: ignore[typeddict-unknown-key]
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_head:
            self._watch()

    def shutdown(self) -> None:
        """Close the connection once nothing is under way on it, which its last response announces.

        A request of a client that keeps its connection may be there already, without having been
        read. It would be lost, so that an idle connection is closed a moment later.
        """
        self._is_draining = True
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(_ON_ITS_WAY_S, super().shutdown)
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch()
        self._client.lost()

    def _watch(self) -> None:
        """Start the time limit while no request is being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._unwatch()
        elif self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(self.head_s, self.transport.close)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _refuse(self, status: int, reason: str) -> None:
        """Close the connection, with an error unless a response is on its way."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(refusal(status, reason))
        self.transport.close()


class CoalescingTransport:
    """The transport of one response, which writes the head together with the first of the body.

    uvicorn writes them one after the other, which is two packets, and wakes the client twice. A
    head that no body follows at once is written in the loop's next turn.
    """

    __slots__ = ("_head", "_is_begun", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""
        self._is_begun = False

    def write(self, data: bytes) -> None:
        """Write *data*; the first of a response is its head."""
        if not self._is_begun:
            self._is_begun = True
            self._head = data
            self._loop.call_soon(self._flush)
            return
        head, self._head = self._head, b""
        self._transport.write(head + data if head else data)

    def close(self) -> None:
        """Close the connection once everything is written."""
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the connection is closing or closed."""
        return self._transport.is_closing()

    def _flush(self) -> None:
        head, self._head = self._head, b""
        if head:
            self._transport.write(head)


class UnchunkedTransport(CoalescingTransport):
    """The transport of a response to an HTTP/1.0 client, which ends with its connection.

    Such clients do not know the chunked coding (RFC 9112, 6.1), which uvicorn uses for all. Each of
    its writes holds whole chunks.
    """

    __slots__ = ("_is_chunked",)

    def write(self, data: bytes) -> None:
        """Write *data* without the framing of its chunks."""
        if not self._is_begun:
            head = data.replace(_CHUNKED, b"", 1)
            self._is_chunked = head != data
            super().write(head)
        else:
            super().write(_unframed(data) if self._is_chunked else data)


def _unframed(chunks: bytes) -> bytes:
    body = bytearray()
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        length = int(size, 16)
        body += rest[:length]
        chunks = rest[length + 2 :]
    return bytes(body)


def web_sockets(body_s: float) -> Callable[..., asyncio.Protocol]:
    """Return a function with which uvicorn makes the protocol of a WebSocket's connection.

    A message that takes more than *body_s* seconds to arrive closes it. What it needs is imported
    with the first one: most clients open none.
    """

    def web_socket(**settings: Any) -> asyncio.Protocol:
        from llmcore.bridge.http.web_socket import GatewayWebSocket

        return GatewayWebSocket(body_s, **settings)

    return web_socket


def refusal(status: int, reason: str) -> bytes:
    """Return the response to what is not a request, in the form of OpenAI's errors."""
    framing = "Content-Length" in reason or "Transfer-Encoding" in reason
    code = (
        "headers_too_large" if status == 431 else "invalid_framing" if framing else "invalid_http"
    )
    error = {"message": reason, "type": "invalid_request_error", "param": None, "code": code}
    body = json.dumps({"error": error}).encode()
    head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    return STATUS_LINE[status] + head % len(body) + body


def limited_connections(head_s: float, max_header_bytes: int) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with limits on the heads of requests.

    A connection is closed whose next head takes more than *head_s* seconds, from the connection's
    begin or the first byte after a response. One whose headers and trailers are larger than
    *max_header_bytes* gets a 431.
    """
    limits = {"head_s": head_s, "max_header_bytes": max_header_bytes}
    return type("LimitedConnection", (_Connection,), limits)
