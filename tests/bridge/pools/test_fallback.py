"""Fallback over the real server: which failures move on, when, and what is reported."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from tests.support.servers.bridge_service import refused, streamed
from tests.support.servers.loopback import Answer, Received, chat_chunk, sse
from tests.support.servers.pooled_gateway import BOTH, SHARED, fails, in_turn, pooled_gateway, says

RELAYED = "[policies]\nrelay = true\n"
TRANSLATED = "[policies]\nrelay = false\n"

ways = pytest.mark.parametrize("way", [RELAYED, TRANSLATED], ids=["relayed", "translated"])
streaming = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def text_of(answer: httpx.Response) -> str:
    """Return the text of a response of Chat Completions, streamed or whole."""
    if answer.headers["content-type"].startswith("application/json"):
        return str(answer.json()["choices"][0]["message"]["content"])
    found = ""
    for line in answer.text.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line.removeprefix("data: ")).get("choices", []):
                found += choice["delta"].get("content") or ""
    return found


def cut(_received: Received) -> Answer:
    """Accept a request and drop the connection."""
    return Answer([], headers={"content-type": "text/event-stream"}, cut=True)


FAILURES: dict[str, Any] = {
    "429": fails(429),
    "401": fails(401),
    "402": fails(402),
    "403": fails(403),
    "404": fails(404),
    "500": fails(500),
    "503": fails(503),
    "529": fails(529),
    "cut": cut,
}


@ways
@streaming
@pytest.mark.parametrize("failure", list(FAILURES))
def test_the_next_target_answers_after(failure: str, stream: bool, way: str) -> None:
    with pooled_gateway(BOTH, settings=way, a=FAILURES[failure], b=says("from b")) as scene:
        answer = scene.ask(stream=stream)
        again = scene.ask(stream=stream)

        metrics = scene.root("/metrics").text
    assert (answer.status_code, text_of(answer), text_of(again)) == (200, "from b", "from b")
    assert answer.headers["x-openbridge-upstream"] == "b/up-b"
    words = ("unreachable", "failing") if failure == "cut" else (failure,)
    assert answer.headers["x-openbridge-failed"] in {f"a/up-a {word}" for word in words}
    body: Any = scene.upstreams["b"].received[0].json
    assert body["model"] == "up-b"
    assert scene.upstreams["b"].received[0].headers["authorization"] == "Bearer sk-b"
    assert 'upstream_fallbacks_total{failed="a",next="b"}' in metrics
    assert scene.counts == {"a": 1, "b": 2}, "a cools down"
    assert "x-openbridge-failed" not in again.headers


@pytest.mark.parametrize(("status", "others_too"), [(401, True), (403, False), (404, False)])
def test_a_target_that_does_not_have_its_model_leaves_the_other_models_of_its_upstream(
    status: int, others_too: bool
) -> None:
    """A refused key concerns all of them."""
    models = BOTH + '[models.other]\ntargets = ["a/good", "b/good"]\n'

    def has_one(received: Received) -> Answer:
        body: Any = received.json
        return says("from a")(received) if body["model"] == "good" else fails(status)(received)

    with pooled_gateway(models, a=has_one, b=says("from b")) as scene:
        scene.ask()
        other = scene.ask(model="other")

    assert text_of(other) == ("from b" if others_too else "from a")


@pytest.mark.parametrize("status", [403, 404])
def test_models_that_clients_make_up_change_nothing_about_the_health_of_their_upstream(
    status: int,
) -> None:
    """Neither the metric nor the report, which would have a line for each of them."""
    routing = '[routing]\nupstream = "a"\n'
    with pooled_gateway("", settings=routing, a=fails(status)) as scene:
        answers = [scene.ask(model=f"made-up-{number}") for number in range(3)]
        health = scene.root("/healthz?deep=1").json()["upstreams"]
        metrics = scene.root("/metrics").text

    assert {answer.status_code for answer in answers} <= {status, 502}
    assert list(health) == ["a"]
    assert health["a"]["state"] == "ok"
    assert "upstream_failures_total{" not in metrics


def test_targets_that_all_lack_the_model_return_their_error_and_no_request_waits() -> None:
    """The first request asks both, each later one a single target: the other cools down."""
    with pooled_gateway(BOTH, a=fails(404, "no up-a"), b=fails(404, "no up-b")) as scene:
        answers = [scene.ask() for _ in range(8)]

    assert {answer.status_code for answer in answers} == {404}
    assert all("no up-" in answer.text for answer in answers)
    assert sum(scene.counts.values()) == 2 + 7


@ways
@streaming
def test_invalid_request_is_not_sent_to_another_target(stream: bool, way: str) -> None:
    with pooled_gateway(BOTH, settings=way, a=fails(400, "bad field"), b=says("b")) as scene:
        answer = scene.ask(stream=stream)

    assert (answer.status_code, "bad field" in answer.text) == (400, True)
    assert scene.counts == {"a": 1, "b": 0}


@ways
def test_no_target_follows_after_the_first_byte(way: str) -> None:
    """The response under way ends with an error."""
    broken = lambda _: streamed([chat_chunk(delta={"content": "half"})], cut=True)  # noqa: E731
    with pooled_gateway(BOTH, settings=way, a=broken, b=says("b")) as scene:
        answer = scene.ask(stream=True)

    assert text_of(answer) == "half"
    assert '"error"' in answer.text
    assert scene.counts == {"a": 1, "b": 0}


@ways
def test_an_error_within_the_stream_moves_on_before_any_content(way: str) -> None:
    overloaded = {"error": {"message": "overloaded", "code": 503}}
    failing = lambda _: streamed([sse(overloaded)])  # noqa: E731
    with pooled_gateway(BOTH, settings=way, a=failing, b=says("b")) as scene:
        answer = scene.ask(stream=True)

    assert text_of(answer) == "b"
    assert "overloaded" not in answer.text
    assert scene.counts == {"a": 1, "b": 1}


@ways
@streaming
def test_when_all_fail_the_last_error_is_returned(stream: bool, way: str) -> None:
    """Each is called once, and one of them again for each retry that is left."""
    settings = f"{way}[routing]\nretries = 0\n"
    with pooled_gateway(BOTH, settings=settings, a=fails(500), b=fails(429)) as scene:
        answer = scene.ask(stream=stream)

    assert answer.status_code == 429
    assert answer.headers["x-openbridge-failed"] == "a/up-a 500; b/up-b 429"
    assert scene.counts == {"a": 1, "b": 1}


def test_retries_go_on_with_the_target_that_is_free_first() -> None:
    settings = "[routing]\nretries = 2\ncool_down_seconds = 0.2\n"
    a, b = in_turn(fails(500), says("a at last")), fails(500)
    with pooled_gateway(BOTH, settings=settings, a=a, b=b) as scene:
        answer = scene.ask()

        metrics = scene.root("/metrics").text

    assert text_of(answer) == "a at last"
    assert scene.counts == {"a": 2, "b": 1}
    assert 'upstream_fallbacks_total{failed="a",next="b"} 1.0' in metrics


@pytest.mark.parametrize("status", [500, 401])
def test_without_cool_downs_each_request_begins_with_the_first_target(status: int) -> None:
    settings = "[routing]\nretries = 0\ncool_down_seconds = 0\nkey_cool_down_seconds = 0\n"
    with pooled_gateway(BOTH, settings=settings, a=fails(status), b=says("from b")) as scene:
        answers = [scene.ask() for _ in range(2)]

    assert list(map(text_of, answers)) == ["from b", "from b"]
    assert scene.counts == {"a": 2, "b": 2}


def test_every_target_is_asked_before_one_is_asked_again() -> None:
    """Also where the first one may be asked again when the second one has failed."""

    def fails_late(received: Received) -> Answer:
        time.sleep(0.15)
        return fails(500)(received)

    config = '[models.m]\ntargets = ["a/up", "b/up", "c/up"]\n'
    settings = "[routing]\nretries = 0\ncool_down_seconds = 0.1\n"
    with pooled_gateway(
        config, settings=settings, a=fails(500), b=fails_late, c=says("from c")
    ) as scene:
        answer = scene.ask()

    assert text_of(answer) == "from c"
    assert scene.counts == {"a": 1, "b": 1, "c": 1}


def test_a_request_that_waited_for_a_target_takes_another_that_is_free_before_it() -> None:
    """Both wait for `a`, which takes one at a time and refuses the first of them for longer."""
    refused_at: list[float] = []

    def refuses_late(received: Received) -> Answer:
        time.sleep(0.4)
        return fails(429, headers={"retry-after": "5"})(received)

    def pauses(received: Received) -> Answer:
        if refused_at and time.monotonic() - refused_at[0] > 1.8:
            return says("from b")(received)
        refused_at.append(time.monotonic())
        return fails(429, headers={"retry-after-ms": "1800"})(received)

    a, b = in_turn(fails(429, headers={"retry-after-ms": "900"}), refuses_late), pauses
    own, settings = {"a": "key = 'k'\nmax_running = 1"}, "[routing]\nretries = 1\n"
    with (
        pooled_gateway(BOTH, settings=settings, own=own, a=a, b=b) as scene,
        ThreadPoolExecutor() as threads,
    ):
        scene.ask()
        answers = list(threads.map(lambda _: scene.ask(), range(2)))

    assert list(map(text_of, answers)) == ["from b", "from b"]
    assert scene.counts == {"a": 2, "b": 3}


def test_another_try_of_the_same_target_is_a_retry_and_no_fallback() -> None:
    """The other one refuses every key, so it is not asked again."""
    settings = "[routing]\nretries = 3\ncool_down_seconds = 0.1\n"
    a = in_turn(fails(500), fails(500), says("at last"))
    with pooled_gateway(BOTH, settings=settings, a=a, b=fails(401)) as scene:
        answer = scene.ask()
        metrics = scene.root("/metrics").text

    assert text_of(answer) == "at last"
    assert scene.counts == {"a": 3, "b": 1}
    assert 'upstream_retries_total{provider="a"} 1.0' in metrics
    assert 'upstream_fallbacks_total{failed="a",next="a"}' not in metrics


@pytest.mark.parametrize("failure", ["before its head", "in its stream"])
def test_after_a_heartbeat_no_other_target_follows(failure: str) -> None:
    """The client has got the beginning of a response of the first one."""

    def slow(_received: Received) -> Answer:
        if failure == "before its head":
            time.sleep(1)
            return refused(500, "broken")
        return streamed([1.0, b'data: {"error": {"message": "broken", "code": 500}}\n\n'])

    settings = "[server]\nkeep_alive_seconds = 0.1\n[routing]\nretries = 0\n"
    with pooled_gateway(BOTH, settings=settings, a=slow, b=says("b")) as scene:
        answer = scene.ask(stream=True)

    assert answer.status_code == 200
    assert answer.text.startswith(":")
    assert "broken" in answer.text
    assert scene.counts == {"a": 1, "b": 0}


def test_all_tries_share_one_deadline() -> None:
    """The second gets what the first has left."""
    slow = lambda _: streamed([600.0, chat_chunk(delta={"content": "late"})])  # noqa: E731
    own = {"a": "key = 'k'\nfirst_event_seconds = 0.1"}
    settings = "[limits]\ntotal_seconds = 3.0\n[routing]\nretry_timeouts = true\nretries = 9\n"
    with pooled_gateway(BOTH, settings=settings, own=own, a=slow, b=slow) as scene:
        answer = scene.ask(stream=True)

    assert answer.status_code == 504
    assert scene.counts == {"a": 1, "b": 1}


@pytest.mark.parametrize("configured", [True, False])
def test_a_silent_upstream_is_given_up_for_another_if_that_is_configured(configured: bool) -> None:
    """It may have been billed. The limit leaves a busy machine the time to ask."""
    silent = lambda _: streamed([600.0])  # noqa: E731
    own = {"a": "key = 'k'\nfirst_event_seconds = 2"}
    settings = f"[routing]\nretry_timeouts = {str(configured).lower()}\n"
    with pooled_gateway(BOTH, settings=settings, own=own, a=silent, b=says("b")) as scene:
        answer = scene.ask(stream=True)

    assert answer.status_code == (200 if configured else 504)
    assert scene.counts == {"a": 1, "b": int(configured)}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "40"}, 40),
        ({"retry-after-ms": "41000"}, 41),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "42s"}, 42),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-11-22T10:00:43Z",
            },
            43,
        ),
    ],
)
def test_headers_of_a_429_set_the_cool_down(headers: dict[str, str], seconds: float) -> None:
    date = format_datetime(datetime(2026, 11, 22, 10, 0, 0, tzinfo=UTC), usegmt=True)
    limited = fails(429, headers={"date": date, **headers})
    with pooled_gateway(BOTH, a=limited, b=says("b")) as scene:
        scene.ask()
        found = scene.root("/healthz?deep=1").json()["upstreams"]

    assert found["a/up-a"]["state"] == "cooling"
    assert found["a/up-a"]["reason"] == "rate_limited"
    assert seconds - 3 < found["a/up-a"]["seconds"] <= seconds
    assert found["b"] == {"state": "ok", "running": 0}


def test_metrics_have_the_state_of_each_upstream() -> None:
    """Within about a second."""
    limited = fails(429, headers={"retry-after": "100"})
    with pooled_gateway(BOTH, a=limited, b=says("b")) as scene:
        scene.ask()
        deadline = time.monotonic() + 20
        while 'openbridge_upstream_up{upstream="a"} 0.0' not in (
            text := scene.root("/metrics").text
        ):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    assert 'openbridge_upstream_up{upstream="b"} 1.0' in text


def test_one_target_alone_is_asked_whatever_its_health() -> None:
    config = '[models.m]\ntargets = ["a/up"]\n'
    settings = "[routing]\nretries = 0\n"
    a = in_turn(fails(500), fails(401), says("a"))
    with pooled_gateway(config, settings=settings, a=a) as scene:
        statuses = [scene.ask().status_code for _ in range(3)]

    assert statuses == [500, 502, 200]


def test_rate_limited_pool_answers_with_retry_after() -> None:
    limited = fails(429, headers={"retry-after": "100"})
    with pooled_gateway(BOTH, a=limited, b=limited) as scene:
        assert scene.ask().status_code == 429
        answer = scene.ask()

    assert answer.status_code == 503
    assert 90 <= int(answer.headers["retry-after"]) <= 100
    assert scene.counts == {"a": 1, "b": 1}, "neither is asked during its pause"


def test_a_request_too_long_goes_to_the_larger_model_where_configured() -> None:
    config = (
        '[models.m]\ntargets = ["a/small"]\non_context_overflow = "big"\n'
        '[models.big]\ntargets = ["b/large"]\n'
    )
    too_long = fails(400, "maximum context length is 8", code="context_length_exceeded")
    with pooled_gateway(config, a=too_long, b=says("b")) as scene:
        answer = scene.ask()
        direct = scene.ask(model="big")
        health = scene.root("/healthz?deep=1").json()

    assert (text_of(answer), text_of(direct)) == ("b", "b")
    assert answer.headers["x-openbridge-upstream"] == "b/large"
    assert answer.json()["model"] in ("m", "large", "m-1")
    assert health["upstreams"]["a"]["state"] == "ok"


REFUSED = fails(400, "triggered the content management policy", code="content_filter")


@ways
@streaming
def test_what_a_provider_refuses_for_its_content_goes_to_another_model_where_configured(
    stream: bool, way: str
) -> None:
    config = (
        '[models.m]\ntargets = ["a/strict"]\non_content_filter = "lax"\n'
        '[models.lax]\ntargets = ["b/lax"]\n[models.n]\ntargets = ["a/strict"]\n'
    )
    with pooled_gateway(config, settings=way, a=REFUSED, b=says("b")) as scene:
        answer = scene.ask(stream=stream)
        without = scene.ask(stream=stream, model="n")
        health = scene.root("/healthz?deep=1").json()

    assert text_of(answer) == "b"
    assert answer.headers["x-openbridge-failed"] == "a/strict 400"
    assert (without.status_code, "management policy" in without.text) == (400, True)
    assert health["upstreams"]["a"]["state"] == "ok"
    assert scene.counts == {"a": 2, "b": 1}


def test_models_that_name_each_other_for_different_errors_are_each_asked_once() -> None:
    config = (
        '[models.m]\ntargets = ["a/x"]\non_content_filter = "n"\n'
        '[models.n]\ntargets = ["b/y"]\non_context_overflow = "m"\n'
    )
    too_long = fails(400, "maximum context length is 8", code="context_length_exceeded")
    with pooled_gateway(config, a=REFUSED, b=too_long) as scene:
        answer = scene.ask()

    assert (answer.status_code, "maximum context" in answer.text) == (400, True)
    assert scene.counts == {"a": 1, "b": 1}


def test_an_upstream_at_its_limit_leaves_requests_to_others() -> None:
    own = {"a": "key = 'k'\nrequests_per_minute = 2", "b": "key = 'k'\nweight = 0.000001"}
    with pooled_gateway(SHARED, own=own, a=says("a"), b=says("b")) as scene:
        texts = [text_of(scene.ask(f"conversation {number}")) for number in range(6)]

    assert texts == ["a", "a", "b", "b", "b", "b"]


def test_several_upstreams_of_one_provider_are_one_pool() -> None:
    """Two accounts, and no other line of configuration."""
    config = '[routing]\nupstream = "openai-compatible"\n'
    with pooled_gateway("", settings=config, a=says("x"), b=says("x")) as scene:
        for number in range(20):
            assert scene.ask(f"conversation {number}", model="anything").status_code == 200
        assert min(scene.counts.values()) > 2
        before = scene.counts
        for _ in range(5):
            scene.ask("conversation 3", model="anything")
        grown = {name: count - before[name] for name, count in scene.counts.items()}
    assert sorted(grown.values()) == [0, 5], "a conversation stays with its account"


def test_a_stored_conversation_stays_with_its_account() -> None:
    with pooled_gateway(SHARED, a=says("x"), b=says("x")) as scene:
        for number in range(6):
            before = scene.counts
            body: dict[str, Any] = {"model": "m", "input": f"conversation {number}"}
            for _ in range(3):
                made = httpx.post(f"{scene.url}/responses", json=body).json()
                body = {"model": "m", "input": "Go on", "previous_response_id": made["id"]}
            grown = {name: count - before[name] for name, count in scene.counts.items()}
            assert sorted(grown.values()) == [0, 3]


@pytest.mark.parametrize("path", ["/responses", "/messages"])
def test_other_fronts_fall_back_as_well(path: str) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    if path == "/responses":
        body = {"model": "m", "input": "Hi"}
    with pooled_gateway(BOTH, a=fails(503), b=says("from b")) as scene:
        whole = httpx.post(scene.url + path, json=body)
        stream = httpx.post(scene.url + path, json={**body, "stream": True})

    assert whole.status_code == stream.status_code == 200
    assert "from b" in whole.text
    assert "from b" in stream.text
    assert whole.headers["x-openbridge-upstream"] == "b/up-b"


@pytest.mark.parametrize("stream", [False, True])
def test_the_only_target_of_a_name_is_in_the_header_too(stream: bool) -> None:
    """Clients see the name that they asked for; the header has the model that responded."""
    with pooled_gateway('[models.m]\ntargets = ["a/up-a"]\n', a=says("A")) as scene:
        assert scene.ask(stream=stream).headers["x-openbridge-upstream"] == "a/up-a"
