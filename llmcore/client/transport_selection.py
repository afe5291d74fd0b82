"""Selects the transport of a route: interprets the specs of `llmcore.routes.transport_spec`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio
from attrs import evolve

from llmcore.client.http.http_transport import HttpClient, HttpTransport
from llmcore.client.http.options import HttpOptions
from llmcore.client.transport import OpensSockets, Transport
from llmcore.client.wire_log import logged, switch_on
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.route import PreparedRequest, Route
from llmcore.routes.transport_spec import Embedded, Http, TransportSpec, WebSocket
from llmcore.schema import json

if TYPE_CHECKING:
    from llmcore.client.local.embedded import LocalServers
    from llmcore.client.websocket.websocket_transport import WebSocketTransport


class Transports:
    """A client's transports, made on first use."""

    def __init__(
        self,
        *,
        http: HttpClient | HttpOptions | None,
        transport: Transport | None,
        environ: Mapping[str, str],
    ) -> None:
        switch_on(environ)
        self._given = transport
        self._options = http if isinstance(http, HttpOptions) else HttpOptions()
        self._client = None if isinstance(http, HttpOptions) else http
        self._http = HttpTransport(self._client, options=self._options)
        self._http2: HttpTransport | None = None
        self._environ = environ
        self._local: LocalServers | None = None
        self._sockets: dict[WebSocket, WebSocketTransport] = {}

    async def ready(
        self, route: Route, prepared: PreparedRequest
    ) -> tuple[Transport, PreparedRequest]:
        """Return the transport for *prepared*, and the request adapted to it."""
        spec = route.transport
        if isinstance(spec, WebSocket) and isinstance(self._given, OpensSockets | None):
            return logged(self._over_sockets(spec)), streamed(prepared)
        transport, http = await self.over_http(spec, prepared.http)
        return transport, prepared if http is prepared.http else evolve(prepared, http=http)

    async def over_http(
        self, spec: TransportSpec, http: HttpRequest
    ) -> tuple[Transport, HttpRequest]:
        """Return the transport for *http*, whose response is not one of a socket, and *http*."""
        transport: Transport = self._http
        if self._given is not None:
            transport = self._given
        elif isinstance(spec, Embedded):
            transport, base_url, key = await self._local_servers().running(spec)
            http = addressed(http, base_url, key)
        elif isinstance(spec, Http) and spec.http2 and self._client is None:
            self._http2 = self._http2 or HttpTransport(options=evolve(self._options, http2=True))
            transport = self._http2
        return logged(transport), http

    async def aclose(self) -> None:
        """Close all transports."""
        with anyio.CancelScope(shield=True):
            for sockets in self._sockets.values():
                await sockets.aclose()
            await self._http.aclose()
            if self._http2 is not None:
                await self._http2.aclose()
            if self._local is not None:
                await self._local.aclose()

    def _over_sockets(self, spec: WebSocket) -> "WebSocketTransport":
        from llmcore.client.websocket.connection import WebSocketDialer
        from llmcore.client.websocket.websocket_transport import WebSocketTransport

        if spec not in self._sockets:
            given = self._given if isinstance(self._given, OpensSockets) else None
            self._sockets[spec] = WebSocketTransport(
                spec,
                http=self._given or self._http,
                opener=given or WebSocketDialer(self._options),
            )
        return self._sockets[spec]

    def _local_servers(self) -> "LocalServers":
        from llmcore.client.local.embedded import LocalServers

        self._local = self._local or LocalServers(self._environ)
        return self._local


def streamed(prepared: PreparedRequest) -> PreparedRequest:
    """Return *prepared* as a streaming request, since all responses over sockets are streams."""
    if prepared.streaming or prepared.method != "POST" or prepared.body.get("background"):
        return prepared
    body = {**prepared.body, "stream": True}
    http = evolve(prepared.http, body=json.dumps(body)).with_header("accept", "text/event-stream")
    return evolve(prepared, http=http, body=body, streaming=True)


def addressed(request: HttpRequest, base_url: str, key: str | None) -> HttpRequest:
    """Return *request* addressed to the embedded server at *base_url*, its path kept.

    llama.cpp closes a connection after a streamed response without announcing it, so that
    the next request on it would fail: each request gets a connection of its own.
    """
    path = "/" + request.url.partition("://")[2].partition("/")[2]
    moved = evolve(request, url=base_url.rstrip("/") + path).with_header("connection", "close")
    if key is None:
        return moved
    return moved.with_header("authorization", f"Bearer {key}", secret=True)
