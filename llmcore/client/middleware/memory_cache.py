"""The interface of cache stores, and a store in memory."""

import threading
from collections import OrderedDict
from typing import Protocol

from llmcore.client.middleware.clock import SYSTEM_CLOCK, Clock
from llmcore.forking import reset_after_fork
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_checked_arguments


class CacheStore(Protocol):
    """Stores bytes by key for a limited time. Safe for concurrent use from any thread.

    It may drop any entry at any time. A store that fails logs a warning and counts as empty: no
    call fails because of it.
    """

    async def get(self, key: str) -> bytes | None:
        """Return the value of *key*; None if there is none or it has expired."""
        ...

    async def put(self, key: str, value: bytes, *, ttl_s: float | None) -> None:
        """Store *value* under *key* for *ttl_s* seconds; None: until its space is needed."""
        ...


@frozen
class _Entry:
    value: bytes
    expires_at: float | None


@with_checked_arguments(max_size="max_entries", maxsize="max_entries")
@with_settings_in_repr
class MemoryCache:
    """Keeps the most recently used responses in this process."""

    def __init__(
        self,
        *,
        max_entries: int = 1000,
        max_bytes: int = 64 * 1024 * 1024,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        check_limits(max_entries, max_bytes)
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        reset_after_fork(self)

    def reset_in_child(self) -> None:
        """Reset the lock, which a thread of the parent may hold."""
        self._lock = threading.Lock()
        self._bytes = sum(len(entry.value) for entry in self._entries.values())

    def __len__(self) -> int:
        """Return the number of entries, including expired ones."""
        return len(self._entries)

    async def get(self, key: str) -> bytes | None:
        """Return the value of *key*; None if there is none or it has expired."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if entry.expires_at is not None and self._clock.monotonic() >= entry.expires_at:
                self._drop(key)
                return None
            self._entries.move_to_end(key)
            return entry.value

    async def put(self, key: str, value: bytes, *, ttl_s: float | None) -> None:
        """Store *value*; the least recently used entries are dropped for it."""
        expires_at = None if ttl_s is None else self._clock.monotonic() + ttl_s
        with self._lock:
            self._drop(key)
            if len(value) > self._max_bytes:
                return
            self._entries[key] = _Entry(value, expires_at)
            self._bytes += len(value)
            while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= len(entry.value)


def check_limits(max_entries: int, max_bytes: int) -> None:
    """Raise ConfigurationError for limits below 1."""
    if max_entries < 1 or max_bytes < 1:
        raise ConfigurationError("max_entries and max_bytes of a cache must be at least 1")
