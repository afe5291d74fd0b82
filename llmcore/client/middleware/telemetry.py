"""OpenTelemetry spans and metrics for each call, and messages in the JSON of its conventions.

Files in messages are named by type and size, their bytes are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next
from llmcore.client.middleware.clock import SYSTEM_CLOCK, Clock
from llmcore.client.middleware.outcome import CallOutcome
from llmcore.client.middleware.target import target_of
from llmcore.client.middleware.telemetry_attributes import (
    Attributes,
    common_attributes,
    operation_of,
    outcome_attributes,
    request_attributes,
)
from llmcore.schema import codec, json
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import missing_extra
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.hints import shown_kind, with_checked_arguments
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage
from llmcore.tracebacks import wrong_call
from llmcore.version import VERSION

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Meter, MeterProvider
    from opentelemetry.trace import Span, TracerProvider

_DURATIONS_S = tuple(round(0.01 * 2**power, 2) for power in range(14))
_TOKENS = tuple(4**power for power in range(14))


@with_checked_arguments()
@with_settings_in_repr
class Telemetry:
    """Makes a span of each call, and counts its time and tokens.

    By the conventions for generative AI: a client span `{operation} {model}`, and the
    histograms `gen_ai.client.operation.duration`, `.time_to_first_chunk` (streams) and
    `gen_ai.client.token.usage`. The span is the current one while the response is read, so that
    what HTTP clients trace is below it. It ends with the call, also with one that was left
    early (`error.type` is then `AbortError`) or dropped. Tokens are estimated where a response
    broke off (`llmcore.usage.estimated`).

    Runs of `generate` and `stream` have a span, too (`invoke_agent`), with those of their steps
    (`step {number}`) and tools (`execute_tool {name}`) below it.

    - `tracer_provider`, `meter_provider`: where to; by default the global ones.
    - `content`: whether spans hold prompts, responses and messages of errors.

    Needs the extra `otel`; ConfigurationError without it.
    """

    def __init__(
        self,
        *,
        tracer_provider: "TracerProvider | None" = None,
        meter_provider: "MeterProvider | None" = None,
        content: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise missing_extra("OpenTelemetry", "otel", error) from error
        for provider, kind, method in (
            (tracer_provider, "TracerProvider", "get_tracer"),
            (meter_provider, "MeterProvider", "get_meter"),
        ):
            is_one = not isinstance(provider, type) and hasattr(provider, method)
            if provider is not None and not is_one:
                shown = shown_kind(provider)
                raise wrong_call(f"Telemetry() needs a {kind} of OpenTelemetry, not {shown}")
        self._tracer = trace.get_tracer("llmcore", VERSION, tracer_provider)
        self._meters = _Meters(metrics.get_meter("llmcore", VERSION, meter_provider))
        self.content = content
        """Whether spans hold prompts and responses."""
        self._clock = clock

    def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Run the call in its own span."""
        from opentelemetry.trace import SpanKind

        target = target_of(request, next)
        attributes = common_attributes(target)
        span = self._tracer.start_span(
            f"{operation_of(target)} {target.model}",
            kind=SpanKind.CLIENT,
            attributes={**attributes, **request_attributes(request, streaming=next.streaming)},
        )
        if self.content and span.is_recording():
            span.set_attributes(input_content(request))
        call = _Call(span, self._meters, attributes, self._clock)

        def end(outcome: CallOutcome) -> None:
            if self.content and span.is_recording():
                span.set_attributes(_content_of(outcome))
            call.end(outcome, outcome.usage_of(request))

        return (
            next(request)
            .in_context(lambda: self.current(span))
            .watch(
                each=call.on_batch if next.streaming else None,
                end=lambda result: end(CallOutcome.of(result)),
            )
        )

    def start_span(self, name: str, attributes: Attributes) -> "Span":
        """Start an internal span below the current one; the caller ends it."""
        return self._tracer.start_span(name, attributes=attributes)

    def current(self, span: "Span") -> AbstractContextManager["Span"]:
        """Return a context in which *span* is the current one."""
        from opentelemetry.trace import use_span

        return use_span(span, record_exception=False, set_status_on_exception=False)


def _content_of(outcome: CallOutcome) -> Mapping[str, str]:
    """Return the attributes with the content of the response and the error's message."""
    output = {} if outcome.response is None else output_content(outcome.response)
    error = {} if outcome.error is None else {"error.message": outcome.error.message}
    return {**output, **error}


class _Meters:
    """The instruments of the metrics."""

    def __init__(self, meter: "Meter") -> None:
        self.duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_DURATIONS_S,
        )
        self.first_chunk = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk",
            "s",
            "Time from the request to the first chunk of a streamed response.",
            explicit_bucket_boundaries_advisory=_DURATIONS_S,
        )
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )


class _Call:
    """One call's span and measurements."""

    def __init__(self, span: "Span", meters: _Meters, common: Attributes, clock: Clock) -> None:
        self._span = span
        self._meters = meters
        self._common = common
        self._clock = clock
        self._started = clock.monotonic()
        self._measured = False

    def on_batch(self, batch: Sequence[LLMEvent]) -> None:
        """Measure the time to the first events, unless they are the last."""
        if self._measured or isinstance(batch[-1], ErrorEvent):
            return
        self._measured = True
        waited_s = self._clock.monotonic() - self._started
        self._span.set_attribute("gen_ai.response.time_to_first_chunk", waited_s)
        self._meters.first_chunk.record(waited_s, self._common, self._context)

    def end(self, outcome: CallOutcome, usage: Usage | None) -> None:
        """Measure the whole call, and end the span."""
        from opentelemetry.trace import StatusCode

        attributes = outcome_attributes(outcome, usage)
        self._span.set_attributes(attributes)
        kept = ("gen_ai.response.model", "error.type")
        common = {**self._common, **{k: attributes[k] for k in kept if k in attributes}}
        self._meters.duration.record(self._clock.monotonic() - self._started, common, self._context)
        common.pop("error.type", None)
        if usage is not None:
            self._count("input", usage.input_tokens, common)
            self._count("output", usage.output_tokens, common)
        if outcome.error is not None:
            self._span.set_status(StatusCode.ERROR, type(outcome.error).__name__)
        self._span.end()

    def _count(self, kind: str, tokens: int | None, common: Attributes) -> None:
        if tokens is not None:
            attributes = {**common, "gen_ai.token.type": kind}
            self._meters.tokens.record(tokens, attributes, self._context)

    @property
    def _context(self) -> "Context":
        """The span's context, which links exemplars of measurements to the span."""
        from opentelemetry.trace import set_span_in_context

        return set_span_in_context(self._span)


# -- content


_MODALITIES: Mapping[type, str] = {
    ImagePart: "image",
    AudioPart: "audio",
    DocumentPart: "document",
}
_FINISH_REASONS = {"tool_calls": "tool_call"}


def input_content(request: LLMRequest) -> dict[str, str]:
    """Return the attributes with the content of *request*."""
    messages = [
        {"role": message.role, "parts": _parts(message.content)} for message in request.messages
    ]
    content: dict[str, JsonValue] = {"gen_ai.input.messages": messages}
    if request.system:
        content["gen_ai.system_instructions"] = _parts(request.system)
    if request.tools:
        content["gen_ai.tool.definitions"] = [codec.to_json(tool) for tool in request.tools]
    return {name: json.dumps(value).decode() for name, value in content.items()}


def output_content(response: LLMResponse) -> dict[str, str]:
    """Return the attribute with the content of *response*."""
    reason = response.finish_reason.reason
    message: JsonValue = {
        "role": "assistant",
        "parts": _parts(response.message.content),
        "finish_reason": _FINISH_REASONS.get(reason, reason),
    }
    return {"gen_ai.output.messages": json.dumps([message]).decode()}


def _parts(parts: Iterable[ContentPart]) -> list[JsonValue]:
    return [_part(part) for part in parts]


def _part(part: ContentPart) -> JsonValue:
    match part:
        case TextPart(text=text):
            return {"type": "text", "content": text}
        case ReasoningPart(text=text):
            return {"type": "reasoning", "content": text}
        case RefusalPart(text=text):
            return {"type": "refusal", "content": text}
        case ToolCallPart():
            return _tool_call(part)
        case ToolResultPart():
            response = _parts(part.parts) if part.parts else codec.to_json(part.content)
            return {"type": "tool_call_response", "id": part.tool_call_id, "response": response}
        case ProviderPart(provider=provider):
            return {"type": "provider", "provider": provider}
        case ImagePart() | AudioPart() | DocumentPart():
            return _media(part)


def _tool_call(part: ToolCallPart) -> JsonValue:
    if not part.provider_executed:
        return {
            "type": "tool_call",
            "id": part.id,
            "name": part.name,
            "arguments": part.arguments,
        }
    return {
        "type": "server_tool_call",
        "id": part.id,
        "name": part.name,
        "server_tool_call": {"type": part.name, "arguments": part.arguments},
    }


def _media(part: ImagePart | AudioPart | DocumentPart) -> JsonValue:
    kind = {"modality": _MODALITIES[type(part)], "mime_type": part.media_type}
    if part.file_id is not None:
        return {"type": "file", **kind, "file_id": part.file_id}
    if part.url is not None and not part.url.startswith("data:"):
        return {"type": "uri", **kind, "uri": part.url}
    size = len(part.data or part.url or "")
    return {"type": "omitted", **kind, "bytes": size}
