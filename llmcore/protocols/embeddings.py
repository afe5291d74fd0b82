"""Embeddings and rankings, over the APIs that have them: one builder for flat bodies; Google's.

Documents, read November 2026: https://platform.openai.com/docs/api-reference/embeddings (and the
servers that imitate it), https://docs.mistral.ai/api/endpoint/embeddings,
https://docs.cohere.com/reference/embed, https://docs.voyageai.com/reference/embeddings-api,
https://jina.ai/embeddings, https://pypi.org/project/perplexityai/0.46.1/
(`types/embedding_create_params`), https://ai.google.dev/api/embeddings,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api,
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html and
.../model-parameters-embed.html, https://docs.aws.amazon.com/nova/latest/userguide/
embeddings-schema.html. Responses, in the order of the readers below:

    {"data": [{"index": 0, "embedding": [0.1]}], "model": "m", "usage": {"prompt_tokens": 2}}
    {"embeddings": {"float": [[0.1]]}, "meta": {"billed_units": {"input_tokens": 2}}}
    {"embeddings": [{"values": [0.1]}]}
    {"embeddings": [{"embeddingType": "TEXT", "embedding": [0.1]}]}
    {"predictions": [{"embeddings": {"values": [0.1], "statistics": {"token_count": 2}}}]}
    {"embedding": {"values": [0.1]}, "usageMetadata": {"promptTokenCount": 2}, "truncated": false}
    {"embedding": [0.1], "inputTextTokenCount": 2}

Rankings are those of Cohere's API, which others imitate, and of Voyage's:
https://docs.cohere.com/reference/rerank, https://docs.voyageai.com/reference/reranker-api,
https://jina.ai/reranker, https://docs.vllm.ai/en/latest/models/pooling_models.html (`/v1/rerank`),
https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (`/v1/rerank`). Responses:

    {"results": [{"index": 3, "relevance_score": 0.98}], "meta": {"billed_units": {...}}}
    {"data": [{"index": 3, "relevance_score": 0.98}], "usage": {"total_tokens": 26}}
"""

import base64
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from attrs import evolve, field

from llmcore.protocols import unary
from llmcore.protocols.protocol import NativeRequest, NativeResponse, UnaryProtocol
from llmcore.protocols.response_parts import read_cost
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.embeddings import (
    EmbeddingRequest,
    EmbeddingResponse,
    InputType,
    RankedDocument,
    RerankRequest,
    RerankResponse,
    Vector,
)
from llmcore.schema.errors import InvalidRequestError, StreamError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.native_json import count_or_none, object_or_empty, objects
from llmcore.schema.usage import Usage


@frozen(kw_only=True)
class EmbeddingProtocol(UnaryProtocol[EmbeddingRequest, EmbeddingResponse]):
    """The embeddings of one API, and how much of them one request may hold."""

    max_inputs: int
    """The most texts of one request."""
    max_tokens: int | None = None
    """The most tokens of one request, all texts together; None without such a limit."""


_ASIS: Final[Mapping[InputType, str]] = {"query": "query", "document": "document"}
_SEARCH: Final[Mapping[InputType, str]] = {"query": "search_query", "document": "search_document"}
TASK_TYPES: Final[Mapping[InputType, str]] = {
    "query": "RETRIEVAL_QUERY",
    "document": "RETRIEVAL_DOCUMENT",
}
"""Google's `taskType`, of which the others have no neutral word."""
_JINA: Final[Mapping[InputType, str]] = {
    "query": "retrieval.query",
    "document": "retrieval.passage",
}


@frozen(kw_only=True)
class _Flat:
    """A body whose fields are all at its top."""

    inputs: str = "input"
    single: bool = False
    """Whether the texts are one text, and not a list."""
    names_model: bool = True
    dimensions: str | None = "dimensions"
    input_type: str | None = None
    types: Mapping[InputType, str] = field(factory=lambda: _ASIS)
    fixed: JsonObject = field(factory=lambda: MappingProxyType({}))
    """Fields of every body."""

    def body(self, request: EmbeddingRequest, diagnostics: Diagnostics) -> JsonObject:
        """Return the native body of *request*."""
        body: dict[str, JsonValue] = {"model": request.model_id} if self.names_model else {}
        body[self.inputs] = request.inputs[0] if self.single else list(request.inputs)
        body.update(self.fixed)
        names = {"dimensions": self.dimensions, "input_type": self.input_type}
        settings = unary.native_settings(request, names, diagnostics)
        if self.input_type in settings and request.input_type is not None:
            settings[self.input_type] = self.types[request.input_type]
        return body | settings


def _build(
    request: EmbeddingRequest,
    *,
    path: str | Callable[[EmbeddingRequest], str],
    body: Callable[[EmbeddingRequest, Diagnostics], JsonObject],
    max_inputs: int,
    options_at_top: bool,
) -> NativeRequest:
    if len(request.inputs) > max_inputs:
        message = f"{len(request.inputs)} texts are more than the {max_inputs} of one request to "
        message += f"{request.provider_id}: `embed_many` sends several"
        raise InvalidRequestError(message, provider=request.provider_id)
    diagnostics = Diagnostics()
    native = body(request, diagnostics)
    if not options_at_top:
        request = evolve(request, provider_options={})
    where = path(request) if callable(path) else path
    return unary.posted(request, where, native, diagnostics)


def _make(
    id: str,
    path: str | Callable[[EmbeddingRequest], str],
    body: Callable[[EmbeddingRequest, Diagnostics], JsonObject],
    max_inputs: int,
    max_tokens: int | None = None,
    *,
    options_at_top: bool = True,
    read: Callable[[NativeResponse, EmbeddingRequest], EmbeddingResponse] | None = None,
) -> EmbeddingProtocol:
    return EmbeddingProtocol(
        id=id,
        build=partial(
            _build, path=path, body=body, max_inputs=max_inputs, options_at_top=options_at_top
        ),
        read=read or read_embeddings,
        max_inputs=max_inputs,
        max_tokens=max_tokens,
    )


# -- Google's bodies


def _gemini_body(request: EmbeddingRequest, _diagnostics: Diagnostics) -> JsonObject:
    """Return the body, each of whose texts has the settings and the native fields."""
    settings = {**_google_settings(request), **request.own_options}
    model = request.model_id if "/" in request.model_id else f"models/{request.model_id}"
    return {
        "requests": [
            {"model": model, "content": {"parts": [{"text": text}]}, **settings}
            for text in request.inputs
        ]
    }


def _google_settings(request: EmbeddingRequest) -> JsonObject:
    settings: dict[str, JsonValue] = {}
    if request.input_type is not None:
        settings["taskType"] = TASK_TYPES[request.input_type]
    if request.dimensions is not None:
        settings["outputDimensionality"] = request.dimensions
    return settings


def _predict_body(request: EmbeddingRequest, _diagnostics: Diagnostics) -> JsonObject:
    kind = {} if request.input_type is None else {"task_type": TASK_TYPES[request.input_type]}
    body: dict[str, JsonValue] = {
        "instances": [{"content": text, **kind} for text in request.inputs],
    }
    if request.dimensions is not None:
        body["parameters"] = {"outputDimensionality": request.dimensions}
    return body


def _embed_content_body(request: EmbeddingRequest, _diagnostics: Diagnostics) -> JsonObject:
    settings = _google_settings(request)
    body: dict[str, JsonValue] = {"content": {"parts": [{"text": request.inputs[0]}]}}
    return {**body, "embedContentConfig": settings} if settings else body


# -- Amazon Nova's body

_PURPOSES: Final[Mapping[InputType, str]] = {
    "query": "GENERIC_RETRIEVAL",
    "document": "GENERIC_INDEX",
}


def _nova_body(request: EmbeddingRequest, _diagnostics: Diagnostics) -> JsonObject:
    """Return the body; the model refuses a text that is too long, as Titan does."""
    settings: dict[str, JsonValue] = {
        "embeddingPurpose": _PURPOSES[request.input_type or "document"],
        "text": {"truncationMode": "NONE", "value": request.inputs[0]},
    }
    if request.dimensions is not None:
        settings["embeddingDimension"] = request.dimensions
    return {"taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": settings}


# -- reading


def read_embeddings(
    response: NativeResponse, request: EmbeddingRequest, *, packed: str = "f"
) -> EmbeddingResponse:
    """Return the vectors of a response of any of these APIs, in the order of the texts.

    *packed* is the type of the numbers in base64, as `struct` names it. Raises StreamError if there
    is not one vector for each text.
    """
    document = object_or_empty(response.document)
    vectors = [_vector(native, packed) for native in _vectors(document)]
    embeddings = tuple(vector for vector in vectors if vector is not None)
    if not len(embeddings) == len(vectors) == len(request.inputs):
        message = f"the response has {len(embeddings)} vectors for {len(request.inputs)} texts"
        raise StreamError(message, retryable=False)
    diagnostics = Diagnostics()
    for number in _truncated(document):
        message = "the text was longer than the model takes, and was cut"
        diagnostics.at(f"inputs[{number}]").changed("input-truncated", message)
    tokens, raw_usage = _tokens(document, response.headers)
    cost = read_cost(object_or_empty(raw_usage))
    usage = Usage.make(input_tokens=tokens, output_tokens=0, cost_usd=cost, raw=raw_usage)
    noted = evolve(response, diagnostics=(*response.diagnostics, *diagnostics.entries))
    return EmbeddingResponse(embeddings=embeddings, **unary.response_fields(noted, request, usage))


def _vectors(document: JsonObject) -> Sequence[Any]:
    if isinstance(document.get("data"), list):
        return [entry.get("embedding") for entry in _in_order(objects(document["data"]))]
    vectors = document.get("embeddings")
    if isinstance(vectors, dict):
        vectors = vectors.get("float")
    if isinstance(vectors, list):
        return [
            item.get("values", item.get("embedding")) if isinstance(item, dict) else item
            for item in vectors
        ]
    predictions = objects(document.get("predictions"))
    if predictions:
        return [object_or_empty(item.get("embeddings")).get("values") for item in predictions]
    single = document.get("embedding")
    if single is None:
        return []
    return [single.get("values") if isinstance(single, dict) else single]


def _in_order(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *entries* by their `index`, which servers may not keep to."""
    numbers = [entry.get("index") for entry in entries]
    if sorted(n for n in numbers if type(n) is int) != list(range(len(entries))):
        return entries
    return sorted(entries, key=lambda entry: int(entry["index"]))


def _read_bytes(response: NativeResponse, request: EmbeddingRequest) -> EmbeddingResponse:
    """Return Perplexity's vectors: signed bytes; bytes of bits, if the request asks for them."""
    bits = request.own_options.get("encoding_format") == "base64_binary"
    return read_embeddings(response, request, packed="B" if bits else "b")


def _vector(native: Any, packed: str) -> Vector | None:
    """Return the numbers of a vector, of which base64 holds little-endian ones."""
    if isinstance(native, str):
        try:
            data = base64.b64decode(native, validate=True)
            count = len(data) // struct.calcsize(packed)
            return tuple(map(float, struct.unpack(f"<{count}{packed}", data))) or None
        except (struct.error, ValueError):
            return None
    if not isinstance(native, list) or not native:
        return None
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in native):
        return None
    return tuple(map(float, native))


def _truncated(document: JsonObject) -> list[int]:
    if document.get("truncated") is True:
        return [0]
    entries = document.get("embeddings")
    texts = objects(entries) if isinstance(entries, list) else []
    cut = [number for number, text in enumerate(texts) if "truncatedCharLength" in text]  # Nova
    statistics = enumerate(_vertex_statistics(document))
    return cut or [number for number, of_text in statistics if of_text.get("truncated") is True]


def _vertex_statistics(document: JsonObject) -> list[JsonObject]:
    """Return what Vertex AI states of each text: `token_count`, and whether it is `truncated`."""
    return [
        object_or_empty(object_or_empty(prediction.get("embeddings")).get("statistics"))
        for prediction in objects(document.get("predictions"))
    ]


_COUNTS: Final = ("prompt_tokens", "total_tokens", "promptTokenCount", "input_tokens")
_BEDROCK_TOKENS: Final = "x-amzn-bedrock-input-token-count"


def _tokens(document: JsonObject, headers: Mapping[str, str]) -> tuple[int | None, JsonValue]:
    """Return the tokens of the texts, and the usage as the provider states it."""
    usage = object_or_empty(document.get("usage")) or object_or_empty(document.get("usageMetadata"))
    billed = object_or_empty(object_or_empty(document.get("meta")).get("billed_units"))
    for source in (usage, billed, document):
        for name in _COUNTS:
            if (count := count_or_none(source.get(name))) is not None:
                return count, usage or billed or None
    if (count := count_or_none(document.get("inputTextTokenCount"))) is not None:
        return count, None
    stated = headers.get(_BEDROCK_TOKENS, "")
    if stated.isascii() and stated.isdigit():
        return int(stated), None
    counts = [count_or_none(text.get("token_count")) for text in _vertex_statistics(document)]
    known = [count for count in counts if count is not None]
    return (sum(known) if known and len(known) == len(counts) else None), None


# -- the APIs


def _invoke_path(request: EmbeddingRequest) -> str:
    return f"/model/{quote(request.model_id, safe='')}/invoke"


_COHERE_FIELDS: Final = _Flat(
    inputs="texts",
    dimensions="output_dimension",
    input_type="input_type",
    types=_SEARCH,
    # an `input_type` is required; that of documents is the one that most texts are
    fixed={"input_type": "search_document", "embedding_types": ["float"]},
)

OPENAI: Final = _make("openai-embeddings", "/embeddings", _Flat().body, 2048, 300_000)
COMPATIBLE: Final = _make("compatible-embeddings", "/embeddings", _Flat().body, 256)
"""Embeddings of other servers that imitate OpenAI's API; their limits are rarely documented."""
MISTRAL: Final = _make(
    "mistral-embeddings", "/embeddings", _Flat(dimensions="output_dimension").body, 128, 16_384
)
COHERE: Final = _make("cohere-embed", "/v2/embed", _COHERE_FIELDS.body, 96)
VOYAGE: Final = _make(
    "voyage-embeddings",
    "/embeddings",
    _Flat(dimensions="output_dimension", input_type="input_type").body,
    1000,
    120_000,
)
PERPLEXITY: Final = _make(
    "perplexity-embeddings", "/embeddings", _Flat().body, 512, 120_000, read=_read_bytes
)
JINA: Final = _make(
    "jina-embeddings", "/embeddings", _Flat(input_type="task", types=_JINA).body, 512
)
_vertex_path: Final = partial(unary.google_path, below=unary.VERTEX_MODELS)
GEMINI: Final = _make(
    "gemini-embeddings",
    partial(unary.google_path, method="batchEmbedContents"),
    _gemini_body,
    100,
    options_at_top=False,
)
VERTEX_PREDICT: Final = _make(
    "vertex-predict", partial(_vertex_path, method="predict"), _predict_body, 250, 20_000
)
VERTEX_EMBED_CONTENT: Final = _make(
    "vertex-embed-content", partial(_vertex_path, method="embedContent"), _embed_content_body, 1
)
TITAN: Final = _make(
    "bedrock-titan-embeddings",
    _invoke_path,
    _Flat(inputs="inputText", single=True, names_model=False).body,
    1,
)
NOVA: Final = _make("bedrock-nova-embeddings", _invoke_path, _nova_body, 1)
BEDROCK_COHERE: Final = _make(
    "bedrock-cohere-embed", _invoke_path, evolve(_COHERE_FIELDS, names_model=False).body, 96
)


# -- rankings


def _build_ranking(request: RerankRequest, *, path: str, top_n: str) -> NativeRequest:
    body: dict[str, JsonValue] = {
        "model": request.model_id,
        "query": request.query,
        "documents": list(request.documents),
    }
    diagnostics = Diagnostics()
    body |= unary.native_settings(request, {"top_n": top_n}, diagnostics)
    return unary.posted(request, path, body, diagnostics)


def read_ranking(response: NativeResponse, request: RerankRequest) -> RerankResponse:
    """Return the documents of a response of any of these APIs, the best first.

    Servers that do not sort, or return more than they were asked for, are corrected. Raises
    StreamError for a response without scores, or with the number of a document that was not sent.
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
    fields = unary.response_fields(response, request, stated)
    return RerankResponse(results=tuple(results[: request.top_n]), **fields)


def _ranked(entry: dict[str, JsonValue], request: RerankRequest) -> RankedDocument:
    index, score = entry.get("index"), entry.get("relevance_score", entry.get("score"))
    known = isinstance(index, int) and not isinstance(index, bool)
    if not (known and isinstance(index, int) and 0 <= index < len(request.documents)):
        raise StreamError(f"the response names the document {index!r:.40}", retryable=False)
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        raise StreamError(f"the score of document {index} is {score!r:.40}", retryable=False)
    return RankedDocument(index=index, score=float(score), document=request.documents[index])


def _make_ranking(
    id: str, path: str, top_n: str = "top_n"
) -> UnaryProtocol[RerankRequest, RerankResponse]:
    return UnaryProtocol(
        id=id, build=partial(_build_ranking, path=path, top_n=top_n), read=read_ranking
    )


COHERE_RERANK: Final = _make_ranking("cohere-rerank", "/v2/rerank")
COMPATIBLE_RERANK: Final = _make_ranking("compatible-rerank", "/rerank")
"""Rankings of Jina, vLLM, llama.cpp and other servers that imitate Cohere's API."""
VOYAGE_RERANK: Final = _make_ranking("voyage-rerank", "/rerank", top_n="top_k")
