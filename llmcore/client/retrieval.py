"""Embedding and reranking: one request each, with its cost."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from attrs import evolve

from llmcore.client.unary import UnaryCalls
from llmcore.protocols.embeddings import EmbeddingProtocol
from llmcore.routes.retrieval import embedding_route, rerank_route
from llmcore.routes.route import Route
from llmcore.routes.transport import Timeouts
from llmcore.schema.embeddings import (
    EmbeddingRequest,
    EmbeddingResponse,
    RerankRequest,
    RerankResponse,
)
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError
from llmcore.schema.model import Model
from llmcore.schema.result import Failure, Result

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo

_Answer = TypeVar("_Answer", EmbeddingResponse, RerankResponse)


async def embedded(
    calls: UnaryCalls,
    asked: EmbeddingRequest,
    model: Model,
    models: "Sequence[ModelInfo]",
    timeouts: Timeouts | None,
) -> Result[EmbeddingResponse, LLMError]:
    """Return the vectors of the texts of *asked*, in one request to *model*."""
    try:
        route, protocol = embedding_route(_route(model), model.id)
        if len(asked.inputs) > protocol.max_inputs:
            message = f"{len(asked.inputs)} texts are more than the {protocol.max_inputs} of one "
            message += f"request to {model.provider}: `embed_many` sends several"
            raise InvalidRequestError(message, provider=model.provider)
    except LLMError as error:
        return Failure(error)
    request = evolve(asked, model=model, provider=None)
    found = await calls.call(route, request, timeouts)
    return found.map(lambda answer: _with_cost(answer, model, models))


async def reranked(
    calls: UnaryCalls,
    asked: RerankRequest,
    model: Model,
    models: "Sequence[ModelInfo]",
    timeouts: Timeouts | None,
) -> Result[RerankResponse, LLMError]:
    """Return the documents of *asked* in the order that *model* gives them."""
    try:
        route = rerank_route(_route(model))
    except LLMError as error:
        return Failure(error)
    found = await calls.call(route, evolve(asked, model=model, provider=None), timeouts)
    return found.map(lambda answer: _with_cost(answer, model, models))


def limits_of(model: Model) -> EmbeddingProtocol:
    """Return the protocol that embeds with *model*; ConfigurationError if there is none."""
    return embedding_route(_route(model), model.id)[1]


def _route(model: Model) -> "Route":
    if isinstance(model.route, Route):
        return model.route
    raise ConfigurationError(f"the model {model.id!r} has no route")


def _with_cost(answer: _Answer, model: Model, models: "Sequence[ModelInfo]") -> _Answer:
    from llmcore.catalog.cost import cost_of  # a data file is behind it

    for name in dict.fromkeys((answer.model, model.id)):
        cost = cost_of(model.provider, name, answer.usage, models=models)
        if cost is not None:
            return evolve(answer, cost=cost)
    return answer
