"""The interface of engines, which send an HTTP request and read its response.

An engine belongs to one event loop. Redirects, the choice of the engine and the choice of the
proxy are made above it, in `http_transport`.
"""

import socket
from collections.abc import Awaitable
from typing import Final, Protocol

from llmcore.client.transport import Exchange
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.diagnostics import Diagnostic

MAX_IDLE_CONNECTIONS: Final = 100
"""The most idle connections that are kept for later requests."""
IDLE_SECONDS: Final = 5.0
"""How long idle connections are kept. Many servers close theirs soon after."""


_PROBES: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 60, "TCP_KEEPCNT": 5}
"""Options by their names; systems have some of them. macOS calls the first one TCP_KEEPALIVE."""
SOCKET_OPTIONS: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, n), v)
        for n, v in _PROBES.items()
        if hasattr(socket, n)
    ),
)
"""A silent connection is probed each minute, with the values of Anthropic's SDK.

Networks forget a connection that carries nothing for some minutes, as while a model thinks.
"""


class HttpResponse(Exchange, Protocol):
    """A response of an engine: its headers are lower case, its body is decompressed.

    Repeated headers are joined by commas (RFC 9110, 5.3).
    """

    diagnostics: tuple[Diagnostic, ...]
    """The engine and connection of the response, if `HttpOptions.debug` is set."""


class HttpEngine(Protocol):
    """Sends requests over a pool of connections. Safe for concurrent use in its event loop."""

    def send(
        self, request: HttpRequest, timeouts: Timeouts, proxy: str | None = None, /
    ) -> Awaitable[HttpResponse]:
        """Send *request* and return when the response's headers have arrived. Follows no redirects.

        Raises NetworkError, or RequestTimeoutError if the connect limit expires.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections, including those that are still being opened. Idempotent."""
        ...
