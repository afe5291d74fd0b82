"""Several middlewares at once, over a real connection, below the tool loop and its retries."""

import gc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from llmcore import Client, OpenAICompatible, Success, request
from llmcore.client.middleware.call_log import CallLog
from llmcore.client.middleware.chain import Middleware
from llmcore.client.middleware.circuit_breaker import CircuitBreaker
from llmcore.client.middleware.concurrency_limit import ConcurrencyLimit
from llmcore.client.middleware.cost_budget import CostBudget
from llmcore.client.middleware.fallback import Fallback
from llmcore.client.middleware.rate_limiter import RateLimiter
from llmcore.client.middleware.response_cache import ResponseCache
from llmcore.client.middleware.sqlite_cache import SqliteCache
from llmcore.client.middleware.telemetry import Telemetry
from llmcore.client.middleware.usage_hook import CallUsage, UsageHook
from llmcore.generation.generate import generate
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.tool import tool
from llmcore.schema.events import TextDelta
from tests.client.middleware.middleware_scenes import OVERLOADED, cent_a_token, client_of
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    chat_handler,
    chat_stream,
    serve,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


def slowly(_received: Received) -> Answer:
    """Stream a word, and the rest much later."""
    script = chat_stream(("Hel", "lo"), pause=30)
    return Answer(script, headers={"content-type": "text/event-stream"})


def everything(spans: InMemorySpanExporter, cache: Path) -> tuple[Sequence[Middleware], CostBudget]:
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    budget = CostBudget(usd=100, price=cent_a_token)
    return [
        Telemetry(tracer_provider=tracers),
        CallLog(price=cent_a_token),
        ResponseCache(SqliteCache(cache)),
        Fallback("n"),
        budget,
        CircuitBreaker(),
        RateLimiter(requests_per_minute=1000, tokens_per_minute=100_000),
        ConcurrencyLimit(4),
    ], budget


async def test_all_of_them_over_a_real_connection(server: Loopback, tmp_path: Path) -> None:
    """Whole and streamed calls at once; equal ones come from the cache afterwards."""
    spans = InMemorySpanExporter()
    middleware, budget = everything(spans, tmp_path / "answers.db")
    provider = OpenAICompatible.configure(name="loop", base_url=server.url, api_key="k")
    outcomes: list[object] = []

    async with Client(middleware=middleware) as client:

        async def one(number: int) -> None:
            wanted = request(model=provider.model("m"), prompt=f"Hi {number % 10}")
            call = client.stream(wanted) if number % 2 else client.events(wanted)
            async with call:
                outcomes.append(await call.result())

        for _ in range(2):
            async with anyio.create_task_group() as tasks:
                for number in range(10):
                    tasks.start_soon(one, number)

    assert all(isinstance(outcome, Success) for outcome in outcomes)
    assert len(outcomes) == 20
    assert len(server.received) == 10
    assert budget.spent_usd == pytest.approx(10 * 0.05)
    assert len(spans.get_finished_spans()) == 20


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_unclosed_stream_gives_its_place_back(anyio_backend: str) -> None:
    """A forgotten stream is collected, and does not block others."""
    limit = ConcurrencyLimit(1)
    with serve(slowly) as server:
        provider = OpenAICompatible.configure(name="loop", base_url=server.url, api_key="k")
        async with Client(middleware=[limit]) as client:
            stream = client.stream(request(model=provider.model("m"), prompt="Hi"))
            while not isinstance(await anext(stream), TextDelta):
                pass
            assert limit.running == 1
            del stream
            gc.collect()
            assert limit.running == 0
            await anyio.sleep(0.05)  # the event loop closes the generator that was left
    assert anyio_backend == "asyncio"


async def test_many_cancelled_calls_leave_nothing_behind() -> None:
    """Whether they waited for a place or for the response."""
    limit = ConcurrencyLimit(3)
    told: list[CallUsage] = []
    with serve(slowly) as server:
        provider = OpenAICompatible.configure(name="loop", base_url=server.url, api_key="k")
        async with Client(middleware=[limit, UsageHook(told.append, price=cent_a_token)]) as client:

            async def one() -> None:
                async with client.stream(request(model=provider.model("m"), prompt="Hi")) as s:
                    await s.result()

            for _ in range(5):
                with anyio.move_on_after(0.5):
                    async with anyio.create_task_group() as tasks:
                        for _ in range(10):
                            tasks.start_soon(one)
            assert limit.running == 0
    assert told
    assert len(server.received) <= len(told) <= 15


def tool_call(name: str) -> dict[str, Any]:
    """Return the body of a response that calls a tool."""
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return {"object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


@tool
def look() -> str:
    """Return a page."""
    return "a cat"


async def test_each_attempt_of_each_step_is_a_call(server: Loopback) -> None:
    """Retries and the tool loop are outside: middleware sees every request by itself."""
    told: list[CallUsage] = []
    hook = UsageHook(told.append, price=cent_a_token)
    client, transport = client_of([hook], OVERLOADED, tool_call("look"), OVERLOADED, HELLO)
    result = await generate(
        "m",
        "What is there?",
        tools=[look],
        client=client,
        retry_policy=RetryPolicy(base_delay=0, jitter=False),
    )

    assert result.text == "Hello"
    assert len(transport.requests) == 4
    assert [type(call.error).__name__ for call in told] == [
        "OverloadedError",
        "NoneType",
        "OverloadedError",
        "NoneType",
    ]
    assert sum(call.cost_usd or 0 for call in told) == pytest.approx(0.1)


HELLO = b"".join(piece for piece in chat_stream() if isinstance(piece, bytes))


async def test_what_a_breaker_refuses_is_tried_again_later() -> None:
    """Its error says when, so that the retry comes after the pause."""
    waits: list[float] = []
    breaker = CircuitBreaker(failures=1, open_s=0.5)
    client, _ = client_of([breaker], OVERLOADED, HELLO)
    policy = RetryPolicy(
        base_delay=0, jitter=False, on_retry=lambda _error, _attempt, delay: waits.append(delay)
    )
    result = await generate("m", "Hi", client=client, retry_policy=policy)

    assert result.text == "Hello"
    assert waits[0] == 0
    assert 0 < waits[1] <= 0.5
