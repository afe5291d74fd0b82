"""Runs in an SQLite file: the default store.

The file is in WAL mode with `synchronous=FULL`, so that what `append` has returned for
survives the end of the process and of the machine. Writers of any process take turns by
`BEGIN IMMEDIATE`; readers never wait for them. sqlite3 works in worker threads, so a store
serves any event loop.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

import anyio.to_thread
from returns.pipeline import is_successful

from llmcore.schema.entries import MessageEntry
from llmcore.sessions.run_rules import call_ids, check_next
from llmcore.sessions.store import (
    RunInfo,
    Seconds,
    SessionStoreError,
    StoredEntry,
    check_range,
    check_ttl,
    conflict,
    texts_of,
)
from llmcore.sessions.wire import entry_from_text

_T = TypeVar("_T")

SCHEMA_VERSION = 1
"""What the file says in `user_version`."""

_PATIENCE_S = 30.0
"""How long a writer waits for the others."""

_IDS_A_QUERY = 500
"""SQLite takes 999 parameters a statement in its older builds."""

_TABLES = """
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
"""


class SQLiteStore:
    """A SessionStore in the file *path*, which is made when first needed, for its owner only.

    A run is forgotten *ttl_s* seconds after it was last appended to. A cancelled append is
    still finished: it has then happened, or failed, before the cancellation goes on.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        ttl_s: float | None = None,
        clock: Seconds = time.time,
    ) -> None:
        self._path = Path(path)
        self._ttl_s = check_ttl(ttl_s)
        self._clock = clock
        self._writer = _Connection(self._path)
        self._reader = _Connection(self._path)

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self._path)!r})"

    async def append(
        self, run_id: str, entries: Sequence[MessageEntry], *, expected_seq: int | None = None
    ) -> int:
        """Append *entries*, all or none; see `SessionStore.append`."""
        texts = texts_of(run_id, entries)

        def write(db: sqlite3.Connection) -> int:
            with _transaction(db):
                self._forget_expired(db)
                return self._append(db, run_id, entries, texts, expected_seq)

        return await self._run(self._writer, write)

    async def read(
        self, run_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[StoredEntry, ...]:
        """Return the entries behind *after*; see `SessionStore.read`."""
        check_range(after, limit)
        values = (run_id, after, self._clock(), -1 if limit is None else limit)

        def fetch(db: sqlite3.Connection) -> tuple[StoredEntry, ...]:
            rows = db.execute(_READ, values)
            return tuple(StoredEntry(seq, entry_from_text(text)) for seq, text in rows)

        return await self._run(self._reader, fetch)

    async def runs(self) -> tuple[RunInfo, ...]:
        """Return all runs, by their ids."""

        def fetch(db: sqlite3.Connection) -> tuple[RunInfo, ...]:
            return tuple(
                RunInfo(run_id=run_id, last_seq=seq, started_at=started, updated_at=updated)
                for run_id, seq, started, updated in db.execute(_RUNS, (self._clock(),))
            )

        return await self._run(self._reader, fetch)

    async def delete(self, run_id: str) -> bool:
        """Forget run *run_id*; False if there was none."""

        def remove(db: sqlite3.Connection) -> bool:
            with _transaction(db):
                self._forget_expired(db)
                return db.execute("DELETE FROM runs WHERE run_id = ?", (run_id,)).rowcount > 0

        return await self._run(self._writer, remove)

    async def aclose(self) -> None:
        """Close the file. Idempotent; a later call opens it again."""
        await anyio.to_thread.run_sync(self._writer.close)
        await anyio.to_thread.run_sync(self._reader.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()

    async def _run(self, connection: "_Connection", work: Callable[[sqlite3.Connection], _T]) -> _T:
        return await anyio.to_thread.run_sync(partial(connection.run, work))

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
        if expected_seq is not None and expected_seq != last:
            raise conflict(run_id, expected_seq, last)
        checked = check_next(run_id, entries, _answered(db, run_id, call_ids(entries)))
        if not is_successful(checked):
            raise checked.failure()
        if not entries:
            return last
        expires_at = None if self._ttl_s is None else self._clock() + self._ttl_s
        ends = entries[0].timestamp, entries[-1].timestamp
        db.execute(_APPEND, (run_id, last + len(texts), *ends, expires_at))
        rows = [(run_id, seq, text) for seq, text in enumerate(texts, last + 1)]
        db.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
        calls = [(run_id, id_, done) for id_, done in checked.unwrap().items()]
        db.executemany("INSERT OR REPLACE INTO tool_calls VALUES (?, ?, ?)", calls)
        return last + len(texts)

    def _forget_expired(self, db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM runs WHERE expires_at <= ?", (self._clock(),))


_READ = """SELECT seq, entry FROM entries JOIN runs USING (run_id)
    WHERE run_id = ? AND seq > ? AND (expires_at IS NULL OR expires_at > ?)
    ORDER BY seq LIMIT ?"""

_RUNS = """SELECT run_id, last_seq, started_at, updated_at FROM runs
    WHERE expires_at IS NULL OR expires_at > ? ORDER BY run_id"""

_APPEND = """INSERT INTO runs VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO UPDATE SET
    last_seq = excluded.last_seq, updated_at = excluded.updated_at,
    expires_at = excluded.expires_at"""


def _answered(db: sqlite3.Connection, run_id: str, ids: Sequence[str]) -> dict[str, bool]:
    """Return which of the run's calls *ids* are there, and whether they have results."""
    found: dict[str, bool] = {}
    for start in range(0, len(ids), _IDS_A_QUERY):
        some = ids[start : start + _IDS_A_QUERY]
        marks = ", ".join("?" * len(some))
        query = f"""SELECT tool_call_id, answered FROM tool_calls
            WHERE run_id = ? AND tool_call_id IN ({marks})"""  # noqa: S608 -- question marks only
        found.update((id_, bool(done)) for id_, done in db.execute(query, (run_id, *some)))
    return found


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock of the file; commit at the end, roll back on an exception."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


class _Connection:
    """One connection, opened at first use, for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._db: sqlite3.Connection | None = None

    def run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Return what *work* does with the connection. Raises SessionStoreError."""
        with self._lock:
            try:
                if self._db is None:
                    self._db = _opened(self._path)
                return work(self._db)
            except (sqlite3.Error, OSError) as error:
                raise self._failed(error) from error

    def close(self) -> None:
        """Close the connection, if there is one."""
        with self._lock:
            db, self._db = self._db, None
            if db is not None:
                db.close()

    def _failed(self, error: Exception) -> SessionStoreError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        message = f"the sessions in {self._path} cannot be used: {error}"
        return SessionStoreError(message, retryable=busy, cause=error)


def _opened(path: Path) -> sqlite3.Connection:
    """Return a connection to the file, which is made if it is not there."""
    _made(path)
    db = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
    try:
        _prepare(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _made(path: Path) -> None:
    """Make the file, readable for its owner only; SQLite gives its companions the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    _to_wal(db)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA fullfsync = ON")  # where fsync alone leaves data in the drive's cache
    db.execute("PRAGMA foreign_keys = ON")
    version = _version(db)
    if version == 0:
        with _transaction(db):
            version = _version(db)  # another process may have been faster
            if version == 0:
                for statement in _TABLES.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                version = SCHEMA_VERSION
    if version != SCHEMA_VERSION:
        raise SessionStoreError(
            f"{path} has version {version}; this llmcore reads version {SCHEMA_VERSION}"
        )


def _version(db: sqlite3.Connection) -> int:
    with closing(db.execute("PRAGMA user_version")) as cursor:
        version: int = cursor.fetchone()[0]
    return version


def _to_wal(db: sqlite3.Connection) -> None:
    """Put the file into WAL mode, which SQLite does not wait for where others open it too."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
