"""OpenTelemetry spans and metrics."""

import gc
import json
import sys
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from attrs import define, field
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from llmcore import Client, ConfigurationError, Google, LLMRequest, Message, ToolDefinition, request
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware import Next
from llmcore.client.middleware.chain import Middleware
from llmcore.client.middleware.response_cache import ResponseCache
from llmcore.client.middleware.target import ModelChoice, target_of
from llmcore.client.middleware.telemetry import Telemetry, input_content
from llmcore.client.middleware.telemetry_attributes import common_attributes
from llmcore.schema.content import ImagePart, ProviderPart, ReasoningPart, RefusalPart, ToolCallPart
from llmcore.schema.events import TextDelta
from llmcore.schema.options import GenerationOptions, ResponseFormat
from tests.client.middleware.middleware_scenes import (
    CUT,
    KEY,
    OVERLOADED,
    PROVIDER,
    WANTED,
    FakeClock,
    answer,
    client_of,
    run,
)

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("streaming", [False, True])


@define
class Observed:
    """Collects what is exported."""

    exporter: InMemorySpanExporter = field(factory=InMemorySpanExporter)
    reader: InMemoryMetricReader = field(factory=InMemoryMetricReader)
    tracers: TracerProvider = field(factory=TracerProvider)
    time: FakeClock = field(factory=FakeClock)

    def telemetry(self, **options: Any) -> Telemetry:
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        meters = MeterProvider([self.reader])
        return Telemetry(
            tracer_provider=self.tracers, meter_provider=meters, clock=self.time.clock, **options
        )

    def client(self, *responses: Any, inner: tuple[Middleware, ...] = (), **options: Any) -> Client:
        return client_of([self.telemetry(**options), *inner], *responses)[0]

    @property
    def span(self) -> ReadableSpan:
        (span,) = self.exporter.get_finished_spans()
        return span

    @property
    def attributes(self) -> Mapping[str, Any]:
        return dict(self.span.attributes or {})

    def points(self) -> dict[str, list[tuple[float, dict[str, Any]]]]:
        """Return sum and attributes of each metric's points."""
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            metric.name: [
                (getattr(point, "sum", 0), dict(point.attributes or {}))
                for point in metric.data.data_points
            ]
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


REQUEST = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "loop",
    "gen_ai.request.model": "m",
    "server.address": "api.example.com",
    "server.port": 443,
}


@both
async def test_a_call_is_a_client_span(streaming: bool) -> None:
    """Named and described as the conventions have it, without what was said."""
    observed = Observed()
    await run(observed.client(answer(streaming)), streaming)

    assert (observed.span.name, observed.span.kind) == ("chat m", SpanKind.CLIENT)
    assert observed.span.status.status_code is StatusCode.UNSET
    stream = {"gen_ai.request.stream": True, "gen_ai.response.time_to_first_chunk": 0.0}
    assert observed.attributes == {
        **REQUEST,
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 2,
        **(stream if streaming else {}),
    }


@both
async def test_time_and_tokens_are_measured(streaming: bool) -> None:
    """The time to the first chunk only of streams."""
    observed = Observed()

    async def slow(request: LLMRequest, next: Next) -> EventStream:
        await observed.time.sleep(2)
        return next(request)

    await run(observed.client(answer(streaming), inner=(slow,)), streaming)

    points = observed.points()
    common = {**REQUEST, "gen_ai.response.model": "m-1"}
    assert points["gen_ai.client.operation.duration"] == [(2.0, common)]
    assert points["gen_ai.client.token.usage"] == [
        (3, {**common, "gen_ai.token.type": "input"}),
        (2, {**common, "gen_ai.token.type": "output"}),
    ]
    first = points.get("gen_ai.client.operation.time_to_first_chunk")
    assert first == ([(2.0, REQUEST)] if streaming else None)


async def test_what_was_asked_for_is_described() -> None:
    """Sampling, limits, the kind of output."""
    observed = Observed()
    options = GenerationOptions(
        temperature=0.5, top_p=0.9, top_k=4, max_tokens=100, stop=("END",), seed=7
    )
    wanted = request(
        model=PROVIDER.model("m"),
        prompt="Hi",
        generation=options,
        response_format=ResponseFormat.json(),
    )
    await run(observed.client(answer(False)), False, wanted)

    assert {
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.top_k": 4,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.request.stop_sequences": ("END",),
        "gen_ai.request.seed": 7,
        "gen_ai.output.type": "json",
    }.items() <= observed.attributes.items()


@both
async def test_a_failure_is_named_and_not_quoted(streaming: bool) -> None:
    """Error messages may hold what was said."""
    observed = Observed()
    await run(observed.client(OVERLOADED), streaming)

    assert observed.attributes["error.type"] == "OverloadedError"
    assert observed.attributes["http.response.status_code"] == 529
    assert observed.span.status.status_code is StatusCode.ERROR
    assert "secret" not in observed.span.to_json()
    ((_, duration),) = observed.points()["gen_ai.client.operation.duration"]
    assert duration["error.type"] == "OverloadedError"
    assert "gen_ai.client.token.usage" not in observed.points()


@pytest.mark.parametrize("way", ["closed", "cancelled"])
async def test_a_stream_that_is_left_ends_its_span_once(way: str) -> None:
    """With what it had consumed, estimated."""
    observed = Observed()
    client = observed.client([CUT, (CUT, 50)])
    with anyio.CancelScope() as scope:
        async with client.stream(WANTED) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    if way == "cancelled":
                        scope.cancel()
                        await anyio.lowlevel.checkpoint()
                    break
    gc.collect()

    assert observed.attributes["error.type"] == "AbortError"
    assert observed.attributes["llmcore.usage.estimated"] is True
    assert observed.attributes["gen_ai.usage.output_tokens"] == 4
    assert [total for total, _ in observed.points()["gen_ai.client.token.usage"]] == [4, 4]


async def test_spans_nest_across_tasks() -> None:
    """The caller's span is the parent; what the call does is below the call's span."""
    observed = Observed()
    inside: list[str] = []
    tracer = observed.tracers.get_tracer("app")

    async def http(request: LLMRequest, next: Next) -> EventStream:
        with tracer.start_as_current_span(f"http {request.messages[0].text}"):
            await anyio.lowlevel.checkpoint()
        return next(request)

    client = observed.client(*[answer(True)] * 3, inner=(http,))

    async def one(name: str) -> None:
        with tracer.start_as_current_span(f"app {name}") as outer:
            async with client.stream(request(model=PROVIDER.model("m"), prompt=name)) as stream:
                async for _ in stream:
                    await anyio.lowlevel.checkpoint()
                    assert trace.get_current_span() is outer
                    inside.append(name)

    async with anyio.create_task_group() as tasks:
        for name in "abc":
            tasks.start_soon(one, name)

    spans = observed.exporter.get_finished_spans()
    by_id = {span.context.span_id: span for span in spans if span.context}
    assert len(spans) == 9
    assert set(inside) == set("abc")
    for name in "abc":
        (http_span,) = [span for span in spans if span.name == f"http {name}"]
        assert http_span.parent is not None
        call = by_id[http_span.parent.span_id]
        assert call.name == "chat m"
        assert call.parent is not None
        assert by_id[call.parent.span_id].name == f"app {name}"


async def test_content_can_be_asked_for() -> None:
    """In the JSON of the conventions; keys are never in it."""
    observed = Observed()
    wanted = request(
        model=PROVIDER.model("m"),
        system="Be brief.",
        tools=[ToolDefinition("look", "Looks.")],
        messages=[
            Message.user("Look!", ImagePart(data=b"1234", media_type="image/png")),
            Message.assistant("I look.", ToolCallPart("c1", "look", {"at": "it"})),
            Message.tool("c1", "a cat"),
        ],
    )
    await run(observed.client(answer(False), content=True), False, wanted)

    said = {name: json.loads(observed.attributes[name]) for name in CONTENT}
    assert said["gen_ai.system_instructions"] == [{"type": "text", "content": "Be brief."}]
    assert said["gen_ai.tool.definitions"][0]["name"] == "look"
    assert said["gen_ai.input.messages"] == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "Look!"},
                {"type": "omitted", "modality": "image", "mime_type": "image/png", "bytes": 4},
            ],
        },
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "I look."},
                {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": "it"}},
            ],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c1", "response": "a cat"}],
        },
    ]
    assert said["gen_ai.output.messages"] == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "Hello"}],
            "finish_reason": "stop",
        }
    ]
    assert KEY not in observed.span.to_json()


CONTENT = (
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
)


def test_every_kind_of_part_has_its_form() -> None:
    """Reasoning, refusals, the provider's own tools, files by id and by url."""
    message = Message.assistant(
        ReasoningPart("Hm."),
        RefusalPart("No."),
        ToolCallPart("s1", "web_search", {"q": "x"}, provider_executed=True),
        ProviderPart("any", {"opaque": True}),
        ImagePart(file_id="f1"),
        ImagePart(url="https://example.com/a.png"),
    )
    content = input_content(request(model="m", messages=[message]))
    ((_, parts),) = [tuple(item.values()) for item in json.loads(content["gen_ai.input.messages"])]

    assert [part["type"] for part in parts] == [
        "reasoning",
        "refusal",
        "server_tool_call",
        "provider",
        "file",
        "uri",
    ]


async def test_the_global_providers_are_the_default() -> None:
    """Without any set up, nothing happens."""
    client, _ = client_of([Telemetry()], answer(False))

    assert (await run(client, False)).unwrap().text == "Hello"


async def test_answers_from_the_cache_use_no_tokens() -> None:
    """A field of the span reports it."""
    observed = Observed()
    client = observed.client(answer(False), inner=(ResponseCache(),))
    await run(client, False)
    await run(client, False)

    first, second = observed.exporter.get_finished_spans()
    assert "llmcore.response.from_cache" not in (first.attributes or {})
    assert (second.attributes or {})["llmcore.response.from_cache"] is True
    assert [total for total, _ in observed.points()["gen_ai.client.token.usage"]] == [3, 2]


def test_providers_have_the_names_of_the_conventions() -> None:
    """And Gemini has an operation of its own."""
    gemini = Google.configure(api_key="k").model("gemini-3-pro")
    client = Client()
    target = target_of(
        request(model=gemini, prompt="Hi"),
        Next(run=lambda _request: EventStream.of([]), resolve=client.resolve),
    )

    assert common_attributes(target) == {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-3-pro",
        "server.address": "generativelanguage.googleapis.com",
        "server.port": 443,
    }
    local = ModelChoice(provider="xai", model="m", base_url="http://127.0.0.1:8080/v1")
    assert common_attributes(local)["gen_ai.provider.name"] == "x_ai"
    assert common_attributes(local)["server.port"] == 8080


def test_without_opentelemetry_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigurationError, match=r"llmcore-routes\[otel\]"):
        Telemetry()
