"""A span of OpenTelemetry for each request, above those of the calls of upstreams.

Attributes are those of the conventions for HTTP servers:
https://opentelemetry.io/docs/specs/semconv/http/http-spans/, read November 2026.
"""

from typing import Any, Final

from llmcore.bridge.http.asgi import ASGIApp, Message, Receive, Scope, Send, headers_of
from llmcore.bridge.http.observability import log_fields, operation_of
from llmcore.schema.errors import missing_extra
from llmcore.version import VERSION

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
