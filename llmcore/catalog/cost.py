"""The cost of a call, in US dollars."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time
from functools import lru_cache
from typing import Final

from llmcore.catalog.lookup import model_info
from llmcore.catalog.model_info import Hours, ModelInfo, Prices, Rates
from llmcore.catalog.model_names import PROVIDER_ALIASES, names_of
from llmcore.catalog.records import catalog
from llmcore.schema.hints import with_call_hints
from llmcore.schema.json import JsonObject
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

_STANDARD: Final = frozenset({"standard", "default", "auto", "on_demand"})
"""The names of the tier that list prices are for."""

_EMBEDDED: Final = "local"
"""The provider that runs models in this process, for which there is no bill."""

_ANYWHERE: Final = frozenset({"global", "not_available"})
"""The regions in which responses have the list price."""


@with_call_hints()
def cost_of(
    provider: str,
    model: str,
    usage: Usage,
    *,
    service_tier: str | None = None,
    at: datetime | None = None,
    models: Sequence[ModelInfo] = (),
) -> float | None:
    """Return the cost of *usage*, or None where it is unknown; never a guess.

    A cost that the provider states wins. Otherwise it is the catalog's list price of the
    tokens, for providers that bill by them. What hosted tools cost per use, and batches save,
    is not in it. *at* matters where prices change with the hour (without it, their cost is
    unknown). *models*, your own, go before those of the catalog. Without *service_tier* it is
    that of *usage*.
    """
    stated = stated_cost(usage)
    return _listed(provider, model, usage, service_tier, at, models) if stated is None else stated


def _listed(
    provider: str,
    model: str,
    usage: Usage,
    service_tier: str | None,
    at: datetime | None,
    models: Sequence[ModelInfo],
) -> float | None:
    """Return the cost of *usage* at list prices, or None where it is unknown."""
    known = model_info(model, provider, models)
    if known is None or known.prices is None:
        return 0.0 if provider == _EMBEDDED else _cost_of_embedding(provider, model, usage)
    prices = _of_tier(known.prices, service_tier or usage.service_tier)
    rates = None if prices is None else _rates(prices, usage, at)
    return None if rates is None else _cost(rates, usage)


def _cost_of_embedding(provider: str, model: str, usage: Usage) -> float | None:
    """Return the cost of texts that *model* embeds; None if it is not known to embed."""
    if usage.input_tokens is None:
        return None
    price = _price_of_embedding(provider, model)
    return None if price is None else usage.input_tokens * price / 1_000_000


@lru_cache(maxsize=256)
def _price_of_embedding(provider: str, model: str) -> float | None:
    """Return the price of a million tokens that *model* embeds."""
    known = catalog()
    provider = PROVIDER_ALIASES.get(provider, provider)
    for provider_id in (provider, known.fallbacks.get(provider, "")):
        prices = known.embeddings.get(provider_id, {})
        for name in names_of(model, provider_id):
            if name in prices:
                return prices[name]
    return None


_LARGEST_COST: Final = 1e9
"""US dollars. A server that states more for one response states something else."""


def stated_cost(usage: Usage) -> float | None:
    """Return the cost that the provider states; None for one that no response can have."""
    cost = usage.cost_usd
    return cost if cost is not None and 0 <= cost <= _LARGEST_COST else None


def response_cost(
    response: LLMResponse,
    *,
    requested: str = "",
    at: datetime | None = None,
    models: Sequence[ModelInfo] = (),
) -> float | None:
    """Return what *response* cost, at the service tier it was answered by; see `cost_of`.

    The price is that of the model that answered or, if it has none, of the model *requested*.
    """
    names = (response.model, requested)
    stated = response.provider_metadata.values()
    return cost_of_usage(response.provider, names, response.usage, stated, at=at, models=models)


def cost_of_usage(
    provider: str,
    names: Iterable[str],
    usage: Usage,
    stated_metadata: Iterable[JsonObject],
    *,
    at: datetime | None = None,
    models: Sequence[ModelInfo] = (),
) -> float | None:
    """Return the cost of *usage* of the first model of *names* that has a price.

    *stated_metadata* is what the provider states of the response.
    """
    stated = stated_cost(usage)
    if stated is not None:
        return stated
    tier = None
    for metadata in stated_metadata:
        if (
            metadata.get("inference_geo") not in (None, "")
            and metadata["inference_geo"] not in _ANYWHERE
        ):
            return None  # a surcharge that the catalog does not have
        tier = tier or _tier(metadata)
    for name in dict.fromkeys(filter(None, names)):
        cost = _listed(provider, name, usage, tier, at, models)
        if cost is not None:
            return cost
    return None


def _tier(metadata: Mapping[str, object]) -> str | None:
    for name in ("speed", "service_tier"):
        value = metadata.get(name)
        if isinstance(value, str) and value not in _STANDARD:
            return value
    return None


def _of_tier(prices: Prices, tier: str | None) -> Prices | None:
    if tier is None or tier in _STANDARD:
        return prices
    return prices.service_tiers.get(tier)


def _rates(prices: Prices, usage: Usage, at: datetime | None) -> Rates | None:
    if prices.hours:
        return None if at is None else _rates_at(prices, at)
    rates = prices.standard
    for step in prices.long_context:
        if (usage.input_tokens or 0) > step.above_tokens:
            rates = step.rates
    return rates


def _rates_at(prices: Prices, at: datetime) -> Rates:
    now = at.astimezone(UTC).time()
    return next((hours.rates for hours in prices.hours if _within(hours, now)), prices.standard)


def _within(hours: Hours, now: time) -> bool:
    if hours.end <= hours.start:  # over midnight
        return now >= hours.start or now < hours.end
    return hours.start <= now < hours.end


def _cost(rates: Rates, usage: Usage) -> float | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    # Cached tokens that a server counts beside its input must not make the rest of it negative.
    read = min(usage.cache_read_tokens or 0, usage.input_tokens)
    write = min(usage.cache_write_tokens or 0, usage.input_tokens)
    write_1h = min(usage.cache_write_1h_tokens or 0, write)
    uncached = usage.uncached_input_tokens
    if uncached is None:
        uncached = usage.input_tokens - read - write
    audio = max(min(usage.audio_input_tokens or 0, uncached), 0)
    price_of_write = _or(rates.cache_write, rates.input)
    millions = (
        (uncached - audio) * rates.input
        + audio * _or(rates.input_audio, rates.input)
        + read * _or(rates.cache_read, rates.input)
        + (write - write_1h) * price_of_write
        + write_1h * _or(rates.cache_write_1h, price_of_write)
        + usage.output_tokens * rates.output
    )
    return max(millions, 0.0) / 1_000_000


def _or(price: float | None, other: float) -> float:
    return other if price is None else price
