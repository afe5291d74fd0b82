"""SQLite files that several threads and processes open, with one policy for all stores.

POSIX takes all of a process' locks on a file away when the process closes any descriptor of it,
and gives none of them to a forked child, while SQLite continues as if it had them: another process
may then delete the log that is still written to, with all that was acknowledged
(https://sqlite.org/howtocorrupt.html, 2.2 and 2.6). So:

- a file that exists is opened by SQLite alone, a new one is made once, readable by its owner only
- every connection is closed before a fork, and opened again by each side when it needs it
- the file of another program, or of another version, is left as it is
- a file that is locked is waited for, as long as the store is patient
"""

import os
import sqlite3
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

from llmcore.forking import ForkSafeLock
from llmcore.schema.frozen import frozen

_T = TypeVar("_T")

_MEMORY: Final = ":memory:"


@frozen(kw_only=True)
class Layout:
    """The tables of a store, by the version that the file states in `user_version`."""

    version: int
    tables: str
    """The SQL that makes the tables in a new file."""
    names: frozenset[str]
    """Tables that every version has: a file without them is another program's."""
    pragmas: tuple[str, ...] = ()
    """Pragmas of every connection, such as `synchronous = FULL`."""


class ForeignFileError(Exception):
    """The file is another program's, or of a version that is not known here."""


class SqliteFile:
    """A connection to a file, opened at first use, for one thread at a time.

    Threads, and other processes, are waited for up to *patience_s* seconds. Where *stays_open* is
    false, the connection is closed after each use, and callers need not close it. Without a *path*
    the database is in memory, and lost when it is closed.
    """

    def __init__(
        self, path: Path | None, layout: Layout, *, patience_s: float, stays_open: bool = True
    ) -> None:
        self._db: sqlite3.Connection | None = None
        self.path = path
        self.lock = Lock()
        self._layout = layout
        self._patience_s = patience_s
        self._stays_open = stays_open
        if path is not None:
            with _gate:
                _files.add(self)

    def __del__(self) -> None:
        """Close the connection if it was left open; Python 3.13 would warn of it."""
        self.close_held()

    def __repr__(self) -> str:
        return f"SqliteFile({str(self.path or _MEMORY)!r})"

    def run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Return what *work* returns for the connection, which is in autocommit mode.

        Raises sqlite3.Error, OSError or ForeignFileError; `is_busy` returns whether an error is
        temporary. The message of a file that cannot be used states what to do.
        """
        if not self.lock.acquire(timeout=self._patience_s):
            raise _locked()
        try:
            if self._db is None:
                self._db = _opened(self.path, self._layout, self._patience_s)
            return work(self._db)
        except sqlite3.DatabaseError as error:
            if self.path is not None:
                _add_advice(error)
            raise
        finally:
            if not self._stays_open:
                self.close_held()
            self.lock.release()

    def close(self) -> None:
        """Close the connection, if there is one. A later use opens it again."""
        with self.lock:
            self.close_held()

    def close_held(self) -> None:
        """Close the connection for a caller that holds `lock`."""
        db, self._db = self._db, None
        if db is not None:
            db.close()


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


def is_busy(error: Exception) -> bool:
    """Return whether *error* means that others have locked the file for the moment."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


_NOT_OURS: Final = "the file is {}: name another file, or move this one away"
_ADVICE: Final = {
    sqlite3.SQLITE_CANTOPEN: "name a file in a folder that can be written to",
    sqlite3.SQLITE_CORRUPT: "restore the file from a copy, or name another one",
    sqlite3.SQLITE_READONLY: "make the file and its folder writable, or name another one",
}


def _add_advice(error: sqlite3.DatabaseError) -> None:
    """Add to the message of *error* what to do. Raises ForeignFileError for other files."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        raise ForeignFileError(_NOT_OURS.format("not an SQLite database")) from error
    if code in _ADVICE:
        error.args = (f"{error}: {_ADVICE[code]}",)


def _locked() -> sqlite3.OperationalError:
    """Return the error of SQLite for a file that others hold."""
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error


# -- opening


def _opened(path: Path | None, layout: Layout, patience_s: float) -> sqlite3.Connection:
    """Return a connection to the file, which is made if it does not exist."""
    if path is not None:
        _make_folder(path.parent)
        _make_private(path)
    db = sqlite3.connect(
        path or _MEMORY, timeout=patience_s, isolation_level=None, check_same_thread=False
    )
    try:
        has_tables = _has_tables(db, layout)  # before anything in it is changed
        _to_wal(db, patience_s)
        for pragma in layout.pragmas:
            db.execute(f"PRAGMA {pragma}")
        if not has_tables:
            _make_tables(db, layout)
    except BaseException:
        db.close()
        raise
    return db


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        message = f"{error.filename} is a file, not a folder: name a file in a folder"
        raise NotADirectoryError(message) from error


_making: Final = ForkSafeLock()


def _make_private(path: Path) -> None:
    """Make the file, if it does not exist, readable by its owner only.

    SQLite gives its companions the same mode. One at a time: a thread that finds the file may lock
    it only once its maker has closed it.
    """
    with _making.held(), suppress(FileExistsError):
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except ValueError as error:  # a zero byte in the path, or half a surrogate pair
            raise sqlite3.OperationalError(f"not a path of a file: {error}") from error


def _to_wal(db: sqlite3.Connection, patience_s: float) -> None:
    """Put the file into WAL mode; SQLite itself does not wait for others that open it, too."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _make_tables(db: sqlite3.Connection, layout: Layout) -> None:
    with transaction(db):
        if _has_tables(db, layout):  # another process was faster
            return
        for statement in _statements(layout.tables):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {layout.version}")


def _has_tables(db: sqlite3.Connection, layout: Layout) -> bool:
    """Return whether the file has the tables; False if it is empty.

    Raises ForeignFileError if it is not this store's, or of an unknown version.
    """
    with _snapshot(db):
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        tables = {
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    if version == 0 and not tables:
        return False
    if not tables >= layout.names or version == 0:
        raise ForeignFileError(_NOT_OURS.format("a database of another kind"))
    if version != layout.version:
        raise ForeignFileError(
            f"the file has version {version}; this llmcore reads version {layout.version}"
        )
    return True


@contextmanager
def _snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Read the file at one moment: another process may be making its tables."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("COMMIT")


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of *script*; a trigger is one, whatever semicolons are in it."""
    statement = ""
    for piece in script.split(";"):
        statement += f"{piece};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


# -- forks


_files: "weakref.WeakSet[SqliteFile]" = weakref.WeakSet()
_suspended: list[SqliteFile] = []
_gate = Lock()
"""Held while files are counted, and all through a fork."""


def _suspend() -> None:
    """Close every connection, once its transaction has ended, and keep them all closed."""
    _gate.acquire()
    _suspended.extend(_files)
    for file in _suspended:
        file.lock.acquire()
        file.close_held()


def _resume() -> None:
    """Allow connections to be opened again, by each process for itself."""
    while _suspended:
        _suspended.pop().lock.release()
    _gate.release()


if sys.platform != "win32":
    os.register_at_fork(before=_suspend, after_in_parent=_resume, after_in_child=_resume)
