"""The gateway as clients of all four APIs meet it: paths, keys, errors, lists, counts, ends."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai
from google.genai import types as genai_types

from llmcore.bridge.apis.registry import SERVED
from llmcore.bridge.configuration.settings import Limits
from llmcore.bridge.model_map import model_map_from
from tests.support.servers.front_gateways import ASKERS, ERRORS, MODEL, gateway, served, service_for
from tests.support.servers.loopback import DONE, Answer, Received, chat_chunk, serve
from tests.support.waiting import wait_until
from tests.support.wire.matrix import COLUMNS, COMPATIBLE, Column, Refused, Said, playing

KEY = "sk-client-1"
TEXT = Said(text="It rains.")
ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-responses": ("/v1/responses", {"model": MODEL, "input": "Hi", "store": False}),
    "openai-chat": (
        "/v1/chat/completions",
        {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "anthropic-messages": (
        "/v1/messages",
        {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "gemini": (
        f"/v1beta/models/{MODEL}:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    ),
}
"""The path and the body of a request, by front."""
COUNTS: dict[str, str] = {
    "openai-responses": "/v1/responses/input_tokens",
    "anthropic-messages": "/v1/messages/count_tokens",
    "gemini": f"/v1beta/models/{MODEL}:countTokens",
}
FIELDS = {
    "openai-responses": {"message", "type", "param", "code"},
    "openai-chat": {"message", "type", "param", "code"},
    "anthropic-messages": {"message", "type"},
    "gemini": {"message", "code", "status"},
}
"""The fields that errors of an API always have."""

fronts = pytest.mark.parametrize("front", list(ASKS))
counting = pytest.mark.parametrize("front", list(COUNTS))
columns = pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.id)


def is_error_of(front: str, answer: httpx.Response) -> bool:
    """Whether *answer* is an error in the form of the front's API."""
    error = answer.json()["error"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["request-id"].startswith("req_")
    return set(error) >= FIELDS[front] and ("status" in error) == (front == "gemini")


# -- keys


@fronts
@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": f"Bearer {KEY}"}, ""),
        ({"x-api-key": KEY}, ""),
        ({"x-goog-api-key": KEY}, ""),
        ({}, f"?key={KEY}"),
        ({"authorization": "Bearer placeholder", "x-api-key": KEY}, ""),
    ],
    ids=["bearer", "x-api-key", "x-goog-api-key", "query", "one of two"],
)
def test_a_key_is_taken_wherever_clients_put_it(
    front: str, headers: dict[str, str], query: str, caplog: pytest.LogCaptureFixture
) -> None:
    """On every front; it is neither logged nor sent to the upstream."""
    path, body = ASKS[front]
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model, client_api_keys=(KEY,)) as url:
        answer = httpx.post(url + path + query, json=body, headers=headers)

    assert answer.status_code == 200
    assert KEY not in caplog.text
    for received in scene.server.received:
        assert KEY not in f"{received.path} {received.headers} {received.body!r}"


@fronts
def test_a_wrong_key_is_a_401_in_the_form_of_the_api(front: str) -> None:
    """Nothing is sent upstream."""
    path, body = ASKS[front]
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model, client_api_keys=(KEY,)) as url:
        answer = httpx.post(url + path, json=body, headers={"x-api-key": "sk-wrong"})

    assert answer.status_code == 401
    assert is_error_of(front, answer)
    assert scene.server.received == []


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"x-api-key": "sk-wrong"}, {}, 401),
        ({"x-api-key": KEY}, {}, 400),
        ({"x-api-key": KEY}, ASKS["gemini"][1], 429),
    ],
    ids=["wrong key", "invalid request", "upstream"],
)
def test_errors_of_a_gemini_stream_that_is_one_array_are_in_a_list(
    headers: dict[str, str], body: dict[str, Any], status: int
) -> None:
    """As on Google's servers: `llm-gemini` reads the elements of the array."""
    path = f"/v1beta/models/{MODEL}:streamGenerateContent"
    with (
        playing(COMPATIBLE, Refused(status=429)) as scene,
        gateway(scene.model, client_api_keys=(KEY,)) as url,
    ):
        answer = httpx.post(url + path, json=body, headers=headers)

    [element] = answer.json()
    assert (answer.status_code, element["error"]["code"]) == (status, status)


# -- paths


@pytest.mark.parametrize(
    ("path", "front"),
    [
        ("/chat/completions", "openai-chat"),
        ("/openai/v1/chat/completions", "openai-chat"),
        ("/openai/v1/responses", "openai-responses"),
        ("//v1//chat/completions//", "openai-chat"),
        ("/v1/chat/completions/", "openai-chat"),
        ("/openai/deployments/a%2Fb/chat/completions?api-version=2024-10-21", "openai-chat"),
        ("/openai/responses?api-version=2025-04-01-preview", "openai-responses"),
        ("/responses", "openai-responses"),
        ("/messages", "anthropic-messages"),
        ("/v1/messages?beta=true", "anthropic-messages"),
        (f"/v1/models/{MODEL}:generateContent", "gemini"),
        (f"/v1alpha/models/{MODEL}:generateContent", "gemini"),
        (f"/v1beta/models/{MODEL}%3AgenerateContent", "gemini"),
        ("/v1beta/models/vendor/some-model:generateContent", "gemini"),
        (f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse", "gemini"),
        (f"/v1beta/models/{MODEL}:streamGenerateContent", "gemini"),
        (f"/v1beta1/publishers/google/models/{MODEL}:generateContent", "gemini"),
        (
            f"/v1beta1/projects/p/locations/l/publishers/google/models/{MODEL}:generateContent",
            "gemini",
        ),
    ],
)
def test_customary_paths_are_served(path: str, front: str) -> None:
    """With and without a version, with a slash in the name or at the end."""
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model) as url:
        answer = httpx.post(url + path, json=ASKS[front][1])

    assert answer.status_code == 200, answer.text
    assert "It ra" in answer.text


@pytest.mark.parametrize(
    ("path", "front", "added"),
    [
        ("/v1/v1/chat/completions", "openai-chat", "/v1"),
        ("/v1/v1/messages", "anthropic-messages", "/v1"),
        (f"/v1/v1beta/models/{MODEL}:generateContent", "gemini", "/v1beta"),
    ],
)
def test_a_version_that_is_there_twice_is_explained(path: str, front: str, added: str) -> None:
    """The 404 names the part of the base URL to leave out."""
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model) as url:
        answer = httpx.post(url + path, json=ASKS[front][1])

    assert answer.status_code == 404
    assert is_error_of(front, answer)
    assert f"the client adds {added} itself" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "front"),
    [
        ("GET", "/v1/chat/completions", {}, 405, "openai-chat"),
        ("POST", "/v1/audio/speech", {}, 404, "openai-chat"),
        ("GET", "/v1/nothing", {"anthropic-version": "2023-06-01"}, 404, "anthropic-messages"),
        ("POST", "/v1/messages/batches", {}, 404, "anthropic-messages"),
        ("POST", "/v1beta/models/m:generateAnswer", {}, 501, "gemini"),
        ("POST", "/v1beta/models/m:embedContent", {}, 400, "gemini"),
        ("POST", "/v1beta/cachedContents", {}, 404, "gemini"),
        ("GET", "/other", {"x-goog-api-key": "k"}, 404, "gemini"),
    ],
)
def test_unknown_paths_have_an_error_in_the_form_of_the_asker(
    method: str, path: str, headers: dict[str, str], status: int, front: str
) -> None:
    """Guessed from the path and the headers; never a web page."""
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model) as url:
        answer = httpx.request(method, url + path, headers=headers, json={})

    assert answer.status_code == status
    assert is_error_of(front, answer)


@pytest.mark.parametrize(
    ("method", "path", "headers", "words"),
    [
        ("POST", "/v1/conversations", {}, "previous_response_id"),
        ("POST", "/v1/completions", {}, "send messages to POST /v1/chat/completions"),
        ("GET", "/v1/files", {"anthropic-version": "2023-06-01"}, "POST /v1/messages,"),
        ("POST", "/v1/messages/batches", {}, "send each request by itself"),
        ("POST", "/v1beta/files", {}, "/v1beta/models/{model}:generateContent"),
        ("GET", "/v1/chat/completions", {}, "does not take GET; it takes POST"),
        ("GET", "/v1/responses", {}, "/v1/responses does not take GET; it takes POST"),
        ("OPTIONS", "/v1/models", {}, "does not take OPTIONS; it takes GET"),
    ],
)
def test_the_error_of_a_path_says_what_to_send(
    method: str, path: str, headers: dict[str, str], words: str
) -> None:
    """A 404 names the paths of the client's API, a 405 the methods, as its header does."""
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model) as url:
        answer = httpx.request(method, url + path, headers=headers)

    assert answer.status_code in (404, 405)
    assert words in answer.json()["error"]["message"]
    assert ("allow" in answer.headers) == (answer.status_code == 405)


def test_the_error_of_a_method_of_gemini_names_those_that_are_served() -> None:
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model) as url:
        answer = httpx.post(f"{url}/v1beta/models/m:predictLongRunning", json={})

    assert answer.status_code == 501
    assert "countTokens, embedContent" in answer.json()["error"]["message"]


@pytest.mark.parametrize("api_id", list(SERVED))
def test_the_paths_that_errors_name_are_served(api_id: str) -> None:
    named = re.findall(r"(GET|POST) (/[^\s,]+)", SERVED[api_id])
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model) as url:
        statuses = [
            httpx.request(method, url + path.replace("{model}", MODEL), json={}).status_code
            for method, path in named
        ]

    assert len(named) > 1
    assert not {404, 405} & set(statuses)


@fronts
@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b'{"a": "' + b"x" * 3000 + b'"}', "application/json", 413),
    ],
    ids=["broken", "a list", "a text", "too large"],
)
def test_bodies_that_cannot_be_read_have_an_error_in_the_form_of_the_api(
    front: str, content: bytes, kind: str, status: int
) -> None:
    """JSON syntax, content type and size."""
    limits = Limits(max_body_bytes=2000)
    headers = {"content-type": kind}
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model, limits=limits) as url:
        answer = httpx.post(url + ASKS[front][0], content=content, headers=headers)

    assert answer.status_code == status
    assert is_error_of(front, answer)


@pytest.mark.parametrize(("method", "path"), [("HEAD", "/"), ("GET", "/"), ("GET", "/api/hello")])
def test_clients_that_only_connect_need_no_key(method: str, path: str) -> None:
    """Some warm up a connection before they know their key."""
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model, client_api_keys=(KEY,)) as url:
        assert httpx.request(method, url + path).status_code == 200


# -- lists of models


def test_lists_of_models_have_the_form_of_the_asker() -> None:
    """The same path for two of them: a header tells them apart."""
    names = {"fast": "up/one", "slow": "up/two", "claude-via-fast": "up/one"}
    model_map = model_map_from({"models": names, "otherwise": "refuse"}, "up")
    with playing(COMPATIBLE, TEXT) as scene, served(service_for(scene.model, model_map)) as url:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="k") as client:
            by_openai = [one.id for one in client.models.list()]
            assert client.models.retrieve("fast").id == "fast"
        with anthropic.Anthropic(base_url=url, api_key="k") as client_:
            by_anthropic = [one.id for one in client_.models.list(limit=2)]
        options = genai_types.HttpOptions(base_url=url)
        with genai.Client(api_key="k", http_options=options) as google:
            by_google = [one.name for one in google.models.list(config={"page_size": 2})]
        missing = httpx.get(f"{url}/v1beta/models/none")

    assert by_openai == sorted(names, key=list(names).index)
    assert by_anthropic == list(names)
    assert by_google == [f"models/{name}" for name in names]
    assert missing.status_code == 404
    assert is_error_of("gemini", missing)


def test_the_model_of_all_other_names_is_listed() -> None:
    """Clients show their users what the list has: an empty one leaves nothing to choose."""
    model_map = model_map_from({"otherwise": "up/org/large"}, "up")
    google = {"x-goog-api-key": "any"}
    with (
        playing(COMPATIBLE, TEXT) as scene,
        served(service_for(scene.model, model_map)) as url,
    ):
        openai_list = httpx.get(f"{url}/v1/models").json()
        gemini_list = httpx.get(f"{url}/v1beta/models", headers=google).json()
        one = httpx.get(f"{url}/v1/models/org/large").json()

    assert [model["id"] for model in openai_list["data"]] == ["org/large"]
    assert [model["name"] for model in gemini_list["models"]] == ["models/org/large"]
    assert one["id"] == "org/large"


def test_vertex_ai_lists_models_in_its_own_form() -> None:
    """Google's client in that mode reads `publisherModels`, page by page."""
    names = {"fast": "up/one", "slow": "up/two", "vendor/far": "up/one"}
    model_map = model_map_from({"models": names, "otherwise": "refuse"}, "up")
    with playing(COMPATIBLE, TEXT) as scene, served(service_for(scene.model, model_map)) as url:
        options = genai_types.HttpOptions(base_url=url)
        with genai.Client(vertexai=True, api_key="k", http_options=options) as google:
            listed = [one.name for one in google.models.list(config={"page_size": 2})]
            one = google.models.get(model="publishers/google/models/vendor/far")
            other = google.models.get(model="acme/fast")
        missing = httpx.get(f"{url}/v1/projects/p/locations/l/publishers/google/models/none")

    assert listed == [f"publishers/google/models/{name}" for name in names]
    assert one.name == "publishers/google/models/vendor/far"
    assert other.name == "publishers/google/models/fast"
    assert missing.status_code == 404


@pytest.mark.parametrize("deployment", [None, "my-model"])
def test_azures_client_names_the_model_by_its_deployment(deployment: str | None) -> None:
    """In the path, which decides also where the body names the model behind the deployment."""
    with (
        playing(COMPATIBLE, TEXT) as scene,
        gateway(scene.model, client_api_keys=(KEY,), relay=False) as url,
        openai.AzureOpenAI(
            azure_endpoint=url,
            azure_deployment=deployment,
            api_version="2024-10-21",
            api_key=KEY,
            max_retries=0,
        ) as client,
    ):
        asked: Any = {**ASKS["openai-chat"][1], "model": "gpt-4o" if deployment else MODEL}
        answer = client.chat.completions.create(**asked)
        listed = client.models.list()
        response = client.responses.create(model=MODEL, input="Hi", store=False)

    assert answer.choices[0].message.content == response.output_text == "It rains."
    assert answer.model == (deployment or MODEL)
    assert listed.object == "list"


# -- counts


@columns
@counting
def test_every_upstream_has_a_count(front: str, column: Column) -> None:
    """Above zero, more for a longer text, and marked where it is an estimate."""

    def handler(received: Received) -> Answer:
        services = ("count_tokens", "countTokens", "count-tokens", "input_tok")
        found = any(word in received.path for word in services) and column.id != "compatible"
        count = {"input_tokens": 33, "totalTokens": 33, "inputTokens": 33}
        data = json.dumps(count if found else {"error": {"message": "no"}}).encode()
        kind = {"content-type": "application/json"}
        return Answer([data], 200 if found else 404, kind, len(data))

    path, body = COUNTS[front], ASKS[front][1]
    with serve(handler) as server, gateway(column.model_at(server.url)) as url:
        answer = httpx.post(url + path, json=body)
    (count,) = [value for value in answer.json().values() if isinstance(value, int) and value]

    assert answer.status_code == 200
    estimated = "estimated-count" in answer.headers.get("x-openbridge-diagnostics", "")
    assert estimated == (column.id == "compatible")
    assert (count == 33) != estimated


@counting
def test_counts_of_one_body_cost_one_count_and_no_rate(front: str) -> None:
    """Fifty at once, as editors send them, under a limit of ten requests a minute."""
    column = next(one for one in COLUMNS if one.id == "anthropic")

    def handler(_received: Received) -> Answer:
        data = b'{"input_tokens": 33}'
        return Answer([data], headers={"content-type": "application/json"}, length=len(data))

    path, body = COUNTS[front], ASKS[front][1]
    limits = Limits(rate_per_minute=10)
    with (
        serve(handler) as server,
        gateway(column.model_at(server.url), limits=limits) as url,
        httpx.Client() as client,
        ThreadPoolExecutor(10) as threads,
    ):
        answers = list(threads.map(lambda _: client.post(url + path, json=body), range(50)))

    assert {answer.status_code for answer in answers} == {200}
    assert len(server.received) == 1


# -- streams


@fronts
@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
def test_a_silent_stream_is_kept_alive(front: str, relay: bool) -> None:
    """Each vendor's client reads over the heartbeats, before the response and within it."""
    first, second = (chat_chunk(delta={"content": text}) for text in ("It ", "rains."))
    script: list[bytes | float] = [
        0.25,
        first,
        0.25,
        second,
        chat_chunk(finish_reason="stop"),
        DONE,
    ]

    def slow(_received: Received) -> Answer:
        return Answer(script, headers={"content-type": "text/event-stream"})

    model_at = COMPATIBLE.model_at
    with (
        serve(slow) as server,
        gateway(model_at(server.url), relay=relay, keep_alive_s=0.05) as url,
    ):
        heard = ASKERS[front](url, "Hello", stream=True)

    assert heard.text == "It rains."


@fronts
def test_a_response_ends_when_the_upstream_leaves_out_its_end_mark(front: str) -> None:
    """The finish reason was there: a closed connection ends it, within a moment."""
    script = [chat_chunk(delta={"content": "It rains."}), chat_chunk(finish_reason="stop")]

    def handler(_received: Received) -> Answer:
        return Answer(script, headers={"content-type": "text/event-stream"})

    with serve(handler) as server, gateway(COMPATIBLE.model_at(server.url)) as url:
        heard = ASKERS[front](url, "Hello", stream=True)

    assert heard.text == "It rains."


@fronts
@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
def test_an_error_within_a_stream_reaches_the_client(front: str, relay: bool) -> None:
    """The text so far once, then the exception of its own library with the upstream's words."""
    error = b'data: {"error": {"message": "the machine caught fire", "code": 500}}\n\n'
    script: list[bytes | float] = [chat_chunk(delta={"content": "It "}), 0.02, error]

    def handler(_received: Received) -> Answer:
        return Answer(script, headers={"content-type": "text/event-stream"})

    with (
        serve(handler) as server,
        gateway(COMPATIBLE.model_at(server.url), relay=relay, retries=2) as url,
        pytest.raises(ERRORS[front], match="caught fire"),
    ):
        ASKERS[front](url, "Hello", stream=True)
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("client", "is_alone"),
    [
        ("google-genai-sdk/1.30.0 gl-node/v20.20.2", True),
        ("genai-js/0.24.1", True),
        ("google-genai-sdk/3.4.0 gl-python/3.12.4", False),
    ],
)
def test_an_error_arrives_alone_for_clients_that_read_it_only_so(
    client: str, is_alone: bool
) -> None:
    """The upstream sends it together with text; Gemini CLI looks for it in one read."""
    error = b'data: {"error": {"message": "Overloaded", "code": 503}}\n\n'

    def handler(_: Received) -> Answer:
        texts = b"".join(chat_chunk(delta={"content": text}) for text in ("Hel", "fine"))
        return Answer([texts + error], headers={"content-type": "text/event-stream"})

    path, body = ASKS["gemini"]
    with (
        serve(handler) as upstream,
        gateway(COMPATIBLE.model_at(upstream.url)) as url,
        httpx.stream(
            "POST",
            f"{url}{path.replace('generate', 'streamGenerate')}?alt=sse",
            json=body,
            headers={"x-goog-api-client": client},
        ) as answer,
    ):
        *before, last = answer.iter_raw()

    assert b"fine" in b"".join(before) + last
    assert b"Overloaded" in last
    assert (b"fine" not in last) == is_alone


@fronts
@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
def test_a_failure_before_the_response_is_tried_again_and_no_more_than_that(
    front: str, relay: bool
) -> None:
    """The client's headers allow a retry of its own."""
    column = next(one for one in COLUMNS if one.id == "compatible")
    path, body = ASKS[front]
    with (
        playing(column, Refused(status=429, headers={"retry-after": "0"})) as scene,
        gateway(scene.model, relay=relay, retries=1) as url,
    ):
        answer = httpx.post(url + path, json=body)

    assert answer.status_code == 429
    assert len(scene.server.received) == 2
    if not (relay and front == "openai-chat"):
        assert answer.headers["x-should-retry"] == "true"


@fronts
@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
def test_a_client_that_leaves_closes_the_call_of_the_upstream(front: str, relay: bool) -> None:
    """While it is generated, on every front."""
    words = [chat_chunk(delta={"content": f"word {n} "}) for n in range(4000)]
    script: list[bytes | float] = [one for word in words for one in (word, 0.05)]

    def handler(_received: Received) -> Answer:
        return Answer(script, headers={"content-type": "text/event-stream"})

    path, body = ASKS[front]
    if front == "gemini":
        path = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    with serve(handler) as server, gateway(COMPATIBLE.model_at(server.url), relay=relay) as url:
        with httpx.stream("POST", url + path, json={**body, "stream": True}) as answer:
            chunks = answer.iter_bytes()
            for _ in range(3):
                next(chunks)
        wait_until(lambda: bool(server.disconnects))


def test_errors_of_messages_name_the_gateways_own_request() -> None:
    """The id that its log has."""
    path, body = ASKS["anthropic-messages"]
    with playing(COMPATIBLE, Refused(status=429)) as scene, gateway(scene.model) as url:
        answer = httpx.post(url + path, json=body)

    assert answer.json()["request_id"] == answer.headers["request-id"]


def test_an_error_within_a_stream_of_messages_names_the_gateways_own_request() -> None:
    """As the response to a request that is refused does."""
    path, body = ASKS["anthropic-messages"]
    script = [chat_chunk(delta={"content": "It "}), b'data: {"error": {"code": 500}}\n\n']

    def handler(_received: Received) -> Answer:
        return Answer(script, headers={"content-type": "text/event-stream"})

    with serve(handler) as server, gateway(COMPATIBLE.model_at(server.url)) as url:
        answer = httpx.post(url + path, json={**body, "stream": True})

    last = json.loads(answer.text.strip().rpartition("data: ")[2])
    assert (last["type"], last["request_id"]) == ("error", answer.headers["request-id"])


def test_a_user_id_of_claude_code_is_not_taken_for_a_key() -> None:
    """It is JSON text in `metadata`."""
    path, body = ASKS["anthropic-messages"]
    user = json.dumps({"device_id": "d", "account_uuid": "", "session_id": "s"})
    with playing(COMPATIBLE, TEXT) as scene, gateway(scene.model, client_api_keys=(KEY,)) as url:
        asked = {**body, "metadata": {"user_id": user}}
        answer = httpx.post(url + path, json=asked, headers={"x-api-key": KEY})

    assert answer.status_code == 200
