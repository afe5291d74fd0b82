"""The gateway as an ASGI application: the operations of its fronts, and its own.

An operation that takes a body is admitted in one place: while there is room for it, its body is
read within limits, and its answer counts as under way until its last byte.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from llmcore.bridge.answer_run import SentAnswer
from llmcore.bridge.api import Api, Operation, OperationRequest, Outcome
from llmcore.bridge.apis.registry import Apis, apis
from llmcore.bridge.http.access import AccessMiddleware, caller_of, error_form
from llmcore.bridge.http.metrics import CONTENT_TYPE
from llmcore.bridge.http.observability import ObservabilityMiddleware, log_fields, name_operation
from llmcore.bridge.http.request_body import BodyBytes, read_object
from llmcore.bridge.http.responses import (
    BytesResponse,
    StreamedAnswer,
    WholeAnswer,
    diagnostic_codes,
    diagnostic_headers,
    error_response,
    gateway_failed,
    json_response,
)
from llmcore.bridge.service import Service
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest
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

    served = apis(service)
    bodies = _Bodies(service)
    app = Starlette(
        routes=[
            *(route for api in served.all for route in _routes(api, served, service, bodies)),
            *_own_routes(served, service, bodies),
        ],
        exception_handlers=_handlers(served),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    admitted = AccessMiddleware(_without_last_slash(app), service.settings, served)
    return ObservabilityMiddleware(admitted, service.metrics)


def _without_last_slash(app: ASGIApp) -> ASGIApp:
    """Return *app* for paths with and without a slash at their end."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and len(scope["path"]) > 1 and scope["path"].endswith("/"):
            scope["path"] = scope["path"].rstrip("/") or "/"
        await app(scope, receive, send)

    return run


def _routes(api: Api, served: Apis, service: Service, bodies: "_Bodies") -> list[Route]:
    return [
        Route(
            prefix + operation.path,
            _Answering(operation, served, service, bodies),
            methods=[operation.method],
        )
        for prefix in api.prefixes
        for operation in api.operations
    ]


def _own_routes(served: Apis, service: Service, bodies: "_Bodies") -> list[Route]:
    """Return the operations for operators of the gateway, and for clients that only connect."""

    async def root(_call: OperationRequest) -> JsonObject:
        return {"name": "openbridge"}

    async def version(_call: OperationRequest) -> JsonObject:
        return service.version()

    async def health(_call: OperationRequest) -> JsonObject:
        return await service.health()

    async def metrics(scope: Scope, receive: Receive, send: Send) -> None:
        name_operation(scope, "metrics")
        headers = [(b"content-type", CONTENT_TYPE.encode())]
        await BytesResponse(200, service.metrics.exposition(), headers)(scope, receive, send)

    own = [
        Operation(name=name, method="GET", path=path, answer=answer)
        for name, path, answer in (
            ("health", "/healthz", health),
            ("version", "/version", version),
            ("root", "/", root),
            ("root", "/api/hello", root),
        )
    ]
    routes = [
        Route(one.path, _Answering(one, served, service, bodies), methods=["GET"]) for one in own
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
        self, operation: Operation, served: Apis, service: Service, bodies: _Bodies
    ) -> None:
        self._operation = operation
        self._served = served
        self._service = service
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name_operation(scope, self._operation.name)
        try:
            answer = await self._answer(Request(scope, receive))
        except FrontError as error:
            log_fields(scope)["error"] = str(error)
            answer = error_response(error, error_form(self._served, scope))
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
                    asked=_asked(request, body),
                    path=request.path_params,
                )
            )
            match made:
                case Outcome(body=shown, diagnostics=notes):
                    return await json_response(shown, diagnostic_headers(notes))
                case Mapping():
                    return await json_response(made)
                case run:
                    return self._run(request.scope, run, place.pop_all().close)

    def _run(self, scope: Scope, run: SentAnswer, release: Callable[[], None]) -> ASGIApp:
        """Return the answer of *run*, which releases its place at its end."""
        info, fields = run.info, log_fields(scope)
        fields.update(model=info.model, provider=info.provider, response_id=info.id)

        def done() -> None:
            release()
            fields["upstream_request_id"] = run.upstream_request_id
            fields["diagnostics"] = diagnostic_codes(run.diagnostics)
            if run.error is not None:
                fields["error"] = str(run.error)

        if not info.streamed:
            return WholeAnswer(run, done)
        settings = self._service.settings
        return StreamedAnswer(
            run, done, keep_alive_s=settings.keep_alive_s, send_s=settings.limits.send_s
        )


_CREDENTIALS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key"}
)


def _asked(request: Request, body: JsonObject) -> ClientRequest:
    """Return the request as its client sent it, without its credentials."""
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        if name not in _CREDENTIALS:
            headers[name] = f"{headers[name]},{value}" if name in headers else value
    query = {name: value for name, value in request.query_params.items() if name != "key"}
    return ClientRequest(body=body, path=request.scope["path"], query=query, headers=headers)


# -- errors outside of operations


def _handlers(
    served: Apis,
) -> dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]]:
    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101  (registered for it)
        method, path = request.method, request.url.path[:200]
        if error.status_code == 404:
            message, code = f"there is no {method} {path} here{_hint(path)}", "unknown_url"
        elif error.status_code == 405:
            message, code = f"{path} does not take {method}", "method_not_allowed"
        else:
            message, code = error.detail, "http_error"
        headers = tuple((error.headers or {}).items())
        told = FrontError(status=error.status_code, message=message, code=code, headers=headers)
        return _starlette(error_response(told, error_form(served, request.scope)))

    async def unexpected(request: Request, _error: Exception) -> Response:
        return _starlette(error_response(gateway_failed(), error_form(served, request.scope)))

    return {HTTPException: http_error, Exception: unexpected}


_TWO_VERSIONS = re.compile(r"^/(v1(?:beta|alpha)?)/+(v1(?:beta|alpha)?)/")


def _hint(path: str) -> str:
    """Return what is wrong with a path that names the version twice."""
    twice = _TWO_VERSIONS.match(path)
    if twice is None:
        return ""
    return (
        f": the path has a version twice; the client adds /{twice[2]} itself, so leave "
        f"/{twice[1]} out of its base URL"
    )


def _starlette(response: BytesResponse) -> Response:
    made = Response(response.body, response.status)
    made.raw_headers = [*response.headers, (b"content-length", str(len(response.body)).encode())]
    return made
