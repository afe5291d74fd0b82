"""Rankings: native bodies, and responses whatever the server sends."""

import json
from typing import Any

import pytest
from hypothesis import given

from llmcore import Model
from llmcore.protocols.embeddings import read_ranking
from llmcore.protocols.protocol import NativeResponse
from llmcore.routes.auth import AuthContext
from llmcore.routes.chat_servers import VLLM, LlamaCpp
from llmcore.routes.retrieval import Cohere, Jina, Voyage, rerank_route
from llmcore.routes.route import route_of
from llmcore.schema.embeddings import RerankRequest
from llmcore.schema.errors import InvalidRequestError, StreamError
from tests.support.strategies.requests import json_values

KEY: Any = {"api_key": "k"}
RANKED: dict[str, tuple[Model, str, str]] = {
    "cohere": (Cohere.configure(**KEY).model("m"), "https://api.cohere.com/v2/rerank", "top_n"),
    "voyage": (Voyage.configure(**KEY).model("m"), "https://api.voyageai.com/v1/rerank", "top_k"),
    "jina": (Jina.configure(**KEY).model("m"), "https://api.jina.ai/v1/rerank", "top_n"),
    "vllm": (VLLM.configure().model("m"), "http://localhost:8000/v1/rerank", "top_n"),
    "llamacpp": (LlamaCpp.configure().model("m"), "http://localhost:8080/v1/rerank", "top_n"),
}
RERANK = RerankRequest(model=Model("m", "p"), query="q", documents=("a", "b", "c"), top_n=2)


@pytest.mark.parametrize("provider", RANKED)
def test_a_ranking_is_asked_for_as_the_provider_documents(provider: str) -> None:
    model, url, top = RANKED[provider]
    asked = RerankRequest(model=model, query="q", documents=("a", "b"), top_n=1)

    call = rerank_route(route_of(model), model.id).prepare(asked, context=AuthContext()).unwrap()

    assert (call.http.method, call.http.url) == ("POST", url)
    assert json.loads(call.http.body) == {
        "model": "m",
        "query": "q",
        "documents": ["a", "b"],
        top: 1,
    }


@pytest.mark.parametrize("name", ["results", "data"])
def test_a_ranking_is_sorted_and_cut_whatever_the_server_does(name: str) -> None:
    scores = [{"index": n, "relevance_score": s} for n, s in ((0, 0.1), (1, -4), (2, 0.9))]
    document: Any = {name: scores, "usage": {"total_tokens": 7, "cost": 0.25}}

    response = read_ranking(NativeResponse(document=document), RERANK)

    assert [(r.index, r.score, r.document) for r in response.results] == [
        (2, 0.9, "c"),
        (0, 0.1, "a"),
    ]
    assert response.documents == ["c", "a"]
    assert (response.usage.input_tokens, response.usage.cost_usd) == (7, 0.25)


def test_a_query_that_is_not_a_text_is_an_error() -> None:
    query: Any = 3

    with pytest.raises(InvalidRequestError, match="query must be text, not an int"):
        RerankRequest(model=Model("m", "p"), query=query, documents=("a",))


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [{"index": 3, "relevance_score": 1}],
        [{"index": -1, "relevance_score": 1}],
        [{"index": 0}],
        [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 2}],
    ],
)
def test_an_invalid_ranking_is_an_error(entries: Any) -> None:
    with pytest.raises(StreamError):
        read_ranking(NativeResponse(document={"results": entries}), RERANK)


@given(json_values())
def test_reading_a_ranking_fails_in_no_other_way(value: Any) -> None:
    for document in (value, {"results": value}, {"data": [value]}):
        try:
            response = read_ranking(NativeResponse(document=document), RERANK)
        except StreamError:
            continue
        assert 1 <= len(response.results) <= 2
