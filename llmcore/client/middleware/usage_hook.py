"""Reports the usage of each call once, however it ended."""

from collections.abc import Callable

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next
from llmcore.client.middleware.outcome import CallOutcome
from llmcore.client.middleware.pricing import Price, cost_of_call, listed_price
from llmcore.client.middleware.target import ModelChoice, target_of
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_checked_arguments
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage


@frozen(kw_only=True)
class CallUsage:
    """The usage and cost of one call."""

    provider: str
    """The id of the provider that was called."""
    model: str
    """The requested model."""
    usage: Usage | None
    """`estimated` if the response was cut off; None if none began."""
    cost_usd: float | None
    """None if the price is not known."""
    error: LLMError | None = None
    """The error, if the call failed."""
    from_cache: bool = False
    """Whether the response came from the response cache."""

    @classmethod
    def of(
        cls, request: LLMRequest, target: ModelChoice, outcome: CallOutcome, price: Price
    ) -> "CallUsage":
        """Return the usage and cost of a call to *target*."""
        usage = outcome.usage_of(request)
        cost_usd = cost_of_call(price, target, outcome.response, usage)
        return cls(
            provider=target.provider,
            model=target.model,
            usage=usage,
            cost_usd=0.0 if outcome.from_cache else cost_usd,
            error=outcome.error,
            from_cache=outcome.from_cache,
        )


@with_checked_arguments(callback="hook", on_usage="hook")
@with_settings_in_repr
class UsageHook:
    """Calls *hook* exactly once for each call: finished, failed, closed early or dropped.

    A dropped stream is one that was neither read to its end nor closed; its hook runs in the
    thread that garbage-collects it, so hooks must be quick and must not wait for locks.
    """

    def __init__(self, hook: Callable[[CallUsage], None], *, price: Price = listed_price) -> None:
        if not callable(hook):
            kind = shown_kind(hook)
            raise ConfigurationError(f"hook must be a function of a CallUsage, not {kind}")
        self._hook = hook
        self._price = price

    def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Run the call, and call the hook at its end."""
        target = target_of(request, next)
        return next(request).watch(
            end=lambda result: self._hook(
                CallUsage.of(request, target, CallOutcome.of(result), self._price)
            )
        )
