"""The transport interface: what carries one request and brings the response's bytes.

A cassette player is a transport as much as a connection pool is.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from llmcore.client.timeouts import Timeouts
from llmcore.routes.http_request import HttpRequest


class Exchange(Protocol):
    """A response whose headers have come and whose body is still to be read."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The response headers, lower case."""
        ...

    @property
    def limits_reads(self) -> bool:
        """Whether a read that takes longer than the idle limit ends by itself.

        It is then a RequestTimeoutError of the code `read`, and the caller need not
        watch each read.
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
