"""Embeddings, asked for by OpenAI's and Google's clients: vectors, formats, batches, errors."""

import json
import struct
import time
from typing import Any

import httpx
import openai
import pytest
from google import genai
from google.genai import types as genai_types
from hypothesis import given

from llmcore import Model, OpenAICompatible
from llmcore.fronts.errors import FrontError
from llmcore.fronts.openai_embeddings import read_embeddings_request, write_embeddings
from llmcore.protocols.embeddings import read_embeddings
from llmcore.protocols.protocol import NativeResponse
from llmcore.routes.retrieval import Cohere
from llmcore.schema.embeddings import EmbeddingRequest
from tests.support.servers.front_gateways import MODEL, gateway
from tests.support.servers.loopback import Answer, Received, serve
from tests.support.servers.pooled_gateway import BOTH, SHARED, Scene, fails, in_turn, pooled_gateway
from tests.support.strategies.requests import json_values

JSON = {"content-type": "application/json"}


def cohere(received: Received) -> Answer:
    """Answer with each text's number, 1 token each; refuse a text that is `bad`."""
    texts = json.loads(received.body)["texts"]
    if "bad" in texts:
        data = json.dumps({"message": "texts are bad"}).encode()
        return Answer([data], 400, JSON, len(data))
    document = {
        "embeddings": {"float": [[float(text), 0.5] for text in texts]},
        "meta": {"billed_units": {"input_tokens": len(texts)}},
    }
    data = json.dumps(document).encode()
    return Answer([data], 200, JSON, len(data))


@pytest.mark.parametrize("encoding", ["float", "base64", None])
def test_openais_client_gets_vectors_of_another_providers_model(encoding: Any) -> None:
    """In the format that it asks for, which it does by itself; over more requests upstream."""
    texts = [str(number) for number in range(100)]
    named = {} if encoding is None else {"encoding_format": encoding}
    with serve(cohere) as server:
        model = Cohere.configure(api_key="k", base_url=server.url).model("embed-v4.0")
        with (
            gateway(model) as url,
            openai.OpenAI(base_url=f"{url}/v1", api_key="sk-any", max_retries=0) as client,
        ):
            answer = client.embeddings.create(model=MODEL, input=texts, dimensions=2, **named)

    assert [one.index for one in answer.data] == list(range(100))
    assert (answer.model, answer.usage.total_tokens) == (MODEL, 100)
    if encoding == "base64":
        assert isinstance(answer.data[7].embedding, str)
    else:
        assert answer.data[7].embedding == [7.0, 0.5]
    assert sorted(len(json.loads(one.body)["texts"]) for one in server.received) == [4, 96]


@pytest.mark.parametrize("vertexai", [False, True])
@pytest.mark.parametrize("model", [MODEL, "gemini-embedding-2"])
def test_googles_client_gets_vectors_of_another_providers_model(
    model: str, *, vertexai: bool
) -> None:
    """By each of the methods that it sends: to the Gemini API, and two to Vertex AI."""
    with serve(cohere) as server:
        upstream = Cohere.configure(api_key="k", base_url=server.url).model("embed-v4.0")
        with gateway(upstream) as url:
            options = genai_types.HttpOptions(base_url=url)
            with genai.Client(vertexai=vertexai, api_key="k", http_options=options) as client:
                answer = client.models.embed_content(
                    model=model, contents="7", config={"task_type": "RETRIEVAL_QUERY"}
                )

    assert [one.values for one in answer.embeddings or ()] == [[7.0, 0.5]]
    (sent,) = server.received
    assert json.loads(sent.body)["input_type"] == "search_query"


def test_an_invalid_request_of_googles_client_is_an_error_in_its_form() -> None:
    with serve(cohere) as server:
        model = Cohere.configure(api_key="k", base_url=server.url).model("embed-v4.0")
        with gateway(model) as url:
            answers = [
                httpx.post(f"{url}/v1beta/models/{MODEL}:embedContent", json={"content": content})
                for content in ({}, {"parts": [{"text": "bad"}]})
            ]

    for answer, said in zip(answers, ("inputs[0] is empty", "texts are bad"), strict=True):
        assert answer.status_code == 400
        assert answer.json()["error"]["status"] == "INVALID_ARGUMENT"
        assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input": []}, "inputs is empty"),
        ({}, "inputs is empty"),
        ({"input": ["a", ""]}, r"inputs[1] is empty"),
        ({"input": [1, 2]}, "check_embedding_ctx_length=False"),
        ({"input": [[1, 2]]}, "check_embedding_ctx_length=False"),
        ({"input": {"a": 1}}, "input"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
        ({"input": "a", "dimensions": "8"}, "dimensions"),
        ({"input": ["a"] * 2049}, "the most is 2048"),
        ({"input": "bad"}, "texts are bad"),
    ],
)
def test_an_invalid_request_is_an_error_in_openais_form(fields: Any, said: str) -> None:
    with serve(cohere) as server:
        model = Cohere.configure(api_key="k", base_url=server.url).model("embed-v4.0")
        with gateway(model) as url:
            answer = httpx.post(f"{url}/v1/embeddings", json={"model": MODEL, **fields})

    assert answer.status_code == 400
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert said in error["message"]


def test_an_upstreams_refusal_has_its_status_as_the_code_for_openrouters_client() -> None:
    """Whose SDK reads no other code."""
    agent = {"user-agent": "speakeasy-sdk/python 1.3.84 2.914.0 1.0.0 openrouter"}
    with serve(cohere) as server:
        model = Cohere.configure(api_key="k", base_url=server.url).model("embed-v4.0")
        with gateway(model) as url:
            asked = {"model": MODEL, "input": "bad"}
            answer = httpx.post(f"{url}/v1/embeddings", json=asked, headers=agent)

    assert answer.status_code == answer.json()["error"]["code"] == 400


def test_what_an_upstream_lacks_is_in_the_header() -> None:
    with serve(cohere) as server:
        model = Cohere.configure(api_key="k", base_url=server.url).model("embed-v4.0")
        with gateway(model) as url:
            asked = {"model": MODEL, "input": "1", "user": "u-1"}
            answer = httpx.post(f"{url}/v1/embeddings", json=asked)

    assert answer.status_code == 200
    assert "dropped unsupported-parameter user" in answer.headers["x-openbridge-diagnostics"]


# -- over several upstreams


def embeds(received: Received) -> Answer:
    """Answer with a vector for each text, 3 tokens together."""
    texts = json.loads(received.body)["input"]
    vectors = [{"index": n, "embedding": [0.5]} for n in range(len(texts))]
    data = json.dumps({"data": vectors, "usage": {"prompt_tokens": 3}}).encode()
    return Answer([data], 200, JSON, len(data))


def embedded(scene: Scene, text: str = "x", model: str = "m") -> httpx.Response:
    body = {"model": model, "input": [text]}
    return httpx.post(f"{scene.url}/embeddings", json=body, timeout=30)


@pytest.mark.parametrize("status", [401, 404, 429, 503])
def test_the_next_target_embeds_after_a_failure_and_the_first_one_cools_down(status: int) -> None:
    with pooled_gateway(BOTH, a=fails(status), b=embeds) as scene:
        answers = [embedded(scene) for _ in range(2)]
        health = scene.root("/healthz?deep=1").json()["upstreams"]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].headers["x-openbridge-upstream"] == "b/up-b"
    assert answers[0].headers["x-openbridge-failed"].startswith("a/up-a ")
    assert scene.counts == {"a": 1, "b": 2}
    assert health["a" if status == 401 else "a/up-a"]["state"] == "cooling"
    assert [json.loads(one.body)["model"] for one in scene.upstreams["b"].received] == ["up-b"] * 2


def test_vectors_from_a_target_end_its_record_of_failures() -> None:
    settings = "[routing]\ncool_down_seconds = 0.1\n"
    with pooled_gateway(BOTH, settings=settings, a=in_turn(fails(503), embeds), b=embeds) as scene:
        embedded(scene)
        failed = scene.root("/healthz?deep=1").json()["upstreams"]
        time.sleep(0.2)
        again = embedded(scene)
        health = scene.root("/healthz?deep=1").json()["upstreams"]

    assert failed["a/up-a"]["failures"] == 1
    assert again.headers["x-openbridge-upstream"] == "a/up-a"
    assert "a/up-a" not in health


def test_an_invalid_embedding_request_is_not_sent_to_another_target() -> None:
    with pooled_gateway(BOTH, a=fails(400, "bad field"), b=embeds) as scene:
        answer = embedded(scene)

    assert (answer.status_code, "bad field" in answer.text) == (400, True)
    assert scene.counts == {"a": 1, "b": 0}


def test_embeddings_count_against_the_limits_of_an_upstream() -> None:
    own = {"a": "key = 'k'\nrequests_per_minute = 2", "b": "key = 'k'\nweight = 0.000001"}
    with pooled_gateway(SHARED, own=own, a=embeds, b=embeds) as scene:
        for number in range(5):
            assert embedded(scene, f"text {number}").status_code == 200

    assert scene.counts == {"a": 2, "b": 3}


def test_embeddings_have_the_time_limits_of_their_upstream_and_of_all_tries() -> None:
    silent = lambda _: Answer([5.0], 200, JSON)  # noqa: E731
    config = '[models.m]\ntargets = ["a/up"]\n'
    own = {"a": "key = 'k'\nfirst_event_seconds = 0.1"}
    with pooled_gateway(config, own=own, a=silent) as scene:
        of_upstream = embedded(scene)
    settings = "[limits]\ntotal_seconds = 0.3\n"
    with pooled_gateway(config, settings=settings, a=fails(503)) as scene:
        of_all = embedded(scene)

    assert of_upstream.status_code == 504
    assert "0.1" in of_upstream.text
    assert of_all.status_code == 504
    assert "0.3" in of_all.text
    assert scene.counts["a"] >= 1


# -- the front alone


SOME = OpenAICompatible.configure(name="acme", base_url="https://acme/v1").model("m")


@given(json_values())
def test_any_body_is_read_or_is_a_front_error(value: Any) -> None:
    for body in (
        {"input": value},
        {"input": "a", "dimensions": value},
        {"input": ["a"], "encoding_format": value, "user": value},
    ):
        try:
            read = read_embeddings_request(body, SOME)
        except FrontError:
            continue
        assert read.request.inputs


def test_what_is_written_is_read_as_the_same_vectors() -> None:
    """By our own reader, in both formats; base64 has the precision of 32 bits."""
    model = Model("m", "p")
    asked = EmbeddingRequest(model=model, inputs=("a", "b"))
    vectors = ((0.1, -2.0), (3.5, 1e-7))
    data: Any = [{"index": n, "embedding": list(v)} for n, v in enumerate(vectors)]
    response = read_embeddings(NativeResponse(document={"data": data}), asked)

    for as_base64 in (False, True):
        body = write_embeddings(response, "m", as_base64=as_base64)
        again = read_embeddings(NativeResponse(document=body), asked)
        expected = tuple(map(rounded, vectors)) if as_base64 else vectors
        assert again.embeddings == expected


def rounded(vector: tuple[float, ...]) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector)}f", struct.pack(f"<{len(vector)}f", *vector))
