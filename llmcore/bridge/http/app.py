"""The gateway as an ASGI application: the operations of its fronts, and its own.

An operation that takes a body is admitted in one place: while there is room for it, its body is
read within limits, and its answer counts as under way until its last byte.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from llmcore.bridge.api import Api, ErrorForm, Operation, OperationRequest
from llmcore.bridge.apis.registry import fronts
from llmcore.bridge.http.access import AccessMiddleware, caller_of
from llmcore.bridge.http.metrics import CONTENT_TYPE
from llmcore.bridge.http.observability import ObservabilityMiddleware, log_fields, name_operation
from llmcore.bridge.http.request_body import BodyBytes, read_object
from llmcore.bridge.http.responses import (
    BytesResponse,
    StreamedAnswer,
    WholeAnswer,
    diagnostic_codes,
    error_response,
    gateway_failed,
    json_response,
)
from llmcore.bridge.response_run import ResponseRun
from llmcore.bridge.service import Service
from llmcore.fronts.errors import FrontError
from llmcore.schema.json import JsonObject

_LARGE_AT_ONCE = 4
"""Large bodies that threads read at once."""


def make_app(service: Service) -> ASGIApp:
    """Return the application that offers *service*, and closes it at the end of its lifespan."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await service.aclose()

    served = fronts(service)
    form = served[0].error_form
    bodies = _Bodies(service)
    app = Starlette(
        routes=[
            *(route for front in served for route in _routes(front, service, bodies)),
            *_own_routes(service, form),
        ],
        exception_handlers=_handlers(form),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return ObservabilityMiddleware(AccessMiddleware(app, service.settings, form), service.metrics)


def _routes(front: Api, service: Service, bodies: "_Bodies") -> list[Route]:
    return [
        Route(
            prefix + operation.path,
            _Answering(operation, front.error_form, service, bodies),
            methods=[operation.method],
        )
        for prefix in front.prefixes
        for operation in front.operations
    ]


def _own_routes(service: Service, form: ErrorForm) -> list[Route]:
    """Return the operations for operators of the gateway."""

    async def version(_call: OperationRequest) -> JsonObject:
        return service.version()

    async def health(_call: OperationRequest) -> JsonObject:
        return await service.health()

    async def metrics(scope: Scope, receive: Receive, send: Send) -> None:
        name_operation(scope, "metrics")
        headers = [(b"content-type", CONTENT_TYPE.encode())]
        await BytesResponse(200, service.metrics.exposition(), headers)(scope, receive, send)

    bodies = _Bodies(service)
    named = {"health": ("/healthz", health), "version": ("/version", version)}
    own = [
        Operation(name=operation, method="GET", path=path, answer=answer)
        for operation, (path, answer) in named.items()
    ]
    routes = [
        Route(one.path, _Answering(one, form, service, bodies), methods=["GET"]) for one in own
    ]
    return [*routes, Route("/metrics", _Raw(metrics), methods=["GET"])]


class _Raw:
    """An ASGI function as an object, which Starlette calls as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _Bodies:
    """Reads the bodies of all requests, within limits that they share."""

    def __init__(self, service: Service) -> None:
        self._limits = service.settings.limits
        self._bytes = BodyBytes(self._limits.max_body_bytes)
        self._threads = anyio.CapacityLimiter(_LARGE_AT_ONCE)

    async def read(self, request: Request, place: ExitStack) -> JsonObject:
        """Return the request's body, whose bytes *place* gives back."""
        received = place.enter_context(self._bytes.of(caller_of(request.scope).counted_as))
        return await read_object(
            request.stream(),
            request.headers,
            limit=self._limits.max_body_bytes,
            seconds=self._limits.body_s,
            received=received,
            threads=self._threads,
        )


class _Answering:
    """Answers the requests for one operation."""

    def __init__(
        self, operation: Operation, form: ErrorForm, service: Service, bodies: _Bodies
    ) -> None:
        self._operation = operation
        self._form = form
        self._service = service
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name_operation(scope, self._operation.name)
        try:
            answer = await self._answer(Request(scope, receive))
        except FrontError as error:
            log_fields(scope)["error"] = str(error)
            answer = error_response(error, self._form)
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> ASGIApp:
        with ExitStack() as place:
            body: JsonObject = {}
            if self._operation.takes_body:
                # A request counts as under way once its body is there. One on its way counts by
                # its bytes alone, so that clients which send nothing keep no other out.
                self._service.check_room()
                body = await self._bodies.read(request, place)
                place.enter_context(self._service.admitted())
            made = await self._operation.answer(
                OperationRequest(
                    caller=caller_of(request.scope),
                    body=body,
                    path=request.path_params,
                    query=dict(request.query_params),
                    headers=request.headers,
                )
            )
            if isinstance(made, ResponseRun):
                return self._run(request.scope, made, place.pop_all().close)
        return await json_response(made)

    def _run(self, scope: Scope, run: ResponseRun, release: Callable[[], None]) -> ASGIApp:
        """Return the answer of *run*, which releases its place at its end."""
        plan, fields = run.plan, log_fields(scope)
        fields.update(model=plan.model, provider=plan.provider, response_id=plan.id)

        def done() -> None:
            release()
            fields["upstream_request_id"] = run.upstream_request_id
            fields["diagnostics"] = diagnostic_codes(run.diagnostics)
            if run.error is not None:
                fields["error"] = str(run.error)

        if not plan.streamed:
            return WholeAnswer(run, done)
        settings = self._service.settings
        return StreamedAnswer(
            run, done, keep_alive_s=settings.keep_alive_s, send_s=settings.limits.send_s
        )


# -- errors outside of operations


def _handlers(
    form: ErrorForm,
) -> dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]]:
    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101  (registered for it)
        method, path = request.method, request.url.path[:200]
        if error.status_code == 404:
            message, code = f"there is no {method} {path} here", "unknown_url"
        elif error.status_code == 405:
            message, code = f"{path} does not take {method}", "method_not_allowed"
        else:
            message, code = error.detail, "http_error"
        headers = tuple((error.headers or {}).items())
        told = FrontError(status=error.status_code, message=message, code=code, headers=headers)
        return _starlette(error_response(told, form))

    async def unexpected(_request: Request, _error: Exception) -> Response:
        return _starlette(error_response(gateway_failed(), form))

    return {HTTPException: http_error, Exception: unexpected}


def _starlette(response: BytesResponse) -> Response:
    made = Response(response.body, response.status)
    made.raw_headers = [*response.headers, (b"content-length", str(len(response.body)).encode())]
    return made
