"""The gateway as an ASGI application.

Every path is there with and without `/v1`, for clients whose base URL lacks it.
"""

import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from llmcore.bridge.errors import BridgeError, envelope
from llmcore.bridge.http.access import Caller, Keys, Rates, names_this_machine
from llmcore.bridge.http.logs import LOGGER, REQUEST_ID, log
from llmcore.bridge.http.metrics import CONTENT_TYPE
from llmcore.bridge.http.request_body import BodyBytes, read_object
from llmcore.bridge.http.responses import (
    StreamedAnswer,
    WholeAnswer,
    diagnostic_codes,
    error_headers,
    gateway_failed,
    send_error,
)
from llmcore.bridge.response_run import Turn
from llmcore.bridge.service import Service
from llmcore.client.large_requests import holds_much, off_the_loop
from llmcore.schema import json
from llmcore.schema.json import JsonObject, JsonValue

_OPEN_PATHS = frozenset({"/healthz"})
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_LARGE_AT_ONCE = 4
"""Large bodies that threads read at once."""
_FACTS = "openbridge.facts"
_CALLER = "openbridge.caller"

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(service: Service) -> ASGIApp:
    """Return the application that offers *service*, and closes it at the end of its lifespan."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await service.aclose()

    calls = _Endpoints(service)
    app = Starlette(
        routes=[*calls.routes("/v1"), *calls.routes(""), *calls.own_routes()],
        exception_handlers={
            BridgeError: _bridge_error,
            HTTPException: _http_error,
            Exception: _unexpected,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return _Observed(_Gate(app, service), service)


class _Endpoints:
    """The functions behind the paths."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._bytes = BodyBytes(service.settings.limits.max_body_bytes)
        self._threads = anyio.CapacityLimiter(_LARGE_AT_ONCE)

    def routes(self, prefix: str) -> list[Route]:
        """Return what clients of the API call."""
        one = f"{prefix}/responses/{{response_id}}"
        return [
            Route(f"{prefix}/responses", self.create, methods=["POST"]),
            Route(f"{prefix}/responses", self.upgrade, methods=["GET"]),
            Route(f"{prefix}/responses/input_tokens", self.input_tokens, methods=["POST"]),
            Route(f"{prefix}/responses/compact", self.compact, methods=["POST"]),
            Route(one, self.get, methods=["GET"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(f"{one}/input_items", self.input_items, methods=["GET"]),
            Route(f"{one}/cancel", self.cancel, methods=["POST"]),
            Route(f"{prefix}/models", self.models, methods=["GET"]),
            Route(f"{prefix}/models/{{model_id:path}}", self.model, methods=["GET"]),
        ]

    def own_routes(self) -> list[Route]:
        """Return what those who run the gateway call."""
        return [
            Route("/healthz", self.health, methods=["GET"]),
            Route("/version", self.version, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def create(self, request: Request) -> Response:
        """`POST /responses`."""
        return await self._answered(request, self._service.create)

    async def compact(self, request: Request) -> Response:
        """`POST /responses/compact`."""
        return await self._answered(request, self._service.compact)

    async def _answered(
        self, request: Request, call: Callable[[JsonObject, Caller], Awaitable[Turn]]
    ) -> Response:
        with ExitStack() as place:
            body = await self._body(request, place)
            place.enter_context(self._service.admitted())
            turn = await call(body, _caller(request))
            held = place.pop_all()  # given back once the answer has ended
        facts = _facts(request.scope)
        facts.update(model=body.get("model"), provider=turn.provider, response_id=turn.id)

        def done() -> None:
            held.close()
            facts["upstream_request_id"] = turn.upstream_request_id
            facts["diagnostics"] = diagnostic_codes(turn.diagnostics)
            if turn.error is not None:
                facts["error"] = str(turn.error)

        if turn.streamed:
            settings = self._service.settings
            return _Answer(
                StreamedAnswer(
                    turn, done, keep_alive_s=settings.keep_alive_s, send_s=settings.limits.send_s
                )
            )
        return _Answer(WholeAnswer(turn, done))

    async def upgrade(self, request: Request) -> Response:
        """`GET /responses`: a WebSocket, which clients give up for POST when they get a 426."""
        if request.headers.get("upgrade", "").lower() != "websocket":
            raise HTTPException(405)
        error = BridgeError(
            status=426,
            message="there are no WebSockets here: send POST /v1/responses",
            code="websocket_not_supported",
        )
        response = _error_response(error)
        response.headers["upgrade"] = "HTTP/1.1"
        response.headers["connection"] = "close"
        return response

    async def input_tokens(self, request: Request) -> Response:
        """`POST /responses/input_tokens`."""
        with ExitStack() as place:
            body = await self._body(request, place)
            place.enter_context(self._service.admitted())
            return _json(await self._service.input_tokens(body, _caller(request)))

    async def get(self, request: Request) -> Response:
        """`GET /responses/{id}`."""
        if request.query_params.get("stream", "").lower() == "true":
            message = "a stored response cannot be streamed again; leave out stream=true"
            raise BridgeError(status=501, message=message, code="not_implemented", param="stream")
        return await _whole_json(await self._service.get(_id(request), _caller(request)))

    async def delete(self, request: Request) -> Response:
        """`DELETE /responses/{id}`."""
        return _json(await self._service.delete(_id(request), _caller(request)))

    async def input_items(self, request: Request) -> Response:
        """`GET /responses/{id}/input_items`."""
        query = dict(request.query_params)
        page = await self._service.input_items(_id(request), _caller(request), query)
        return await _whole_json(page)

    async def cancel(self, request: Request) -> Response:
        """`POST /responses/{id}/cancel`."""
        return _json(await self._service.cancel(_id(request), _caller(request)))

    async def models(self, _request: Request) -> Response:
        """`GET /models`."""
        return _json(await self._service.models())

    async def model(self, request: Request) -> Response:
        """`GET /models/{id}`."""
        return _json(await self._service.model(request.path_params["model_id"]))

    async def health(self, _request: Request) -> Response:
        """`GET /healthz`."""
        return _json(await self._service.health())

    async def version(self, _request: Request) -> Response:
        """`GET /version`."""
        return _json(self._service.version())

    async def metrics(self, _request: Request) -> Response:
        """`GET /metrics`."""
        return Response(self._service.metrics.exposition(), headers={"content-type": CONTENT_TYPE})

    async def _body(self, request: Request, place: ExitStack) -> JsonObject:
        """Return the request's body: not read while the gateway is full.

        A request counts as under way once its body is there. What is still on its way only counts
        by its bytes, so that clients which send nothing keep nobody else out. *place* gives the
        bytes back.
        """
        self._service.check_room()
        limits = self._service.settings.limits
        received = place.enter_context(self._bytes.of(_caller(request).counted_as))
        return await read_object(
            request.stream(),
            request.headers,
            limit=limits.max_body_bytes,
            seconds=limits.body_s,
            received=received,
            threads=self._threads,
        )


class _Answer(Response):
    """A response that an ASGI callable sends."""

    def __init__(self, answer: ASGIApp) -> None:
        super().__init__()
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope, receive, send)


def _id(request: Request) -> str:
    name: str = request.path_params["response_id"]
    return name


def _caller(request: Request) -> Caller:
    caller: Caller = request.scope[_CALLER]
    return caller


def _facts(scope: Scope) -> dict[str, object]:
    facts: dict[str, object] = scope.setdefault(_FACTS, {})
    return facts


# -- Errors


def _json(value: JsonValue, status: int = 200) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")


async def _whole_json(value: JsonValue) -> Response:
    """Return a response of what may be large."""
    body = await off_the_loop(partial(json.dumps, value), large=holds_much(value))
    return Response(body, media_type="application/json")


def _error_response(error: BridgeError) -> Response:
    response = _json(envelope(error), error.status)
    for name, value in error_headers(error):
        response.headers[name.decode()] = value.decode()
    return response


async def _bridge_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, BridgeError)  # noqa: S101  (registered for it)
    _facts(request.scope)["error"] = str(error)
    return _error_response(error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  (registered for it)
    method, path = request.method, request.url.path[:200]
    if error.status_code == 404:
        message, code = f"there is no {method} {path} here", "unknown_url"
    elif error.status_code == 405:
        message, code = f"{path} does not take {method}", "method_not_allowed"
    else:
        message, code = error.detail, "http_error"
    response = _error_response(BridgeError(status=error.status_code, message=message, code=code))
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


async def _unexpected(_request: Request, _error: Exception) -> Response:
    return _error_response(gateway_failed())


# -- Round every request


class _Gate:
    """Lets in who may ask, as often as they may."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        settings = service.settings
        self._app = app
        self._keys = Keys(settings.client_api_keys)
        self._rates = Rates(settings.limits.rate_per_minute)
        self._allowed_hosts = settings.allowed_hosts
        self._max_header_bytes = settings.limits.max_header_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _is_framed_twice(scope):
            await send_error(send, _framed_twice(), [(b"connection", b"close")])
            return
        if scope["type"] != "http" or scope["path"] in _OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        try:
            scope[_CALLER] = self._admitted(scope)
        except BridgeError as error:
            _facts(scope)["error"] = str(error)
            await send_error(send, error, [])
            return
        await self._app(scope, receive, send)

    def _admitted(self, scope: Scope) -> Caller:
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if size > self._max_header_bytes:
            message = f"the headers are larger than {self._max_header_bytes} bytes"
            raise BridgeError(status=431, message=message, code="headers_too_large")
        headers = _headers(scope)
        if not self._keys.required and not names_this_machine(
            headers.get("host", ""), self._allowed_hosts
        ):
            message = "this gateway has no client key, so it answers to names of this machine only"
            raise BridgeError(status=403, message=message, code="host_not_allowed")
        address = (scope.get("client") or ("unknown", 0))[0]
        caller = self._keys.caller(headers, address)
        if caller is None:
            message = "the key is missing or wrong: send Authorization: Bearer <key>"
            raise BridgeError(status=401, message=message, code="invalid_api_key")
        if wait_s := self._rates.wait_s(caller.counted_as):
            raise BridgeError(
                status=429,
                message="too many requests",
                type="rate_limit_error",
                code="rate_limit_exceeded",
                retry_after=wait_s,
            )
        return caller


def _is_framed_twice(scope: Scope) -> bool:
    """Return whether servers may disagree on where the request ends (RFC 9112, 6.1)."""
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}


def _framed_twice() -> BridgeError:
    message = "content-length and transfer-encoding exclude each other: send one of them"
    return BridgeError(status=400, message=message, code="invalid_framing")


class _Observed:
    """Gives each request an id, logs and counts it, and answers for faults of ours."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._metrics = service.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await _refuse_websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._observed(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _observed(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = f"req_{secrets.token_hex(16)}"
        token = REQUEST_ID.set(request_id)
        started = time.monotonic()
        status = 0

        async def tagged(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request_id.encode()))
            await send(message)

        try:
            await self._app(scope, receive, tagged)
        except ClientDisconnect:
            log(logging.INFO, "client_gone")
        except Exception:  # noqa: BLE001  answered with a 500 by now
            LOGGER.exception("request_broke")
        finally:
            self._count(scope, status, time.monotonic() - started)
            REQUEST_ID.reset(token)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(route, method, str(status)).inc()
        self._metrics.request_seconds.labels(route).observe(seconds)
        log(
            logging.INFO,
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status or None,
            seconds=round(seconds, 4),
            client_request_id=_client_request_id(scope),
            **_facts(scope),
        )


def _route(scope: MutableMapping[str, Any]) -> str:
    """Return the name of the function that answered, of which there are few."""
    endpoint = scope.get("endpoint")
    return str(getattr(endpoint, "__name__", "none"))


def _headers(scope: Scope) -> Mapping[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _client_request_id(scope: Scope) -> str | None:
    headers = _headers(scope)
    return headers.get("x-client-request-id") or headers.get("x-request-id")


async def _refuse_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse with a 426 where the server can say so."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1013})
        return
    head = {"type": "websocket.http.response.start", "status": 426, "headers": []}
    await send(head)
    await send({"type": "websocket.http.response.body", "body": b""})
