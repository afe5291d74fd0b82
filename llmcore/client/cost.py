"""The cost of an answer, put down on it when it is whole."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from llmcore.schema.changed import changed
from llmcore.schema.response import LLMResponse

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo

FROM_CACHE = "response-from-cache"
"""The code of the Diagnostic of an answer that comes from the response cache."""


def _is_cached(response: LLMResponse) -> bool:
    return any(note.code == FROM_CACHE for note in response.diagnostics)


def with_cost(response: LLMResponse, models: "Sequence[ModelInfo]" = ()) -> LLMResponse:
    """Return *response* with its cost, or as it is where the cost is unknown or there already.

    An answer from the cache costs nothing. *models* are the client's own, before the catalog's.
    """
    if response.cost is not None or response.usage is None:
        return response
    if _is_cached(response):
        return changed(response, cost=0.0)
    from llmcore.catalog.cost import response_cost  # a data file is behind it

    cost = response_cost(response, at=datetime.now(UTC), models=models)
    return response if cost is None else changed(response, cost=cost)
