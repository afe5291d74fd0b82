"""SQLite's write-ahead log, for files that several processes open."""

import sqlite3
import time


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
