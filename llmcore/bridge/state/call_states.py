"""Sealed state of calls, kept for clients that drop the fields which carry it.

Clients of Chat Completions send calls back by their ids, and many of them nothing else; some of
Messages leave out blocks that they do not know, and some of Responses reasoning. The state of a
response is kept under the ids of its calls, for the caller that got it, in the memory of this
process: if it is not found, only the reasoning of earlier steps is lost. What is not kept for want
of space is logged, since the requests that would need it do not show that there was any.
"""

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from llmcore.bridge.http.logs import log
from llmcore.schema.frozen import frozen

_TTL_S: Final = 6 * 3600.0
_MAX_BYTES: Final = 64 * 1024 * 1024
_MAX_ONE: Final = 1024 * 1024
"""Larger states are not kept."""
_LOGGED_EACH_S: Final = 3600.0
"""How often it is logged that states are deleted for space; in steady traffic each response may
delete one."""


@frozen
class _Kept:
    sealed: str
    until: float


class CallStates:
    """State by owner and id of a call, within bounds of size and age."""

    def __init__(
        self, max_bytes: int = _MAX_BYTES, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._bytes = 0
        self._log_full_from = -math.inf

    @property
    def are_none(self) -> bool:
        """Whether nothing is stored: requests then need not be searched for calls."""
        return not self._kept

    def put(self, owner: str, states: Mapping[str, str]) -> None:
        """Store *states*, by the ids of calls, for *owner*; delete the oldest for space."""
        until = self._clock() + _TTL_S
        for call_id, sealed in states.items():
            if len(sealed) > _MAX_ONE:
                log(logging.WARNING, "call_state_too_large", bytes=len(sealed), most=_MAX_ONE)
                continue
            self._drop((owner, call_id))
            self._kept[owner, call_id] = _Kept(sealed, until)
            self._bytes += len(sealed)
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

    def get(self, owner: str, call_id: str) -> str | None:
        """Return the state of a call; None if it is not stored, or no longer."""
        kept = self._kept.get((owner, call_id))
        if kept is not None and kept.until < self._clock():
            self._drop((owner, call_id))
            return None
        return None if kept is None else kept.sealed

    def _drop(self, key: tuple[str, str]) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is not None:
            self._bytes -= len(dropped.sealed)
