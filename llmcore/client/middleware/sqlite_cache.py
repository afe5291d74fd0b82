"""Cached answers in a SQLite file, which processes may share and which outlives them."""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

import anyio.to_thread

from llmcore.client.middleware.clock import SYSTEM_CLOCK, Clock
from llmcore.client.middleware.memory_cache import check_limits
from llmcore.client.user_folders import named_path
from llmcore.forking import start_anew_after_fork
from llmcore.schema.errors import ConfigurationError
from llmcore.sqlite_files import make_private, to_wal

_T = TypeVar("_T")

_LOG = logging.getLogger("llmcore.cache")

_BUSY_S = 5.0
"""How long to wait for another process that is writing."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, value BLOB NOT NULL, size INTEGER NOT NULL,
    expires_at REAL, used_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answers_by_use ON answers (used_at DESC, size);
CREATE INDEX IF NOT EXISTS answers_by_end ON answers (expires_at);
CREATE TABLE IF NOT EXISTS totals (entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO totals SELECT count(*), coalesce(sum(size), 0) FROM answers
    WHERE NOT EXISTS (SELECT * FROM totals);
CREATE TRIGGER IF NOT EXISTS count_in AFTER INSERT ON answers BEGIN
    UPDATE totals SET entries = entries + 1, bytes = bytes + new.size;
END;
CREATE TRIGGER IF NOT EXISTS count_out AFTER DELETE ON answers BEGIN
    UPDATE totals SET entries = entries - 1, bytes = bytes - old.size;
END;
"""
"""The totals are kept by the file itself: counting all answers at each write would take longer
the more there are."""

_DROP_EXPIRED = """
DELETE FROM answers WHERE key IN (
    SELECT key FROM answers WHERE expires_at <= ? ORDER BY expires_at LIMIT 100
)
"""
"""A write clears away more than it brings, but not a whole cache at once."""

_DROP_OLDEST = """
DELETE FROM answers WHERE key = (SELECT key FROM answers ORDER BY used_at LIMIT 1)
"""


class SqliteCache:
    """Keeps the most recently used answers in the file *path*.

    The file holds what models said, readable to its owner only. Each access opens it anew, in
    a thread, so that there is nothing to close, and processes may fork.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_entries: int = 10_000,
        max_bytes: int = 512 * 1024 * 1024,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        check_limits(max_entries, max_bytes)
        self.path = named_path(path, "the path of the cache")
        if not self.path.parent.is_dir():
            raise ConfigurationError(f"the folder of the cache {self.path} does not exist")
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._ready = False
        self._lock = threading.Lock()
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Go on with the same file; whoever held the lock stayed behind."""
        self._lock = threading.Lock()

    async def get(self, key: str) -> bytes | None:
        """Return what is kept under *key*; None, and a warning, if the file cannot be read."""
        return await anyio.to_thread.run_sync(self._tried, lambda: self._get(key))

    async def put(self, key: str, value: bytes, *, ttl_s: float | None) -> None:
        """Keep *value*; a warning if the file cannot be written."""
        await anyio.to_thread.run_sync(self._tried, lambda: self._put(key, value, ttl_s))

    def _tried(self, action: Callable[[], _T]) -> _T | None:
        try:
            return action()
        except (sqlite3.Error, OSError) as error:
            _LOG.warning("the response cache %s cannot be used: %s", self.path, error)
            return None

    def _get(self, key: str) -> bytes | None:
        now = self._clock.wall()
        with self._connection() as connection:
            row = connection.execute(
                "UPDATE answers SET used_at = ? WHERE key = ?"
                " AND (expires_at IS NULL OR expires_at > ?) RETURNING value",
                (now, key, now),
            ).fetchone()
        if row is None:
            return None
        value = row[0]
        return value if isinstance(value, bytes) else str(value).encode()  # written by other tools

    def _put(self, key: str, value: bytes, ttl_s: float | None) -> None:
        if len(value) > self._max_bytes:
            return
        now = self._clock.wall()
        expires_at = None if ttl_s is None else now + ttl_s
        with self._connection() as connection:
            connection.execute(_DROP_EXPIRED, (now,))
            connection.execute("DELETE FROM answers WHERE key = ?", (key,))
            while not self._has_room(connection, len(value)):
                if not connection.execute(_DROP_OLDEST).rowcount:
                    break
            connection.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?)",
                (key, value, len(value), expires_at, now),
            )

    def _has_room(self, connection: sqlite3.Connection, size: int) -> bool:
        entries, taken = connection.execute("SELECT entries, bytes FROM totals").fetchone()
        return bool(entries < self._max_entries and taken + size <= self._max_bytes)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction."""
        with self._lock:
            if not self._ready or not self.path.exists():
                self._prepare()
        with closing(sqlite3.connect(self.path, timeout=_BUSY_S)) as connection, connection:
            yield connection

    def _prepare(self) -> None:
        make_private(self.path)
        with closing(sqlite3.connect(self.path, timeout=_BUSY_S)) as connection:
            to_wal(connection, patience_s=_BUSY_S)
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        self._ready = True
