"""What a forked child must not take over: locks that other threads held, and their calls.

Of the threads only the one that forked goes on in the child. What the others held stays held
there for ever, unless it is made anew.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """Something with locks, or with places that running calls hold."""

    def start_anew(self) -> None:
        """Forget them: this process is a new one, and has no calls yet."""
        ...


_inherited: WeakSet[Inherited] = WeakSet()


def start_anew_after_fork(one: Inherited) -> None:
    """Have *one* start anew in every child that is forked while it lives."""
    _inherited.add(one)


def _start_all_anew() -> None:
    for one in tuple(_inherited):
        one.start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_all_anew)


class ForkSafeLock:
    """A lock that is free in a forked child, whoever held it in the parent."""

    def __init__(self) -> None:
        self.start_anew()
        start_anew_after_fork(self)

    def start_anew(self) -> None:
        """Be free."""
        self._lock = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block; a child that is forked inside of it leaves it well."""
        with self._lock:  # looked up once: what is released is what was taken
            yield
