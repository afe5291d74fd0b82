"""Records of responses, and what the stores that keep them have in common.

A store deletes a record at the end of its time to live. `put` writes a record and its items, which
later requests can refer to, in one step: either all of it is stored or nothing.

Beside records it keeps named values: bytes, each with its own time to live. Processes that share no
memory use them to agree, for example, on which of them makes a background response and how it
ended.
"""

import math
import secrets
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
from attrs import asdict

from llmcore.fronts.openai_responses.state import Record
from llmcore.schema import json
from llmcore.schema.json import JsonObject, JsonValue, present

_T = TypeVar("_T")

_VERSION = b"\x01"
SEALING_KEY_BYTES = 32
SMALL_VALUE_BYTES = 1024
"""Named values up to this size, such as leases, are written even if larger ones have no room."""
MAX_RECORD_BYTES = 256 * 1024 * 1024
"""A record whose stated size is larger than this is not read."""
FORGOTTEN_PER_WRITE = 64
"""The most entries that one write deletes; after a bound is lowered, several writes reach it."""
FULL_S = 5.0
"""How long a store whose disk or memory was full takes no further records."""
THREADS = 32
"""All of them may wait for a file that another program has locked, or for a server."""


_MAX_REASON_CHARS: Final = 200


class StateUnavailableError(Exception):
    """The store cannot be reached, did not answer in time, or refused the call.

    A call that was *sent* may still be carried out, even later. Not an LLMError, since no model was
    called.
    """

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


def reason_of(error: Exception) -> str:
    """Return the class of the error and the first line of its message, for the log.

    Messages of database servers and their clients name hosts and users, and no passwords.
    """
    message = str(error).partition("\n")[0][:_MAX_REASON_CHARS]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


class ResponseStore(ABC):
    """Keeps records. Safe for concurrent use; every call may raise StateUnavailableError.

    A store has a few short blocking steps, which run in threads, so that any event loop may use it.
    Each of them is given the database: a connection, a cursor or a client.
    """

    _ttl_s: float
    """How long records are kept."""
    _threads: anyio.CapacityLimiter | None = None
    """Made by the event loop that uses the store, which need not be the one that made it."""

    async def check(self) -> None:
        """Raise StateUnavailableError if a record could not be written now."""
        await self._in_thread(self._check)

    async def put(self, record: Record, *, most_s: float = math.inf, more_s: float = 0.0) -> None:
        """Write *record* and its items: all of them or nothing.

        They are kept for the time to live of the store, but for *most_s* seconds at most, and then
        for *more_s*.
        """
        ttl_s = min(self._ttl_s, most_s) + more_s
        await self._in_thread(partial(self._put_packed, record, ttl_s))

    def _put_packed(self, record: Record, ttl_s: float) -> None:
        data, items = packed(record), packed_items(record)  # before others wait: it takes a while
        self._transact(lambda db: self._put(db, record, data, items, ttl_s))

    async def get(self, response_id: str) -> Record | None:
        """Return the record; None if it does not exist or has expired."""
        return await self._in_thread(partial(self._get_unpacked, response_id))

    def _get_unpacked(self, response_id: str) -> Record | None:
        data = self._transact(lambda db: self._get(db, response_id))
        return None if data is None else unpacked(data)

    async def delete(self, response_id: str) -> bool:
        """Delete the record and its items; return whether it existed."""
        return await self._run(lambda db: self._delete(db, response_id))

    async def items(self, names: Sequence[str], owner: str) -> Mapping[str, JsonObject]:
        """Return the stored output items among *names* that belong to *owner*, by id."""
        if not names:
            return {}
        return await self._run(lambda db: unpacked_items(self._items(db, names), owner))

    async def value(self, name: str) -> bytes | None:
        """Return the named value; None if it does not exist or has expired."""
        return await self._run(lambda db: self._value(db, name))

    async def keep(self, name: str, value: bytes, ttl_s: float) -> None:
        """Write a named value for *ttl_s* seconds, in place of any earlier one."""
        await self._run(lambda db: self._keep(db, name, value, ttl_s))

    async def swap(self, name: str, old: bytes | None, new: bytes, ttl_s: float) -> bool:
        """Write *new* if the value is *old*, where None is a missing one; atomic.

        Returns whether the value is *new* afterwards.
        """
        return await self._run(lambda db: self._swap(db, name, old, new, ttl_s))

    async def forget(self, names: Sequence[str]) -> None:
        """Remove named values."""
        if names:
            await self._run(lambda db: self._forget(db, names))

    async def sealing_key(self) -> bytes:
        """Return the key that all users of this store share; the first call makes it."""
        made = secrets.token_bytes(SEALING_KEY_BYTES)
        return await self._run(lambda db: self._sealing_key(db, made))

    async def aclose(self) -> None:
        """Close all connections and files. Idempotent."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close)

    async def _run(self, step: Callable[[Any], _T]) -> _T:
        """Run *step* in a thread."""
        return await self._in_thread(partial(self._transact, step))

    async def _in_thread(self, step: Callable[[], _T]) -> _T:
        self._threads = self._threads or anyio.CapacityLimiter(THREADS)
        return await anyio.to_thread.run_sync(step, limiter=self._threads)

    # -- the steps of a store

    @abstractmethod
    def _transact(self, step: Callable[[Any], _T]) -> _T:
        """Return what *step* returns for the database; raises StateUnavailableError."""

    @abstractmethod
    def _check(self) -> None: ...

    @abstractmethod
    def _put(
        self, db: Any, record: Record, data: bytes, items: Mapping[str, bytes], ttl_s: float
    ) -> None:
        """Write the *data* of *record*, and its *items*, for *ttl_s* seconds."""

    @abstractmethod
    def _get(self, db: Any, response_id: str) -> bytes | None: ...

    @abstractmethod
    def _delete(self, db: Any, response_id: str) -> bool: ...

    @abstractmethod
    def _items(self, db: Any, names: Sequence[str]) -> Iterable[tuple[str, bytes]]: ...

    @abstractmethod
    def _value(self, db: Any, name: str) -> bytes | None: ...

    @abstractmethod
    def _keep(self, db: Any, name: str, value: bytes, ttl_s: float) -> None: ...

    @abstractmethod
    def _swap(self, db: Any, name: str, old: bytes | None, new: bytes, ttl_s: float) -> bool: ...

    @abstractmethod
    def _forget(self, db: Any, names: Sequence[str]) -> None: ...

    @abstractmethod
    def _sealing_key(self, db: Any, made: bytes) -> bytes:
        """Return the key that is stored; *made*, if there was none."""

    @abstractmethod
    def _close(self) -> None: ...


def packed(record: Record) -> bytes:
    """Return *record* as bytes."""
    return _packed({**asdict(record, recurse=False), "items": list(record.items)})


def unpacked(data: bytes) -> Record:
    """Return the record in *data*, with the names of its items; else StateUnavailableError."""
    value = _unpacked(data)
    try:
        return Record(
            id=value["id"],  # type: ignore[arg-type]
            owner=value["owner"],  # type: ignore[arg-type]
            response=value["response"],  # type: ignore[arg-type]
            input_items=tuple(value["input_items"]),  # type: ignore[arg-type]
            conversation=value["conversation"],
            items={name: {} for name in value["items"]},  # type: ignore[union-attr,misc]
        )
    except (KeyError, TypeError) as error:
        raise _damaged() from error


def packed_items(record: Record) -> dict[str, bytes]:
    """Return the items of *record* that requests can refer to as bytes, by id."""
    return {name: packed_item(item, record.owner) for name, item in record.items.items()}


def packed_item(item: JsonObject, owner: str) -> bytes:
    """Return an output item of *owner* as bytes."""
    return _packed({"owner": owner, "item": item})


def unpacked_item(data: bytes, owner: str) -> JsonObject | None:
    """Return the item in *data* if it is one of *owner*."""
    value = _unpacked(data)
    item = value.get("item")
    return item if value.get("owner") == owner and isinstance(item, Mapping) else None


def unpacked_items(items: Iterable[tuple[str, bytes]], owner: str) -> dict[str, JsonObject]:
    """Return the items in *items* that belong to *owner*, by id."""
    return present({name: unpacked_item(data, owner) for name, data in items})


def _packed(value: JsonValue) -> bytes:
    return _VERSION + zlib.compress(json.dumps(value), 1)


def _unpacked(data: bytes) -> JsonObject:
    if data[:1] != _VERSION:
        raise _damaged()
    inflate = zlib.decompressobj()
    try:
        text = inflate.decompress(data[1:], MAX_RECORD_BYTES)
        value = json.loads(text)
    except (zlib.error, ValueError) as error:
        raise _damaged() from error
    if not inflate.eof or not isinstance(value, Mapping):
        raise _damaged()
    return value


def no_room_for_values() -> StateUnavailableError:
    """Return the error of a store whose bound on named values is reached."""
    return StateUnavailableError("the response store has no room for further values")


def _damaged() -> StateUnavailableError:
    message = "a record of the response store cannot be read: it is damaged, or a newer version's"
    return StateUnavailableError(message)
