"""Connections to PostgreSQL, as the gateway's stores share them."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from llmcore.storage import postgres
from llmcore.storage.postgres import MAX_CONNECTIONS, PostgresDatabase, rows_of
from tests.support.servers.postgres_servers import PostgresServer, running_postgres

_TABLES = "create table if not exists numbers (number integer primary key);"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


@pytest.fixture
def database(server: PostgresServer) -> Iterator[PostgresDatabase]:
    made = PostgresDatabase(server.url, setting="X", tables=_TABLES)
    made.run(lambda cursor: cursor.execute("truncate numbers"))
    yield made
    made.close()


def process_of(cursor: Any) -> int:
    """Return the process of the server that serves a connection."""
    ((process,),) = rows_of(cursor, "select pg_backend_pid()")
    return int(process)


def processes_of_all(database: PostgresDatabase) -> set[int]:
    """Open as many connections as there may be; return their processes."""
    together = threading.Barrier(MAX_CONNECTIONS)

    def work(cursor: Any) -> int:
        together.wait(20)
        return process_of(cursor)

    with ThreadPoolExecutor(MAX_CONNECTIONS) as threads:
        return set(threads.map(lambda _: database.run(work), range(MAX_CONNECTIONS)))


def test_connections_that_the_server_ended_are_replaced_unnoticed(
    server: PostgresServer, database: PostgresDatabase
) -> None:
    """An administrator, a restart or a limit of idle time ends all of them, with an SQLSTATE."""
    before = processes_of_all(database)
    other = PostgresDatabase(server.url, setting="X", tables=_TABLES)
    ended = other.run(
        lambda cursor: rows_of(
            cursor, "select pg_terminate_backend(pid, 5000) from unnest(?) as pid", (list(before),)
        )
    )
    other.close()

    assert ended == [(True,)] * MAX_CONNECTIONS
    assert database.run(process_of) not in before
    assert processes_of_all(database).isdisjoint(before)


def test_a_transaction_that_ends_for_a_deadlock_runs_again(database: PostgresDatabase) -> None:
    """PostgreSQL ends one of two that wait for each other, after a second."""
    both, tries = threading.Barrier(2), list[int]()

    def change(first: int, then: int) -> None:
        def work(cursor: Any) -> None:
            tries.append(first)
            rows_of(cursor, "update numbers set number = number where number = ?", (first,))
            if len(tries) <= 2:
                both.wait(20)
            rows_of(cursor, "update numbers set number = number where number = ?", (then,))

        database.run(work)

    database.run(lambda cursor: cursor.execute("insert into numbers values (1), (2)"))
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(change, (1, 2), (2, 1)))

    assert len(tries) == 3


def test_a_connection_is_used_again_after_an_exception_of_its_work(
    database: PostgresDatabase,
) -> None:
    """As after a reservation that does not fit; what it wrote is rolled back."""
    before = database.run(process_of)

    def refused(cursor: Any) -> None:
        rows_of(cursor, "insert into numbers values (1)")
        raise LookupError

    with pytest.raises(LookupError):
        database.run(refused)

    assert database.run(process_of) == before
    assert database.run(lambda cursor: rows_of(cursor, "select * from numbers")) == []


def test_connections_to_a_server_that_became_read_only_are_replaced(
    database: PostgresDatabase,
) -> None:
    """The address leads to the new primary by then, at best."""
    before = processes_of_all(database)
    read_only: set[int] = set(before)

    def insert(cursor: Any) -> int:
        if process_of(cursor) in read_only:
            rows_of(cursor, "set transaction read only")
        rows_of(cursor, "insert into numbers values (1)")
        return process_of(cursor)

    assert database.run(insert) not in before
    assert processes_of_all(database).isdisjoint(before)


def test_tables_that_are_gone_are_made_again(
    server: PostgresServer, database: PostgresDatabase
) -> None:
    """An empty database at the same address takes the place of the first one."""
    database.run(process_of)
    other = PostgresDatabase(server.url, setting="X", tables=_TABLES)
    other.run(lambda cursor: cursor.execute("drop table numbers"))
    other.close()

    database.run(lambda cursor: rows_of(cursor, "insert into numbers values (1)"))

    assert database.run(lambda cursor: rows_of(cursor, "select * from numbers")) == [(1,)]


def test_a_server_that_has_not_answered_for_six_seconds_is_given_up(
    server: PostgresServer, database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests wait for it, and may ask two stores that are there."""
    database.run(process_of)
    times = iter([0.0])
    clock = SimpleNamespace(monotonic=lambda: next(times, 6.0))
    monkeypatch.setattr(postgres, "time", clock)

    with ThreadPoolExecutor(1) as threads, server.hung():
        asked = threads.submit(database.run, process_of)
        with pytest.raises(TimeoutError, match="in time"):
            asked.result(20)


def test_a_server_that_stays_read_only_is_an_error(database: PostgresDatabase) -> None:
    """After one new connection."""
    database.run(process_of)
    tries = []

    def insert(cursor: Any) -> None:
        tries.append(process_of(cursor))
        rows_of(cursor, "set transaction read only")
        rows_of(cursor, "insert into numbers values (2)")

    with pytest.raises(Exception, match="read-only"):
        database.run(insert)

    assert len(set(tries)) == len(tries) == 2
