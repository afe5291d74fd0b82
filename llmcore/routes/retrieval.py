"""Embeddings and reranking: the route of each, beside a provider's generating one.

A `Model` of any facade embeds, or reranks, where its provider can: these functions find the API
and its address, configured like the model's own route. Providers that do nothing else are
`RetrievalProvider`s.

Documents of those, read November 2026: https://docs.cohere.com/reference/embed,
https://docs.voyageai.com/reference/embeddings-api, https://jina.ai/embeddings.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from attrs import evolve

from llmcore.protocols import embeddings, openai_chat
from llmcore.protocols.embeddings import EmbeddingProtocol
from llmcore.protocols.openai_chat import ChatBody
from llmcore.protocols.protocol import BodyBuilder, Built, UnaryProtocol
from llmcore.routes.chat_provider import Profile, ProfileProvider
from llmcore.routes.route import Route
from llmcore.routes.transport_spec import Embedded
from llmcore.routes.unary import UnaryRoute, missing, of_model
from llmcore.schema.embeddings import (
    EmbeddingRequest,
    EmbeddingResponse,
    RerankRequest,
    RerankResponse,
)
from llmcore.schema.errors import UNSUPPORTED_OPERATION, ConfigurationError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result

EmbeddingRoute: TypeAlias = UnaryRoute[EmbeddingRequest, EmbeddingResponse]
RerankRoute: TypeAlias = UnaryRoute[RerankRequest, RerankResponse]

_EMBEDDINGS: Final[Mapping[str, EmbeddingProtocol]] = {
    "openai": embeddings.OPENAI,
    "azure": embeddings.OPENAI,
    "mistral": embeddings.MISTRAL,
    "cohere": embeddings.COHERE,
    "perplexity": embeddings.PERPLEXITY,
    "voyage": embeddings.VOYAGE,
    "jina": embeddings.JINA,
}
"""Providers whose embeddings differ from those of other servers of their API."""
_RERANKING: Final[Mapping[str, UnaryProtocol[RerankRequest, RerankResponse]]] = {
    "cohere": embeddings.COHERE_RERANK,
    "voyage": embeddings.VOYAGE_RERANK,
}


def embedding_route(route: Route[Any], model_id: str) -> EmbeddingRoute:
    """Return the route that embeds with *model_id*; ConfigurationError if the provider cannot."""
    beside = of_model(route, embedding_protocol(route, model_id), model_id)
    if isinstance(beside.transport, Embedded):
        return evolve(beside, transport=evolve(beside.transport, embeddings=True))
    return beside


def embedding_protocol(route: Route[Any], model_id: str) -> EmbeddingProtocol:
    """Return the protocol that embeds with *model_id*, which has the limits of a request."""
    match route.protocol.family:
        case "google" if route.provider == "vertex":
            by_content = "gemini" in model_id or "maas" in model_id
            return embeddings.VERTEX_EMBED_CONTENT if by_content else embeddings.VERTEX_PREDICT
        case "google":
            return embeddings.GEMINI
        case "bedrock" if "cohere.embed" in model_id:
            return embeddings.BEDROCK_COHERE
        case "bedrock" if "amazon.nova" in model_id:
            return embeddings.NOVA
        case "bedrock":
            return embeddings.TITAN
        case "openai":
            return _EMBEDDINGS.get(route.provider, embeddings.COMPATIBLE)
        case _:
            raise missing(route, "embeddings")


def rerank_route(route: Route[Any], model_id: str) -> RerankRoute:
    """Return the route that reranks with *model_id*; ConfigurationError if the provider cannot."""
    if route.provider == "openai" or not route.protocol.reranks:
        raise missing(route, "reranking")
    protocol = _RERANKING.get(route.provider, embeddings.COMPATIBLE_RERANK)
    return of_model(route, protocol, model_id)


# -- providers of nothing else


def _refuse(request: LLMRequest, _streaming: bool) -> Result[Built[ChatBody], LLMError]:
    provider = request.provider_id
    message = f"{provider} generates no text here: use `embed` or `rerank`"
    return Failure(ConfigurationError(message, provider=provider, error_code=UNSUPPORTED_OPERATION))


_NO_GENERATION: Final = evolve(openai_chat.protocol, body=BodyBuilder(build=_refuse))


@frozen(init=False)
class RetrievalProvider(ProfileProvider):
    """A configured provider of embeddings and rankings, which generates no text."""

    route: Route[ChatBody]
    """The address, credentials and defaults of its requests."""

    def _set_route(self, route: Route[ChatBody]) -> None:
        self._set_fields(route=route.with_(id=self.profile.id, protocol=_NO_GENERATION))

    def model(self, model_id: str) -> Model[ChatBody]:
        """Return the model *model_id*, for `embed` and `rerank`."""
        return self.route.model(model_id)


class Cohere(RetrievalProvider):
    """Cohere's embeddings and rankings. Key: COHERE_API_KEY, or CO_API_KEY.

    Its Command models are reached as `OpenAICompatible`, at
    `https://api.cohere.ai/compatibility/v1`.
    """

    profile = Profile.of_listed("cohere", base_url="https://api.cohere.com")


class Voyage(RetrievalProvider):
    """Voyage AI. Key: VOYAGE_API_KEY."""

    profile = Profile.of_listed("voyage", base_url="https://api.voyageai.com/v1")


class Jina(RetrievalProvider):
    """Jina AI. Key: JINA_API_KEY."""

    profile = Profile.of_listed("jina", base_url="https://api.jina.ai/v1")
