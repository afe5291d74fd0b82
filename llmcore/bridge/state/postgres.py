"""Responses kept in PostgreSQL, which several gateways on several machines share."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from llmcore.bridge.state.store import (
    FORGOTTEN_PER_WRITE,
    FULL_S,
    ResponseStore,
    StateUnavailableError,
    reason_of,
)
from llmcore.fronts.openai_responses.state import Record
from llmcore.storage.postgres import PostgresDatabase, rows_of

_T = TypeVar("_T")

_TABLES: Final = """
create table if not exists openbridge_responses (
    id text primary key, data bytea not null, expires timestamptz not null
);
create index if not exists openbridge_responses_by_age on openbridge_responses (expires);
create table if not exists openbridge_items (
    id text primary key, data bytea not null,
    response_id text not null references openbridge_responses on delete cascade
);
create index if not exists openbridge_items_by_response on openbridge_items (response_id);
create table if not exists openbridge_values (
    name text primary key, value bytea not null, expires timestamptz not null
);
create index if not exists openbridge_values_by_age on openbridge_values (expires);
create table if not exists openbridge_secrets (name text primary key, value bytea not null);
"""
_EXPIRES: Final = "now() + make_interval(secs => ?)"
_OLD_RESPONSES: Final = """
delete from openbridge_responses where id in (
    select id from openbridge_responses where expires <= now()
    order by expires limit ? for update skip locked)
"""
_OLD_VALUES: Final = """
delete from openbridge_values where name in (
    select name from openbridge_values where expires <= now()
    order by expires limit ? for update skip locked)
"""
_PUT: Final = "insert into openbridge_responses values (?, ?, EXPIRES)".replace("EXPIRES", _EXPIRES)
_PUT_ITEM: Final = """
insert into openbridge_items (id, data, response_id) values (?, ?, ?)
on conflict (id) do update set data = excluded.data, response_id = excluded.response_id
"""
_GET: Final = "select data from openbridge_responses where id = ? and expires > now()"
_ITEMS: Final = """
select i.id, i.data from openbridge_items i join openbridge_responses r on r.id = i.response_id
where i.id = any(?) and r.expires > now()
"""
_DELETE: Final = "delete from openbridge_responses where id = ? returning expires > now()"
_VALUE: Final = "select value from openbridge_values where name = ? and expires > now()"
_KEEP: Final = """
insert into openbridge_values as e values (?, ?, EXPIRES)
on conflict (name) do update set value = excluded.value, expires = excluded.expires
""".replace("EXPIRES", _EXPIRES)
_ADD: Final = f"{_KEEP} where e.expires <= now() returning name"
_REPLACE: Final = """
update openbridge_values set value = ?, expires = EXPIRES
where name = ? and value = ? and expires > now() returning name
""".replace("EXPIRES", _EXPIRES)


class PostgresResponseStore(ResponseStore):
    """A store in PostgreSQL."""

    def __init__(self, url: str, *, ttl_s: float, setting: str = "OPENBRIDGE_POSTGRES_URL") -> None:
        self._db = PostgresDatabase(url, setting=setting, tables=_TABLES)
        self._ttl_s = ttl_s
        self._full_until = -math.inf

    def _check(self) -> None:
        if time.monotonic() < self._full_until:
            raise StateUnavailableError("the disk of the response store (PostgreSQL) is full")
        import psycopg

        def check(db: Any) -> None:
            if rows_of(db, "show transaction_read_only") != [("off",)]:
                raise psycopg.errors.ReadOnlySqlTransaction("the server is read-only")

        self._transact(check)

    def _put(
        self, db: Any, record: Record, data: bytes, items: Mapping[str, bytes], ttl_s: float
    ) -> None:
        rows_of(db, _OLD_RESPONSES, (FORGOTTEN_PER_WRITE,))
        rows_of(db, _DELETE, (record.id,))
        rows_of(db, _PUT, (record.id, data, ttl_s))
        for name in sorted(items):
            rows_of(db, _PUT_ITEM, (name, items[name], record.id))

    def _get(self, db: Any, response_id: str) -> bytes | None:
        return _first(rows_of(db, _GET, (response_id,)))

    def _delete(self, db: Any, response_id: str) -> bool:
        return rows_of(db, _DELETE, (response_id,)) == [(True,)]

    def _items(self, db: Any, names: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        return ((name, data) for name, data in rows_of(db, _ITEMS, (list(names),)))

    def _value(self, db: Any, name: str) -> bytes | None:
        return _first(rows_of(db, _VALUE, (name,)))

    def _keep(self, db: Any, name: str, value: bytes, ttl_s: float) -> None:
        rows_of(db, _OLD_VALUES, (FORGOTTEN_PER_WRITE,))
        rows_of(db, _KEEP, (name, value, ttl_s))

    def _swap(self, db: Any, name: str, old: bytes | None, new: bytes, ttl_s: float) -> bool:
        if old is None:
            done = rows_of(db, _ADD, (name, new, ttl_s))
        else:
            done = rows_of(db, _REPLACE, (new, ttl_s, name, old))
        return bool(done) or self._value(db, name) == new

    def _forget(self, db: Any, names: Sequence[str]) -> None:
        rows_of(db, "delete from openbridge_values where name = any(?)", (sorted(names),))

    def _sealing_key(self, db: Any, made: bytes) -> bytes:
        add = "insert into openbridge_secrets values ('sealing', ?) on conflict do nothing"
        rows_of(db, add, (made,))
        rows = rows_of(db, "select value from openbridge_secrets where name = 'sealing'")
        return bytes(rows[0][0])

    def _close(self) -> None:
        self._db.close()

    def _transact(self, step: Callable[[Any], _T]) -> _T:
        import psycopg

        try:
            return self._db.run(step)
        except (psycopg.Error, OSError) as error:
            if isinstance(error, psycopg.errors.DiskFull):
                self._full_until = time.monotonic() + FULL_S
            reason = reason_of(error)
            message = f"the response store (PostgreSQL) does not answer as it should: {reason}"
            raise StateUnavailableError(message) from error


def _first(rows: Sequence[tuple[Any, ...]]) -> bytes | None:
    return bytes(rows[0][0]) if rows else None
