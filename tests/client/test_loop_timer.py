"""Scopes whose deadlines share the timer of their event loop."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from llmcore.client.loop_timer import loop_timer


@pytest.mark.anyio
@pytest.mark.parametrize("seconds", [-1, 0, 0.01])
async def test_a_scope_is_cancelled_at_its_deadline(seconds: float) -> None:
    """Also one whose deadline has passed before it is entered."""
    timer = loop_timer()
    with timer.new_scope(timer.time() + seconds) as scope:
        await anyio.sleep_forever()

    assert scope.cancelled_caught


@pytest.mark.anyio
async def test_each_of_several_scopes_is_cancelled_at_its_deadline() -> None:
    """The earliest, which is made neither first nor last, and those after it."""
    timer, cancelled = loop_timer(), set()

    async def wait(seconds: float) -> None:
        with timer.new_scope(timer.time() + seconds):
            await anyio.sleep_forever()
        cancelled.add(seconds)

    async with anyio.create_task_group() as group:
        for seconds in (0.02, 0.01, 0.03):
            group.start_soon(wait, seconds)

    assert cancelled == {0.01, 0.02, 0.03}


@pytest.mark.anyio
async def test_a_scope_without_a_deadline_or_with_a_later_one_is_not_cancelled() -> None:
    """Another scope of the same loop expires meanwhile."""
    timer = loop_timer()
    with (
        timer.new_scope(float("inf")) as endless,
        timer.new_scope(timer.time() + 3600) as later,
        timer.new_scope(timer.time() + 0.01) as expired,
    ):
        await anyio.sleep_forever()

    assert (endless.cancel_called, later.cancel_called, expired.cancel_called) == (
        False,
        False,
        True,
    )


def counting(loop: Any) -> list[float]:
    """Return the deadlines of the timers that *loop* makes from now on."""
    times: list[float] = []
    call_at: Callable[..., Any] = loop.call_at

    def counted(when: float, *args: Any, **settings: Any) -> Any:
        times.append(when)
        return call_at(when, *args, **settings)

    loop.call_at = counted
    return times


def test_scopes_one_after_the_other_make_one_timer() -> None:
    """Those of calls are nearly always left in time, and each deadline is later than the last."""

    async def calls() -> list[float]:
        times = counting(asyncio.get_running_loop())
        timer = loop_timer()
        for number in range(10):
            with timer.new_scope(timer.time() + 3600 + number) as scope:
                await asyncio.sleep(0)
            timer.forget(scope)
        return times

    assert len(asyncio.run(calls())) == 1


def test_the_timer_of_a_scope_that_was_left_is_set_for_the_next_one() -> None:
    async def calls() -> bool:
        timer = loop_timer()
        with timer.new_scope(timer.time() + 0.01) as left:
            pass
        timer.forget(left)
        with timer.new_scope(timer.time() + 0.02) as scope:
            await asyncio.sleep(3600)
        return scope.cancelled_caught and not left.cancel_called

    assert asyncio.run(calls())


def test_loops_in_turn_have_their_own_timers() -> None:
    """A loop that was closed is not kept."""
    loops = [asyncio.new_event_loop() for _ in range(2)]

    async def expires() -> bool:
        timer = loop_timer()
        with timer.new_scope(timer.time() + 0.01) as scope:
            await asyncio.sleep(3600)
        return scope.cancelled_caught

    assert [loop.run_until_complete(expires()) for loop in (*loops, *loops)] == [True] * 4
    kept = [weakref.ref(loop) for loop in loops]
    while loops:
        loops.pop().close()
    gc.collect()
    assert [loop() for loop in kept] == [None, None]
