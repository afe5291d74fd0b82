"""`embed`, `embed_many` and `rerank`: vectors of texts, and texts in the order of a query."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Final, Unpack

from attrs import evolve

from llmcore.client.call_hints import with_awaited_hints
from llmcore.client.cost import total_cost
from llmcore.generation.concurrency import check_concurrency, for_each
from llmcore.generation.unary import UnarySettings, client_of, request_fields, retried
from llmcore.protocols.embeddings import EmbeddingProtocol
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.embeddings import (
    EmbeddingRequest,
    EmbeddingResponse,
    InputType,
    RerankRequest,
    RerankResponse,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.hints import shown_kind
from llmcore.schema.model import Model
from llmcore.schema.token_estimate import estimated_text_tokens


class EmbeddingSettings(UnarySettings, total=False):
    """The settings of `embed` and `embed_many` beside those of every unary call."""

    dimensions: int | None
    """The length of the vectors, for models that can shorten them."""
    input_type: InputType | None
    """`query` or `document`, for models that embed them differently."""


@with_awaited_hints(input="text")
async def embed(
    model: Model | str, text: str, **settings: Unpack[EmbeddingSettings]
) -> EmbeddingResponse:
    """Return the vector of *text*, as `embedding`, with its usage and cost.

    *model* is one of any facade whose provider has embeddings, or an id such as
    `openai:text-embedding-3-small`. Raises LLMError.
    """
    if not isinstance(text, str):
        raise InvalidRequestError(
            f"text is one text, not {shown_kind(text)}: `embed_many` takes several"
        )
    request_fields("embed", EmbeddingSettings, settings)
    return await embed_many(model, (text,), **settings)


@with_awaited_hints(input="texts")
async def embed_many(
    model: Model | str,
    texts: Iterable[str],
    *,
    concurrency: int = 4,
    **settings: Unpack[EmbeddingSettings],
) -> EmbeddingResponse:
    """Return the vectors of *texts*, in their order, with the usage and cost of all together.

    They are sent in as few requests as the provider's limits allow, *concurrency* at a time, each
    retried separately. Raises LLMError if one of them fails after its retries; the vectors of the
    others are lost then.
    """
    if isinstance(texts, str):
        raise InvalidRequestError("texts must be a list: `embed` takes a single one")
    check_concurrency(concurrency)
    fields = request_fields("embed_many", EmbeddingSettings, settings)
    request = EmbeddingRequest(model=model, inputs=tuple(texts), **fields)
    return await embedded_in_batches(request, {}, settings, concurrency)


async def embedded_in_batches(
    request: EmbeddingRequest,
    responses: dict[int, EmbeddingResponse],
    settings: UnarySettings,
    concurrency: int = 4,
) -> EmbeddingResponse:
    """Return the vectors of *request*, sent in as few requests as the provider's limits allow.

    *responses* gets the response of each of them, by its number, also if another one fails. Raises
    LLMError.
    """
    client = client_of(settings)
    requests = batches(request, client.embedding_limits(request))

    async def work(numbered: tuple[int, EmbeddingRequest]) -> None:
        number, batch = numbered
        responses[number] = (await retried(client.embed, batch, settings)).unwrap()

    await for_each(iter(enumerate(requests)), work, concurrency)
    return joined([responses[number] for number in range(len(requests))])


@with_awaited_hints(top_k="top_n", limit="top_n")
async def rerank(
    model: Model | str,
    query: str,
    documents: Iterable[str],
    *,
    top_n: int | None = None,
    **settings: Unpack[UnarySettings],
) -> RerankResponse:
    """Return *documents* ordered by how well they answer *query*, the best first.

    *model* is one of Cohere, Voyage, Jina, vLLM, llama.cpp or a compatible server, or an id such
    as `cohere:rerank-v3.5`. With *top_n*, only so many are returned. Raises LLMError.
    """
    if isinstance(documents, str):
        raise InvalidRequestError("documents is a list of texts, not a single one")
    fields = request_fields("rerank", UnarySettings, settings)
    request = RerankRequest(
        model=model, query=query, documents=tuple(documents), top_n=top_n, **fields
    )
    return (await retried(client_of(settings).rerank, request, settings)).unwrap()


# -- batches


def batches(request: EmbeddingRequest, protocol: EmbeddingProtocol) -> list[EmbeddingRequest]:
    """Return *request* as requests that keep to the limits of *protocol*, texts in order.

    Tokens are estimated, rather too high. A text that is too large alone is a request of its own,
    for the provider to cut or refuse.
    """
    parts: list[list[str]] = [[]]
    room = math.inf if protocol.max_tokens is None else protocol.max_tokens
    tokens = 0.0
    for text in request.inputs:
        size = estimated_text_tokens(text) + 1
        full = len(parts[-1]) == protocol.max_inputs or tokens + size > room
        if parts[-1] and full:
            parts.append([])
            tokens = 0.0
        parts[-1].append(text)
        tokens += size
    return [evolve(request, inputs=texts) for texts in parts]


def joined(responses: Sequence[EmbeddingResponse]) -> EmbeddingResponse:
    """Return one response with the vectors of *responses* in order, their usage and cost added up.

    The cost is None if that of any of them is; paths of diagnostics count all texts.
    """
    first = responses[0]
    if len(responses) == 1:
        return first
    return evolve(
        first,
        embeddings=tuple(vector for response in responses for vector in response.embeddings),
        usage=sum((response.usage for response in responses[1:]), start=first.usage),
        cost=total_cost(response.cost for response in responses),
        diagnostics=_joined_notes(responses),
        raw=None,
    )


_INPUT: Final = re.compile(r"inputs\[(\d+)\]")


def _joined_notes(responses: Sequence[EmbeddingResponse]) -> tuple[Diagnostic, ...]:
    diagnostics: dict[Diagnostic, None] = {}
    before = 0
    for response in responses:
        for note in response.diagnostics:
            place = _INPUT.fullmatch(note.path)
            path = note.path if place is None else f"inputs[{before + int(place[1])}]"
            diagnostics[evolve(note, path=path)] = None
        before += len(response.embeddings)
    return tuple(diagnostics)
