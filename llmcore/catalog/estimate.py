"""The tokens of a request and their list price, before it is sent."""

from collections.abc import Sequence
from datetime import datetime

from attrs import field

from llmcore.catalog.cost import cost_of
from llmcore.catalog.lookup import get_model_info
from llmcore.catalog.model_info import ModelInfo
from llmcore.schema.frozen import frozen
from llmcore.schema.pydantic_hooks import for_pydantic
from llmcore.schema.request import LLMRequest
from llmcore.schema.token_estimate import TokenCount, estimated_tokens
from llmcore.schema.usage import Usage


@for_pydantic
@frozen(kw_only=True)
class RequestEstimate:
    """The tokens and the cost of a request. None is unknown."""

    count: TokenCount
    """The input tokens, counted or estimated, and the model's context window."""
    max_output_tokens: int | None = None
    """The most tokens of output: the request's `max_tokens`, or the model's own limit."""
    input_cost: float | None = field(default=None, eq=False)
    """US dollars for the input, as if no cache held any of it."""
    max_cost: float | None = field(default=None, eq=False)
    """US dollars for the input and the most output, without tools and retries."""

    @property
    def input_tokens(self) -> int:
        """The tokens of the input."""
        return self.count.tokens

    @property
    def fits(self) -> bool | None:
        """Whether input and `max_tokens` are within the window; None if that is unknown."""
        return self.count.fits


def estimate_of(
    request: LLMRequest,
    *,
    count: TokenCount | None = None,
    window: int | None = None,
    models: Sequence[ModelInfo] = (),
    at: datetime | None = None,
) -> RequestEstimate:
    """Return the tokens and the cost of *request*, whose model is resolved.

    *count* is an exact one of `client.count_tokens`; without it the tokens are estimated, rather
    too high. *window* is the route's own limit. *models* of your own take precedence over the
    catalog's; *at* is the time of the call, for prices that change.
    """
    provider = request.provider_id
    info = get_model_info(request.model_id, provider, models=models)
    if count is None:
        known = window or (None if info is None else info.context_window)
        count = TokenCount(tokens=estimated_tokens(request), estimated=True, context_window=known)
    most = request.generation.max_tokens or (None if info is None else info.max_output)

    def cost(output: int | None) -> float | None:
        if output is None:
            return None
        usage = Usage.make(input_tokens=count.tokens, output_tokens=output)
        return cost_of(provider, request.model_id, usage, at=at, models=models)

    return RequestEstimate(
        count=count, max_output_tokens=most, input_cost=cost(0), max_cost=cost(most)
    )
