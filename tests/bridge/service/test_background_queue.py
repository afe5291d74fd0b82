"""Background responses that wait: for a place in their process, and for one at their upstream."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from attrs import evolve

from llmcore.bridge.background.places import FairPlaces
from llmcore.bridge.configuration.settings import GatewaySettings, Limits, StateSettings
from llmcore.bridge.pools import pooled_run
from tests.support.servers.bridge_service import (
    listening,
    settings_for,
    sqlite_state,
    streamed,
    text_of,
)
from tests.support.servers.loopback import Answer, Loopback, Received, chat_stream, held
from tests.support.servers.pooled_gateway import pooled_gateway
from tests.support.waiting import wait_until

ONE = '[models.m]\ntargets = ["a/up"]\n'


def post(url: str, **changes: Any) -> httpx.Response:
    body = {"model": "m", "input": "Hi", "background": True, **changes}
    return httpx.post(f"{url}/responses", json=body, timeout=30)


def got(url: str, name: str) -> Any:
    return httpx.get(f"{url}/responses/{name}", timeout=30).json()


def ended(url: str, name: str) -> Any:
    wait_until(lambda: got(url, name)["status"] not in ("queued", "in_progress"))
    return got(url, name)


class Slow:
    """An upstream that answers background responses, whose input is "slow", once released."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def __call__(self, received: Received) -> Answer:
        slow = "slow" in received.body.decode()
        events = chat_stream(["Hello"])
        return streamed(held(self.release, events) if slow else events)


# -- places


@pytest.mark.anyio
async def test_a_group_gets_three_quarters_of_the_places_and_others_the_next() -> None:
    places, began = FairPlaces(4), list[str]()
    leave = {name: anyio.Event() for name in "abcdef"}
    alone, with_others, following = list[str](), set[str](), list[str]()

    async def run(name: str, group: str) -> None:
        async with places.place(group):
            began.append(name)
            await leave[name].wait()

    async with anyio.create_task_group() as tasks:
        for name in "abcd":
            tasks.start_soon(run, name, "slow")
        await anyio.wait_all_tasks_blocked()
        alone = list(began)
        for name, group in (("e", "one"), ("f", "two")):
            tasks.start_soon(run, name, group)
        await anyio.wait_all_tasks_blocked()
        with_others = set(began)
        leave[alone[0]].set()
        await anyio.wait_all_tasks_blocked()
        following = began[-2:]
        for event in leave.values():
            event.set()

    assert len(alone) == 3
    assert len(with_others) == 4
    assert set(following) == {"e", "f"}
    assert {*alone, began[-1]} == set("abcd")


@pytest.mark.anyio
@pytest.mark.parametrize(("most", "groups"), [(4, 1), (8, 2), (40, 3)])
async def test_busy_groups_leave_a_place_for_another(most: int, groups: int) -> None:
    places, began, over, others = FairPlaces(most), Counter[str](), anyio.Event(), 0

    async def run(group: str) -> None:
        async with places.place(group):
            began[group] += 1
            await over.wait()

    async with anyio.create_task_group() as tasks:
        for number in range(groups):
            for _ in range(2 * most):
                tasks.start_soon(run, f"slow {number}")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(run, "another")
        await anyio.wait_all_tasks_blocked()
        others = began["another"]
        over.set()

    assert others == 1
    assert began.total() == groups * 2 * most + 1


@pytest.mark.anyio
async def test_what_stops_waiting_leaves_no_place_behind() -> None:
    places = FairPlaces(1)
    async with places.place("a"):
        with anyio.move_on_after(0):
            async with places.place("b"):
                pytest.fail("there is one place")
    with anyio.fail_after(5):
        async with places.place("b"):
            pass


# -- queues


def test_a_queue_of_one_model_leaves_places_for_others(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    """Which are then made at once; further ones of the first model are refused."""
    slow = Slow()
    upstream.handler = slow
    with listening(evolve(settings, limits=Limits(max_background=4))) as url:
        made = [post(url, input="slow") for _ in range(7)]
        other = post(url, model="m-2")
        done = ended(url, other.json()["id"])
        slow.release.set()
        all_done = [ended(url, each.json()["id"]) for each in made[:6]]

    assert [each.status_code for each in made] == [200] * 6 + [503]
    assert "this key and model" in made[6].json()["error"]["message"]
    assert text_of(done) == "Hello"
    assert {text_of(each) for each in all_done} == {"Hello"}


def test_the_queues_of_two_models_leave_places_for_a_third(
    upstream: Loopback, settings: GatewaySettings
) -> None:
    slow = Slow()
    upstream.handler = slow
    with listening(evolve(settings, limits=Limits(max_background=8))) as url:
        made = [post(url, model=f"m-{n}", input="slow") for n in (1, 2) for _ in range(16)]
        done = ended(url, post(url, model="m-3").json()["id"])
        slow.release.set()

    assert {each.status_code for each in made} == {200, 503}
    assert text_of(done) == "Hello"


def test_a_response_that_waits_in_the_process_has_no_place_at_its_upstream() -> None:
    """So that the upstream answers others."""
    slow, limits = Slow(), 'key = "k"\nmax_running = 2'
    config = "[limits]\nmax_background = 1\n" + ONE
    with pooled_gateway(config, own={"a": limits}, a=slow) as scene:
        made = [post(scene.url, input="slow").json()["id"] for _ in range(2)]
        wait_until(lambda: scene.asked("a") == 1)
        running = scene.root("/healthz?deep=1").json()["upstreams"]["a"]["running"]
        asked = scene.ask()
        slow.release.set()
        done = [ended(scene.url, name)["status"] for name in made]

    assert running == 1
    assert asked.status_code == 200
    assert done == ["completed", "completed"]


def test_a_background_response_waits_for_a_full_upstream_as_long_as_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that waits itself gets a 503."""
    monkeypatch.setattr(pooled_run, "_LONGEST_WAIT_S", 0.2)
    slow = Slow()
    with pooled_gateway(ONE, own={"a": 'key = "k"\nmax_running = 1'}, a=slow) as scene:
        made = [post(scene.url, input="slow").json()["id"] for _ in range(2)]
        wait_until(lambda: scene.asked("a") == 1)
        asked = scene.ask()
        slow.release.set()
        done = [ended(scene.url, name) for name in made]

    assert asked.status_code == 503
    assert [text_of(each) for each in done] == ["Hello", "Hello"]


# -- bounds of the store


@pytest.mark.parametrize("bounds", [{"max_entries": 2}, {"max_bytes": 1}])
def test_an_unfinished_response_is_found_whatever_its_owner_stores_meanwhile(
    upstream: Loopback, bounds: dict[str, Any]
) -> None:
    """Also where the store has no room for it."""
    slow = Slow()
    upstream.handler = slow
    state = StateSettings(backend="memory", **bounds)
    with listening(settings_for(upstream.url, state=state)) as url:
        name = post(url, input="slow").json()["id"]
        wait_until(lambda: bool(upstream.received))
        others = [post(url, background=False).json()["id"] for _ in range(4)]
        meanwhile = got(url, name)
        first = httpx.get(f"{url}/responses/{others[0]}")
        slow.release.set()
        done = ended(url, name)

    assert meanwhile["status"] == "in_progress"
    assert first.status_code == 404
    assert text_of(done) == "Hello"


def test_another_process_finds_a_response_that_outlasts_the_store(
    upstream: Loopback, tmp_path: Path
) -> None:
    """Its record is deleted after those of later responses, and not for its age."""
    slow = Slow()
    upstream.handler = slow
    state = evolve(sqlite_state(tmp_path), max_entries=2, ttl_s=0.5)
    settings = settings_for(upstream.url, state=state)
    with listening(settings) as one, listening(settings) as two:
        name = post(one, input="slow").json()["id"]
        old = post(one, background=False).json()["id"]
        wait_until(lambda: httpx.get(f"{two}/responses/{old}").status_code == 404)
        for _ in range(4):
            post(one, background=False)
        meanwhile = got(two, name)
        slow.release.set()
        wait_until(lambda: got(two, name).get("status") != "in_progress")

    assert meanwhile["status"] == "in_progress"


def test_an_unfinished_response_that_is_deleted_is_gone(upstream: Loopback, tmp_path: Path) -> None:
    """At once, also for the process that makes it, if another deleted it."""
    slow = Slow()
    upstream.handler = slow
    settings = settings_for(upstream.url, state=sqlite_state(tmp_path))
    with listening(settings) as one, listening(settings) as two:
        name = post(one, input="slow").json()["id"]
        deleted = httpx.delete(f"{two}/responses/{name}").json()
        found = httpx.get(f"{one}/responses/{name}")
        slow.release.set()

    assert deleted["deleted"] is True
    assert found.status_code == 404
