"""Transports of tests as transports of httpx and httpx2, asynchronous and blocking.

So cassettes and scripts can be put under any SDK that takes a client of httpx:

    AsyncOpenAI(http_client=httpx2.AsyncClient(transport=scripted(ANSWER)))

Requests arrive as `httpx.Request` and leave as the `HttpRequest` that llmcore's own client sends;
responses and errors become those of the library that asked. Blocking requests run on the event loop
of `llmcore.sync`.
"""

from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import anyio

from llmcore.client.transport import Exchange
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import LLMError, NetworkError, RequestTimeoutError, StreamError

if TYPE_CHECKING:
    import httpx
    import httpx2

    class _Transport(
        httpx.AsyncBaseTransport,
        httpx.BaseTransport,
        httpx2.AsyncBaseTransport,
        httpx2.BaseTransport,
    ):
        """The base classes that type checkers ask for; at run time the methods are enough."""

        async def handle_async_request(self, request: Any) -> Any: ...
        def handle_request(self, request: Any) -> Any: ...
        async def __aenter__(self) -> Self: ...
        def __enter__(self) -> Self: ...

else:
    _Transport = object

_T = TypeVar("_T")

_OF_THE_CONNECTION: Final = frozenset(
    {"accept-encoding", "connection", "content-length", "host", "transfer-encoding"}
)
"""Headers that the inner transport writes itself."""
_OF_THE_ENCODING: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that no longer describe a body whose encodings were undone."""


class HttpxCompatible(_Transport):
    """The methods that httpx and httpx2 call on a transport, by means of `send`."""

    @abstractmethod
    async def send(self, request: HttpRequest, timeouts: Timeouts) -> Exchange:
        """Send *request* and wait for the response's headers."""

    async def aclose(self) -> None:
        """Close all connections. Idempotent; a transport that has none does nothing."""

    async def handle_async_request(self, request: Any) -> Any:
        """Send an `httpx.Request` and return the `httpx.Response`, whose body is still to come.

        Raises httpx's own errors for those of the network.
        """
        await request.aread()
        response = await _Response.of(self, request)
        return response.response(_streams(response.library)[0](response))

    def handle_request(self, request: Any) -> Any:
        """Do what `handle_async_request` does, blocking."""
        request.read()
        response = _blocking(lambda: _Response.of(self, request))
        return response.response(_streams(response.library)[1](response))

    def close(self) -> None:
        """Do what `aclose` does, blocking."""
        _blocking(self.aclose)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class _Response:
    """A response on its way to a client of httpx or httpx2."""

    def __init__(self, exchange: Exchange, request: Any, library: Any) -> None:
        self.library = library
        self._exchange = exchange
        self._request = request
        self._chunks = exchange.chunks()
        limit = _read_limit(request)
        self._limit = None if exchange.limit_reads(limit) else limit

    @classmethod
    async def of(cls, transport: HttpxCompatible, request: Any) -> "_Response":
        """Send *request* over *transport*."""
        from llmcore.client.http.httpx_engine import library_of  # loads httpx

        library = library_of(request)
        sent = HttpRequest(
            method=request.method,
            url=str(request.url),
            headers={k: v for k, v in request.headers.items() if k not in _OF_THE_CONNECTION},
            body=request.content,
        )
        timeouts = Timeouts(connect=_limits(request).get("connect"))
        try:
            with anyio.fail_after(_read_limit(request)):
                return cls(await transport.send(sent, timeouts), request, library)
        except (LLMError, TimeoutError) as error:
            raise _native_error(error, request, library, "ConnectError") from error

    def response(self, stream: object) -> Any:
        """Return the library's response, whose body is *stream*."""
        headers = self._exchange.headers
        return self.library.Response(
            self._exchange.status,
            headers={k: v for k, v in headers.items() if k.lower() not in _OF_THE_ENCODING},
            stream=stream,
            request=self._request,
        )

    async def next_chunk(self) -> bytes | None:
        """Return the next piece of the body; None at its end."""
        try:
            with anyio.fail_after(self._limit):
                return await anext(self._chunks, None)
        except (LLMError, TimeoutError) as error:
            raise _native_error(error, self._request, self.library, "ReadError") from error

    async def aclose(self) -> None:
        """Free the connection. Idempotent."""
        await self._chunks.aclose()
        await self._exchange.aclose()


@cache
def _streams(library: Any) -> tuple[type, type]:
    """Return body classes derived from the library's own, since it checks the class of a body."""

    class AsyncBody(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, response: _Response) -> None:
            self._response = response

        def __aiter__(self) -> AsyncIterator[bytes]:
            return _Chunks(self._response)

        async def aclose(self) -> None:
            await self._response.aclose()

    class BlockingBody(library.SyncByteStream):  # type: ignore[misc]
        def __init__(self, response: _Response) -> None:
            self._response = response

        def __iter__(self) -> Iterator[bytes]:
            while (chunk := _blocking(self._response.next_chunk)) is not None:
                yield chunk

        def close(self) -> None:
            _blocking(self._response.aclose)

    return AsyncBody, BlockingBody


class _Chunks:
    """An iterator over a body; a class, since generators are not closed if callers stop early."""

    def __init__(self, response: _Response) -> None:
        self._response = response

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._response.next_chunk()
        if chunk is None:
            raise StopAsyncIteration
        return chunk


def _blocking(work: Callable[[], Awaitable[_T]]) -> _T:
    from llmcore.sync.background import background  # for blocking clients alone

    return background().run(work)


def _limits(request: Any) -> dict[str, float | None]:
    """Return the time limits of a request, in seconds."""
    limits: dict[str, float | None] = request.extensions.get("timeout", {})
    return limits


def _read_limit(request: Any) -> float | None:
    return _limits(request).get("read")


_TIMEOUTS: Final = {"connect": "ConnectTimeout", "pool": "PoolTimeout", "write": "WriteTimeout"}


def _native_error(error: Exception, request: Any, library: Any, otherwise: str) -> Exception:
    """Return an error of the network as the library's own; any other error stays as it is."""
    match error:
        case RequestTimeoutError():
            name = _TIMEOUTS.get(error.error_code or "", "ReadTimeout")
        case TimeoutError():
            name = "ReadTimeout"
        case NetworkError():
            name = otherwise
        case StreamError():
            name = "RemoteProtocolError"
        case _:
            return error
    native: Exception = getattr(library, name)(str(error), request=request)
    return native
