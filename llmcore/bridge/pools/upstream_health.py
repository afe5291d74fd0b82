"""The state of all upstreams in one worker: their health, and their running responses."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from llmcore.bridge.configuration.settings import CoolDownSettings
from llmcore.bridge.configuration.tables import UpstreamSettings
from llmcore.bridge.http.logs import log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.pools.health import (
    HEALTHY,
    KEY_REASONS,
    MODEL_REASONS,
    RATE_LIMITED,
    Health,
    after_failure,
    after_success,
    claimed,
    is_before_a_set_back,
    is_of_the_key,
    merged,
    reason_of,
    state_of,
)
from llmcore.bridge.pools.shared_limits import SharedLimits, Slot
from llmcore.client.middleware.token_bucket import TokenBucket, per_minute
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject, JsonValue

_MAX_KNOWN: Final = 10_000
"""How many upstreams and models have their failures remembered."""
_RENEWED_S: Final = 5.0
"""For how long after this worker has read a new key others may still send the old one."""
_FULL_S: Final = 0.05
"""The time between two attempts to get a place at an upstream that is full."""


class UpstreamHealth:
    """The health of every upstream and of each of its models, as far as they have failed.

    A failure of the key concerns the upstream; others concern the one model. Times are those of
    the system's clock, so that workers can share them.
    """

    def __init__(
        self,
        settings: CoolDownSettings,
        metrics: Metrics,
        upstreams: Sequence[UpstreamSettings] = (),
        *,
        shared: SharedLimits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """*shared* counts what goes to limited upstreams for all workers."""
        self._shared = shared
        self._full_until: dict[str, float] = {}
        """When to ask again for upstreams that are full for all workers."""
        self._metrics = metrics
        self._clock = clock
        self._latest = -math.inf
        """The time that was read last."""
        self._known: dict[str, Health] = {}
        self._running: Counter[str] = Counter()
        self._limits: dict[str, UpstreamSettings] = {}
        self._rates: dict[str, TokenBucket] = {}
        self._renewed_at: dict[str, float] = {}
        """When upstreams got another key."""
        self.changed: set[str] = set()
        """Names whose health is not shared with other workers yet."""
        self.configure(settings, upstreams)

    def configure(self, settings: CoolDownSettings, upstreams: Sequence[UpstreamSettings]) -> None:
        """Use new settings from now on.

        Upstreams that changed lose their recorded failures, and begin a new minute of requests.
        Those that refused their keys are asked again, since keys may come from variables.
        """
        changed = {
            upstream.name
            for upstream in upstreams
            if self._limits.get(upstream.name, upstream) != upstream
        }
        for name in [known for known in self._known if known.partition("/")[0] in changed]:
            del self._known[name]
        for name in list(self._known):
            self.key_renewed(name)
        self._settings = settings
        self._limits = {upstream.name: upstream for upstream in upstreams}
        self._accounts = {upstream.name: upstream.account for upstream in upstreams}
        kept = {name: rate for name, rate in self._rates.items() if name not in changed}
        self._rates = {
            upstream.name: kept.get(upstream.name)
            or per_minute(upstream.requests_per_minute, self._clock())
            for upstream in upstreams
            if upstream.requests_per_minute is not None
        }

    # -- choosing

    def now(self) -> float:
        """Return the current time of the clock that `free_at` uses.

        Times that were read before it was set back are forgotten.
        """
        now = self._clock()
        if is_before_a_set_back(self._latest, now):
            self._known.clear()
            self._full_until.clear()
            self._renewed_at.clear()
            self._rates = {
                name: per_minute(rate.capacity, now) for name, rate in self._rates.items()
            }
        self._latest = now
        return now

    def has_limits(self, target: UpstreamModel) -> bool:
        """Return whether requests to *target* are limited."""
        limits = self._limits.get(target.provider)
        return limits is not None and limits.is_limited

    def free_at(self, target: UpstreamModel) -> float:
        """Return when *target* can be asked; a time in the past where it can be now."""
        limited_until, known = self.limited_until(target), self._known
        at = max(known.get(name, HEALTHY).free_at for name in _names(target))
        return max(at, limited_until)

    def wait_s(self, target: UpstreamModel) -> float:
        """Return how long a request waits for *target* although no other is free.

        An upstream that is at its limits, has asked for a pause or has an open circuit is left
        alone. One that just failed gets the request: it may work again.
        """
        now, until = self.now(), self.limited_until(target)
        for name in _names(target):
            health = self._known.get(name, HEALTHY)
            is_open = state_of(health, now, self._settings) == "open"
            if health.reason == RATE_LIMITED or is_open:
                until = max(until, health.free_at)
        return max(0.0, until - now)

    def refuses_model(self, target: UpstreamModel) -> bool:
        """Return whether *target* cools down since it lacks or refuses its model.

        To wait for it would not help.
        """
        now = self.now()
        known = (self._known.get(name, HEALTHY) for name in _names(target))
        return any(now < health.free_at and health.reason in MODEL_REASONS for health in known)

    def limited_until(self, target: UpstreamModel) -> float:
        """Return until when the limits of its settings keep requests from *target*."""
        now = self.now()
        limits = self._limits.get(target.provider)
        if limits is None:
            return 0.0
        at = self._full_until.get(target.provider, 0.0)
        if limits.max_running and self._running[target.provider] >= limits.max_running:
            at = max(at, now + _FULL_S)
        if (bucket := self._rates.get(target.provider)) and (wait_s := bucket.wait_s(1, now)):
            at = max(at, now + wait_s)
        return at

    async def enter(self, target: UpstreamModel) -> Slot | None:
        """Count a request to *target* as running; None if its limits allow none now."""
        now = self.now()
        if self.limited_until(target) > now:
            return None
        self._running[target.provider] += 1
        slot = Slot()
        try:
            limits = self._limits.get(target.provider)
            if self._shared is not None and limits is not None and limits.is_limited:
                slot = await self._shared.take(limits)
        except BaseException:
            self._running[target.provider] -= 1
            raise
        if slot.wait_s:
            self._running[target.provider] -= 1
            self._full_until[target.provider] = self.now() + slot.wait_s
            return None
        if bucket := self._rates.get(target.provider):
            bucket.take(1, now)
        for name in _names(target):
            if name in self._known:
                self._set(name, claimed(self._known[name], now, self._settings))
        return slot

    async def leave(self, target: UpstreamModel, slot: Slot) -> None:
        """Count a request to *target* as ended."""
        self._running[target.provider] -= 1
        if self._shared is not None and slot.reservation:
            self._full_until.pop(target.provider, None)
            await self._shared.give_back(slot)

    # -- outcomes

    def failed(self, target: UpstreamModel, error: LLMError) -> None:
        """Record that a request to *target* failed before it was answered."""
        reason = reason_of(error)
        if reason is None:
            return
        now, name = self.now(), _names(target)[0 if is_of_the_key(error) else 1]
        before = self._known.get(name, HEALTHY)
        after = after_failure(before, error, now, self._settings)
        self._set(name, after)
        self._metrics.upstream_failures.labels(target.provider, reason).inc()
        if after.free_at <= now:
            return
        log(
            logging.WARNING,
            "upstream_cools_down",
            upstream=name,
            reason=reason,
            seconds=round(after.free_at - now, 3),
            failures=after.failures,
        )

    def succeeded(self, target: UpstreamModel, started_at: float) -> None:
        """Record that *target* answers a request that began at *started_at*."""
        for name in _names(target):
            if name in self._known and after_success(self._known[name], started_at) is HEALTHY:
                self._forget(name)

    def key_renewed(self, upstream: str) -> None:
        """Forget that *upstream* refused its key or the account behind it: it may have another."""
        self._renewed_at[upstream] = self.now()
        if self.health(upstream).reason in KEY_REASONS:
            self._forget(upstream)

    def _forget(self, name: str) -> None:
        del self._known[name]
        self.changed.add(name)
        log(logging.INFO, "upstream_recovered", upstream=name)

    def _set(self, name: str, health: Health) -> None:
        self._known[name] = health
        self.changed.add(name)
        if len(self._known) > _MAX_KNOWN:
            oldest = min(self._known, key=lambda known: self._known[known].free_at)
            del self._known[oldest]
            self.changed.discard(oldest)

    # -- what is known

    def health(self, name: str) -> Health:
        """Return the health of an upstream, or of `upstream/model`."""
        return self._known.get(name, HEALTHY)

    def account(self, name: str) -> str:
        """Return the account of an upstream, or of `upstream/model`; empty for one not listed."""
        return self._accounts.get(name.partition("/")[0], "")

    def learn(self, shared: Mapping[str, Health]) -> None:
        """Add the health that other workers have recorded."""
        for name, health in shared.items():
            of_old_key = health.reason in KEY_REASONS and (
                health.failed_at < self._renewed_at.get(name, -math.inf) + _RENEWED_S
            )
            if name not in self.changed and not of_old_key:
                self._known[name] = merged(self.health(name), health)

    def measure(self, upstreams: Sequence[str]) -> None:
        """Set the gauge of each of *upstreams*."""
        now = self.now()
        down = {
            name.partition("/")[0]
            for name, health in self._known.items()
            if state_of(health, now, self._settings) != "ok"
        }
        for name in upstreams:
            self._metrics.upstream_up.labels(name).set(name not in down)

    def report(
        self, upstreams: Sequence[str], unread: Mapping[str, bool] = MappingProxyType({})
    ) -> JsonObject:
        """Return the state of *upstreams* and of their models that have failed.

        *unread* are those whose key could not be read, and whether an earlier one is still used.
        """
        now = self.now()
        names = [*upstreams, *(name for name in self._known if name not in upstreams)]
        found = {name: self._report(name, now) for name in names}
        for name in found.keys() & unread.keys():
            found[name]["reason"] = "key_not_read"  # why is in the log: it names files
            if not unread[name]:
                found[name]["state"] = "no_key"
        return {**found}

    def _report(self, name: str, now: float) -> dict[str, JsonValue]:
        health = self.health(name)
        report: dict[str, JsonValue] = {"state": state_of(health, now, self._settings)}
        if health is not HEALTHY:
            report["reason"] = health.reason
            report["failures"] = health.failures
            report["seconds"] = round(max(0.0, health.free_at - now), 1)
        if "/" not in name:
            report["running"] = self._running[name]
        return report


def _names(target: UpstreamModel) -> tuple[str, str]:
    """Return the names under which the health of *target* is kept: its key's, and its model's."""
    return target.provider, target.label
