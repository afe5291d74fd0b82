"""HTTP, by httpx or by anything with its asynchronous interface.

`httpx.AsyncClient` is the default; `httpx2.AsyncClient` and an httpx client over an aiohttp
transport work as well. Only this module knows httpx, and imports it on first use.
"""

import contextlib
import functools
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

import anyio
from attrs import evolve

from llmcore.client.pool import PerLoop
from llmcore.client.timeouts import Timeouts
from llmcore.routes.http_request import HttpRequest
from llmcore.schema.errors import LLMError, NetworkError, RequestTimeoutError

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


class HttpTransport:
    """Sends requests over one connection pool an event loop, or over a client it is given.

    A client it is given stays the caller's: it is not closed here.
    """

    def __init__(
        self, client: HttpClient | None = None, *, http2: bool = False, socket: str | None = None
    ) -> None:
        self._given = client
        self._pools: PerLoop[HttpClient] = PerLoop(
            lambda: _new_client(http2=http2, socket=socket), _close
        )

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "HttpExchange":
        """Send *request*, following redirects; to another host they carry no credentials."""
        client = self._given or await self._pools.get()
        for _ in range(MAX_REDIRECTS + 1):
            response = await _send(client, request, timeouts)
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location:
                limited = self._given is None and _limit_reads(response, timeouts.idle)
                return HttpExchange(response, request, limits_reads=limited)
            await response.aclose()
            request = _redirected(request, location)
        raise NetworkError(f"more than {MAX_REDIRECTS} redirects, the last to {request.safe_url}")

    async def aclose(self) -> None:
        """Close this loop's pool."""
        await self._pools.aclose()


class HttpExchange:
    """A response of httpx, or of what looks like it."""

    def __init__(self, response: Any, request: HttpRequest, *, limits_reads: bool) -> None:
        self._response = response
        self._request = request
        self.limits_reads = limits_reads
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = {k.lower(): v for k, v in response.headers.items()}

    async def chunks(self) -> AsyncIterator[bytes]:
        """Iterate over the body, decompressed. Closes the response, however it is left."""
        response = self._response
        encoded = self.headers.get("content-encoding", "identity") not in ("", "identity")
        body = response.aiter_bytes() if encoded else response.aiter_raw()
        whole = False
        try:
            async for chunk in body:
                yield chunk
            whole = True
        except Exception as error:
            raise translate(error, self._request) from error
        finally:
            if not whole:  # one that is read to its end has closed itself
                await self.aclose()
                await _unwind(body)

    async def aclose(self) -> None:
        """Close the response: the connection goes back to the pool, or is cut."""
        with anyio.CancelScope(shield=True):
            await self._response.aclose()


async def _unwind(body: AsyncIterator[bytes]) -> None:
    """Run the generators of a closed response to their end.

    They are nested several deep, and one that is dropped in the middle is closed by the
    garbage collector at a time of its choosing (trio warns of it). Reading on from
    a closed connection fails, and the failure ends them all; it is no news to anybody.
    """
    with anyio.CancelScope(shield=True), contextlib.suppress(Exception):
        async for _ in body:
            continue


async def _send(client: HttpClient, request: HttpRequest, timeouts: Timeouts) -> Any:
    """Send one request; reading is limited by the caller, who counts events."""
    try:
        native = client.build_request(
            request.method,
            request.url,
            headers=dict(request.headers),
            content=request.body,
            timeout=_timeout(timeouts),
        )
        return await client.send(native, stream=True)
    except Exception as error:
        raise translate(error, request) from error


def _timeout(timeouts: Timeouts) -> tuple[float | None, None, float | None, float | None]:
    """Return the limits in httpx's order: connect, read, write, pool."""
    return (timeouts.connect, None, timeouts.first_event, timeouts.first_event)


def _limit_reads(response: Any, seconds: float | None) -> bool:
    """Limit each read of the body; while waiting for the headers another limit counts.

    httpx reads its limits anew for the body, from the request's extensions.
    """
    response.request.extensions["timeout"]["read"] = seconds
    return True


def _redirected(request: HttpRequest, location: str) -> HttpRequest:
    target = urljoin(request.url, location)
    before, after = urlsplit(request.url), urlsplit(target)
    if after.scheme not in ("http", "https"):
        raise NetworkError(f"redirected to {after.scheme}:, which is not HTTP")
    same = (before.scheme, before.netloc) == (after.scheme, after.netloc)
    if before.scheme == "https" and after.scheme != "https":
        raise NetworkError("redirected from https to http; refused")
    moved = evolve(request, url=target)
    return moved if same else moved.without_credentials()


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
    detail = str(error) or type(error).__name__
    root = error.__cause__ or error.__context__
    refused = isinstance(root, OSError) and not isinstance(root, TimeoutError)
    if ("TimeoutException" in names and not refused) or isinstance(error, TimeoutError):
        code = next((_TIMEOUT_NAMES[name] for name in names if name in _TIMEOUT_NAMES), "read")
        message = f"{target} did not answer in time ({code}): {detail}"
        return RequestTimeoutError(message, error_code=code, cause=error)
    if "TransportError" in names or "InvalidURL" in names or isinstance(error, OSError):
        return NetworkError(f"the connection to {target} failed: {detail}", cause=error)
    return error


def _new_client(*, http2: bool, socket: str | None) -> HttpClient:
    import httpx

    transport = httpx.AsyncHTTPTransport(uds=socket) if socket else None
    return httpx.AsyncClient(
        http2=http2,
        verify=shared_tls_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
        timeout=None,  # noqa: S113  (every request brings its own limits)
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
        follow_redirects=False,
        transport=transport,
    )


async def _close(client: HttpClient) -> None:
    await client.aclose()


@functools.cache
def shared_tls_context(cert_file: str | None, cert_dir: str | None) -> ssl.SSLContext:
    """Return the process's TLS context, which takes ten milliseconds to make.

    `SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured; they come in as arguments, so that a
    change of environment gives a new context.
    """
    import httpx

    if cert_file or cert_dir:
        return ssl.create_default_context(cafile=cert_file, capath=cert_dir)
    context: ssl.SSLContext = httpx.create_ssl_context()
    return context
