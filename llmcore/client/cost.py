"""Sets the cost of complete responses."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from llmcore.schema.changed import changed
from llmcore.schema.response import LLMResponse

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo

FROM_CACHE = "response-from-cache"
"""The code of the Diagnostic of responses from the response cache."""


def _is_cached(response: LLMResponse) -> bool:
    return any(note.code == FROM_CACHE for note in response.diagnostics)


def with_cost(
    response: LLMResponse, models: "Sequence[ModelInfo]" = (), requested: str = ""
) -> LLMResponse:
    """Return *response* with its cost set, unless it is unknown or already set.

    The cost of a cached response is 0. Prices of *models* take precedence over the catalog's. The
    model *requested* counts if the one that answered has no price.
    """
    if response.cost is not None:
        return response
    if _is_cached(response):
        return changed(response, cost=0.0)
    from llmcore.catalog.cost import response_cost  # a data file is behind it

    cost = response_cost(response, requested=requested, at=datetime.now(UTC), models=models)
    return response if cost is None else changed(response, cost=cost)
