"""The fast engine: aiohttp, on asyncio only, whose parser is written in C.

It is used without what aiohttp adds to a request: redirects, cookies, decompression, `netrc`. SOCKS
and TLS proxies and HTTP/2 are left to httpx.
"""

import asyncio
import base64
import functools
import io
import select
import socket
import sys
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.streams import StreamReader
from multidict import CIMultiDict
from yarl import URL

from llmcore.client.http import engine
from llmcore.client.http.decompression import Inflated
from llmcore.client.http.errors import translate
from llmcore.client.http.wire import joined_headers, wire_headers, wire_url
from llmcore.client.transport import Chunks
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import NetworkError, RequestTimeoutError

if TYPE_CHECKING:
    import ssl

    from aiohttp.http_parser import RawResponseMessage

_MAX_FIELD_BYTES: Final = 64 * 1024
"""The most bytes of a header field or status line."""
_LARGE_BODY_BYTES: Final = 1024 * 1024
"""aiohttp warns of larger bodies that are given in one piece, and copies them."""
_MAX_CHUNKS: Final = 4096
"""Chunks of a body that wait to be read, beside the limit of their bytes."""
_NOT_ADDED: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_PROBE: Final = b"HTTP/1.1 299 probe\r\ncontent-length: 0\r\n\r\n"


class AiohttpEngine:
    """Sends over its own session, or over a session of the caller, who closes it."""

    def __init__(
        self,
        *,
        tls: "Callable[[], ssl.SSLContext] | None" = None,
        socket: str | None = None,
        session: aiohttp.ClientSession | None = None,
    ) -> None:
        self._tls = tls
        self._given = session is not None
        self._session = session or _new_session(socket)
        self._settings = {} if session is None else {"skip_auto_headers": _NOT_ADDED}
        """Settings of each request over the caller's session; one of our own has them itself."""

    async def send(
        self, request: HttpRequest, timeouts: Timeouts, proxy: str | None = None
    ) -> "AiohttpResponse":
        """Send *request* and return the response when its headers have arrived."""
        headers = wire_headers(request)
        settings: dict[str, Any] = dict(self._settings)
        if self._tls is not None and request.url.startswith("https:"):
            settings["ssl"] = self._tls()
        if proxy is not None:
            settings |= _through(proxy, request.url, headers)
        body = request.body
        try:
            native = await self._session.request(
                request.method,
                _native_url(request.url),
                headers=headers,
                data=io.BytesIO(body) if len(body) > _LARGE_BODY_BYTES else body or None,
                allow_redirects=False,
                auto_decompress=False,
                timeout=_limits(timeouts),
                **settings,
            )
        except aiohttp.ClientResponseError as error:  # its text contains the request's headers
            raise translate(error, request) from None
        except Exception as error:
            raise _translated(error, request) from error
        return AiohttpResponse(native, request)

    async def aclose(self) -> None:
        """Close all connections. Those that are still being opened are closed once open."""
        if not self._given:
            await self._session.close()


class AiohttpResponse:
    """A response of aiohttp."""

    diagnostics: tuple[Diagnostic, ...] = ()

    def __init__(self, native: aiohttp.ClientResponse, request: HttpRequest) -> None:
        self._request = request
        self._body = _Body(native, request)
        self.status: int = native.status
        self.headers: Mapping[str, str] = joined_headers(native.raw_headers)

    def limit_reads(self, seconds: float | None) -> bool:
        """Limit every further read of the body."""
        self._body.limit_reads(seconds)
        return True

    def chunks(self) -> Chunks:
        """Iterate over the body, decompressed. Closes the response when the iteration ends."""
        encoding = self.headers.get("content-encoding", "").strip().lower()
        return self._body if encoding in ("", "identity") else self._inflated(encoding)

    async def _inflated(self, encoding: str) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in Inflated(self._body, encoding):
                yield chunk
        except ValueError as error:
            raise _translated(error, self._request) from error
        finally:
            await self._body.aclose()

    async def aclose(self) -> None:
        """Close the connection if the body was not read to its end. Idempotent."""
        await self._body.aclose()


class _Body:
    """Iterates over a body. One timer limits all reads, which is cheaper than one for each."""

    def __init__(self, native: aiohttp.ClientResponse, request: HttpRequest) -> None:
        self._native = native
        self._request = request
        self._content = native.content
        self._loop = asyncio.get_running_loop()
        self._limit: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None
        self._reference: weakref.ref[_Body] = weakref.ref(self)

    def __aiter__(self) -> "_Body":
        return self

    async def __anext__(self) -> bytes:
        self._waiting_since = self._loop.time()
        try:
            chunk = await self._content.readany()
        except BaseException as error:
            self._close()
            if isinstance(error, Exception):
                # aiohttp shares one error among all closed bodies; its traceback would keep them
                raise _translated(error, self._request) from error.with_traceback(None)
            raise
        self._waiting_since = None
        if not chunk:
            self._close()
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        self._close()

    def __del__(self) -> None:
        """Close the connection of a body that was dropped, in its loop: any thread may be here."""
        if self._native.connection is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._native.close)

    def _close(self) -> None:
        """Close the connection if the body was not read to its end."""
        self.limit_reads(None)
        if self._native.connection is not None or not self._native.closed:
            self._native.close()

    def limit_reads(self, seconds: float | None) -> None:
        self._limit = seconds
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, _look, self._reference)

    def look(self) -> None:
        """Fail a read that has waited too long, and look again when the next one may have."""
        limit, now = self._limit, self._loop.time()
        if limit is None:
            return
        since = now if self._waiting_since is None else self._waiting_since
        if now - since >= limit:
            error = RequestTimeoutError("no data arrived in time (read)", error_code="read")
            self._content.set_exception(error)
        else:
            self._timer = self._loop.call_at(since + limit, _look, self._reference)


def _look(body: "weakref.ref[_Body]") -> None:
    """Have *body* look for a late read. The timer does not keep a body that was dropped."""
    if (kept := body()) is not None:
        kept.look()


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
        """Return what has come, once there is any; empty at the end."""
        if self._exception is not None:
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


# -- connections --------------------------------------------------------------------------------


class _Connection(ResponseHandler):
    """A connection that is not reused if any bytes arrive after a response.

    Measured with aiohttp 3.14: the pool only checks whether an idle connection is open. The
    connection keeps reading while it is idle, and bytes read then would become the next response.
    """

    _unread: Any = None
    """A `select.poll` that watches the socket; Windows has none."""
    _begun = _response_ended = True
    """Whether the response to the last request has begun, and whether it has ended."""

    def set_response_params(self, **settings: Any) -> None:
        """Prepare for the response to the next request."""
        self._begun = self._response_ended = False
        super().set_response_params(**settings)

    def data_received(self, data: bytes) -> None:
        """Parse *data*. Anything that follows a response closes the connection."""
        if self._response_ended and data:
            self.abort()
            return
        super().data_received(data)
        payload = self._payload
        if self._begun and not self._response_ended and payload is not None and payload.is_eof():
            self._response_ended = True
            if self._holds_more():
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
        if self._begun:
            self._response_ended = True
            self.abort()
            return
        self._begun = data[0].code >= 200 or data[0].code == 101
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
        payload = self._payload
        self.abort()
        if payload is not None and not payload.is_eof() and payload.exception() is None:
            payload.set_exception(aiohttp.ClientConnectionError("the connection was closed"))

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


class _Request(aiohttp.ClientRequest):
    """A request with the given headers, to which aiohttp is to add none."""

    _skip_auto_headers = CIMultiDict((name, None) for name in _NOT_ADDED)

    def update_headers(self, headers: Any) -> None:
        """Set the given headers, which include `host`."""
        self.headers = CIMultiDict(headers)

    def update_auto_headers(self, skip_auto_headers: Any) -> None:
        """Add none."""


def _new_session(socket: str | None) -> aiohttp.ClientSession:
    kept: dict[str, Any] = {"limit": 0, "keepalive_timeout": engine.IDLE_SECONDS}
    connector: aiohttp.BaseConnector = (
        aiohttp.TCPConnector(**kept, socket_factory=_probed_socket)
        if socket is None
        else aiohttp.UnixConnector(socket, **kept)
    )
    make: Any = functools.partial(_Connection, loop=asyncio.get_running_loop())
    connector._factory = make  # noqa: SLF001  (aiohttp has no public setting for it)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        request_class=_Request,
        max_line_size=_MAX_FIELD_BYTES,
        max_field_size=_MAX_FIELD_BYTES,
    )


def _probed_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Return a socket with the options of all connections."""
    opened = socket.socket(*address[:3])
    for option in engine.SOCKET_OPTIONS:
        opened.setsockopt(*option)
    return opened


# -- requests -----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _native_url(url: str) -> URL:
    return URL(wire_url(url), encoded=True)


@functools.lru_cache(maxsize=64)
def _limits(timeouts: Timeouts) -> aiohttp.ClientTimeout:
    """Return the connect limit. The call itself applies the other limits, which count events."""
    return aiohttp.ClientTimeout(total=None, connect=timeouts.connect)


def _through(proxy: str, url: str, headers: dict[str, str]) -> dict[str, Any]:
    """Return the settings for a request through *proxy*, which is an HTTP proxy.

    Its password is sent in a header of the request that the proxy reads: the one that opens a
    tunnel, or the request itself for plain HTTP.
    """
    parts = urlsplit(proxy)
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))
    settings: dict[str, Any] = {"proxy": URL(bare)}
    if parts.username is not None:
        named = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        credentials = f"Basic {base64.b64encode(named.encode()).decode()}"
        if url.startswith("https:"):
            settings["proxy_headers"] = {"Proxy-Authorization": credentials}
        else:
            headers["proxy-authorization"] = credentials
    return settings


def _translated(error: Exception, request: HttpRequest) -> Exception:
    if isinstance(error, RuntimeError) and "closed" in str(error):  # by another task
        return NetworkError("the client was closed", cause=error)
    return translate(error, request)
