"""Spans of runs, their steps and tools."""

from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, get_current_span

from llmcore.client.client import Client
from llmcore.client.middleware.telemetry import Telemetry
from llmcore.generation.generate import generate
from llmcore.generation.stream import stream
from llmcore.generation.tool import ToolFailure, tool
from llmcore.schema.errors import ServerError
from llmcore.schema.events import Finish, FinishReason
from llmcore.schema.usage import Usage
from llmcore.testing.fake_model import FakeModel, call

pytestmark = pytest.mark.anyio


END = Finish(finish_reason=FinishReason("stop"), usage=Usage.make(input_tokens=3, output_tokens=1))


@tool
def look(city: str) -> str:
    """Look at the weather."""
    span: Any = get_current_span()
    if city == "Atlantis":
        raise ToolFailure("no such city")
    return str(span.name)


def observed(
    *answers: Any, content: bool = False
) -> tuple[FakeModel, Client, InMemorySpanExporter]:
    exporter, provider, fake = InMemorySpanExporter(), TracerProvider(), FakeModel(*answers)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(tracer_provider=provider, content=content)
    return fake, Client(middleware=[telemetry, fake]), exporter


def tree(spans: tuple[ReadableSpan, ...]) -> dict[str, str | None]:
    """Return the name of each span, with its number where it is not unique, and its parent's."""
    ids = {span.context.span_id: span.name for span in spans if span.context}
    return {span.name: span.parent and ids[span.parent.span_id] for span in spans}


def attributes_of(spans: tuple[ReadableSpan, ...], name: str) -> Mapping[str, Any]:
    (span,) = (span for span in spans if span.name == name)
    return span.attributes or {}


@pytest.mark.parametrize("kind", ["generate", "stream", "block"])
async def test_calls_and_tools_are_below_their_step_and_steps_below_the_run(kind: str) -> None:
    fake, client, exporter = observed(
        [call("look", {"city": "Oslo"}, call_id="c1")], ["Sunny.", END]
    )
    given: dict[str, Any] = {"tools": [look], "client": client}

    if kind == "generate":
        result = await generate(fake.model, "Hi", **given)
    elif kind == "stream":
        result = await stream(fake.model, "Hi", **given).result()
    else:
        async with stream(fake.model, "Hi", **given) as run:
            result = await run.result()

    spans = exporter.get_finished_spans()
    assert tree(spans) == {
        "chat fake-model": "step 1",  # and one below step 0
        "execute_tool look": "step 0",
        "step 0": "invoke_agent",
        "step 1": "invoke_agent",
        "invoke_agent": None,
    }
    assert result.steps[0].tool_results[0].content == "execute_tool look"
    assert attributes_of(spans, "execute_tool look") == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Look at the weather.",
    }
    agent = attributes_of(spans, "invoke_agent")
    assert agent["gen_ai.request.model"] == "fake-model"
    assert agent["gen_ai.usage.input_tokens"] == 3


async def test_content_is_in_the_span_of_a_tool_only_if_asked_for() -> None:
    fake, client, exporter = observed([call("look", {"city": "Oslo"})], "x", content=True)
    await generate(fake.model, "Hi", tools=[look], client=client)

    attributes = attributes_of(exporter.get_finished_spans(), "execute_tool look")
    assert attributes["gen_ai.tool.call.arguments"] == '{"city":"Oslo"}'
    assert "execute_tool look" in attributes["gen_ai.tool.call.result"]


async def test_failures_are_errors_of_their_spans_alone() -> None:
    fake, client, exporter = observed([call("look", {"city": "Atlantis"})], ServerError("down"))

    with pytest.raises(ServerError):
        await generate(fake.model, "Hi", tools=[look], client=client, max_retries=0)

    spans = exporter.get_finished_spans()
    failed = {
        span.name: (span.attributes or {})["error.type"]
        for span in spans
        if span.status.status_code is StatusCode.ERROR
    }
    assert failed == {
        "execute_tool look": "tool_error",
        "chat fake-model": "ServerError",
        "step 1": "ServerError",
        "invoke_agent": "ServerError",
    }
    assert attributes_of(spans, "step 0") == {"llmcore.step.number": 0}


async def test_stream_that_is_left_early_ends_its_spans() -> None:
    fake, client, exporter = observed("Once upon a time")
    async with stream(fake.model, "Hi", client=client) as run:
        await anext(run)

    names = [span.name for span in exporter.get_finished_spans()]
    assert sorted(names) == ["chat fake-model", "invoke_agent", "step 0"]
