"""Responses kept in this process's memory: gone when it ends, bounded in number and size."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

import anyio.to_thread
from attrs import frozen

from llmcore.bridge.state.store import (
    SEALING_KEY_BYTES,
    SMALL_VALUE_BYTES,
    no_room_for_values,
    packed,
    packed_items,
    unpacked,
    unpacked_items,
)
from llmcore.fronts.openai_responses.state import Record
from llmcore.schema.json import JsonObject

_LEAST_PURGED = 100


@frozen
class _Kept:
    data: bytes
    items: dict[str, bytes]
    expires: float

    @property
    def size(self) -> int:
        return len(self.data) + sum(map(len, self.items.values()))


class MemoryResponseStore:
    """A store in memory. Threads pack and unpack, which takes a while for large records.

    When a bound is reached, the oldest records are deleted. A record that is larger than
    `max_bytes` on its own is kept until the next one comes.
    """

    def __init__(
        self,
        *,
        ttl_s: float,
        max_entries: int,
        max_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ttl_s = ttl_s
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._home_of_item: dict[str, str] = {}
        self._bytes = 0
        self._values: dict[str, tuple[bytes, float]] = {}
        self._value_bytes = 0
        self._values_after_purge = _LEAST_PURGED
        self._sealing_key = secrets.token_bytes(SEALING_KEY_BYTES)

    async def check(self) -> None:
        """Do nothing: a record can always be written."""

    async def put(self, record: Record) -> None:
        """Store *record*; delete the oldest ones if there is no room."""
        data, items = await anyio.to_thread.run_sync(_packed, record)
        kept = _Kept(data, items, self._clock() + self._ttl_s)
        self._remove(record.id)
        self._make_room(kept.size)
        self._kept[record.id] = kept
        self._bytes += kept.size
        self._home_of_item.update(dict.fromkeys(items, record.id))

    async def get(self, response_id: str) -> Record | None:
        """Return the record; None if it does not exist or has expired."""
        kept = self._live(response_id)
        return None if kept is None else await anyio.to_thread.run_sync(unpacked, kept.data)

    async def delete(self, response_id: str) -> bool:
        """Delete the record; return whether it existed."""
        if self._live(response_id) is None:
            return False
        self._remove(response_id)
        return True

    async def items(self, names: Sequence[str], owner: str) -> Mapping[str, JsonObject]:
        """Return the stored output items among *names* that belong to *owner*, by id."""
        homes = ((name, self._live(self._home_of_item.get(name, ""))) for name in names)
        items = [(name, kept.items[name]) for name, kept in homes if kept and name in kept.items]
        return unpacked_items(items, owner)

    async def value(self, name: str) -> bytes | None:
        """Return the named value; None if it does not exist or has expired."""
        value, until = self._values.get(name, (None, 0.0))
        return value if until > self._clock() else None

    async def keep(self, name: str, value: bytes, ttl_s: float) -> None:
        """Write a named value for *ttl_s* seconds; StateUnavailableError if there is no room."""
        if self._value_bytes + len(value) > self._max_bytes and len(value) > SMALL_VALUE_BYTES:
            self._purge_values()
            if self._value_bytes + len(value) > self._max_bytes:
                raise no_room_for_values()
        self._drop_value(name)
        self._values[name] = (value, self._clock() + ttl_s)
        self._value_bytes += len(value)
        if len(self._values) > 2 * self._values_after_purge:
            self._purge_values()

    async def swap(self, name: str, old: bytes | None, new: bytes, ttl_s: float) -> bool:
        """Write *new* if the value is *old*; return whether it is *new* afterwards."""
        value = await self.value(name)
        if value == old:
            await self.keep(name, new, ttl_s)
            return True
        return value == new

    async def forget(self, names: Sequence[str]) -> None:
        """Remove named values."""
        for name in names:
            self._drop_value(name)

    async def sealing_key(self) -> bytes:
        """Return a random key, which is lost with the process as the records are."""
        return self._sealing_key

    async def aclose(self) -> None:
        """Delete everything."""
        self._kept.clear()
        self._home_of_item.clear()
        self._values.clear()
        self._bytes = self._value_bytes = 0

    def _drop_value(self, name: str) -> None:
        value, _ = self._values.pop(name, (b"", 0.0))
        self._value_bytes -= len(value)

    def _purge_values(self) -> None:
        """Delete expired values."""
        now = self._clock()
        for name in [name for name, (_, until) in self._values.items() if until <= now]:
            self._drop_value(name)
        self._values_after_purge = max(_LEAST_PURGED, len(self._values))

    def _live(self, response_id: str) -> _Kept | None:
        kept = self._kept.get(response_id)
        if kept is not None and kept.expires <= self._clock():
            self._remove(response_id)
            return None
        return kept

    def _make_room(self, size: int) -> None:
        now = self._clock()
        while self._kept:
            oldest = next(iter(self._kept))
            full = len(self._kept) >= self._max_entries or self._bytes + size > self._max_bytes
            if not full and self._kept[oldest].expires > now:
                return
            self._remove(oldest)

    def _remove(self, response_id: str) -> None:
        kept = self._kept.pop(response_id, None)
        if kept is None:
            return
        self._bytes -= kept.size
        for name in kept.items:
            if self._home_of_item.get(name) == response_id:
                del self._home_of_item[name]


def _packed(record: Record) -> tuple[bytes, dict[str, bytes]]:
    return packed(record), packed_items(record)
