"""Limits of a run: its requests, tokens, cost, tool calls and time, as one value.

    await generate(model, "Research this.", tools=tools, max_tool_rounds=50,
                   limits=RunLimits(requests=20, tokens=200_000, cost_usd=0.5))

A limit is checked before a request is sent and before tools are run. A complete response is
returned even if it is the one that goes over a limit.
"""

import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from attrs import define, field, fields

from llmcore.client.middleware.outcome import CallOutcome
from llmcore.generation.abort import AbortSignal, cancelling
from llmcore.generation.results import GenerateResult, StepResult
from llmcore.generation.retry import RetryPolicy
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_call_hints

if TYPE_CHECKING:
    from attrs import Attribute

    from llmcore.schema.request import LLMRequest

_T = TypeVar("_T")


@define(auto_exc=False, eq=False, repr=False, kw_only=True)
class RunLimitError(LLMError):
    """A run reached one of its `RunLimits`, whose name is the `error_code`."""

    result: GenerateResult[Any] | None = None
    """The completed steps; None if the first one is not complete."""


def _above_0(limits: object, attribute: "Attribute[Any]", value: float | None) -> None:
    if value is None:
        return
    kind = (int, float) if attribute.name in ("cost_usd", "seconds") else (int,)
    least = 0 if attribute.name == "tool_calls" else math.ulp(0.0)
    if isinstance(value, bool) or not isinstance(value, kind) or not value >= least:
        message = f"the limit {attribute.name} must be a number above 0, not {value!r}"
        raise InvalidRequestError(message)


@with_call_hints(
    usd="cost_usd",
    cost="cost_usd",
    max_cost="cost_usd",
    request_limit="requests",
    max_requests="requests",
    total_tokens_limit="tokens",
)
@frozen(kw_only=True)
class RunLimits:
    """The most that a run may use. None sets no limit."""

    requests: int | None = field(default=None, validator=_above_0)
    """Requests to models, retries included."""
    tokens: int | None = field(default=None, validator=_above_0)
    """Tokens of input and output, of all steps; estimated where the provider reports none."""
    cost_usd: float | None = field(default=None, validator=_above_0)
    """The cost in US dollars. A run that needs another request after a response of unknown cost
    ends with a ConfigurationError."""
    tool_calls: int | None = field(default=None, validator=_above_0)
    """Calls of tools, without those that are left to the caller; may be 0."""
    seconds: float | None = field(default=None, validator=_above_0)
    """Time from the first request to the end of the run, tools and retries included."""

    def error(self, name: str) -> RunLimitError:
        """Return the error of the limit *name*."""
        value = getattr(self, name)
        message = f"the run reached its limit of {value:g} {name.replace('_', ' ')}"
        return RunLimitError(message, error_code=name)


class RunAccount:
    """Adds up what a run has used, and raises RunLimitError where it would go over a limit."""

    def __init__(self, limits: RunLimits) -> None:
        self.limits = limits
        self.used = {limit.name: 0.0 for limit in fields(RunLimits) if limit.name != "seconds"}
        """The amounts used so far, by the name of their limit."""
        self._unpriced = ""

    def add(self, step: StepResult, request: "LLMRequest") -> None:
        """Count the response of *step* to *request*."""
        outcome = CallOutcome(response=step.response)
        usage = outcome.usage_of(request)
        self.used["requests"] += step.requests
        self.used["tokens"] += (usage and usage.total_tokens) or 0
        self.used["cost_usd"] += step.cost or 0.0
        if step.cost is None and not outcome.from_cache:
            self._unpriced = f"{step.response.provider}:{step.response.model}"

    def check_request(self) -> None:
        """Raise the error of a limit that leaves no other request."""
        for name in ("requests", "tokens", "cost_usd"):
            limit = getattr(self.limits, name)
            if limit is not None and self.used[name] >= limit:
                raise self.limits.error(name)
        if self._unpriced and self.limits.cost_usd is not None:
            raise ConfigurationError(
                f"the limit cost_usd cannot be kept: no price is known for {self._unpriced}; "
                "give the client its price with models=[...], or limit tokens"
            )

    def take_calls(self, count: int) -> None:
        """Count *count* tool calls; raise the error of the limit if they are too many."""
        limit = self.limits.tool_calls
        if limit is not None and self.used["tool_calls"] + count > limit:
            raise self.limits.error("tool_calls")
        self.used["tool_calls"] += count

    def policy(self, policy: RetryPolicy) -> RetryPolicy:
        """Return *policy* with no more retries than requests are left."""
        if self.limits.requests is None:
            return policy
        return policy.at_most(int(self.limits.requests - self.used["requests"] - 1))


class RunTime:
    """Limits the time of a run: by its signal, its total, and its limit of seconds."""

    def __init__(self, signal: AbortSignal | None, timeouts: Timeouts, limits: RunLimits) -> None:
        self.deadline = math.inf
        """When the run must have ended, by the event loop's clock; it is set when work begins."""
        self._signal = signal
        self._timeouts = timeouts
        self._limits = limits

    async def within(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Return what *work* returns; raise the error of the limit that it exceeds."""
        signal, total, seconds = self._signal, self._timeouts.total, self._limits.seconds
        bounds = [bound for bound in (total, seconds) if bound is not None]
        if signal is None and not bounds:
            return await work()
        if signal is not None:
            signal.throw_if_aborted()
        if bounds and math.isinf(self.deadline):
            self.deadline = anyio.current_time() + min(bounds)
        with anyio.CancelScope(deadline=self.deadline) as scope, cancelling(scope, signal):
            return await work()
        if signal is not None:
            signal.throw_if_aborted()
        if seconds is not None and seconds == min(bounds):
            raise self._limits.error("seconds")
        raise self._timeouts.expired("total")
