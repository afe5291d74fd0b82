"""Responses over WebSockets: each request of a conversation sends only its new items.

A message of the server is returned as one server-sent event, so framing, protocol and fold are
those of HTTP. If no socket can be opened, the request is sent over HTTP, with a Diagnostic. After
the server may have begun to answer, nothing is sent again.
"""

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import MappingProxyType

from attrs import evolve

from llmcore.client.pool import PerLoop
from llmcore.client.transport import Exchange, OpensSockets, Transport, WrappedExchange
from llmcore.client.websocket.pool import PooledSocket, SocketPool
from llmcore.protocols.openai_responses.continuation import (
    RemoteHistory,
    SocketRequest,
    error_code,
    terminal_event,
)
from llmcore.protocols.openai_responses.names import PREVIOUS_NOT_FOUND, SOCKET_TOO_OLD
from llmcore.routes.http_request import HttpRequest, redact
from llmcore.routes.transport_spec import Timeouts, WebSocket
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError, NetworkError, RequestTimeoutError, StreamError

_BODYS_OWN = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type"}
)
"""Headers that describe the body of a request, or its connection; a handshake has neither."""
_HEADERS: Mapping[str, str] = MappingProxyType({"content-type": "text/event-stream"})
_TOO_BIG = "1009"
"""The close code for a message that is too big for the server."""


class WebSocketTransport:
    """Sends `POST /responses` over persistent sockets, other requests over *http*.

    `clock` returns seconds, for the age of sockets.
    """

    def __init__(
        self,
        spec: WebSocket,
        *,
        http: Transport,
        opener: OpensSockets,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._http = http
        self._pools: PerLoop[SocketPool] = PerLoop(
            lambda: SocketPool(opener, spec, clock), SocketPool.aclose
        )

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> Exchange:
        """Send *request* and wait for the first message of the response.

        Raises NetworkError if the socket breaks before it.
        """
        body = json.loads(request.body) if request.method == "POST" else None
        if not isinstance(body, dict):  # such as the GET that resumes a background response
            return await self._http.send(request, timeouts)
        if body.get("background"):
            why = "background responses are not supported over WebSockets"
            return await self._by_http(request, timeouts, why)
        socket_request = SocketRequest.of(body)
        try:
            return await self._by_socket(handshake_of(request), socket_request, timeouts)
        except _NotBegunError as refusal:
            if not socket_request.generates:  # HTTP has no such request
                raise refusal.reason from refusal.reason.__cause__
            why = redact(refusal.reason.message, request.secrets)
            return await self._by_http(request, timeouts, why)

    async def aclose(self) -> None:
        """Close this event loop's sockets."""
        await self._pools.aclose()

    async def _by_socket(
        self, handshake: HttpRequest, socket_request: SocketRequest, timeouts: Timeouts
    ) -> "WebSocketExchange":
        pool = await self._pools.get()
        exchange = await self._begun(pool, handshake, socket_request, timeouts)
        if exchange.refused_by(SOCKET_TOO_OLD):  # it was opened earlier than this clock shows
            await exchange.aclose()
            exchange = await self._begun(pool, handshake, socket_request, timeouts, new=True)
        return exchange

    async def _begun(
        self,
        pool: SocketPool,
        handshake: HttpRequest,
        socket_request: SocketRequest,
        timeouts: Timeouts,
        *,
        new: bool = False,
    ) -> "WebSocketExchange":
        try:
            taken = await pool.take(handshake, socket_request, timeouts, new=new)
        except (NetworkError, RequestTimeoutError) as error:
            raise _NotBegunError(error) from error
        exchange = WebSocketExchange(pool, taken, socket_request)
        try:
            await exchange.begin()
        except NetworkError as error:
            await exchange.aclose()
            if error.error_code == _TOO_BIG:
                raise _NotBegunError(error) from error
            raise
        except BaseException:
            await exchange.aclose()
            raise
        return exchange

    async def _by_http(
        self, request: HttpRequest, timeouts: Timeouts, why: str
    ) -> "FallbackExchange":
        note = Diagnostic(
            "websocket-fallback", "model", action="changed", message=f"sent over HTTP: {why}"
        )
        return FallbackExchange(await self._http.send(request, timeouts), note)


class WebSocketExchange:
    """A response over a socket, in the form of server-sent events."""

    status = 200
    headers = _HEADERS

    def __init__(
        self, pool: SocketPool, taken: PooledSocket, socket_request: SocketRequest
    ) -> None:
        self._pool = pool
        self._taken = taken
        self._request = socket_request
        self._first: Sequence[bytes] = ()
        self._ended = False
        self._reusable = False
        self._cut: StreamError | None = None
        self._closed = False
        self._history: RemoteHistory | None = None

    async def begin(self) -> None:
        """Send the request and wait for the first messages.

        If the server has lost the response to continue, the complete conversation is sent.
        """
        history, self._taken.history = self._taken.history, None
        if history is None or not self._request.continues(history):
            await self._send(self._request.complete())
            return
        await self._send(self._request.continuation(history))
        if self.refused_by(PREVIOUS_NOT_FOUND):
            await self._send(self._request.complete())

    def refused_by(self, code: str) -> bool:
        """Return whether the response is only an error with *code*."""
        return error_code(terminal_event(self._first[0])) == code

    def limit_reads(self, _seconds: float | None) -> bool:
        """Return False: the caller limits reads, since a socket is read for several responses."""
        return False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Iterate over the response. StreamError if the socket closes before it is complete."""
        messages = self._first
        try:
            while True:
                chunk = self._as_server_sent_events(messages)
                if chunk:
                    yield chunk
                if self._cut is not None:
                    raise self._cut
                if self._ended:
                    return
                messages = await self._received()
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Release the socket if the response is complete; else close it. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._reusable:
            self._pool.release(self._taken, self._history)
            return
        await self._pool.discard(self._taken)

    async def _send(self, message: bytes) -> None:
        await self._taken.socket.send(message)
        self._first = await self._taken.socket.receive()

    async def _received(self) -> Sequence[bytes]:
        try:
            return await self._taken.socket.receive()
        except NetworkError as error:
            message = f"{error.message} before the response was complete"
            raise StreamError(message, error_code=error.error_code, cause=error) from error

    def _as_server_sent_events(self, messages: Sequence[bytes]) -> bytes:
        """Return *messages* as server-sent events, up to the one that ends the response."""
        events = []
        for number, message in enumerate(messages, 1):
            event = terminal_event(message)
            if error_code(event) == SOCKET_TOO_OLD:
                self._cut = StreamError(
                    "the WebSocket reached its maximum age in the middle of the response"
                )
                break
            events.append(b"data: " + message.translate(_ONE_LINE) + b"\n\n")
            if event is not None:
                self._ended = True
                self._reusable = not any(map(terminal_event, messages[number:]))
                self._history = self._request.history_after(event)
                break
        return b"".join(events)


_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")
"""Replaces line ends in JSON by spaces: an event's data would end at them."""


class FallbackExchange(WrappedExchange):
    """A response over HTTP, with the Diagnostic that states why."""

    def __init__(self, inner: Exchange, why: Diagnostic) -> None:
        super().__init__(inner)
        self.diagnostics = (why, *self.diagnostics)


class _NotBegunError(Exception):
    """The server has not begun to answer, so the request can be sent in another way."""

    def __init__(self, reason: LLMError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def handshake_of(request: HttpRequest) -> HttpRequest:
    """Return the request that opens a socket for *request*, with the same credentials."""
    kept = {name: value for name, value in request.headers.items() if name not in _BODYS_OWN}
    scheme, _, rest = request.url.partition("://")
    url = f"{scheme.replace('http', 'ws')}://{rest}"
    return evolve(request, method="GET", url=url, headers=kept, body=b"")
