"""The events of a background response, kept in pieces so that its stream can be resumed.

A piece is a named value of the store, `background:<response id>:<number of the piece>`: the
sequence number of its first event, then its events as lines of JSON. Pieces are numbered from 0,
and the oldest are dropped once a response has more than `MAX_LOG_BYTES` of events.
"""

import logging
import struct
import zlib
from collections import deque
from collections.abc import Sequence
from typing import Final

import anyio

from llmcore.bridge.http.logs import log
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.schema.frozen import frozen

MAX_LOG_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of events that are kept of one response, before compression."""
EVENTS_TTL_S: Final = 2 * 3600.0
"""How long an event can be streamed again."""
_RECENT_BYTES = 256 * 1024
"""Events that readers of this process find in memory."""
_PIECE_BYTES = 64 * 1024
"""A piece is written when it has as much as this, or else after a while."""
_HEAD = struct.Struct(">Q")


@frozen
class Piece:
    """Successive events of a response."""

    first: int
    """The sequence number of the first one."""
    lines: tuple[bytes, ...]
    """Each event as JSON."""

    def packed(self) -> bytes:
        """Return the piece as bytes."""
        return _HEAD.pack(self.first) + zlib.compress(b"\n".join(self.lines), 1)

    @classmethod
    def unpacked(cls, data: bytes) -> "Piece":
        """Return the piece in *data*; StateUnavailableError if it is damaged."""
        try:
            (first,) = _HEAD.unpack_from(data)
            inflate = zlib.decompressobj()
            text = inflate.decompress(data[_HEAD.size :], 2 * MAX_LOG_BYTES)
        except (struct.error, zlib.error) as error:
            raise StateUnavailableError("events in the response store are damaged") from error
        return cls(first, tuple(text.split(b"\n")))


def piece_name(response_id: str, number: int) -> str:
    """Return the name of a piece in the store."""
    return f"background:{response_id}:{number}"


class EventLog:
    """The events of a response that this process makes. One task writes, any number read."""

    def __init__(self, store: ResponseStore, response_id: str) -> None:
        self.first_piece = 0
        """The number of the oldest piece that is kept."""
        self.changed = anyio.Event()
        """Set, and replaced, whenever there are further events."""
        self._store = store
        self._response_id = response_id
        self._recent: deque[bytes] = deque()
        self._recent_bytes = 0
        self._next = 0
        """The sequence number of the next event."""
        self._written = 0
        """The sequence number of the next event to be written to the store."""
        self._pieces: deque[int] = deque()
        """The sizes of the pieces that are kept."""
        self._kept_bytes = 0
        self._writing = anyio.Lock()

    def add(self, lines: Sequence[bytes]) -> None:
        """Add events, each as JSON in one line."""
        self._recent.extend(lines)
        self._recent_bytes += sum(map(len, lines))
        self._next += len(lines)
        self._trim_memory()
        self.wake()

    def wake(self) -> None:
        """Let readers look again."""
        changed, self.changed = self.changed, anyio.Event()
        changed.set()

    def since(self, number: int) -> Sequence[bytes] | None:
        """Return the events from *number* on; None if memory no longer has all of them."""
        start = number - (self._next - len(self._recent))
        if start < 0:
            return None
        return [self._recent[place] for place in range(start, len(self._recent))]

    @property
    def is_full(self) -> bool:
        """Whether a piece should be written now."""
        return sum(map(len, self._unwritten())) >= _PIECE_BYTES

    async def flush(self) -> None:
        """Write the events that the store does not have yet.

        If the store cannot be reached, they are written another time.
        """
        async with self._writing:  # or two tasks would write, and count, the same events
            await self._flush()

    async def _flush(self) -> None:
        lines = self._unwritten()
        if not lines:
            return
        piece = Piece(self._written, tuple(lines))
        number = self.first_piece + len(self._pieces)
        try:
            data = piece.packed()
            await self._store.keep(piece_name(self._response_id, number), data, EVENTS_TTL_S)
            self._written += len(lines)
            self._pieces.append(sum(map(len, lines)))
            self._kept_bytes += self._pieces[-1]
            await self._drop_old()
        except StateUnavailableError as error:
            log(logging.WARNING, "events_not_written", error=str(error))
        self._trim_memory()

    def _unwritten(self) -> list[bytes]:
        start = self._written - (self._next - len(self._recent))
        if start < 0:  # they were discarded: readers of the store find a gap, which is an error
            self._written, start = self._written - start, 0
        return [self._recent[place] for place in range(start, len(self._recent))]

    async def _drop_old(self) -> None:
        dropped = []
        while self._kept_bytes > MAX_LOG_BYTES and len(self._pieces) > 1:
            dropped.append(piece_name(self._response_id, self.first_piece))
            self._kept_bytes -= self._pieces.popleft()
            self.first_piece += 1
        await self._store.forget(dropped)

    def _trim_memory(self) -> None:
        """Free the memory of events that the store has, and of any beyond the bound."""
        while self._recent_bytes > _RECENT_BYTES:
            oldest = self._next - len(self._recent)
            if oldest >= self._written and self._recent_bytes <= MAX_LOG_BYTES:
                return
            self._recent_bytes -= len(self._recent.popleft())


async def forget_events(store: ResponseStore, response_id: str, first_piece: int) -> None:
    """Remove all pieces of a response from *first_piece* on."""
    number = first_piece
    while await store.value(piece_name(response_id, number)) is not None:
        await store.forget([piece_name(response_id, number)])
        number += 1
