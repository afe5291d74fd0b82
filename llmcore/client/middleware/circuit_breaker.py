"""A circuit breaker: stops sending to a provider that is down."""

from collections.abc import Hashable, Sequence
from typing import Literal

from attrs import define

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next
from llmcore.client.middleware.clock import SYSTEM_CLOCK, Clock
from llmcore.client.middleware.outcome import CallOutcome
from llmcore.client.middleware.serial import SerialExecutor
from llmcore.client.middleware.target import TargetKey, by_provider, target_of
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import (
    ConfigurationError,
    LLMError,
    NetworkError,
    OverloadedError,
    ProviderError,
    RequestTimeoutError,
    ServerError,
)
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_checked_arguments
from llmcore.schema.request import LLMRequest

CircuitState = Literal["closed", "open", "half-open"]

_LOCAL = "circuit-open"


@with_checked_arguments()
@with_settings_in_repr
class CircuitBreaker:
    """Stops calling a provider after *failures* failures in a row, for `open_s` seconds.

    While it is open, calls fail at once with an OverloadedError of the code `circuit-open`,
    whose `retry_after` is the time left. Then it is half-open: one call is let through, and
    the others still fail; if a response begins the circuit closes, if not it is open again.

    Only server errors, timeouts and a network that does not work count as failures. Any other
    response of the provider, also one that rejects a request, shows that it works.
    Calls that were closed early do not count.

    - `key`: the calls that share a circuit; by default all of one provider.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        open_s: float = 30.0,
        key: TargetKey = by_provider,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if failures < 1 or not open_s > 0:
            raise ConfigurationError("failures must be at least 1, and open_s more than 0")
        self._failures = failures
        self._open_s = open_s
        self._key = key
        self._clock = clock
        self._circuits: dict[Hashable, _Circuit] = {}
        self._serial = SerialExecutor(forget=self._forget_probes)

    def state(self, key: Hashable) -> CircuitState:
        """Return how the circuit of *key* (by default a provider's id) is."""
        circuit = self._circuits.get(key)
        return "closed" if circuit is None else circuit.state_at(self._clock.monotonic())

    async def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Run the call unless the circuit is open."""
        target = target_of(request, next)
        circuit = self._circuits.setdefault(
            self._key(target), _Circuit(self._failures, self._open_s)
        )
        now = self._clock.monotonic()
        permit = await self._serial.submit(lambda: circuit.permit(now))
        if not isinstance(permit, _Permit):
            raise OverloadedError(
                f"{target.provider or 'the provider'} has failed too often; no calls are sent for "
                f"another {permit:.1f} seconds",
                provider=target.provider or None,
                error_code=_LOCAL,
                retry_after=permit,
            )

        def record(verdict: bool | None) -> None:
            now = self._clock.monotonic()
            self._serial.run(lambda: circuit.record(permit, verdict, now))

        def began(batch: Sequence[LLMEvent]) -> None:
            if not isinstance(batch[-1], ErrorEvent):
                record(True)

        return next(request).watch(
            each=began if permit.probe else None,
            end=lambda result: record(_verdict(CallOutcome.of(result).error)),
        )

    def _forget_probes(self) -> None:
        for circuit in self._circuits.values():
            circuit.probing = False


def _verdict(error: LLMError | None) -> bool | None:
    """Return whether the provider works; None if the error does not show it."""
    if error is None:
        return True
    if error.error_code == _LOCAL:
        return None
    if isinstance(error, ServerError | RequestTimeoutError | NetworkError):
        return False
    return True if isinstance(error, ProviderError) and error.status_code is not None else None


@frozen
class _Permit:
    era: int
    probe: bool


@define(eq=False)
class _Circuit:
    """The state of one key. Changed only through the breaker's `_serial`."""

    limit: int
    open_s: float
    failed: int = 0
    open_until: float | None = None
    probing: bool = False
    era: int = 0
    """Counts openings and closings: the outcome of an earlier call does not count."""

    def state_at(self, now: float) -> CircuitState:
        if self.open_until is None:
            return "closed"
        return "half-open" if self.probing or now >= self.open_until else "open"

    def permit(self, now: float) -> _Permit | float:
        """Return a permit, or the seconds until there may be one."""
        if self.open_until is None:
            return _Permit(self.era, probe=False)
        if self.probing:
            return self.open_s
        if now < self.open_until:
            return self.open_until - now
        self.probing = True
        return _Permit(self.era, probe=True)

    def record(self, permit: _Permit, verdict: bool | None, now: float) -> None:
        """Record whether a permitted call showed that the provider works; None: neither."""
        if permit.era != self.era:
            return
        if verdict is None:
            self.probing = False  # the next call is the probe
        elif verdict:
            self._close()
        elif permit.probe or self.failed + 1 >= self.limit:
            self._open(now)
        else:
            self.failed += 1

    def _close(self) -> None:
        self.failed = 0
        if self.open_until is not None:
            self.open_until, self.probing = None, False
            self.era += 1

    def _open(self, now: float) -> None:
        self.failed = 0
        self.open_until, self.probing = now + self.open_s, False
        self.era += 1
