"""Embeddings and rankings: the requests and the responses."""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from attrs import field

from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import is_text, with_call_hints, with_names_of_others
from llmcore.schema.pydantic_hooks import for_pydantic
from llmcore.schema.unary import UnaryRequest, UnaryResponse, check_count, check_texts

InputType: TypeAlias = Literal["query", "document"]
"""The role of an embedded text: a question, or a document that is searched for its answer."""

Vector: TypeAlias = tuple[float, ...]


def _texts(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _input_type(_request: object, _attribute: object, value: str | None) -> None:
    if value not in ("query", "document", None):
        raise InvalidRequestError(f'input_type is "query", "document" or None, not {value!r}')


@with_call_hints(size="dimensions", input="inputs", text="inputs")
@frozen(kw_only=True)
class EmbeddingRequest(UnaryRequest):
    """Texts to embed. Raises InvalidRequestError for empty ones, which providers refuse."""

    inputs: tuple[str, ...] = field(converter=_texts, validator=check_texts)
    """The texts, at most as many as the provider takes in one request."""
    dimensions: int | None = field(default=None, validator=check_count)
    """The length of the vectors, for models that can shorten them."""
    input_type: InputType | None = field(default=None, validator=_input_type)
    """Whether the texts are queries or documents, for models that embed them differently."""


@with_names_of_others(
    **dict.fromkeys(("vector", "output"), "write `.embedding`"),
    **dict.fromkeys(("vectors", "data", "values"), "write `.embeddings`"),
)
@for_pydantic
@frozen(kw_only=True)
class EmbeddingResponse(UnaryResponse):
    """The vectors of texts, in their order."""

    embeddings: tuple[Vector, ...] = field(repr=lambda vectors: f"<{len(vectors)} vectors>")
    """One vector for each text."""

    @property
    def embedding(self) -> Vector:
        """The vector of the first text."""
        return self.embeddings[0]


@with_call_hints(top_k="top_n", limit="top_n")
@frozen(kw_only=True)
class RerankRequest(UnaryRequest):
    """Documents to order by how well they answer a query."""

    query: str = field(validator=is_text)
    """The question."""
    documents: tuple[str, ...] = field(converter=_texts, validator=check_texts)
    """The texts to order."""
    top_n: int | None = field(default=None, validator=check_count)
    """How many of the best documents are returned; None for all."""


@frozen(kw_only=True)
class RankedDocument:
    """A document and its score."""

    index: int
    """The number of the document in the request, from 0."""
    score: float
    """How well it answers the query: higher is better. Scales differ between models."""
    document: str
    """The document."""


@for_pydantic
@frozen(kw_only=True)
class RerankResponse(UnaryResponse):
    """Documents in the order of their scores, the best first."""

    results: tuple[RankedDocument, ...]
    """The documents."""

    @property
    def documents(self) -> Sequence[str]:
        """The documents alone, the best first."""
        return [result.document for result in self.results]
