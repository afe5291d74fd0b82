"""Sets the cost of complete responses."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Final

from llmcore.schema.changed import changed, copying
from llmcore.schema.response import LLMResponse

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo

FROM_CACHE = "response-from-cache"
"""The code of the Diagnostic of responses from the response cache."""


def is_cached(response: LLMResponse) -> bool:
    """Return whether *response* is from the response cache."""
    return any(note.code == FROM_CACHE for note in response.diagnostics)


@cache
def _price() -> Callable[..., float | None]:
    """Return `response_cost`, as an import statement in each call takes longer than the rest."""
    from llmcore.catalog.cost import response_cost  # a data file is behind it

    return response_cost


def with_cost(
    response: LLMResponse, models: "Sequence[ModelInfo]" = (), requested: str = ""
) -> LLMResponse:
    """Return *response* with its cost set, unless it is unknown or already set.

    The cost of a cached response is 0. Prices of *models* take precedence over the catalog's. The
    model *requested* counts if the one that answered has no price.
    """
    if response.cost is not None:
        return response
    if response.diagnostics and is_cached(response):
        return changed(response, cost=0.0)
    cost = _price()(response, requested=requested, at=datetime.now(UTC), models=models)
    return response if cost is None else _with_cost(response, cost)


_with_cost: Final = copying(LLMResponse, "cost")


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of *costs* in US dollars; None if one of them is unknown."""
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)
