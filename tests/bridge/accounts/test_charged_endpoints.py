"""The charges of each endpoint that spends, by how its response ends."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest
from attrs import frozen

from tests.bridge.accounts.test_pooled_charges import SETTINGS, admin
from tests.bridge.service.test_websocket import connected, turn
from tests.support.servers.bridge_service import JSON, refused, streamed
from tests.support.servers.loopback import DONE, Answer, Handler, Received, chat_chunk, sse
from tests.support.servers.pooled_gateway import BOTH, Scene, in_turn, pooled_gateway
from tests.support.waiting import wait_until

PRICES = """
[prices]
"a/up-a" = { input = 1, output = 2 }
"b/up-b" = { input = 10, output = 20 }
"""
"""In dollars per million tokens: 1,000 and 2,000 nano-dollars a token, and ten times as much."""
READ, WRITTEN = 30, 20
"""The tokens that upstreams count."""
TEXT = "Hello. " * 20


@frozen
class Endpoint:
    """A request that spends."""

    path: str
    body: Mapping[str, Any]
    streamed: bool = False
    embeds: bool = False

    def post(self, scene: Scene, client: httpx.Client) -> httpx.Response:
        """Send the request and read its response."""
        return client.post(self.url(scene), json=self.body)

    def url(self, scene: Scene) -> str:
        return scene.url.removesuffix("/v1") + self.path

    @property
    def cost(self) -> int:
        """The price of a response of the first upstream, in nano-dollars."""
        return READ * 1000 + (0 if self.embeds else WRITTEN * 2000)

    @property
    def tokens(self) -> int:
        """The tokens of a response."""
        return READ + (0 if self.embeds else WRITTEN)


SAID = [{"role": "user", "content": "Hi"}]
CHAT = {"model": "m", "messages": SAID, "max_tokens": 100}
RESPONSE = {"model": "m", "input": "Hi", "max_output_tokens": 100, "store": False}
GOOGLE = {
    "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    "generationConfig": {"maxOutputTokens": 100},
}
_PART = {"content": {"parts": [{"text": "Hi"}]}}

GENERATING = {
    "responses": Endpoint("/v1/responses", RESPONSE),
    "responses streamed": Endpoint("/v1/responses", {**RESPONSE, "stream": True}, streamed=True),
    "chat": Endpoint("/v1/chat/completions", CHAT),
    "chat streamed": Endpoint("/v1/chat/completions", {**CHAT, "stream": True}, streamed=True),
    "messages": Endpoint("/v1/messages", CHAT),
    "messages streamed": Endpoint("/v1/messages", {**CHAT, "stream": True}, streamed=True),
    "gemini": Endpoint("/v1beta/models/m:generateContent", GOOGLE),
    "gemini streamed": Endpoint(
        "/v1beta/models/m:streamGenerateContent?alt=sse", GOOGLE, streamed=True
    ),
    "compaction": Endpoint("/v1/responses/compact", {"model": "m", "input": "Hi"}),
}
EMBEDDING = {
    "embeddings": Endpoint("/v1/embeddings", {"model": "m", "input": "Hi"}, embeds=True),
    "embedContent": Endpoint("/v1beta/models/m:embedContent", _PART, embeds=True),
    "batchEmbedContents": Endpoint(
        "/v1beta/models/m:batchEmbedContents",
        {"requests": [{"model": "models/m", **_PART}]},
        embeds=True,
    ),
}
ALL = {**GENERATING, **EMBEDDING}
STREAMED = {name: one for name, one in GENERATING.items() if one.streamed}
WHOLE = {name: one for name, one in ALL.items() if not one.streamed}


def each(endpoints: Mapping[str, Endpoint]) -> pytest.MarkDecorator:
    """Return the mark of a test that is run for each of *endpoints*."""
    return pytest.mark.parametrize("endpoint", list(endpoints.values()), ids=list(endpoints))


def given(body: object) -> Answer:
    data = json.dumps(body).encode()
    return Answer([data], 200, JSON, length=len(data))


def usage_chunk() -> bytes:
    usage = {"prompt_tokens": READ, "completion_tokens": WRITTEN}
    return sse({"id": "c-1", "model": "m-1", "choices": [], "usage": usage})


def answers(received: Received) -> Answer:
    """Answer any request; each one uses the same tokens."""
    if received.method == "GET":
        return given({"data": []})
    body: Any = received.json
    if received.path.endswith("/embeddings"):
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors = [{"index": number, "embedding": [0.5]} for number in range(len(texts))]
        return given({"data": vectors, "usage": {"prompt_tokens": READ}})
    if body.get("stream"):
        parts = [chat_chunk(delta={"content": TEXT}), chat_chunk(finish_reason="stop")]
        return streamed([*parts, usage_chunk(), DONE])
    usage = {"prompt_tokens": READ, "completion_tokens": WRITTEN}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "Hello."},
        "finish_reason": "stop",
    }
    return given({"id": "c-1", "model": "m-1", "choices": [choice], "usage": usage})


def fails(_received: Received) -> Answer:
    return refused(500, "broken")


def opens_and_breaks(_received: Received) -> Answer:
    """Begin a response, and drop the connection before any of its content."""
    return streamed([chat_chunk(delta={"role": "assistant", "content": ""})], cut=True)


def breaks(_received: Received) -> Answer:
    return streamed([chat_chunk(delta={"content": TEXT})], cut=True)


def stalls(_received: Received) -> Answer:
    return streamed([30.0])


def stalls_later(_received: Received) -> Answer:
    return streamed([chat_chunk(delta={"content": TEXT}), 30.0])


@frozen
class Budgeted:
    """A gateway, and a client with a key that has budgets."""

    scene: Scene
    client: httpx.Client
    key_id: str

    def row(self, by: str = "key,outcome") -> Any:
        """Return the sums of all rows of spend, once there is one."""
        path = f"/admin/usage?by={by}"
        wait_until(lambda: bool(admin(self.scene, path)["data"]))
        (row,) = admin(self.scene, path)["data"]
        return row

    def ask_and_leave(self, endpoint: Endpoint, upstream: str) -> None:
        """Close the connection of a request once it has reached *upstream*, and some time later."""
        url = httpx.URL(endpoint.url(self.scene))
        leaving = HTTPConnection(url.host, url.port)
        headers = {
            "content-type": "application/json",
            "x-api-key": self.client.headers["x-api-key"],
        }
        leaving.request("POST", url.raw_path.decode(), json.dumps(endpoint.body), headers)
        wait_until(lambda: self.scene.asked(upstream) == 1)
        time.sleep(0.3)  # in which a model would write some tokens
        leaving.close()

    @property
    def used(self) -> Any:
        """The amounts that are used and reserved of the budgets."""
        return admin(self.scene, f"/admin/keys/{self.key_id}")["used"]

    def is_charged(self, *, cost_nano: int, tokens: int) -> None:
        """Check that one row, and both budgets, have exactly this."""
        row = self.row()
        assert row["responses"] == 1
        assert row["input_tokens"] + row["output_tokens"] == tokens
        assert row["cost_usd"] == pytest.approx(cost_nano / 1e9)
        assert self.used == {"usd": pytest.approx(cost_nano / 1e9), "tokens": tokens}

    def is_charged_by_estimate(self, outcome: str) -> Any:
        """Check that the row and the budgets agree, and return the row."""
        row = self.row()
        assert (row["responses"], row["outcome"]) == (1, outcome)
        tokens = row["input_tokens"] + row["output_tokens"]
        assert self.used == {"usd": pytest.approx(row["cost_usd"]), "tokens": tokens}
        return row

    def is_charged_for_a_part(self, outcome: str) -> None:
        """Check that the row has the prompt, and the text that came of a response."""
        row = self.is_charged_by_estimate(outcome)
        assert 20 < row["output_tokens"] < 80
        assert row["input_tokens"] > 0


@contextmanager
def budgeted(
    folder: Path, config: str = BOTH, settings: str = "", **handlers: Handler
) -> Iterator[Budgeted]:
    """Run a gateway, by default of two upstreams: `b` gets what `a` failed at."""
    settings = SETTINGS + settings
    with pooled_gateway(config + PRICES, folder, settings, None, **handlers) as scene:
        key = admin(scene, "/admin/keys", budget_usd=50.0, budget_tokens=10_000_000)
        headers = {"x-api-key": key["key"]}
        with httpx.Client(headers=headers, timeout=30) as client:
            yield Budgeted(scene, client, key["id"])


@each(ALL)
def test_a_response_is_charged_as_its_upstream_counted(tmp_path: Path, endpoint: Endpoint) -> None:
    with budgeted(tmp_path, a=answers, b=answers) as one:
        answer = endpoint.post(one.scene, one.client)

        assert answer.status_code == 200, answer.text
        one.is_charged(cost_nano=endpoint.cost, tokens=endpoint.tokens)


@each(ALL)
def test_after_a_refusal_only_the_upstream_that_answers_is_paid(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    with budgeted(tmp_path, a=fails, b=answers) as one:
        answer = endpoint.post(one.scene, one.client)

        assert answer.status_code == 200, answer.text
        one.is_charged(cost_nano=10 * endpoint.cost, tokens=endpoint.tokens)


@each(ALL)
def test_what_all_upstreams_refuse_is_free(tmp_path: Path, endpoint: Endpoint) -> None:
    with budgeted(tmp_path, settings="[routing]\nretries = 0\n", a=fails, b=fails) as one:
        answer = endpoint.post(one.scene, one.client)

        assert answer.status_code >= 500
        assert one.row()["outcome"] == "failed"
        one.is_charged(cost_nano=0, tokens=0)


@each(STREAMED)
def test_a_stream_that_began_before_another_one_answered_is_charged_too(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    """Its upstream has read the prompt, which is estimated."""
    with budgeted(tmp_path, a=opens_and_breaks, b=answers) as one:
        answer = endpoint.post(one.scene, one.client)
        row = one.is_charged_by_estimate("completed")

    assert answer.status_code == 200, answer.text
    prompt = row["input_tokens"] - READ
    assert (prompt > 0, row["output_tokens"]) == (True, WRITTEN)
    assert row["cost_usd"] == pytest.approx((prompt * 1000 + 10 * endpoint.cost) / 1e9)


@each(STREAMED)
def test_a_stream_that_began_before_it_was_tried_again_is_charged_too(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    config = '[models.m]\ntargets = ["a/up-a"]\n'
    with budgeted(tmp_path, config, a=in_turn(opens_and_breaks, answers), b=answers) as one:
        answer = endpoint.post(one.scene, one.client)
        row = one.is_charged_by_estimate("completed")

    assert answer.status_code == 200, answer.text
    assert row["input_tokens"] > READ
    assert row["output_tokens"] == WRITTEN


ONE = '[models.m]\ntargets = ["a/up-a"]\n'


@each(STREAMED)
@pytest.mark.parametrize(
    ("config", "handler", "asked"),
    [
        (BOTH, opens_and_breaks, {"a": 1, "b": 0}),
        (ONE, opens_and_breaks, {"a": 1, "b": 0}),
        (ONE, fails, {"a": 2, "b": 0}),
    ],
    ids=["elsewhere", "again", "after a refusal, which is free"],
)
def test_another_try_that_does_not_fit_in_the_budget_is_not_sent(
    tmp_path: Path, endpoint: Endpoint, config: str, handler: Handler, asked: dict[str, int]
) -> None:
    """Its client gets the error of the last try, and pays for what it has used."""
    first = in_turn(handler, answers)
    with budgeted(tmp_path, config, a=first, b=answers) as one:
        admin(one.scene, f"/admin/keys/{one.key_id}", budget_tokens=200, budget_usd=None)
        answer = endpoint.post(one.scene, one.client)
        row = one.row()
        used = one.used["tokens"]

    assert one.scene.counts == asked
    assert used == row["input_tokens"] + row["output_tokens"] <= 200
    if handler is fails:
        assert (answer.status_code, row["outcome"]) == (200, "completed")
        return
    assert (answer.status_code, row["outcome"]) == (502, "failed")
    if config == BOTH:
        failed = "a/up-a unreachable; no other target: insufficient_quota"
        assert answer.headers["x-openbridge-failed"] == failed


@pytest.mark.parametrize("name", ["embeddings", "batchEmbedContents"])
def test_embeddings_of_an_upstream_that_failed_later_are_charged_too(
    tmp_path: Path, name: str
) -> None:
    """The texts do not fit into one request, and the first upstream refuses the second one."""
    texts = ["Hi"] * 256 + ["fail"]

    def answers_half(received: Received) -> Answer:
        if b"fail" not in received.body:
            return answers(received)
        refusal = refused(500, "broken")
        return Answer([0.4, *refusal.script], 500, refusal.headers)

    endpoint = EMBEDDING[name]
    parts = [{"model": "models/m", "content": {"parts": [{"text": text}]}} for text in texts]
    body = {"requests": parts} if "requests" in endpoint.body else {"model": "m", "input": texts}
    with budgeted(tmp_path, a=answers_half, b=answers) as one:
        answer = Endpoint(endpoint.path, body).post(one.scene, one.client)

        assert answer.status_code == 200, answer.text
        one.is_charged(cost_nano=(1 + 2 * 10) * endpoint.cost, tokens=3 * endpoint.tokens)


@each({name: GENERATING[name] for name in ("chat", "chat streamed")})
def test_choices_that_ended_before_another_one_failed_are_charged(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    """They are requests of their own where an upstream has no parameter for them."""

    def one_fails(received: Received) -> Answer:
        body: Any = received.json
        if body.get("seed") == 8:  # each choice has its own
            return Answer([0.5, *refused(500, "broken").script], 500, JSON)
        return answers(received)

    asking = Endpoint(endpoint.path, {**endpoint.body, "n": 2, "seed": 7}, endpoint.streamed)
    limits = "[limits]\nmax_choices = 2\n[policies]\nrelay = false\n[routing]\nretries = 0\n"
    with budgeted(tmp_path, settings=limits, a=one_fails, b=answers) as one:
        answer = asking.post(one.scene, one.client)

        assert answer.status_code == 200, answer.text
        row = one.is_charged_by_estimate("completed")
    assert row["input_tokens"] >= 3 * READ
    assert row["output_tokens"] >= 3 * WRITTEN


@each(STREAMED)
def test_a_stream_that_is_cut_is_charged_for_what_came(tmp_path: Path, endpoint: Endpoint) -> None:
    """No other upstream continues it."""
    with budgeted(tmp_path, a=breaks, b=answers) as one:
        endpoint.post(one.scene, one.client)

        one.is_charged_for_a_part("failed")
        assert one.scene.asked("b") == 0


@each(STREAMED)
def test_a_client_that_leaves_a_stream_is_charged_for_what_came(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    with budgeted(tmp_path, a=stalls_later, b=answers) as one:
        url = endpoint.url(one.scene)
        with one.client.stream("POST", url, json=endpoint.body) as answer:
            seen = ""
            for text in answer.iter_text():
                seen += text
                if "Hello." in seen:
                    break

        one.is_charged_for_a_part("cancelled")


@each(ALL)
def test_a_client_that_leaves_before_all_is_charged_for_its_prompt(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    """And for what was generated meanwhile, if it was to come in one piece."""
    with budgeted(tmp_path, a=stalls, b=answers) as one:
        began = time.monotonic()
        one.ask_and_leave(endpoint, "a")
        row = one.is_charged_by_estimate("cancelled")

    most = 1 if endpoint.embeds else 100 * (time.monotonic() - began)
    assert row["input_tokens"] > 0
    assert (row["output_tokens"] == 0) if endpoint.streamed else 1 <= row["output_tokens"] <= most


@each(ALL)
def test_a_client_that_leaves_after_a_refusal_pays_for_nothing_but_the_upstream_asked_then(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    with budgeted(tmp_path, a=fails, b=stalls) as one:
        one.ask_and_leave(endpoint, "b")
        row = one.is_charged_by_estimate("cancelled")
        assert (one.scene.asked("a"), one.scene.asked("b")) == (1, 1)

    output = row["output_tokens"]
    assert row["cost_usd"] == pytest.approx((row["input_tokens"] * 10 + output * 20) / 1e6)


@each({name: one for name, one in GENERATING.items() if name != "compaction"})
def test_a_response_of_the_cache_is_free(tmp_path: Path, endpoint: Endpoint) -> None:
    cached = '[cache]\nresponses = "all"\n'
    with budgeted(tmp_path, settings=cached, a=answers, b=answers) as one:
        first = endpoint.post(one.scene, one.client)
        one.row()
        second = endpoint.post(one.scene, one.client)
        wait_until(lambda: one.row()["responses"] == 2)
        row = one.row()

        assert (first.status_code, second.status_code) == (200, 200)
        assert second.headers["x-openbridge-cache"] == "hit"
        assert row["input_tokens"] + row["output_tokens"] == endpoint.tokens
        assert one.used == {"usd": pytest.approx(endpoint.cost / 1e9), "tokens": endpoint.tokens}


@pytest.mark.parametrize(("first", "times"), [(answers, 1), (fails, 10)], ids=["first", "second"])
def test_a_background_response_is_charged(tmp_path: Path, first: Handler, times: int) -> None:
    asking = {**RESPONSE, "background": True, "store": True}
    with budgeted(tmp_path, a=first, b=answers) as one:
        made = one.client.post(f"{one.scene.url}/responses", json=asking)

        assert made.status_code == 200, made.text
        one.is_charged(cost_nano=times * (READ * 1000 + WRITTEN * 2000), tokens=READ + WRITTEN)


def test_a_background_response_that_is_cancelled_is_charged_for_what_came(tmp_path: Path) -> None:
    asking = {**RESPONSE, "background": True, "store": True}
    with budgeted(tmp_path, a=stalls_later, b=answers) as one:
        made = one.client.post(f"{one.scene.url}/responses", json=asking).json()
        url = f"{one.scene.url}/responses/{made['id']}"
        events = one.client.stream("GET", url, params={"stream": "true"})
        with events as answer:
            next(line for line in answer.iter_lines() if "output_text.delta" in line)
        cancelled = one.client.post(f"{url}/cancel", json={})
        row = one.is_charged_by_estimate("cancelled")

    assert cancelled.json()["status"] == "cancelled"
    assert 20 < row["output_tokens"] < 80


@pytest.mark.parametrize(("first", "times"), [(answers, 1), (fails, 10)], ids=["first", "second"])
def test_a_response_on_a_websocket_is_charged(tmp_path: Path, first: Handler, times: int) -> None:
    with budgeted(tmp_path, a=first, b=answers) as one:
        mine = dict(one.client.headers)
        with connected(
            one.scene.url, additional_headers={"x-api-key": mine["x-api-key"]}
        ) as socket:
            last = turn(socket, model="m", max_output_tokens=100)

        assert last["type"] == "response.completed"
        one.is_charged(cost_nano=times * (READ * 1000 + WRITTEN * 2000), tokens=READ + WRITTEN)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses/input_tokens", {"model": "m", "input": "Hi"}),
        ("/v1/messages/count_tokens", {"model": "m", "messages": SAID}),
        ("/v1beta/models/m:countTokens", {"contents": GOOGLE["contents"]}),
    ],
)
def test_counting_tokens_is_free(tmp_path: Path, path: str, body: dict[str, Any]) -> None:
    with budgeted(tmp_path, a=answers, b=answers) as one:
        counted = Endpoint(path, body).post(one.scene, one.client)

        assert counted.status_code == 200, counted.text
        assert one.used == {"usd": 0, "tokens": 0}
        assert admin(one.scene, "/admin/usage?by=key")["data"] == []
