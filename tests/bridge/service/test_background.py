"""Background responses: polled, streamed again, cancelled, and left behind by a worker."""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx
import openai
import pytest
from attrs import evolve

from llmcore.bridge.background import event_log, lifecycle, replay, responses
from llmcore.bridge.background.event_log import EventLog, Piece, piece_name
from llmcore.bridge.configuration.settings import GatewaySettings, Limits, StateSettings
from llmcore.bridge.state.sqlite import SqliteResponseStore
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.bridge.state.stores import store_for
from llmcore.fronts.openai_responses.state import Record
from tests.support.cycles import in_cycles
from tests.support.servers.bridge_process import gateway
from tests.support.servers.bridge_service import (
    UPSTREAM_KEY,
    asked,
    events_of,
    listening,
    refused,
    settings_for,
    sqlite_state,
    streamed,
    text_of,
)
from tests.support.servers.loopback import (
    DONE,
    Answer,
    Loopback,
    Received,
    chat_chunk,
    chat_stream,
    held,
)
from tests.support.servers.pooled_gateway import BOTH, fails, pooled_gateway, says
from tests.support.servers.postgres_servers import running_postgres
from tests.support.servers.redis_servers import running_redis
from tests.support.waiting import PATIENCE_S, wait_until

RECORD = Record(
    id="resp_1",
    owner="me",
    response={"id": "resp_1", "status": "queued"},
    conversation={"model": "m", "messages": []},
    items={"msg_1": {"id": "msg_1", "text": "hello"}},
)
ASK = {"model": "m-1", "input": "Hi", "background": True}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the store more often than a gateway needs to."""
    monkeypatch.setattr(replay, "_POLL_S", 0.02)
    monkeypatch.setattr(responses, "_FLUSH_S", 0.02)
    monkeypatch.setattr(responses, "BEAT_S", 0.05)
    monkeypatch.setattr(responses, "_STORE_RETRY_S", 0.02)
    monkeypatch.setattr(lifecycle, "_LOOK_S", 0.02)


def post(url: str, **changes: Any) -> Any:
    return httpx.post(f"{url}/responses", json={**ASK, **changes}, timeout=30)


def got(url: str, name: str) -> Any:
    return httpx.get(f"{url}/responses/{name}", timeout=30).json()


def ended(url: str, name: str) -> Any:
    """Poll a response until it has ended, as clients do."""
    wait_until(lambda: got(url, name)["status"] not in ("queued", "in_progress"))
    return got(url, name)


def under_way(url: str) -> float:
    """Return how many background responses are made or wait, or have only just ended."""
    metrics = httpx.get(f"{url.removesuffix('/v1')}/metrics").text
    found = re.search(r"^openbridge_background_responses (.+)$", metrics, re.MULTILINE)
    return float(found[1]) if found else 0.0


def stream_of(url: str, name: str, **query: Any) -> httpx.Response:
    params = {"stream": "true", **query}
    return httpx.get(f"{url}/responses/{name}", params=params, timeout=30)


@pytest.fixture
def two_gateways(
    request: pytest.FixtureRequest, upstream: Loopback, tmp_path: Path
) -> Iterator[tuple[str, str]]:
    """Run two gateways with one store, which know nothing of each other."""
    settings = settings_for(upstream.url, state=sqlite_state(tmp_path))
    with listening(settings) as one, listening(settings) as two:
        yield one, two


# -- polling


def test_a_response_is_made_while_no_client_waits(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """First queued, then in progress, then complete; the next request continues from it."""
    release = threading.Event()
    upstream.handler = lambda _: streamed(held(release, chat_stream(["Hel", "lo"])))
    with listening(settings) as url:
        made = post(url).json()
        wait_until(lambda: bool(upstream.received))
        meanwhile = got(url, made["id"])
        release.set()
        done = ended(url, made["id"])
        items = httpx.get(f"{url}/responses/{made['id']}/input_items").json()
        following = post(url, background=False, previous_response_id=made["id"])

    assert (made["status"], made["background"], made["output"]) == ("queued", True, [])
    assert (meanwhile["status"], meanwhile["id"]) == ("in_progress", made["id"])
    assert (done["status"], text_of(done)) == ("completed", "Hello")
    assert done["created_at"] == made["created_at"]
    assert [item["role"] for item in items["data"]] == ["user"]
    assert following.status_code == 200
    assert len(upstream.received[-1].json["messages"]) == 3  # type: ignore[index]


def test_a_response_leaves_no_reference_cycles(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """Its memory, of up to 16 MiB, is free at once."""
    upstream.handler = lambda _: streamed(chat_stream(["Hello"]))
    with listening(settings) as url:

        def ask() -> None:
            name = post(url).json()["id"]
            wait_until(lambda: got(url, name)["status"] == "completed")
            metrics = f"{url.removesuffix('/v1')}/metrics"
            wait_until(lambda: "openbridge_background_responses 0.0" in httpx.get(metrics).text)

        assert not in_cycles(ask)


def test_the_client_may_leave(upstream: Loopback, settings: GatewaySettings) -> None:
    """A streaming client too; the upstream stays open, and no request is sent twice."""
    upstream.handler = lambda _: streamed(chat_stream(["a", "b", "c"], pause=0.1))
    with listening(settings) as url:
        with httpx.stream("POST", f"{url}/responses", json={**ASK, "stream": True}) as answer:
            lines = answer.iter_lines()
            first = next(lines), next(lines)
        name = json.loads(first[1].removeprefix("data: "))["response"]["id"]
        done = ended(url, name)

    assert text_of(done) == "abc"
    assert (len(upstream.received), upstream.disconnects) == (1, [])


def test_an_upstream_that_refuses_fails_the_response(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    upstream.handler = lambda _: refused(429, "slow down")
    with listening(settings) as url:
        made = post(url)
        done = ended(url, made.json()["id"])
        events = events_of(stream_of(url, made.json()["id"]).content)
        continued = post(url, background=False, previous_response_id=done["id"])

    assert made.status_code == 200
    assert (done["status"], done["error"]["code"]) == ("failed", "rate_limit_exceeded")
    assert events[-1]["type"] == "response.failed"
    assert continued.json()["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize(
    ("change", "param"),
    [({"store": False}, "background"), ({"background": "yes"}, "background")],
)
def test_what_cannot_be_done_in_the_background_is_refused(
    upstream: Loopback, settings: GatewaySettings, change: dict[str, Any], param: str
) -> None:
    with listening(settings) as url:
        answer = post(url, **change)

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert upstream.received == []


def test_answers_are_their_owners_only(upstream: Loopback, settings: GatewaySettings) -> None:
    with listening(evolve(settings, client_api_keys=("k1", "k2"))) as url:
        one, two = ({"authorization": f"Bearer {key}"} for key in ("k1", "k2"))
        made = httpx.post(f"{url}/responses", json=ASK, headers=one).json()
        place = f"{url}/responses/{made['id']}"
        found = [
            httpx.get(place, headers=two),
            httpx.get(f"{place}?stream=true", headers=two),
            httpx.post(f"{place}/cancel", headers=two),
            httpx.delete(place, headers=two),
        ]

    assert [answer.status_code for answer in found] == [404] * 4


# -- limits


def test_more_than_run_at_once_wait_and_more_than_that_are_refused(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    release = threading.Event()
    upstream.handler = lambda _: streamed(held(release, chat_stream()))
    with listening(evolve(settings, limits=Limits(max_background=1))) as url:
        made = [post(url) for _ in range(3)]
        wait_until(lambda: bool(upstream.received))
        statuses = [got(url, answer.json()["id"])["status"] for answer in made[:2]]
        counted = under_way(url)
        release.set()
        done = [ended(url, answer.json()["id"])["status"] for answer in made[:2]]
        wait_until(lambda: under_way(url) == 0)
        after = post(url)

    assert [answer.status_code for answer in made] == [200, 200, 503]
    assert made[2].headers["retry-after"]
    assert statuses == ["in_progress", "queued"]
    assert counted == 2
    assert done == ["completed", "completed"]
    assert after.status_code == 200


# -- several upstreams


def test_a_response_that_is_not_begun_leaves_its_place_at_the_upstream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For lack of room, or without a store."""
    release = threading.Event()
    config = "[limits]\nmax_background = 1\n" + BOTH
    limits = 'key = "k"\nmax_running = 9'
    with pooled_gateway(
        config,
        own={"a": limits, "b": limits},
        a=lambda _: streamed(held(release, chat_stream())),
        b=says("B"),
    ) as scene:
        statuses = [post(scene.url, model="m").status_code for _ in range(4)]
        release.set()
        wait_until(lambda: under_way(scene.url) == 0)
        monkeypatch.setattr(lifecycle.Lifecycle, "begin", _away)
        statuses.append(post(scene.url, model="m").status_code)
        upstreams = scene.root("/healthz?deep=1").json()["upstreams"]

    assert statuses == [200, 200, 503, 503, 503]
    assert {name: found["running"] for name, found in upstreams.items()} == {"a": 0, "b": 0}


async def _away(_lifecycle: lifecycle.Lifecycle, _record: Record) -> None:
    raise StateUnavailableError("away")


@pytest.mark.parametrize("stream", [False, True])
def test_the_next_target_answers_where_the_first_one_fails(stream: bool) -> None:
    """Before its first event; the charge and the log name the one that answered."""
    with pooled_gateway(BOTH, a=fails(500), b=says("Hello.")) as scene:
        made = post(scene.url, model="m", stream=stream)
        events = events_of(made.content) if stream else []
        name = events[0]["response"]["id"] if stream else made.json()["id"]
        done = ended(scene.url, name)
        again = events_of(stream_of(scene.url, name).content)
        counts = scene.counts

    assert (done["status"], text_of(done)) == ("completed", "Hello.")
    assert [event["type"] for event in again].count("response.created") == 1
    assert again[-1]["response"] == done
    assert events in ([], again)
    assert counts["b"] == 1
    assert counts["a"] >= 1


def test_no_target_follows_a_background_response_that_has_begun() -> None:
    def breaks(_: Received) -> Answer:
        return streamed([chat_chunk(delta={"content": "Hel"})], cut=True)

    with pooled_gateway(BOTH, a=breaks, b=says("Hello.")) as scene:
        done = ended(scene.url, post(scene.url, model="m").json()["id"])
        events = events_of(stream_of(scene.url, done["id"]).content)
        counts = scene.counts

    assert done["status"] == "failed"
    assert "Hel" in [event.get("delta") for event in events]
    assert counts == {"a": 1, "b": 0}


def test_when_all_targets_fail_the_response_has_the_last_error() -> None:
    """Its stream is whole all the same."""
    once, b = "[routing]\nretries = 0\n", fails(429, "slow down")
    with pooled_gateway(BOTH, settings=once, a=fails(500), b=b) as scene:
        done = ended(scene.url, post(scene.url, model="m").json()["id"])
        events = events_of(stream_of(scene.url, done["id"]).content)

    assert (done["status"], done["error"]["code"]) == ("failed", "rate_limit_exceeded")
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "error",
        "response.failed",
    ]
    assert events[-1]["response"] == done


# -- streams


@pytest.mark.slow
def test_a_stream_can_be_resumed_after_any_event(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """While the response is made, and after its end; what was sent before is not sent again."""
    upstream.handler = lambda _: streamed(chat_stream(["a", "b", "c", "d"], pause=0.03))
    with listening(settings) as url:
        whole = events_of(post(url, stream=True).content)
        name = whole[0]["response"]["id"]
        again = [events_of(stream_of(url, name).content)]
        again += [
            events_of(stream_of(url, name, starting_after=number).content)
            for number in range(len(whole))
        ]

        running = post(url).json()["id"]
        live = events_of(stream_of(url, running, starting_after=1).content)

    assert [event["sequence_number"] for event in whole] == list(range(len(whole)))
    assert whole[-1]["type"] == "response.completed"
    assert again == [whole, *(whole[number + 1 :] for number in range(len(whole)))]
    assert [event["sequence_number"] for event in live] == list(range(2, len(live) + 2))
    assert text_of(live[-1]["response"]) == "abcd"


def test_a_stream_is_kept_alive_while_the_response_is_silent(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    upstream.handler = lambda _: streamed([0.5, *chat_stream()])
    with listening(evolve(settings, keep_alive_s=0.1)) as url:
        body = post(url, stream=True).text

    assert body.count(": keep-alive\n") >= 2
    assert events_of(body)[-1]["type"] == "response.completed"


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "", "9" * 20])
def test_a_place_that_is_not_a_number_is_refused(
    upstream: Loopback, settings: GatewaySettings, after: str
) -> None:
    with listening(settings) as url:
        name = post(url).json()["id"]
        answer = stream_of(url, name, starting_after=after)

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "starting_after")


def test_a_response_that_was_waited_for_has_no_events_and_cannot_be_cancelled(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    with listening(settings) as url:
        name = post(url, background=False).json()["id"]
        found = [stream_of(url, name), httpx.post(f"{url}/responses/{name}/cancel")]

    assert [answer.status_code for answer in found] == [400, 400]
    assert "background" in found[1].json()["error"]["message"]


def test_events_that_are_too_many_are_dropped_from_the_oldest(
    upstream: Loopback, settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream from the beginning is refused then; the response is whole."""
    monkeypatch.setattr(event_log, "MAX_LOG_BYTES", 3000)
    monkeypatch.setattr(event_log, "_RECENT_BYTES", 500)
    monkeypatch.setattr(event_log, "_PIECE_BYTES", 500)
    upstream.handler = lambda _: streamed(chat_stream(["word "] * 100))
    with listening(settings) as url:
        done = ended(url, post(url).json()["id"])
        refusal = stream_of(url, done["id"])
        number = 100
        while stream_of(url, done["id"], starting_after=number).status_code == 400:
            number += 1
        late = events_of(stream_of(url, done["id"], starting_after=number).content)

    assert text_of(done) == "word " * 100
    assert (refusal.status_code, refusal.json()["error"]["param"]) == (400, "starting_after")
    assert late[0]["sequence_number"] == number + 1
    assert late[-1]["response"] == done


# -- cancelling


@pytest.mark.parametrize("here", [True, False])
def test_a_response_can_be_cancelled_by_any_gateway(
    upstream: Loopback, two_gateways: tuple[str, str], here: bool
) -> None:
    """Twice is as once; the upstream is closed, and streams end."""
    upstream.handler = lambda _: streamed([chat_chunk(delta={"content": "Hel"}), 30.0, DONE])
    one, two = two_gateways
    asker = one if here else two
    name = post(one).json()["id"]
    wait_until(lambda: bool(upstream.received))
    with httpx.stream("GET", f"{asker}/responses/{name}?stream=true", timeout=30) as stream:
        pieces = stream.iter_bytes()
        received = next(pieces)
        cancelled = [httpx.post(f"{asker}/responses/{name}/cancel") for _ in range(2)]
        received += b"".join(pieces)
    wait_until(lambda: bool(upstream.disconnects))
    found = [got(url, name) for url in two_gateways]
    events = events_of(received)

    assert [answer.status_code for answer in cancelled] == [200, 200]
    assert cancelled[0].json()["status"] == "cancelled"
    assert cancelled[0].json() == cancelled[1].json() == found[0] == found[1]
    assert events[-1]["type"] == "response.cancelled"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_a_response_that_has_ended_is_not_cancelled(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    with listening(settings) as url:
        done = ended(url, post(url).json()["id"])
        cancelled = httpx.post(f"{url}/responses/{done['id']}/cancel")

    assert cancelled.json() == done


def test_a_response_that_waits_can_be_cancelled(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """It is never asked for."""
    release = threading.Event()
    upstream.handler = lambda _: streamed(held(release, chat_stream()))
    with listening(evolve(settings, limits=Limits(max_background=1))) as url:
        first, second = (post(url).json()["id"] for _ in range(2))
        cancelled = httpx.post(f"{url}/responses/{second}/cancel").json()
        release.set()
        ended(url, first)
        events = events_of(stream_of(url, second).content)

    assert cancelled["status"] == "cancelled"
    assert [event["type"] for event in events] == ["response.cancelled"]
    assert len(upstream.received) == 1


def test_a_response_can_be_deleted_while_it_is_made(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    upstream.handler = lambda _: streamed([chat_chunk(delta={"content": "Hel"}), 30.0, DONE])
    with listening(settings) as url:
        name = post(url).json()["id"]
        wait_until(lambda: bool(upstream.received))
        deleted = httpx.delete(f"{url}/responses/{name}").json()
        wait_until(lambda: bool(upstream.disconnects))
        time.sleep(0.1)
        gone = httpx.get(f"{url}/responses/{name}")

    assert deleted["deleted"] is True
    assert gone.status_code == 404


# -- several processes


def test_a_stream_is_read_through_another_gateway(
    upstream: Loopback, two_gateways: tuple[str, str]
) -> None:
    """As it is made, from the beginning and from the middle."""
    upstream.handler = lambda _: streamed(chat_stream(["a", "b", "c"], pause=0.2))
    one, two = two_gateways
    name = post(one).json()["id"]
    began = time.monotonic()
    with httpx.stream("GET", f"{two}/responses/{name}?stream=true", timeout=30) as stream:
        pieces = stream.iter_bytes()
        received = next(pieces)
        first = time.monotonic() - began
        received += b"".join(pieces)
        done = time.monotonic() - began
    there = events_of(received)
    later = events_of(stream_of(two, name, starting_after=3).content)

    assert first < done
    assert there == events_of(stream_of(one, name).content)
    assert there[-1]["type"] == "response.completed"
    assert later == there[4:]
    assert got(two, name) == there[-1]["response"]


def test_a_stream_through_another_gateway_ends_where_the_response_is_deleted(
    upstream: Loopback, two_gateways: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is left to be read when the other gateway looks again."""
    monkeypatch.setattr(replay, "_POLL_S", 0.3)
    upstream.handler = lambda _: streamed([chat_chunk(delta={"content": "Hel"}), 30.0, DONE])
    one, two = two_gateways
    name = post(one).json()["id"]
    with httpx.stream("GET", f"{two}/responses/{name}?stream=true", timeout=10) as stream:
        pieces = stream.iter_bytes()
        received = next(pieces)
        httpx.delete(f"{one}/responses/{name}").raise_for_status()
        received += b"".join(pieces)

    events = [event["type"] for event in events_of(received)]
    assert events[0] == "response.created"
    assert events[-1] == "response.cancelled"


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sqlite", "redis", "postgres"])
def test_the_response_of_a_worker_that_was_killed_has_failed(
    upstream: Loopback, tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the time of its lease, for every gateway; a stream of it ends with the failure."""
    monkeypatch.setattr(lifecycle, "_GRACE_S", 0.2)
    upstream.handler = lambda _: streamed([chat_chunk(delta={"content": "Hel"}), 60.0, DONE])
    with ExitStack() as stack:
        named = {"OPENROUTER_API_KEY": UPSTREAM_KEY, "OPENROUTER_BASE_URL": f"{upstream.url}/v1"}
        state = sqlite_state(tmp_path)
        if backend == "redis":
            redis = stack.enter_context(running_redis())
            state = StateSettings(backend="redis", redis_url=redis.url)
            named["OPENBRIDGE_REDIS_URL"] = redis.url
        elif backend == "postgres":
            postgres = stack.enter_context(running_postgres())
            state = StateSettings(backend="postgres", postgres_url=postgres.url)
            named["OPENBRIDGE_POSTGRES_URL"] = postgres.url
        else:
            named["OPENBRIDGE_STATE_PATH"] = str(state.path)
        named["OPENBRIDGE_STATE_BACKEND"] = backend
        other = stack.enter_context(listening(settings_for(upstream.url, state=state)))
        worker = stack.enter_context(gateway(tmp_path, **named))
        name = post(worker.url).json()["id"]
        wait_until(lambda: bool(upstream.received))
        before = got(other, name)["status"]
        time.sleep(0.6)  # its events are in the store
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        _end_lease(state, name)
        events = events_of(stream_of(other, name).content)
        found = got(other, name)
        cancelled = httpx.post(f"{other}/responses/{name}/cancel").json()

    assert before == "in_progress"
    assert (found["status"], found["error"]["code"]) == ("failed", "server_error")
    assert "stopped" in found["error"]["message"]
    assert [event["type"] for event in events][-1] == "response.failed"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["response"] == found == cancelled


@pytest.mark.parametrize(("reader", "beat_s"), [(0, 600.0), (1, 0.5)], ids=["here", "elsewhere"])
def test_a_response_whose_lease_is_gone_goes_on_where_its_process_does(
    upstream: Loopback,
    two_gateways: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reader: int,
    beat_s: float,
) -> None:
    """As after the clock of the store was set on: other processes wait for its next beat."""
    monkeypatch.setattr(responses, "BEAT_S", beat_s)
    monkeypatch.setattr(lifecycle, "_GRACE_S", PATIENCE_S)
    release = threading.Event()
    upstream.handler = lambda _: streamed(held(release, chat_stream(["Hel", "lo"])))
    name = post(two_gateways[0]).json()["id"]
    wait_until(lambda: bool(upstream.received))
    _end_lease(sqlite_state(tmp_path), name)
    meanwhile = got(two_gateways[reader], name)
    release.set()
    done = ended(two_gateways[0], name)

    assert meanwhile["status"] == "in_progress"
    assert (done["status"], text_of(done)) == ("completed", "Hello")


def _end_lease(state: StateSettings, name: str) -> None:
    """Let the time of a lease pass, which would take half a minute."""

    async def pass_time() -> None:
        store = store_for(GatewaySettings(state=state))
        await store.keep(f"background:{name}:life", b"0", 0.01)
        await store.aclose()
        await anyio.sleep(0.05)

    anyio.run(pass_time)


def test_the_lease_lasts_less_than_a_minute_and_longer_than_some_beats() -> None:
    assert 3 * lifecycle.BEAT_S < lifecycle.LEASE_S < 60 - lifecycle.BEAT_S


@pytest.mark.slow
def test_answers_come_to_their_end_on_a_stop(upstream: Loopback, tmp_path: Path) -> None:
    """Those that need longer than the patience have failed, for the next process."""
    release = threading.Event()
    upstream.handler = lambda r: streamed(
        held(release, chat_stream(["a", "b"])) if b"short" in r.body else [600.0, DONE]
    )
    named = {
        "OPENROUTER_API_KEY": UPSTREAM_KEY,
        "OPENROUTER_BASE_URL": f"{upstream.url}/v1",
        "OPENBRIDGE_SHUTDOWN_SECONDS": "4",
    }
    with gateway(tmp_path, **named) as first:
        names = [post(first.url, input=text).json()["id"] for text in ("short", "long")]
        wait_until(lambda: len(upstream.received) == 2)
        first.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "Shutting down" in [line["event"] for line in first.lines])
        release.set()
        first.process.wait(60)
    with gateway(tmp_path, **named) as second:
        found = [got(second.url, name) for name in names]

    assert [one["status"] for one in found] == ["completed", "failed"]
    assert text_of(found[0]) == "ab"
    assert "stopped" in found[1]["error"]["message"]
    assert not any("exception" in line for line in first.lines)


# -- the official client


def test_the_official_client_polls_resumes_and_cancels(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    upstream.handler = lambda _: streamed(chat_stream(["a", "b", "c"], pause=0.05))
    with listening(settings) as url, openai.OpenAI(base_url=url, api_key="any") as client:
        seen = []
        stream = client.responses.create(model="m-1", input="Hi", background=True, stream=True)
        for event in stream:
            seen.append(event)
            if event.type == "response.output_text.delta":
                break
        stream.close()
        assert seen[0].type == "response.created"
        name = seen[0].response.id
        rest = list(
            client.responses.retrieve(name, stream=True, starting_after=seen[-1].sequence_number)
        )
        done = client.responses.retrieve(name)
        cancelled = client.responses.cancel(name)

    assert [event.sequence_number for event in rest] == list(
        range(seen[-1].sequence_number + 1, seen[-1].sequence_number + 1 + len(rest))
    )
    assert rest[-1].type == "response.completed"
    assert (done.output_text, cancelled.status) == ("abc", "completed")


# -- parts


@pytest.mark.anyio
async def test_events_wait_for_a_store_that_is_away() -> None:
    """They are written together later; what memory has let go is a gap, not a wrong number."""

    class Away(SqliteResponseStore):
        away = True

        async def keep(self, name: str, value: bytes, ttl_s: float) -> None:
            if self.away:
                raise StateUnavailableError("away")
            await super().keep(name, value, ttl_s)

    store = Away(None, ttl_s=60, max_entries=10, max_bytes=10**6)
    log = EventLog(store, "resp_1")
    log.add([b"0", b"1"])
    await log.flush()
    log.add([b"2"])
    store.away = False
    await log.flush()
    data = await store.value(piece_name("resp_1", 0))
    following = await store.value(piece_name("resp_1", 1))
    await store.aclose()

    assert data is not None
    assert Piece.unpacked(data) == Piece(0, (b"0", b"1", b"2"))
    assert following is None
    assert (log.since(1), log.since(3)) == ([b"1", b"2"], [])


@pytest.mark.anyio
async def test_events_that_two_tasks_write_at_once_are_written_once() -> None:
    """The one that writes them now and then, and the one that has come to the end."""
    store = SqliteResponseStore(None, ttl_s=60, max_entries=10, max_bytes=10**6)
    log = EventLog(store, "resp_1")
    log.add([b"0", b"1"])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(log.flush)
        tasks.start_soon(log.flush)
    log.add([b"2"])
    await log.flush()
    pieces = [await store.value(piece_name("resp_1", number)) for number in range(3)]
    await store.aclose()

    assert [piece and Piece.unpacked(piece).lines for piece in pieces] == [
        (b"0", b"1"),
        (b"2",),
        None,
    ]


@pytest.mark.anyio
async def test_a_damaged_piece_is_an_error_of_the_store(settings: GatewaySettings) -> None:
    for data in (b"", b"123", b"\0" * 8 + b"not compressed"):
        with pytest.raises(StateUnavailableError, match="damaged"):
            Piece.unpacked(data)


@pytest.mark.anyio
async def test_an_end_that_was_not_written_to_its_record_is_completed_by_a_reader() -> None:
    """As after a process that was killed between the two."""

    class Killed(SqliteResponseStore):
        killed = False

        async def put(self, record: Any, **options: Any) -> None:
            if self.killed:
                raise StateUnavailableError("killed")
            await super().put(record, **options)

    store = Killed(None, ttl_s=60, max_entries=10, max_bytes=10**6)
    states = lifecycle.Lifecycle(store)
    queued = evolve(RECORD, response={"status": "queued"}, items={}, conversation=None)
    final = evolve(RECORD, response={"status": "completed"})
    await states.begin(queued)
    assert await states.run("resp_1")
    store.killed = True
    with pytest.raises(StateUnavailableError):
        await states.end(final)
    store.killed = False

    assert await states.current(queued) == final
    assert await store.items(["msg_1"], "me") == RECORD.items
    assert await states.end(lifecycle.cancelled(queued)) == evolve(final, items={"msg_1": {}})
    await store.aclose()


@pytest.mark.anyio
async def test_of_all_who_end_a_response_one_wins(tmp_path: Path) -> None:
    store = SqliteResponseStore(tmp_path / "x.db", ttl_s=60, max_entries=100, max_bytes=10**6)
    states = lifecycle.Lifecycle(store)
    queued = evolve(RECORD, response={"status": "queued"})
    await states.begin(queued)
    ends: list[Any] = []

    async def end(number: int) -> None:
        final = evolve(RECORD, response={"status": "failed", "n": number})
        ends.append((await states.end(final)).response)

    async with anyio.create_task_group() as enders:
        for number in range(8):
            enders.start_soon(end, number)
    current = await states.current(queued)
    await store.aclose()

    assert all(one == current.response for one in ends)


@pytest.mark.anyio
async def test_a_response_whose_state_was_forgotten_has_failed(settings: GatewaySettings) -> None:
    store = SqliteResponseStore(None, ttl_s=60, max_entries=10, max_bytes=10**6)
    queued = evolve(RECORD, response={"status": "queued"})
    await store.put(queued)

    found = await lifecycle.Lifecycle(store).current(queued)

    assert found.response["status"] == "failed"
    assert (await store.get("resp_1")).response == found.response  # type: ignore[union-attr]
    await store.aclose()


@pytest.mark.anyio
async def test_closing_a_service_waits_for_its_background_responses(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """Also in a program that embeds the service."""
    upstream.handler = lambda _: streamed(chat_stream(["a"], pause=0.2))
    async with asked(settings) as client:
        await client.post("/v1/responses", json=ASK)
        await anyio.sleep(0.05)

    assert (len(upstream.received), upstream.disconnects) == (1, [])
