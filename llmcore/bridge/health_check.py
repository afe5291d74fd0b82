"""Whether the stores of the gateway can be reached."""

import math
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from llmcore.bridge.state.store import StateUnavailableError
from llmcore.client.loop_task import LoopTask
from llmcore.schema.json import JsonObject

_KEPT_S: Final = 1.0
"""How long a result is used again."""
_WAIT_S: Final = 1.0
"""The longest wait for a result."""
_DEGRADED: Final[JsonObject] = {"status": "degraded", "state": "unavailable"}


class HealthCheck:
    """Runs *checks*, which raise StateUnavailableError, at most once a second."""

    def __init__(self, *checks: Callable[[], Awaitable[None]]) -> None:
        self._checks = checks
        self._task: LoopTask | None = None
        """The check that is under way."""
        self._checked = anyio.Event()
        self._checked_until = -math.inf
        self._result: JsonObject = _DEGRADED

    async def result(self) -> JsonObject:
        """Return whether the stores can be reached; a result is reused for a second.

        Callers need no key, so each call must not cost a call of the store. They have time limits,
        so a store that takes longer than a second counts as unavailable.
        """
        if self._task is None and anyio.current_time() >= self._checked_until:
            self._checked = anyio.Event()
            self._task = LoopTask(self._check)
        if self._task is None:
            return self._result
        with anyio.move_on_after(_WAIT_S):
            await self._checked.wait()
            return self._result
        return _DEGRADED

    async def _check(self) -> None:
        try:
            for check in self._checks:
                await check()
        except StateUnavailableError:
            self._result = _DEGRADED
        else:
            self._result = {"status": "ok", "state": "ok"}
        finally:
            self._checked_until = anyio.current_time() + _KEPT_S
            self._task = None
            self._checked.set()

    async def aclose(self) -> None:
        """Stop the check that is under way."""
        if self._task is not None:
            await self._task.stop()
