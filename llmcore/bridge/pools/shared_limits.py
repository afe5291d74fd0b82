"""The limits of upstreams that all workers of one ledger count together.

    slot = await limits.take(upstream)     # Slot(reservation="5f...") or Slot(wait_s=0.4)
    ...                                    # the response
    await limits.give_back(slot)

Responses under way are reservations of the ledger: those of a worker that was killed are given back
when its lease ends. While the ledger cannot be reached, each worker goes by its own count.
"""

import logging
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import anyio
import anyio.to_thread

from llmcore.bridge.configuration.tables import UpstreamSettings
from llmcore.bridge.http.logs import FailureLog
from llmcore.bridge.state.ledger import Increment, Ledger, Meter
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.schema.frozen import frozen

_FULL_S: Final = 0.1
"""The time between two attempts to get a place at an upstream that is full."""
_RUNNING_KEPT_S: Final = 24 * 3600.0
_RATE_KEPT_S: Final = 120.0
_THREADS: Final = 16


@frozen(kw_only=True)
class Slot:
    """The place of one response at an upstream."""

    reservation: str = ""
    """The id of its reservation in the ledger; empty if there is none."""
    upstream: str = ""
    wait_s: float = 0.0
    """Seconds after which there may be a place; above 0, there is none now."""


class SharedLimits:
    """Counts a worker's responses against limits that many share. Safe for concurrent use."""

    def __init__(
        self,
        ledger: Ledger,
        worker: str,
        *,
        hold_lease: Callable[[], None],
        failed: Callable[[], None],
    ) -> None:
        """*hold_lease* keeps the lease of *worker* extended; *failed* counts failures."""
        self._ledger = ledger
        self._worker = worker
        self._hold_lease = hold_lease
        self._failed = failed
        self._threads = anyio.CapacityLimiter(_THREADS)
        self._left: list[Slot] = []
        """Slots that are still to be given back."""
        self._failures = FailureLog(StateUnavailableError, logging.WARNING, "limits_not_shared")

    async def take(self, upstream: UpstreamSettings) -> Slot:
        """Count a response of *upstream*, if its limits allow one more."""
        slot = Slot(reservation=secrets.token_hex(16), upstream=upstream.name)
        step = partial(self._take, upstream, slot)
        try:
            wait_s = await anyio.to_thread.run_sync(step, limiter=self._threads)
        except StateUnavailableError as error:
            if error.sent and upstream.max_running:  # it may be counted all the same
                self._left.append(slot)
            self._log(error)
            return Slot()
        self._failures.worked()
        if wait_s:
            return Slot(wait_s=wait_s)
        return slot if upstream.max_running else Slot()

    def _take(self, upstream: UpstreamSettings, slot: Slot) -> float:
        """Return how long to wait; 0 if the slot is taken."""
        ledger, worker = self._ledger, self._worker
        running = _running(upstream.name, upstream.max_running or 0)
        if upstream.max_running:
            self._hold_lease()
            if ledger.reserve(slot.reservation, worker, [running]) is not None:
                return _FULL_S
        if upstream.requests_per_minute:
            rate = _rate(upstream.name, upstream.requests_per_minute)
            excess = ledger.reserve("", worker, [rate])
            if excess is not None:
                ledger.release(slot.reservation, worker, [running.meter])
                return max(excess.wait_s or 0.0, _FULL_S)
        return 0.0

    async def give_back(self, slot: Slot) -> None:
        """Count the response of *slot* as ended."""
        if slot.reservation:
            self._left.append(slot)
            with anyio.CancelScope(shield=True):
                await self.release()

    async def release(self) -> None:
        """Give back the slots that could not be given back before."""
        unreleased, self._left = self._left, []
        if not unreleased:
            return
        try:
            step = partial(self._release, unreleased)
            await anyio.to_thread.run_sync(step, limiter=self._threads)
        except StateUnavailableError as error:
            self._left += unreleased  # giving back twice does nothing
            self._log(error)

    def _release(self, slots: Sequence[Slot]) -> None:
        for slot in slots:
            meter = _running(slot.upstream, 0).meter
            self._ledger.release(slot.reservation, self._worker, [meter])

    def _log(self, error: StateUnavailableError) -> None:
        self._failed()
        self._failures.failed(error)


def _running(upstream: str, limit: int) -> Increment:
    name = f"upstream:running:{upstream}"
    return Increment(Meter(name=name, limit=limit, keep_s=_RUNNING_KEPT_S), 1)


def _rate(upstream: str, limit: int) -> Increment:
    name = f"upstream:requests:{upstream}"
    meter = Meter(name=name, limit=limit, drains_per_s=limit / 60, keep_s=_RATE_KEPT_S)
    return Increment(meter, 1)
