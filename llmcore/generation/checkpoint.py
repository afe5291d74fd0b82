"""Finished results in a SQLite file, for programs that are killed and started again.

A result is in the file when `add` has returned, whatever happens to the process after that.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import anyio.to_thread

from llmcore.schema import json
from llmcore.schema.errors import ConfigurationError, InvalidRequestError
from llmcore.schema.json import JsonValue
from llmcore.storage.sqlite import ForeignFileError, Layout, SqliteFile

_T = TypeVar("_T")

_TABLES: Final = """
CREATE TABLE results (
    id TEXT PRIMARY KEY, request TEXT NOT NULL, result BLOB NOT NULL
) WITHOUT ROWID;
"""

_LAYOUT: Final = Layout(
    version=1,
    tables=_TABLES,
    names=frozenset({"results"}),
    pragmas=("synchronous = FULL",),  # a response was paid for, so a power cut must not lose it
)


class Checkpoint:
    """The results in one file, by id, each with the digest of the request that it answers."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = SqliteFile(self.path, _LAYOUT, patience_s=30.0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    async def get(self, id_: str, request: str) -> JsonValue:
        """Return the result for *id_*; None if there is none.

        Raises InvalidRequestError if it answers a request of another digest than *request*.
        """
        row = await anyio.to_thread.run_sync(lambda: self._run(lambda db: _row(db, id_)))
        if row is None:
            return None
        if row[0] != request:
            raise InvalidRequestError(
                f"{self.path} has a response to another request of the id {id_!r}: use another "
                "id, or another file"
            )
        return json.loads(row[1])

    async def add(self, id_: str, request: str, result: JsonValue) -> None:
        """Store the result for *id_*; it is on the disk when this returns."""
        row = (id_, request, json.dumps(result))
        insert = "INSERT OR REPLACE INTO results VALUES (?, ?, ?)"
        await anyio.to_thread.run_sync(lambda: self._run(lambda db: db.execute(insert, row)))

    def results(self) -> Iterator[tuple[str, JsonValue]]:
        """Yield the id and the result of each finished request, in the order of the ids."""
        after = ""
        while rows := self._run(lambda db, after=after: _page(db, after)):  # type: ignore[misc]
            for id_, result in rows:
                yield id_, json.loads(result)
            after = rows[-1][0]

    def _run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        try:
            return self._file.run(work)
        except (sqlite3.Error, OSError, ForeignFileError) as error:
            message = f"{self.path} cannot be used as a file of results: {error}"
            raise ConfigurationError(message, cause=error) from error


def _row(db: sqlite3.Connection, id_: str) -> tuple[str, bytes] | None:
    query = "SELECT request, result FROM results WHERE id = ?"
    row: tuple[str, bytes] | None = db.execute(query, (id_,)).fetchone()
    return row


def _page(db: sqlite3.Connection, after: str) -> list[tuple[str, bytes]]:
    query = "SELECT id, result FROM results WHERE id > ? ORDER BY id LIMIT 500"
    return db.execute(query, (after,)).fetchall()


@contextmanager
def opened_checkpoint(path: str | Path) -> Iterator[Checkpoint]:
    """Open the file at *path* while the block runs.

    Raises ConfigurationError, before anything else, if it cannot be used.
    """
    checkpoint = Checkpoint(path)
    try:
        next(checkpoint.results(), None)
        yield checkpoint
    finally:
        checkpoint.close()
