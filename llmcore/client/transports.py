"""Which transport runs which route: the interpreters of `llmcore.routes.transport`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio
from attrs import evolve

from llmcore.client.http import HttpClient, HttpTransport
from llmcore.client.transport import Transport
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.route import PreparedRequest, Route
from llmcore.routes.transport import EmbeddedServer, Http

if TYPE_CHECKING:
    from llmcore.client.local_server import LocalServers


class Transports:
    """A client's transports, made on first use."""

    def __init__(
        self,
        *,
        http: HttpClient | None,
        transport: Transport | None,
        environ: Mapping[str, str],
    ) -> None:
        self._given = transport
        self._http = HttpTransport(http)
        self._http2: HttpTransport | None = None
        self._environ = environ
        self._local: LocalServers | None = None

    async def ready(
        self, route: Route, prepared: PreparedRequest
    ) -> tuple[Transport, PreparedRequest]:
        """Return what carries *prepared*, and the request as it is to be sent by it."""
        if self._given is not None:
            return self._given, prepared
        spec = route.transport
        if isinstance(spec, EmbeddedServer):
            transport, base_url, key = await self._local_servers().running(spec)
            return transport, evolve(prepared, http=addressed(prepared.http, base_url, key))
        if isinstance(spec, Http) and spec.http2:
            self._http2 = self._http2 or HttpTransport(http2=True)
            return self._http2, prepared
        return self._http, prepared

    async def aclose(self) -> None:
        """Close all of them."""
        with anyio.CancelScope(shield=True):
            await self._http.aclose()
            if self._http2 is not None:
                await self._http2.aclose()
            if self._local is not None:
                await self._local.aclose()

    def _local_servers(self) -> "LocalServers":
        from llmcore.client.local_server import LocalServers

        self._local = self._local or LocalServers(self._environ)
        return self._local


def addressed(request: HttpRequest, base_url: str, key: str | None) -> HttpRequest:
    """Return *request* addressed to the embedded server at *base_url*, its path kept.

    llama.cpp closes a connection after a streamed answer without announcing it, so that
    the next request on it would fail: each request gets a connection of its own.
    """
    path = "/" + request.url.partition("://")[2].partition("/")[2]
    moved = evolve(request, url=base_url.rstrip("/") + path).with_header("connection", "close")
    if key is None:
        return moved
    return moved.with_header("authorization", f"Bearer {key}", secret=True)
