"""Watching a stream: each end is reported exactly once, however it comes."""

import gc
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from llmcore import Client, LLMRequest, RateLimitError
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware import Next
from llmcore.client.middleware.usage_hook import CallUsage, UsageHook
from llmcore.schema.errors import AbortError, ServerError, StreamError
from llmcore.schema.events import LLMEvent, StepStart, StreamStart, TextDelta, TextStart
from llmcore.schema.result import Success
from tests.client.middleware.middleware_scenes import (
    CUT,
    OVERLOADED,
    WANTED,
    answer,
    cent_a_token,
    client_of,
    run,
)

pytestmark = pytest.mark.anyio


def hooked(*responses: Any) -> tuple[Client, list[CallUsage]]:
    told: list[CallUsage] = []
    client, _ = client_of([UsageHook(told.append, price=cent_a_token)], *responses)
    return client, told


@pytest.mark.parametrize("streaming", [False, True])
async def test_finished_call_reports_usage_and_cost(streaming: bool) -> None:
    """The provider's count, and what it cost."""
    client, told = hooked(answer(streaming))
    await run(client, streaming)

    (call,) = told
    assert (call.provider, call.model, call.error) == ("loop", "m", None)
    assert call.usage is not None
    assert (call.usage.input_tokens, call.usage.output_tokens) == (3, 2)
    assert call.cost_usd == 0.05


@pytest.mark.parametrize("streaming", [False, True])
async def test_refused_call_reports_no_usage(streaming: bool) -> None:
    """Nothing was consumed."""
    client, told = hooked(OVERLOADED)
    await run(client, streaming)

    (call,) = told
    assert isinstance(call.error, ServerError)
    assert (call.usage, call.cost_usd) == (None, None)


async def test_a_broken_stream_counts_as_far_as_it_came() -> None:
    """Input by the request, output by the text that arrived: both estimated."""
    client, told = hooked([CUT])
    await run(client, True)

    (call,) = told
    assert isinstance(call.error, StreamError)
    assert call.usage is not None
    assert call.usage.estimated
    assert (call.usage.input_tokens, call.usage.output_tokens) == (4, 4)


async def left_early(client: Client) -> None:
    async with client.stream(WANTED) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break


async def cancelled(client: Client) -> None:
    with anyio.CancelScope() as scope:
        async with client.stream(WANTED) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("leave", [left_early, cancelled])
async def test_a_stream_that_is_left_is_reported_once(leave: Callable[[Client], Any]) -> None:
    """Closed or cancelled: an AbortError, with what had arrived."""
    client, told = hooked([CUT, (CUT, 50)])
    await leave(client)
    gc.collect()

    check_left(told)


def check_left(told: list[CallUsage]) -> None:
    (call,) = told
    assert isinstance(call.error, AbortError)
    assert call.error.partial is not None
    assert call.error.partial.text.startswith("Half an answer")
    assert call.usage is not None
    assert (call.usage.input_tokens, call.usage.output_tokens) == (4, 4)
    assert call.usage.estimated


async def test_a_stream_that_is_forgotten_is_reported_once() -> None:
    """It was neither read to its end nor closed, and the last reference is gone."""
    half: list[LLMEvent] = [
        StreamStart(provider="loop", model="m"),
        StepStart(),
        TextStart("t"),
        TextDelta("t", "Half an answer."),
    ]
    told: list[CallUsage] = []

    def forgetful(request: LLMRequest, next: Next) -> EventStream:
        return EventStream.of(half)

    client, _ = client_of([UsageHook(told.append, price=cent_a_token), forgetful])
    stream = client.stream(WANTED)
    await anext(stream)
    assert told == []

    del stream
    gc.collect()

    check_left(told)


async def test_unread_stream_is_not_reported() -> None:
    """No call was sent."""
    client, told = hooked()
    client.stream(WANTED)
    gc.collect()

    assert told == []


async def test_closing_ends_a_middleware_that_is_waiting() -> None:
    """Another task that closes the stream need not wait for it."""

    async def forever(request: LLMRequest, next: Next) -> EventStream:
        assert request
        await anyio.sleep_forever()
        return next(request)

    client, transport = client_of([forever])
    stream = client.stream(WANTED)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stream.result)
        await anyio.sleep(0.01)
        await stream.aclose()
        tasks.cancel_scope.deadline = anyio.current_time() + 5

    assert not tasks.cancel_scope.cancel_called
    assert transport.requests == []
    result = await stream.result()
    assert isinstance(result.failure(), AbortError)


async def test_an_error_that_middleware_raises_is_the_outcome() -> None:
    """The client does not raise it."""

    def refuse(request: LLMRequest, next: Next) -> EventStream:
        raise RateLimitError(f"no {request.model_id}, {next.streaming}")

    client, _ = client_of([refuse])

    assert (await client.generate(WANTED)).failure() == RateLimitError("no m, False")


async def test_events_that_are_pushed_back_are_read_again() -> None:
    """Events that were read can be put back in front, also after the end."""
    client, _ = client_of([], answer(True))
    async with client.stream(WANTED) as stream:
        first = [event async for event in stream]
        stream.push_back(first)
        again = await anext(stream)
        rest = [event async for event in stream]

    assert [again, *rest] == first
    assert isinstance(await stream.result(), Success)


async def test_layers_share_one_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many middlewares look on, each event is collected once, where it is decoded."""
    from llmcore.folds.response import Accumulator

    seen: list[object] = []
    process = Accumulator.feed

    def counted(self: Accumulator, event: LLMEvent) -> None:
        seen.append(event)
        process(self, event)

    monkeypatch.setattr(Accumulator, "feed", counted)
    client, _ = client_of([UsageHook(lambda _call: None)] * 3, answer(True))
    events = [event async for event in client.stream(WANTED)]

    assert len(seen) <= len(events)
