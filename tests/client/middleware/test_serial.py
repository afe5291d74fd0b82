"""State that is changed from several places at once."""

import gc
import threading

import anyio
import anyio.lowlevel
import pytest

from llmcore.client.middleware.serial import SerialExecutor, Waiter
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.anyio


def test_a_change_within_a_change_runs_after_it() -> None:
    """A finaliser that strikes in the middle neither waits nor sees a half-made change."""
    serial, seen = SerialExecutor(), list[str]()

    def outer() -> None:
        seen.append("outer begins")
        serial.run(lambda: seen.append("inner"))
        seen.append("outer ends")

    serial.run(outer)

    assert seen == ["outer begins", "outer ends", "inner"]


def test_threads_do_not_lose_changes() -> None:
    """Read, add and write back is safe."""
    serial, counts = SerialExecutor(), {"n": 0}

    def add() -> None:
        counts["n"] = counts["n"] + 1

    def many() -> None:
        for _ in range(2000):
            serial.run(add)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    serial.run(lambda: None)
    assert counts["n"] == 8000


async def test_a_response_comes_back_also_from_another_thread() -> None:
    """A call waits while another thread runs one."""
    serial, inside, leave = SerialExecutor(), threading.Event(), threading.Event()

    def slow() -> None:
        inside.set()
        leave.wait(PATIENCE_S)

    thread = threading.Thread(target=lambda: serial.run(slow))
    thread.start()
    inside.wait(PATIENCE_S)
    answers: list[int] = []
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            answers.append(await serial.submit(lambda: 42))

        tasks.start_soon(ask)
        await anyio.lowlevel.checkpoint()
        leave.set()
    thread.join()

    assert answers == [42]


async def test_other_tasks_run_while_a_call_waits_for_another_thread() -> None:
    """One of them is what lets the other thread finish; without it, the wait ends by its limit."""
    serial, inside, leave = SerialExecutor(), threading.Event(), threading.Event()
    in_time: list[bool] = []

    def slow() -> None:
        inside.set()
        in_time.append(leave.wait(PATIENCE_S))

    thread = threading.Thread(target=serial.run, args=(slow,))
    thread.start()
    inside.wait(PATIENCE_S)
    async with anyio.create_task_group() as tasks:

        async def let_it_finish() -> None:
            leave.set()

        tasks.start_soon(serial.submit, lambda: 42)
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(let_it_finish)
    thread.join()

    assert in_time == [True]


async def test_another_thread_can_wake_a_task() -> None:
    """Waking a task whose loop is closed does nothing."""
    waiter = Waiter()
    thread = threading.Thread(target=waiter.wake)
    thread.start()
    with anyio.fail_after(PATIENCE_S):
        await waiter.wait()
    thread.join()


def test_waking_after_the_loop_has_ended_does_nothing() -> None:
    """A finaliser may come late."""
    kept: list[Waiter] = []

    async def make() -> None:
        kept.append(Waiter())

    anyio.run(make)
    gc.collect()
    kept[0].wake()
