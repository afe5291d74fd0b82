"""Cool-downs that all workers of one store know."""

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.bridge.configuration.settings import CoolDownSettings, GatewaySettings, StateSettings
from llmcore.bridge.configuration.tables import UpstreamSettings
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.pools.health import Health
from llmcore.bridge.pools.shared_health import VALUE, SharedHealth, packed, unpacked
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.bridge.state.sqlite import SqliteResponseStore
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.bridge.state.stores import store_for
from llmcore.schema.errors import AuthenticationError, RateLimitError, ServerError
from tests.bridge.configuration.test_reload import wait_for
from tests.support.servers.bridge_process import gateway
from tests.support.servers.loopback import serve
from tests.support.servers.pooled_gateway import fails, says

pytestmark = pytest.mark.anyio

A, B = UpstreamModel("a", "m"), UpstreamModel("b", "m")
NOW = 1000.0


def worker(*upstreams: UpstreamSettings) -> UpstreamHealth:
    return UpstreamHealth(CoolDownSettings(), Metrics(), upstreams, clock=lambda: NOW)


@pytest.fixture
async def store() -> AsyncIterator[ResponseStore]:
    """Return one in memory, which is closed after the test."""
    settings = GatewaySettings(state=StateSettings(backend="memory"))
    async with aclosing(store_for(settings)) as memory:
        yield memory


async def test_a_worker_learns_what_another_has_found(store: ResponseStore) -> None:
    one, two = worker(), worker()
    one.failed(A, RateLimitError("x", retry_after=40))
    two.failed(B, AuthenticationError("x"))

    for _ in range(2):
        for health in (one, two):
            await SharedHealth(health, store).exchange()

    for health in (one, two):
        assert health.free_at(A) == NOW + 40
        assert health.free_at(B) == NOW + 300
        assert not health.changed
    one.succeeded(A, NOW)
    await SharedHealth(one, store).exchange()
    three = worker()
    await SharedHealth(three, store).exchange()
    assert (three.free_at(A), three.free_at(B)) == (0.0, NOW + 300)


@pytest.mark.parametrize(
    ("field", "value", "known"),
    [
        ("weight", 2.0, True),
        ("max_running", 9, True),
        ("key", "new", False),
        ("base_url", "http://other", False),
        ("variables", {"X": "1"}, False),
    ],
)
async def test_another_account_of_the_same_name_is_not_known_by_failures_of_this_one(
    store: ResponseStore, field: str, value: Any, known: bool
) -> None:
    """As while workers read a new key one after another, or gateways differ in their settings."""
    upstream = UpstreamSettings(name="a", provider="openai", key="old")
    old, other = worker(upstream), worker(evolve(upstream, **{field: value}))
    old.failed(A, AuthenticationError("x"))
    other.failed(B, ServerError("x"))
    for health in (old, other, old, other):
        await SharedHealth(health, store).exchange()

    assert (other.free_at(A) > NOW) is known
    assert old.free_at(B) > NOW
    third = worker(upstream)
    await SharedHealth(third, store).exchange()
    assert third.free_at(A) > NOW


async def test_a_key_that_others_have_not_read_yet_is_not_refused_by_their_failures(
    store: ResponseStore,
) -> None:
    early, late = worker(), worker()
    early.key_renewed("a")
    late.failed(A, AuthenticationError("the old key"))
    late.failed(B, AuthenticationError("x"))
    for health in (late, early):
        await SharedHealth(health, store).exchange()

    assert early.free_at(A) <= NOW
    assert early.free_at(B) > NOW


async def test_times_of_before_the_clock_was_set_back_are_forgotten(store: ResponseStore) -> None:
    """Else an upstream that failed for a moment would be left alone for an hour."""
    now = [NOW + 3600]
    limited = UpstreamSettings(name="b", provider="openai", requests_per_minute=1)
    one = UpstreamHealth(CoolDownSettings(), Metrics(), [limited], clock=lambda: now[0])
    one.failed(A, ServerError("x"))
    assert await one.enter(B) is not None
    await SharedHealth(one, store).exchange()
    before = [one.free_at(A) - now[0], one.free_at(B) - now[0]]
    now[0] = NOW
    two = worker()
    await SharedHealth(two, store).exchange()
    after = [one.free_at(A), one.free_at(B), two.free_at(A)]
    one.failed(A, ServerError("x"))
    for health in (one, two):
        await SharedHealth(health, store).exchange()

    assert before == [5.0, 60.0]
    assert after == [0.0, 0.0, 0.0]
    assert two.free_at(A) == NOW + 5


class _Racing(SqliteResponseStore):
    """A store in which another worker always writes first, or that cannot be reached."""

    def __init__(self, *, gone: bool = False) -> None:
        super().__init__(None, ttl_s=1, max_entries=1, max_bytes=1)
        self.gone = gone
        self.writes = 0

    async def value(self, name: str) -> bytes | None:
        assert name == VALUE
        if self.gone:
            raise StateUnavailableError("gone")
        return None

    async def swap(self, name: str, old: bytes | None, new: bytes, ttl_s: float) -> bool:
        self.writes += 1
        return False


async def test_what_could_not_be_written_is_written_the_next_time() -> None:
    health = worker()
    health.failed(A, ServerError("x"))
    racing = _Racing()
    await SharedHealth(health, racing).exchange()
    assert (racing.writes, health.changed) == (3, {"a/m"})

    await SharedHealth(health, _Racing(gone=True)).exchange()

    assert health.changed == {"a/m"}
    assert health.free_at(A) == NOW + 5


healths = st.builds(
    Health,
    free_at=st.floats(NOW, 1e6),
    failures=st.integers(0, 9),
    failed_at=st.floats(1, NOW),
    reason=st.sampled_from(["failing", "rate_limited"]),
)


@given(st.dictionaries(st.text(max_size=5), healths, max_size=5))
def test_what_is_packed_is_read_again(known: dict[str, Health]) -> None:
    assert unpacked(packed(known, NOW)) == known


@given(st.binary(max_size=40))
def test_unreadable_value_is_read_as_an_object(data: bytes) -> None:
    assert isinstance(unpacked(data), dict)


def until_every_worker_knows(url: str) -> None:
    """Wait until many connections in a row, which the kernel spreads, find `a` cooling down."""
    in_a_row, deadline = 0, time.monotonic() + 30
    while in_a_row < 20:
        assert time.monotonic() < deadline
        found = httpx.get(f"{url}/healthz?deep=1", timeout=30).json()["upstreams"]
        states = {found[name]["state"] for name in ("a", "a/x") if name in found}
        in_a_row = in_a_row + 1 if "cooling" in states else 0
        time.sleep(0 if in_a_row else 0.05)


@pytest.mark.slow
def test_workers_of_one_gateway_leave_a_limited_upstream_alone(tmp_path: Path) -> None:
    limited = fails(429, headers={"retry-after": "100"})
    with serve(limited) as a, serve(says("b")) as b:
        upstreams = "".join(
            f'[[upstreams]]\nname = "{name}"\nprovider = "openai-compatible"\n'
            f'base_url = "{server.url}/v1"\nkey = "k"\n'
            for name, server in (("a", a), ("b", b))
        )
        text = f'{upstreams}[models.m]\ntargets = ["a/x", "b/x"]\n[server]\nworkers = 2\n'
        (tmp_path / "openbridge.toml").write_text(text)
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        with gateway(tmp_path) as running:
            url = f"{running.url}/chat/completions"
            assert httpx.post(url, json=body, timeout=30).status_code == 200
            wait_for(running, "upstream_cools_down")
            until_every_worker_knows(running.url.removesuffix("/v1"))
            for _ in range(20):  # each by a connection of its own
                assert httpx.post(url, json=body, timeout=30).status_code == 200
        assert (len(a.received), len(b.received)) == (1, 21)
