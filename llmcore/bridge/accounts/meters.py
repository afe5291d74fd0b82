"""The meters of a response: the rates and budgets that limit it, and the amount it takes of each.

The name of a meter states what it counts: `rate:requests:...`, `rate:tokens:...`, `budget:usd:...`
or `budget:tokens:...`, each of a key, a client or the whole gateway.
"""

import time
from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from llmcore.bridge.accounts.issued_key import IssuedKey, kept_s, period_name
from llmcore.bridge.accounts.largest_use import Use
from llmcore.bridge.api import Caller
from llmcore.bridge.configuration.settings import AccountSettings
from llmcore.bridge.spend.row import SpendRow
from llmcore.bridge.state.ledger import NANO, ExceededMeter, Increment, Meter
from llmcore.fronts.errors import NO_QUOTA, FrontError, rate_limited

EVERYONE: Final = "everyone"
"""The name under which the budget of the whole gateway is kept."""

_RATE_KEPT_S: Final = 120.0


def meters_of(caller: Caller, settings: AccountSettings, shared_rate: int | None) -> list[Meter]:
    """Return the meters of everything that limits a response of *caller*.

    *shared_rate* is the gateway's rate of requests, for callers whose key has none of its own.
    """
    now, requests = time.time(), shared_rate
    meters = gateway_meters(settings, now)
    if caller.key is not None:
        limits = caller.key.limits
        requests = limits.requests_per_minute or requests
        meters += budget_meters(caller.key, now, settings.time_zone)
        if limits.tokens_per_minute:
            meters.append(_rate(f"rate:tokens:{caller.key.id}", limits.tokens_per_minute))
    if requests:
        meters.append(_rate(f"rate:requests:{caller.counted_as}", requests))
    return meters


def gateway_meters(settings: AccountSettings, at: float) -> list[Meter]:
    """Return the meters of the budgets of all requests, of the period that *at* is in."""
    when = period_name(settings.budget_period, at, settings.time_zone)
    amounts = settings.budget_usd, settings.budget_tokens
    return _budgets(EVERYONE, *amounts, when, kept_s(settings.budget_period))


def budget_meters(key: IssuedKey, at: float, zone: tzinfo) -> list[Meter]:
    """Return the meters of a key's budgets, of the period that *at* is in."""
    limits = key.limits
    when = period_name(limits.period, at, zone)
    return _budgets(key.id, limits.budget_usd, limits.budget_tokens, when, kept_s(limits.period))


def _budgets(
    name: str, usd: float | None, tokens: int | None, when: str, keep_s: float
) -> list[Meter]:
    limits = {"usd": max(1, round(usd * NANO)) if usd else None, "tokens": tokens}  # 0 is unlimited
    return [
        Meter(name=f"budget:{unit}:{name}:{when}", limit=limit, keep_s=keep_s)
        for unit, limit in limits.items()
        if limit
    ]


def _rate(name: str, per_minute: int) -> Meter:
    return Meter(name=name, limit=per_minute, drains_per_s=per_minute / 60.0, keep_s=_RATE_KEPT_S)


def counts_requests(meter: Meter) -> bool:
    """Return whether *meter* is a rate of requests, whatever they use."""
    return meter.name.startswith("rate:requests:")


def counts_money(meter: Meter) -> bool:
    """Return whether *meter* is a budget in dollars."""
    return meter.name.startswith("budget:usd:")


def amount_of(meter: Meter, use: Use, otherwise: int = 0) -> int:
    """Return what a response takes from a meter; *otherwise* where its cost is unknown."""
    if counts_money(meter):
        return otherwise if use.cost_nano is None else use.cost_nano
    return 1 if counts_requests(meter) else use.tokens


def with_earlier(meter: Meter, most: Use, earlier: Sequence[Use]) -> Increment:
    """Return what one more try can take, and what the *earlier* ones of the response have taken."""
    largest = amount_of(meter, most)
    if counts_requests(meter):
        return Increment(meter, largest)
    return Increment(meter, largest + sum(amount_of(meter, use, largest) for use in earlier))


def uses_of_meters(increments: Sequence[Increment], row: SpendRow) -> tuple[Increment, ...]:
    """Return what the response of *row* used of each meter that an amount was reserved of."""
    if not increments:
        return ()
    used = Use(row.input_tokens, row.output_tokens, row.cost_nano)
    return tuple(
        Increment(increment.meter, amount_of(increment.meter, used, increment.amount))
        for increment in increments
    )


def refusal(excess: ExceededMeter) -> FrontError:
    """Return the error of a request that a meter does not allow."""
    meter = excess.meter
    kind, unit, name, *_ = meter.name.split(":")
    whose = "this gateway" if name == EVERYONE else "this key"
    if kind == "budget":
        amounts = [meter.limit, excess.level, excess.amount]
        words = [f"${n / NANO:.4f}" if unit == "usd" else f"{n:g} tokens" for n in amounts]
        message = (
            f"the budget of {whose} does not allow this request: of {words[0]}, {words[1]} are "
            f"used or reserved, and it may take up to {words[2]}; a lower output limit takes less"
        )
        return FrontError(status=429, message=message, type=NO_QUOTA, code=NO_QUOTA)
    if excess.wait_s is None:
        message = (
            f"the request may take up to {excess.amount} tokens, and {whose} allows {meter.limit} "
            "a minute: shorten it, or lower its output limit"
        )
        return FrontError(status=400, message=message, code="request_too_large")
    return rate_limited(f"{whose} allows {meter.limit} {unit} a minute", excess.wait_s)
