"""Waiting until a condition holds, in event loops and threads; time that passes at once."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import anyio
import sniffio
import trio

PATIENCE_S = 30.0
"""How long tests wait for what takes a moment, also on a machine that is busy with other things."""


async def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    """Wait at most *seconds* for *condition*; return whether it holds."""
    with anyio.move_on_after(seconds):
        while not condition():  # noqa: ASYNC110  (the condition is not one of this loop)
            await anyio.sleep(0.01)
    return condition()


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Block until *condition* holds; fail after *seconds*."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it does not hold after {seconds} seconds"
        time.sleep(0.01)


def pass_time(seconds: float) -> None:
    """Let *seconds* pass at once for the time limits of the event loop that runs.

    So a test may set a limit that no busy machine reaches, and reach it when it is to be.
    """
    if sniffio.current_async_library() == "trio":
        clock: Any = trio.lowlevel.current_clock()
        object.__setattr__(clock, "offset", clock.offset + seconds)  # it is frozen
    else:
        loop = asyncio.get_running_loop()
        now = loop.time
        loop.time = lambda: now() + seconds  # type: ignore[method-assign]
