"""HTTP, over connections of our own or over any client with httpx's asynchronous interface.

By default requests go over httpcore, the engine of httpx (see `connections`). A client that
is given instead may be an `httpx.AsyncClient`, an `httpx2.AsyncClient`, or an httpx client over an
aiohttp transport.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urljoin, urlsplit

import anyio
from attrs import evolve

from llmcore.client.http.options import HttpOptions
from llmcore.client.pool import PerLoop
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.timeouts import Timeouts
from llmcore.schema.errors import LLMError, NetworkError, RequestTimeoutError

if TYPE_CHECKING:
    from llmcore.client.connections import Connections

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({307, 308})
"""The redirects that keep method and body; others would turn a POST into a GET."""


class HttpClient(Protocol):
    """What is used of `httpx.AsyncClient`."""

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

    async def send(self, request: Any, *, stream: bool) -> Any:
        """Send it, and return once the headers have come."""

    async def aclose(self) -> None:
        """Free the connections."""


class Answer(Protocol):
    """A response whose headers have come, of either kind of connection."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, lower case."""
        ...

    def limit_reads(self, seconds: float | None, /) -> bool:
        """Let no read of the body take longer from now on; False where that cannot be had."""
        ...

    def body(self) -> AsyncIterator[bytes]:
        """Iterate over the body, decompressed."""
        ...

    async def aclose(self) -> None:
        """Give the connection back, or cut it in the middle of the body. Idempotent."""
        ...


class HttpTransport:
    """Sends requests over one connection pool an event loop, or over a client it is given.

    A client it is given stays the caller's: it is not closed here.
    """

    def __init__(
        self,
        client: HttpClient | None = None,
        *,
        options: HttpOptions | None = None,
        socket: str | None = None,
    ) -> None:
        self._given = None if client is None else GivenClient(client)
        self._pools: PerLoop[Connections] = PerLoop(
            lambda: _new_connections(options or HttpOptions(), socket), _close
        )

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "HttpExchange":
        """Send *request*, following redirects; to another host they carry no credentials."""
        connections = self._given or await self._pools.get()
        for _ in range(MAX_REDIRECTS + 1):
            try:
                answer = await connections.send(request, timeouts)
            except LLMError:
                raise
            except Exception as error:
                raise translate(error, request) from error
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or not location:
                return HttpExchange(answer, request)
            await answer.aclose()
            request = _redirected(request, location)
        raise NetworkError(f"more than {MAX_REDIRECTS} redirects, the last to {request.safe_url}")

    async def aclose(self) -> None:
        """Close this loop's pool."""
        await self._pools.aclose()


class HttpExchange:
    """A response, its transport's exceptions translated."""

    def __init__(self, answer: Answer, request: HttpRequest) -> None:
        self._answer = answer
        self._request = request
        self.status = answer.status
        self.headers = answer.headers

    def limit_reads(self, seconds: float | None) -> bool:
        """Let no read of the body take longer from now on; False where that cannot be had."""
        return self._answer.limit_reads(seconds)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Iterate over the body, decompressed. Closes the response, however it is left."""
        body = self._answer.body()
        whole = False
        try:
            async for chunk in body:
                yield chunk
            whole = True
            await self._answer.aclose()
        except Exception as error:
            raise translate(error, self._request) from error
        finally:
            if not whole:
                await self.aclose()
                await _unwind(body)

    async def aclose(self) -> None:
        """Close the response: the connection goes back to the pool, or is cut."""
        with anyio.CancelScope(shield=True):
            await self._answer.aclose()


class GivenClient:
    """Sends over a client with httpx's interface."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "GivenResponse":
        """Send one request; reading is limited by the caller, who counts events."""
        native = self._client.build_request(
            request.method,
            request.url,
            headers=dict(request.headers),
            content=request.body,
            timeout=(timeouts.connect, None, timeouts.first_event, timeouts.first_event),
        )
        return GivenResponse(await self._client.send(native, stream=True))


class GivenResponse:
    """A response of httpx, or of what looks like it."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = {k.lower(): v for k, v in response.headers.items()}

    def limit_reads(self, _seconds: float | None) -> bool:
        """Leave the limit to the caller: what such a client makes of one is not known."""
        return False

    def body(self) -> AsyncIterator[bytes]:
        """Iterate over the body, decompressed."""
        encoded = self.headers.get("content-encoding", "identity") not in ("", "identity")
        iterator: AsyncIterator[bytes] = (
            self._response.aiter_bytes() if encoded else self._response.aiter_raw()
        )
        return iterator

    async def aclose(self) -> None:
        """Close the response."""
        await self._response.aclose()


async def _unwind(body: AsyncIterator[bytes]) -> None:
    """Run the generators of a closed response to their end.

    They are nested several deep, and one that is dropped in the middle is closed by the
    garbage collector at a time of its choosing (trio warns of it). Reading on ends them all: from
    a closed connection it fails, and on one of HTTP/2, which stays open for others, it is
    cancelled. Neither is news to anybody.
    """
    with anyio.CancelScope(shield=True) as scope, contextlib.suppress(Exception):
        scope.cancel()
        async for _ in body:
            continue


def _redirected(request: HttpRequest, location: str) -> HttpRequest:
    try:
        target = urljoin(request.url, location)
        before, after = urlsplit(request.url), urlsplit(target)
    except ValueError as error:
        raise NetworkError("redirected to what is no URL", cause=error) from error
    if after.scheme not in ("http", "https"):
        raise NetworkError(f"redirected to {after.scheme}:, which is not HTTP", retryable=False)
    same = (before.scheme, before.netloc) == (after.scheme, after.netloc)
    if before.scheme == "https" and after.scheme != "https":
        raise NetworkError("redirected from https to http; refused", retryable=False)
    moved = evolve(request, url=target)
    return moved if same else moved.without_credentials()


_TRANSPORT_FAULTS = frozenset(
    {"RequestError", "InvalidURL", "NetworkError", "ProtocolError", "ProxyError"}
    | {"UnsupportedProtocol", "ConnectionNotAvailable"}
)
_TIMEOUT_NAMES = {"ConnectTimeout": "connect", "PoolTimeout": "pool", "WriteTimeout": "write"}


def translate(error: Exception, request: HttpRequest) -> Exception:
    """Return a transport's exception as ours; what is no transport's fault stays as it is.

    Exceptions are told by the names of their classes, so that any library with httpx's
    interface will do.
    """
    if isinstance(error, LLMError):
        return error
    names = [kind.__name__ for kind in type(error).__mro__]
    where = urlsplit(request.url)
    target = f"{where.scheme}://{where.netloc}"
    detail = _detail(error)
    root = error.__cause__ or error.__context__
    refused = isinstance(root, OSError) and not isinstance(root, TimeoutError)
    if ("TimeoutException" in names and not refused) or isinstance(error, TimeoutError):
        code = next((_TIMEOUT_NAMES[name] for name in names if name in _TIMEOUT_NAMES), "read")
        message = f"{target} did not answer in time ({code}): {detail}"
        return RequestTimeoutError(message, error_code=code, cause=error)
    if not _TRANSPORT_FAULTS.isdisjoint(names) or isinstance(error, OSError | ValueError):
        return NetworkError(f"the connection to {target} failed: {detail}", cause=error)
    return error


def _detail(error: Exception) -> str:
    """Return the first words in the chain of causes; the outer ones are often empty."""
    link: BaseException | None = error
    while link is not None:
        if words := str(link):
            return words
        link = link.__cause__ or link.__context__
    return type(error).__name__


def _new_connections(options: HttpOptions, socket: str | None) -> "Connections":
    from llmcore.client.connections import Connections  # loads httpcore

    options.check_extras()
    return Connections(
        tls=options.tls_context,
        http2=options.http2,
        socket=socket,
        proxy_for=options.proxy_for if socket is None else lambda _url: None,
    )


async def _close(connections: "Connections") -> None:
    await connections.aclose()
