"""Every store keeps the same promises; what is special to one comes after."""

import sqlite3
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from attrs import evolve

from llmcore.bridge.config import Settings, State
from llmcore.bridge.memory_store import MemoryStore
from llmcore.bridge.redis_store import RedisStore
from llmcore.bridge.sqlite_store import SqliteStore
from llmcore.bridge.store import Record, StateUnavailableError, Store, packed, packed_item, unpacked
from llmcore.bridge.stores import store_for
from llmcore.schema.errors import ConfigurationError
from tests.redis_servers import RedisServer, running_redis

RECORD = Record(
    id="resp_1",
    owner="me",
    response={"id": "resp_1", "output": [{"id": "msg_1", "text": "héllo"}]},
    input_items=({"id": "msg_0", "type": "message"},),
    conversation={"model": "m", "messages": []},
    items={"msg_1": {"id": "msg_1", "text": "héllo"}},
)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with running_redis() as running:
        yield running


@pytest.fixture(params=["memory", "sqlite", "redis"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Configure a store of each kind."""
    kind = request.param
    url = request.getfixturevalue("redis").url if kind == "redis" else None
    return Settings(state=State(backend=kind, path=tmp_path / "state" / "x.db", redis_url=url))


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    store = store_for(settings)
    try:
        await store.delete("resp_1")
        yield store
    finally:
        await store.aclose()


@pytest.mark.anyio
async def test_what_is_put_can_be_got(settings: Settings) -> None:
    """The record as it was, its items by their ids."""
    async with opened(settings) as store:
        await store.check()
        await store.put(RECORD)

        got = await store.get("resp_1")
        assert got is not None
        assert evolve(got, items=RECORD.items) == RECORD
        assert await store.items(["msg_2", "msg_1"], "me") == RECORD.items
        assert await store.items([], "me") == {}
        assert await store.get("resp_2") is None
        assert await store.items(["msg_2"], "me") == {}


@pytest.mark.anyio
async def test_items_are_their_owners_only(settings: Settings) -> None:
    """Who guesses an id learns nothing."""
    async with opened(settings) as store:
        await store.put(RECORD)

        assert await store.items(["msg_1"], "somebody") == {}


@pytest.mark.anyio
async def test_what_is_deleted_is_gone(settings: Settings) -> None:
    """Its items too; the second time there was none."""
    async with opened(settings) as store:
        await store.put(RECORD)

        assert await store.delete("resp_1") is True
        assert await store.delete("resp_1") is False
        assert await store.get("resp_1") is None
        assert await store.items(["msg_1"], "me") == {}


@pytest.mark.anyio
async def test_a_record_can_be_replaced(settings: Settings) -> None:
    """The last one counts."""
    async with opened(settings) as store:
        await store.put(RECORD)
        await store.put(evolve(RECORD, response={"new": True}))

        got = await store.get("resp_1")
        assert got is not None
        assert got.response == {"new": True}


@pytest.mark.anyio
async def test_what_is_old_is_forgotten(settings: Settings) -> None:
    """A record and its items end together."""
    async with opened(evolve(settings, state=evolve(settings.state, ttl_s=0.05))) as store:
        await store.put(RECORD)
        await anyio.sleep(0.2)

        assert await store.get("resp_1") is None
        assert await store.items(["msg_1"], "me") == {}
        assert await store.delete("resp_1") is False


@pytest.mark.anyio
async def test_many_at_once(settings: Settings) -> None:
    """Concurrent writers lose nothing."""
    async with opened(settings) as store:
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(store.put, evolve(RECORD, id=f"many_{number}"))

        found = [await store.get(f"many_{number}") for number in range(40)]
        assert [one.id for one in found if one] == [f"many_{number}" for number in range(40)]


@pytest.mark.anyio
async def test_all_who_share_a_store_have_one_sealing_key(settings: Settings) -> None:
    """Whoever asks first makes it, and it is nobody else's."""
    keys: list[bytes] = []
    async with opened(settings) as store:
        one = store if settings.state.backend == "memory" else store_for(settings)
        async with anyio.create_task_group() as tasks:
            for either in (store, one, store):
                tasks.start_soon(_add, keys, either.sealing_key)
        await one.aclose()

    assert len(set(keys)) == 1
    assert len(keys[0]) == 32
    assert await MemoryStore(ttl_s=1, max_entries=1, max_bytes=1).sealing_key() not in keys


async def _add(keys: list[bytes], ask: Callable[[], Awaitable[bytes]]) -> None:
    keys.append(await ask())


# -- memory


def memory(clock: Callable[[], float], entries: int = 3, size: int = 10**6) -> MemoryStore:
    return MemoryStore(ttl_s=10, max_entries=entries, max_bytes=size, clock=clock)


@pytest.mark.anyio
async def test_memory_is_bounded_in_number() -> None:
    """The oldest goes first, its items with it."""
    store = memory(lambda: 0.0)
    for number in range(5):
        items = {f"msg_{number}": RECORD.items["msg_1"]}
        await store.put(evolve(RECORD, id=f"resp_{number}", items=items))

    kept = [number for number in range(5) if await store.get(f"resp_{number}")]
    assert kept == [2, 3, 4]
    assert await store.items(["msg_0"], "me") == {}


@pytest.mark.anyio
async def test_memory_is_bounded_in_size() -> None:
    """So many bytes, whatever the number."""
    size = len(packed(RECORD)) + len(packed_item(RECORD.items["msg_1"], "me"))
    store = memory(lambda: 0.0, entries=100, size=2 * size + 20)
    for number in range(6):
        await store.put(evolve(RECORD, id=f"resp_{number}"))

    kept = [number for number in range(6) if await store.get(f"resp_{number}")]
    assert kept == [4, 5]


# -- sqlite


@pytest.mark.anyio
async def test_the_file_outlives_the_store(tmp_path: Path) -> None:
    """A restarted gateway goes on; nobody else may read the file."""
    path = tmp_path / "new" / "state.db"
    first = SqliteStore(path, ttl_s=60)
    await first.put(RECORD)
    await first.aclose()
    second = SqliteStore(path, ttl_s=60)

    assert await second.get("resp_1") is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await second.aclose()


@pytest.mark.anyio
async def test_old_rows_leave_the_file(tmp_path: Path) -> None:
    """A later write takes them out."""
    now = [0.0]
    path = tmp_path / "state.db"
    store = SqliteStore(path, ttl_s=10, clock=lambda: now[0])
    await store.put(RECORD)
    now[0] = 1000.0
    await store.put(evolve(RECORD, id="resp_2", items={}))
    await store.aclose()

    db = sqlite3.connect(path)
    assert db.execute("select id from responses").fetchall() == [("resp_2",)]
    assert db.execute("select id from items").fetchall() == []
    db.close()


@pytest.mark.anyio
async def test_a_file_that_cannot_be_used_is_a_clear_error(tmp_path: Path) -> None:
    """A folder, another program's file, a newer version's."""
    other = tmp_path / "other.db"
    other.write_bytes(b"no database at all, and long enough to be looked at" * 30)
    newer = tmp_path / "newer.db"
    db = sqlite3.connect(newer)
    db.execute("pragma user_version = 99")
    db.close()
    for path in (tmp_path, other, newer):
        store = SqliteStore(path, ttl_s=60)
        with pytest.raises(StateUnavailableError, match="response store"):
            await store.put(RECORD)
        await store.aclose()


def test_where_the_file_is(tmp_path: Path) -> None:
    """In the user's own folder for data."""
    settings = Settings(environ={"XDG_DATA_HOME": str(tmp_path)}, state=State(backend="sqlite"))

    assert str(tmp_path / "llmcore" / "openbridge.sqlite3") in repr(vars(store_for(settings)))


def test_without_a_home_the_path_must_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no good place to guess."""

    def nowhere() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(ConfigurationError, match="OPENBRIDGE_STATE_PATH"):
        store_for(Settings(environ={}, state=State(backend="sqlite")))


# -- redis


@pytest.mark.anyio
async def test_redis_that_is_down_is_a_clear_error_and_comes_back() -> None:
    """Nothing half-written is left from the time it was away."""
    with running_redis() as server:
        store = RedisStore(server.url, ttl_s=60)
        await store.put(RECORD)
        server.stop()
        for _ in range(2):
            with pytest.raises(StateUnavailableError, match="Redis"):
                await store.put(evolve(RECORD, id="resp_2"))
        with pytest.raises(StateUnavailableError):
            await store.check()
        server.start()

        await store.check()
        assert await store.get("resp_2") is None
        await store.put(RECORD)
        assert await store.get("resp_1") is not None
        await store.aclose()


def test_a_url_that_is_none_is_refused() -> None:
    """Before anything is asked, and without showing the password in it."""
    with pytest.raises(ConfigurationError, match="OPENBRIDGE_REDIS_URL"):
        RedisStore("http://user:secret@host", ttl_s=60)


# -- records


@pytest.mark.parametrize("data", [b"", b"\x01junk", b"\x02", packed(RECORD)[:-4]])
def test_damaged_records_are_a_clear_error(data: bytes) -> None:
    """Whatever the store gives back."""
    with pytest.raises(StateUnavailableError, match="damaged"):
        unpacked(data)
