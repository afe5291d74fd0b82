"""Waiting until a condition holds: in an event loop, and in a thread."""

import time
from collections.abc import Callable

import anyio


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Wait at most *seconds* for *condition*; return whether it holds."""
    with anyio.move_on_after(seconds):
        while not condition():  # noqa: ASYNC110  (the condition is not one of this loop)
            await anyio.sleep(0.01)
    return condition()


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Block until *condition* holds; fail after *seconds*."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it does not hold after {seconds} seconds"
        time.sleep(0.01)
