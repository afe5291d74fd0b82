"""Limits the cost of calls."""

from typing import Literal

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next
from llmcore.client.middleware.outcome import CallOutcome
from llmcore.client.middleware.pricing import Price, listed_price, price_of
from llmcore.client.middleware.serial import SerialExecutor
from llmcore.client.middleware.target import ModelChoice, target_of
from llmcore.client.middleware.usage_hook import CallUsage
from llmcore.schema.errors import ConfigurationError, QuotaExceededError
from llmcore.schema.hints import with_checked_arguments, with_names_of_others
from llmcore.schema.options import check_kind
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage

_PROBE = Usage.make(input_tokens=1, output_tokens=1)


@with_checked_arguments(
    budget="usd",
    max_usd="usd",
    limit="usd",
    max_cost="usd",
    max_budget="usd",
    period="call .reset() when a period begins",
    per="call .reset() when a period begins",
)
@with_names_of_others(
    **dict.fromkeys(("spent", "used", "total", "cost"), "write `.spent_usd`"),
    **dict.fromkeys(("remaining", "left"), "write `.remaining_usd`"),
)
class CostBudget:
    """Adds up the cost of calls, and stops sending when the budget is spent.

    The cost of a call is known only at its end, so concurrent calls can together exceed the
    budget. Streams that fail or are closed early are counted by an estimate of their tokens.
    Responses from the cache cost nothing.

    - `usd`: US dollars, for all calls through this value together.
    - `price`: returns the cost of a usage; by default what the provider or the catalog states.
    - `unknown`: whether calls of a model without a known price are sent (`unpriced_calls` counts
      them), or refused with a ConfigurationError.
    """

    def __init__(
        self,
        *,
        usd: float,
        price: Price = listed_price,
        unknown: Literal["allow", "refuse"] = "allow",
    ) -> None:
        check_kind("usd", usd, (int, float), "US dollars, such as 1.50", ConfigurationError)
        if not usd > 0:
            raise ConfigurationError(f"the budget must be more than 0 US dollars, not {usd}")
        if unknown not in ("allow", "refuse"):
            raise ConfigurationError(f"unknown must be 'allow' or 'refuse', not {unknown!r}")
        self.usd = usd
        self.spent_usd = 0.0
        """The cost of the calls so far."""
        self.unpriced_calls = 0
        """The number of calls without a known price."""
        self._price = price
        self._refuses_unknown = unknown == "refuse"
        self._serial = SerialExecutor()

    def __repr__(self) -> str:
        return f"CostBudget(usd={self.usd:g}, remaining_usd={self.remaining_usd:g})"

    @property
    def remaining_usd(self) -> float:
        """The rest of the budget, at least 0."""
        return max(0.0, self.usd - self.spent_usd)

    def reset(self) -> None:
        """Reset the cost to 0."""
        self._serial.run(self._forget)

    def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Run the call and count its cost; QuotaExceededError if the budget is spent."""
        target = target_of(request, next)
        if self.spent_usd >= self.usd:
            raise QuotaExceededError(
                f"the cost budget of ${self.usd:g} is spent (${self.spent_usd:.4f}): nothing was "
                "sent. Raise it, or call reset()",
                provider=target.provider or None,
                error_code="cost-budget",
            )
        if self._refuses_unknown:
            self._check_price(target)

        def count(outcome: CallOutcome) -> None:
            call = CallUsage.of(request, target, outcome, self._price)
            if call.usage is not None:
                self._serial.run(lambda: self._add(call.cost_usd))

        return next(request).watch(end=lambda result: count(CallOutcome.of(result)))

    def _check_price(self, target: ModelChoice) -> None:
        if price_of(self._price, target, _PROBE) is None:
            raise ConfigurationError(
                f"no price is known for the model {target.model!r} of {target.provider!r}, so no "
                "budget can be kept: give CostBudget a price=..., or unknown='allow'",
                provider=target.provider or None,
            )

    def _add(self, cost_usd: float | None) -> None:
        if cost_usd is None or not cost_usd >= 0:  # what is negative or NaN is not a price
            self.unpriced_calls += 1
        else:
            self.spent_usd += cost_usd

    def _forget(self) -> None:
        self.spent_usd = 0.0
        self.unpriced_calls = 0
