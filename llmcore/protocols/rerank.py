"""Rankings: those of Cohere's API, which others imitate, and of Voyage's.

Documents, read November 2026: https://docs.cohere.com/reference/rerank,
https://docs.voyageai.com/reference/reranker-api, https://jina.ai/reranker,
https://docs.vllm.ai/en/latest/models/pooling_models.html (`/v1/rerank`),
https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (`/v1/rerank`). Responses:

    {"results": [{"index": 3, "relevance_score": 0.98}], "meta": {"billed_units": {...}}}
    {"data": [{"index": 3, "relevance_score": 0.98}], "usage": {"total_tokens": 26}}
"""

import math
from functools import partial
from typing import Final

from llmcore.protocols.protocol import NativeRequest, NativeResponse, UnaryProtocol
from llmcore.protocols.response_parts import read_cost
from llmcore.protocols.unary import native_settings, posted, response_fields
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.embeddings import RankedDocument, RerankRequest, RerankResponse
from llmcore.schema.errors import StreamError
from llmcore.schema.json import JsonValue, count_or_none, object_or_empty, objects
from llmcore.schema.usage import Usage


def _build(request: RerankRequest, *, path: str, top_n: str) -> NativeRequest:
    body: dict[str, JsonValue] = {
        "model": request.model_id,
        "query": request.query,
        "documents": list(request.documents),
    }
    diagnostics = Diagnostics()
    return posted(
        request, path, body | native_settings(request, {"top_n": top_n}, diagnostics), diagnostics
    )


def read_ranking(response: NativeResponse, request: RerankRequest) -> RerankResponse:
    """Return the documents of a response of any of these APIs, the best first.

    Servers that do not sort, or return more than they were asked for, are corrected. Raises
    StreamError for a response without scores, or with the number of a document that is not there.
    """
    document = object_or_empty(response.document)
    entries = objects(document.get("results")) or objects(document.get("data"))
    results = [_ranked(entry, request) for entry in entries]
    if not results or len({result.index for result in results}) < len(results):
        raise StreamError("the response has no score for each document", retryable=False)
    results.sort(key=lambda result: -result.score)
    usage = object_or_empty(document.get("usage"))
    tokens = count_or_none(usage.get("total_tokens", usage.get("prompt_tokens")))
    raw = usage or document.get("meta") or None
    stated = Usage.make(input_tokens=tokens, output_tokens=0, cost_usd=read_cost(usage), raw=raw)
    fields = response_fields(response, request, stated)
    return RerankResponse(results=tuple(results[: request.top_n]), **fields)


def _ranked(entry: dict[str, JsonValue], request: RerankRequest) -> RankedDocument:
    index, score = entry.get("index"), entry.get("relevance_score", entry.get("score"))
    known = isinstance(index, int) and not isinstance(index, bool)
    if not (known and isinstance(index, int) and 0 <= index < len(request.documents)):
        raise StreamError(f"the response names the document {index!r:.40}", retryable=False)
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        raise StreamError(f"the score of document {index} is {score!r:.40}", retryable=False)
    return RankedDocument(index=index, score=float(score), document=request.documents[index])


def _make(id: str, path: str, top_n: str = "top_n") -> UnaryProtocol[RerankRequest, RerankResponse]:
    return UnaryProtocol(id=id, build=partial(_build, path=path, top_n=top_n), read=read_ranking)


COHERE: Final = _make("cohere-rerank", "/v2/rerank")
COMPATIBLE: Final = _make("compatible-rerank", "/rerank")
"""Rankings of Jina, vLLM, llama.cpp and other servers that imitate Cohere's API."""
VOYAGE: Final = _make("voyage-rerank", "/rerank", top_n="top_k")
