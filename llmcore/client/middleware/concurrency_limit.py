"""Limits the number of concurrent calls."""

from collections import deque
from collections.abc import Hashable

import anyio
from attrs import define, field

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next
from llmcore.client.middleware.serial import SerialExecutor, Waiter
from llmcore.client.middleware.target import TargetKey, by_provider, target_of
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import ConfigurationError, RateLimitError
from llmcore.schema.hints import with_checked_arguments
from llmcore.schema.options import check_kind
from llmcore.schema.request import LLMRequest


@with_checked_arguments(max_concurrency="limit", concurrency="limit")
@with_settings_in_repr
class ConcurrencyLimit:
    """Lets at most *limit* calls run at once; the others wait for their turn, in order.

    A stream runs from its first event being asked for until it ends or is closed (or is
    dropped). A task that holds *limit* streams open and waits for one more waits forever,
    unless `max_wait_s` is given: then it fails with a RateLimitError. Works across event loops and
    threads.

    - `key`: what is counted together; by default the calls to one provider.
    """

    def __init__(
        self, limit: int, *, key: TargetKey = by_provider, max_wait_s: float | None = None
    ) -> None:
        check_kind("limit", limit, (int,), "a number of calls", ConfigurationError)
        if limit < 1:
            raise ConfigurationError(f"the limit of calls at once must be at least 1, not {limit}")
        self.limit = limit
        self._key = key
        self._max_wait_s = max_wait_s
        self._places: dict[Hashable, _Places] = {}

    async def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Wait for a place, and hold it until the call has ended."""
        target = target_of(request, next)
        places = self._places.setdefault(self._key(target), _Places(self.limit))
        place = None
        with anyio.move_on_after(self._max_wait_s):
            place = await places.taken()
        if place is None:
            raise RateLimitError(
                f"{self.limit} calls are running, and none ended within {self._max_wait_s:g} "
                "seconds: nothing was sent",
                provider=target.provider or None,
                error_code="concurrency-limit",
            )
        return next(request).watch(end=lambda _result: places.leave(place))

    @property
    def running(self) -> int:
        """How many calls hold a place."""
        return sum(len(places.held) for places in self._places.values())


@define(eq=False)
class _Place:
    waiter: Waiter = field(factory=Waiter)


class _Places:
    """The places of one key and the queue for them. Changed only through `_serial`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.held: set[_Place] = set()
        self._queue: deque[_Place] = deque()
        self._serial = SerialExecutor(forget=self._empty)

    async def taken(self) -> _Place:
        """Return a place when one is free."""
        place = _Place()
        try:
            if not await self._serial.submit(lambda: self._entered(place)):
                await place.waiter.wait()
        except BaseException:
            self.leave(place)
            raise
        return place

    def leave(self, place: _Place) -> None:
        """Free *place*, or remove it from the queue."""
        self._serial.run(lambda: self._left(place))

    def _empty(self) -> None:
        self.held.clear()
        self._queue.clear()

    def _entered(self, place: _Place) -> bool:
        if self._queue or len(self.held) >= self._limit:
            self._queue.append(place)
            return False
        self.held.add(place)
        return True

    def _left(self, place: _Place) -> None:
        self.held.discard(place)
        if place in self._queue:
            self._queue.remove(place)
        while self._queue and len(self.held) < self._limit:
            after = self._queue.popleft()
            self.held.add(after)
            after.waiter.wake()
