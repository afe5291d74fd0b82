"""Runs in an SQLite file: the default store.

The file is in WAL mode with `synchronous=FULL`, so that what `append` has returned for
survives the end of the process and of the machine. Writers of any process take turns by
`BEGIN IMMEDIATE`; readers never wait for them. sqlite3 works in worker threads, so a store
serves any event loop.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import anyio.to_thread

from llmcore.schema.errors import ConfigurationError
from llmcore.schema.hints import with_checked_arguments
from llmcore.sessions import store
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.contract.run_rules import call_ids, check_next
from llmcore.storage.sqlite import ForeignFileError, Layout, SqliteFile, is_busy, transaction

_T = TypeVar("_T")

_PATIENCE_S = 30.0
"""How long a writer waits for other writers."""

LAYOUT: Final = Layout(
    version=1,
    names=frozenset({"runs", "entries", "tool_calls"}),
    pragmas=(
        "synchronous = FULL",
        "fullfsync = ON",  # where fsync alone leaves data in the drive's cache
        "foreign_keys = ON",
    ),
    tables="""
        CREATE TABLE runs (
            run_id TEXT PRIMARY KEY,
            last_seq INTEGER NOT NULL,
            started_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            expires_at REAL
        );
        CREATE TABLE entries (
            run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            entry TEXT NOT NULL,
            PRIMARY KEY (run_id, seq)
        );
        CREATE TABLE tool_calls (
            run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
            tool_call_id TEXT NOT NULL,
            answered INTEGER NOT NULL,
            PRIMARY KEY (run_id, tool_call_id)
        ) WITHOUT ROWID;
        CREATE INDEX runs_by_expiry ON runs (expires_at) WHERE expires_at IS NOT NULL;
    """,
)

_IDS_A_QUERY = 500
"""SQLite takes 999 parameters a statement in its older builds."""


@with_checked_arguments(db_path="path", database="path", file="path")
class SQLiteStore(store.SessionStore):
    """A SessionStore in the file *path*, which is made when first needed, for its owner only.

    A run is deleted *ttl_s* seconds after the last append. An append whose caller is cancelled is
    completed, or fails.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        ttl_s: float | None = None,
        clock: store.Seconds = time.time,
    ) -> None:
        self._path = _file(path)
        self._ttl_s = store.check_ttl(ttl_s)
        self._clock = clock
        self._writer = SqliteFile(self._path, LAYOUT, patience_s=_PATIENCE_S)
        self._reader = SqliteFile(self._path, LAYOUT, patience_s=_PATIENCE_S)

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self._path)!r})"

    async def append(
        self, run_id: str, entries: Sequence[MessageEntry], *, expected_seq: int | None = None
    ) -> int:
        """Append *entries*, all or none; see `SessionStore.append`."""
        work = partial(self._write, run_id, store.checked_entries(entries), expected_seq)
        return await anyio.to_thread.run_sync(work)

    async def read(
        self, run_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[store.StoredEntry, ...]:
        """Return the entries behind *after*; see `SessionStore.read`."""
        store.check_range(run_id, after, limit)
        values = (run_id, after, self._clock(), -1 if limit is None else limit)

        def fetch(db: sqlite3.Connection) -> tuple[store.StoredEntry, ...]:
            rows = db.execute(_READ, values).fetchall()  # which ends the reading transaction
            return tuple(store.stored_entry(run_id, seq, text) for seq, text in rows)

        return await self._run(self._reader, fetch)

    async def runs(self) -> tuple[store.RunInfo, ...]:
        """Return all runs, by their ids."""

        def fetch(db: sqlite3.Connection) -> tuple[store.RunInfo, ...]:
            return tuple(
                store.RunInfo(run_id=run_id, last_seq=seq, started_at=started, updated_at=updated)
                for run_id, seq, started, updated in db.execute(_RUNS, (self._clock(),))
            )

        return await self._run(self._reader, fetch)

    async def delete(self, run_id: str) -> bool:
        """Forget run *run_id*; False if there was none."""
        store.check_run_id(run_id)

        def remove(db: sqlite3.Connection) -> bool:
            with transaction(db):
                self._forget_expired(db)
                return db.execute("DELETE FROM runs WHERE run_id = ?", (run_id,)).rowcount > 0

        return await self._run(self._writer, remove)

    async def aclose(self) -> None:
        """Close the file. Idempotent; a later call opens it again."""
        await anyio.to_thread.run_sync(self._writer.close)
        await anyio.to_thread.run_sync(self._reader.close)

    async def _run(self, file: SqliteFile, work: Callable[[sqlite3.Connection], _T]) -> _T:
        return await anyio.to_thread.run_sync(_run, file, work)

    def _write(self, run_id: str, entries: Sequence[MessageEntry], expected_seq: int | None) -> int:
        texts = store.texts_of(run_id, entries)  # here, since an image's takes milliseconds

        def write(db: sqlite3.Connection) -> int:
            with transaction(db):
                self._forget_expired(db)
                return self._append(db, run_id, entries, texts, expected_seq)

        return _run(self._writer, write)

    def _append(
        self,
        db: sqlite3.Connection,
        run_id: str,
        entries: Sequence[MessageEntry],
        texts: Sequence[str],
        expected_seq: int | None,
    ) -> int:
        row = db.execute("SELECT last_seq FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        last: int = row[0] if row else 0
        store.check_seq(run_id, expected_seq, last)
        changes = check_next(run_id, entries, _answered(db, run_id, call_ids(entries))).unwrap()
        if not entries:
            return last
        expires_at = None if self._ttl_s is None else self._clock() + self._ttl_s
        ends = entries[0].timestamp, entries[-1].timestamp
        db.execute(_APPEND, (run_id, last + len(texts), *ends, expires_at))
        rows = [(run_id, seq, text) for seq, text in enumerate(texts, last + 1)]
        db.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
        calls = [(run_id, id_, done) for id_, done in changes.items()]
        db.executemany("INSERT OR REPLACE INTO tool_calls VALUES (?, ?, ?)", calls)
        return last + len(texts)

    def _forget_expired(self, db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM runs WHERE expires_at <= ?", (self._clock(),))


def _run(file: SqliteFile, work: Callable[[sqlite3.Connection], _T]) -> _T:
    """Return what *work* returns. Raises SessionStoreError where the file cannot be used."""
    try:
        return file.run(work)
    except (sqlite3.Error, OSError, ForeignFileError) as error:
        message = f"the sessions in {file.path} cannot be used: {error}"
        raise store.SessionStoreError(message, retryable=is_busy(error), cause=error) from error


def _file(path: str | os.PathLike[str]) -> Path:
    """Return *path* as an absolute one, which does not depend on the working directory."""
    if os.fspath(path) in ("", ":memory:"):
        raise ConfigurationError("an SQLiteStore needs a file; a MemoryStore needs none")
    return Path(path).absolute()


_READ = """SELECT seq, entry FROM entries JOIN runs USING (run_id)
    WHERE run_id = ? AND seq > ? AND (expires_at IS NULL OR expires_at > ?)
    ORDER BY seq LIMIT ?"""

_RUNS = """SELECT run_id, last_seq, started_at, updated_at FROM runs
    WHERE expires_at IS NULL OR expires_at > ? ORDER BY run_id"""

_APPEND = """INSERT INTO runs VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO UPDATE SET
    last_seq = excluded.last_seq, updated_at = excluded.updated_at,
    expires_at = excluded.expires_at"""


def _answered(db: sqlite3.Connection, run_id: str, ids: Sequence[str]) -> dict[str, bool]:
    """Return which of *ids* are calls of the run, and whether they have results."""
    answered: dict[str, bool] = {}
    for start in range(0, len(ids), _IDS_A_QUERY):
        some = ids[start : start + _IDS_A_QUERY]
        marks = ", ".join("?" * len(some))
        query = f"""SELECT tool_call_id, answered FROM tool_calls
            WHERE run_id = ? AND tool_call_id IN ({marks})"""  # noqa: S608 -- question marks only
        answered.update((id_, bool(done)) for id_, done in db.execute(query, (run_id, *some)))
    return answered
