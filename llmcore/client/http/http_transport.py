"""Sends HTTP requests over the engine that options and request select; follows redirects."""

import inspect
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

import sniffio
from attrs import evolve

from llmcore.client.http.engine import HttpEngine, HttpResponse
from llmcore.client.http.options import HttpOptions, with_version
from llmcore.client.pool import PerLoop
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import ConfigurationError, NetworkError
from llmcore.schema.frozen import frozen

if TYPE_CHECKING:
    from llmcore.client.http.httpx_engine import HttpxClient, HttpxTransport


class AiohttpSession(Protocol):
    """The attributes of an `aiohttp.ClientSession`, whose type is unknown without aiohttp.

    A type checker in strict mode would report each `Client(...)` where aiohttp is not installed.
    """

    @property
    def cookie_jar(self) -> Any:
        """The cookies of the session."""
        ...

    @property
    def connector(self) -> Any:
        """The connections of the session."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


HttpClient: TypeAlias = Union["HttpxClient", "HttpxTransport", AiohttpSession]
"""A client, transport or session of the caller, who closes it."""

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({307, 308})
"""The redirects that keep method and body; others would turn a POST into a GET."""
_FOR_ANY_HOST = frozenset({"accept", "accept-encoding", "content-encoding", "content-type"})
"""The headers that are sent to another host after a redirect: they describe the body only."""


class HttpTransport:
    """Sends requests over engines of each event loop, or over a client of the caller."""

    def __init__(
        self,
        client: HttpClient | None = None,
        *,
        options: HttpOptions | None = None,
        socket: str | None = None,
    ) -> None:
        self._given = None if client is None else checked_client(client)
        self._options = options or HttpOptions()
        self._socket = socket
        self._engines: PerLoop[HttpEngine] = PerLoop(self._new_engine, _close)

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> HttpResponse:
        """Send *request* and follow redirects; credentials are not sent to another host."""
        engine = await self._engines.get()
        for _ in range(MAX_REDIRECTS + 1):
            response = await engine.send(request, timeouts)
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or not location:
                return response
            await response.aclose()
            request = _redirected(request, location)
        raise NetworkError(f"more than {MAX_REDIRECTS} redirects, the last to {request.safe_url}")

    async def aclose(self) -> None:
        """Close this loop's connections."""
        await self._engines.aclose()

    def _new_engine(self) -> HttpEngine:
        if self._given is not None:
            return _engine_over(self._given)
        return Engines(self._options, self._socket)


@frozen
class _ServerEngine:
    """How requests to one server are sent."""

    engine: HttpEngine
    proxy: str | None
    diagnostics: tuple[Diagnostic, ...]


def _engine_note(name: str, proxied: bool) -> Diagnostic:
    message = f"HTTP by {with_version(name)}{', through a proxy' if proxied else ''}"
    return Diagnostic("http-engine", "http", action="noted", message=message)


class Engines:
    """The engines of one event loop, each made when a request needs it."""

    def __init__(self, options: HttpOptions, socket: str | None) -> None:
        options.check_extras()
        self._options = options
        self._socket = socket
        self._engine_name = options.engine_on(sniffio.current_async_library())
        self._engines: dict[str, HttpEngine] = {}
        self._servers: dict[tuple[str, str], _ServerEngine] = {}
        """By scheme and authority of a URL."""

    def send(
        self, request: HttpRequest, timeouts: Timeouts, _proxy: str | None = None
    ) -> Awaitable[HttpResponse]:
        """Send *request* over the engine of its server."""
        server = urlsplit(request.url)[:2]
        chosen = self._servers.get(server)
        if chosen is None:
            chosen = self._servers[server] = self._engine_of(request.url)
        sent = chosen.engine.send(request, timeouts, chosen.proxy)
        return _noted(sent, chosen.diagnostics) if chosen.diagnostics else sent

    async def aclose(self) -> None:
        """Close all connections."""
        for engine in self._engines.values():
            await engine.aclose()

    def _engine_of(self, url: str) -> _ServerEngine:
        proxy = None if self._socket is not None else self._options.proxy_for(url)
        direct = proxy is None or proxy.startswith("http:")
        name = self._engine_name if direct else "httpx"
        diagnostics = (_engine_note(name, proxy is not None),) if self._options.debug else ()
        return _ServerEngine(self._engine(name), proxy, diagnostics)

    def _engine(self, name: str) -> HttpEngine:
        if name not in self._engines:
            self._engines[name] = self._aiohttp() if name == "aiohttp" else self._httpx()
        return self._engines[name]

    def _aiohttp(self) -> HttpEngine:
        from llmcore.client.http.aiohttp_engine import AiohttpEngine

        return AiohttpEngine(tls=self._options.tls_context, socket=self._socket)

    def _httpx(self) -> HttpEngine:
        from llmcore.client.http.httpx_engine import HttpxEngine

        options = self._options
        return HttpxEngine(tls=options.tls_context, http2=options.http2, socket=self._socket)


async def _noted(
    sent: Awaitable[HttpResponse], diagnostics: tuple[Diagnostic, ...]
) -> HttpResponse:
    response = await sent
    response.diagnostics = diagnostics
    return response


def checked_client(client: Any) -> HttpClient:
    """Return *client* if requests can be sent over it; ConfigurationError if not."""
    if not isinstance(client, type):  # a class has the methods, too
        if hasattr(client, "handle_async_request") or _is_session(client):
            return client  # type: ignore[no-any-return]
        send = getattr(client, "send", None)
        if hasattr(client, "build_request") and inspect.iscoroutinefunction(send):
            return client  # type: ignore[no-any-return]
    kind = client.__name__ if isinstance(client, type) else type(client).__name__
    message = (
        f"http must be HttpOptions, an httpx.AsyncClient, an asynchronous transport of httpx or an "
        f"aiohttp.ClientSession, not {kind}"
    )
    raise ConfigurationError(message)


def _engine_over(client: Any) -> HttpEngine:
    if _is_session(client):
        if sniffio.current_async_library() != "asyncio":
            raise ConfigurationError("an aiohttp.ClientSession can only be used on asyncio")
        from llmcore.client.http.aiohttp_engine import AiohttpEngine

        return AiohttpEngine(session=client)
    from llmcore.client.http.httpx_engine import GivenClient, GivenTransport

    if hasattr(client, "handle_async_request"):
        return GivenTransport(client)
    return GivenClient(client)


def _is_session(client: object) -> bool:
    kinds = ((kind.__module__, kind.__name__) for kind in type(client).__mro__)
    return ("aiohttp.client", "ClientSession") in kinds


def _redirected(request: HttpRequest, location: str) -> HttpRequest:
    try:
        target = urljoin(request.url, location)
        before, after = urlsplit(request.url), urlsplit(target)
        _ = after.port  # ValueError for a number that no port has
    except ValueError as error:
        message = "the redirect's target is not a URL"
        raise NetworkError(message, cause=error, retryable=False) from error
    if after.scheme not in ("http", "https"):
        raise NetworkError(f"redirected to {after.scheme}:, which is not HTTP", retryable=False)
    if before.scheme == "https" and after.scheme != "https":
        raise NetworkError("redirected from https to http; refused", retryable=False)
    if (before.scheme, before.netloc) == (after.scheme, after.netloc):
        return evolve(request, url=target)
    return _for_another_host(request, target)


def _for_another_host(request: HttpRequest, target: str) -> HttpRequest:
    """Return *request* to *target* without anything that may be a credential of the caller.

    Names do not show what is secret, so only headers that describe the body are kept, and query
    parameters that the server repeated from the request are removed.
    """
    scheme, host, path, query, fragment = urlsplit(target)
    sent = {name for name, _ in parse_qsl(urlsplit(request.url).query, keep_blank_values=True)}
    new = [(k, v) for k, v in parse_qsl(query, keep_blank_values=True) if k not in sent]
    kept = query if not sent else urlencode(new)
    return evolve(
        request,
        url=urlunsplit((scheme, host.rpartition("@")[2], path, kept, fragment)),
        headers={k: v for k, v in request.headers.items() if k in _FOR_ANY_HOST},
        secret_headers=frozenset(),
        secret_query=frozenset(),
    )


async def _close(engine: HttpEngine) -> None:
    await engine.aclose()
