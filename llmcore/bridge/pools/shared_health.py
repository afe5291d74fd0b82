"""The health of upstreams, shared by all workers of one store.

Each worker chooses targets by its own record alone. About once a second it writes what it has found
to one named value of the store, and reads what others have: no request waits for that, and while
the store cannot be reached each worker uses its own state.

    {"5f0c2a91d4e7 openai": {...}, "5f0c2a91d4e7 openai/gpt-5.2": {...}}

A name has the account of its upstream before it: workers that have other settings, or have not read
a new key yet, know nothing about this one.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from attrs import asdict

from llmcore.bridge.http.logs import FailureLog
from llmcore.bridge.pools.health import HEALTHY, Health, is_before_a_set_back
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.schema import json

VALUE: Final = "upstream-health"
_KEPT_S: Final = 3600.0
_PAST_S: Final = 60.0
"""How long a failure is shared after its cool-down, for the count that opens the circuit."""
_MAX_NAMES: Final = 1000
_ATTEMPTS: Final = 3


class SharedHealth:
    """Exchanges the health of upstreams with other workers."""

    def __init__(self, health: UpstreamHealth, store: ResponseStore) -> None:
        self._health = health
        self._store = store
        self._failures = FailureLog(StateUnavailableError, logging.WARNING, "health_not_shared")

    async def exchange(self) -> None:
        """Write the changes of this worker, and read those of the others."""
        with self._failures:
            for _ in range(_ATTEMPTS):
                if await self._exchanged():
                    break

    async def _exchanged(self) -> bool:
        """Exchange once; return whether no other worker wrote at the same time."""
        health = self._health
        data = await self._store.value(VALUE)
        now = health.now()
        found = unpacked(data).items()
        shared = {n: other for n, other in found if not is_before_a_set_back(other.failed_at, now)}
        names = {stored: stored.partition(" ")[2] for stored in shared}
        health.learn({n: shared[s] for s, n in names.items() if s == self._stored(n)})
        changed = frozenset(health.changed)
        if not changed:
            return True
        own = {name: health.health(name) for name in changed}
        new = packed({**shared, **{self._stored(name): own[name] for name in own}}, now)
        if not await self._store.swap(VALUE, data, new, _KEPT_S):
            return False
        health.changed -= {name for name in changed if health.health(name) is own[name]}
        return True

    def _stored(self, name: str) -> str:
        return f"{self._health.account(name)} {name}"


def packed(known: Mapping[str, Health], now: float) -> bytes:
    """Return *known* as a value of the store, without what is healthy or long past."""
    bad = {
        name: health
        for name, health in known.items()
        if health is not HEALTHY and health.free_at > now - _PAST_S
    }
    latest = sorted(bad, key=lambda name: bad[name].free_at, reverse=True)[:_MAX_NAMES]
    return json.dumps({name: asdict(bad[name]) for name in latest})


def unpacked(data: bytes | None) -> Mapping[str, Health]:
    """Return the health in a value; nothing if it is of another version or cannot be read."""
    try:
        value: Any = json.loads(data) if data else {}
        return msgspec.convert(value, dict[str, Health])
    except (ValueError, msgspec.ValidationError):
        return {}
