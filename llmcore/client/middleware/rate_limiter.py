"""Limits the requests and tokens per minute."""

from collections.abc import Callable, Hashable, Sequence
from datetime import datetime
from types import NoneType
from typing import NoReturn, TypeAlias

from attrs import define

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next
from llmcore.client.middleware.clock import SYSTEM_CLOCK, Clock
from llmcore.client.middleware.outcome import CallOutcome, input_tokens_of
from llmcore.client.middleware.serial import SerialExecutor
from llmcore.client.middleware.target import ModelChoice, TargetKey, by_model, target_of
from llmcore.client.middleware.token_bucket import TokenBucket, bucket_by_headers, per_minute
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import ConfigurationError, LLMError, RateLimitError
from llmcore.schema.events import LLMEvent, StreamStart
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_checked_arguments
from llmcore.schema.options import check_kind
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import RateLimitInfo

TokenEstimate: TypeAlias = Callable[[LLMRequest], int]
"""Returns the approximate tokens of a request, including its response."""

_LOCAL = "rate-limiter"

_LONGEST_PAUSE_S = 3600.0
"""After this time one request tries again, whatever wait or reset the server has stated."""


def expected_tokens(request: LLMRequest) -> int:
    """Return the input, at four characters a token, and `max_tokens` of output if given."""
    return input_tokens_of(request) + (request.generation.max_tokens or 0)


@with_checked_arguments(
    rpm="requests_per_minute",
    tpm="tokens_per_minute",
    rps="write requests_per_minute, which is 60 times as much",
    max_concurrency="use ConcurrencyLimit(...), of llmcore.client.middleware.concurrency_limit",
)
@with_settings_in_repr
class RateLimiter:
    """Delays requests to stay within a provider's limits.

    The limits are those given here and, with `headers`, what the provider's headers state as
    remaining; the stricter one applies. After a 429 with a time to wait, nothing is sent for that
    time, but at most for an hour: then one request is sent as a probe. Calls are sent in the order
    in which they came. Their tokens are estimated before a call and corrected at its end.

    A call that would have to wait longer than `max_wait_s` seconds raises a RateLimitError at
    once, whose `retry_after` is the time until it could be sent.

    - `key`: returns what is limited together; by default each model of each provider.
    - `tokens`: estimates the tokens of a request before it is sent.
    """

    def __init__(
        self,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        headers: bool = True,
        max_wait_s: float = 60.0,
        key: TargetKey = by_model,
        tokens: TokenEstimate = expected_tokens,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        for name, limit in (("requests", requests_per_minute), ("tokens", tokens_per_minute)):
            check_kind(
                f"{name}_per_minute", limit, (int, float, NoneType), "a number", ConfigurationError
            )
            if limit is not None and not limit > 0:
                raise ConfigurationError(f"{name}_per_minute must be more than 0, not {limit}")
        self._requests_per_minute = requests_per_minute
        self._tokens_per_minute = tokens_per_minute
        self._headers = headers
        self._max_wait_s = max_wait_s
        self._key = key
        self._tokens = tokens
        self._clock = clock
        self._lanes: dict[Hashable, _Lane] = {}
        self._serial = SerialExecutor(forget=self._forget_waiting)

    async def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Wait until the request can be sent, and send it."""
        target = target_of(request, next)
        lane = self._lane(self._key(target))
        expected = self._tokens(request)
        await self._wait(lane, expected, target)

        def end(outcome: CallOutcome) -> None:
            usage = outcome.usage_of(request)
            used = (usage and usage.total_tokens) or 0
            now = self._clock.monotonic()
            self._serial.run(lambda: lane.settle(expected, used, outcome.error, now))

        each = self._learning(lane) if self._headers else None
        return next(request).watch(each=each, end=lambda result: end(CallOutcome.of(result)))

    def _lane(self, key: Hashable) -> "_Lane":
        lane = self._lanes.get(key)
        if lane is None:
            now = self._clock.monotonic()
            lane = _Lane(
                requests=_bucket(self._requests_per_minute, now),
                tokens=_bucket(self._tokens_per_minute, now),
            )
            lane = self._lanes.setdefault(key, lane)
        return lane

    def _forget_waiting(self) -> None:
        for lane in self._lanes.values():
            lane.waiting_requests = lane.waiting_tokens = 0

    async def _wait(self, lane: "_Lane", tokens: int, target: ModelChoice) -> None:
        """Wait for the turn of a request of *tokens*; RateLimitError if it takes too long."""
        begun = self._clock.monotonic()
        claim = await self._serial.submit(lambda: lane.claimed(tokens, begun, self._max_wait_s))
        if not claim.granted:
            self._refuse(target, claim.wait_s)
        wait_s = claim.wait_s
        try:
            while wait_s > 0:
                await self._clock.sleep(wait_s)
                now = self._clock.monotonic()
                wait_s = lane.stopped_s(now)  # may have changed meanwhile
                if wait_s and now + wait_s > begun + self._max_wait_s:
                    self._refuse(target, wait_s)
        except BaseException:
            now = self._clock.monotonic()
            self._serial.run(lambda: lane.give_back(tokens, now))
            raise
        self._serial.run(lambda: lane.sent(tokens))

    def _refuse(self, target: ModelChoice, wait_s: float) -> NoReturn:
        raise RateLimitError(
            f"the request could be sent in {wait_s:.1f} seconds, but may wait at most "
            f"{self._max_wait_s:g}: nothing was sent",
            provider=target.provider or None,
            error_code=_LOCAL,
            retry_after=wait_s,
        )

    def _learning(self, lane: "_Lane") -> Callable[[Sequence[LLMEvent]], None]:
        """Return an observer that reads the limits in the response's headers."""
        seen = False

        def each(batch: Sequence[LLMEvent]) -> None:
            nonlocal seen
            if seen or not isinstance(batch[0], StreamStart):
                return
            seen = True
            info, now, wall = batch[0].rate_limit, self._clock.monotonic(), self._clock.wall()
            if info is not None:
                self._serial.run(lambda: lane.learn(info, now, wall))

        return each


def _bucket(limit: float | None, now: float) -> TokenBucket | None:
    return None if limit is None else per_minute(limit, now)


def _seconds_to(moment: datetime | None, wall: float) -> float | None:
    return None if moment is None else moment.timestamp() - wall


@frozen
class _Claim:
    granted: bool
    wait_s: float


@define(eq=False)
class _Lane:
    """The state of one key. Changed only through the limiter's `_serial`."""

    requests: TokenBucket | None
    tokens: TokenBucket | None
    stated_requests: TokenBucket | None = None
    stated_tokens: TokenBucket | None = None
    stopped_until: float = 0.0
    waiting_requests: int = 0
    waiting_tokens: int = 0

    def claimed(self, tokens: int, now: float, max_wait_s: float) -> _Claim:
        """Reserve a place in the queue, unless the wait would be too long."""
        waits = [bucket.wait_s(amount, now) for bucket, amount in self._buckets(tokens)]
        wait_s = max(self.stopped_s(now), *waits, 0.0)
        if wait_s > max_wait_s:
            return _Claim(granted=False, wait_s=wait_s)
        self._take(1, tokens, now)
        self.waiting_requests += 1
        self.waiting_tokens += tokens
        return _Claim(granted=True, wait_s=wait_s)

    def stopped_s(self, now: float) -> float:
        """Return the seconds during which nothing may be sent."""
        return max(0.0, self.stopped_until - now)

    def give_back(self, tokens: int, now: float) -> None:
        """Leave the queue without having sent anything."""
        self._take(-1, -tokens, now)
        self.sent(tokens)

    def sent(self, tokens: int) -> None:
        """Leave the queue to send the request."""
        self.waiting_requests -= 1
        self.waiting_tokens -= tokens

    def settle(self, expected: int, used: int, error: LLMError | None, now: float) -> None:
        """Correct the estimate by the actual use, and pause if the provider demanded it."""
        if self.tokens is not None:
            self.tokens.take(used - min(expected, self.tokens.capacity), now)
        if isinstance(error, RateLimitError) and error.error_code != _LOCAL and error.retry_after:
            pause_s = min(error.retry_after, _LONGEST_PAUSE_S)
            self.stopped_until = max(self.stopped_until, now + pause_s)

    def learn(self, info: RateLimitInfo, now: float, wall: float) -> None:
        """Use the remaining limits that a response's headers state."""
        requests_s = _seconds_to(info.requests_reset_at, wall)
        tokens_s = _seconds_to(info.tokens_reset_at, wall)
        end, waiting = now + _LONGEST_PAUSE_S, (self.waiting_requests, self.waiting_tokens)
        self.stated_requests = bucket_by_headers(
            info.requests_limit, info.requests_remaining, requests_s, waiting[0], now, end
        )
        self.stated_tokens = bucket_by_headers(
            info.tokens_limit, info.tokens_remaining, tokens_s, waiting[1], now, end
        )

    def _take(self, requests: int, tokens: int, now: float) -> None:
        for bucket in (self.requests, self.stated_requests):
            if bucket is not None:
                bucket.take(requests, now)
        for bucket in (self.tokens, self.stated_tokens):
            if bucket is not None:
                bucket.take(tokens, now)

    def _buckets(self, tokens: int) -> list[tuple[TokenBucket, float]]:
        pairs = (
            (self.requests, 1),
            (self.stated_requests, 1),
            (self.tokens, tokens),
            (self.stated_tokens, tokens),
        )
        return [(bucket, amount) for bucket, amount in pairs if bucket is not None]
