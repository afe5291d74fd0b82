"""The portable engine, on asyncio and trio: the connections of httpx, which are httpcore's.

The features that `httpx.AsyncClient` adds to them (cookies, redirects, merged headers) must not
apply to API calls. Its transports and clients are used where the caller gives them. httpx2, the
maintained continuation of httpx, has the same interfaces.
"""

import contextlib
import functools
import importlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import unquote, urlsplit

import anyio
import httpcore
import httpx

from llmcore.client.http import engine
from llmcore.client.http.decompression import Inflated, compression_of
from llmcore.client.http.errors import translate
from llmcore.client.http.httpx_network import TrackedNetwork, TrackedStream, has_unread
from llmcore.client.http.wire import joined_headers, wire_headers, wire_url
from llmcore.client.loop_task import LoopTask
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.diagnostics import Diagnostic

if TYPE_CHECKING:
    import ssl


class HttpcorePool:
    """A pool of httpcore's, which closes idle connections in time.

    `httpx.AsyncHTTPTransport` has such a pool, and makes each request and response twice: that of
    httpx and that of httpcore.
    """

    def __init__(self, pool: httpcore.AsyncConnectionPool, network: TrackedNetwork) -> None:
        self._pool = pool
        self._network = network
        self._sweeper: LoopTask | None = None

    async def send(self, request: httpcore.Request) -> httpcore.Response:
        """Send *request*; return once the headers have come."""
        try:
            return await self._pool.handle_async_request(request)
        except BaseException:
            await self._close_unused()
            raise

    def sweep(self) -> None:
        """Start closing idle connections when they expire, also without further requests."""
        if self._sweeper is None:
            self._sweeper = LoopTask(self._close_expired)

    async def aclose(self) -> None:
        """Close all connections, including those that are still being opened."""
        sweeper, self._sweeper = self._sweeper, None
        if sweeper is not None:
            await sweeper.stop()
        await self._pool.aclose()
        await self._network.aclose()

    async def _close_expired(self) -> None:
        try:
            while any(not connection.is_closed() for connection in self._pool.connections):
                await anyio.sleep(engine.IDLE_SECONDS / 2)
                for connection in self._pool.connections:
                    if connection.is_idle() and connection.has_expired():
                        with anyio.CancelScope(shield=True):
                            await connection.aclose()
        finally:
            self._sweeper = None

    async def _close_unused(self) -> None:
        """Close connections that were opened for a request that was cancelled before using them.

        httpcore leaves them open. If another request is about to use one of them, httpcore opens a
        new connection for it.
        """
        with anyio.CancelScope(shield=True):
            for connection in self._pool.connections:
                if ", NEW, " in connection.info():
                    await connection.aclose()


class HttpxEngine:
    """Sends over httpcore's connections, in one pool for each proxy in use."""

    def __init__(
        self,
        *,
        tls: "Callable[[], ssl.SSLContext]",
        http2: bool = False,
        socket: str | None = None,
    ) -> None:
        self._tls = tls
        self._http2 = http2
        self._socket = socket
        self._pools: dict[tuple[str | None, bool], HttpcorePool] = {}

    async def send(
        self, request: HttpRequest, timeouts: Timeouts, proxy: str | None = None
    ) -> "HttpxResponse":
        """Send *request*; return once the headers have come."""
        key = proxy, request.url.startswith("https:")
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = self._new_pool(proxy, secure=key[1])
        limits = {
            "connect": timeouts.connect,
            # until the body is sent: limits the proxy's reply
            "read": timeouts.connect if request.body else None,
        }
        try:
            native = await pool.send(_pooled_request(request, limits))
        except Exception as raised:  # noqa: BLE001  (it is raised as httpx would raise it)
            error = _as_of_httpx(raised)
            if isinstance(error, httpx.ReadTimeout) and limits["read"] is not None:
                message = "the proxy did not open a tunnel"
                raise translate(httpx.ConnectTimeout(message), request.url, proxy) from error
            raise translate(error, request.url, proxy) from error
        return HttpcoreResponse(native, request.url, pool)

    async def aclose(self) -> None:
        """Close all connections."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    def _new_pool(self, proxy: str | None, *, secure: bool) -> HttpcorePool:
        """Return a new pool. A TLS context, which is slow to make, is made only for https."""
        network = TrackedNetwork()
        pool = httpcore.AsyncConnectionPool(
            ssl_context=self._tls() if secure else None,
            proxy=None if proxy is None else self._proxy(proxy),
            max_connections=None,
            max_keepalive_connections=engine.MAX_IDLE_CONNECTIONS,
            keepalive_expiry=engine.IDLE_SECONDS,
            http2=self._http2,
            uds=self._socket,
            network_backend=network,
        )
        return HttpcorePool(pool, network)

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


class HttpxTransport(Protocol):
    """The methods used of `httpx.AsyncBaseTransport` and `httpx2.AsyncBaseTransport`."""

    async def handle_async_request(self, request: Any, /) -> Any:
        """Send a request of the same library and return when the headers have arrived."""

    async def aclose(self) -> None:
        """Free the connections."""


class HttpxClient(Protocol):
    """The methods used of `httpx.AsyncClient` and `httpx2.AsyncClient`."""

    def build_request(
        self,
        method: str,
        url: str,
        *,
        headers: dict[str, str],
        content: bytes,
        timeout: tuple[float | None, float | None, float | None, float | None],
    ) -> Any:
        """Build a request; the limits are connect, read, write and pool, in seconds."""

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        """Send it and return when the headers have arrived."""

    async def aclose(self) -> None:
        """Free the connections."""


class GivenTransport:
    """Sends over the caller's transport of httpx or httpx2, which stays open."""

    def __init__(self, transport: HttpxTransport) -> None:
        self._transport = transport
        self._library = library_of(transport)

    async def send(
        self, request: HttpRequest, timeouts: Timeouts, _proxy: str | None = None
    ) -> "HttpxResponse":
        """Send *request*; return once the headers have come."""
        limits = limits_of(timeouts)
        body = self._library.ByteStream(request.body)
        native = native_request(self._library, request, limits, body)
        try:
            return GivenResponse(await self._transport.handle_async_request(native), request.url)
        except Exception as error:
            raise translate(error, request.url) from error

    async def aclose(self) -> None:
        """Leave the transport open."""


class GivenClient:
    """Sends over the caller's client of httpx or httpx2, with its settings; it stays open."""

    def __init__(self, client: HttpxClient) -> None:
        self._client = client

    async def send(
        self, request: HttpRequest, timeouts: Timeouts, _proxy: str | None = None
    ) -> "HttpxResponse":
        """Send *request*; return once the headers have come."""
        limits = limits_of(timeouts)
        try:
            native = self._client.build_request(
                request.method,
                request.url,
                headers=dict(request.headers),
                content=request.body,
                timeout=(limits["connect"], limits["read"], limits["write"], limits["pool"]),
            )
            response = await self._client.send(native, stream=True, follow_redirects=False)
        except Exception as error:
            raise translate(error, request.url) from error
        return GivenResponse(response, request.url)

    async def aclose(self) -> None:
        """Leave the client open."""


class HttpxResponse:
    """A response of httpcore, httpx or httpx2."""

    diagnostics: tuple[Diagnostic, ...] = ()

    def __init__(
        self,
        url: str,
        status: int,
        headers: Iterable[tuple[bytes, bytes]],
        stream: Any,
        extensions: Mapping[str, Any],
    ) -> None:
        self._url = url
        self._stream = stream
        """The body, of httpcore or a class around it."""
        self._network: Any = extensions.get("network_stream")
        self._shared = extensions.get("http_version") == b"HTTP/2"
        """Whether other responses are read from the same connection."""
        self.status: int = status
        self.headers: Mapping[str, str] = joined_headers(headers)

    @property
    def upgraded(self) -> httpcore.AsyncNetworkStream | None:
        """The bare connection, after the server switched to another protocol (status 101)."""
        switched = self.status == 101 and isinstance(self._network, httpcore.AsyncNetworkStream)
        return self._network if switched else None

    def limit_reads(self, seconds: float | None) -> bool:
        """Limit every further read of the body.

        Returns False for HTTP/2, where responses share a connection and its reads, and for
        transports of the caller.
        """
        if self._shared or not isinstance(self._network, TrackedStream):
            return False
        self._network.read_limit = seconds
        return True

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Iterate over the body, decompressed. Closes the response when the iteration ends."""
        body = await self._body()
        whole = False
        try:
            async for chunk in body:
                yield chunk
            whole = True
            await self._release()
        except Exception as raised:  # noqa: BLE001  (it is raised as httpx would raise it)
            error = _as_of_httpx(raised)
            raise translate(error, self._url) from error
        finally:
            if not whole:
                await self.aclose()
                await _unwind(body)

    async def aclose(self) -> None:
        """Return the connection to the pool, or close it if the body was not read to its end."""
        with anyio.CancelScope(shield=True):
            await self._close()

    async def _body(self) -> AsyncIterator[bytes]:
        encoding = compression_of(self.headers)
        return Inflated(self._stream, encoding) if encoding else aiter(self._stream)

    async def _release(self) -> None:
        """Return the connection to the pool, unless the server sent more than its response.

        httpcore 1.0 leaves bytes after a response in h11's buffer, where they would become the
        beginning of the next response. (It does check the socket itself before it reuses a
        connection.) It closes a connection whose h11 state is an error.
        """
        if self._network is not None and not self._shared:
            parser = _parser(self._stream)
            if parser is not None and (parser.trailing_data[0] or has_unread(self._network)):
                parser.send_failed()
        await self._close()

    async def _close(self) -> None:
        if self._shared or not isinstance(self._network, TrackedStream):
            await self._close_native()
            return
        self._network.read_limit = None
        try:
            await self._close_native()
        except BaseException:  # a task of asyncio's was cancelled in the middle of it
            with anyio.CancelScope(shield=True):
                await self._network.aclose()
            raise

    async def _close_native(self) -> None:
        await self._stream.aclose()


class HttpcoreResponse(HttpxResponse):
    """A response over the engine's own connections."""

    def __init__(self, native: httpcore.Response, url: str, pool: HttpcorePool) -> None:
        super().__init__(url, native.status, native.headers, native.stream, native.extensions)
        self._pool = pool

    async def _release(self) -> None:
        await super()._release()
        self._pool.sweep()


class GivenResponse(HttpxResponse):
    """A response over the caller's transport or client."""

    def __init__(self, native: Any, url: str) -> None:
        super().__init__(
            url, native.status_code, native.headers.raw, native.stream, native.extensions
        )
        self._native = native

    async def _body(self) -> AsyncIterator[bytes]:
        if getattr(self._native, "is_stream_consumed", False):  # by an event hook of the client
            return _Pieces((await self._native.aread(),))
        return await super()._body()

    async def _close_native(self) -> None:
        await self._native.aclose()


class _Body:
    """A request's body.

    Not a generator like httpcore's own stream of bytes, which is not closed when sending is
    cancelled. Iteration begins after connecting, so it removes the read limit for connecting.
    """

    def __init__(self, data: bytes, limits: dict[str, float | None]) -> None:
        self._data = data
        self._limits = limits

    def __aiter__(self) -> "_Pieces":
        self._limits["read"] = None
        return _Pieces((self._data,))


class _Pieces:
    """An asynchronous iterator over available bytes."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)

    def __aiter__(self) -> "_Pieces":
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration


def limits_of(timeouts: Timeouts) -> dict[str, float | None]:
    """Return *timeouts* for httpx. The call itself limits reads, since its limits count events."""
    return {
        "connect": timeouts.connect,
        "read": None,
        "write": timeouts.first_event,
        "pool": timeouts.first_event,
    }


def native_request(
    library: Any, request: HttpRequest, limits: dict[str, float | None], body: Any
) -> Any:
    """Return *request* as a request of *library*, which is httpx or httpx2."""
    headers = [(k.encode("ascii"), v.encode()) for k, v in wire_headers(request).items()]
    return library.Request(
        request.method,
        _native_url(library, request.url),
        headers=headers,
        stream=body,
        extensions={"timeout": limits},
    )


@functools.lru_cache(maxsize=256)
def _native_url(library: Any, url: str) -> Any:
    return library.URL(wire_url(url))


def _pooled_request(request: HttpRequest, limits: dict[str, float | None]) -> httpcore.Request:
    """Return *request* for httpcore, as httpx would make it."""
    made = httpcore.Request(
        request.method,
        _pooled_url(request.url),
        content=_Body(request.body, limits),
        extensions={"timeout": limits},
    )
    # Set here, since the constructor checks the type of each.
    made.headers = [(k.encode("ascii"), v.encode()) for k, v in wire_headers(request).items()]
    return made


@functools.lru_cache(maxsize=256)
def _pooled_url(url: str) -> httpcore.URL:
    parts = httpx.URL(wire_url(url))
    return httpcore.URL(
        scheme=parts.raw_scheme, host=parts.raw_host, port=parts.port, target=parts.raw_path
    )


def _as_of_httpx(error: Exception) -> Exception:
    """Return an exception of httpcore as that of httpx, which has its name; others unchanged."""
    kind = type(error)
    if not kind.__module__.startswith("httpcore") or not hasattr(httpx, kind.__name__):
        return error
    named: Exception = getattr(httpx, kind.__name__)(str(error))
    named.__cause__ = error
    return named


def library_of(given: object) -> Any:
    """Return the module, httpx or httpx2, of the client or transport *given*."""
    roots = {kind.__module__.partition(".")[0] for kind in type(given).__mro__}
    return importlib.import_module("httpx2") if "httpx2" in roots else httpx


_INNER: Final = ("_stream", "_httpcore_stream", "_connection", "_h11_state")


def _parser(stream: Any) -> Any:
    """Return the h11 connection that a response of httpcore is read with, or None.

    httpx, httpcore and httpx2 nest the streams of a response; none has public access to the
    parser.
    """
    while stream is not None and not hasattr(stream, "trailing_data"):
        inner = (getattr(stream, name, None) for name in _INNER)
        stream = next((item for item in inner if item is not None), None)
    return stream


async def _unwind(body: AsyncIterator[bytes]) -> None:
    """Run the generators of a closed response to their end.

    They are nested, and a generator that is dropped early is closed by the garbage collector at
    some later time (trio warns about it). Reading on ends them all: it fails on a closed
    connection, and is cancelled on an HTTP/2 connection, which stays open for other requests.
    """
    with anyio.CancelScope(shield=True) as scope, contextlib.suppress(Exception):
        scope.cancel()
        async for _ in body:
            continue
