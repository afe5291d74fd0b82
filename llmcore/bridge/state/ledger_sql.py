"""The ledger in SQL: in a SQLite file, in this process's memory, or in PostgreSQL.

All of them run the same SQL. A level is changed by one statement, which reads, drains and
bounds it: SQLite runs one writer at a time, and PostgreSQL locks the row. Meters are changed in
the order of their names, so that transactions cannot deadlock.
"""

import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from llmcore.bridge.state.ledger import ExceededMeter, Increment, Meter, Settlement, StoredRow
from llmcore.bridge.state.store import StateUnavailableError, reason_of
from llmcore.storage.postgres import PostgresDatabase, rows_of
from llmcore.storage.sqlite import ForeignFileError, Layout, SqliteFile, transaction

_T = TypeVar("_T")

_BUSY_S: Final = 5.0
"""Seconds to wait for a file that another process has locked."""
PAGE: Final = 2000
"""Rows of spend that are read at once."""
_FORGOTTEN: Final = 500
_UNBOUNDED: Final = 1e300
_CONNECT_S: Final = 3.0
_CLOCKS_S: Final = 60.0
"""By more than this, clocks of machines do not differ: a later time is from before a clock was set
back."""

TABLES: Final = """
create table if not exists openbridge_keys (name text primary key, value bytea not null);
create table if not exists openbridge_meters (
    name text primary key, level double precision not null, at double precision not null,
    drains double precision not null, expires double precision not null
);
create table if not exists openbridge_holds (
    id text not null, meter text not null, amount double precision not null,
    worker text not null, made double precision not null, primary key (id, meter)
);
create index if not exists openbridge_holds_by_worker on openbridge_holds (worker);
create table if not exists openbridge_workers (
    name text primary key, lease_end double precision not null
);
create table if not exists openbridge_spend (
    id text primary key, at double precision not null, data bytea not null
);
create index if not exists openbridge_spend_by_time on openbridge_spend (at, id);
"""
LAYOUT: Final = Layout(
    version=1,
    names=frozenset({"openbridge_meters", "openbridge_holds", "openbridge_spend"}),
    tables=TABLES,
    pragmas=("synchronous = NORMAL",),
)

_DRAINED: Final = """greatest(0, m.level - m.drains * case
    when m.at > NOW + 60 then m.at - NOW else greatest(0, NOW - m.at) end)"""
"""The level. A meter that was changed more than a minute from now was changed before the clock of
the machine was set back; what drains has drained since. Clocks of machines differ by less."""
_AT: Final = "case when m.at > NOW + 60 then NOW else greatest(m.at, NOW) end"


def _of_now(sql: str, now: str) -> str:
    """Return *sql* with the level and the time of a meter; *now* is the column of the time."""
    return sql.replace("DRAINED", _DRAINED).replace("AT_NOW", _AT).replace("NOW", now)


_ADD: Final = _of_now(
    """
insert into openbridge_meters as m (name, level, at, drains, expires) values (?, ?, ?, ?, ?)
on conflict (name) do update set
    level = greatest(0, DRAINED + excluded.level),
    at = AT_NOW, drains = excluded.drains, expires = excluded.expires
where DRAINED + excluded.level <= ?
returning level
""",
    "excluded.at",
)
_LEVEL: Final = _of_now(
    """
with t as (select cast(? as double precision) as at)
select DRAINED from openbridge_meters as m, t where name = ?
""",
    "t.at",
)
_GIVE_BACK: Final = _of_now(
    """
with t as (select cast(? as double precision) as at, cast(? as double precision) as amount)
update openbridge_meters as m set level = greatest(0, DRAINED - t.amount), at = AT_NOW
from t where name = ?
""",
    "t.at",
)
_TOO_LONG = "update openbridge_workers set lease_end = ? where lease_end > ?"
"""Leases of before the clock was set back end as new ones do."""
_DEAD = """
delete from openbridge_holds where (made <= ? or made > ?)
    and worker not in (select name from openbridge_workers where lease_end > ?)
returning meter, amount
"""
_HOLD = "insert into openbridge_holds values (?, ?, ?, ?, ?) on conflict do nothing returning id"
_HELD = "select amount from openbridge_holds where id = ? and meter = ?"
_RAISE = "update openbridge_holds set amount = ? where id = ? and meter = ? returning id"
_WORKER = """
insert into openbridge_workers values (?, ?)
on conflict (name) do update set lease_end = excluded.lease_end
"""
_RELEASE = "delete from openbridge_holds where id = ? and meter = ? returning amount"
_RELEASED = "delete from openbridge_holds where id = ? returning meter, amount"
_ROW = "insert into openbridge_spend values (?, ?, ?) on conflict do nothing returning id"
_ROWS = """
select id, at, data from openbridge_spend
where at >= ? and at < ? and (at, id) > (?, ?) order by at, id limit ?
"""
_OLD_ROWS = """
delete from openbridge_spend where id in
    (select id from openbridge_spend where at < ? order by at limit ?) returning id
"""

Execute: TypeAlias = Callable[..., Sequence[tuple[Any, ...]]]
"""Runs a statement with its values, and returns its rows."""


class SqlLedger:
    """A ledger in an SQL database. A subclass runs the transactions."""

    def now(self, execute: Execute) -> float:
        """Return the time that all users of the database share, in seconds since 1970."""
        raise NotImplementedError

    def run(self, work: Callable[[Execute], _T]) -> _T:
        """Return what *work* returns, in a transaction of its own."""
        raise NotImplementedError

    def read(self, work: Callable[[Execute], _T]) -> _T:
        """Return what *work*, which changes nothing, returns for one moment."""
        return self.run(work)

    def close(self) -> None:
        """Close the connections and files. Idempotent."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise StateUnavailableError if the database does not answer."""
        self.read(lambda execute: execute("select 1"))

    def key(self, name: str) -> bytes | None:
        """Return an issued key; None if there is none."""
        query = "select value from openbridge_keys where name = ?"
        rows = self.read(lambda execute: execute(query, (name,)))
        return bytes(rows[0][0]) if rows else None

    def keys(self) -> Mapping[str, bytes]:
        """Return all issued keys by their names."""
        query = "select name, value from openbridge_keys order by name"
        return {name: bytes(value) for name, value in self.read(lambda run: run(query))}

    def swap_key(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Write an issued key if it is *old*, None for a missing one; return whether it was."""
        if old is None:
            sql = "insert into openbridge_keys values (?, ?) on conflict do nothing returning name"
            values: tuple[object, ...] = (name, new)
        else:
            sql = "update openbridge_keys set value = ? where name = ? and value = ? returning name"
            values = (new, name, old)
        return bool(self.run(lambda execute: execute(sql, values)))

    def reserve(
        self, reservation: str, worker: str, increments: Sequence[Increment]
    ) -> ExceededMeter | None:
        """Add every amount to its level, or none of them; return the one that does not fit."""
        try:
            self.run(lambda execute: self._reserve(execute, reservation, worker, increments))
        except _ExcessError as excess:
            return excess.excess
        return None

    def _reserve(
        self, execute: Execute, reservation: str, worker: str, increments: Sequence[Increment]
    ) -> None:
        now = self.now(execute)
        for increment in sorted(increments, key=lambda increment: increment.meter.name):
            meter, amount, held = increment.meter, increment.amount, 0.0
            name = (reservation, meter.name)
            if reservation and not execute(_HOLD, (*name, amount, worker, now)):
                held = execute(_HELD, name)[0][0]  # reserved before
                if held >= amount:
                    continue
                execute(_RAISE, (amount, *name))
            more = amount - held
            if amount > meter.limit or not _added(execute, meter, more, now, meter.limit):
                level = _level(execute, meter, now)
                raise _ExcessError(ExceededMeter(meter=meter, level=level, amount=amount))

    def settle(self, settlements: Sequence[Settlement]) -> None:
        """Write the rows of responses, with the use of each in place of its reservation."""
        self.run(lambda execute: self._settle(execute, settlements))

    def _settle(self, execute: Execute, settlements: Sequence[Settlement]) -> None:
        changes: defaultdict[str, float] = defaultdict(float)
        meters: dict[str, Meter] = {}
        for settlement in settlements:
            row = (settlement.id, settlement.at, settlement.row)
            if not execute(_ROW, row):  # written by an earlier try
                continue
            if not settlement.uses:  # nothing was reserved for it
                continue
            held: dict[str, float] = dict(execute(_RELEASED, (settlement.id,)))
            for use in settlement.uses:
                meters[use.meter.name] = use.meter
                changes[use.meter.name] += use.amount - held.get(use.meter.name, 0)
        now = self.now(execute) if changes else 0.0
        for name in sorted(changes):
            _added(execute, meters[name], changes[name], now, _UNBOUNDED)

    def release(self, reservation: str, worker: str, meters: Sequence[Meter]) -> None:
        """Give back what *reservation* still holds of *meters*; nothing the second time."""
        names = sorted(meter.name for meter in meters)
        self.run(lambda execute: self._release(execute, reservation, names))

    def _release(self, execute: Execute, reservation: str, names: Sequence[str]) -> None:
        now = self.now(execute)
        for name in names:
            for (amount,) in execute(_RELEASE, (reservation, name)):
                execute(_GIVE_BACK, (now, amount, name))

    def renew(self, worker: str, lease_s: float) -> None:
        """Extend the lease of *worker*; give back the reservations of those whose lease ended."""
        self.run(lambda execute: self._renew(execute, worker, lease_s))

    def _renew(self, execute: Execute, worker: str, lease_s: float) -> None:
        now = self.now(execute)
        execute(_WORKER, (worker, now + lease_s))
        execute(_TOO_LONG, (now + lease_s, now + lease_s + _CLOCKS_S))
        changes: defaultdict[str, float] = defaultdict(float)
        for meter, amount in execute(_DEAD, (now - lease_s, now + _CLOCKS_S, now)):
            changes[meter] += amount
        for name in sorted(changes):
            execute(_GIVE_BACK, (now, changes[name], name))
        execute("delete from openbridge_workers where lease_end < ?", (now - 10 * lease_s,))
        execute(
            "delete from openbridge_meters where expires < ? "
            "and name not in (select meter from openbridge_holds)",
            (now,),
        )

    def levels(self, meters: Sequence[Meter]) -> Sequence[float]:
        """Return the level of each meter, used and reserved, as of now."""

        def read(execute: Execute) -> Sequence[float]:
            now = self.now(execute)
            return [_level(execute, meter, now) for meter in meters]

        return self.read(read)

    def rows(self, since: float, until: float, after: tuple[float, str]) -> Sequence[StoredRow]:
        """Return a page of rows from *since* on and before *until*, by time and id."""
        rows = self.read(lambda execute: execute(_ROWS, (since, until, *after, PAGE)))
        return [StoredRow(id=id_, at=at, data=bytes(data)) for id_, at, data in rows]

    def forget(self, before: float) -> int:
        """Delete rows that are older than *before*, some at a time; return how many."""
        return len(self.run(lambda execute: execute(_OLD_ROWS, (before, _FORGOTTEN))))


def _added(execute: Execute, meter: Meter, amount: float, now: float, limit: float) -> bool:
    """Add to a level unless it would rise above *limit*; return whether it was added."""
    values = (meter.name, amount, now, meter.drains_per_s, now + meter.keep_s, limit)
    return bool(execute(_ADD, values))


def _level(execute: Execute, meter: Meter, now: float) -> float:
    rows = execute(_LEVEL, (now, meter.name))
    return float(rows[0][0]) if rows else 0.0


class _ExcessError(Exception):
    """Rolls a reservation back."""

    def __init__(self, excess: ExceededMeter) -> None:
        super().__init__(excess.meter.name)
        self.excess = excess


# -- databases


class SqliteLedger(SqlLedger):
    """A ledger in a SQLite file, which the processes of one machine share.

    Without a *path* it is in the memory of this process.
    """

    def __init__(
        self, path: Path | None, *, setting: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._setting = setting
        self._clock = clock
        self._file = SqliteFile(path, LAYOUT, patience_s=_BUSY_S)

    def now(self, execute: Execute) -> float:
        """Return the time of this machine."""
        return self._clock()

    def run(self, work: Callable[[Execute], _T]) -> _T:
        """Return what *work* returns, in a transaction of its own."""

        def step(db: sqlite3.Connection) -> _T:
            with transaction(db):
                return work(_executing(db))

        return self._on_file(step)

    def read(self, work: Callable[[Execute], _T]) -> _T:
        """Return what *work*, which changes nothing, returns, without waiting for writers."""
        return self._on_file(lambda db: work(_executing(db)))

    def _on_file(self, step: Callable[[sqlite3.Connection], _T]) -> _T:
        try:
            return self._file.run(step)
        except ForeignFileError as error:
            message = f"the file of accounts beside {self._setting} is another one: {error}"
            raise StateUnavailableError(message) from error
        except (sqlite3.Error, OSError) as error:
            raise StateUnavailableError(f"the store of accounts does not work: {error}") from error

    def close(self) -> None:
        """Close the file; what is in memory is lost."""
        self._file.close()


def _executing(db: sqlite3.Connection) -> Execute:
    def execute(sql: str, values: Sequence[object] = ()) -> Sequence[tuple[Any, ...]]:
        return db.execute(sql.replace("greatest(", "max("), values).fetchall()

    return execute


class PostgresLedger(SqlLedger):
    """A ledger in a PostgreSQL database, which any number of machines share."""

    def __init__(self, url: str, *, setting: str, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock
        self._db = PostgresDatabase(url, setting=setting, tables=TABLES, connect_s=_CONNECT_S)

    def now(self, execute: Execute) -> float:
        """Return the time of the server."""
        if self._clock is not None:
            return self._clock()
        return float(execute("select extract(epoch from clock_timestamp())")[0][0])

    def run(self, work: Callable[[Execute], _T]) -> _T:
        """Return what *work* returns, in a transaction of its own."""
        import psycopg

        try:
            return self._db.run(lambda cursor: work(partial(rows_of, cursor)))
        except (psycopg.Error, OSError) as error:
            reason = reason_of(error)
            message = f"the store of accounts (PostgreSQL) does not answer as it should: {reason}"
            sent = not isinstance(error, psycopg.errors.ConnectionTimeout)
            raise StateUnavailableError(message, sent=sent) from error

    def close(self) -> None:
        """Close the connections."""
        self._db.close()
