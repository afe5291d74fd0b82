"""Connections to a PostgreSQL server, for stores whose calls run in threads.

Tables are made when a connection is first opened, by whichever process comes first: an advisory
lock of the database keeps the others waiting.
"""

import os
import re
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from functools import cache
from threading import BoundedSemaphore, Lock
from typing import Any, Final, TypeVar

from llmcore.schema.errors import ConfigurationError, missing_extra
from llmcore.storage.hung_server import HungServer

_T = TypeVar("_T")

_LOCK_OF_TABLES: Final = 0x6F70656E  # the ASCII text "open", which nothing else locks
_TRIES: Final = 3
_STATEMENT_S: Final = 4
"""After which the server cancels a statement."""
_ANSWER_S: Final = 5.0
"""After which the connection is closed: the server hangs, or cannot be reached any more."""
_TABLE: Final = re.compile(r"create table if not exists (\w+)")
NOT_IN_TIME: Final = "the server did not answer in time"
MAX_CONNECTIONS: Final = 8
"""Of one database object at once. A server allows 100 by default, which all processes of all
machines share: further transactions wait for a connection."""


class PostgresDatabase:
    """Runs transactions on connections that are opened when they are needed, and used again.

    After the server did not answer in time, further transactions fail at once for a few seconds, so
    that requests do not wait for it one after another.

    *tables* is the SQL that makes the tables unless they exist. ConfigurationError, which names
    *setting* and does not quote the URL, for a bad URL, and where `psycopg` is not installed.
    """

    def __init__(self, url: str, *, setting: str, tables: str, connect_s: float = 3.0) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise missing_extra("PostgreSQL", "postgres", error) from error
        self._driver: Any = psycopg
        self._connect = _limited_class().connect
        try:
            conninfo_to_dict(url)
        except psycopg.Error:
            # Its text may quote the URL, password and all.
            raise ConfigurationError(
                f"{setting} is not the URL of a PostgreSQL server: "
                "postgresql://[user:password@]host[:port]/database"
            ) from None
        self._url = url
        self._tables = tables
        self._connect_s = connect_s
        self._free: deque[Any] = deque()
        self._lock = Lock()
        self._places = BoundedSemaphore(MAX_CONNECTIONS)
        self._has_tables = False
        self._hung = HungServer()
        self._pid = os.getpid()

    def run(self, work: Callable[[Any], _T]) -> _T:
        """Return what *work* returns for a cursor, in a transaction that is then committed.

        *work* runs again after a deadlock, and on a new connection if that of the first try was
        closed by the server, or led to one that cannot be written to or has lost its tables, which
        are then made. Raises psycopg.Error, which
        is ConnectionTimeout if nothing was sent, and TimeoutError if the server does not answer.
        """
        if self._pid != os.getpid():
            self._forget_parent()
        with self._places:
            if self._hung.is_avoided():  # also for those who waited for a place
                raise self._driver.errors.ConnectionTimeout(NOT_IN_TIME)
            with self._hung.watching(self._driver.errors.ConnectionTimeout, TimeoutError):
                return self._run(work)

    def _run(self, work: Callable[[Any], _T]) -> _T:
        for tries_left in reversed(range(_TRIES)):
            connection, is_new = self._connection()
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    made = work(cursor)
            except self._driver.Error as error:
                connection.close()
                was_stale = not is_new and self._is_of_stale_connection(error)
                lost_tables = isinstance(error, self._driver.errors.UndefinedTable)
                if was_stale or lost_tables:
                    self.close()  # the others lead to the same server
                if lost_tables:  # another database took the place of the first one
                    self._has_tables = False
                deadlock = isinstance(error, self._driver.errors.DeadlockDetected)
                repeats = was_stale or lost_tables or deadlock
                if not tries_left or not repeats:
                    raise
            except BaseException:
                self._return(connection)
                raise
            else:
                self._return(connection)
                return made
        raise AssertionError  # the last try returns or raises

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._free:
            self._free.pop().close()

    def _connection(self) -> tuple[Any, bool]:
        """Return a connection, and whether it is new."""
        try:
            return self._free.pop(), False
        except IndexError:
            return self._opened(), True

    def _is_of_stale_connection(self, error: Exception) -> bool:
        """Return whether a new connection may do better, as after a restart or a failover.

        Where the server closed the connection, the error has no SQLSTATE, or that of its last words
        on it: an administrator, a crash or the limit of idle time ended it. After a failover it
        leads to the server that is a replica now
        (https://www.postgresql.org/docs/current/errcodes-appendix.html, read November 2026). The
        transaction's own commit could have failed the same way, so callers' work must be
        idempotent.
        """
        if isinstance(error, self._driver.OperationalError):
            return getattr(error, "sqlstate", None) in (None, "57P01", "57P02", "57P05")
        return isinstance(error, self._driver.errors.ReadOnlySqlTransaction)

    def _return(self, connection: Any) -> None:
        """Keep *connection* for the next transaction, unless its own has not ended."""
        if connection.info.transaction_status == self._driver.pq.TransactionStatus.IDLE:
            self._free.append(connection)
        else:
            connection.close()

    def _forget_parent(self) -> None:
        """Reset after a fork: the parent's connections must be neither used nor closed."""
        self._free, self._lock = deque(), Lock()
        self._places = BoundedSemaphore(MAX_CONNECTIONS)
        self._pid = os.getpid()

    def _opened(self) -> Any:
        connection = self._connect(
            self._url,
            autocommit=True,
            connect_timeout=max(2, round(self._connect_s)),
            application_name="openbridge",
        )
        try:
            connection.execute(f"set statement_timeout = '{_STATEMENT_S}s'")
            with self._lock:
                if not self._has_tables:
                    self._make_tables(connection)
                    self._has_tables = True
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_tables(self, connection: Any) -> None:
        """Make the tables if one is missing.

        Not otherwise: making an index that exists waits for all writers of its table.
        """
        wanted = _TABLE.findall(self._tables)
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK_OF_TABLES,))
            missing = "select 1 from unnest(%s::text[]) as name where to_regclass(name) is null"
            if connection.execute(missing, (wanted,)).fetchone() is not None:
                connection.execute("set local client_min_messages = warning")
                connection.execute(self._tables)


@cache
def _limited_class() -> Any:
    """Return the class of connections that are closed when the server does not answer in time.

    The server's own limit of a statement does not help where the server hangs, nor TCP: it waits
    for a quarter of an hour.
    """
    import psycopg

    class Limited(psycopg.Connection[Any]):
        def wait(self, gen: Any, *args: Any, **named: Any) -> Any:
            return super().wait(self._limited(gen), *args, **named)

        def _limited(self, gen: Any) -> Generator[Any, Any, Any]:
            """Yield what *gen* waits for; it is resumed, with 0, every tenth of a second.

            The limit is that of each part of a long answer.
            """
            deadline = time.monotonic() + _ANSWER_S
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if ready:
                        deadline = time.monotonic() + _ANSWER_S
                    elif time.monotonic() > deadline:
                        self.close()
                        raise TimeoutError(NOT_IN_TIME)
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return Limited


def rows_of(cursor: Any, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a statement whose values are marked by `?`; empty where it has none."""
    cursor.execute(sql.replace("?", "%s"), values)
    return [] if cursor.description is None else cursor.fetchall()
