"""Around every request: its id, its line in the log, its place in the metrics, and its span.

Attributes of spans are those of OpenTelemetry's conventions for HTTP servers:
https://opentelemetry.io/docs/specs/semconv/http/http-spans/, read November 2026.
"""

import logging
import os
import time
from collections.abc import Awaitable, Mapping
from typing import Any, Final

from llmcore.bridge.accounts.charges import Charge
from llmcore.bridge.apis.registry import Apis
from llmcore.bridge.http.asgi import (
    ASGIApp,
    ClientDisconnectError,
    Message,
    Receive,
    Scope,
    Send,
    headers_of,
    query_of,
)
from llmcore.bridge.http.logs import LOGGER, REQUEST_ID, log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.http.responses import diagnostic_codes, error_response, gateway_failed
from llmcore.bridge.response_run import SentResponse, request_id_of
from llmcore.bridge.state.ledger import NANO
from llmcore.schema.errors import missing_extra
from llmcore.schema.frozen import frozen
from llmcore.version import VERSION

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


def note_response(fields: dict[str, object], run: SentResponse, charge: Charge | None) -> None:
    """Add what the line of the log states about the response *run*, which has ended."""
    if charge is not None:
        fields.update(_used(charge))
    info = run.info
    fields["provider"] = info.upstream.provider  # of a pool, the one that answered
    if info.tried:
        fields["failed_upstreams"] = list(info.tried)
    fields["upstream_request_id"] = request_id_of(run.calls)
    fields["diagnostics"] = diagnostic_codes(run.diagnostics)
    if run.error is not None:
        fields["error"] = str(run.error)


def _used(charge: Charge) -> Mapping[str, object]:
    """Return what the response of *charge* used, for the line of the log."""
    row = charge.row
    if row is None or not (row.input_tokens or row.output_tokens):
        return {}
    cost = None if row.cost_nano is None else row.cost_nano / NANO
    return {
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cost_usd": cost,
    }


def operation_of(scope: Scope) -> str:
    """Return the name of the request's operation; `none` for a path that is not served."""
    name: str = scope.setdefault(_OPERATION, ["none"])[0]
    return name


def name_operation(scope: Scope, operation: str) -> None:
    """Label the request's metrics with *operation*."""
    scope.setdefault(_OPERATION, ["none"])[0] = operation


@frozen
class ObservabilityMiddleware:
    """Gives each request an id, logs and counts it, and reports faults of the gateway."""

    _app: ASGIApp
    _metrics: Metrics
    _served: Apis

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
                form = self._served.error_form(scope["path"], query_of(scope), headers_of(scope))
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


# -- traces


_FACTS: Final = {
    "key": "openbridge.key",
    "response_id": "openbridge.response_id",
    "model": "openbridge.model",
    "provider": "openbridge.provider",
}
"""Fields of a request's line in the log, and their attributes."""


_FLUSH_MS: Final = 5000


class TracingMiddleware:
    """Makes a server span of each request, which is the current one while it is answered."""

    def __init__(self, app: ASGIApp) -> None:
        """Trace the requests for *app*. ConfigurationError without the extra `otel`."""
        try:
            from opentelemetry import propagate, trace
        except ImportError as error:
            raise missing_extra("OpenTelemetry", "otel", error) from error
        self._app = app
        self._tracer = trace.get_tracer("llmcore.bridge", VERSION)
        self._extract = propagate.extract

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application for one request, in its span."""
        from opentelemetry.trace import SpanKind, StatusCode

        method = scope.get("method", "GET")
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        with self._tracer.start_as_current_span(
            method,
            context=self._extract(headers_of(scope)),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "url.path": scope["path"]},
        ) as span:
            try:
                await self._app(scope, receive, watched)
            finally:
                span.update_name(f"{method} {operation_of(scope)}")
                span.set_attributes(_attributes(scope))
                if status:
                    span.set_attribute("http.response.status_code", status)
                if status >= 500:
                    span.set_status(StatusCode.ERROR)


def flush_telemetry() -> None:
    """Export what the global providers still hold, within seconds.

    They would at the exit of the interpreter, which workers do not come to.
    """
    from opentelemetry import metrics, trace

    providers: tuple[Any, ...] = (trace.get_tracer_provider(), metrics.get_meter_provider())
    for provider in providers:
        flush = getattr(provider, "force_flush", None)  # the API's own providers hold nothing
        if flush is not None:
            flush(_FLUSH_MS)


def _attributes(scope: Scope) -> dict[str, str]:
    fields = log_fields(scope)
    facts = {name: fields.get(field) for field, name in _FACTS.items()}
    known = {name: str(fact) for name, fact in facts.items() if fact}
    return {"openbridge.operation": operation_of(scope), **known}
