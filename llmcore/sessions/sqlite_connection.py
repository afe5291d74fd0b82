"""A connection to an SQLite file, as `sqlite_store` needs it: opened late, and lost to nobody.

POSIX takes all of a process' locks on a file away when the process closes any descriptor of
it, and gives none of them to a forked child, while SQLite goes on as if it had them: another
process may then delete the log that is still written to, with all that was acknowledged
(https://sqlite.org/howtocorrupt.html, 2.2 and 2.6). So an existing file is opened by SQLite
alone, and every connection is closed before a fork; both sides open it again.
"""

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

from llmcore.sessions.store import SessionStoreError
from llmcore.sqlite_files import make_private, to_wal

_T = TypeVar("_T")

SCHEMA_VERSION = 1
"""What the file says in `user_version`."""

_PATIENCE_S = 30.0
"""How long a writer waits for the others."""

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


class Connection:
    """One connection, opened at first use, for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.lock = Lock()
        self._path = path
        self._db: sqlite3.Connection | None = None
        with _gate:
            _connections.add(self)

    def run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Return what *work* does with the connection. Raises SessionStoreError."""
        with self.lock:
            try:
                if self._db is None:
                    self._db = _opened(self._path)
                return work(self._db)
            except (sqlite3.Error, OSError) as error:
                raise self._failed(error) from error

    def close(self) -> None:
        """Close the connection, if there is one."""
        with self.lock:
            self.close_held()

    def close_held(self) -> None:
        """Do what `close` does, for whoever holds `lock`."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def _failed(self, error: Exception) -> SessionStoreError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        message = f"the sessions in {self._path} cannot be used: {error}"
        return SessionStoreError(message, retryable=busy, cause=error)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock of the file; commit at the end, roll back on an exception."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


# -- opening


def _opened(path: Path) -> sqlite3.Connection:
    """Return a connection to the file, which is made if it is not there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_private(path)
    db = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
    try:
        _prepare(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    _check_version(db, path)
    to_wal(db, patience_s=_PATIENCE_S)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA fullfsync = ON")  # where fsync alone leaves data in the drive's cache
    db.execute("PRAGMA foreign_keys = ON")
    if not _version(db):
        with transaction(db):
            if not _check_version(db, path):  # another process may have been faster
                for statement in _TABLES.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _check_version(db: sqlite3.Connection, path: Path) -> int:
    """Return the file's version, 0 of an empty one; leave alone what is not ours."""
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    version = _version(db)
    if version not in (0, SCHEMA_VERSION):
        raise SessionStoreError(
            f"{path} has version {version}; this llmcore reads version {SCHEMA_VERSION}"
        )
    if not version and tables:
        raise SessionStoreError(f"{path} is another program's database: name another file")
    return version


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


# -- forks


_connections: "weakref.WeakSet[Connection]" = weakref.WeakSet()
_suspended: list[Connection] = []
_gate = Lock()
"""Held while connections are counted, and all through a fork."""


def _suspend() -> None:
    """Close every connection, once its transaction has ended, and keep them all closed."""
    _gate.acquire()
    _suspended.extend(_connections)
    for connection in _suspended:
        connection.lock.acquire()
        connection.close_held()


def _resume() -> None:
    """Let them be opened again, each by its own process."""
    while _suspended:
        _suspended.pop().lock.release()
    _gate.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_suspend, after_in_parent=_resume, after_in_child=_resume)
