"""Behaviour of every store, each in its own kind of storage."""

import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import evolve

from llmcore.schema.errors import InvalidRequestError
from llmcore.sessions.contract import errors
from llmcore.sessions.contract.entries import (
    EntryText,
    EntryToolCall,
    EntryToolResult,
    MessageEntry,
)
from llmcore.sessions.memory_store import MemoryStore
from llmcore.sessions.sqlite_store import SQLiteStore
from llmcore.sessions.store import RunInfo, SeqConflictError, SessionStore, StoredEntry
from tests.sessions.conftest import MakeStore
from tests.support.strategies.contract import NOON, RUN, entry

pytestmark = pytest.mark.anyio


def said(text: str, run_id: str = RUN) -> MessageEntry:
    return entry("user", EntryText(text), run_id=run_id)


def called(id_: str) -> MessageEntry:
    return entry("assistant", EntryToolCall(id_, "look", {}))


def answered(id_: str) -> MessageEntry:
    return entry("tool", EntryToolResult(id_, "x"))


async def texts(store: SessionStore, **options: int) -> list[str]:
    return [stored.entry.text for stored in await store.read(RUN, **options)]


async def test_entries_are_read_in_the_order_of_their_appends(make_store: MakeStore) -> None:
    """Each has its place, counted from 1 without gaps."""
    async with make_store() as store:
        assert await store.append(RUN, [said("a"), said("b")]) == 2
        assert await store.append(RUN, [said("c")]) == 3

        assert await store.read(RUN) == tuple(
            StoredEntry(seq, said(text)) for seq, text in enumerate("abc", 1)
        )
        assert await store.read("unknown") == ()


async def test_reading_after_a_seq_returns_the_rest(make_store: MakeStore) -> None:
    """Whoever has read up to a seq asks for what is behind it."""
    async with make_store() as store:
        await store.append(RUN, [said(text) for text in "abcde"])

        assert await texts(store, after=3) == ["d", "e"]
        assert await texts(store, after=1, limit=2) == ["b", "c"]
        assert await texts(store, after=9) == []
        with pytest.raises(InvalidRequestError):
            await store.read(RUN, after=-1)
        for wrong in ({"limit": 0}, {"after": 2**70}, {"limit": 2**70}):
            with pytest.raises(InvalidRequestError):
                await store.read(RUN, **wrong)


async def test_a_run_longer_than_a_page_is_read_whole(make_store: MakeStore) -> None:
    """Also those of more entries than one page."""
    async with make_store() as store:
        await store.append(RUN, [said(str(n)) for n in range(1203)])

        assert await texts(store) == [str(n) for n in range(1203)]
        assert len(await store.read(RUN, after=100, limit=1000)) == 1000


async def test_a_second_store_of_the_same_place_reads_the_entries(make_store: MakeStore) -> None:
    """A second connection, and one after the first was closed."""
    async with make_store() as store:
        await store.append(RUN, [called("c")])
        if type(store).__name__ == "MemoryStore":
            return
        async with make_store() as other:
            await other.append(RUN, [answered("c")])
        assert len(await store.read(RUN)) == 2
    async with make_store() as later:
        assert len(await later.read(RUN)) == 2
        with pytest.raises(errors.SecondToolResultError):
            await later.append(RUN, [answered("c")])


BROKEN: list[tuple[list[MessageEntry], type[errors.ContractError]]] = [
    ([called("known")], errors.DuplicateToolCallError),
    ([answered("known"), answered("known")], errors.SecondToolResultError),
    ([answered("unknown")], errors.UntracedToolResultError),
    ([answered("done")], errors.SecondToolResultError),
    ([evolve(said("x"), run_id="another")], errors.MixedRunError),
]


@pytest.mark.parametrize(("entries", "error"), BROKEN)
async def test_an_append_that_breaks_a_rule_of_the_run_stores_nothing(
    make_store: MakeStore, entries: list[MessageEntry], error: type[errors.ContractError]
) -> None:
    """The append raises the error of the rule, and none of its entries is stored."""
    async with make_store() as store:
        await store.append(RUN, [called("known"), called("done"), answered("done")])

        with pytest.raises(error) as told:
            await store.append(RUN, [said("before"), *entries])
        assert type(told.value) is error
        assert len(await store.read(RUN)) == 3
        assert await store.append(RUN, [answered("known")]) == 4


async def test_one_append_may_hold_calls_and_their_results(make_store: MakeStore) -> None:
    """Parallel calls, results in another order, more of them than one query takes."""
    names = [f"call_{n}" for n in range(700)]
    async with make_store() as store:
        both = [*map(called, names), *map(answered, reversed(names[:-1]))]
        await store.append(RUN, both)
        assert await store.append(RUN, [answered(names[-1])]) == 1400


async def test_a_wrong_expected_seq_is_a_conflict(make_store: MakeStore) -> None:
    """The slower append raises an error, which states where the run ends now."""
    async with make_store() as store:
        assert await store.append(RUN, [said("a")], expected_seq=0) == 1
        with pytest.raises(SeqConflictError) as told:
            await store.append(RUN, [said("b")], expected_seq=0)
        assert (told.value.expected_seq, told.value.actual_seq) == (0, 1)
        assert await store.append(RUN, [said("c")], expected_seq=1) == 2
        assert await texts(store) == ["a", "c"]


async def test_appending_no_entries_makes_no_run(make_store: MakeStore) -> None:
    """No run comes of it."""
    async with make_store() as store:
        assert await store.append(RUN, []) == 0
        assert await store.runs() == ()


async def test_runs_are_listed_by_id_and_deleted(make_store: MakeStore) -> None:
    """By their ids, which may be anything printable."""
    names = ["a", "b:{x}", "c}d", "ü *"]
    async with make_store() as store:
        for name in reversed(names):
            await store.append(name, [said("x", run_id=name)])
        last = evolve(said("y", run_id="a"), timestamp="2027-01-01T00:00:00Z")
        await store.append("a", [last])

        assert (await store.runs())[0] == RunInfo(
            run_id="a", last_seq=2, started_at=NOON, updated_at=last.timestamp
        )
        assert [run.run_id for run in await store.runs()] == names
        assert await store.delete("b:{x}")
        assert not await store.delete("b:{x}")
        assert [run.run_id for run in await store.runs()] == ["a", "c}d", "ü *"]


async def test_a_deleted_run_starts_again_at_seq_1(make_store: MakeStore) -> None:
    """Its calls are forgotten too."""
    async with make_store() as store:
        await store.append(RUN, [called("c")])
        await store.delete(RUN)
        assert await store.append(RUN, [called("c"), answered("c")]) == 2


async def test_append_takes_an_iterator_of_entries(make_store: MakeStore) -> None:
    """An iterator is read once."""
    entries: Any = iter([said("a"), said("b")])
    async with make_store() as store:
        assert await store.append(RUN, entries) == 2
        assert [run.last_seq for run in await store.runs()] == [2]


@pytest.mark.parametrize("run_id", ["", "a\nb", "x" * 513, "\ud800"])
async def test_run_ids_that_cannot_be_stored_are_refused(
    make_store: MakeStore, run_id: str
) -> None:
    """Before anything is kept, and alike by all that take one."""
    async with make_store() as store:
        with pytest.raises(InvalidRequestError, match="id"):
            await store.append(run_id, [said("x", run_id=run_id)])
        with pytest.raises(InvalidRequestError, match="id"):
            await store.read(run_id)
        with pytest.raises(InvalidRequestError, match="id"):
            await store.delete(run_id)


@pytest.mark.parametrize(
    "broken", [called("\ud800"), answered("\udc00"), evolve(said("x"), timestamp="\ud800")]
)
async def test_lone_surrogates_in_ids_and_timestamps_are_refused(
    make_store: MakeStore, broken: MessageEntry
) -> None:
    """By every store alike: not each can keep it there."""
    async with make_store() as store:
        with pytest.raises(errors.MalformedError, match="surrogate"):
            await store.append(RUN, [said("before"), broken])
        assert await store.read(RUN) == ()


async def test_a_run_expires_ttl_after_its_last_append(make_store: MakeStore) -> None:
    """Some time after the last append, whole, and with their calls."""
    async with make_store(ttl_s=0.2) as store:
        await store.append(RUN, [called("c")])
        for _ in range(400):
            if not await store.read(RUN):
                break
            await anyio.sleep(0.05)
        assert await store.runs() == ()
        assert not await store.delete(RUN)
        assert await store.append(RUN, [called("c")]) == 1


@pytest.mark.parametrize("kind", [MemoryStore, SQLiteStore])
async def test_each_append_renews_the_ttl_of_its_run(kind: type, tmp_path: Path) -> None:
    """A run in use does not expire."""
    now = [1000.0]
    place = [tmp_path / "sessions.db"] if kind is SQLiteStore else []
    async with kind(*place, ttl_s=60, clock=lambda: now[0]) as store:
        await store.append(RUN, [said("a")])
        now[0] += 59
        await store.append(RUN, [said("b")])
        now[0] += 59
        assert len(await store.read(RUN)) == 2
        now[0] += 1
        assert await store.read(RUN) == ()
        assert await store.append(RUN, [said("c")]) == 1


@pytest.mark.parametrize("ttl_s", [0, -1, float("nan"), float("inf")])
def test_a_ttl_that_is_not_positive_is_refused(make_store: MakeStore, ttl_s: float) -> None:
    """Nothing is kept for no time, or without a limit by mistake."""
    with pytest.raises(InvalidRequestError, match="ttl_s"):
        make_store(ttl_s=ttl_s)


async def test_concurrent_appends_to_one_run_keep_their_entries_together(
    make_store: MakeStore,
) -> None:
    """Tasks and threads append at once; each append stays together and none is lost."""
    async with make_store() as store:

        async def write(name: str) -> None:
            for number in range(8):
                await store.append(RUN, [said(f"{name}{number}{half}") for half in "ab"])

        async with anyio.create_task_group() as group:
            for name in "xyz":
                group.start_soon(write, name)
        found = await texts(store)

    pairs = list(zip(found[::2], found[1::2], strict=True))
    assert all(first[:-1] == second[:-1] for first, second in pairs)
    for name in "xyz":
        own = [first[:-1] for first, _ in pairs if first.startswith(name)]
        assert own == [f"{name}{number}" for number in range(8)]


async def test_of_two_appends_with_one_expected_seq_only_one_succeeds(
    make_store: MakeStore,
) -> None:
    """Appends that expect an older end fail, and of the others exactly one succeeds each time."""
    wins: list[int] = []
    async with make_store() as store:

        async def race() -> None:
            for number in range(10):
                try:
                    await store.append(RUN, [said("x")], expected_seq=number)
                except SeqConflictError:
                    continue
                wins.append(number)

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(race)
        assert sorted(wins) == list(range(len(await store.read(RUN))))


def test_one_store_works_on_several_event_loops(make_store: MakeStore) -> None:
    """Each thread with a loop of its own; nothing is bound to the first."""
    store = make_store()

    def work(backend: str) -> None:
        anyio.run(store.append, RUN, [said(backend)], backend=backend)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("asyncio", "trio")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def check() -> None:
        async with store:
            assert sorted(await texts(store)) == ["asyncio", "trio"]

    anyio.run(check)


async def test_a_cancelled_append_is_stored_whole_or_not_at_all(make_store: MakeStore) -> None:
    """It is never half there, and the store goes on."""
    async with make_store() as store:
        with anyio.move_on_after(0):
            await store.append(RUN, [said("a"), said("b")])
        assert len(await store.read(RUN)) in {0, 2}
        await store.append(RUN, [said("c")])
        assert (await texts(store))[-1] == "c"
