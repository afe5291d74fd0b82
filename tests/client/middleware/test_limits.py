"""Rate limiter, concurrency limit and circuit breaker."""

import math
import threading
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore import (
    Client,
    ConfigurationError,
    LLMRequest,
    NetworkError,
    RateLimitError,
    Success,
    request,
)
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware import Next
from llmcore.client.middleware.circuit_breaker import CircuitBreaker
from llmcore.client.middleware.concurrency_limit import ConcurrencyLimit
from llmcore.client.middleware.rate_limiter import RateLimiter
from llmcore.client.middleware.token_bucket import TokenBucket, bucket_by_headers, per_minute
from llmcore.schema.errors import OverloadedError
from tests.client.middleware.middleware_scenes import (
    CUT,
    INVALID,
    LIMITED,
    OTHER,
    OVERLOADED,
    WANTED,
    FakeClock,
    answer,
    client_of,
    run,
)

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("streaming", [False, True])

# -- the bucket


@given(
    amounts=st.lists(st.floats(0, 50), max_size=30),
    pauses=st.lists(st.floats(0, 20), max_size=30),
)
def test_a_bucket_never_lets_more_through_than_its_rate(
    amounts: list[float], pauses: list[float]
) -> None:
    """Those who wait as told use at most the capacity, and the rate times the time."""
    bucket = TokenBucket(capacity=50, rate=2, level=50, at=0)
    now, used, last = 0.0, 0.0, 0.0
    for amount, pause in zip(amounts, pauses, strict=False):
        wait_s = bucket.wait_s(amount, now)
        bucket.take(amount, now)
        used += amount
        assert now + wait_s >= last - 1e-6, "somebody was overtaken"
        last = max(last, now + wait_s)
        assert used <= 50 + 2 * (now + wait_s) + 1e-6
        now += pause


def test_more_than_a_bucket_holds_counts_as_all_of_it() -> None:
    """A request that is larger than a minute's tokens still goes some time."""
    assert per_minute(60, 0).wait_s(1000, 0) == 0
    empty = TokenBucket(capacity=60, rate=1, level=0, at=0)
    assert empty.wait_s(1000, 0) == 60


@pytest.mark.parametrize(
    ("limit", "remaining", "reset_s", "wait_s"),
    [
        (10, 0, 60.0, 6.0),
        (None, 0, 60.0, 60.0),
        (10, 3, 60.0, 0.0),
        (1, 0, 90.0, 90.0),
    ],
)
def test_what_a_server_states_is_a_bucket(
    limit: int | None, remaining: int, reset_s: float, wait_s: float
) -> None:
    """It refills evenly until it is full; without a limit, at that moment."""
    bucket = bucket_by_headers(limit, remaining, reset_s, 0, now=5.0)
    assert bucket is not None
    assert bucket.wait_s(1, 5.0) == pytest.approx(wait_s)
    assert bucket.wait_s(1000, 5.0 + reset_s) == 0


def test_incomplete_limit_headers_are_ignored() -> None:
    """No bucket without a count, without a time, or when the time is over."""
    assert bucket_by_headers(10, None, 60, 0, 0) is None
    assert bucket_by_headers(10, 0, None, 0, 0) is None
    assert bucket_by_headers(10, 0, -1, 0, 0) is None


# -- the rate limiter


@both
async def test_requests_are_spread_over_the_minute(streaming: bool) -> None:
    """A minute's worth at once, the next ones as they refill."""
    time = FakeClock()
    limiter = RateLimiter(requests_per_minute=2, clock=time.clock)
    client, _ = client_of([limiter], *[answer(streaming)] * 4)
    for _ in range(4):
        assert isinstance(await run(client, streaming), Success)

    assert time.slept == pytest.approx([30, 30])


async def test_each_model_has_limits_of_its_own() -> None:
    """By provider and model."""
    time = FakeClock()
    client, _ = client_of(
        [RateLimiter(requests_per_minute=1, clock=time.clock)], *[answer(False)] * 3
    )
    for model in (WANTED.model, "n", OTHER.model("m")):
        assert isinstance(await run(client, False, evolve(WANTED, model=model)), Success)

    assert time.slept == []


@both
async def test_tokens_are_settled_by_what_was_used(streaming: bool) -> None:
    """Expected were 4 and 96, used were 5: the rest is free again."""
    time = FakeClock()
    limiter = RateLimiter(tokens_per_minute=120, clock=time.clock)
    wanted = request(model=WANTED.model, prompt="Tell me a secret", max_tokens=96)
    client, _ = client_of([limiter], *[answer(streaming)] * 5)
    for _ in range(5):
        await run(client, streaming, wanted)

    assert time.slept == []


async def test_a_wait_that_is_too_long_is_an_error_at_once() -> None:
    """Nothing is slept and nothing is sent."""
    time = FakeClock()
    limiter = RateLimiter(requests_per_minute=1, max_wait_s=10, clock=time.clock)
    client, transport = client_of([limiter], answer(False), answer(False))
    await run(client, False)
    error = (await run(client, False)).failure()

    assert isinstance(error, RateLimitError)
    assert error.retryable
    assert error.retry_after == pytest.approx(60)
    assert (time.slept, len(transport.requests)) == ([], 1)
    time.now += 60.001
    assert isinstance(await run(client, False), Success)


@both
async def test_the_headers_of_the_provider_set_the_pace(streaming: bool) -> None:
    """Nothing left until a time: the next one waits for it."""
    time = FakeClock(now=1_700_000_000.0)
    reset = datetime.fromtimestamp(time.now + 20, UTC).isoformat().replace("+00:00", "Z")
    headers = {
        "content-type": "text/event-stream" if streaming else "application/json",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": reset,
    }
    responses: list[Any] = [(200, headers, answer(streaming)), answer(streaming), answer(streaming)]
    client, _ = client_of([RateLimiter(clock=time.clock)], *responses)
    for _ in range(3):
        assert isinstance(await run(client, streaming), Success)

    assert time.slept == pytest.approx([20])


@both
async def test_call_after_a_429_waits_for_its_retry_after(streaming: bool) -> None:
    """The others do not run into it, too."""
    time = FakeClock()
    client, _ = client_of([RateLimiter(clock=time.clock)], LIMITED, answer(streaming))
    assert isinstance((await run(client, streaming)).failure(), RateLimitError)
    assert isinstance(await run(client, streaming), Success)

    assert time.slept == pytest.approx([7])


FAR = "9999-12-31T23:59:59Z"
NOTHING_LEFT = {"content-type": "application/json", "anthropic-ratelimit-requests-remaining": "0"}


@pytest.mark.parametrize(
    "first",
    [
        (200, {**NOTHING_LEFT, "anthropic-ratelimit-requests-reset": FAR}, answer(False)),
        (200, {**NOTHING_LEFT, "anthropic-ratelimit-requests-limit": "5"}, answer(False)),
        (429, {"retry-after": "99999999999999"}, {"error": {"message": "slow down"}}),
        (429, {"retry-after": "2000000"}, {"error": {"message": "slow down"}}),
        (429, {"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, {"error": {"message": "slow"}}),
    ],
)
async def test_model_is_asked_again_after_an_hour_whatever_its_server_says(first: Any) -> None:
    """One odd date would lock it until the process ends."""
    time = FakeClock(now=1_700_000_000.0)
    client, _ = client_of([RateLimiter(clock=time.clock)], first, *[answer(False)] * 2)
    await run(client, False)
    time.now += 3601

    assert isinstance(await run(client, False), Success)


async def test_who_gives_up_waiting_gives_its_turn_back() -> None:
    """A cancelled request has used nothing."""
    time = FakeClock()
    limiter = RateLimiter(requests_per_minute=1, max_wait_s=100, clock=time.clock)
    client, _ = client_of([limiter], answer(False), answer(False))
    await run(client, False)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run(client, False)
    assert time.slept == []
    assert isinstance(await run(client, False), Success)

    assert time.slept == pytest.approx([60])


# -- the concurrency limit


class Door:
    """Holds calls until it is opened, and counts them."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.order: list[str] = []
        self.opened = anyio.Event()

    async def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.order.append(request.messages[0].text)
        await self.opened.wait()
        self.inside -= 1
        return next(request)


@both
async def test_at_most_so_many_calls_run_at_once(streaming: bool) -> None:
    """The others wait for their turn, first come first served."""
    door, limit = Door(), ConcurrencyLimit(1)
    client, _ = client_of([limit, door], *[answer(streaming)] * 6)
    async with anyio.create_task_group() as tasks:
        for number in range(6):
            wanted = request(model=WANTED.model, prompt=str(number))
            tasks.start_soon(run, client, streaming, wanted)
            await anyio.sleep(0.001)
        assert (door.inside, limit.running) == (1, 1)
        door.opened.set()

    assert door.most == 1
    assert door.order == list("012345")
    assert limit.running == 0


async def test_an_open_stream_keeps_others_out() -> None:
    """For longer than they may wait: a RateLimitError, and nothing is sent."""
    limit = ConcurrencyLimit(1, max_wait_s=0.01)
    client, transport = client_of([limit], [CUT, (CUT, 1)], answer(True))
    async with client.stream(WANTED) as stream:
        await anext(stream)
        assert limit.running == 1
        error = (await run(client, True)).failure()
    assert isinstance(error, RateLimitError)
    assert error.error_code == "concurrency-limit"
    assert len(transport.requests) == 1
    assert isinstance(await run(client, True), Success)


async def test_who_is_cancelled_while_waiting_leaves_the_queue() -> None:
    """The one behind gets the place."""
    door, limit = Door(), ConcurrencyLimit(1)
    client, _ = client_of([limit, door], *[answer(False)] * 3)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, client, False)
        await anyio.sleep(0.001)
        with anyio.move_on_after(0.01):
            await run(client, False)
        door.opened.set()
    assert isinstance(await run(client, False), Success)
    assert limit.running == 0


def test_it_counts_across_event_loops() -> None:
    """Two threads with a loop each share the places, and wake each other."""
    most, lock, limit = [0], threading.Lock(), ConcurrencyLimit(1)

    async def inside(request: LLMRequest, next: Next) -> EventStream:
        with lock:
            most[0] = max(most[0], limit.running)
        await anyio.sleep(0.001)
        return next(request)

    async def calls() -> None:
        client, _ = client_of([limit, inside], *[answer(False)] * 20)
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(run, client, False)

    threads = [
        threading.Thread(target=anyio.run, args=(calls,), kwargs={"backend": backend})
        for backend in ("asyncio", "trio")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert not any(thread.is_alive() for thread in threads)
    assert most == [1]
    assert limit.running == 0


# -- the circuit breaker


def broken_client(time: FakeClock, *responses: Any) -> tuple[Client, CircuitBreaker, Any]:
    breaker = CircuitBreaker(failures=2, open_s=30, clock=time.clock)
    client, transport = client_of([breaker], *responses)
    return client, breaker, transport


@both
async def test_it_opens_after_failures_in_a_row_and_closes_again(streaming: bool) -> None:
    """Open: failing fast. Half-open: one call decides."""
    time = FakeClock()
    script = [OVERLOADED, NetworkError("gone"), OVERLOADED, answer(streaming), answer(streaming)]
    client, breaker, transport = broken_client(time, *script)
    for _ in range(2):
        await run(client, streaming)
    time.now += 10
    error = (await run(client, streaming)).failure()

    assert isinstance(error, OverloadedError)
    assert (error.error_code, error.retryable) == ("circuit-open", True)
    assert error.message.startswith("loop has failed too often; no calls are sent for another 20")
    assert error.retry_after == pytest.approx(20)
    assert (len(transport.requests), breaker.state("loop")) == (2, "open")

    time.now += 20
    assert breaker.state("loop") == "half-open"
    await run(client, streaming)  # the probe fails
    assert breaker.state("loop") == "open"
    time.now += 30
    assert isinstance(await run(client, streaming), Success)
    assert breaker.state("loop") == "closed"
    assert isinstance(await run(client, streaming), Success)


@pytest.mark.parametrize(
    "between", [INVALID, LIMITED, answer(False)], ids=["invalid", "limited", "good"]
)
async def test_other_responses_show_that_the_provider_works(between: Any) -> None:
    """A rejected request is not a failure of the provider, and ends a row of them."""
    client, breaker, _ = broken_client(FakeClock(), OVERLOADED, between, OVERLOADED, INVALID)
    for _ in range(4):
        await run(client, False)

    assert breaker.state("loop") == "closed"


async def test_only_one_call_is_the_probe() -> None:
    """The others fail meanwhile; if it is left early, the next call is the probe."""
    time = FakeClock()
    client, breaker, transport = broken_client(
        time, OVERLOADED, OVERLOADED, [(b"", 1000)], answer(False)
    )
    for _ in range(2):
        await run(client, False)
    time.now += 30
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, client, True)
        await anyio.sleep(0.01)
        assert isinstance((await run(client, False)).failure(), OverloadedError)
        assert len(transport.requests) == 3
        tasks.cancel_scope.cancel()

    assert breaker.state("loop") == "half-open"
    assert isinstance(await run(client, False), Success)
    assert breaker.state("loop") == "closed"


async def test_call_from_before_the_opening_does_not_close_the_circuit() -> None:
    """A stream from before the circuit opened does not close it by ending well."""
    time = FakeClock()
    client, breaker, _ = broken_client(time, answer(True), OVERLOADED, OVERLOADED)
    async with client.stream(WANTED) as old:
        await anext(old)
        old_rest = old
        for _ in range(2):
            await run(client, False)
        await old_rest.result()

    assert breaker.state("loop") == "open"
    assert breaker.state("other") == "closed"


@pytest.mark.parametrize(
    "make",
    [
        lambda: RateLimiter(requests_per_minute=0),
        lambda: RateLimiter(tokens_per_minute=-1),
        lambda: ConcurrencyLimit(0),
        lambda: CircuitBreaker(failures=0),
        lambda: CircuitBreaker(open_s=math.nan),
    ],
)
def test_invalid_limits_are_refused(make: Any) -> None:
    """When they are made, not at the first call."""
    with pytest.raises(ConfigurationError):
        make()
