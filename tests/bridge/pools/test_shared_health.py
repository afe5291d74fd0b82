"""Workers share which upstreams cool down, over every store."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from llmcore.bridge.configuration.document import parse_document
from llmcore.bridge.configuration.reading import settings_of
from llmcore.bridge.configuration.settings import CoolDownSettings, GatewaySettings, StateSettings
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.pools.shared_health import NAME, SharedHealth
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.bridge.state.memory import MemoryResponseStore
from llmcore.bridge.state.store import ResponseStore
from llmcore.bridge.state.stores import store_for
from llmcore.schema.errors import RateLimitError, ServerError
from tests.bridge.accounts.test_ledgers import Clock
from tests.support.servers.bridge_service import listening
from tests.support.servers.loopback import serve
from tests.support.servers.pooled_gateway import BOTH, fails, says
from tests.support.servers.postgres_servers import PostgresServer, running_postgres
from tests.support.servers.redis_servers import RedisServer, running_redis

TARGET = UpstreamModel("a", "m")
OTHER = UpstreamModel("b", "m")
LIMITED = RateLimitError("slow down", retry_after=30.0)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with running_redis() as running:
        yield running


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ResponseStore]:
    kind = request.param
    url = request.getfixturevalue(kind).url if kind in ("redis", "postgres") else None
    state = StateSettings(backend=kind, path=tmp_path / "x.db", redis_url=url, postgres_url=url)
    made = store_for(GatewaySettings(state=state))
    await made.forget([NAME])
    yield made
    await made.aclose()


class Worker:
    """The health of upstreams in one worker, and its exchange with the others."""

    def __init__(self, store: ResponseStore, clock: Clock) -> None:
        self.health = UpstreamHealth(CoolDownSettings(), Metrics(), clock=clock)
        self.shared = SharedHealth(store, self.health, clock=clock)

    def free_in(self, target: UpstreamModel, clock: Clock) -> float:
        return max(0.0, self.health.free_at(target) - clock.now)


@pytest.mark.anyio
async def test_a_cool_down_is_known_to_all_workers_after_an_exchange(store: ResponseStore) -> None:
    clock = Clock()
    one, two = Worker(store, clock), Worker(store, clock)
    one.health.failed(TARGET, LIMITED)
    await one.shared.exchange()
    await two.shared.exchange()

    assert two.free_in(TARGET, clock) == pytest.approx(30.0)
    assert two.free_in(OTHER, clock) == 0


@pytest.mark.anyio
async def test_changes_of_two_workers_at_once_are_both_kept(store: ResponseStore) -> None:
    """The one whose write was overtaken adds its own the next time."""
    clock = Clock()
    one, two, three = (Worker(store, clock) for _ in range(3))
    one.health.failed(TARGET, LIMITED)
    two.health.failed(OTHER, LIMITED)
    await one.shared.exchange()
    for _ in range(2):
        await two.shared.exchange()
    await three.shared.exchange()

    assert three.free_in(TARGET, clock) == pytest.approx(30.0)
    assert three.free_in(OTHER, clock) == pytest.approx(30.0)


@pytest.mark.anyio
async def test_a_recovered_upstream_is_left_out(store: ResponseStore) -> None:
    """A worker that starts later begins with a good opinion of it."""
    clock = Clock()
    one, two = Worker(store, clock), Worker(store, clock)
    one.health.failed(TARGET, ServerError("broken"))
    await one.shared.exchange()
    clock.now += 60
    one.health.succeeded(TARGET, clock.now)
    await one.shared.exchange()
    await two.shared.exchange()

    assert two.health.health("a/m").failures == 0


@pytest.mark.anyio
async def test_a_failure_during_the_exchange_is_not_lost() -> None:
    """It comes after what was written, so that the next exchange writes it."""
    clock = Clock()

    class Slow(MemoryResponseStore):
        async def swap(self, name: str, old: bytes | None, new: bytes, ttl_s: float) -> bool:
            done = await super().swap(name, old, new, ttl_s)
            clock.now += 1
            one.health.failed(TARGET, LIMITED)
            return done

    store = Slow(ttl_s=60.0, max_entries=10, max_bytes=10**6)
    one = Worker(store, clock)
    one.health.failed(TARGET, ServerError("broken"))
    await one.shared.exchange()

    assert one.health.changed == {"a/m"}


@pytest.mark.anyio
async def test_a_value_of_another_version_is_replaced() -> None:
    clock = Clock()
    store = MemoryResponseStore(ttl_s=60.0, max_entries=10, max_bytes=10**6)
    await store.keep(NAME, b'{"a": 1}', 60.0)
    one = Worker(store, clock)
    one.health.failed(TARGET, LIMITED)
    await one.shared.exchange()

    assert not one.health.changed
    assert b'"a/m"' in (await store.value(NAME) or b"")


def test_a_second_gateway_avoids_an_upstream_that_refused_the_first(redis: RedisServer) -> None:
    """Within two seconds, over the real server."""
    limited = fails(429, headers={"retry-after": "30"})
    with ExitStack() as stack:
        a, b = (stack.enter_context(serve(one)) for one in (limited, says("Hello.")))
        tables = "".join(
            f'[[upstreams]]\nname = "{name}"\nprovider = "openai-compatible"\n'
            f'base_url = "{server.url}/v1"\nkey = "sk"\n'
            for name, server in (("a", a), ("b", b))
        )
        state = f'[state]\nbackend = "redis"\nredis_url = "{redis.url}"\n'
        document = parse_document(Path("openbridge.toml"), state + tables + BOTH)
        one, two = (stack.enter_context(listening(settings_of({}, document))) for _ in range(2))

        def ask(url: str) -> int:
            body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
            return httpx.post(f"{url}/chat/completions", json=body, timeout=30).status_code

        assert ask(one) == 200
        assert len(a.received) == 1
        deadline = time.monotonic() + 10
        while "cooling" not in httpx.get(two.removesuffix("/v1") + "/healthz?deep=1").text:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert ask(two) == 200
        assert len(a.received) == 1
        assert len(b.received) == 2
