"""`embed`, `embed_many` and `rerank`: vectors of texts, and texts in the order of a query."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TypedDict, Unpack

import anyio

from llmcore.client.client import Client
from llmcore.generation.retry import RetryPolicy, retry
from llmcore.generation.settings import default_client
from llmcore.protocols.embeddings import batches, joined
from llmcore.routes.transport import Timeouts
from llmcore.schema.embeddings import (
    EmbeddingRequest,
    EmbeddingResponse,
    InputType,
    RerankRequest,
    RerankResponse,
)
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.json import JsonObject
from llmcore.schema.model import Model
from llmcore.schema.result import Failure


class RetrievalSettings(TypedDict, total=False):
    """The settings of `embed`, `embed_many` and `rerank` alike."""

    provider: str | None
    """The provider of a model that only an id names."""
    provider_options: Mapping[str, JsonObject]
    """Native fields of the body, by provider."""
    strict: bool
    """Whether a setting that the API lacks is an error and not a Diagnostic."""
    max_retries: int
    """Attempts of each request after the first one; 2 if not set."""
    timeouts: Timeouts | None
    """Time limits of each request."""
    client: Client | None
    """None uses the default client."""


class EmbeddingSettings(RetrievalSettings, total=False):
    """The settings of `embed` and `embed_many`."""

    dimensions: int | None
    """The length of the vectors, for models that can shorten them."""
    input_type: InputType | None
    """`query` or `document`, for models that embed them differently."""


async def embed(
    model: Model | str, text: str, **settings: Unpack[EmbeddingSettings]
) -> EmbeddingResponse:
    """Return the vector of *text*, as `embedding`, with its usage and cost.

    *model* is one of any facade whose provider has embeddings, or an id such as
    `openai:text-embedding-3-small`. Raises LLMError.
    """
    return await embed_many(model, (text,), **settings)


async def embed_many(
    model: Model | str,
    texts: Iterable[str],
    *,
    concurrency: int = 4,
    **settings: Unpack[EmbeddingSettings],
) -> EmbeddingResponse:
    """Return the vectors of *texts*, in their order, with the usage and cost of all together.

    They are sent in as few requests as the provider's limits allow, *concurrency* at a time, each
    retried by itself. Raises LLMError if one of them fails in the end; what the others cost is
    lost then.
    """
    if isinstance(texts, str):
        raise InvalidRequestError("texts is a list of texts: `embed` takes a single one")
    if concurrency < 1:
        raise InvalidRequestError(f"concurrency is {concurrency}; it counts requests, from 1")
    client = settings.get("client") or default_client()
    asked = EmbeddingRequest(
        model=model,
        inputs=tuple(texts),
        dimensions=settings.get("dimensions"),
        input_type=settings.get("input_type"),
        provider=settings.get("provider"),
        provider_options=settings.get("provider_options", {}),
        strict=settings.get("strict", False),
    )
    requests = batches(asked, client.embedding_limits(asked))
    policy = RetryPolicy(max_retries=settings.get("max_retries", 2))
    answers: dict[int, EmbeddingResponse] = {}
    waiting = iter(enumerate(requests))

    failures: list[LLMError] = []

    async def work() -> None:
        for number, batch in waiting:
            call = partial(client.embed, batch, timeouts=settings.get("timeouts"))
            found = await retry(call, policy)
            if isinstance(found, Failure):
                failures.append(found.error)
                tasks.cancel_scope.cancel()
                return
            answers[number] = found.value

    async with anyio.create_task_group() as tasks:
        for _ in range(min(concurrency, len(requests))):
            tasks.start_soon(work)
    if failures:
        raise failures[0]
    return joined([answers[number] for number in range(len(requests))])


async def rerank(
    model: Model | str,
    query: str,
    documents: Iterable[str],
    *,
    top_n: int | None = None,
    **settings: Unpack[RetrievalSettings],
) -> RerankResponse:
    """Return *documents* ordered by how well they answer *query*, the best first.

    *model* is one of Cohere, Voyage, Jina, vLLM, llama.cpp or a compatible server, or an id such
    as `cohere:rerank-v3.5`. With *top_n*, only so many are returned. Raises LLMError.
    """
    client = settings.get("client") or default_client()
    asked = RerankRequest(
        model=model,
        query=query,
        documents=tuple(documents),
        top_n=top_n,
        provider=settings.get("provider"),
        provider_options=settings.get("provider_options", {}),
        strict=settings.get("strict", False),
    )
    policy = RetryPolicy(max_retries=settings.get("max_retries", 2))
    call = partial(client.rerank, asked, timeouts=settings.get("timeouts"))
    return (await retry(call, policy)).unwrap()
