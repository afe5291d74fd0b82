"""The price of a call, in US dollars."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from llmcore.client.middleware.target import ModelChoice
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo

Price: TypeAlias = Callable[[str, str, Usage], float | None]
"""Returns the US dollars for a usage of a provider's model; None if it does not know."""


def listed_price(provider: str, model: str, usage: Usage) -> float | None:
    """Return what the provider says it cost, or else what the catalog's prices make of it."""
    return _own_price((), provider, model, usage)


def cost_of_call(
    price: Price, target: ModelChoice, response: LLMResponse | None, usage: Usage | None
) -> float | None:
    """Return what *usage* cost, by the model that answered, or else the one that was asked."""
    if usage is None:
        return None
    if price is listed_price:
        if response is not None and response.cost is not None:
            return response.cost  # also goes by service tier and time of day
        price = partial(_own_price, target.models)
    answered = target.model if response is None else response.model
    cost = price(target.provider, answered, usage) if answered else None
    return price(target.provider, target.model, usage) if cost is None else cost


def price_of(price: Price, target: ModelChoice, usage: Usage) -> float | None:
    """Return what *price* says *usage* of the model of *target* costs."""
    if price is listed_price:
        return _own_price(target.models, target.provider, target.model, usage)
    return price(target.provider, target.model, usage)


def _own_price(
    models: "Sequence[ModelInfo]", provider: str, model: str, usage: Usage
) -> float | None:
    from llmcore.catalog import cost_of  # a data file, read on first use

    return cost_of(provider, model, usage, models=models)
