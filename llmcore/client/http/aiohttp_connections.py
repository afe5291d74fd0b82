"""The connections of the fast engine: those of aiohttp's pool, read and reused with more care.

`ConnectionPool.send` writes a request to one of them. `aiohttp.ClientSession` does so by way of a
request, a writer's task and a response, which take longer than the call: redirects, cookies,
authentication, retries and traces, none of which the engine uses.
"""

import asyncio
import functools
import re
import select
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.streams import StreamReader
from yarl import URL

from llmcore.client.http import engine
from llmcore.client.http.wire import headers_before_length, states_length
from llmcore.routes.http_request import HttpRequest
from llmcore.schema.errors import NetworkError

if TYPE_CHECKING:
    import ssl

    from aiohttp.http_parser import RawResponseMessage

MAX_FIELD_BYTES: Final = 64 * 1024
"""The most bytes of a header field or status line."""
_MAX_CHUNKS: Final = 4096
"""Chunks of a body that wait to be read, beside the limit of their bytes."""
_MAX_INFORMATIONAL: Final = 1000
"""Responses of status 1xx to one request; some servers send one every few seconds."""
_TOO_MANY: Final = f"more than {_MAX_INFORMATIONAL} informational responses (status 1xx) came"
_HEAD_END: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"0\r\n\r\n"
_KEPT_HEADS: Final = 64
"""So many heads of requests are kept for later ones with the same headers."""
_NOT_IN_LINES: Final = re.compile(r"[\r\n\0]")
_PROBE: Final = b"HTTP/1.1 299 probe\r\ncontent-length: 0\r\n\r\n"


class _Content(StreamReader):
    """A body of which everything that has come is read at once.

    aiohttp notes where each chunk of a chunked body ends, which takes more time than the chunk. It
    also prepares each wait for a time limit of the whole response, which our requests never set.
    """

    __slots__ = ()

    def begin_http_chunk_receiving(self) -> None:
        """Do nothing; the parser calls this for each chunk."""

    def end_http_chunk_receiving(self) -> None:
        """Stop reading the socket while there are very many chunks, each of which is an object."""
        if len(self._buffer) > _MAX_CHUNKS and isinstance(self._protocol, _Connection):
            self._protocol.pause_socket()

    async def readany(self) -> bytes:
        """Return the bytes that have arrived, at least one; empty at the end.

        A body that broke off is read up to there, and then raises the reason.
        """
        if self._exception is not None and not self._buffer:
            raise self._exception
        while not self._buffer and not self._eof:
            await self._wait("readany")
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._size = 0
        self._protocol.resume_reading()
        return data

    async def _wait(self, func_name: str) -> None:
        if not self._protocol.connected:
            raise RuntimeError("the connection is closed")
        if self._waiter is not None:
            raise RuntimeError(f"{func_name}() called while another task reads")
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class _Connection(ResponseHandler):
    """A connection that is not reused if any bytes arrive after a response.

    Measured with aiohttp 3.14: the pool only checks whether an idle connection is open. The
    connection keeps reading while it is idle, and bytes read then would become the next response.

    Also measured: a body whose framing is broken is waited for without an end; one without a length
    ends where the connection is reset, as if that were its end; and a response whose head and
    broken body come together is lost with its status.
    """

    _unread: Any = None
    """A `select.poll` that watches the socket; Windows has none."""
    _begun = _response_ended = True
    """Whether the response to the last request has begun, and whether it has ended."""
    _informational = 0
    """How many responses of status 1xx came after the last request."""
    _heard = False
    """Whether anything came after the last request."""
    _length: str | None = None
    """The `content-length` of the response, unless its body is in chunks."""
    _read: int | None = None
    """How many bytes came after the head; None where that did not come first, and in one piece."""

    def set_response_params(self, **settings: Any) -> None:
        """Prepare for the response to the next request."""
        self._begun = self._response_ended = self._heard = False
        self._length = self._read = None
        self._informational = 0
        super().set_response_params(**settings)

    def data_received(self, data: bytes) -> None:
        """Parse *data*. Anything that follows a response closes the connection.

        `resume_reading` calls this without data, for what the parser kept while it was paused.
        """
        if not self._begun:
            data = self._without_head(data)
            if not data:
                return
        self._parse(data)

    def _without_head(self, data: bytes) -> bytes:
        """Parse the head in *data*, and return what follows, a fault of which must not hide it."""
        is_first, self._heard = not self._heard, True
        head, end, rest = data.partition(_HEAD_END)
        if not end:
            return data
        self._parse(head + end)
        if is_first and self._begun:
            self._read = 0
        return rest

    def set_exception(self, exc: BaseException, exc_cause: BaseException | None = None) -> None:
        """Fail the response, and its body if that has begun."""
        if exc_cause is None:
            super().set_exception(exc)
        else:
            super().set_exception(exc, exc_cause)
        self._fail_body(exc)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Fail the response that is being read, also one that may end with its connection."""
        if isinstance(exc, OSError):
            self._fail_body(aiohttp.ClientOSError(*exc.args))
        super().connection_lost(exc)

    def _fail_body(self, error: BaseException) -> None:
        payload = self._payload
        if payload is not None and not payload.is_eof() and payload.exception() is None:
            payload.set_exception(error)

    def _parse(self, data: bytes) -> None:
        if self._response_ended and data:
            self.abort()
            return
        if self._read is not None:
            self._read += len(data)
        super().data_received(data)
        payload = self._payload
        if self._begun and not self._response_ended and payload is not None and payload.is_eof():
            self._response_ended = True
            # After a body of just the length that was announced there is nothing. What follows one
            # in chunks and ends with an empty line is a response, which `feed_data` has seen, or an
            # error of the parser.
            is_alone = self._length == str(self._read) or data.endswith(_LAST_CHUNK)
            if not is_alone and self._holds_more():
                self.abort()

    def pause_socket(self) -> None:
        """Stop reading the socket. What was read from it is parsed to its end.

        `pause_reading` also pauses the parser. It would do so within the next chunk, which may come
        after `resume_reading`; the rest would then stay in the parser until more bytes arrive.
        """
        if self.transport is not None and not self._reading_paused:
            self._reading_paused = True
            with suppress(RuntimeError):  # it is being closed
                self.transport.pause_reading()

    def resume_reading(self, *args: Any, **settings: Any) -> None:
        """Go on reading if it was paused. aiohttp calls this after each chunk of a body."""
        if self._reading_paused:
            super().resume_reading(*args, **settings)

    def feed_data(self, data: "tuple[RawResponseMessage, StreamReader]", size: int = 0) -> None:
        """Deliver a response whose head is complete; a second one closes the connection."""
        if self._informational > _MAX_INFORMATIONAL:
            return
        if self._begun:
            self._response_ended = True
            self.abort()
            return
        self._begun = data[0].code >= 200 or data[0].code == 101
        self._informational += not self._begun
        if self._informational > _MAX_INFORMATIONAL:  # reading them takes all time of the loop
            self._begun = self._response_ended = True
            self.abort()  # which forgets an error
            self.set_exception(aiohttp.ClientConnectionError(_TOO_MANY))
            return
        self._length = None if data[0].chunked else data[0].headers.get("content-length")
        if type(data[1]) is StreamReader:  # not the empty one, which all responses share
            data[1].__class__ = _Content
        super().feed_data(data, size)

    def is_connected(self) -> bool:
        """Return whether another request can be sent."""
        return super().is_connected() and not self.should_close and not self._has_unread()

    def close(self) -> None:
        """Close the socket at once.

        A normal close waits until all data is written, which a server that does not read prevents,
        and with TLS for the server's reply, up to 30 seconds. A pending read of the body fails;
        otherwise it would never return.
        """
        self._fail_body(aiohttp.ClientConnectionError("the connection was closed"))
        self.abort()

    def _holds_more(self) -> bool:
        """Return whether the parser holds the beginning of a second response.

        The parser has no method for that. A probe response is parsed: any remainder before it
        changes the result.
        """
        if self._parser is None or self._upgraded:
            return False
        try:
            messages, upgraded, tail = self._parser.feed_data(_PROBE)
        except Exception:  # noqa: BLE001  (any error means that data was left)
            return True
        read = [(message.code, message.reason) for message, _ in messages]
        return read != [(299, "probe")] or upgraded or bool(tail)

    def _has_unread(self) -> bool:
        """Return whether the socket has data, or its end, that the loop has not read yet."""
        if self._unread is None:
            file = None if self.transport is None else self.transport.get_extra_info("socket")
            if sys.platform == "win32" or file is None or file.fileno() < 0:
                return False
            self._unread = select.poll()
            self._unread.register(file.fileno(), select.POLLIN)
        return bool(self._unread.poll(0))  # also once the socket is closed


def new_connector(socket: str | None) -> aiohttp.BaseConnector:
    """Return the pool of the running loop, over a Unix *socket* if one is given."""
    kept: dict[str, Any] = {"limit": 0, "keepalive_timeout": engine.IDLE_SECONDS}
    connector: aiohttp.BaseConnector = (
        aiohttp.TCPConnector(**kept, socket_factory=_probed_socket)
        if socket is None
        else aiohttp.UnixConnector(socket, **kept)
    )
    make: Any = functools.partial(_Connection, loop=asyncio.get_running_loop())
    connector._factory = make  # noqa: SLF001  (aiohttp has no public setting for it)
    return connector


class ConnectionPool:
    """Sends requests over the connections of a connector, without proxies."""

    def __init__(self, connector: aiohttp.BaseConnector) -> None:
        self._connector = connector
        self._servers: dict[tuple[URL, object], _Server] = {}
        """By origin and TLS context."""
        self._head_before_length = functools.lru_cache(_KEPT_HEADS)(_head_before_length)

    async def send(
        self,
        request: HttpRequest,
        url: URL,
        connect: aiohttp.ClientTimeout,
        tls: "ssl.SSLContext | bool",
    ) -> "PooledResponse":
        """Write *request* as a whole, and return its response once the headers have come."""
        if self._connector.closed:
            raise NetworkError("the client was closed")
        try:
            connection = await self._connector.connect(self._server(url, tls), [], connect)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError(str(error)) from error
        try:
            message, content = await _exchanged(connection, request, self._head(request, url))
        except BaseException:
            connection.close()
            raise
        return PooledResponse(connection, message, content)

    def _server(self, url: URL, tls: "ssl.SSLContext | bool") -> "_Server":
        key = (url.origin(), tls)
        if key not in self._servers:
            loop = asyncio.get_running_loop()
            self._servers[key] = _Server("GET", key[0], loop=loop, ssl=tls)
        return self._servers[key]

    def _head(self, request: HttpRequest, url: URL) -> bytes:
        """Return the head of *request*, of which often only the length of the body is new."""
        headers = tuple(request.headers.items())
        head = self._head_before_length(request.method, url.raw_path_qs, request.url, headers)
        length = b"content-length: %d\r\n" % len(request.body) if states_length(request) else b""
        return b"%b%b\r\n" % (head, length)


class _Server(aiohttp.ClientRequest):
    """A request by which the connector connects to a server."""

    @functools.cached_property
    def connection_key(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The key of its connections, which aiohttp would make for each request."""
        return super().connection_key


def _head_before_length(
    method: str, target: str, url: str, headers: tuple[tuple[str, str], ...]
) -> bytes:
    """Return the lines of a request's head up to `content-length`, which comes last."""
    sent = headers_before_length(url, dict(headers))
    sent.pop("content-length", None)
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
    if any(map(_NOT_IN_LINES.search, lines)):
        raise ValueError("a header has a line end or a null byte")
    return "".join(f"{line}\r\n" for line in lines).encode()


async def _exchanged(
    connection: Connection, request: HttpRequest, head: bytes
) -> "tuple[RawResponseMessage, StreamReader]":
    protocol: Any = connection.protocol
    protocol.set_response_params(
        skip_payload=request.method == "HEAD",
        read_until_eof=True,
        auto_decompress=False,
        max_line_size=MAX_FIELD_BYTES,
        max_field_size=MAX_FIELD_BYTES,
    )
    transport = protocol.transport
    if transport is None or transport.is_closing():
        raise aiohttp.ClientConnectionResetError("the connection is being closed")
    if request.body:
        transport.writelines((head, request.body))
    else:  # Python 3.12 sends an empty piece again and again
        transport.write(head)
    while True:
        message, content = await protocol.read()
        if message.code == 101:
            raise NetworkError("the server changed to another protocol, which was not requested")
        if not 100 <= message.code < 200:
            return message, content


class PooledResponse:
    """A response: those attributes of an `aiohttp.ClientResponse` that the engine reads."""

    def __init__(
        self, connection: Connection, message: "RawResponseMessage", content: StreamReader
    ) -> None:
        self.connection: Connection | None = connection
        """None once the response was read to its end, or closed."""
        self.status: int = message.code
        self.raw_headers = message.raw_headers
        self.content = content
        content.on_eof(self.release)

    @property
    def closed(self) -> bool:
        """Whether the connection is free."""
        return self.connection is None

    def close(self) -> None:
        """Close the connection. A pending read of the body fails."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()

    def release(self) -> None:
        """Let the connection be reused, unless the server answered before it read the request."""
        connection = self.connection
        if connection is None:
            return
        transport = connection.transport
        if transport is not None and transport.get_write_buffer_size():
            self.close()
        else:
            self.connection = None
            connection.release()


def _probed_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Return a socket with the options of all connections."""
    opened = socket.socket(*address[:3])
    for option in engine.SOCKET_OPTIONS:
        opened.setsockopt(*option)
    return opened
