"""Issued keys in the ledger: managing them, and finding the one that a client shows.

A key that was found is used again for a moment, so that a busy client costs the store two reads a
second; a revocation holds on all workers within a second. Ids without a key take few threads and
little memory, so that strangers who send made-up keys neither delay nor displace the others.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from attrs import define, evolve, field

from llmcore.bridge.accounts.issued_key import (
    LIMITS,
    IssuedKey,
    KeyLimits,
    key_id,
    limits_from,
    new_key,
    packed_key,
    rotated,
    unpacked_key,
)
from llmcore.bridge.state.ledger import Ledger
from llmcore.fronts.errors import FrontError, state_unavailable
from llmcore.schema.errors import InvalidRequestError, NotFoundError
from llmcore.schema.json import JsonObject

_T = TypeVar("_T")

_FRESH_S: Final = 0.4
"""How long a key that was read from the store is used without reading it again."""
_STALE_S: Final = 0.8
"""How long it is used while another request is reading it again."""
_KEPT: Final = 10_000
_MISSING_S: Final = 10.0
"""How long an id without a key is not looked for again; ids of new keys are random."""
_MISSING_KEPT: Final = 1000
_UNKNOWN_AT_ONCE: Final = 2
"""Reads of ids that no key was found for yet."""

KEYS_ARE_OFF: Final = (
    "By these settings, the gateway accepts no issued keys: set OPENBRIDGE_KEYS_ISSUED=true, or "
    "issued = true in [keys] of openbridge.toml."
)
"""The warning with a new key that clients cannot use yet."""


class KeyRegistry:
    """Creates, lists, changes and revokes keys. Its calls block."""

    def __init__(self, ledger: Ledger, *, clock: Callable[[], float] = time.time) -> None:
        self._ledger = ledger
        self._clock = clock

    def create(self, limits: KeyLimits) -> tuple[IssuedKey, str]:
        """Return a new key, and its text, which is not stored.

        Raises InvalidRequestError for an expiry that is not in the future.
        """
        self._check_expiry(limits)
        key, text = new_key(limits, self._clock())
        if not self._ledger.swap_key(key.id, None, packed_key(key)):
            return self.create(limits)  # the id is taken
        return key, text

    def all(self) -> Sequence[IssuedKey]:
        """Return all keys, the oldest first."""
        keys = map(unpacked_key, self._ledger.keys().values())
        return sorted(keys, key=lambda key: (key.created_at, key.id))

    def get(self, id_: str) -> IssuedKey:
        """Return a key; NotFoundError if there is none."""
        return unpacked_key(self._data(id_))

    def revoke(self, id_: str) -> IssuedKey:
        """Revoke a key permanently. A revoked one stays as it is."""
        now = self._clock()
        return self._change(
            id_, lambda key: key if key.revoked_at is not None else evolve(key, revoked_at=now)
        )

    def rotate(self, id_: str, *, overlap_s: float = 0.0) -> tuple[IssuedKey, str]:
        """Return a key with a new text; the one before is valid for *overlap_s* seconds more.

        Raises InvalidRequestError for a revoked key.
        """
        text = ""

        def change(key: IssuedKey) -> IssuedKey:
            nonlocal text
            if key.revoked_at is not None:
                raise InvalidRequestError(f"the key {id_} was revoked: create another one")
            key, text = rotated(key, self._clock(), overlap_s)
            return key

        return self._change(id_, change), text

    def update(self, id_: str, limits: JsonObject) -> IssuedKey:
        """Change some of a key's limits, where null removes one.

        Raises InvalidRequestError, naming limits that do not exist, and for a new expiry that is
        not in the future.
        """

        def change(key: IssuedKey) -> IssuedKey:
            before = {name: value for name, value in key.shown().items() if name in LIMITS}
            changed = limits_from({**before, **limits})
            if "expires_at" in limits:
                self._check_expiry(changed)
            return evolve(key, limits=changed)

        return self._change(id_, change)

    def _check_expiry(self, limits: KeyLimits) -> None:
        if limits.expires_at is not None and limits.expires_at <= self._clock():
            raise InvalidRequestError(
                "invalid limits of a key: expires_at, in seconds since 1970, is not in the future; "
                "revoking a key ends it now"
            )

    def _data(self, id_: str) -> bytes:
        data = self._ledger.key(id_) if id_.isprintable() else None  # PostgreSQL takes no NUL
        if data is None:
            raise NotFoundError(f"there is no key {id_!r}")
        return data

    def _change(self, id_: str, change: Callable[[IssuedKey], IssuedKey]) -> IssuedKey:
        while True:  # until nothing changed it between reading and writing
            data = self._data(id_)
            key = change(unpacked_key(data))
            if self._ledger.swap_key(id_, data, packed_key(key)):
                return key


@define
class _Found:
    key: IssuedKey
    at: float
    reading: bool = False


@define(eq=False, repr=False)
class KeyLookup:
    """Finds the issued key that a client shows. Safe for concurrent use."""

    _ledger: Ledger
    _threads: anyio.CapacityLimiter
    _clock: Callable[[], float] = time.time
    _monotonic: Callable[[], float] = time.monotonic
    _found: OrderedDict[str, _Found] = field(factory=OrderedDict, init=False)
    _missing: OrderedDict[str, float] = field(factory=OrderedDict, init=False)
    """Ids without a key, and when they were looked for."""
    _threads_of_unknown: anyio.CapacityLimiter = field(
        factory=lambda: anyio.CapacityLimiter(_UNKNOWN_AT_ONCE), init=False
    )

    async def find(self, texts: Sequence[str]) -> IssuedKey | None:
        """Return the key that one of *texts* is; None if none of them is one.

        Raises FrontError, 401, for a key that was revoked or has expired, and
        StateUnavailableError.
        """
        for text in texts:
            id_ = key_id(text)
            key = None if id_ is None else await self._key(id_)
            now = self._clock()
            if key is not None and key.matches(text, now):
                key.check(now)
                return key
        return None

    async def _key(self, id_: str) -> IssuedKey | None:
        now, known = self._monotonic(), self._found.get(id_)
        if known is None:
            if now - self._missing.get(id_, -_MISSING_S) < _MISSING_S:
                return None
            return await self._read(id_, self._threads_of_unknown)
        age = now - known.at
        if age < _FRESH_S or (known.reading and age < _STALE_S):
            return known.key
        known.reading = True
        try:
            return await self._read(id_, self._threads)
        finally:
            known.reading = False

    async def _read(self, id_: str, threads: anyio.CapacityLimiter) -> IssuedKey | None:
        begun = self._monotonic()
        data = await anyio.to_thread.run_sync(partial(self._ledger.key, id_), limiter=threads)
        if data is None:
            self._found.pop(id_, None)
            _keep(self._missing, id_, begun, most=_MISSING_KEPT)
            return None
        key = unpacked_key(data)
        _keep(self._found, id_, _Found(key, begun), most=_KEPT)
        return key


def _keep(values: OrderedDict[str, _T], name: str, value: _T, *, most: int) -> None:
    """Keep *value* as the newest one, and at most *most* of them."""
    values[name] = value
    values.move_to_end(name)
    while len(values) > most:
        values.popitem(last=False)


def accounts_unavailable() -> FrontError:
    """Return the error of a request whose key or budget cannot be looked up, 503."""
    return state_unavailable("the store of keys and budgets cannot be reached; try again")
