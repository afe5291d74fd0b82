"""Spans of requests, and of the calls of upstreams below them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from attrs import evolve
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from llmcore.bridge.configuration.settings import AccountSettings, GatewaySettings
from tests.bridge.accounts.test_charges import answering, body, key_for
from tests.support.servers.bridge_process import gateway
from tests.support.servers.bridge_service import asked, settings_for, sqlite_state
from tests.support.servers.loopback import Loopback, serve

TRACE_ID = 0x4BF92F3577B34DA6A3CE929D0E0E4736
PARENT = f"00-{TRACE_ID:032x}-00f067aa0ba902b7-01"


@pytest.fixture
def upstream() -> Iterator[Loopback]:
    with serve(answering) as running:
        yield running


@pytest.fixture
def settings(upstream: Loopback, tmp_path: Path) -> GatewaySettings:
    accounts = AccountSettings(issued_keys=True)
    state = sqlite_state(tmp_path)
    return settings_for(upstream.url, state=state, accounts=accounts, telemetry=True)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Return what the global provider of tracers exports to."""
    made = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return made


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> InMemoryMetricReader:
    """Return a reader of the metrics of the global provider of meters."""
    made = InMemoryMetricReader()
    provider = MeterProvider([made])
    monkeypatch.setattr("opentelemetry.metrics._internal._METER_PROVIDER", provider)
    return made


def named(exporter: InMemorySpanExporter, kind: SpanKind) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.kind is kind]


@pytest.mark.anyio
@pytest.mark.parametrize("relay", [False, True])
@pytest.mark.parametrize("stream", [False, True])
async def test_the_call_of_the_upstream_is_a_child_of_the_request(
    settings: GatewaySettings,
    exporter: InMemorySpanExporter,
    relay: bool,
    stream: bool,
) -> None:
    """Which is a child of the client's own span."""
    from llmcore.bridge.state.stores import ledger_for

    ledger = ledger_for(settings)
    id_, mine = key_for(ledger)
    ledger.close()
    chat = {"model": "m-1", "messages": [{"role": "user", "content": "secret words"}]}
    async with asked(evolve(settings, relay=relay)) as client:
        answer = await client.post(
            "/v1/chat/completions",
            json=chat | {"stream": stream, "stream_options": {"include_usage": True}},
            headers=mine | {"traceparent": PARENT},
        )
    (server,) = named(exporter, SpanKind.SERVER)
    (call,) = named(exporter, SpanKind.CLIENT)

    assert answer.status_code == 200
    assert server.context is not None
    assert server.context.trace_id == TRACE_ID
    assert call.parent is not None
    assert call.parent.span_id == server.context.span_id
    assert server.name == "POST chat_completions"
    assert server.attributes is not None
    assert server.attributes["openbridge.key"] == id_
    assert server.attributes["http.response.status_code"] == 200
    assert call.attributes is not None
    assert call.attributes["gen_ai.usage.output_tokens"] == 20
    assert "secret words" not in server.to_json() + call.to_json()


@pytest.mark.anyio
async def test_the_call_of_a_background_response_is_a_child_of_its_request(
    settings: GatewaySettings, exporter: InMemorySpanExporter
) -> None:
    """Which has ended before it."""
    async with asked(evolve(settings, accounts=AccountSettings())) as client:
        sent = body("slow", background=True, store=True)
        made = await client.post("/v1/responses", json=sent, headers={"traceparent": PARENT})
    # The gateway is closed once its background responses have ended.
    (server,) = named(exporter, SpanKind.SERVER)
    (call,) = named(exporter, SpanKind.CLIENT)

    assert made.json()["status"] == "queued"
    assert server.context is not None
    assert call.parent is not None
    assert call.parent.span_id == server.context.span_id
    assert server.end_time is not None
    assert call.end_time is not None
    assert server.end_time < call.end_time


@pytest.mark.anyio
@pytest.mark.parametrize("relay", [False, True])
async def test_calls_of_upstreams_are_measured(
    settings: GatewaySettings, reader: InMemoryMetricReader, relay: bool
) -> None:
    """By the conventions for generative AI: durations, tokens and the time to the first chunk."""
    chat = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]}
    streaming = {"stream": True, "stream_options": {"include_usage": True}}
    async with asked(evolve(settings, relay=relay, accounts=AccountSettings())) as client:
        await client.post("/v1/chat/completions", json=chat)
        await client.post("/v1/chat/completions", json=chat | streaming)
        chat["messages"] = [{"role": "user", "content": "fail"}]
        await client.post("/v1/chat/completions", json=chat)
    found = measured(reader)

    tries = settings.retries + 1
    durations = found["gen_ai.client.operation.duration"]
    assert sum(point.count for point in durations) == 2 + tries
    failed = [point.count for point in durations if "error.type" in (point.attributes or {})]
    assert sum(failed) == tries
    tokens = {
        (point.attributes or {})["gen_ai.token.type"]: point.sum
        for point in found["gen_ai.client.token.usage"]
    }
    assert tokens == {"input": 60, "output": 40}
    (first,) = found["gen_ai.client.operation.time_to_first_chunk"]
    assert first.count == 1
    assert {(point.attributes or {})["gen_ai.request.model"] for point in durations} == {"m-1"}


def measured(reader: InMemoryMetricReader) -> dict[str, Any]:
    """Return the data points of each metric."""
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: metric.data.data_points
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


@pytest.mark.anyio
async def test_a_failed_upstream_marks_both_spans(
    settings: GatewaySettings, exporter: InMemorySpanExporter
) -> None:
    without_keys = evolve(settings, accounts=AccountSettings())
    async with asked(without_keys) as client:
        await client.post("/v1/responses", json=body("fail"))
    (server,) = named(exporter, SpanKind.SERVER)
    (call,) = named(exporter, SpanKind.CLIENT)

    assert server.status.status_code is StatusCode.ERROR
    assert call.status.status_code is StatusCode.ERROR


@pytest.mark.anyio
async def test_nothing_is_traced_unless_it_is_asked_for(
    settings: GatewaySettings, exporter: InMemorySpanExporter
) -> None:
    async with asked(evolve(settings, telemetry=False, accounts=AccountSettings())) as client:
        await client.post("/v1/responses", json=body())

    assert exporter.get_finished_spans() == ()


EXPORTING = """
import json, os, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from llmcore.cli.openbridge import main

spans = open("spans", "a", buffering=1)
points = open("points", "a", buffering=1)
tracers = TracerProvider()
written = ConsoleSpanExporter(out=spans, formatter=lambda span: line(span))
tracers.add_span_processor(BatchSpanProcessor(written))
trace.set_tracer_provider(tracers)
line = lambda data: data.to_json(indent=None) + "\\n"
exporter = ConsoleMetricExporter(out=points, formatter=line)
metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(exporter)]))
sys.exit(main(sys.argv[1:]))
"""
"""A gateway as `opentelemetry-instrument` sets one up: exports are made seconds later."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="workers share an address on Linux")
def test_workers_export_spans_and_metrics_before_a_clean_stop_ends(
    upstream: Loopback, tmp_path: Path
) -> None:
    named = {
        "OPENBRIDGE_UPSTREAM": "openai-compatible",
        "OPENBRIDGE_UPSTREAM_BASE_URL": f"{upstream.url}/v1",
        "OPENBRIDGE_WORKERS": "2",
        "OPENBRIDGE_TELEMETRY": "true",
    }
    with gateway(tmp_path, program=EXPORTING, **named) as running:
        for _ in range(12):
            answer = httpx.post(f"{running.url}/responses", json=body(), timeout=30)
            assert answer.status_code == 200
    spans = [json.loads(line) for line in (tmp_path / "spans").read_text().splitlines()]
    exports = [json.loads(line) for line in (tmp_path / "points").read_text().splitlines()]
    counted = [
        point["count"]
        for export in exports
        for resource in export["resource_metrics"]
        for scope in resource["scope_metrics"]
        for metric in scope["metrics"]
        if metric["name"] == "gen_ai.client.operation.duration"
        for point in metric["data"]["data_points"]
    ]

    assert [span["kind"] for span in spans].count("SpanKind.SERVER") == 12
    assert [span["kind"] for span in spans].count("SpanKind.CLIENT") == 12
    assert sum(counted) == 12
