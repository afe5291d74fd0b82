"""The health of upstreams as all workers of a gateway share it: cool-downs and open circuits.

The store keeps one named value, which each worker reads about once a second and adds its own
changes to. So a 429 that one worker gets keeps all of them away from the upstream. Times are those
of the machines' clocks.

    {"anthropic-a": {"free_at": 1763850000.5, "failures": 2, "failed_at": ..., "reason": "failing"}}
"""

import time
from collections.abc import Callable, Mapping
from typing import Final

from llmcore.bridge.pools.health import HEALTHY, Health, merged
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.bridge.state.store import ResponseStore
from llmcore.schema import json
from llmcore.schema.codec import from_json
from llmcore.schema.errors import InvalidRequestError

NAME: Final = "upstream-health"
_TTL_S: Final = 3600.0
"""How long a cool-down is remembered after its end, with the failures that led to it."""
_MOST: Final = 1000


class SharedHealth:
    """Exchanges what a worker knows of upstreams with the others of its store."""

    def __init__(
        self,
        store: ResponseStore,
        health: UpstreamHealth,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._health = health
        self._clock = clock

    async def exchange(self) -> None:
        """Learn what others found out, and add what this worker did.

        Where another worker wrote at the same time, the next exchange adds it. Raises
        StateUnavailableError.
        """
        before = await self._store.value(NAME)
        found = _read(before)
        self._health.learn(found)
        own = {name: self._health.health(name) for name in self._health.changed}
        if not own:
            return
        together = self._together(found, own)
        data = json.dumps({name: health.to_json() for name, health in together.items()})
        if await self._store.swap(NAME, before, data, _TTL_S):
            for name, health in own.items():
                if self._health.health(name) is health:  # unchanged meanwhile
                    self._health.changed.discard(name)

    def _together(
        self, found: Mapping[str, Health], own: Mapping[str, Health]
    ) -> Mapping[str, Health]:
        """Return what is known by all; one that has recovered is left out."""
        known = {
            **found,
            **{name: merged(health, found.get(name, HEALTHY)) for name, health in own.items()},
        }
        since = self._clock() - _TTL_S
        bad = [
            (name, health)
            for name, health in known.items()
            if health.free_at > since and own.get(name) is not HEALTHY
        ]
        return dict(sorted(bad, key=lambda pair: pair[1].failed_at)[-_MOST:])


def _read(data: bytes | None) -> Mapping[str, Health]:
    """Return the health of upstreams in *data*; none for that of another version."""
    if data is None:
        return {}
    try:
        return from_json(dict[str, Health], json.loads(data))
    except (ValueError, InvalidRequestError):
        return {}
