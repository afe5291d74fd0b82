"""The gateway as an ASGI application: the operations of its fronts, and its own.

An operation that takes a body is admitted in one place: while there is room for it, its body is
read within limits, and its response counts as under way until its last byte.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import cast

import anyio

from llmcore.bridge.accounts.admin import admin_operations
from llmcore.bridge.accounts.charges import Charge
from llmcore.bridge.api import Operation, OperationRequest, Outcome
from llmcore.bridge.apis.registry import Apis, apis, unknown_path
from llmcore.bridge.apis.responses import Responses
from llmcore.bridge.build import version_for
from llmcore.bridge.http.access import (
    METRICS_PATH,
    AccessMiddleware,
    admission_of,
    caller_of,
    check_admin,
    error_form,
)
from llmcore.bridge.http.asgi import (
    BODY_IS_THERE,
    ASGIApp,
    BodyChunks,
    Receive,
    Scope,
    Send,
    headers_of,
    join_slashes,
    query_of,
)
from llmcore.bridge.http.logs import error_text
from llmcore.bridge.http.metrics import content_type
from llmcore.bridge.http.observability import (
    ObservabilityMiddleware,
    TracingMiddleware,
    flush_telemetry,
    log_fields,
    name_operation,
    note_response,
)
from llmcore.bridge.http.request_body import BodyBytes, HeldBytes, read_object
from llmcore.bridge.http.responses import (
    BytesResponse,
    StreamedResponse,
    WholeResponse,
    diagnostic_headers,
    error_response,
    json_response,
)
from llmcore.bridge.http.router import Router
from llmcore.bridge.response_run import ErrorForm, SentResponse, StreamedRun, WholeRun, has_ended
from llmcore.bridge.service import Admissions, Service
from llmcore.bridge.ui.capture import CaptureMiddleware, note_request, note_run
from llmcore.bridge.ui.feed import Feed
from llmcore.bridge.ui.operations import PAGE, page_route
from llmcore.bridge.ui.operations import operations as ui_operations
from llmcore.bridge.websocket.connection import SocketConnection
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject

SOCKET_PATHS: tuple[str, ...] = ("/v1/responses", "/responses")
"""Where WebSockets can be opened."""
_LARGE_AT_ONCE = 4
"""Large bodies that threads read at once."""


def make_app(service: Service) -> ASGIApp:
    """Return the application that offers *service*, and closes it at the end of its lifespan."""
    served = apis(service)
    bodies = _Bodies(service)
    feed = Feed() if service.settings.has_ui else None
    router = _router(service, served, bodies, feed)
    sockets = dict.fromkeys(SOCKET_PATHS, _socket(service, bodies))
    routed: ASGIApp = _Routed(router, sockets, served)
    if feed is not None:
        recorded, cost_of = service.settings.ui_record, service.accounts.cost_of
        routed = CaptureMiddleware(routed, feed, cost_of, record=recorded)
    admitted = AccessMiddleware(routed, service, served)
    observed: ASGIApp = ObservabilityMiddleware(admitted, service.metrics, served)
    if service.settings.telemetry:
        observed = TracingMiddleware(observed)
    return _with_lifespan(observed, service)


def _router(
    service: Service, served: Apis, bodies: "_Bodies", feed: Feed | None
) -> Router[ASGIApp]:
    """Return the applications of all operations and pages, by methods and paths."""
    operations = [
        (prefix + operation.path, operation)
        for api in served.all
        for prefix in api.prefixes
        for operation in api.operations
    ]
    pages: list[tuple[str, str, ASGIApp]] = [("GET", METRICS_PATH, _metrics(service))]
    if feed is not None:
        operations += [(entry.path, entry) for entry in ui_operations(service, feed)]
        pages.append(("GET", PAGE, page_route()))
    handled = (
        (entry.method, path, _OperationApp(entry, served, service, bodies))
        for path, entry in [*operations, *_own_operations(service)]
    )
    return Router([*handled, *pages])


def _with_lifespan(app: ASGIApp, service: Service) -> ASGIApp:
    """Return *app*, with its start and end, and with slashes in paths joined before all else.

    Source: https://asgi.readthedocs.io/en/latest/specs/lifespan.html, read November 2026.
    """

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            join_slashes(scope)
            await app(scope, receive, send)
            return
        await receive()
        async with anyio.create_task_group() as tasks:
            await service.begin()
            tasks.start_soon(service.maintain)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            tasks.cancel_scope.cancel()
        await service.aclose()
        if service.settings.telemetry:
            await anyio.to_thread.run_sync(flush_telemetry)
        await send({"type": "lifespan.shutdown.complete"})

    return run


@frozen
class _Routed:
    """Answers each request by the operation of its path, and WebSockets by theirs."""

    _router: Router[ASGIApp]
    _sockets: Mapping[str, ASGIApp]
    _served: Apis

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["type"] == "websocket":
                await self._socket(scope["path"])(scope, receive, send)
                return
            route = self._router.find(scope["method"], scope["path"])
        except FrontError as error:
            await error_response(*self._shown(error, scope))(scope, receive, send)
            return
        scope["path_params"] = route.parameters
        await route.target(scope, receive, send)

    def _shown(self, error: FrontError, scope: Scope) -> tuple[FrontError, ErrorForm]:
        """Return the error of a request that leads nowhere, and the form that its API has."""
        path = scope["path"]
        api = self._served.of(path, headers_of(scope))
        if error.status == 404:
            error = unknown_path(error, api.id, path)
        return error, error_form(self._served, scope)

    def _socket(self, path: str) -> ASGIApp:
        if path in self._sockets:
            return self._sockets[path]
        message = f"there is no WebSocket at {path[:200]} here"
        raise FrontError(status=404, message=message, code="unknown_url")


def _socket(service: Service, bodies: "_Bodies") -> ASGIApp:
    responses = Responses(service)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        name_operation(scope, "socket")
        connection = SocketConnection(
            service,
            responses,
            caller_of(scope),
            admission_of(scope),
            _client_request(scope, {}),
            bodies.bytes,
        )
        await connection(scope, receive, send)

    return serve


def _metrics(service: Service) -> ASGIApp:
    async def metrics(scope: Scope, receive: Receive, send: Send) -> None:
        name_operation(scope, "metrics")
        kind = await anyio.to_thread.run_sync(content_type)  # which first loads Prometheus' client
        headers = [(b"content-type", kind.encode())]
        await BytesResponse(200, service.metrics.exposition(), headers)(scope, receive, send)

    return metrics


def _own_operations(service: Service) -> list[tuple[str, Operation]]:
    """Return the operations for operators of the gateway, and for clients that only connect."""

    async def root(_call: OperationRequest) -> JsonObject:
        return {"name": "openbridge"}

    async def version(call: OperationRequest) -> JsonObject:
        return version_for(call.caller, service)

    async def health(call: OperationRequest) -> JsonObject:
        return await (service.deep_health() if call.query.get("deep") else service.health.result())

    operations = [
        Operation(name=name, method="GET", path=path, handle=handle)
        for name, path, handle in (
            ("health", "/healthz", health),
            ("version", "/version", version),
            ("root", "/", root),
            ("root", "/api/hello", root),
        )
    ]
    return [
        (operation.path, operation)
        for operation in (*operations, *admin_operations(service.accounts))
    ]


class _Bodies:
    """Reads the bodies of all requests, within limits that they share."""

    def __init__(self, service: Service) -> None:
        self._limits = service.settings.limits
        self.bytes = BodyBytes(self._limits.max_body_bytes)
        self._threads = anyio.CapacityLimiter(_LARGE_AT_ONCE)

    def read(self, scope: Scope, receive: Receive, held: HeldBytes) -> Awaitable[JsonObject]:
        """Return the request's body, whose bytes are counted as *held*."""
        return read_object(
            BodyChunks(receive),
            headers_of(scope),
            limit=self._limits.max_body_bytes,
            seconds=None if scope.get(BODY_IS_THERE) else self._limits.body_s,
            received=held.add,
            threads=self._threads,
        )


@frozen
class _OperationApp:
    """Answers the requests for one operation."""

    _operation: Operation
    _served: Apis
    _service: Service
    _bodies: _Bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name_operation(scope, self._operation.name)
        try:
            if self._operation.for_admin:
                check_admin(caller_of(scope))
            response = await self._respond(scope, receive)
        except FrontError as error:
            log_fields(scope)["error"] = error_text(error)
            response = error_response(error, error_form(self._served, scope))
        await response(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive) -> ASGIApp:
        caller = caller_of(scope)
        held = self._bodies.bytes.of(caller.counted_as)
        release: Callable[[], None] = held.release
        leaves = True
        try:
            body: JsonObject = {}
            if self._operation.takes_body:
                # A request counts as under way once its body is there. One on its way counts by
                # its bytes alone, so that clients which send nothing keep no other out.
                self._service.admissions.check_room()
                body = await self._bodies.read(scope, receive, held)
                self._service.admissions.enter()
                release = partial(_release, self._service.admissions, held)
            request = _client_request(scope, body)
            note_request(scope, request, held.count)
            made = await self._operation.handle(
                OperationRequest(
                    caller=caller,
                    request=request,
                    path=scope["path_params"],
                    body_bytes=held.count,
                )
            )
            match made:
                case Outcome(body=shown, diagnostics=diagnostics):
                    return await json_response(shown, diagnostic_headers(diagnostics))
                case Mapping():
                    return await json_response(made)
                case run:
                    charge = None
                    if run.calls:  # else it was not made for this request
                        charge = await self._service.accounts.open(caller, run, body)
                    leaves = False
                    return self._run(scope, run, charge, release)
        finally:
            if leaves:
                release()

    def _run(
        self, scope: Scope, run: SentResponse, charge: Charge | None, release: Callable[[], None]
    ) -> ASGIApp:
        """Return the response of *run*, which at its end releases its place and is charged."""
        note_run(scope, run)
        info, fields = run.info, log_fields(scope)
        fields.update(model=info.model, provider=info.upstream.provider, response_id=info.id)

        def done() -> None:
            release()
            if charge is not None:
                charge.close()
            note_response(fields, run, charge)

        def charge_ended() -> bool:
            if charge is None or not has_ended(charge.run):
                return False
            charge.close()
            return True

        if not info.streamed:
            return WholeResponse(cast("WholeRun", run), done, charge_ended)
        settings = self._service.settings
        return StreamedResponse(
            cast("StreamedRun", run),
            done,
            charge_ended,
            keep_alive_s=settings.keep_alive_s,
            send_s=settings.limits.send_s,
        )


def _release(admissions: Admissions, held: HeldBytes) -> None:
    admissions.leave()
    held.release()


_CREDENTIALS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key"}
)


def _client_request(scope: Scope, body: JsonObject) -> ClientRequest:
    """Return the request as its client sent it, without its credentials."""
    headers, query = headers_of(scope), query_of(scope)
    if not _CREDENTIALS.isdisjoint(headers):
        headers = {n: value for n, value in headers.items() if n not in _CREDENTIALS}
    if "key" in query:
        query = {name: value for name, value in query.items() if name != "key"}
    return ClientRequest(body=body, path=scope["path"], query=query, headers=headers)
