"""Embeddings and rankings: the requests and the responses."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from attrs import field, frozen, validators

from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.display import readable
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject, JsonValue, ProviderMetadata, plain_metadata
from llmcore.schema.model import Model
from llmcore.schema.usage import Usage

InputType: TypeAlias = Literal["query", "document"]
"""The role of an embedded text: a question, or a text that answers may be found in."""

Vector: TypeAlias = tuple[float, ...]


def _texts(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _all_texts(_request: object, attribute: object, texts: tuple[str, ...]) -> None:
    name = getattr(attribute, "name", "inputs")
    if not texts:
        raise InvalidRequestError(f"{name} is empty: give at least one text")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InvalidRequestError(f"{name}[{number}] is of the type {kind}, not a text")
        if not text:
            raise InvalidRequestError(f"{name}[{number}] is empty, which providers refuse")


def _input_type(_request: object, _attribute: object, value: str | None) -> None:
    if value not in ("query", "document", None):
        raise InvalidRequestError(f'input_type is "query", "document" or None, not {value!r}')


def _count(_request: object, attribute: object, value: int | None) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        name = getattr(attribute, "name", "count")
        raise InvalidRequestError(f"{name} is a number from 1 on, not {value!r}")


class _OfModel:
    """The properties that both kinds of requests have."""

    __slots__ = ()

    if TYPE_CHECKING:
        model: Model | str
        provider: str | None
        provider_options: ProviderMetadata

    @property
    def model_id(self) -> str:
        """The model's id."""
        return self.model.id if isinstance(self.model, Model) else self.model

    @property
    def provider_id(self) -> str:
        """The provider's id; empty if none is named."""
        return self.model.provider if isinstance(self.model, Model) else self.provider or ""

    @property
    def own_options(self) -> JsonObject:
        """The native fields for the provider of the model."""
        return self.provider_options.get(self.provider_id, {})


@frozen(kw_only=True)
class EmbeddingRequest(_OfModel):
    """Texts to embed. Raises InvalidRequestError for empty ones, which providers refuse."""

    model: Model | str
    """The model, or its id, which may name the provider as in `openai:text-embedding-3-small`."""
    inputs: tuple[str, ...] = field(converter=_texts, validator=_all_texts)
    """The texts, at most as many as the provider takes in one request."""
    dimensions: int | None = field(default=None, validator=_count)
    """The length of the vectors, for models that can shorten them."""
    input_type: InputType | None = field(default=None, validator=_input_type)
    """Whether the texts are queries or documents, for models that embed them differently."""
    provider: str | None = None
    """The provider of a model that only an id names."""
    provider_options: ProviderMetadata = field(factory=dict, converter=plain_metadata)
    """Native fields of the body, by provider."""
    strict: bool = False
    """Whether a setting that the API lacks is an error and not a Diagnostic."""


@readable
@frozen(kw_only=True)
class EmbeddingResponse:
    """The vectors of texts, in their order."""

    embeddings: tuple[Vector, ...] = field(repr=lambda vectors: f"<{len(vectors)} vectors>")
    """One vector for each text."""
    provider: str
    """The provider's id."""
    model: str
    """The model that answered, as the provider names it."""
    usage: Usage = Usage()
    """The tokens of the texts, added up over all requests."""
    cost: float | None = field(default=None, eq=False)
    """US dollars at list price; None if it is unknown."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out or changed."""
    raw: JsonValue = field(default=None, eq=False, repr=False)
    """The native answer; None for one that was put together from several."""

    @property
    def embedding(self) -> Vector:
        """The vector of the first text."""
        return self.embeddings[0]


@frozen(kw_only=True)
class RerankRequest(_OfModel):
    """Documents to order by how well they answer a query."""

    model: Model | str
    """The model, or its id, which may name the provider as in `cohere:rerank-v3.5`."""
    query: str = field(validator=validators.instance_of(str))
    """The question."""
    documents: tuple[str, ...] = field(converter=_texts, validator=_all_texts)
    """The texts to order."""
    top_n: int | None = field(default=None, validator=_count)
    """How many of the best documents are returned; None for all."""
    provider: str | None = None
    """The provider of a model that only an id names."""
    provider_options: ProviderMetadata = field(factory=dict, converter=plain_metadata)
    """Native fields of the body, by provider."""
    strict: bool = False
    """Whether a setting that the API lacks is an error and not a Diagnostic."""


@frozen(kw_only=True)
class RankedDocument:
    """A document and its score."""

    index: int
    """The number of the document in the request, from 0."""
    score: float
    """How well it answers the query: higher is better. Scales differ between models."""
    document: str
    """The document."""


@readable
@frozen(kw_only=True)
class RerankResponse:
    """Documents in the order of their scores, the best first."""

    results: tuple[RankedDocument, ...]
    """The documents."""
    provider: str
    """The provider's id."""
    model: str
    """The model that answered, as the provider names it."""
    usage: Usage = Usage()
    """The tokens, if the provider counts them."""
    cost: float | None = field(default=None, eq=False)
    """US dollars at list price; None if it is unknown."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out or changed."""
    raw: JsonValue = field(default=None, eq=False, repr=False)
    """The native answer."""

    @property
    def documents(self) -> Sequence[str]:
        """The documents alone, the best first."""
        return [result.document for result in self.results]
