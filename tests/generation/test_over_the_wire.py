"""Requests counted, waits chosen, connections closed: over a real server on loopback."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import pytest

from llmcore.client.client import Client
from llmcore.generation.abort import AbortController
from llmcore.generation.generate import generate
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.stream import stream
from llmcore.generation.tool import tool
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import (
    AbortError,
    LLMError,
    NetworkError,
    RateLimitError,
    RequestTimeoutError,
)
from llmcore.schema.events import ErrorEvent, LLMEvent, TextDelta, ToolResult
from tests.support.servers.loopback import Answer, Loopback, Received, Script, chat_chunk, serve
from tests.support.waiting import PATIENCE_S, pass_time, until
from tests.support.wire.generation import SSE, calls_of, model_at, text_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(lambda _: Answer(text_of(), headers=SSE)) as running:
        yield running


def refusal(status: int, **headers: str) -> Answer:
    body = b'{"error": {"message": "no"}}'
    return Answer([body], status, {"content-type": "application/json", **headers}, len(body))


def answering(script: Callable[[], Script]) -> Callable[[Received], Answer]:
    return lambda _: Answer(script(), headers=SSE)


def in_turn(*answers: Answer) -> Callable[[Received], Answer]:
    """Give each response once, the last one without a limit."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


async def error_of(server: Loopback, *, streamed: bool = False, **settings: Any) -> LLMError:
    """Return the error of a run that fails."""
    async with Client() as client:
        given = {"model": model_at(server.url), "prompt": "Hi", "client": client, **settings}
        with anyio.fail_after(600), pytest.raises(LLMError) as caught:  # minutes pass at once
            await (stream(**given).result() if streamed else generate(**given))
    return caught.value


# -- how many requests


QUICK = RetryPolicy(base_delay=0.001, jitter=False)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
async def test_what_may_pass_takes_n_plus_one_requests(
    server: Loopback, status: int, retries: int, streamed: bool
) -> None:
    """One knob, in one layer: nothing below retries by itself."""
    server.handler = lambda _: refusal(status)
    policy = RetryPolicy(max_retries=retries, base_delay=0.001)
    error = await error_of(server, streamed=streamed, retry_policy=policy)

    assert error.status_code == status
    assert len(server.received) == retries + 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_cannot_pass_takes_one(server: Loopback, status: int) -> None:
    """It is raised at once."""
    server.handler = lambda _: refusal(status)
    error = await error_of(server, max_retries=5)

    assert error.status_code == status
    assert len(server.received) == 1


@pytest.mark.parametrize("cut", [True, False])
async def test_a_stream_that_breaks_is_not_repeated(server: Loopback, cut: bool) -> None:
    """Somebody has seen its beginning."""
    half: list[bytes | float] = [chat_chunk(delta={"content": "Half"}), 0.05]
    server.handler = lambda _: Answer(half, headers=SSE, cut=cut)
    error = await error_of(server, streamed=True, retry_policy=QUICK)

    assert error.partial is not None
    assert error.partial.text == "Half"
    assert len(server.received) == 1


async def test_a_connection_that_breaks_before_is(server: Loopback) -> None:
    """Nobody has seen anything."""
    broken = Answer([], headers=SSE, cut=True)
    server.handler = in_turn(broken, broken, Answer(text_of(), headers=SSE))
    async with Client() as client:
        result = await generate(model_at(server.url), "Hi", client=client, retry_policy=QUICK)

    assert result.steps[0].requests == len(server.received) == 3


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_silent_server_is_asked_once(server: Loopback, streamed: bool) -> None:
    """It may be answering, and billing, all the same; an option allows a retry."""
    silence: list[bytes | float] = [600.0]
    server.handler = in_turn(Answer(text_of(), headers=SSE), Answer(silence, headers=SSE))
    async with Client() as client:
        await generate(model_at(server.url), "Hi", client=client)  # imports the engine
    limits = Timeouts(first_event=50)
    async with anyio.create_task_group() as group:
        group.start_soon(pass_a_minute_once, lambda: len(server.received) == 2)
        error = await error_of(server, streamed=streamed, timeout=limits, retry_policy=QUICK)

    assert isinstance(error, RequestTimeoutError)
    assert len(server.received) == 2

    async def pass_minutes() -> None:
        for count in (3, 4):
            await pass_a_minute_once(lambda count=count: len(server.received) == count)  # type: ignore[misc]

    eager = RetryPolicy(base_delay=0.001, max_retries=1, retry_timeouts=True)
    async with anyio.create_task_group() as group:
        group.start_soon(pass_minutes)
        await error_of(server, streamed=streamed, timeout=limits, retry_policy=eager)
    assert len(server.received) == 4


async def test_no_connection_at_all_is_retried() -> None:
    """As often as anything else."""
    tried: list[int] = []
    policy = RetryPolicy(base_delay=0.001, on_retry=lambda *what: tried.append(what[1]))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # the port is closed
        model = model_at(f"http://127.0.0.1:{silent.getsockname()[1]}")
        async with Client() as client:
            with pytest.raises(NetworkError):
                await generate(model, "Hi", client=client, retry_policy=policy)

    assert tried == [0, 1]


# -- how long to wait


def http_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "delay"),
    [
        ({}, 0.01),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "0.02"}, 0.02),
        ({"retry-after-ms": "30"}, 0.03),
        ({"retry-after-ms": "30", "retry-after": "1800"}, 0.03),
        ({"retry-after": "soon"}, 0.01),
        ({"retry-after": http_date(0), "date": http_date(0)}, 0.0),
        ({"retry-after": http_date(-60), "date": http_date(0)}, 0.01),
    ],
    ids=["none", "0", "0.02", "ms", "ms first", "no date", "date", "past date"],
)
async def test_the_server_says_how_long(
    server: Loopback, headers: dict[str, str], delay: float
) -> None:
    """By header; what cannot be read counts as nothing."""
    server.handler = in_turn(refusal(429, **headers), Answer(text_of(), headers=SSE))
    waited: list[float] = []
    policy = RetryPolicy(
        base_delay=0.01, jitter=False, on_retry=lambda *what: waited.append(what[2])
    )
    async with Client() as client:
        await generate(model_at(server.url), "Hi", client=client, retry_policy=policy)

    assert waited == [pytest.approx(delay)]


@pytest.mark.parametrize("value", ["1800", "61", "date"])
async def test_too_long_a_wait_is_an_error_at_once(server: Loopback, value: str) -> None:
    """It says how long it would have been."""
    header = http_date(1800) if value == "date" else value
    server.handler = lambda _: refusal(429, **{"retry-after": header, "date": http_date(0)})
    error = await error_of(server)

    assert isinstance(error, RateLimitError)
    assert error.retry_after is not None
    assert error.retry_after > 60
    assert len(server.received) == 1


# -- aborting


def endless() -> Script:
    while True:
        yield chat_chunk(delta={"content": "a"})
        yield 0.01


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("silent", [False, True])
async def test_an_abort_from_a_thread_closes_the_connection(
    server: Loopback, streamed: bool, silent: bool
) -> None:
    """In the middle of a stream, or before the first byte of it."""
    silence: list[bytes | float] = [600.0]
    controller = AbortController()

    def aborted() -> Script:
        threading.Timer(0.3, controller.abort, ["enough"]).start()
        return silence if silent else endless()

    server.handler = answering(aborted)
    error = await error_of(server, streamed=streamed, abort_signal=controller.signal)

    assert isinstance(error, AbortError)
    assert error.message == "enough"
    assert await until(lambda: len(server.disconnects) == 1)
    if not silent:
        assert error.partial is not None
        assert error.partial.text.startswith("a")


async def test_an_abort_is_an_event_and_then_raised(server: Loopback) -> None:
    """From the task itself, between two events."""
    server.handler = answering(endless)
    controller = AbortController()
    events: list[LLMEvent] = []
    async with Client() as client:
        running = stream(model_at(server.url), "Hi", client=client, abort_signal=controller.signal)
        with pytest.raises(AbortError):  # noqa: PT012  (the loop is what raises)
            async for event in running:
                events.append(event)
                if isinstance(event, TextDelta):
                    controller.abort()
        assert isinstance(events[-1], ErrorEvent)
        assert await until(lambda: len(server.disconnects) == 1)


async def test_who_aborts_before_sends_nothing(server: Loopback) -> None:
    """Not a single request."""
    controller = AbortController()
    controller.abort()
    await error_of(server, abort_signal=controller.signal)

    assert server.received == []


async def test_an_abort_ends_the_wait_for_a_retry(server: Loopback) -> None:
    """It need not be sat out."""
    server.handler = lambda _: refusal(500)
    controller = AbortController()
    threading.Timer(0.2, controller.abort).start()
    policy = RetryPolicy(base_delay=60)
    error = await error_of(server, abort_signal=controller.signal, retry_policy=policy)

    assert isinstance(error, AbortError)
    assert len(server.received) == 1


@pytest.mark.parametrize("entered", [False, True])
async def test_an_abort_ends_tools(server: Loopback, entered: bool) -> None:
    """Asynchronous ones by cancelling, threads by telling them."""
    server.handler = answering(lambda: calls_of(("a", "waits", {}), ("b", "sleeps", {})))
    controller, told = AbortController(), threading.Event()
    begun = threading.Barrier(2, action=lambda: threading.Timer(0.1, controller.abort).start())

    @tool
    async def waits() -> None:
        await anyio.to_thread.run_sync(begun.wait)
        await anyio.sleep(60)

    @tool
    def sleeps(abort_signal: Any) -> None:
        begun.wait()
        while not abort_signal.aborted:
            time.sleep(0.01)
        told.set()

    async with Client() as client:
        running = stream(
            model_at(server.url),
            "Hi",
            tools=[waits, sleeps],
            client=client,
            abort_signal=controller.signal,
        )
        context = running if entered else nullcontext()
        with anyio.fail_after(PATIENCE_S):
            async with context:
                with pytest.raises(AbortError):
                    await running.result()
    assert await anyio.to_thread.run_sync(lambda: told.wait(PATIENCE_S))


# -- time limits


async def pass_a_minute_once(condition: Callable[[], bool]) -> None:
    """Let a minute pass once *condition* holds and what the server then sends has been read."""
    assert await until(condition)
    await anyio.sleep(0.2)
    pass_time(60)


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_total_covers_everything(server: Loopback, streamed: bool) -> None:
    """A moving stream is ended all the same, and the connection with it."""
    server.handler = answering(endless)
    async with anyio.create_task_group() as group:
        group.start_soon(pass_a_minute_once, lambda: len(server.received) == 1)
        error = await error_of(server, streamed=streamed, timeout=50)

    assert isinstance(error, RequestTimeoutError)
    assert error.error_code == "total"
    assert "50 seconds" in error.message
    assert error.partial is not None
    assert await until(lambda: len(server.disconnects) == 1)


async def test_the_total_covers_tools(server: Loopback) -> None:
    """And the steps between them."""
    server.handler = answering(lambda: calls_of(("a", "waits", {})))

    @tool
    async def waits() -> None:
        pass_time(15)

    error = await error_of(server, tools=[waits], max_tool_rounds=99, timeout=Timeouts(total=40))

    assert error.error_code == "total"
    assert len(server.received) >= 2


async def test_a_wait_beyond_the_total_is_not_begun(server: Loopback) -> None:
    """The error that is there says more than a time limit."""
    server.handler = lambda _: refusal(500)
    error = await error_of(server, timeout=10, retry_policy=RetryPolicy(base_delay=30))

    assert error.status_code == 500


async def test_each_step_has_its_own_time(server: Loopback) -> None:
    """Several steps may take longer together."""
    calls = calls_of(("a", "echo", {"x": "1"}))
    server.handler = in_turn(*[Answer(calls, headers=SSE)] * 3, Answer(text_of(), headers=SSE))

    @tool
    async def echo(x: str) -> str:
        pass_time(40)
        return x

    async with Client(timeouts=Timeouts(step=60, tool=60)) as client:
        result = await generate(
            model_at(server.url), "Hi", tools=[echo], max_tool_rounds=9, client=client
        )
    assert len(result.steps) == 4

    server.handler = answering(endless)
    async with anyio.create_task_group() as group:
        group.start_soon(pass_a_minute_once, lambda: len(server.received) == 5)
        error = await error_of(server, timeout=Timeouts(step=50), max_retries=3)
    assert error.error_code == "step"
    assert len(server.received) == 5


async def test_tools_have_the_time_of_the_limits(server: Loopback) -> None:
    """The result names the tool that was too slow."""
    server.handler = in_turn(
        Answer(calls_of(("a", "waits", {})), headers=SSE), Answer(text_of(), headers=SSE)
    )

    @tool
    async def waits() -> None:
        await anyio.sleep(60)

    async with Client(timeouts=Timeouts(tool=0.1)) as client:
        result = await generate(model_at(server.url), "Hi", tools=[waits], client=client)

    assert result.text == "Hello"
    assert "longer than 0.1 seconds" in str(result.steps[0].tool_results[0].content)


async def test_leaving_the_block_closes_the_connection(server: Loopback) -> None:
    """The stream would never end by itself."""
    server.handler = answering(endless)
    async with Client() as client:
        async with stream(model_at(server.url), "Hi", client=client) as running:
            async for text in running.text_stream:
                assert text == "a"
                break
        assert await until(lambda: len(server.disconnects) == 1)


async def test_tools_and_steps_over_a_connection(server: Loopback) -> None:
    """The same over HTTP as over a script."""
    server.handler = in_turn(
        Answer(calls_of(("a", "echo", {"x": "1"})), headers=SSE), Answer(text_of(), headers=SSE)
    )

    @tool
    def echo(x: str) -> str:
        return x

    async with (
        Client() as client,
        stream(model_at(server.url), "Hi", tools=[echo], client=client) as running,
    ):
        results = [event async for event in running if isinstance(event, ToolResult)]

    assert [result.content for result in results] == ["1"]
