"""The response cache and its stores."""

import multiprocessing
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from attrs import evolve
from hypothesis import given

from llmcore import Client, ConfigurationError, LLMRequest, Message, Success, request
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware import Next
from llmcore.client.middleware.cached_events import Recording, unpacked
from llmcore.client.middleware.memory_cache import CacheStore, MemoryCache
from llmcore.client.middleware.response_cache import ResponseCache
from llmcore.client.middleware.sqlite_cache import SqliteCache
from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.schema.content import DocumentPart
from llmcore.schema.errors import AbortError
from llmcore.schema.events import LLMEvent, TextDelta
from llmcore.schema.options import HttpOverlay
from tests.client.middleware.middleware_scenes import (
    CUT,
    OTHER,
    OVERLOADED,
    PROVIDER,
    WANTED,
    FakeClock,
    answer,
    client_of,
    run,
)
from tests.support.servers.loopback import chat_whole
from tests.support.strategies.values import streams

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("streaming", [False, True])


async def text_of(client: Client, wanted: LLMRequest = WANTED, *, streaming: bool = False) -> str:
    return (await run(client, streaming, wanted)).unwrap().text


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., CacheStore]:
    if request.param == "memory":
        return MemoryCache
    return lambda **given: SqliteCache(tmp_path / "answers.db", **given)


# -- what comes back


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
async def test_the_same_request_is_sent_once(
    first: bool, second: bool, make_store: Callable[..., CacheStore]
) -> None:
    """Whole and streamed calls share the response; usage is kept, and it says that it is old."""
    client, transport = client_of([ResponseCache(make_store())], answer(first))
    fresh = (await run(client, first)).unwrap()
    async with client.stream(WANTED) if second else client.events(WANTED) as stream:
        events = [event async for event in stream]
        cached = (await stream.result()).unwrap()

    assert len(transport.requests) == 1
    assert violations(events) == []
    assert (cached.text, cached.usage, cached.id) == (fresh.text, fresh.usage, fresh.id)
    assert [note.code for note in cached.diagnostics] == ["response-from-cache"]
    assert cached.message == fresh.message
    assert fresh.diagnostics == ()


@given(streams(may_fail=False))
def test_any_response_comes_back_as_it_was(events: list[LLMEvent]) -> None:
    """Packed and unpacked, it folds to the same response."""
    recording = Recording()
    for event in events:
        recording.add([event])
    again = unpacked(recording.packed())
    was, now = collect(events).unwrap(), collect(again).unwrap()

    assert violations(again) == []
    assert now == evolve(was, diagnostics=now.diagnostics, rate_limit=None)
    assert now.diagnostics[:-1] == was.diagnostics
    assert now.diagnostics[-1].code == "response-from-cache"


# -- what counts as the same


async def test_the_key_of_a_request_is_the_same_in_every_version() -> None:
    """A file of responses outlives the version that wrote it."""
    keys = []

    class Noted(MemoryCache):
        async def get(self, key: str) -> bytes | None:
            keys.append(key)
            return await super().get(key)

    client, _ = client_of([ResponseCache(Noted())], answer(False))
    await run(client, False)

    assert keys == ["9f94aaa408258d6d27592a5fca5513d2081d42e0e4f6b1cc54f45ef0b166f352"]


@pytest.mark.parametrize(
    "changes",
    [
        {"model": PROVIDER.model("n")},
        {"model": OTHER.model("m")},
        {"messages": (Message.user("Something else"),)},
        {"system": "Be brief."},
        {"metadata": {"user": "b"}},
        {"provider_options": {"loop": {"x": 1}}},
        {"http": HttpOverlay(headers={"x-feature": "on"})},
        {"http": HttpOverlay(body={"x": 1})},
    ],
    ids=str,
)
async def test_what_decides_the_response_is_part_of_the_key(changes: dict[str, Any]) -> None:
    """Another model, provider, word or option is another request."""
    client, transport = client_of([ResponseCache()], answer(False), answer(False))
    await run(client, False)
    await run(client, False, evolve(WANTED, **changes))

    assert len(transport.requests) == 2


async def test_credentials_are_not_part_of_the_key() -> None:
    """A new key, or a trace id, is the same request; the model may be named either way."""
    client, transport = client_of([ResponseCache()], answer(False))
    await run(client, False)
    secret = HttpOverlay(headers={"Authorization": "Bearer other", "traceparent": "00-1"})
    await run(client, False, evolve(WANTED, http=secret))
    await run(client, False, evolve(WANTED, model="m", provider="loop"))

    assert len(transport.requests) == 1


async def test_files_count_by_what_is_in_them(tmp_path: Path) -> None:
    """The same path with other bytes is another request."""
    path = tmp_path / "note.txt"
    wanted = request(
        model=WANTED.model, messages=[Message.user(DocumentPart(path=str(path)), "What is it?")]
    )
    client, transport = client_of([ResponseCache()], answer(False), answer(False))
    for text in ("one", "one", "two"):
        path.write_text(text)
        await run(client, False, wanted)
    path.unlink()

    assert len(transport.requests) == 2
    assert not isinstance(await run(client, False, wanted), Success)


async def test_scopes_are_kept_apart() -> None:
    """A response for one user is not served to another."""
    store = MemoryCache()
    for scope in ("ann", "bob", "ann"):
        client, transport = client_of([ResponseCache(store, scope=scope)], answer(False))
        await run(client, False)
        sent = len(transport.requests)
    assert (sent, len(store)) == (0, 2)


# -- what is kept


FILTERED = chat_whole().replace(b'"stop"', b'"content_filter"')


@pytest.mark.parametrize(
    ("response", "streaming"),
    [(OVERLOADED, False), ([CUT], True), (FILTERED, False)],
    ids=["refused", "broken", "filtered"],
)
async def test_only_good_responses_are_kept(response: Any, streaming: bool) -> None:
    """Failures may pass, and filtered responses are not responses."""
    store = MemoryCache()
    client, _ = client_of([ResponseCache(store)], response, answer(streaming, "Later"))
    await run(client, streaming)
    assert len(store) == 0
    assert isinstance(await run(client, streaming), Success)
    assert len(store) == 1


async def test_a_stream_that_was_left_is_not_kept() -> None:
    """Half a response is not stored."""
    store = MemoryCache()
    client, _ = client_of([ResponseCache(store)], [CUT, (CUT, 50)])
    async with client.stream(WANTED) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
    assert isinstance((await stream.result()).failure(), AbortError)
    assert len(store) == 0


async def test_what_is_not_wanted_is_let_through() -> None:
    """`when` says which requests are looked up and kept."""
    store = MemoryCache()
    cache = ResponseCache(store, when=lambda request: request.generation.temperature == 0)
    client, transport = client_of([cache], answer(False), answer(False))
    for _ in range(2):
        await run(client, False)
    assert (len(transport.requests), len(store)) == (2, 0)


# -- at the same time


async def test_equal_calls_at_the_same_time_are_sent_once() -> None:
    """The others wait for the first one's response."""
    client, transport = client_of([ResponseCache()], answer(False))
    texts: list[str] = []

    async def one() -> None:
        texts.append(await text_of(client))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(one)

    assert texts == ["Hello"] * 5
    assert len(transport.requests) == 1


async def test_if_the_first_one_fails_the_others_ask_for_themselves() -> None:
    """Also when it is cancelled."""
    client, transport = client_of([ResponseCache()], OVERLOADED, answer(False), answer(False))
    outcomes: list[bool] = []

    async def one() -> None:
        outcomes.append(isinstance(await run(client, False), Success))

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(one)

    assert sorted(outcomes) == [False, True, True]
    assert len(transport.requests) == 3


async def test_if_the_first_one_is_cancelled_the_others_go_on() -> None:
    """Nobody waits for a response that will not come."""
    begun = anyio.Event()

    async def slow(request: LLMRequest, next: Next) -> EventStream:
        if not begun.is_set():
            begun.set()
            await anyio.sleep_forever()
        return next(request)

    client, _ = client_of([ResponseCache(), slow], answer(False))
    texts: list[str] = []

    async def second() -> None:
        texts.append(await text_of(client))

    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as inner:
                inner.start_soon(run, client, False)
                await begun.wait()
                tasks.start_soon(second)
                await anyio.sleep(0.01)
                scope.cancel()

    assert texts == ["Hello"]


async def test_two_streams_of_the_same_request_do_not_wait_for_each_other() -> None:
    """One task may read both, a bit of each in turn."""
    script = [CUT, CUT]
    client, transport = client_of([ResponseCache()], script, script)
    async with client.stream(WANTED) as one, client.stream(WANTED) as two:
        await anext(one)
        await anext(two)

    assert len(transport.requests) == 2


# -- the stores


async def test_entries_end_with_their_time(make_store: Callable[..., CacheStore]) -> None:
    """A second before it is there, at the end it is not."""
    time = FakeClock()
    store = make_store(clock=time.clock)
    await store.put("a", b"1", ttl_s=10)
    await store.put("b", b"2", ttl_s=None)
    time.now += 9
    assert await store.get("a") == b"1"
    time.now += 1
    assert (await store.get("a"), await store.get("b")) == (None, b"2")


async def test_the_least_recently_used_makes_room(make_store: Callable[..., CacheStore]) -> None:
    """By count and by size; what is larger than everything is not kept."""
    time = FakeClock()
    store = make_store(max_entries=2, max_bytes=10, clock=time.clock)

    async def put(key: str, value: bytes) -> None:
        time.now += 1
        await store.put(key, value, ttl_s=None)

    async def kept() -> str:
        return "".join([key for key in "abcd" if await store.get(key) is not None])

    await put("a", b"1")
    await put("b", b"2")
    time.now += 1
    assert await store.get("a") == b"1"
    await put("c", b"3")
    assert await kept() == "ac"
    time.now += 1
    await put("d", b"4" * 10)
    assert await kept() == "d"
    await put("a", b"5" * 11)
    assert await kept() == "d"
    await put("d", b"6")
    assert await store.get("d") == b"6"


async def test_a_write_takes_no_longer_the_more_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in steps of the database: of a full cache, and of one where all has expired."""
    time, ticks = FakeClock(), list[int]()

    def counted(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_progress_handler(lambda: ticks.append(1), 50)
        return connection

    async def steps_of_a_write(kept: int) -> int:
        path = tmp_path / f"{kept}.db"
        store = SqliteCache(path, max_entries=kept, clock=time.clock)
        await store.put("first", b"x", ttl_s=10)
        with sqlite3.connect(path) as connection:
            rows = [(str(number), b"x", 1, time.now + 10, time.now) for number in range(kept - 1)]
            connection.executemany("INSERT INTO responses VALUES (?, ?, ?, ?, ?)", rows)
        connection.close()
        ticks.clear()
        await store.put("one more", b"x", ttl_s=10)
        time.now += 20
        await store.put("after all is over", b"x", ttl_s=10)
        return len(ticks)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", counted)
    few, many = await steps_of_a_write(200), await steps_of_a_write(4000)

    assert few
    assert many < few * 1.5


def _write(path: str, worker: int) -> None:
    async def main() -> None:
        store = SqliteCache(path)
        for number in range(10):
            await store.put(f"{worker}-{number}", b"x" * 100, ttl_s=None)

    anyio.run(main)


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_processes_and_threads_share_a_file(anyio_backend: str, tmp_path: Path) -> None:
    """Nothing is lost, and the file is its owner's only."""
    assert anyio_backend == "asyncio"
    path = tmp_path / "answers.db"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(str(path), n)) for n in range(2)]
    for process in processes:
        process.start()
    store = SqliteCache(path)
    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(lambda key: store.put(key, b"y", ttl_s=None), f"t-{number}")
    for process in processes:
        await anyio.to_thread.run_sync(process.join)

    found = [await store.get(f"{who}-{n}") for who in ("0", "1", "t") for n in range(10)]
    assert None not in found
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_file_that_cannot_be_used_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Calls go on without the cache."""
    path = tmp_path / "answers.db"
    path.write_bytes(b"This is not a database, it is a text." * 100)
    client, transport = client_of([ResponseCache(SqliteCache(path))], *[answer(False)] * 2)
    for _ in range(2):
        assert await text_of(client) == "Hello"

    assert len(transport.requests) == 2
    assert "cannot be used" in caplog.text


async def test_an_invalid_entry_is_a_miss(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A log record reports it, and it is replaced."""
    store = SqliteCache(tmp_path / "answers.db")
    client, transport = client_of([ResponseCache(store)], *[answer(False)] * 2)
    await run(client, False)
    for value in (b'{"no": "list"}', b"garbage", b"[]", "text", 5, 0.5):
        with sqlite3.connect(store.path) as connection:
            connection.execute("UPDATE responses SET value = ?", (value,))
        connection.close()
        assert (await store.get("nothing")) is None
    assert await text_of(client) == "Hello"
    assert await text_of(client) == "Hello"

    assert len(transport.requests) == 2
    assert "cannot be read" in caplog.text


@pytest.mark.parametrize(
    "make",
    [
        lambda: MemoryCache(max_entries=0),
        lambda: SqliteCache("/nowhere/at/all.db"),
        lambda: SqliteCache("~no-such-user/answers.db"),
        lambda: ResponseCache(ttl_s=0),
    ],
)
def test_invalid_caches_are_refused(make: Any) -> None:
    """When they are made."""
    with pytest.raises(ConfigurationError):
        make()
