"""Remembering that a server hangs, so that requests do not wait for it one after another.

A server that is stopped, or behind a network that drops its packets, refuses nothing: each call
waits for its whole time limit. After the first of these, further calls fail at once for a while.
Then one call tries the server again, and the others keep failing until it has answered.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

_AVOIDED_S: Final = 5.0
"""Seconds without further calls after the server did not answer in time."""


class HungServer:
    """Whether one server hangs, for all threads of a process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._avoided_until = -math.inf
        self._hangs = False

    def is_avoided(self) -> bool:
        """Return whether a call is to fail at once; the caller of False makes the call."""
        with self._lock:
            now = time.monotonic()
            if now < self._avoided_until:
                return True
            if self._hangs:  # the caller tries it for all
                self._avoided_until = now + _AVOIDED_S
            return False

    @contextmanager
    def watching(self, *late: type[Exception]) -> Iterator[None]:
        """Note the result of a call: the *late* errors are those of a server that hangs."""
        try:
            yield
        except late:
            with self._lock:
                self._hangs, self._avoided_until = True, time.monotonic() + _AVOIDED_S
            raise
        except Exception:
            self._answered()
            raise
        self._answered()

    def _answered(self) -> None:
        if self._hangs:
            with self._lock:
                self._hangs, self._avoided_until = False, -math.inf
