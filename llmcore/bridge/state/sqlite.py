"""Responses kept in a SQLite file, which several processes of one machine may share, or in memory.

The database is bounded: every write makes room for what it writes. It deletes responses of the
owner that has the most, so that none displaces those of owners that have less. The sums that this
takes are kept in the database, so that a write costs the same however many responses there are.
"""

import math
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from llmcore.bridge.state.store import (
    FORGOTTEN_PER_WRITE,
    FULL_S,
    SMALL_VALUE_BYTES,
    ResponseStore,
    StateUnavailableError,
    no_room_for_values,
)
from llmcore.fronts.openai_responses.state import Record
from llmcore.schema import json
from llmcore.schema.frozen import frozen
from llmcore.storage.sqlite import ForeignFileError, Layout, SqliteFile

_T = TypeVar("_T")

_TABLES: Final = """
create table responses (
    id text primary key, data blob not null, expires real not null, size integer not null,
    owner text not null
) without rowid;
create index responses_by_age on responses (expires, size);
create index responses_by_owner on responses (owner, expires);
create table items (
    id text primary key, response_id text not null, data blob not null
) without rowid;
create index items_by_response on items (response_id);
create table secrets (name text primary key, value blob not null) without rowid;
create table held (entries integer not null, bytes integer not null);
insert into held values (0, 0);
create table shares (
    owner text primary key, entries integer not null, bytes integer not null
) without rowid;
create index shares_by_entries on shares (entries);
create index shares_by_bytes on shares (bytes);
create trigger response_added after insert on responses begin
    update held set entries = entries + 1, bytes = bytes + new.size;
    insert into shares values (new.owner, 1, new.size) on conflict (owner)
        do update set entries = entries + 1, bytes = bytes + excluded.bytes;
end;
create trigger response_removed after delete on responses begin
    update held set entries = entries - 1, bytes = bytes - old.size;
    update shares set entries = entries - 1, bytes = bytes - old.size where owner = old.owner;
    delete from shares where owner = old.owner and entries <= 0;
end;
create table named_values (
    name text primary key, value blob not null, expires real not null
) without rowid;
create index named_values_by_age on named_values (expires);
create table named_values_held (bytes integer not null);
insert into named_values_held values (0);
create trigger value_added after insert on named_values begin
    update named_values_held set bytes = bytes + length(new.value);
end;
create trigger value_changed after update on named_values begin
    update named_values_held set bytes = bytes + length(new.value) - length(old.value);
end;
create trigger value_removed after delete on named_values begin
    update named_values_held set bytes = bytes - length(old.value);
end;
"""
"""`held` has the sums of all responses, `shares` those of each owner; triggers maintain both."""
LAYOUT: Final = Layout(
    version=1,
    names=frozenset({"responses", "items", "secrets"}),
    tables=_TABLES,
    pragmas=("synchronous = NORMAL",),
)
_PUT = "insert into responses (id, data, expires, size, owner) values (?, ?, ?, ?, ?)"
_GET = "select data from responses where id = ? and expires > ?"
_ITEMS = """
select items.id, items.data from items join responses on responses.id = response_id
where items.id in (select value from json_each(?)) and expires > ?
"""
_VALUE = "select value from named_values where name = ? and expires > ?"
_OLD_VALUES = """
delete from named_values where name in (
    select name from named_values where expires <= ? order by expires limit ?)
"""
_KEEP = """
insert into named_values values (?, ?, ?)
on conflict (name) do update set value = excluded.value, expires = excluded.expires
"""
_EXPIRED = "select id from responses where expires <= ? order by expires limit 1"
_OLDEST = "select id from responses where id <> ? order by expires limit 1"
_OLDEST_OF_LARGEST = """
select id from responses where owner = (select owner from shares order by MEASURE desc limit 1)
and id <> ? order by expires limit 1
"""
_COUNT = "select count(*), coalesce(sum(size), 0) from responses"
_BUSY_S = 5.0
_ROOM_BYTES = 16 * 1024 * 1024
"""Free space that the disk must have before a request is sent to an upstream."""


class SqliteResponseStore(ResponseStore):
    """A store in one SQLite file, opened on first use. Only its owner may read the file.

    Without a *path* it is in the memory of this process, and gone when it is closed.

    Every write deletes expired records, and if a bound is exceeded the oldest ones of the owner
    that has the most. A record that is larger than `max_bytes` on its own is kept until the next
    one comes.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        ttl_s: float,
        max_entries: int,
        max_bytes: int,
        setting: str = "OPENBRIDGE_STATE_PATH",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = SqliteFile(path, LAYOUT, patience_s=_BUSY_S)
        self._setting = setting
        self._ttl_s = ttl_s
        self._bounds = _Bounds(max_entries, max_bytes)
        self._clock = clock
        self._full_until = -math.inf

    def _check(self) -> None:
        """Return if the file can be opened and written, and its disk has room for a record."""
        path = self._file.path
        if path is None:
            return
        self._transact(lambda db: db.execute("begin immediate").connection.rollback())
        free = shutil.disk_usage(path.parent).free
        if free < _ROOM_BYTES or time.monotonic() < self._full_until:
            raise StateUnavailableError(f"the disk of the response store {path} is full")

    def _put(
        self,
        db: sqlite3.Connection,
        record: Record,
        data: bytes,
        items: Mapping[str, bytes],
        ttl_s: float,
    ) -> None:
        size = len(data) + sum(map(len, items.values()))
        now = self._clock()
        db.execute("begin immediate")
        _remove(db, record.id)
        db.execute(_PUT, (record.id, data, now + ttl_s, size, record.owner))
        rows = [(name, record.id, item) for name, item in items.items()]
        db.executemany("insert or replace into items values (?, ?, ?)", rows)
        _make_room(db, self._bounds, record.id, now)

    def _get(self, db: sqlite3.Connection, response_id: str) -> bytes | None:
        row: tuple[bytes] | None = db.execute(_GET, (response_id, self._clock())).fetchone()
        return None if row is None else row[0]

    def _delete(self, db: sqlite3.Connection, response_id: str) -> bool:
        db.execute("begin immediate")
        live = self._get(db, response_id) is not None
        _remove(db, response_id)
        return live

    def _items(self, db: sqlite3.Connection, names: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        return db.execute(_ITEMS, (json.dumps(names).decode(), self._clock()))

    def _value(self, db: sqlite3.Connection, name: str) -> bytes | None:
        row = db.execute(_VALUE, (name, self._clock())).fetchone()
        return None if row is None else bytes(row[0])

    def _keep(self, db: sqlite3.Connection, name: str, value: bytes, ttl_s: float) -> None:
        """Write a value. Raises StateUnavailableError if there is no room for it."""
        if not db.in_transaction:
            db.execute("begin immediate")
        now = self._clock()
        db.execute(_OLD_VALUES, (now, FORGOTTEN_PER_WRITE))
        (held,) = db.execute("select bytes from named_values_held").fetchone()
        if len(value) > SMALL_VALUE_BYTES and held + len(value) > self._bounds.bytes:
            raise no_room_for_values()
        db.execute(_KEEP, (name, value, now + ttl_s))

    def _swap(
        self, db: sqlite3.Connection, name: str, old: bytes | None, new: bytes, ttl_s: float
    ) -> bool:
        db.execute("begin immediate")
        value = self._value(db, name)
        if value == old:
            self._keep(db, name, new, ttl_s)
            return True
        return value == new

    def _forget(self, db: sqlite3.Connection, names: Sequence[str]) -> None:
        db.execute("begin immediate")
        db.executemany("delete from named_values where name = ?", [(name,) for name in names])

    def _sealing_key(self, db: sqlite3.Connection, made: bytes) -> bytes:
        db.execute("insert or ignore into secrets values ('sealing', ?)", (made,))
        row = db.execute("select value from secrets where name = 'sealing'").fetchone()
        return bytes(row[0])

    def _close(self) -> None:
        self._file.close()

    def _transact(self, step: Callable[[sqlite3.Connection], _T]) -> _T:
        def committed(db: sqlite3.Connection) -> _T:
            with db:
                return step(db)

        try:
            return self._file.run(committed)
        except ForeignFileError as error:
            message = f"{self._setting} is not a response store: {error}"
            raise StateUnavailableError(message) from error
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                self._full_until = time.monotonic() + FULL_S
            place = self._file.path or "in memory"
            message = f"the response store {place} does not work: {error}"
            raise StateUnavailableError(message) from error


# -- responses


@frozen
class _Bounds:
    """The most responses, and the most bytes of them and of named values."""

    entries: int
    bytes: int


def _make_room(db: sqlite3.Connection, bounds: _Bounds, written: str, now: float) -> None:
    """Delete expired responses, and others than the *written* one until *bounds* hold."""
    for _ in range(FORGOTTEN_PER_WRITE):
        row = db.execute(_EXPIRED, (now,)).fetchone() or _in_excess(db, bounds, written)
        if row is None:
            return
        _remove(db, row[0])


def _in_excess(db: sqlite3.Connection, bounds: _Bounds, written: str) -> tuple[str] | None:
    """Return the response to be deleted next because of a bound, if there is one."""
    entries, size = _held(db)
    if entries <= bounds.entries and size <= bounds.bytes:
        return None
    measure = "entries" if entries > bounds.entries else "bytes"
    of_largest = _OLDEST_OF_LARGEST.replace("MEASURE", measure)
    row: tuple[str] | None = db.execute(of_largest, (written,)).fetchone()
    return row or db.execute(_OLDEST, (written,)).fetchone()  # its owner has no other one


def _held(db: sqlite3.Connection) -> tuple[int, int]:
    """Return the stored totals of responses and their bytes; recount if they are missing."""
    row = db.execute("select entries, bytes from held").fetchone()
    if row is None:
        row = db.execute(_COUNT).fetchone()
        db.execute("insert into held values (?, ?)", row)
    entries, size = row
    return entries, size


def _remove(db: sqlite3.Connection, response_id: str) -> None:
    """Remove a response and its items, if it is stored."""
    db.execute("delete from items where response_id = ?", (response_id,))
    db.execute("delete from responses where id = ?", (response_id,))
