"""Around every request: its id, its line in the log, its place in the metrics."""

import logging
import os
import time
from collections.abc import Awaitable

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
_HEADS = frozenset({"http.response.start", "websocket.http.response.start", "websocket.accept"})
"""Messages that carry the head of a response."""


def log_fields(scope: Scope) -> dict[str, object]:
    """Return the fields of the request's line in the log, to be added to."""
    fields: dict[str, object] = scope.setdefault(_FIELDS, {})
    return fields


def operation_of(scope: Scope) -> str:
    """Return the name of the request's operation; `none` for a path that is not served."""
    name: str = scope.setdefault(_OPERATION, ["none"])[0]
    return name


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
        request_id = f"req_{os.urandom(16).hex()}"
        token = REQUEST_ID.set(request_id)
        started = time.monotonic()
        status = 0
        fields = log_fields(scope)
        operation = scope.setdefault(_OPERATION, ["none"])

        def tagged(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] in _HEADS:
                status = message.get("status", 101)
                ids = [(name, request_id.encode()) for name in _ID_HEADERS]
                message["headers"] = [*message.get("headers", ()), *ids]
            return send(message)

        try:
            await self._app(scope, receive, tagged)
        except ClientDisconnectError:
            log(logging.INFO, "client_gone")
        except Exception:  # noqa: BLE001  (a fault of the gateway)
            LOGGER.exception("request_broke")
            if not status:
                form = self._served.of(scope["path"], headers_of(scope)).error_form
                await error_response(gateway_failed(), form)(scope, receive, tagged)
        finally:
            seconds = time.monotonic() - started
            method = scope.get("method", "GET")
            self._count(method, operation[0], status, seconds)
            log(
                logging.INFO,
                "request",
                method=method,
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
