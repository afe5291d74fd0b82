"""The SQLite store: crashes, several processes, the file itself."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from llmcore.schema.errors import ConfigurationError
from llmcore.sessions.contract.entries import EntryText, MessageEntry
from llmcore.sessions.contract.errors import MalformedError
from llmcore.sessions.sqlite_store import LAYOUT, SQLiteStore
from llmcore.sessions.store import SessionStoreError
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.strategies.contract import RUN, entry

pytestmark = pytest.mark.anyio

WRITER = """
import sys, anyio
from llmcore.sessions.contract.entries import EntryText, MessageEntry
from llmcore.sessions.sqlite_store import SQLiteStore

path, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])

def said(text):
    part = EntryText(text + "." * 3000)
    return MessageEntry(run_id="run-1", role="user", parts=[part], timestamp="t")

async def main():
    async with SQLiteStore(path) as store:
        for number in range(rounds):
            seq = await store.append("run-1", [said(f"{name}/{number}/{n}/") for n in range(3)])
            print(seq, flush=True)

anyio.run(main)
"""
"""Appends three entries at a time, and says their last seq once it is acknowledged."""


def writer(path: Path, name: str, rounds: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(path), name, str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def labels(path: Path) -> list[tuple[str, str, str]]:
    """Return what each entry of the file says of itself."""
    async with SQLiteStore(path) as store:
        stored = await store.read(RUN)
    assert [one.seq for one in stored] == list(range(1, len(stored) + 1))
    found = [one.entry.text.split("/") for one in stored]
    return [(name, number, part) for name, number, part, _ in found]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "below" / "sessions.db"


@pytest.mark.parametrize("acknowledged", [1, 7, 23])
def test_a_killed_process_loses_no_acknowledged_append(path: Path, acknowledged: int) -> None:
    """kill -9 in the middle of writing: what was confirmed is there, nothing is half there."""
    process = writer(path, "a", 100_000)
    assert process.stdout is not None
    with process:
        last = [int(process.stdout.readline()) for _ in range(acknowledged)][-1]
        process.send_signal(signal.SIGKILL)
        last = max([last, *(int(line) for line in process.stdout if line.endswith("\n"))])
    assert process.returncode == -signal.SIGKILL

    found = anyio.run(labels, path)
    assert len(found) >= last >= 3 * acknowledged
    assert len(found) % 3 == 0
    assert found == [("a", str(n // 3), str(n % 3)) for n in range(len(found))]
    assert anyio.run(append_one, path) == len(found) + 1


async def append_one(path: Path) -> int:
    async with SQLiteStore(path) as store:
        return await store.append(RUN, [said("on")])


@pytest.mark.slow
def test_processes_that_append_at_once_lose_nothing(path: Path) -> None:
    """Each one's appends are all there, whole and in its order, from the first on."""
    processes = [writer(path, name, 12) for name in "abcd"]
    for process in processes:
        process.communicate()
        assert process.returncode == 0

    found = anyio.run(labels, path)
    assert len(found) == 4 * 12 * 3
    for start in range(0, len(found), 3):
        name, number, _ = found[start]
        assert found[start : start + 3] == [(name, number, part) for part in "012"]
    for name in "abcd":
        numbers = [int(number) for who, number, part in found if (who, part) == (name, "0")]
        assert numbers == list(range(12))


def said(text: str) -> MessageEntry:
    return entry("user", EntryText(text))


async def test_the_file_is_readable_by_its_owner_only(path: Path) -> None:
    """So are its companions: conversations are private."""
    async with SQLiteStore(path) as store:
        await store.append(RUN, [said("a")])
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
    assert modes["sessions.db"] == 0o600
    assert modes["sessions.db-wal"] == 0o600
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_appends_are_synced_to_the_disk(path: Path) -> None:
    """The file is in WAL mode, and a commit waits for the disk."""
    async with SQLiteStore(path) as store:
        await store.append(RUN, [said("a")])
        pragmas = [
            store._writer.run(lambda db, name=name: db.execute(f"PRAGMA {name}").fetchone()[0])  # type: ignore[misc]
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert pragmas == ["wal", 2, 1]


@pytest.fixture
def locked(path: Path) -> Iterator[None]:
    """Hold the write lock of the file."""
    anyio.run(append_one, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield


async def test_a_busy_file_is_a_retryable_error(
    path: Path, locked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers do not wait for the writer; another writer waits, and is then told."""
    monkeypatch.setattr("llmcore.sessions.sqlite_store._PATIENCE_S", 0.05)
    async with SQLiteStore(path) as store:
        assert len(await store.read(RUN)) == 1
        with pytest.raises(SessionStoreError, match="locked") as told:
            await store.append(RUN, [said("a")])
        assert told.value.retryable


async def test_a_new_file_locked_by_another_program_is_a_retryable_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is not yet in WAL mode, for which SQLite itself does not wait."""
    monkeypatch.setattr("llmcore.sessions.sqlite_store._PATIENCE_S", 0.05)
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SessionStoreError, match="locked") as told:
            await SQLiteStore(path).append(RUN, [said("a")])
    assert told.value.retryable


async def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    """Its form is not known here."""
    async with SQLiteStore(path) as store:
        await store.append(RUN, [said("a")])
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {LAYOUT.version + 1}")
    with pytest.raises(SessionStoreError, match="version 2"):
        await SQLiteStore(path).read(RUN)


def test_a_file_that_is_not_a_database_is_refused_unchanged(path: Path) -> None:
    """With its path, and without touching it."""
    content = b"no database at all " * 100
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(SessionStoreError, match="sessions\\.db") as told:
        anyio.run(SQLiteStore(path).read, RUN)
    assert not told.value.retryable
    assert path.read_bytes() == content


async def test_an_entry_that_cannot_be_read_is_named(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.append(RUN, [said("a"), said("b")])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE entries SET entry = json_set(entry, '$.later', 1) WHERE seq = 2")
    async with SQLiteStore(path) as store:
        assert len(await store.read(RUN, limit=1)) == 1
        with pytest.raises(MalformedError, match=f"entry 2 of session '{RUN}'.*later") as caught:
            await store.read(RUN)

    assert caught.value.run_id == RUN


async def test_a_path_below_a_file_is_an_error(tmp_path: Path) -> None:
    """A folder below a file."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(SessionStoreError, match="cannot be used"):
        await SQLiteStore(tmp_path / "file" / "sessions.db").read(RUN)


async def test_a_closed_store_opens_again_at_the_next_call(path: Path) -> None:
    """Closing lets go of the file, and no more than that."""
    store = SQLiteStore(path)
    await store.append(RUN, [said("a")])
    await store.aclose()
    await store.aclose()
    assert os.listdir(path.parent) == ["sessions.db"]
    assert len(await store.read(RUN)) == 1
    await store.aclose()
    assert "sessions.db" in repr(store)


ONE_MORE = """
import sys, anyio
from llmcore.sessions.contract.entries import EntryText, MessageEntry
from llmcore.sessions.sqlite_store import SQLiteStore

async def main():
    said = MessageEntry(run_id="run-1", role="user", parts=[EntryText("other")], timestamp="t")
    async with SQLiteStore(sys.argv[1]) as store:
        await store.append("run-1", [said])

anyio.run(main)
"""
"""Appends one entry and closes the file."""


async def test_a_process_that_closes_the_file_keeps_the_log_of_others(path: Path) -> None:
    """It is not the last one: the log that others still write to stays where it is."""
    async with SQLiteStore(path) as store:
        await store.append(RUN, [said("a")])
        assert len(await store.read(RUN)) == 1  # a second connection to the same file
        command = [sys.executable, "-c", ONE_MORE, str(path)]
        assert (await anyio.run_process(command)).returncode == 0
        assert path.with_name("sessions.db-wal").exists()
        assert await store.append(RUN, [said("b")]) == 3
        assert await store.append(RUN, [said("c")]) == 4
        async with SQLiteStore(path) as another:
            found = [one.entry.text for one in await another.read(RUN)]
    assert found == ["a", "other", "b", "c"]


FORKING = """
import os, sys, anyio
from llmcore.sessions.contract.entries import EntryText, MessageEntry
from llmcore.sessions.sqlite_store import SQLiteStore

store = SQLiteStore(sys.argv[1])

def append(text):
    said = MessageEntry(run_id="run-1", role="user", parts=[EntryText(text)], timestamp="t")
    anyio.run(store.append, "run-1", [said])

append("before")
anyio.run(store.read, "run-1")
(tell_parent, parent_told), (tell_child, child_told) = os.pipe()[::-1], os.pipe()[::-1]
pid = os.fork()
if pid == 0:
    append("child")
    os.write(tell_parent, b"x")
    os.read(child_told, 1)
    append("child again")
    os._exit(0)
os.read(parent_told, 1)
append("parent")
anyio.run(store.aclose)
os.write(tell_child, b"x")
assert os.waitpid(pid, 0)[1] == 0
"""
"""Two processes append to a store that was open before one was forked from the other."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_store_that_is_open_during_a_fork_works_in_both_processes(path: Path) -> None:
    """Parent and child have a connection of their own; nothing acknowledged is lost."""
    run_fresh(FORKING, str(path))

    async def texts() -> list[str]:
        async with SQLiteStore(path) as store:
            return [one.entry.text for one in await store.read(RUN)]

    assert anyio.run(texts) == ["before", "child", "parent", "child again"]


async def test_a_relative_path_is_resolved_when_the_store_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one it named when the store was made, wherever the process goes."""
    monkeypatch.chdir(tmp_path)
    async with SQLiteStore("sessions.db") as store:
        await store.append(RUN, [said("a")])
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert len(await store.read(RUN)) == 1


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_an_empty_path_or_memory_is_refused(path: str) -> None:
    """Reader and writer would each have a database of its own."""
    with pytest.raises(ConfigurationError, match="MemoryStore"):
        SQLiteStore(path)


def test_a_database_of_another_program_is_refused_unchanged(path: Path) -> None:
    """No table is added to it, and its mode is not changed."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(SessionStoreError, match="a database of another kind"):
        anyio.run(append_one, path)
    assert path.read_bytes() == before
