"""Locks and counters that are created again in a forked child.

Only the thread that forked runs in the child. A lock that another thread held would stay locked
there, and places that running calls hold would stay taken.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """An object with locks, or with places that running calls hold."""

    def reset_in_child(self) -> None:
        """Release all of them: this process is a new one, and has no calls yet."""
        ...


_inherited: WeakSet[Inherited] = WeakSet()


def reset_after_fork(inherited: Inherited) -> None:
    """Call `reset_in_child` of *inherited* in every child that is forked while it exists."""
    _inherited.add(inherited)


def _reset_all() -> None:
    for inherited in tuple(_inherited):
        inherited.reset_in_child()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_reset_all)


class ForkSafeLock:
    """A lock that is free in a forked child, also if a thread of the parent held it."""

    def __init__(self) -> None:
        self.reset_in_child()
        reset_after_fork(self)

    def reset_in_child(self) -> None:
        """Release the lock."""
        self._lock = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block, from which a child may be forked."""
        with self._lock:  # looked up once: what is released is what was taken
            yield
