"""The clock of middleware, which tests replace."""

import time
from collections.abc import Awaitable, Callable

import anyio

from llmcore.schema.frozen import frozen


@frozen(kw_only=True)
class Clock:
    """Time and waiting, in seconds."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds that never decrease, from an arbitrary zero."""
    wall: Callable[[], float] = time.time
    """Since 1970, in UTC: for times that other processes or servers read."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    """Waits for a number of seconds."""


SYSTEM_CLOCK = Clock()
