"""Settlements on their way to the ledger, in a file that outlives its process.

A settlement waits in memory for a moment, so that several are written together. Before the end of
its response is sent, it is also appended to a file of the process, with one write, which the system
buffers: nothing waits for a disk. Of a process that was killed, another gateway of the
same ledger settles what is left in the file. One line is one settlement:

    {"id": "resp_1", "worker": "5f0c", "at": 1795400947.6, "row": "{...}",
     "uses": [["budget:tokens:k1:total", 1000000, 0.0, 3e9, 50]]}

A response that is still running is noted every second in another file, as it would be settled if it
ended now; the end of one that was noted is written there before it is settled:

    {"ended": "resp_1"}

What is left in this file is settled as well once its process was killed. A response is never in
both files: they may be read by different processes, and Redis knows a row only by its whole text.

A process holds a lock on each of its files, by which others know that it has not ended.
"""

import os
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any, Final

from attrs import define

from llmcore.bridge.state.ledger import Increment, Meter, Settlement
from llmcore.client.locked_files import HAS_LOCKS, locked_file
from llmcore.schema import json
from llmcore.schema.frozen import frozen

_SUFFIX: Final = ".spend"
_RUNNING_SUFFIX: Final = ".running"
_MAX_FILE_BYTES: Final = 1024 * 1024
"""When a file is larger than this, the next settlement begins another one."""


@define
class _File:
    path: Path
    descriptor: int
    last: int = 0
    """The number of the last settlement in it."""
    size: int = 0
    """How many bytes were written to it since it was empty."""

    def append(self, data: bytes) -> None:
        """Write *data* at the end. Raises OSError."""
        written = os.write(self.descriptor, data)
        self.size += written
        if written < len(data):
            raise OSError(f"the disk of {self.path} is full")

    def empty(self) -> None:
        """Delete the contents."""
        os.ftruncate(self.descriptor, 0)
        self.size = 0

    def remove(self) -> None:
        """Delete the file, and then give up its lock."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


class SpendJournal:
    """The files of one process and one ledger. Calls must not overlap, but for `orphans`."""

    def __init__(self, folder: Path, name: str) -> None:
        """Keep files in *folder*; all processes of one ledger have the same *name*."""
        self._folder = folder
        self._name = name
        self._files: deque[_File] = deque()
        self._added = 0
        self._running: _File | None = None
        self._noted: set[str] = set()
        """The ids of the responses that are noted as running."""

    def add(self, settlement: Settlement) -> None:
        """Append *settlement*; the ledger is to get them in the same order. Raises OSError."""
        self._added += 1
        if not self._files or self._files[-1].size > _MAX_FILE_BYTES:
            self._files.append(self._created(_SUFFIX))
        file = self._files[-1]
        file.last = self._added
        file.append(_packed(settlement))

    def written(self, count: int) -> None:
        """Discard the files that hold only the first *count* settlements ever added."""
        while len(self._files) > 1 and self._files[0].last <= count:
            self._files.popleft().remove()
        if self._files and self._files[0].last <= count:
            self._files[0].empty()

    def note_running(self, settlements: Sequence[Settlement]) -> None:
        """Note *settlements* of responses that run, in place of all that were noted. OSError."""
        if self._running is None:
            if not settlements:
                return
            self._running = self._created(_RUNNING_SUFFIX)
        self._noted.clear()
        self._running.empty()
        if settlements:
            self._running.append(b"".join(map(_packed, settlements)))
            self._noted.update(settlement.id for settlement in settlements)

    def has_noted(self, response: str) -> bool:
        """Return whether *response* is noted as running."""
        return response in self._noted

    def ended(self, response: str) -> None:
        """Withdraw what was noted of *response*, which is going to be settled. OSError."""
        if self._running is None or response not in self._noted:
            return
        self._noted.discard(response)
        try:
            self._running.append(_line({"ended": response}))
        except OSError:
            self._running.empty()  # a full disk has room for that
            raise

    def close(self) -> None:
        """Delete the files whose settlements are written; leave the others to the next process."""
        while self._files:
            file = self._files.popleft()
            if file.size:
                os.close(file.descriptor)
            else:
                file.remove()
        if self._running is not None:
            self._running.remove()

    def orphans(self) -> Iterator["OrphanedSpend"]:
        """Yield the files of processes that ended before the ledger had their settlements."""
        names = (f"{escape(self._name)}.*{suffix}" for suffix in (_SUFFIX, _RUNNING_SUFFIX))
        for path in sorted(path for name in names for path in self._folder.glob(name)):
            if (descriptor := locked_file(path, os.O_RDWR)) is not None:
                yield OrphanedSpend(_File(path, descriptor), _settlements(descriptor))

    def _created(self, suffix: str) -> _File:
        if not HAS_LOCKS:
            raise OSError("this system has no locks that end with their process")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
        while True:
            path = self._folder / f"{self._name}.{os.getpid()}-{secrets.token_hex(4)}{suffix}"
            if (descriptor := locked_file(path, flags)) is not None:
                return _File(path, descriptor)


@frozen
class OrphanedSpend:
    """The file of a process that has ended, locked against other readers."""

    _file: _File
    settlements: Sequence[Settlement]

    def settled(self) -> None:
        """Delete the file: the ledger has what is in it."""
        self._file.remove()

    def leave(self) -> None:
        """Unlock the file without deleting it, so that it is read again later."""
        os.close(self._file.descriptor)


def _packed(settlement: Settlement) -> bytes:
    """Return a line. It begins with a line end, which separates it from a line that was cut off."""
    uses = [
        [use.meter.name, use.meter.limit, use.meter.drains_per_s, use.meter.keep_s, use.amount]
        for use in settlement.uses
    ]
    fields: Any = {
        "id": settlement.id,
        "worker": settlement.worker,
        "at": settlement.at,
        "uses": uses,
        "row": settlement.row.decode(),
    }
    return _line(fields)


def _line(fields: json.JsonObject) -> bytes:
    return b"\n%b\n" % json.dumps(fields)


def _settlements(descriptor: int) -> Sequence[Settlement]:
    """Return the settlements of a file without those that ended.

    Lines that were cut off are skipped.
    """
    found: list[Settlement] = []
    ended: set[str] = set()
    with open(os.dup(descriptor), "rb") as file:
        file.seek(0)
        for line in file:
            with suppress(ValueError, TypeError, KeyError):
                fields: Any = json.loads(line)
                if "ended" in fields:
                    ended.add(fields["ended"])
                else:
                    found.append(_settlement(fields))
    return tuple(settlement for settlement in found if settlement.id not in ended)


def _settlement(fields: Any) -> Settlement:
    return Settlement(
        id=fields["id"],
        worker=fields["worker"],
        at=fields["at"],
        uses=tuple(_increment(*use) for use in fields["uses"]),
        row=fields["row"].encode(),
    )


def _increment(name: str, limit: int, drains_per_s: float, keep_s: float, amount: int) -> Increment:
    meter = Meter(name=name, limit=limit, drains_per_s=drains_per_s, keep_s=keep_s)
    return Increment(meter, amount)
