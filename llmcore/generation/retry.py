"""Retries of failed calls, in one layer.

The client never retries. The functions of this package do, by a `RetryPolicy`; other code can use
`await retry(call, policy)`. `max_retries=n` allows n + 1 requests for each call of the model; a run
with tools has several calls.
"""

import math
import random
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio
from attrs import Attribute, evolve, field

from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    LLMError,
    RequestTimeoutError,
)
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_checked_arguments
from llmcore.schema.result import Failure

_T = TypeVar("_T")

OnRetry: TypeAlias = Callable[[LLMError, int, float], None]
"""Called before a retry: with the error, the attempt that failed (from 0), and the delay (s)."""

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
"""Waits for the given seconds."""


def _at_least(least: float) -> "Callable[[object, Attribute[Any], float], None]":
    def check(_policy: object, attribute: "Attribute[Any]", value: float) -> None:
        if not isinstance(value, int | float) or not value >= least:
            raise ConfigurationError(f"{attribute.name} must be at least {least}, not {value!r}")

    return check


@with_checked_arguments(
    max_attempts="write max_retries, which does not count the first attempt",
    retries="max_retries",
    num_retries="max_retries",
    **dict.fromkeys(
        ("initial_delay", "initial_delay_s", "delay", "wait", "min_wait"), "base_delay"
    ),
    **dict.fromkeys(("max_delay_s", "max_wait"), "max_delay"),
    **dict.fromkeys(("factor", "backoff_factor", "backoff", "multiplier"), "backoff_multiplier"),
    attempts="write max_retries, which does not count the first attempt",
)
@frozen(kw_only=True)
class RetryPolicy:
    """Which errors are retried, how often, and after which delay.

    The delay before retry n (from 0) is `min(base_delay * backoff_multiplier ** n, max_delay)`
    seconds, times a random factor of 0.5 to 1.5 with `jitter`. A `retry_after` of the error
    replaces it if it is at most `max_delay`; otherwise the error is final.
    """

    max_retries: int = field(default=2, validator=_at_least(0))
    """Attempts after the first one."""
    base_delay: float = field(default=1.0, validator=_at_least(0))
    """Seconds before the first retry."""
    max_delay: float = field(default=60.0, validator=_at_least(0))
    """The most seconds to wait; a longer stated delay raises the error."""
    backoff_multiplier: float = field(default=2.0, validator=_at_least(1))
    """The factor between the delays of two retries."""
    jitter: bool = True
    """Whether each delay is multiplied by a random 0.5 to 1.5."""
    retry_timeouts: bool = False
    """Whether to retry after the client's own time limits. The first request may have been
    answered and billed nevertheless."""
    drop_rejected_reasoning: bool = True
    """Whether to retry once, without delay and without encrypted reasoning, if the provider
    cannot decrypt it, as after a change of account or deployment. Counts as a retry."""
    retry_if: Callable[[LLMError], bool] | None = None
    """Returns whether an error is retried, in place of the rules above."""
    by_error: Mapping[type[LLMError], "RetryPolicy"] = field(factory=dict)
    """Policies for errors of certain classes, in place of this one; the nearest class counts.
    Attempts are counted together."""
    on_retry: OnRetry | None = None
    """Called before each wait with the error, the number of the attempt and the delay."""

    def delay(self, error: LLMError, attempt: int, chance: float = 0.5) -> float | None:
        """Return the seconds to wait after *attempt* failed; None if *error* is final.

        *chance* is a random number from 0 to 1.
        """
        own = self.policy_for(error)
        if own is not self:
            return own.delay(error, attempt, chance)
        if attempt >= self.max_retries or not self.applies_to(error):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.max_delay else None
        delay = min(self._backoff(attempt), self.max_delay)
        return delay * (0.5 + chance) if self.jitter else delay

    def policy_for(self, error: LLMError) -> "RetryPolicy":
        """Return the policy for *error*: one of `by_error`, or this one."""
        classes = (kind for kind in type(error).__mro__ if kind in self.by_error)
        kind = next(classes, None)
        return self if kind is None else self.by_error[kind].policy_for(error)

    def at_most(self, retries: int) -> "RetryPolicy":
        """Return the policy with no more than *retries* for errors of any class."""
        limited = {kind: policy.at_most(retries) for kind, policy in self.by_error.items()}
        return evolve(self, max_retries=min(self.max_retries, retries), by_error=limited)

    def _backoff(self, attempt: int) -> float:
        try:
            return self.base_delay * self.backoff_multiplier**attempt
        except OverflowError:
            return math.inf

    def applies_to(self, error: LLMError) -> bool:
        """Return whether *error* is of a kind that is retried."""
        if self.retry_if is not None:
            return self.retry_if(error)
        of_client = isinstance(error, RequestTimeoutError) and error.status_code is None
        if of_client and error.error_code != "connect":
            return self.retry_timeouts and error.error_code != "total"
        return error.retryable


async def retry(
    call: Callable[[], Awaitable[_T]],
    policy: RetryPolicy | None = None,
    *,
    sleep: Sleep = anyio.sleep,
) -> _T:
    """Repeat *call* while it fails with retryable errors; return or raise its last outcome.

    *call* makes a new attempt each time. It fails by raising an LLMError or by returning a
    `Failure` with one. The delay can be cancelled.
    """
    if not callable(call):
        kind = shown_kind(call)
        raise InvalidRequestError(f"retry takes a function that makes the call, not {kind}")
    policy = policy or RetryPolicy()
    wait = partial(next_delay, policy, sleep=sleep)
    attempt = 0
    while True:
        try:
            outcome = await call()
            error = outcome.failure() if isinstance(outcome, Failure) else None
            if not isinstance(error, LLMError) or await wait(error, attempt) is None:
                return outcome
        except LLMError as error:
            if await wait(error, attempt) is None:
                raise
        attempt += 1


async def next_delay(
    policy: RetryPolicy,
    error: LLMError,
    attempt: int,
    *,
    within: float = math.inf,
    on_retry: OnRetry | None = None,
    sleep: Sleep = anyio.sleep,
) -> float | None:
    """Wait for the policy's delay and return its seconds; None without waiting if final.

    An error is also final if the delay is not shorter than *within* seconds. *on_retry* takes the
    place of the policy's own.
    """
    delay = policy.delay(error, attempt, random.random())  # noqa: S311
    if delay is None or delay >= within:
        return None
    on_retry = on_retry or policy.on_retry
    if on_retry is not None:
        on_retry(error, attempt, delay)
    await sleep(delay)
    return delay
