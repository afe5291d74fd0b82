"""Cancel scopes with deadlines, which share one timer of the event loop.

A timer of asyncio is sorted into a heap, cancelled, and taken out of the heap later, which costs
more than the scope itself; and of the time limits of calls hardly one ever expires. So all scopes
of a loop share the timer of the earliest deadline. Where that scope was left in time, the timer is
set once more, for those that are left.
"""

import math
import threading
import weakref
from typing import Any, Protocol

import anyio

from llmcore.client.loop_task import running_on_asyncio, scope_class


class LoopTimer(Protocol):
    """Makes scopes that are cancelled at a deadline, by the clock of one event loop."""

    def time(self) -> float:
        """Return the time of the clock."""
        ...

    def new_scope(self, deadline: float) -> anyio.CancelScope:
        """Return a scope to be entered now, which is cancelled at *deadline*."""
        ...

    def forget(self, scope: anyio.CancelScope) -> None:
        """Do nothing at the deadline of *scope*, which was left."""
        ...


def loop_timer() -> LoopTimer:
    """Return the timer of the running event loop."""
    loop = running_on_asyncio()
    if loop is None:
        return _OWN_DEADLINES
    timer: _SharedTimer | None = _LAST.timer()
    if timer is None or timer.loop is not loop:
        timer = _SharedTimer(loop)
        _LAST.timer = weakref.ref(timer)
    return timer


class _OwnDeadlines:
    """Scopes with deadlines of their own, as of trio, which has no timers."""

    def time(self) -> float:
        return anyio.current_time()

    def new_scope(self, deadline: float) -> anyio.CancelScope:
        return anyio.CancelScope(deadline=deadline)

    def forget(self, scope: anyio.CancelScope) -> None:
        pass


_OWN_DEADLINES = _OwnDeadlines()


class _SharedTimer:
    """The scopes of one loop of asyncio. The timer that is set, and so the loop, refers to it."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.time = loop.time
        self._deadlines: dict[anyio.CancelScope, float] = {}
        self._timer: Any = _no_timer
        """A weak reference, so that both are freed with the loop, without garbage collection."""
        self._at = math.inf
        """When the timer ends."""

    def new_scope(self, deadline: float) -> anyio.CancelScope:
        scope = scope_class(True)()
        if deadline <= self.time():
            scope.cancel()
        elif deadline < math.inf:
            self._deadlines[scope] = deadline
            if deadline < self._at:
                self._set(deadline)
        return scope

    def forget(self, scope: anyio.CancelScope) -> None:
        self._deadlines.pop(scope, None)

    def _set(self, deadline: float) -> None:
        if (timer := self._timer()) is not None:
            timer.cancel()
        self._at = deadline
        self._timer = weakref.ref(self.loop.call_at(deadline, self._expire))

    def _expire(self) -> None:
        """Cancel the scopes whose deadlines have come, and set the timer for the next one."""
        now = max(self.time(), self._at)  # the loop calls this up to a tick of its clock too early
        self._timer, self._at = _no_timer, math.inf
        for scope in [scope for scope, deadline in self._deadlines.items() if deadline <= now]:
            del self._deadlines[scope]
            scope.cancel()
        if self._deadlines:
            self._set(min(self._deadlines.values()))


class _Last(threading.local):
    """The timer of the loop that ran last in a thread."""

    def __init__(self) -> None:
        self.timer: Any = _no_timer
        """A weak reference: a loop that was closed is not kept."""


def _no_timer() -> None:
    return None


_LAST = _Last()
