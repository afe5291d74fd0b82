"""One WebSocket (RFC 6455): the frames come from `websockets`, the connection from httpx.

`websockets` is used without its I/O, so that sockets run on asyncio and trio alike. The handshake
is an HTTP request like any other, with the same proxies and certificates.
"""

import contextlib
import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
from attrs import define, evolve, field

from llmcore.client.http.errors import detail, translate
from llmcore.client.http.options import HttpOptions
from llmcore.client.loop_task import LoopTask
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts, WebSocket
from llmcore.schema.errors import (
    LLMError,
    NetworkError,
    RequestTimeoutError,
    StreamError,
    missing_extra,
)

if TYPE_CHECKING:
    import httpcore
    from websockets.client import ClientProtocol

    from llmcore.client.http.httpx_engine import HttpxEngine

_READ_BYTES = 65536
_CLOSING_S = 1.0
"""The time limit for writing the close frame."""
_MOST_IDLE = 100
"""The most messages that are read while the socket is idle."""
_MOST_IDLE_BYTES = 1024 * 1024
"""The length of these messages after which no more are read."""
_MOST_IDLE_READS = 1000
"""The most reads of an idle socket, such as of pings; one that needs more is not used again."""
_GLANCE_S = 0.001
"""How long to read messages that arrived while the socket was idle; they are available at once."""


class WebSocketDialer:
    """Opens WebSockets with the same proxies and certificates as HTTP."""

    def __init__(self, options: HttpOptions | None = None) -> None:
        self._options = options or HttpOptions()

    async def open_socket(
        self, request: HttpRequest, timeouts: Timeouts, spec: WebSocket
    ) -> "WebSocketConnection":
        """Open a socket; ConfigurationError if the extra is not installed."""
        from llmcore.client.http.httpx_engine import HttpxEngine  # loads httpx

        core = _core(request, spec)
        engine = HttpxEngine(tls=self._options.tls_context)
        try:
            with anyio.fail_after(timeouts.connect):
                proxy = self._options.proxy_for(_http_url(request))
                stream = await _upgrade(engine, proxy, request, core, timeouts)
        except TimeoutError as error:
            await _abandon(engine)
            message = f"{_origin(request)} did not open a WebSocket in time"
            raise RequestTimeoutError(message, error_code="connect", cause=error) from error
        except BaseException as error:
            await _abandon(engine)
            raise _opening_error(error, request) from error
        return WebSocketConnection(core, stream, engine, _origin(request))


@define(eq=False, repr=False)
class WebSocketConnection:
    """An open WebSocket: text messages in both directions, pings answered."""

    _core: "ClientProtocol"
    _stream: "httpcore.AsyncNetworkStream"
    _engine: "HttpxEngine"
    _origin: str
    _begun: bytearray | None = field(default=None, init=False)
    """The message that has begun and is not complete."""
    _failure: str = field(default="", init=False)
    """The fault after which nothing is read; the messages before it are returned first."""
    _writing: bool = field(default=False, init=False)
    _closed: bool = field(default=False, init=False)
    _attendant: LoopTask | None = field(default=None, init=False)
    _broken: bool = field(default=False, init=False)
    _idle_messages: list[bytes] = field(factory=list, init=False)
    """The messages that arrived while the socket was idle."""
    _idle_reads: int = field(default=0, init=False)

    async def send(self, message: bytes) -> None:
        """Send one text message."""
        try:
            self._core.send_text(message)
            await self._flush()
        except Exception as error:
            raise self._translated(error) from error

    async def receive(self) -> Sequence[bytes]:
        """Return the text messages that have arrived, at least one."""
        while True:
            messages = await self._read()
            if messages:
                return messages

    def rest(self) -> None:
        """Answer pings and detect a close by the server, until `settle` or `aclose`."""
        if self._attendant is None:
            self._attendant = LoopTask(self._attend)

    async def settle(self) -> Sequence[bytes] | None:
        """Return messages that arrived while the socket was idle; None if it must not be reused."""
        await self._wake()
        with anyio.move_on_after(_GLANCE_S):
            await self._attend()
        messages, self._idle_messages = self._idle_messages, []
        self._idle_reads = 0
        between = self._begun is None and not self._core.reader.buffer and not self._writing
        usable = self._is_open() and between and not self._broken
        return messages if usable else None

    async def _attend(self) -> None:
        """Read messages of the idle socket until it breaks; `settle` then returns None."""
        with contextlib.suppress(LLMError):
            while self._may_rest():
                self._idle_reads += 1
                self._idle_messages += await self._read()
        self._broken = True

    def _may_rest(self) -> bool:
        messages = self._idle_messages
        few = len(messages) < _MOST_IDLE and self._idle_reads < _MOST_IDLE_READS
        return few and sum(map(len, messages)) <= _MOST_IDLE_BYTES

    async def _wake(self) -> None:
        attendant, self._attendant = self._attendant, None
        if attendant is not None:
            await attendant.stop()

    async def aclose(self) -> None:
        """Send a close frame, unless within a message, and close the connection."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            await self._wake()
            if self._is_open() and not self._writing:
                self._core.send_close(1000)
                with anyio.move_on_after(_CLOSING_S), contextlib.suppress(Exception):
                    await self._flush()
            with contextlib.suppress(Exception):  # one that is broken is closed as well
                await self._stream.aclose()
            await _abandon(self._engine)

    def _is_open(self) -> bool:
        return self._core.state.name == "OPEN" and self._core.parser_exc is None

    async def _read(self) -> list[bytes]:
        """Read once and return the messages that this completed, also those before a fault."""
        self._check_readable()
        messages: list[bytes] = []
        try:
            data = await self._stream.read(_READ_BYTES)
            if data:
                self._core.receive_data(data)
            else:
                self._core.receive_eof()
            messages = self._messages(self._core.events_received())
            await self._flush()
        except Exception as error:
            translated = self._translated(error)
            if not messages:
                raise translated from error
            if self._is_open():
                self._failure = self._failure or translated.message
        if not messages:
            self._check_readable()
        return messages

    def _check_readable(self) -> None:
        """Raise the error of a socket from which nothing more can be read."""
        if self._failure:
            raise StreamError(self._failure)
        if not self._is_open():
            raise self._close_error()

    def _messages(self, frames: Sequence[Any]) -> list[bytes]:
        """Return the messages of *frames*, up to one that is binary or invalid text."""
        from websockets.frames import Opcode

        messages: list[bytes] = []
        for frame in frames:
            if frame.opcode is Opcode.BINARY:
                self._failure = f"{self._origin} sent a binary message; only text is supported"
            if frame.opcode is Opcode.TEXT:
                self._begun = bytearray()
            begun = self._begun
            if frame.opcode in (Opcode.TEXT, Opcode.CONT) and begun is not None:
                begun += frame.data
                if frame.fin:
                    self._begun = None
                    message = bytes(begun)
                    if is_utf8(message):
                        messages.append(message)
                    else:
                        self._failure = f"{self._origin} sent a message that is not UTF-8"
            if self._failure:
                break
        return messages

    async def _flush(self) -> None:
        data = b"".join(self._core.data_to_send())
        if data:
            self._writing = True  # stays True if cancelled: half a frame may be sent
            await self._stream.write(data)
            self._writing = False

    def _translated(self, error: Exception) -> LLMError:
        if isinstance(error, LLMError):
            return error
        if not self._is_open():  # a write after the server had closed
            return self._close_error()
        return NetworkError(f"the WebSocket to {self._origin} broke: {detail(error)}", cause=error)

    def _close_error(self) -> LLMError:
        """Return the error for a closed socket: a protocol fault, or the server's close frame."""
        core = self._core
        if core.parser_exc is not None and not isinstance(core.parser_exc, EOFError):
            too_big = type(core.parser_exc).__name__ == "PayloadTooBig"
            message = f"{self._origin} broke the WebSocket protocol: {core.parser_exc}"
            return StreamError(message, retryable=not too_big, cause=core.parser_exc)
        if core.close_rcvd is None:
            return NetworkError(f"the WebSocket to {self._origin} was cut")
        code, reason = core.close_rcvd.code, core.close_rcvd.reason
        message = f"{self._origin} closed the WebSocket ({code}{': ' if reason else ''}{reason})"
        return NetworkError(message, error_code=str(code))


# -- the handshake ------------------------------------------------------------------------------


def _core(request: HttpRequest, spec: WebSocket) -> "ClientProtocol":
    """Return the state machine of one socket, without logging, which would show credentials."""
    try:
        from websockets.client import ClientProtocol
        from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
        from websockets.uri import parse_uri
    except ImportError as error:
        raise missing_extra("a WebSocket", "websocket", error) from error
    deflate = ClientPerMessageDeflateFactory(compress_settings={"memLevel": 5})
    return ClientProtocol(
        parse_uri(request.url),
        extensions=[deflate] if spec.compression else None,
        max_size=spec.max_message_bytes,
        logger=_silent_logger(),
    )


@functools.cache
def _silent_logger() -> logging.Logger:
    return logging.Logger("llmcore.silent", logging.CRITICAL + 1)


async def _upgrade(
    engine: "HttpxEngine",
    proxy: str | None,
    request: HttpRequest,
    core: "ClientProtocol",
    timeouts: Timeouts,
) -> "httpcore.AsyncNetworkStream":
    """Send the handshake and return the connection. Raises NetworkError if it was refused."""
    headers = dict(core.connect().headers.raw_items())
    del headers["Host"]
    native = evolve(request, url=_http_url(request), headers={**request.headers, **headers})
    response = await engine.send(native, timeouts, proxy)
    if response.upgraded is None:
        message = f"{_origin(request)} did not open a WebSocket: HTTP {response.status}"
        raise NetworkError(message, status_code=response.status)
    lines = "".join(f"{name}: {value}\r\n" for name, value in response.headers.items())
    core.receive_data(f"HTTP/1.1 101 Switching Protocols\r\n{lines}\r\n".encode("latin-1"))
    core.events_received()
    if core.handshake_exc is not None:
        message = f"{_origin(request)} did not open a WebSocket: {core.handshake_exc}"
        raise NetworkError(message, cause=core.handshake_exc)
    return response.upgraded


def _opening_error(error: BaseException, request: HttpRequest) -> BaseException:
    """Return the error of opening a socket as an LLMError; cancellation unchanged."""
    if isinstance(error, LLMError) or not isinstance(error, Exception):
        return error
    if type(error).__module__.startswith("httpcore"):
        where = _origin(request)
        return NetworkError(f"the connection to {where} failed: {error}", cause=error)
    return translate(error, request.url)


async def _abandon(engine: "HttpxEngine") -> None:
    with anyio.CancelScope(shield=True), contextlib.suppress(Exception):
        await engine.aclose()


def _http_url(request: HttpRequest) -> str:
    return f"http{request.url.removeprefix('ws')}"


def _origin(request: HttpRequest) -> str:
    parts = urlsplit(request.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def is_utf8(message: bytes) -> bool:
    """Return whether *message* may be a text message."""
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True
