"""SQLite files with one policy: who may open them, what is waited for, what a fork does."""

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from llmcore.storage.sqlite import ForeignFileError, Layout, SqliteFile, is_busy, transaction

LAYOUT = Layout(
    version=2,
    names=frozenset({"words"}),
    tables="""
        CREATE TABLE words (word TEXT);
        CREATE TABLE total (words INTEGER);
        INSERT INTO total VALUES (0);
        CREATE TRIGGER counted AFTER INSERT ON words BEGIN
            UPDATE total SET words = words + 1;
        END;
    """,
    pragmas=("synchronous = FULL",),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the file will be, in a folder that does not exist yet."""
    return tmp_path / "new" / "words.db"


def opened(path: Path, *, patience_s: float = 5.0, stays_open: bool = True) -> SqliteFile:
    return SqliteFile(path, LAYOUT, patience_s=patience_s, stays_open=stays_open)


def add(file: SqliteFile, word: str) -> int:
    """Add *word* and return how many there are."""

    def work(db: sqlite3.Connection) -> int:
        with transaction(db):
            db.execute("INSERT INTO words VALUES (?)", (word,))
            total: int = db.execute("SELECT words FROM total").fetchone()[0]
        return total

    return file.run(work)


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file as another program does."""
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db


def test_a_file_that_was_left_open_is_closed_with_its_last_reference(path: Path) -> None:
    """Python 3.13 warns of a connection that is still open."""
    file = opened(path)
    db = file.run(lambda connection: connection)
    del file

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        db.execute("SELECT 1")


def test_a_new_file_is_private_and_has_the_tables_and_pragmas(path: Path) -> None:
    """It is made at first use, together with its folder."""
    file = opened(path)
    assert not path.exists()
    assert add(file, "a") == 1

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert file.run(lambda db: db.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"
    assert file.run(lambda db: db.execute("PRAGMA synchronous").fetchone()[0]) == 2
    assert file.run(lambda db: db.execute("PRAGMA user_version").fetchone()[0]) == 2
    file.close()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("CREATE TABLE theirs (x);", "a database of another kind"),
        ("CREATE TABLE theirs (x); PRAGMA user_version = 2;", "a database of another kind"),
        ("CREATE TABLE words (x);", "a database of another kind"),
        ("CREATE TABLE words (x); PRAGMA user_version = 1;", "has version 1"),
        ("CREATE TABLE words (x); PRAGMA user_version = 3;", "has version 3"),
    ],
)
def test_a_file_of_another_program_or_version_is_left_as_it_is(
    path: Path, script: str, why: str
) -> None:
    """Not even its journal mode changes."""
    with raw(path) as db:
        db.executescript(script)
    before = path.read_bytes()
    with pytest.raises(ForeignFileError, match=why):
        add(opened(path), "a")

    assert path.read_bytes() == before


def _text(path: Path) -> None:
    path.write_bytes(b"This is a text and not a database." * 100)


def _damaged(path: Path) -> None:
    add(opened(path), "a")
    with raw(path) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))


@pytest.mark.parametrize(
    ("make", "error", "advice"),
    [
        (_text, ForeignFileError, "the file is not an SQLite database: name another file"),
        (_damaged, sqlite3.DatabaseError, "restore the file from a copy, or name another one"),
        (Path.mkdir, sqlite3.OperationalError, "name a file in a folder that can be written to"),
    ],
)
def test_a_path_that_cannot_be_used_raises_an_error_that_states_what_to_do(
    path: Path, make: Callable[[Path], None], error: type[Exception], advice: str
) -> None:
    path.parent.mkdir(exist_ok=True)
    make(path)
    with pytest.raises(error, match=advice):
        add(opened(path), "a")


def test_a_path_below_a_file_raises_an_error_that_names_that_file(path: Path) -> None:
    path.parent.write_text("a file")
    with pytest.raises(NotADirectoryError, match=f"{path.parent} is a file, not a folder"):
        add(opened(path), "a")


def test_a_failing_transaction_changes_nothing(path: Path) -> None:
    """The file can be used again afterwards."""
    file = opened(path)

    def work(db: sqlite3.Connection) -> None:
        with transaction(db):
            db.execute("INSERT INTO words VALUES ('lost')")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        file.run(work)
    assert add(file, "a") == 1
    file.close()


def test_a_file_that_another_program_locks_is_busy_after_the_patience(path: Path) -> None:
    """The error can be told from those that a later try meets, too."""
    file = opened(path, patience_s=0.1)
    add(file, "a")
    with raw(path) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            add(file, "b")
    assert is_busy(caught.value)
    assert not is_busy(sqlite3.OperationalError("no such table"))
    assert add(file, "c") == 2
    file.close()


def test_a_thread_waits_no_longer_than_the_patience_for_another(path: Path) -> None:
    """Threads that wait for a locked file one after the other would wait without a limit."""
    file = opened(path, patience_s=0.1)
    add(file, "a")
    with file.lock, pytest.raises(sqlite3.OperationalError, match="locked") as caught:
        add(file, "b")
    assert is_busy(caught.value)
    file.close()


def test_a_connection_that_does_not_stay_open_is_closed_after_each_use(path: Path) -> None:
    """Without its log, since it was the last one."""
    file = opened(path, stays_open=False)

    assert [add(file, word) for word in "ab"] == [1, 2]
    assert os.listdir(path.parent) == ["words.db"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_for_a_running_transaction(path: Path) -> None:
    """Parent and child open connections of their own; neither loses what was written."""
    file = opened(path)
    began = threading.Event()

    def slow(db: sqlite3.Connection) -> None:
        with transaction(db):
            began.set()
            time.sleep(0.2)
            db.execute("INSERT INTO words VALUES ('slow')")

    writer = threading.Thread(target=file.run, args=(slow,))
    writer.start()
    began.wait(10)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if add(file, "child") == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    writer.join()

    assert add(file, "parent") == 3
    file.close()
