"""SQLite files that several processes open, as POSIX and SQLite want them to be opened.

POSIX takes all of a process' locks on a file away when the process closes any descriptor of it
(https://sqlite.org/howtocorrupt.html, 2.2): a file that is there is opened by SQLite alone.
"""

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from llmcore.forking import ForkSafeLock

_making: Final = ForkSafeLock()


def make_private(path: Path) -> None:
    """Make the file, if it is not there, readable for its owner only.

    SQLite gives its companions the same mode. One at a time: whoever finds the file there may lock
    it only once its maker has closed it.
    """
    with _making.held(), suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def to_wal(db: sqlite3.Connection, *, patience_s: float) -> None:
    """Put the file into WAL mode, which SQLite does not wait for where others open it, too.

    Raises sqlite3.OperationalError if it is still locked after *patience_s* seconds.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
