"""The behaviour that all stores share, and then what is specific to one."""

import base64
import os
import secrets
import shutil
import sqlite3
import stat
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import pytest
from attrs import evolve

from llmcore.bridge.configuration.reading import settings_from
from llmcore.bridge.configuration.settings import GatewaySettings, StateBackend, StateSettings
from llmcore.bridge.state import postgres as postgres_store
from llmcore.bridge.state import redis as redis_store
from llmcore.bridge.state import sqlite as sqlite_store
from llmcore.bridge.state.ledger_redis import RedisLedger
from llmcore.bridge.state.postgres import PostgresResponseStore
from llmcore.bridge.state.redis import RedisResponseStore
from llmcore.bridge.state.sqlite import SqliteResponseStore
from llmcore.bridge.state.store import (
    THREADS,
    ResponseStore,
    StateUnavailableError,
    packed,
    packed_item,
    unpacked,
)
from llmcore.bridge.state.stores import store_for
from llmcore.fronts.openai_responses.state import Record
from llmcore.schema.errors import ConfigurationError
from llmcore.storage import hung_server
from tests.support.servers.bridge_service import asked, listening, settings_for, sqlite_state
from tests.support.servers.loopback import Loopback
from tests.support.servers.postgres_servers import PostgresServer
from tests.support.servers.redis_servers import running_redis

RECORD = Record(
    id="resp_1",
    owner="me",
    response={"id": "resp_1", "output": [{"id": "msg_1", "text": "héllo"}]},
    input_items=({"id": "msg_0", "type": "message"},),
    conversation={"model": "m", "messages": []},
    items={"msg_1": {"id": "msg_1", "text": "héllo"}},
)


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> GatewaySettings:
    """Configure a store of each kind."""
    kind = request.param
    url = request.getfixturevalue(kind).url if kind in ("redis", "postgres") else None
    path = tmp_path / "state" / "x.db"
    return GatewaySettings(
        state=StateSettings(backend=kind, path=path, redis_url=url, postgres_url=url)
    )


@asynccontextmanager
async def opened(settings: GatewaySettings) -> AsyncIterator[ResponseStore]:
    store = store_for(settings)
    try:
        await store.delete("resp_1")
        yield store
    finally:
        await store.aclose()


@pytest.mark.anyio
async def test_what_is_put_can_be_got(settings: GatewaySettings) -> None:
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
@pytest.mark.parametrize("name", ["resp_\0", "é", "\x7f"])
async def test_an_id_that_no_response_has_is_not_found(
    settings: GatewaySettings, name: str
) -> None:
    """Whatever characters clients send in it."""
    known = settings_for("http://127.0.0.1:1", state=settings.state)
    accounts = evolve(known.accounts, admin_key="admin-key-of-the-tests")
    body = {"model": "m", "input": "Hi"}
    reference = {"type": "item_reference", "id": name}
    async with asked(evolve(known, accounts=accounts)) as client:
        found = await client.get(f"/v1/responses/{quote(name)}")
        continued = await client.post("/v1/responses", json={**body, "previous_response_id": name})
        referring = await client.post("/v1/responses", json={**body, "input": [reference]})
        admin = {"authorization": "Bearer admin-key-of-the-tests"}
        key = await client.get(f"/admin/keys/{quote(name)}", headers=admin)

    assert (found.status_code, continued.status_code) == (404, 400)
    assert (referring.status_code, key.status_code) == (404, 404)


@pytest.mark.anyio
async def test_items_are_their_owners_only(settings: GatewaySettings) -> None:
    """A guessed id gives the same error as an unknown one."""
    async with opened(settings) as store:
        await store.put(RECORD)

        assert await store.items(["msg_1"], "somebody") == {}


@pytest.mark.anyio
async def test_what_is_deleted_is_gone(settings: GatewaySettings) -> None:
    """Its items too; the second time there was none."""
    async with opened(settings) as store:
        await store.put(RECORD)

        assert await store.delete("resp_1") is True
        assert await store.delete("resp_1") is False
        assert await store.get("resp_1") is None
        assert await store.items(["msg_1"], "me") == {}


@pytest.mark.anyio
async def test_a_record_can_be_replaced(settings: GatewaySettings) -> None:
    """The last one counts."""
    async with opened(settings) as store:
        await store.put(RECORD)
        await store.put(evolve(RECORD, response={"new": True}))

        got = await store.get("resp_1")
        assert got is not None
        assert got.response == {"new": True}


@pytest.mark.anyio
async def test_what_is_old_is_forgotten(settings: GatewaySettings) -> None:
    """A record and its items end together."""
    async with opened(evolve(settings, state=evolve(settings.state, ttl_s=0.05))) as store:
        await store.put(RECORD)
        await anyio.sleep(0.2)

        assert await store.get("resp_1") is None
        assert await store.items(["msg_1"], "me") == {}
        assert await store.delete("resp_1") is False


@pytest.mark.anyio
async def test_a_record_may_end_before_the_others(settings: GatewaySettings) -> None:
    """Not after them: the store's own time to live is the most."""
    async with opened(settings) as store:
        await store.put(RECORD, most_s=0.05)
        await store.put(evolve(RECORD, id="resp_long", items={}), most_s=1e12)
        await anyio.sleep(0.2)

        assert await store.items(["msg_1"], "me") == {}
        assert await store.get("resp_long") is not None


@pytest.mark.anyio
async def test_concurrent_writers_lose_no_record(settings: GatewaySettings) -> None:
    """Concurrent writers lose nothing."""
    async with opened(settings) as store:
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(store.put, evolve(RECORD, id=f"many_{number}"))

        found = [await store.get(f"many_{number}") for number in range(40)]
        assert [one.id for one in found if one] == [f"many_{number}" for number in range(40)]


@pytest.mark.anyio
async def test_all_who_share_a_store_have_one_sealing_key(settings: GatewaySettings) -> None:
    """The first use makes it, and other stores have other keys."""
    keys: list[bytes] = []
    async with opened(settings) as store:
        one = store if settings.state.backend == "memory" else store_for(settings)
        async with anyio.create_task_group() as tasks:
            for either in (store, one, store):
                tasks.start_soon(_add, keys, either.sealing_key)
        await one.aclose()

    async with aclosing(memory(lambda: 0.0)) as another:
        other_key = await another.sealing_key()

    assert len(set(keys)) == 1
    assert len(keys[0]) == 32
    assert other_key not in keys


@pytest.mark.anyio
async def test_a_value_is_kept_for_its_own_time(settings: GatewaySettings) -> None:
    async with opened(settings) as store:
        assert await store.value("a") is None
        await store.keep("a", b"1", 60)
        await store.keep("short", b"2", 0.05)
        await store.keep("a", bytes(range(256)), 60)
        await anyio.sleep(0.2)

        assert await store.value("a") == bytes(range(256))
        assert await store.value("short") is None
        await store.forget(["a", "missing"])
        assert await store.value("a") is None


@pytest.mark.anyio
async def test_a_value_is_swapped_only_from_what_it_is(settings: GatewaySettings) -> None:
    async with opened(settings) as store:
        await store.forget(["s"])
        steps = [
            await store.swap("s", b"1", b"2", 60),
            await store.swap("s", None, b"1", 60),
            await store.swap("s", None, b"other", 60),
            await store.swap("s", b"1", b"2", 60),
            await store.swap("s", b"1", b"2", 60),
            await store.swap("s", b"2", b"brief", 0.05),
        ]
        await anyio.sleep(0.2)

        assert steps == [False, True, False, True, True, True]
        assert await store.swap("s", None, b"3", 60)
        assert await store.value("s") == b"3"


@pytest.mark.anyio
async def test_of_many_that_swap_one_wins(settings: GatewaySettings) -> None:
    """Also where they are different processes' stores."""
    won: list[int] = []

    async def attempt(store: ResponseStore, number: int) -> None:
        if await store.swap("race", None, b"%d" % number, 60):
            won.append(number)

    async with opened(settings) as store:
        await store.forget(["race"])
        other = store if settings.state.backend == "memory" else store_for(settings)
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(attempt, (store, other)[number % 2], number)
        assert await store.value("race") == b"%d" % won[0]
        await other.aclose()

    assert len(won) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("backend", ["memory", "sqlite"])
async def test_large_values_are_refused_beyond_the_bound(
    tmp_path: Path, backend: StateBackend
) -> None:
    """Small ones, such as leases, are kept; what is past its time makes room."""
    state = StateSettings(backend=backend, path=tmp_path / "x.db", max_bytes=10_000)
    async with opened(GatewaySettings(state=state)) as store:
        await store.keep("old", b"x" * 5500, 60)
        with pytest.raises(StateUnavailableError, match="no room"):
            await store.keep("new", b"x" * 5600, 60)
        await store.keep("lease", b"x", 60)
        await store.keep("old", b"x" * 4400, 0.01)  # still too much beside the new one
        await anyio.sleep(0.1)
        await store.keep("new", b"x" * 5600, 60)

        assert await store.value("lease") == b"x"
        assert await store.value("new") == b"x" * 5600


async def _add(keys: list[bytes], ask: Callable[[], Awaitable[bytes]]) -> None:
    keys.append(await ask())


# -- memory


def memory(clock: Callable[[], float], entries: int = 3, size: int = 10**6) -> SqliteResponseStore:
    return SqliteResponseStore(None, ttl_s=10, max_entries=entries, max_bytes=size, clock=clock)


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
    await store.aclose()


@pytest.mark.anyio
async def test_memory_is_bounded_in_size() -> None:
    """So many bytes, whatever the number."""
    size = len(packed(RECORD)) + len(packed_item(RECORD.items["msg_1"], "me"))
    store = memory(lambda: 0.0, entries=100, size=2 * size + 20)
    for number in range(6):
        await store.put(evolve(RECORD, id=f"resp_{number}"))

    kept = [number for number in range(6) if await store.get(f"resp_{number}")]
    assert kept == [4, 5]
    await store.aclose()


# -- sqlite


def sqlite_at(path: Path, **changes: Any) -> SqliteResponseStore:
    bounds: dict[str, Any] = {"ttl_s": 60, "max_entries": 1000, "max_bytes": 10**6}
    return SqliteResponseStore(path, **{**bounds, **changes})


def row_ids(path: Path, table: str = "responses") -> set[str]:
    """Return the ids in the file, of all owners."""
    with closing(sqlite3.connect(path)) as db:
        return {row[0] for row in db.execute(f"select id from {table}")}


@pytest.mark.anyio
async def test_the_file_outlives_the_store(tmp_path: Path) -> None:
    """A restarted gateway continues; other users of the machine cannot read the file."""
    path = tmp_path / "new" / "state.db"
    first = sqlite_at(path)
    await first.put(RECORD)
    await first.aclose()
    second = sqlite_at(path)

    assert await second.get("resp_1") is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await second.aclose()


@pytest.mark.anyio
async def test_old_rows_leave_the_file(tmp_path: Path) -> None:
    """A later write takes them out."""
    now = [0.0]
    path = tmp_path / "state.db"
    store = sqlite_at(path, ttl_s=10, clock=lambda: now[0])
    await store.put(RECORD)
    now[0] = 1000.0
    await store.put(evolve(RECORD, id="resp_2", items={}))
    await store.aclose()

    assert row_ids(path) == {"resp_2"}
    assert row_ids(path, "items") == set()


@pytest.mark.anyio
async def test_a_write_costs_the_same_however_much_is_old(tmp_path: Path) -> None:
    """A gateway that was away for long takes out what is old little by little."""
    now = [0.0]
    path = tmp_path / "state.db"
    store = sqlite_at(path, ttl_s=10, clock=lambda: now[0])
    for number in range(200):
        await store.put(evolve(RECORD, id=f"old_{number}", items={}))
    now[0] = 1000.0
    left = []
    for number in range(4):
        await store.put(evolve(RECORD, id=f"new_{number}", items={}))
        left.append(len(row_ids(path)))
    await store.aclose()

    assert left == [137, 74, 11, 4]


@pytest.mark.anyio
async def test_the_file_is_bounded_in_number(tmp_path: Path) -> None:
    """The oldest goes first, its items with it; processes that share the file count together."""
    path = tmp_path / "state.db"
    stores = [sqlite_at(path, max_entries=3) for _ in range(2)]
    for number in range(6):
        items = {f"msg_{number}": RECORD.items["msg_1"]}
        await stores[number % 2].put(evolve(RECORD, id=f"resp_{number}", items=items))
    await stores[0].put(evolve(RECORD, id="resp_4", items={}))  # again: nothing is evicted
    for store in stores:
        await store.aclose()

    assert row_ids(path) == {"resp_3", "resp_4", "resp_5"}
    assert row_ids(path, "items") == {"msg_3", "msg_5"}


@pytest.mark.anyio
async def test_the_file_is_bounded_in_size(tmp_path: Path) -> None:
    """A record above the limit is kept until the next one comes; deleting makes room."""
    path = tmp_path / "state.db"
    size = len(packed(RECORD)) + len(packed_item(RECORD.items["msg_1"], "me"))
    store = sqlite_at(path, max_bytes=2 * size + 20)
    seen = []
    for number in range(4):
        items = {f"msg_{number}": RECORD.items["msg_1"]}
        await store.put(evolve(RECORD, id=f"resp_{number}", items=items))
    seen.append(row_ids(path))
    await store.delete("resp_3")
    await store.put(evolve(RECORD, id="resp_4"))
    seen.append(row_ids(path))
    noise = {"noise": secrets.token_hex(2 * size)}
    await store.put(evolve(RECORD, id="large", response=noise))
    seen.append(row_ids(path))
    await store.put(evolve(RECORD, id="resp_5"))
    seen.append(row_ids(path))
    await store.aclose()

    assert seen == [{"resp_2", "resp_3"}, {"resp_2", "resp_4"}, {"large"}, {"resp_5"}]


def of(owner: str, number: int, **changes: Any) -> Record:
    """Return a record of *owner* without items."""
    return evolve(RECORD, id=f"{owner}_{number}", owner=owner, items={}, **changes)


@pytest.mark.anyio
@pytest.mark.parametrize("bound", ["max_entries", "max_bytes"])
async def test_an_owner_displaces_no_responses_of_those_that_have_less(
    tmp_path: Path, bound: str
) -> None:
    """Of one that fills the store, its own oldest ones are deleted first."""
    path = tmp_path / "state.db"
    size = len(packed(of("one", 10)))
    store = sqlite_at(path, **{bound: 8 if bound == "max_entries" else 8 * size + 20})
    for number in range(10, 13):
        await store.put(of("two", number))
    for number in range(10, 60):
        await store.put(of("one", number))
    filled = row_ids(path)
    for number in range(13, 15):
        await store.put(of("two", number))
    shared = row_ids(path)
    await store.put(of("six", 10))
    with_third = row_ids(path)
    await store.aclose()

    two = {f"two_{number}" for number in range(10, 13)}
    assert filled == two | {f"one_{number}" for number in range(55, 60)}
    assert len({name for name in shared if name.startswith("two")}) == 4
    assert "six_10" in with_third
    assert len(with_third) == 8


@pytest.mark.anyio
async def test_the_oldest_goes_where_every_owner_has_one(tmp_path: Path) -> None:
    """The newest is kept."""
    path = tmp_path / "state.db"
    now = [0.0]
    store = sqlite_at(path, max_entries=3, clock=lambda: now[0])
    for number in range(9):
        now[0] += 1
        await store.put(of(f"owner{9 - number}", 1))
        assert f"owner{9 - number}_1" in row_ids(path)
    await store.aclose()

    assert len(row_ids(path)) == 3


@pytest.mark.anyio
async def test_what_owners_have_is_found_by_an_index(tmp_path: Path) -> None:
    """A write into a full store costs the same however many responses and owners there are."""
    path = tmp_path / "state.db"
    store = sqlite_at(path)
    await store.put(RECORD)
    await store.aclose()
    largest = [
        sqlite_store._OLDEST_OF_LARGEST.replace("MEASURE", measure)
        for measure in ("entries", "bytes")
    ]
    with closing(sqlite3.connect(path)) as db:
        steps = [
            step[3]
            for query in (*largest, sqlite_store._OLDEST, sqlite_store._EXPIRED)
            for step in db.execute(f"explain query plan {query}", ("x",))
        ]

    assert all("INDEX" in step for step in steps if step.startswith(("SCAN", "SEARCH"))), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps


@pytest.mark.anyio
async def test_a_bound_that_was_lowered_is_reached(tmp_path: Path) -> None:
    """Over several writes."""
    path = tmp_path / "state.db"
    wide = sqlite_at(path)
    for number in range(100):
        await wide.put(evolve(RECORD, id=f"resp_{number}", items={}))
    await wide.aclose()
    narrow = sqlite_at(path, max_entries=10)
    for number in range(100, 103):
        await narrow.put(evolve(RECORD, id=f"resp_{number}", items={}))
    await narrow.aclose()

    assert row_ids(path) == {f"resp_{number}" for number in range(93, 103)}


@pytest.mark.anyio
async def test_a_locked_file_is_a_clear_error_for_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for the waiting of others; once it is free, all goes on."""
    monkeypatch.setattr(sqlite_store, "_BUSY_S", 0.3)
    store = sqlite_at(tmp_path / "state.db")
    await store.put(RECORD)
    errors: list[StateUnavailableError] = []

    async def attempt() -> None:
        try:
            await store.check()
        except StateUnavailableError as error:
            errors.append(error)

    with closing(sqlite3.connect(tmp_path / "state.db")) as holder:
        holder.execute("begin immediate")
        with anyio.fail_after(30):  # one after the other they would take a minute
            async with anyio.create_task_group() as tasks:
                for _ in range(200):
                    tasks.start_soon(attempt)
    await store.check()
    await store.aclose()

    assert len(errors) == 200
    assert all("locked" in str(error) for error in errors)


def test_several_processes_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """One makes the tables, and all go on."""
    path = tmp_path / "state.db"
    together = threading.Barrier(4)

    def open_and_write(number: int) -> None:
        async def write() -> None:
            store = sqlite_at(path)
            together.wait(10)
            await store.put(evolve(RECORD, id=f"resp_{number}", items={}))
            await store.aclose()

        anyio.run(write)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(open_and_write, range(4)))

    assert row_ids(path) == {f"resp_{number}" for number in range(4)}


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
        store = sqlite_at(path)
        with pytest.raises(StateUnavailableError, match="response store"):
            await store.put(RECORD)
        await store.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("version", [0, 1, 2, 99])
async def test_the_database_of_another_program_is_left_alone(tmp_path: Path, version: int) -> None:
    """Whatever version it says, nothing of it is changed."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table notes (text text)")
        db.execute(f"pragma user_version = {version}")
    before = path.read_bytes()
    store = sqlite_at(path)
    for call in (store.check(), store.put(RECORD), store.get("resp_1")):
        with pytest.raises(StateUnavailableError, match="OPENBRIDGE_STATE_PATH"):
            await call
    await store.aclose()

    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["other.db"]


@pytest.mark.anyio
async def test_a_file_that_lost_its_sums_is_counted_again(tmp_path: Path) -> None:
    """The bounds hold from then on."""
    path = tmp_path / "state.db"
    store = sqlite_at(path, max_entries=2)
    await store.put(RECORD)
    with closing(sqlite3.connect(path)) as db:
        db.execute("delete from held")
        db.commit()
    await store.put(evolve(RECORD, id="resp_2", items={}))
    await store.put(evolve(RECORD, id="resp_3", items={}))
    await store.aclose()

    assert row_ids(path) == {"resp_2", "resp_3"}


@pytest.mark.anyio
async def test_a_full_disk_is_known_before_the_upstream_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the room that there is, or by a write that failed for want of it."""
    store = sqlite_at(tmp_path / "state.db")
    await store.check()
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1024))
        with pytest.raises(StateUnavailableError, match="full"):
            await store.check()
    await store.check()

    def limit_growth(db: sqlite3.Connection) -> None:
        pages = db.execute("pragma page_count").fetchone()[0]
        db.execute(f"pragma max_page_count = {pages}")

    await store._run(limit_growth)
    random = base64.b64encode(os.urandom(1 << 20)).decode()
    with pytest.raises(StateUnavailableError, match="full"):
        await store.put(evolve(RECORD, response={"text": random}))
    with pytest.raises(StateUnavailableError, match="full"):
        await store.check()
    await store.aclose()


def test_a_gateway_that_starts_on_a_nearly_full_disk_serves_what_is_not_stored(
    tmp_path: Path, upstream: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has read the store's key by the time when the disk is full."""
    was_read, read = threading.Event(), SqliteResponseStore.sealing_key

    async def once(store: SqliteResponseStore) -> bytes:
        if was_read.is_set():
            raise StateUnavailableError("the disk is full")
        key = await read(store)
        was_read.set()
        return key

    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1024))
    monkeypatch.setattr(SqliteResponseStore, "sealing_key", once)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    with listening(settings_for(upstream.url, state=sqlite_state(tmp_path))) as url:
        assert was_read.wait(10)
        done = [httpx.post(f"{url}/chat/completions", json=body) for _ in range(2)]

    assert [one.status_code for one in done] == [200, 200]


def test_where_the_file_is(tmp_path: Path) -> None:
    """In the user's own folder for data."""
    settings = GatewaySettings(
        environ={"XDG_DATA_HOME": str(tmp_path)}, state=StateSettings(backend="sqlite")
    )

    assert str(tmp_path / "llmcore" / "openbridge.sqlite3") in repr(vars(store_for(settings)))


@pytest.mark.anyio
@pytest.mark.parametrize("backend", ["sqlite", "memory"])
async def test_the_bounds_are_the_settings(tmp_path: Path, backend: StateBackend) -> None:
    """Both backends keep to them."""
    environ = {
        "OPENBRIDGE_STATE_BACKEND": backend,
        "OPENBRIDGE_STATE_PATH": str(tmp_path / "state.db"),
        "OPENBRIDGE_STATE_MAX_ENTRIES": "1",
        "OPENBRIDGE_UPSTREAM": "local",
    }
    store = store_for(settings_from(environ))
    await store.put(RECORD)
    await store.put(evolve(RECORD, id="resp_2", items={}))

    assert await store.get("resp_1") is None
    assert await store.get("resp_2") is not None
    await store.aclose()


def test_without_a_home_the_path_must_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is not a safe default."""

    def nowhere() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(ConfigurationError, match="OPENBRIDGE_STATE_PATH"):
        store_for(GatewaySettings(environ={}, state=StateSettings(backend="sqlite")))


# -- postgres

FULL_DISK = """
create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'no room' using errcode = 'disk_full'; end $$;
create trigger full_disk before insert on openbridge_responses execute function full_disk();
"""


@pytest.mark.anyio
async def test_a_full_disk_of_postgres_is_known_before_the_next_request(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a moment it is tried again."""
    import psycopg

    monkeypatch.setattr(postgres_store, "FULL_S", 1.0)
    store = PostgresResponseStore(postgres.url, ttl_s=60)
    await store.check()
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute(FULL_DISK)
        with pytest.raises(StateUnavailableError, match="DiskFull"):
            await store.put(RECORD)
        db.execute("drop function full_disk cascade")
    with pytest.raises(StateUnavailableError, match="disk of the response store"):
        await store.check()
    await anyio.sleep(1.1)

    await store.check()
    await store.put(RECORD)
    await store.aclose()


# -- redis


@pytest.mark.anyio
async def test_redis_that_is_down_is_a_clear_error_and_comes_back() -> None:
    """Nothing half-written is left from the time it was away."""
    with running_redis() as server:
        store = RedisResponseStore(server.url, ttl_s=60)
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


@pytest.mark.anyio
async def test_redis_that_holds_something_else_or_is_full_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values of another type, and a bound that is reached."""
    monkeypatch.setattr(redis_store, "FULL_S", 1.0)
    with running_redis() as server, closing(server.client()) as client:
        store = RedisResponseStore(server.url, ttl_s=60)
        client.lpush("openbridge:response:resp_2", "x")
        with pytest.raises(StateUnavailableError, match="ResponseError"):
            await store.get("resp_2")
        client.config_set("maxmemory", 1)
        with pytest.raises(StateUnavailableError, match="OutOfMemoryError") as full:
            await store.put(RECORD)
        assert "resp_1" not in str(full.value)  # nor what was to be stored under it
        client.config_set("maxmemory", 0)
        with pytest.raises(StateUnavailableError, match="memory of the response store"):
            await store.check()
        await anyio.sleep(1.1)
        await store.check()
        client.config_set("maxmemory", 1)
        with pytest.raises(StateUnavailableError, match="OutOfMemoryError"):
            await store.check()
        client.config_set("maxmemory", 0)
        await store.put(RECORD)
        assert await store.get("resp_1") is not None
        await store.aclose()


@pytest.mark.anyio
async def test_redis_that_became_a_replica_is_left_for_its_successor(tmp_path: Path) -> None:
    """The address leads to another server then; a replica alone cannot be written to."""
    address = tmp_path / "s"
    with running_redis() as old, running_redis() as new, closing(old.client()) as client:
        address.symlink_to(old.socket)
        store = RedisResponseStore(f"unix://{address}", ttl_s=60)
        ledger = RedisLedger(f"unix://{address}")
        await store.put(RECORD)
        ledger.check()
        client.replicaof("127.0.0.1", "1")
        with pytest.raises(StateUnavailableError, match="ReadOnlyError"):
            await store.check()
        with pytest.raises(StateUnavailableError, match="ReadOnlyError"):
            ledger.check()
        address.unlink()
        address.symlink_to(new.socket)

        await store.put(RECORD)
        assert ledger.swap_key("k", None, b"new") is True
        await store.aclose()
        ledger.close()


@pytest.mark.slow
@pytest.mark.anyio
async def test_redis_that_hangs_is_not_waited_for_by_everybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One time limit, not one for each waiting request; after a moment it is tried again."""
    monkeypatch.setattr(redis_store, "_REPLY_S", 0.5)
    monkeypatch.setattr(hung_server, "_AVOIDED_S", 1.0)
    with running_redis() as server:
        store = RedisResponseStore(server.url, ttl_s=60)
        await store.check()
        failures: list[str] = []
        with server.hung():

            async def ask() -> None:
                with pytest.raises(StateUnavailableError) as caught:
                    await store.check()
                failures.append(str(caught.value))

            async with anyio.create_task_group() as tasks:
                for _ in range(80):
                    tasks.start_soon(ask)
        await anyio.sleep(1.1)
        await store.check()
        await store.aclose()

    waited = [failure for failure in failures if "TimeoutError" in failure]
    assert len(failures) == 80
    assert len(waited) <= THREADS + 1
    assert {*failures} - {*waited} == {"the response store (Redis) did not answer in time"}


def test_invalid_url_is_refused_without_its_password() -> None:
    """Before any connection, and without showing the password in it."""
    with pytest.raises(ConfigurationError, match="OPENBRIDGE_REDIS_URL"):
        RedisResponseStore("http://user:secret@host", ttl_s=60)


# -- records


@pytest.mark.parametrize("data", [b"", b"\x01junk", b"\x02", packed(RECORD)[:-4]])
def test_damaged_records_are_a_clear_error(data: bytes) -> None:
    """Whatever the store gives back."""
    with pytest.raises(StateUnavailableError, match="damaged"):
        unpacked(data)
