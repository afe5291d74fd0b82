"""Embeddings: native bodies, responses, batches; held against the official SDKs."""

import base64
import json
import struct
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from google import genai
from google.genai import types as google_types
from hypothesis import given
from hypothesis import strategies as st

from llmcore import AmazonBedrock, Anthropic, Azure, Google, Model, Ollama, OpenAI, OpenAICompatible
from llmcore.generation.retrieval import batches, joined
from llmcore.protocols.embeddings import EmbeddingProtocol, read_embeddings
from llmcore.protocols.protocol import NativeResponse
from llmcore.routes.auth import Auth, AuthContext
from llmcore.routes.chat_providers import Perplexity
from llmcore.routes.mistral import Mistral
from llmcore.routes.retrieval import (
    Cohere,
    Jina,
    Voyage,
    embedding_protocol,
    embedding_route,
    rerank_route,
)
from llmcore.routes.route import route_of
from llmcore.routes.vertex import Vertex
from llmcore.schema.embeddings import EmbeddingRequest, EmbeddingResponse
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, StreamError
from llmcore.schema.json import JsonObject
from llmcore.schema.usage import Usage
from tests.support.strategies.requests import json_values

KEY: Any = {"api_key": "k"}
BEDROCK = AmazonBedrock.configure(region="us-east-1", **KEY)
VERTEX = Vertex.configure(base_url="https://v/v1", auth=Auth.none())
BEDROCK_URL = "https://bedrock-runtime.us-east-1.amazonaws.com/model"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/models"

SENT: dict[str, tuple[Model, str, Any]] = {
    "openai": (
        OpenAI.configure(**KEY).model("m"),
        "https://api.openai.com/v1/embeddings",
        {"model": "m", "input": ["a", "b"], "dimensions": 8},
    ),
    "azure": (
        Azure.configure(resource_name="r", **KEY).model("d"),
        "https://r.openai.azure.com/openai/v1/embeddings",
        {"model": "d", "input": ["a", "b"], "dimensions": 8},
    ),
    "azure, dated": (
        Azure.configure(resource_name="r", api_version="2024-10-21", **KEY).model("d"),
        "https://r.openai.azure.com/openai/deployments/d/embeddings?api-version=2024-10-21",
        {"model": "d", "input": ["a", "b"], "dimensions": 8},
    ),
    "ollama": (
        Ollama.configure().model("m"),
        "http://localhost:11434/v1/embeddings",
        {"model": "m", "input": ["a", "b"], "dimensions": 8},
    ),
    "compatible": (
        OpenAICompatible.configure(name="acme", base_url="https://acme/v1").model("m"),
        "https://acme/v1/embeddings",
        {"model": "m", "input": ["a", "b"], "dimensions": 8},
    ),
    "mistral": (
        Mistral.configure(**KEY).model("m"),
        "https://api.mistral.ai/v1/embeddings",
        {"model": "m", "input": ["a", "b"], "output_dimension": 8},
    ),
    "cohere": (
        Cohere.configure(**KEY).model("m"),
        "https://api.cohere.com/v2/embed",
        {
            "model": "m",
            "texts": ["a", "b"],
            "input_type": "search_query",
            "embedding_types": ["float"],
            "output_dimension": 8,
        },
    ),
    "voyage": (
        Voyage.configure(**KEY).model("m"),
        "https://api.voyageai.com/v1/embeddings",
        {"model": "m", "input": ["a", "b"], "input_type": "query", "output_dimension": 8},
    ),
    "perplexity": (
        Perplexity.configure(**KEY).model("m"),
        "https://api.perplexity.ai/v1/embeddings",
        {"model": "m", "input": ["a", "b"], "dimensions": 8},
    ),
    "jina": (
        Jina.configure(**KEY).model("m"),
        "https://api.jina.ai/v1/embeddings",
        {"model": "m", "input": ["a", "b"], "task": "retrieval.query", "dimensions": 8},
    ),
    "google": (
        Google.configure(**KEY).model("m"),
        f"{GEMINI_URL}/m:batchEmbedContents",
        {
            "requests": [
                {
                    "model": "models/m",
                    "content": {"parts": [{"text": text}]},
                    "taskType": "RETRIEVAL_QUERY",
                    "outputDimensionality": 8,
                }
                for text in ("a", "b")
            ]
        },
    ),
    "vertex": (
        VERTEX.model("text-embedding-005"),
        "https://v/v1/publishers/google/models/text-embedding-005:predict",
        {
            "instances": [
                {"content": "a", "task_type": "RETRIEVAL_QUERY"},
                {"content": "b", "task_type": "RETRIEVAL_QUERY"},
            ],
            "parameters": {"outputDimensionality": 8},
        },
    ),
    "vertex, gemini": (
        VERTEX.model("gemini-embedding-2"),
        "https://v/v1/publishers/google/models/gemini-embedding-2:embedContent",
        {
            "content": {"parts": [{"text": "a"}]},
            "embedContentConfig": {"taskType": "RETRIEVAL_QUERY", "outputDimensionality": 8},
        },
    ),
    "titan": (
        BEDROCK.model("amazon.titan-embed-text-v2:0"),
        f"{BEDROCK_URL}/amazon.titan-embed-text-v2%3A0/invoke",
        {"inputText": "a", "dimensions": 8},
    ),
    "nova": (
        BEDROCK.model("amazon.nova-2-multimodal-embeddings-v1:0"),
        f"{BEDROCK_URL}/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke",
        {
            "taskType": "SINGLE_EMBEDDING",
            "singleEmbeddingParams": {
                "embeddingPurpose": "GENERIC_RETRIEVAL",
                "text": {"truncationMode": "NONE", "value": "a"},
                "embeddingDimension": 8,
            },
        },
    ),
    "bedrock, cohere": (
        BEDROCK.model("cohere.embed-v4:0"),
        f"{BEDROCK_URL}/cohere.embed-v4%3A0/invoke",
        {
            "texts": ["a", "b"],
            "input_type": "search_query",
            "embedding_types": ["float"],
            "output_dimension": 8,
        },
    ),
}


def prepared(model: Model, **settings: Any) -> Any:
    route = embedding_route(route_of(model), model.id)
    inputs = ("a", "b")[: embedding_protocol(route_of(model), model.id).max_inputs]
    asked = EmbeddingRequest(model=model, inputs=inputs, **settings)
    return route.prepare(asked, context=AuthContext()).unwrap()


@pytest.mark.parametrize("provider", SENT)
def test_texts_are_sent_as_the_provider_documents(provider: str) -> None:
    model, url, body = SENT[provider]

    call = prepared(model, dimensions=8, input_type="query")

    assert (call.http.method, call.http.url) == ("POST", url)
    assert json.loads(call.http.body) == body


@pytest.mark.parametrize("provider", ["openai", "mistral", "titan", "perplexity", "compatible"])
def test_an_input_type_that_the_api_lacks_is_reported(provider: str) -> None:
    model = SENT[provider][0]

    (note,) = prepared(model, input_type="query").diagnostics
    route = embedding_route(route_of(model), model.id)
    strict = EmbeddingRequest(model=model, inputs="a", input_type="query", strict=True)

    assert (note.code, note.path, note.action) == ("unsupported-parameter", "input_type", "dropped")
    assert isinstance(route.prepare(strict, context=AuthContext()).failure(), InvalidRequestError)


def test_a_text_for_nova_is_a_document_unless_stated_otherwise() -> None:
    cut: JsonObject = {"text": {"truncationMode": "END"}}
    options: dict[str, JsonObject] = {"bedrock": {"singleEmbeddingParams": cut}}

    body = json.loads(prepared(SENT["nova"][0], provider_options=options).http.body)

    assert body["singleEmbeddingParams"] == {
        "embeddingPurpose": "GENERIC_INDEX",
        "text": {"truncationMode": "END", "value": "a"},
    }


def test_native_options_of_the_provider_are_laid_over_the_body() -> None:
    model = SENT["openai"][0]
    options: dict[str, JsonObject] = {"openai": {"user": "u"}, "voyage": {"truncation": False}}

    assert json.loads(prepared(model, provider_options=options).http.body)["user"] == "u"


def test_a_provider_without_embeddings_is_an_error_before_sending() -> None:
    route = route_of(Anthropic.configure(**KEY).model("claude-sonnet-4-5"))

    with pytest.raises(ConfigurationError, match="'anthropic' has no embeddings"):
        embedding_route(route, "m")
    with pytest.raises(ConfigurationError, match="has no reranking"):
        rerank_route(route, "m")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inputs": ()}, "inputs is empty"),
        ({"inputs": ("a", "")}, r"inputs\[1\] is empty"),
        ({"inputs": ("a", 3)}, r"inputs\[1\] is of the type int"),
        ({"inputs": "a", "dimensions": 0}, "dimensions"),
        ({"inputs": "a", "input_type": "passage"}, "input_type"),
    ],
)
def test_an_invalid_request_is_an_error_that_names_the_field(given: Any, said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        EmbeddingRequest(model="m", **given)


# -- responses


def base64_of(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


ANSWERS: dict[str, tuple[Any, dict[str, str], int | None]] = {
    "openai": (
        {
            "data": [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1, 0]}],
            "model": "m-2",
            "usage": {"prompt_tokens": 5, "total_tokens": 5},
        },
        {},
        5,
    ),
    "base64": (
        {
            "data": [
                {"index": 0, "embedding": base64_of(1, 0)},
                {"index": 1, "embedding": base64_of(0, 1)},
            ],
            "usage": {"total_tokens": 5},
        },
        {},
        5,
    ),
    "cohere": (
        {
            "embeddings": {"float": [[1.0, 0.0], [0.0, 1.0]]},
            "meta": {"billed_units": {"input_tokens": 5}},
        },
        {},
        5,
    ),
    "bedrock, cohere": (
        {"embeddings": [[1.0, 0.0], [0.0, 1.0]], "response_type": "embeddings_floats"},
        {"x-amzn-bedrock-input-token-count": "5"},
        5,
    ),
    "google": ({"embeddings": [{"values": [1.0, 0.0]}, {"values": [0.0, 1.0]}]}, {}, None),
    "vertex": (
        {
            "predictions": [
                {"embeddings": {"values": [1.0, 0.0], "statistics": {"token_count": 2.0}}},
                {"embeddings": {"values": [0.0, 1.0], "statistics": {"token_count": 3.0}}},
            ]
        },
        {},
        5,
    ),
}
SINGLE: dict[str, Any] = {
    "vertex, gemini": {
        "embedding": {"values": [1.0, 0.0]},
        "usageMetadata": {"promptTokenCount": 5},
    },
    "titan": {"embedding": [1.0, 0.0], "inputTextTokenCount": 5},
    "nova": {
        "embeddings": [{"embeddingType": "TEXT", "embedding": [1.0, 0.0]}],
        "inputTextTokenCount": 5,
    },
}
TWO = EmbeddingRequest(model=Model("m", "p"), inputs=("a", "b"))
ONE = EmbeddingRequest(model=Model("m", "p"), inputs=("a",))


@pytest.mark.parametrize("shape", ANSWERS)
def test_vectors_are_read_in_the_order_of_the_texts(shape: str) -> None:
    document, headers, tokens = ANSWERS[shape]

    response = read_embeddings(NativeResponse(document=document, headers=headers), TWO)

    assert response.embeddings == ((1.0, 0.0), (0.0, 1.0))
    assert response.usage.input_tokens == tokens
    assert response.model == document.get("model", "m")


@pytest.mark.parametrize("shape", SINGLE)
def test_the_vector_of_a_single_text_is_read(shape: str) -> None:
    response = read_embeddings(NativeResponse(document=SINGLE[shape]), ONE)

    assert (response.embedding, response.usage.input_tokens) == ((1.0, 0.0), 5)


@pytest.mark.parametrize(
    ("options", "vector"),
    [
        ({}, (127.0, -128.0, 0.0, -1.0)),
        ({"encoding_format": "base64_int8"}, (127.0, -128.0, 0.0, -1.0)),
        ({"encoding_format": "base64_binary"}, (127.0, 128.0, 0.0, 255.0)),
    ],
)
def test_vectors_of_perplexity_are_bytes(options: JsonObject, vector: tuple[float, ...]) -> None:
    """Signed ones; with a bit for each dimension, those that hold the bits."""
    model, _, _ = SENT["perplexity"]
    request = EmbeddingRequest(model=model, inputs="a", provider_options={"perplexity": options})
    packed = base64.b64encode(bytes([127, 128, 0, 255])).decode()
    document: Any = {"data": [{"index": 0, "embedding": packed}], "usage": {"prompt_tokens": 5}}

    protocol = embedding_protocol(route_of(model), model.id)
    response = protocol.read(NativeResponse(document=document), request)

    assert (response.embedding, response.usage.input_tokens) == (vector, 5)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        ({"prompt_tokens": 5, "cost": 0.25}, 0.25),
        ({"prompt_tokens": 5, "cost": {"currency": "USD", "total_cost": 0.5}}, 0.5),
        ({"prompt_tokens": 5}, None),
    ],
    ids=["openrouter", "perplexity", "unstated"],
)
def test_a_cost_that_the_provider_states_is_read(usage: Any, dollars: float | None) -> None:
    document: Any = {"data": [{"index": 0, "embedding": [1.0]}], "usage": usage}

    response = read_embeddings(NativeResponse(document=document), ONE)

    assert response.usage.cost_usd == dollars


def test_a_text_that_the_provider_cut_is_reported() -> None:
    cut: Any = {
        "embeddings": {"values": [1.0], "statistics": {"truncated": True, "token_count": 2}}
    }
    whole: Any = {"embeddings": {"values": [1.0], "statistics": {"truncated": False}}}

    response = read_embeddings(NativeResponse(document={"predictions": [whole, cut]}), TWO)

    assert [(n.code, n.path) for n in response.diagnostics] == [("input-truncated", "inputs[1]")]
    assert response.usage.input_tokens is None

    singles: tuple[Any, ...] = (
        {"embedding": {"values": [1.0]}, "truncated": True},
        {"embeddings": [{"embedding": [1.0], "truncatedCharLength": 7}]},
    )
    for single in singles:
        response = read_embeddings(NativeResponse(document=single), ONE)

        assert [note.path for note in response.diagnostics] == ["inputs[0]"]


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"data": []},
        {"data": [{"embedding": [1.0]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": ["x"]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": "not base64!"}]},
        {"data": [{"embedding": [1.0]}, {"embedding": []}]},
    ],
)
def test_a_response_without_a_vector_for_each_text_is_an_error(document: Any) -> None:
    with pytest.raises(StreamError, match="vectors for 2 texts"):
        read_embeddings(NativeResponse(document=document), TWO)


@given(json_values(), st.sampled_from(["data", "embeddings", "predictions", "embedding", "usage"]))
def test_reading_vectors_fails_in_no_other_way(value: Any, name: str) -> None:
    for document in (value, {name: value}, {"data": [{"embedding": [1.0]}] * 2, name: value}):
        try:
            response = read_embeddings(NativeResponse(document=document), TWO)
        except StreamError:
            continue
        assert len(response.embeddings) == 2


# -- batches


@given(
    st.lists(st.text(min_size=1, max_size=300), min_size=1, max_size=60),
    st.integers(1, 9),
    st.one_of(st.none(), st.integers(1, 200)),
)
def test_batches_keep_the_order_and_the_limits(
    texts: list[str], most: int, tokens: int | None
) -> None:
    protocol = EmbeddingProtocol(
        id="p", build=_unused, read=_unused, max_inputs=most, max_tokens=tokens
    )

    found = batches(EmbeddingRequest(model="m", inputs=tuple(texts), dimensions=3), protocol)

    assert [text for batch in found for text in batch.inputs] == texts
    assert all(1 <= len(batch.inputs) <= most for batch in found)
    assert all(batch.dimensions == 3 for batch in found)
    if tokens is not None:
        assert all(sum(map(len, b.inputs)) <= 3 * tokens or len(b.inputs) == 1 for b in found)


def _unused(*_: object) -> Any:
    raise AssertionError


def test_joined_responses_add_usage_cost_and_places_up() -> None:
    def answer(n: int, cost: float | None, *paths: str) -> EmbeddingResponse:
        document: Any = {
            "predictions": [
                {"embeddings": {"values": [n], "statistics": {"truncated": p in paths}}}
                for p in ("0", "1")
            ]
        }
        read = read_embeddings(NativeResponse(document=document), TWO)
        usage = Usage.make(input_tokens=n, output_tokens=0)
        return EmbeddingResponse(
            embeddings=read.embeddings,
            provider="p",
            model="m",
            usage=usage,
            cost=cost,
            diagnostics=read.diagnostics,
        )

    whole = joined([answer(1, 0.5), answer(2, 0.25, "1")])

    assert whole.embeddings == ((1.0,), (1.0,), (2.0,), (2.0,))
    assert (whole.usage.input_tokens, whole.cost) == (3, 0.75)
    assert [note.path for note in whole.diagnostics] == ["inputs[3]"]
    assert joined([answer(1, 0.5), answer(2, None)]).cost is None


# -- held against the official SDKs


def recorded(answer: Any, sent: list[httpx.Request]) -> Callable[[httpx.Request], httpx.Response]:
    def answered(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json=answer)

    return answered


@pytest.mark.parametrize("shape", ["openai", "base64"])
def test_the_openai_package_sends_and_reads_the_same(shape: str) -> None:
    answer, _, _ = ANSWERS[shape]
    answer = {**answer, "data": sorted(answer["data"], key=lambda one: one["index"])}
    sent: list[httpx.Request] = []
    transport = httpx.MockTransport(recorded(answer, sent))
    http: Any = httpx.Client(transport=transport)
    theirs = openai.OpenAI(api_key="k", http_client=http)

    read = theirs.embeddings.create(model="m", input=["a", "b"], dimensions=8)
    ours = read_embeddings(NativeResponse(document=answer), TWO)

    model, url, body = SENT["openai"]
    assert str(sent[0].url) == url == prepared(model).http.url
    assert body.items() <= json.loads(sent[0].content).items()
    assert tuple(tuple(one.embedding) for one in read.data) == ours.embeddings
    assert read.usage.total_tokens == ours.usage.total_tokens


@pytest.mark.parametrize(
    ("name", "shape", "model", "texts"),
    [
        ("google", "google", "m", ["a", "b"]),
        ("vertex", "vertex", "text-embedding-005", ["a", "b"]),
        ("vertex, gemini", "vertex, gemini", "gemini-embedding-2", ["a"]),
    ],
)
def test_the_google_package_sends_and_reads_the_same(
    name: str, shape: str, model: str, texts: Any
) -> None:
    answer = SINGLE[shape] if shape in SINGLE else ANSWERS[shape][0]
    sent: list[httpx.Request] = []
    http = httpx.Client(transport=httpx.MockTransport(recorded(answer, sent)))
    options = google_types.HttpOptions(httpx_client=http)
    vertex = name != "google"
    theirs = genai.Client(api_key="k", http_options=options, vertexai=vertex)
    config = google_types.EmbedContentConfig(task_type="RETRIEVAL_QUERY", output_dimensionality=8)

    read = theirs.models.embed_content(model=model, contents=texts, config=config)
    ours = read_embeddings(NativeResponse(document=answer), TWO if len(texts) > 1 else ONE)

    _, url, body = SENT[name]
    assert sent[0].url.path.rpartition("/")[2] == url.rpartition("/")[2]
    assert without_roles(json.loads(sent[0].content)) == without_roles(body)
    assert tuple(tuple(one.values or ()) for one in read.embeddings or ()) == ours.embeddings


def without_roles(body: Any) -> Any:
    """Return *body* without the roles and names that the package adds and the API ignores."""
    if isinstance(body, dict):
        return {k: without_roles(v) for k, v in body.items() if k not in ("role", "parameters")} | (
            {"parameters": {k: v for k, v in body["parameters"].items() if k != "autoTruncate"}}
            if "parameters" in body
            else {}
        )
    return [without_roles(item) for item in body] if isinstance(body, list) else body
