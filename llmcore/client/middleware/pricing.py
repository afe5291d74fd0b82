"""The price of a call, in US dollars."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from attrs import evolve

from llmcore.client.cost import with_cost
from llmcore.client.middleware.target import ModelChoice
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo

Price: TypeAlias = Callable[[str, str, Usage], float | None]
"""Returns the cost in US dollars of a usage of a provider's model; None if unknown."""


def listed_price(provider: str, model: str, usage: Usage) -> float | None:
    """Return the cost that the provider states, or else the cost by the catalog's prices."""
    return _own_price((), provider, model, usage)


def cost_of_call(
    price: Price, target: ModelChoice, response: LLMResponse | None, usage: Usage | None
) -> float | None:
    """Return the cost of *usage*, by the responding model or else the requested one."""
    if usage is None:
        return None
    if price is listed_price and response is not None:
        provider = response.provider or target.provider  # of a part, it may be missing
        priced = evolve(response, provider=provider, usage=usage)
        return with_cost(priced, target.models, target.model).cost
    if response is not None and response.model:
        cost = price(target.provider, response.model, usage)
        if cost is not None:
            return cost
    return price_of(price, target, usage)


def price_of(price: Price, target: ModelChoice, usage: Usage) -> float | None:
    """Return the cost of *usage* of the model of *target* by *price*."""
    if price is listed_price:
        return _own_price(target.models, target.provider, target.model, usage)
    return price(target.provider, target.model, usage)


def _own_price(
    models: "Sequence[ModelInfo]", provider: str, model: str, usage: Usage
) -> float | None:
    from llmcore.catalog import cost_of  # a data file, read on first use

    return cost_of(provider, model, usage, models=models)
