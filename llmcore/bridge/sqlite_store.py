"""Responses kept in a SQLite file, which several processes of one machine may share."""

import contextlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from llmcore.bridge.store import (
    SEALING_KEY_BYTES,
    Record,
    StateUnavailableError,
    packed,
    packed_item,
    unpacked,
    unpacked_items,
)
from llmcore.schema import json
from llmcore.schema.json import JsonObject

_T = TypeVar("_T")

SCHEMA_VERSION = 1
_SCHEMA = """
create table if not exists responses (
    id text primary key, data blob not null, expires real not null
) without rowid;
create index if not exists responses_by_expiry on responses (expires);
create table if not exists items (
    id text primary key, response_id text not null, data blob not null
) without rowid;
create index if not exists items_by_response on items (response_id);
create table if not exists secrets (name text primary key, value blob not null) without rowid;
"""
_PURGE_EVERY_S = 300.0
_BUSY_S = 5.0


class SqliteStore:
    """A store in one SQLite file, opened on first use. Only its owner may read the file."""

    def __init__(self, path: Path, *, ttl_s: float, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._ttl_s = ttl_s
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._purged = float("-inf")

    async def check(self) -> None:
        """Return if the file can be opened and written."""
        await self._run(lambda db: db.execute("begin immediate").connection.rollback())

    async def put(self, record: Record) -> None:
        """Write *record* and its items in one transaction."""

        def write(db: sqlite3.Connection) -> None:
            data = packed(record)
            items = [(n, record.id, packed_item(i, record.owner)) for n, i in record.items.items()]
            now = self._clock()
            db.execute("begin immediate")
            self._purge(db, now)
            _forget(db, record.id)
            row = (record.id, data, now + self._ttl_s)
            db.execute("insert into responses values (?, ?, ?)", row)
            db.executemany("insert or replace into items values (?, ?, ?)", items)

        await self._run(write)

    async def get(self, response_id: str) -> Record | None:
        """Return the record; None if there is none, or no more."""

        def read(db: sqlite3.Connection) -> Record | None:
            found = db.execute(
                "select data from responses where id = ? and expires > ?",
                (response_id, self._clock()),
            ).fetchone()
            return None if found is None else unpacked(found[0])

        return await self._run(read)

    async def delete(self, response_id: str) -> bool:
        """Forget the record and its items; whether there was one."""

        def forget(db: sqlite3.Connection) -> bool:
            db.execute("begin immediate")
            live = db.execute(
                "select 1 from responses where id = ? and expires > ?",
                (response_id, self._clock()),
            ).fetchone()
            _forget(db, response_id)
            return live is not None

        return await self._run(forget)

    async def items(self, names: Sequence[str], owner: str) -> Mapping[str, JsonObject]:
        """Return those output items of *owner* that there still are, by their ids."""

        def read(db: sqlite3.Connection) -> Mapping[str, JsonObject]:
            found = db.execute(
                "select items.id, items.data from items "
                "join responses on responses.id = response_id "
                "where items.id in (select value from json_each(?)) and expires > ?",
                (json.dumps(names).decode(), self._clock()),
            )
            return unpacked_items(found, owner)

        return await self._run(read) if names else {}

    async def sealing_key(self) -> bytes:
        """Return the key of all processes that share the file."""

        def read(db: sqlite3.Connection) -> bytes:
            made = secrets.token_bytes(SEALING_KEY_BYTES)
            db.execute("insert or ignore into secrets values ('sealing', ?)", (made,))
            found = db.execute("select value from secrets where name = 'sealing'").fetchone()
            return bytes(found[0])

        return await self._run(read)

    async def aclose(self) -> None:
        """Close the file."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close)

    async def _run(self, step: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run *step* in a thread, in a transaction of its own if it begins one."""
        return await anyio.to_thread.run_sync(self._locked, step)

    def _locked(self, step: Callable[[sqlite3.Connection], _T]) -> _T:
        with self._lock:
            try:
                db = self._connection or self._open()
                with db:
                    return step(db)
            except (sqlite3.Error, OSError) as error:
                message = f"the response store {self._path} does not work: {error}"
                raise StateUnavailableError(message) from error

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileExistsError):  # closing it would end our locks on it
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        db = sqlite3.connect(
            self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            _check_version(db.execute("pragma user_version").fetchone()[0])
            db.execute("pragma journal_mode = wal")
            db.execute("pragma synchronous = normal")
            db.executescript(_SCHEMA)
            db.execute(f"pragma user_version = {SCHEMA_VERSION}")
        except BaseException:
            db.close()
            raise
        self._connection = db
        return db

    def _purge(self, db: sqlite3.Connection, now: float) -> None:
        if now - self._purged < _PURGE_EVERY_S:
            return
        self._purged = now
        expired = "select id from responses where expires <= ?"
        db.execute(f"delete from items where response_id in ({expired})", (now,))  # noqa: S608
        db.execute("delete from responses where expires <= ?", (now,))

    def _close(self) -> None:
        with self._lock, contextlib.suppress(sqlite3.Error):
            db, self._connection = self._connection, None
            if db is not None:
                db.close()


def _forget(db: sqlite3.Connection, response_id: str) -> None:
    db.execute("delete from items where response_id = ?", (response_id,))
    db.execute("delete from responses where id = ?", (response_id,))


def _check_version(version: int) -> None:
    if version not in (0, SCHEMA_VERSION):
        message = "a newer version wrote the response store: set OPENBRIDGE_STATE_PATH"
        raise StateUnavailableError(message)
