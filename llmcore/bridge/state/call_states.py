"""Sealed state of calls, kept for clients that drop the fields which carry it.

Clients of Chat Completions send calls back by their ids, and many of them nothing else; some of
Messages leave out blocks that they do not know, and some of Responses reasoning. The state of a
response is kept under the ids of its calls, for the caller that got it: in the memory of this
process, and beside the responses of the store, where other processes and later ones find it. If it
is not found, only the reasoning of earlier steps is lost, so that no request fails by it. What is
not kept for want of space is logged, since the requests that would need it do not show that there
was any.
"""

import hashlib
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from llmcore.bridge.http.logs import log
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.fronts.openai_responses.state import Record
from llmcore.schema.frozen import frozen
from llmcore.schema.native_json import str_or_none

_TTL_S: Final = 6 * 3600.0
_MAX_BYTES: Final = 64 * 1024 * 1024
_MAX_ONE: Final = 1024 * 1024
"""Larger states are not kept."""
_MAX_STATELESS: Final = 20_000
"""The most calls that are remembered to have no state, for which the store is not read again."""
_LOGGED_EACH_S: Final = 3600.0
"""How often it is logged that states are deleted for space; in steady traffic each response may
delete one."""


@frozen
class _Kept:
    sealed: str
    until: float


class CallStates:
    """State by owner and key of a call, within bounds of size and age."""

    def __init__(
        self,
        store: ResponseStore | None = None,
        *,
        max_bytes: int = _MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
        failed: Callable[[], object] = lambda: None,
    ) -> None:
        """Keep states in memory, and in *store*; *failed* is called where that does not work."""
        self._store = store
        self._max_bytes = max_bytes
        self._clock = clock
        self._failed = failed
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._stateless: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._bytes = 0
        self._log_full_from = -math.inf

    @property
    def are_none(self) -> bool:
        """Whether nothing is stored: requests then need not be searched for calls."""
        return self._store is None and not self._kept

    def of(self, owner: str, *, stored: bool = True) -> "CallLookup":
        """Return the states of *owner* for one request; those of the store if they are *stored*."""
        return CallLookup(self, owner, stored=stored)

    # -- in memory

    def put(self, owner: str, states: Mapping[str, str]) -> None:
        """Remember *states*, by the keys of calls, for *owner*; delete the oldest for space.

        An empty state is that of a call that needs none.
        """
        until = self._clock() + _TTL_S
        for key, sealed in states.items():
            self._drop((owner, key))
            if not sealed:
                self._stateless[owner, key] = None
            elif len(sealed) > _MAX_ONE:
                log(logging.WARNING, "call_state_too_large", bytes=len(sealed), most=_MAX_ONE)
            else:
                self._kept[owner, key] = _Kept(sealed, until)
                self._bytes += len(sealed)
        while len(self._stateless) > _MAX_STATELESS:
            self._stateless.popitem(last=False)
        self._make_room()

    def _make_room(self) -> None:
        """Delete the oldest states for space. Those whose time is over do not count as lost."""
        now, lost = self._clock(), False
        while self._bytes > self._max_bytes:
            oldest = next(iter(self._kept))
            lost = lost or self._kept[oldest].until >= now
            self._drop(oldest)
        if lost and now >= self._log_full_from:
            self._log_full_from = now + _LOGGED_EACH_S
            log(logging.WARNING, "call_states_full", most=self._max_bytes)

    def get(self, owner: str, key: str) -> str | None:
        """Return the state of a call; None if it is not in memory, or no longer."""
        kept = self._kept.get((owner, key))
        if kept is not None and kept.until < self._clock():
            self._drop((owner, key))
            return None
        return None if kept is None else kept.sealed

    def _drop(self, place: tuple[str, str]) -> None:
        self._stateless.pop(place, None)
        dropped = self._kept.pop(place, None)
        if dropped is not None:
            self._bytes -= len(dropped.sealed)

    def may_be_stored(self, owner: str, key: str) -> bool:
        """Return whether the store may have the state of a call that is not in memory."""
        return self._store is not None and (owner, key) not in self._stateless

    # -- in the store

    async def keep(self, owner: str, states: Mapping[str, str], *, stored: bool = True) -> None:
        """Remember *states*, and write them to the store if they are to be *stored*."""
        if not states:  # as for a response without calls
            return
        self.put(owner, states)
        items = {
            _name(owner, key): {"state": sealed}
            for key, sealed in states.items()
            if 0 < len(sealed) <= _MAX_ONE
        }
        if self._store is None or not stored or not items:
            return
        record_id = next(iter(items))
        record = Record(id=record_id, owner=_stored_owner(owner), response={}, items=items)
        try:
            await self._store.put(record, most_s=_TTL_S)
        except StateUnavailableError as error:
            self._report(error)

    async def fetched(self, owner: str, keys: Iterable[str]) -> Mapping[str, str]:
        """Read the states of calls from the store into memory, and return them; empty for none."""
        if self._store is None:
            return {}
        names = {key: _name(owner, key) for key in keys}
        try:
            found = await self._store.items(list(names.values()), _stored_owner(owner))
        except StateUnavailableError as error:
            self._report(error)
            return {}
        items = {key: found.get(name, {}) for key, name in names.items()}
        states = {key: str_or_none(item.get("state")) or "" for key, item in items.items()}
        self.put(owner, states)
        return states

    def _report(self, error: StateUnavailableError) -> None:
        self._failed()
        log(logging.ERROR, "call_states_unavailable", error=str(error))


class CallLookup:
    """The states of one owner's calls, for one request, which is read again with those fetched."""

    def __init__(self, states: CallStates, owner: str, *, stored: bool) -> None:
        self._states = states
        self._owner = owner
        self._stored = stored
        self._wanted: dict[str, None] = {}
        self._fetched: dict[str, str] = {}

    def __call__(self, key: str) -> str | None:
        """Return the state of a call, if it is in memory or was fetched."""
        if key in self._fetched:
            return self._fetched[key] or None
        sealed = self._states.get(self._owner, key)
        if sealed is None and self._stored and self._states.may_be_stored(self._owner, key):
            self._wanted[key] = None
        return sealed

    async def fetch(self) -> bool:
        """Fetch what the store has of the calls that were not in memory; return whether it has any.

        Each call is fetched once.
        """
        if not self._wanted:
            return False
        wanted, self._wanted = self._wanted, {}
        found = await self._states.fetched(self._owner, wanted)
        self._fetched |= {key: found.get(key, "") for key in wanted}
        return any(found.values())


def _name(owner: str, key: str) -> str:
    """Return the name of a call's state: servers may use the same ids for several owners."""
    return f"call_{hashlib.blake2b(f'{owner} {key}'.encode(), digest_size=20).hexdigest()}"


def _stored_owner(owner: str) -> str:
    """Return the owner of states in the store, for whom no client can read them as responses."""
    return f"calls of {owner}"
