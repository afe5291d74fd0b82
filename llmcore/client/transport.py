"""The interface of transports, which send a request and return the response's bytes.

Connection pools are transports, and so are cassette players.
"""

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts, WebSocket
from llmcore.schema.diagnostics import Diagnostic


class Chunks(Protocol):
    """The pieces of a body as they arrive, such as an asynchronous generator.

    It can also have a method `at_end`, which returns whether all pieces have been read and the end
    has arrived, so that the next read does not wait.
    """

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def __anext__(self) -> Awaitable[bytes]: ...

    def aclose(self) -> Awaitable[None]:
        """End the iteration before the end of the body. Idempotent."""
        ...


class Exchange(Protocol):
    """A response whose headers have arrived and whose body is not read yet.

    It can also have `diagnostics`, a tuple of reports on how it was sent.
    """

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The response headers, lower case."""
        ...

    def limit_reads(self, seconds: float | None, /) -> bool:
        """Limit every further read of the body; False if that is not supported.

        A read that takes longer raises RequestTimeoutError with the error code `read`.
        """
        ...

    def chunks(self) -> Chunks:
        """Iterate over the body. Raises NetworkError if it breaks off."""
        ...

    async def aclose(self) -> None:
        """Free the connection at any point of the body. Idempotent."""
        ...


class WrappedExchange:
    """An exchange that passes on another one. A subclass changes a part of it."""

    def __init__(self, inner: Exchange) -> None:
        self._inner = inner
        self.status = inner.status
        self.headers = inner.headers
        self.diagnostics: tuple[Diagnostic, ...] = getattr(inner, "diagnostics", ())

    def limit_reads(self, seconds: float | None, /) -> bool:
        """Limit every further read of the body; False if that is not supported."""
        return self._inner.limit_reads(seconds)

    def chunks(self) -> Chunks:
        """Iterate over the body."""
        return self._inner.chunks()

    async def aclose(self) -> None:
        """Free the connection."""
        await self._inner.aclose()


class Transport(Protocol):
    """Sends requests. Safe for concurrent use."""

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> Exchange:
        """Send *request* and wait for the response's headers.

        Raises NetworkError, or RequestTimeoutError when the connect limit runs out.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        ...


class Socket(Protocol):
    """An open WebSocket. One task at a time may use it."""

    async def send(self, message: bytes) -> None:
        """Send one text message. Raises NetworkError."""
        ...

    async def receive(self) -> Sequence[bytes]:
        """Return the text messages that have arrived, at least one.

        Raises NetworkError once the server has closed it, whose `error_code` is the close code
        if there was one; StreamError for a message that is not text.
        """
        ...

    def rest(self) -> None:
        """Keep the idle socket alive, such as by answering pings, until `settle` or `aclose`."""
        ...

    async def settle(self) -> Sequence[bytes] | None:
        """Return messages that arrived while it was idle; None if it must not be reused."""
        ...

    async def aclose(self) -> None:
        """Close the socket without waiting for the server. Idempotent."""
        ...


@runtime_checkable
class OpensSockets(Protocol):
    """A transport that can also open WebSockets."""

    async def open_socket(
        self, request: HttpRequest, timeouts: Timeouts, spec: WebSocket
    ) -> Socket:
        """Open a socket with *request*, a GET of a `ws` or `wss` URL.

        Raises NetworkError, or RequestTimeoutError when the connect limit runs out.
        """
        ...
