"""What a call costs, in US dollars."""

from collections.abc import Callable
from typing import TypeAlias

from llmcore.client.middleware.target import Target
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

Price: TypeAlias = Callable[[str, str, Usage], float | None]
"""Returns the US dollars for a usage of a provider's model; None if it does not know."""


def listed_price(provider: str, model: str, usage: Usage) -> float | None:
    """Return what the provider says it cost, or else what the catalog's prices make of it."""
    from llmcore.catalog import cost_of  # a data file, read on first use

    return cost_of(provider, model, usage)


def cost_of_call(
    price: Price, target: Target, response: LLMResponse | None, usage: Usage | None
) -> float | None:
    """Return what *usage* cost, by the model that answered, or else the one that was asked."""
    if usage is None:
        return None
    if price is listed_price and response is not None and response.cost is not None:
        return response.cost  # also goes by service tier and time of day
    answered = target.model if response is None else response.model
    cost = price(target.provider, answered, usage) if answered else None
    return price(target.provider, target.model, usage) if cost is None else cost
