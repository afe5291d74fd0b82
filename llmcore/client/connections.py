"""Connections of our own, by httpcore: httpx's engine without the client on top of it.

What `httpx.AsyncClient` adds (cookies, redirects, merged headers, URL normalisation) is not wanted
for an API call, and costs as much again as sending the request.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import anyio
import httpcore

from llmcore.client.http.decompression import Inflated
from llmcore.client.network import Backend, Stream
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.timeouts import Timeouts

if TYPE_CHECKING:
    import ssl

KEPT_ALIVE = 100
"""Idle connections that are kept for the next request, at most."""
KEPT_SECONDS = 5.0
"""How long they are kept: many servers close theirs soon after."""

_COMPRESSED = (b"accept-encoding", b"gzip, deflate")


_Place: TypeAlias = tuple[bytes, bytes, int | None]
"""A server: scheme, host and port."""


class Connections:
    """A pool of connections for one event loop, and one more for each proxy in use.

    `proxy_for` gives the proxy of a URL: its own URL, or None for a direct connection. It is
    asked once for each server.
    """

    def __init__(
        self,
        *,
        tls: "Callable[[], ssl.SSLContext]",
        http2: bool = False,
        socket: str | None = None,
        proxy_for: Callable[[str], str | None] = lambda _url: None,
    ) -> None:
        self._tls = tls
        self._http2 = http2
        self._socket = socket
        self._proxy_for = proxy_for
        self._pools: dict[tuple[str | None, bool], httpcore.AsyncConnectionPool] = {}
        self._pool_of: dict[_Place, httpcore.AsyncConnectionPool] = {}

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "Response":
        """Send *request*; return once the headers have come. Raises httpcore's exceptions."""
        limits = {
            "connect": timeouts.connect,
            "read": timeouts.connect if request.body else None,  # until then, of a proxy
            "write": timeouts.first_event,
            "pool": timeouts.first_event,
        }
        url = wire_url(request.url)
        native = httpcore.Request(
            request.method,
            url,
            headers=_headers(request, url),
            content=_Body(request.body, limits),
            extensions={"timeout": limits},
        )
        place = (url.scheme, url.host, url.port)
        pool = self._pool_of.get(place) or self._pool(request.url, place)
        try:
            return Response(await pool.handle_async_request(native))
        except BaseException as error:
            await _close_unused(pool)
            if isinstance(error, httpcore.ReadTimeout) and limits["read"] is not None:
                raise httpcore.ConnectTimeout("the proxy opened no tunnel") from error
            raise

    async def aclose(self) -> None:
        """Close every connection."""
        pools, self._pools, self._pool_of = self._pools, {}, {}
        for pool in pools.values():
            await pool.aclose()

    def _pool(self, url: str, place: _Place) -> httpcore.AsyncConnectionPool:
        """Return the pool for the server at *place*, from now on."""
        proxy, secure = self._proxy_for(url), place[0] == b"https"
        pool = self._pools.get((proxy, secure)) or self._new_pool(proxy, secure=secure)
        self._pools[proxy, secure] = self._pool_of[place] = pool
        return pool

    def _new_pool(self, proxy: str | None, *, secure: bool) -> httpcore.AsyncConnectionPool:
        """Return a new pool. A TLS context is made only where one is needed: it takes long."""
        return httpcore.AsyncConnectionPool(
            ssl_context=self._tls() if secure else None,
            proxy=None if proxy is None else self._proxy(proxy),
            max_connections=None,
            max_keepalive_connections=KEPT_ALIVE,
            keepalive_expiry=KEPT_SECONDS,
            http2=self._http2,
            uds=self._socket,
            network_backend=Backend(),
        )

    def _proxy(self, proxy: str) -> httpcore.Proxy:
        parts = urlsplit(proxy)
        host = parts.netloc.rpartition("@")[2]  # port and brackets included
        auth = None
        if parts.username is not None:
            auth = (unquote(parts.username), unquote(parts.password or ""))
        return httpcore.Proxy(
            f"{parts.scheme}://{host}",
            auth=auth,
            ssl_context=self._tls() if parts.scheme == "https" else None,
        )


class Response:
    """A response whose headers have come."""

    def __init__(self, native: httpcore.Response) -> None:
        self._native = native
        self._network = native.extensions.get("network_stream")
        self._shared = native.extensions.get("http_version") == b"HTTP/2"
        """Whether others read from the same connection."""
        self.status = native.status
        self.headers: Mapping[str, str] = _decoded(native.headers)

    @property
    def upgraded(self) -> httpcore.AsyncNetworkStream | None:
        """The bare connection, after the server switched to another protocol (status 101)."""
        switched = self.status == 101 and isinstance(self._network, httpcore.AsyncNetworkStream)
        return self._network if switched else None

    def limit_reads(self, seconds: float | None) -> bool:
        """Let no read of the body take longer from now on.

        False for HTTP/2: its connection is read by whoever comes first, for all.
        """
        if self._shared or not isinstance(self._network, Stream):
            return False
        self._network.read_limit = seconds
        return True

    def body(self) -> AsyncIterator[bytes]:
        """Iterate over the body as it comes, decompressed."""
        encoding = self.headers.get("content-encoding", "").strip().lower()
        stream: Any = self._native.stream
        return Inflated(stream, encoding) if encoding not in ("", "identity") else aiter(stream)

    async def aclose(self) -> None:
        """Give the connection back, or cut it if the body was not read to its end."""
        if self._shared or not isinstance(self._network, Stream):
            await self._native.aclose()
            return
        self._network.read_limit = None
        try:
            await self._native.aclose()
        except BaseException:  # a task of asyncio's was cancelled in the middle of it
            with anyio.CancelScope(shield=True):
                await self._network.aclose()
            raise


async def _close_unused(pool: httpcore.AsyncConnectionPool) -> None:
    """Close connections that were opened for a request which was cancelled before it used them.

    httpcore forgets them, open. One that another request is just about to use may be among them;
    that request then gets another one.
    """
    with anyio.CancelScope(shield=True):
        for connection in pool.connections:
            if ", NEW, " in connection.info():
                await connection.aclose()


class _Body:
    """A request's body, as httpcore asks for it.

    What httpcore makes of bytes is a generator, which nobody closes when sending is cancelled. When
    it is asked for, there is a connection: the limit for reads that open one is lifted.
    """

    def __init__(self, data: bytes, limits: dict[str, float | None]) -> None:
        self._data = data
        self._limits = limits

    def __aiter__(self) -> "_Pieces":
        self._limits["read"] = None
        return _Pieces((self._data,))


class _Pieces:
    """An iterator over bytes that are there."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)

    def __aiter__(self) -> "_Pieces":
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration


def _headers(request: HttpRequest, url: httpcore.URL) -> list[tuple[bytes, bytes]]:
    """Return the headers on the wire: ours, and those that HTTP itself needs."""
    host = url.host if b":" not in url.host else b"[%b]" % url.host
    default = {b"http": 80, b"https": 443}.get(url.scheme)
    authority = host if url.port in (None, default) else b"%b:%d" % (host, url.port)
    headers = [(k.encode("ascii"), v.encode()) for k, v in request.headers.items()]
    if "host" not in request.headers:
        headers.insert(0, (b"host", authority))
    if "accept-encoding" not in request.headers:
        headers.append(_COMPRESSED)
    if request.body or request.method == "POST":
        headers.append((b"content-length", b"%d" % len(request.body)))
    return headers


def _decoded(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by lower-case name; repeated ones are joined, as RFC 9110 5.3 says."""
    decoded: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        decoded[key] = f"{decoded[key]}, {text}" if key in decoded else text
    return decoded


def wire_url(url: str) -> httpcore.URL:
    """Return *url* in ASCII: the host in IDNA, what a URL cannot hold percent-encoded."""
    if not url.isascii() or _UNSAFE.search(url):
        scheme, authority, path, query, _ = urlsplit(url)
        host, colon, port = (
            authority.rpartition(":") if _PORT.search(authority) else (authority, "", "")
        )
        safe = "%/:=&?~+!$,;'@()*"
        url = urlunsplit(
            (
                scheme,
                host.encode("idna").decode() + colon + port,
                quote(path, safe),
                quote(query, safe),
                "",
            )
        )
    return httpcore.URL(url)


_UNSAFE = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]")
_PORT = re.compile(r":\d+$")
