"""A cache store in an SQLite file, which processes can share."""

import logging
import os
import sqlite3
from collections.abc import Callable
from typing import Final, TypeVar

import anyio.to_thread

from llmcore.client.middleware.clock import SYSTEM_CLOCK, Clock
from llmcore.client.middleware.memory_cache import check_limits
from llmcore.client.user_folders import named_path
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.hints import with_checked_arguments
from llmcore.storage.sqlite import ForeignFileError, Layout, SqliteFile, transaction

_T = TypeVar("_T")

_LOG = logging.getLogger("llmcore.cache")

_BUSY_S = 5.0
"""How long to wait for another process that is writing."""

_TABLES: Final = """
CREATE TABLE responses (
    key TEXT PRIMARY KEY, value BLOB NOT NULL, size INTEGER NOT NULL,
    expires_at REAL, used_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX responses_by_use ON responses (used_at DESC, size);
CREATE INDEX responses_by_end ON responses (expires_at);
CREATE TABLE totals (entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0);
CREATE TRIGGER count_in AFTER INSERT ON responses BEGIN
    UPDATE totals SET entries = entries + 1, bytes = bytes + new.size;
END;
CREATE TRIGGER count_out AFTER DELETE ON responses BEGIN
    UPDATE totals SET entries = entries - 1, bytes = bytes - old.size;
END;
"""
"""The totals are maintained by triggers, since counting all entries at each write is slow."""

_LAYOUT: Final = Layout(
    version=1,
    tables=_TABLES,
    names=frozenset({"responses"}),
    pragmas=("synchronous = NORMAL",),  # responses lost in a power cut are only requested again
)

_DROP_EXPIRED = """
DELETE FROM responses WHERE key IN (
    SELECT key FROM responses WHERE expires_at <= ? ORDER BY expires_at LIMIT 100
)
"""
"""A write removes more entries than it adds, but not the whole cache at once."""

_DROP_OLDEST = """
DELETE FROM responses WHERE key = (SELECT key FROM responses ORDER BY used_at LIMIT 1)
"""


@with_checked_arguments()
@with_settings_in_repr
class SqliteCache:
    """Keeps the most recently used responses in the file *path*.

    The file holds responses of models and is readable by its owner only. Each access opens it, in a
    thread, so that there is nothing to close.
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
            raise ConfigurationError(f"the folder of the cache {self.path} does not exist: make it")
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._file = SqliteFile(self.path, _LAYOUT, patience_s=_BUSY_S, stays_open=False)

    async def get(self, key: str) -> bytes | None:
        """Return the value of *key*; None, with a warning, if the file cannot be read."""
        return await anyio.to_thread.run_sync(self._tried, lambda: self._get(key))

    async def put(self, key: str, value: bytes, *, ttl_s: float | None) -> None:
        """Store *value*; logs a warning if the file cannot be written."""
        await anyio.to_thread.run_sync(self._tried, lambda: self._put(key, value, ttl_s))

    def _tried(self, action: Callable[[], _T]) -> _T | None:
        try:
            return action()
        except (sqlite3.Error, OSError, ForeignFileError) as error:
            _LOG.warning("the response cache %s cannot be used: %s", self.path, error)
            return None

    def _get(self, key: str) -> bytes | None:
        now = self._clock.wall()

        def use(db: sqlite3.Connection) -> tuple[object] | None:
            rows: list[tuple[object]] = db.execute(
                "UPDATE responses SET used_at = ? WHERE key = ?"
                " AND (expires_at IS NULL OR expires_at > ?) RETURNING value",
                (now, key, now),
            ).fetchall()  # reading all rows ends the transaction
            return rows[0] if rows else None

        row = self._file.run(use)
        if row is None:
            return None
        value = row[0]
        return value if isinstance(value, bytes) else str(value).encode()  # written by other tools

    def _put(self, key: str, value: bytes, ttl_s: float | None) -> None:
        if len(value) > self._max_bytes:
            return
        now = self._clock.wall()
        expires_at = None if ttl_s is None else now + ttl_s

        def replace(db: sqlite3.Connection) -> None:
            with transaction(db):
                db.execute(_DROP_EXPIRED, (now,))
                db.execute("DELETE FROM responses WHERE key = ?", (key,))
                while not self._has_room(db, len(value)):
                    if not db.execute(_DROP_OLDEST).rowcount:
                        break
                row = (key, value, len(value), expires_at, now)
                db.execute("INSERT INTO responses VALUES (?, ?, ?, ?, ?)", row)

        self._file.run(replace)

    def _has_room(self, db: sqlite3.Connection, size: int) -> bool:
        entries, taken = db.execute("SELECT entries, bytes FROM totals").fetchone()
        return bool(entries < self._max_entries and taken + size <= self._max_bytes)
