"""The fast engine: aiohttp, on asyncio only, whose parser is written in C.

It is used without what aiohttp adds to a request: redirects, cookies, decompression, `netrc`. SOCKS
and TLS proxies and HTTP/2 are left to httpx.
"""

import asyncio
import base64
import functools
import io
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from llmcore.client.http.aiohttp_connections import (
    MAX_FIELD_BYTES,
    ConnectionPool,
    PooledResponse,
    new_connector,
)
from llmcore.client.http.decompression import Inflated, compression_of
from llmcore.client.http.errors import translate
from llmcore.client.http.wire import joined_headers, wire_headers, wire_url
from llmcore.client.transport import Chunks
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import NetworkError, RequestTimeoutError

if TYPE_CHECKING:
    import ssl

_LARGE_BODY_BYTES: Final = 1024 * 1024
"""aiohttp warns of larger bodies that are given in one piece, and copies them."""
_Native: TypeAlias = aiohttp.ClientResponse | PooledResponse
_NOT_ADDED: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


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
        self._session = session or _new_session(socket)
        connector = self._session.connector if session is None else None
        self._own = None if connector is None else ConnectionPool(connector)
        """The connections; None over a session of the caller, which has settings of its own."""
        self._settings = {} if session is None else {"skip_auto_headers": _NOT_ADDED}
        """Settings of each request over the caller's session; one of our own has them itself."""

    async def send(
        self, request: HttpRequest, timeouts: Timeouts, proxy: str | None = None
    ) -> "AiohttpResponse":
        """Send *request* and return the response when its headers have arrived."""
        is_large = len(request.body) > _LARGE_BODY_BYTES
        native: _Native
        try:
            url, connect = _native_url(request.url), _limits(timeouts.connect)
            new_tls = self._tls if request.url.startswith("https:") else None
            tls = True if new_tls is None else new_tls()
            if self._own is None or proxy is not None or is_large:
                native = await self._by_session(request, url, connect, tls, proxy)
            else:
                native = await self._own.send(request, url, connect, tls)
        except aiohttp.ClientResponseError as error:  # its text contains the request's headers
            raise translate(error, request.url, proxy) from None
        except Exception as error:
            raise _translated(error, request.url, proxy) from error
        return AiohttpResponse(native, request.url)

    async def _by_session(
        self,
        request: HttpRequest,
        url: URL,
        connect: aiohttp.ClientTimeout,
        tls: "ssl.SSLContext | bool",
        proxy: str | None,
    ) -> aiohttp.ClientResponse:
        headers, body = wire_headers(request), request.body
        settings: dict[str, Any] = dict(self._settings)
        if proxy is not None:
            settings |= _through(proxy, request.url, headers)
        return await self._session.request(
            request.method,
            url,
            headers=headers,
            data=io.BytesIO(body) if len(body) > _LARGE_BODY_BYTES else body or None,
            allow_redirects=False,
            auto_decompress=False,
            timeout=connect,
            ssl=tls,
            **settings,
        )

    async def aclose(self) -> None:
        """Close all connections. Those that are still being opened are closed once open."""
        if self._own is not None:
            await self._session.close()


class AiohttpResponse:
    """A response of aiohttp."""

    diagnostics: tuple[Diagnostic, ...] = ()

    def __init__(self, native: _Native, url: str) -> None:
        self._url = url
        self._body = _Body(native, url)
        self.status: int = native.status
        self.headers: Mapping[str, str] = joined_headers(native.raw_headers)

    def limit_reads(self, seconds: float | None) -> bool:
        """Limit every further read of the body."""
        self._body.limit_reads(seconds)
        return True

    def chunks(self) -> Chunks:
        """Iterate over the body, decompressed. Closes the response when the iteration ends."""
        encoding = compression_of(self.headers)
        return self._inflated(encoding) if encoding else self._body

    async def _inflated(self, encoding: str) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in Inflated(self._body, encoding):
                yield chunk
        except ValueError as error:
            raise _translated(error, self._url) from error
        finally:
            await self._body.aclose()

    async def aclose(self) -> None:
        """Close the connection if the body was not read to its end. Idempotent."""
        await self._body.aclose()


class _Body:
    """Iterates over a body. One timer limits all reads, which is cheaper than one for each.

    It begins with the first read for which the body may have to be waited for.
    """

    def __init__(self, native: _Native, url: str) -> None:
        self._native = native
        self._url = url
        self._content = native.content
        self._loop = asyncio.get_running_loop()
        self._limit: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None
        self._reference: weakref.ref[_Body] = weakref.ref(self)

    def __aiter__(self) -> "_Body":
        return self

    async def __anext__(self) -> bytes:
        if self._native.connection is None and self.at_end():
            self._close()
            raise StopAsyncIteration
        now = self._waiting_since = self._loop.time()
        if self._timer is None and self._limit is not None:
            self._timer = self._loop.call_at(now + self._limit, _check_wait, self._reference)
        try:
            chunk = await self._content.readany()
        except BaseException as error:
            self._close()
            if isinstance(error, Exception):
                # aiohttp shares one error among all closed bodies; its traceback would keep them
                raise _translated(error, self._url) from error.with_traceback(None)
            raise
        self._waiting_since = None
        if not chunk:
            self._close()
            raise StopAsyncIteration
        return chunk

    def at_end(self) -> bool:
        """Return whether the next read ends the iteration, without a wait."""
        return self._content.at_eof()

    async def aclose(self) -> None:
        self._close()

    def __del__(self) -> None:
        """Close the connection of a dropped body, in its loop, since any thread may call this."""
        if self._native.connection is None:
            return
        if self._loop.is_closed():  # and with it the connection, of which aiohttp would warn
            with suppress(RuntimeError):
                self._native.release()
        else:
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

    def check_wait(self) -> None:
        """Fail a read that has waited too long; else set a timer for when it will have."""
        limit, now = self._limit, self._loop.time()
        if limit is None:
            return
        since = now if self._waiting_since is None else self._waiting_since
        if now - since >= limit:
            error = RequestTimeoutError("no data arrived in time (read)", error_code="read")
            self._content.set_exception(error)
        else:
            self._timer = self._loop.call_at(since + limit, _check_wait, self._reference)


def _check_wait(body: "weakref.ref[_Body]") -> None:
    """Check whether a read of *body* is late. The timer does not keep a body that was dropped."""
    if (kept := body()) is not None:
        kept.check_wait()


class _Request(aiohttp.ClientRequest):
    """A request with the given headers, to which aiohttp is to add none."""

    _skip_auto_headers = CIMultiDict((name, None) for name in _NOT_ADDED)

    def update_headers(self, headers: Any) -> None:
        """Set the given headers, which include `host`."""
        self.headers = CIMultiDict(headers)

    def update_auto_headers(self, skip_auto_headers: Any) -> None:
        """Add no headers."""


def _new_session(socket: str | None) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=new_connector(socket),
        cookie_jar=aiohttp.DummyCookieJar(),
        request_class=_Request,
        max_line_size=MAX_FIELD_BYTES,
        max_field_size=MAX_FIELD_BYTES,
    )


# -- requests -----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _native_url(url: str) -> URL:
    return URL(wire_url(url), encoded=True)


@functools.lru_cache(maxsize=64)
def _limits(connect: float | None) -> aiohttp.ClientTimeout:
    """Return the connect limit. The call itself applies the other limits, which count events."""
    return aiohttp.ClientTimeout(total=None, connect=connect)


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


def _translated(error: Exception, url: str, proxy: str | None = None) -> Exception:
    if isinstance(error, RuntimeError) and "closed" in str(error):  # by another task
        return NetworkError("the client was closed", cause=error)
    return translate(error, url, proxy)
