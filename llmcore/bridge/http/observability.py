"""Around every request: its id, its line in the log, its place in the metrics."""

import logging
import secrets
import time

from llmcore.bridge.apis.registry import Apis
from llmcore.bridge.http.asgi import (
    ASGIApp,
    ClientDisconnectError,
    Message,
    Receive,
    Scope,
    Send,
    headers_of,
)
from llmcore.bridge.http.logs import LOGGER, REQUEST_ID, log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.http.responses import error_response, gateway_failed

_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_ID_HEADERS = (b"x-request-id", b"request-id")
"""As OpenAI and as Anthropic call the id of a request."""
_FIELDS = "openbridge.log_fields"
_OPERATION = "openbridge.operation"


def log_fields(scope: Scope) -> dict[str, object]:
    """Return the fields of the request's line in the log, to be added to."""
    fields: dict[str, object] = scope.setdefault(_FIELDS, {})
    return fields


def name_operation(scope: Scope, operation: str) -> None:
    """Label the request's metrics with *operation*."""
    scope.setdefault(_OPERATION, ["none"])[0] = operation


class ObservabilityMiddleware:
    """Gives each request an id, logs and counts it, and reports faults of the gateway."""

    def __init__(self, app: ASGIApp, metrics: Metrics, served: Apis) -> None:
        self._app = app
        self._metrics = metrics
        self._served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application for one request."""
        if scope["type"] == "websocket":
            await _refuse_websocket(scope, receive, send)
        else:
            await self._observed(scope, receive, send)

    async def _observed(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = f"req_{secrets.token_hex(16)}"
        token = REQUEST_ID.set(request_id)
        started = time.monotonic()
        status = 0
        fields = log_fields(scope)
        operation = scope.setdefault(_OPERATION, ["none"])

        async def tagged(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [(name, request_id.encode()) for name in _ID_HEADERS]
            await send(message)

        try:
            await self._app(scope, receive, tagged)
        except ClientDisconnectError:
            log(logging.INFO, "client_gone")
        except Exception:  # noqa: BLE001  (a fault of the gateway)
            LOGGER.exception("request_broke")
            if not status:
                form = self._served.of(scope["path"], headers_of(scope)).error_form
                await error_response(gateway_failed(), form).send(tagged)
        finally:
            seconds = time.monotonic() - started
            self._count(scope["method"], operation[0], status, seconds)
            log(
                logging.INFO,
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status or None,
                seconds=round(seconds, 4),
                client_request_id=_client_request_id(scope),
                **fields,
            )
            REQUEST_ID.reset(token)

    def _count(self, method: str, operation: str, status: int, seconds: float) -> None:
        label = method if method in _METHODS else "other"
        self._metrics.requests.labels(operation, label, str(status)).inc()
        self._metrics.request_seconds.labels(operation).observe(seconds)


def _client_request_id(scope: Scope) -> str | None:
    headers = headers_of(scope)
    return headers.get("x-client-request-id") or headers.get("x-request-id")


async def _refuse_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse with a 426 where the server can send one."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1013})
        return
    head = {"type": "websocket.http.response.start", "status": 426, "headers": []}
    await send(head)
    await send({"type": "websocket.http.response.body", "body": b""})
