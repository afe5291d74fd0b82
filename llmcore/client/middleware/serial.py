"""State that can be changed from any task, event loop, thread or finaliser.

A client may be used from several event loops and threads at once, and a stream that was
not closed releases its resources from its finaliser, which can run in the middle of any code. A
lock would make such a finaliser wait for the code that it interrupted; here it never waits.

A forked child starts without the calls that its parent runs.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.lowlevel

from llmcore.client.loop_task import loop_caller
from llmcore.forking import reset_after_fork

_T = TypeVar("_T")


class SerialExecutor:
    """Runs small functions one after the other, from any thread, without ever blocking."""

    def __init__(self, forget: Callable[[], None] | None = None) -> None:
        """*forget* is called in a forked child, to drop the state of its parent's calls."""
        self._changes: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._forget = forget
        reset_after_fork(self)

    def reset_in_child(self) -> None:
        """Drop pending changes and the state of the parent's calls."""
        self._changes.clear()
        self._lock = threading.Lock()
        if self._forget is not None:
            self._forget()

    def run(self, change: Callable[[], None]) -> None:
        """Run *change*, which must not raise, once those before it have run.

        It has run on return, unless another thread is running changes at the moment, which then
        runs this one too.
        """
        self._changes.append(change)
        while self._changes and self._lock.acquire(blocking=False):
            try:
                while self._changes:
                    self._changes.popleft()()
            finally:
                self._lock.release()

    async def submit(self, function: Callable[[], _T]) -> _T:
        """Run *function*, which must not raise, as `run` does, and return its result.

        This cannot be cancelled: it returns at once, or as soon as another thread is done.
        """
        results: list[_T] = []
        self.run(lambda: results.append(function()))
        if not results:
            with anyio.CancelScope(shield=True):
                while not results:
                    await anyio.lowlevel.checkpoint()
        return results[0]


class Waiter:
    """Lets one task wait until any thread wakes it."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._call_soon = loop_caller()

    async def wait(self) -> None:
        """Return once `wake` was called."""
        await self._event.wait()

    def wake(self) -> None:
        """Let `wait` return. Does nothing if the event loop has ended."""
        with suppress(RuntimeError):
            self._call_soon(self._event.set)
