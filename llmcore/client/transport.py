"""The transport interface: what carries one request and brings the response's bytes.

A cassette player is a transport as much as a connection pool is.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport import Timeouts, WebSocket


class Exchange(Protocol):
    """A response whose headers have come and whose body is still to be read.

    It may also have `diagnostics`, a tuple of what there is to say about how it came.
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
        """Let no read of the body take longer from now on; False where that cannot be had.

        One that does is a RequestTimeoutError of the code `read`; the caller need not watch each.
        """
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Iterate over the body as it comes. Raises NetworkError if it breaks off."""
        ...

    async def aclose(self) -> None:
        """Free the connection, also in the middle of the body. Idempotent."""
        ...


class Transport(Protocol):
    """Carries requests. Safe for concurrent use."""

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> Exchange:
        """Send *request* and wait for the response's headers.

        Raises NetworkError, or RequestTimeoutError when the connect limit runs out.
        """
        ...

    async def aclose(self) -> None:
        """Free everything. Idempotent."""
        ...


class Socket(Protocol):
    """An open WebSocket. One task at a time may use it."""

    async def send(self, message: bytes) -> None:
        """Send one text message. Raises NetworkError."""
        ...

    async def receive(self) -> Sequence[bytes]:
        """Return the text messages that have come, at least one.

        Raises NetworkError once the server has closed it, whose `error_code` is the close code
        if there was one; StreamError for what is no text message.
        """
        ...

    def rest(self) -> None:
        """Look after it by itself, such as answer pings, until `settle` or `aclose`."""
        ...

    async def settle(self) -> Sequence[bytes] | None:
        """Return what came while it rested; None if no message can be sent any more."""
        ...

    async def aclose(self) -> None:
        """Close it, without waiting for the server. Idempotent."""
        ...


@runtime_checkable
class OpensSockets(Protocol):
    """A transport that can also open WebSockets."""

    async def open_socket(
        self, request: HttpRequest, timeouts: Timeouts, spec: WebSocket
    ) -> Socket:
        """Open a socket by *request*, a GET of a `ws` or `wss` URL.

        Raises NetworkError, or RequestTimeoutError when the connect limit runs out.
        """
        ...
