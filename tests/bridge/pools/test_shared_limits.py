"""Limits of upstreams that all workers of one ledger count together."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from attrs import Factory, define, field

from llmcore.bridge.configuration.settings import CoolDownSettings
from llmcore.bridge.configuration.tables import UpstreamSettings
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.pools.shared_limits import SharedLimits
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.bridge.state.ledger import ExceededMeter, Increment, Ledger, Meter
from llmcore.bridge.state.ledger_sql import SqliteLedger
from llmcore.bridge.state.store import StateUnavailableError
from tests.bridge.accounts.test_ledgers import Clock
from tests.support.servers.bridge_process import gateway
from tests.support.servers.loopback import Answer, Received, chat_whole, serve

pytestmark = pytest.mark.anyio

A = UpstreamModel("a", "m")


def upstream(running: int | None = None, rate: int | None = None) -> UpstreamSettings:
    return UpstreamSettings(
        name="a",
        provider="openai-compatible",
        key="k",
        max_running=running,
        requests_per_minute=rate,
    )


@define
class Scene:
    """Two workers of one ledger."""

    clock: Clock = field(factory=Clock)
    failures: list[str] = field(factory=list)
    ledger: Ledger = field(
        default=Factory(
            lambda scene: SqliteLedger(None, setting="X", clock=scene.clock),
            takes_self=True,
        )
    )

    def limits(self, worker: str, ledger: Ledger | None = None) -> SharedLimits:
        return SharedLimits(
            ledger or self.ledger,
            worker,
            hold_lease=lambda: self.ledger.renew(worker, 30.0),
            failed=lambda: self.failures.append(worker),
        )

    def health(
        self, worker: str, limited: UpstreamSettings, ledger: Ledger | None = None
    ) -> UpstreamHealth:
        return UpstreamHealth(
            CoolDownSettings(),
            Metrics(),
            [limited],
            shared=self.limits(worker, ledger),
            clock=self.clock,
        )


@pytest.fixture
def scene() -> Iterator[Scene]:
    scene = Scene()
    yield scene
    scene.ledger.close()


async def test_answers_under_way_count_over_all_workers(scene: Scene) -> None:
    one, two = scene.health("one", upstream(2)), scene.health("two", upstream(2))
    first, second = await one.enter(A), await two.enter(A)
    assert first is not None
    assert second is not None

    assert await one.enter(A) is None
    assert one.limited_until(A) > scene.clock.now
    await two.leave(A, second)
    scene.clock.now += 1

    assert await one.enter(A) is not None


@define
class Late:
    """A ledger that reserves, and whose answer does not arrive."""

    inner: Ledger
    is_late: bool = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def reserve(
        self, reservation: str, worker: str, increments: Sequence[Increment]
    ) -> ExceededMeter | None:
        excess = self.inner.reserve(reservation, worker, increments)
        if self.is_late:
            raise StateUnavailableError("the answer is late")
        return excess


async def test_a_place_that_a_late_ledger_counted_is_given_back(scene: Scene) -> None:
    """Or the upstream would have one place less until the process ends."""
    ledger: Any = Late(scene.ledger)
    limits = scene.limits("one", ledger)
    assert not (await limits.take(upstream(1))).reservation
    assert (await scene.limits("two").take(upstream(1))).wait_s

    ledger.is_late = False
    await limits.release()
    assert (await scene.limits("two").take(upstream(1))).reservation


async def test_requests_a_minute_count_over_all_workers(scene: Scene) -> None:
    one = scene.health("one", upstream(rate=2))
    two = scene.health("two", upstream(rate=2))
    slot = await one.enter(A)
    assert slot is not None
    assert await two.enter(A) is not None
    await one.leave(A, slot)

    assert await one.enter(A) is None
    assert one.limited_until(A) == pytest.approx(scene.clock.now + 30)
    scene.clock.now += 31
    assert await one.enter(A) is not None


async def test_a_reload_does_not_begin_a_new_minute_for_an_upstream_that_did_not_change() -> None:
    health = UpstreamHealth(CoolDownSettings(), Metrics(), [upstream(rate=1)], clock=Clock())
    assert await health.enter(A) is not None

    health.configure(CoolDownSettings(), [upstream(rate=1)])
    assert await health.enter(A) is None

    health.configure(CoolDownSettings(), [upstream(rate=2)])
    assert await health.enter(A) is not None


async def test_a_request_that_the_rate_refuses_holds_no_place(scene: Scene) -> None:
    one, two = scene.health("one", upstream(5, 1)), scene.health("two", upstream(5, 1))
    assert await one.enter(A) is not None
    assert await two.enter(A) is None

    (level,) = scene.ledger.levels([Meter(name="upstream:running:a", limit=5, keep_s=1.0)])
    assert level == 1


async def test_places_of_a_worker_that_was_killed_come_back_when_its_lease_ends(
    scene: Scene,
) -> None:
    assert await scene.health("killed", upstream(1)).enter(A) is not None
    alive = scene.health("alive", upstream(1))
    assert await alive.enter(A) is None
    for _ in range(4):
        scene.clock.now += 20
        scene.ledger.renew("alive", 30.0)

    assert await alive.enter(A) is not None


@define
class _Failing:
    """A ledger that can be out of reach."""

    inner: Ledger
    is_gone: bool = False

    def reserve(
        self, reservation: str, worker: str, increments: Sequence[Increment]
    ) -> ExceededMeter | None:
        if self.is_gone:
            raise StateUnavailableError("gone")
        return self.inner.reserve(reservation, worker, increments)

    def release(self, reservation: str, worker: str, meters: Sequence[Meter]) -> None:
        if self.is_gone:
            raise StateUnavailableError("gone")
        self.inner.release(reservation, worker, meters)


async def test_a_worker_goes_by_its_own_count_while_the_ledger_is_gone(scene: Scene) -> None:
    failing = _Failing(scene.ledger, is_gone=True)
    one = scene.health("one", upstream(1), failing)  # type: ignore[arg-type]
    assert await one.enter(A) is not None

    assert await one.enter(A) is None
    assert scene.failures == ["one"]


async def test_a_place_that_could_not_be_given_back_is_given_back_later(scene: Scene) -> None:
    failing = _Failing(scene.ledger)
    limits = scene.limits("one", failing)  # type: ignore[arg-type]
    slot = await limits.take(upstream(1))
    failing.is_gone = True
    await limits.give_back(slot)
    assert (await scene.limits("two").take(upstream(1))).wait_s > 0
    failing.is_gone = False
    await limits.release()

    assert (await scene.limits("two").take(upstream(1))).reservation


@pytest.mark.slow
def test_two_workers_send_an_upstream_no_more_at_once_than_it_takes(tmp_path: Path) -> None:
    """All requests are answered, some after a wait."""
    lock, running, most = threading.Lock(), [0], [0]
    together = threading.Event()

    def handler(_received: Received) -> Answer:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        together.wait(0.1)
        with lock:
            running[0] -= 1
        data = chat_whole("x")
        return Answer([data], headers={"content-type": "application/json"}, length=len(data))

    with serve(handler) as server:
        (tmp_path / "openbridge.toml").write_text(
            '[[upstreams]]\nname = "a"\nprovider = "openai-compatible"\n'
            f'base_url = "{server.url}/v1"\nkey = "k"\nmax_running = 2\n'
            '[models.m]\ntargets = ["a/x"]\n[server]\nworkers = 2\n'
        )
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        with gateway(tmp_path) as process, ThreadPoolExecutor(12) as threads:
            url = f"{process.url}/chat/completions"
            asked = [threads.submit(httpx.post, url, json=body, timeout=30) for _ in range(24)]
            answers = [one.result().status_code for one in asked]

    assert answers == [200] * 24
    assert most[0] == 2
