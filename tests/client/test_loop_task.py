"""Cancel scopes of the running event loop, on asyncio and trio."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
import trio

from llmcore.client.loop_task import (
    ContextTask,
    SideTasks,
    TaskAfter,
    current_time,
    new_scope,
    running_loop,
    uncancelled,
)


@pytest.mark.anyio
async def test_a_new_scope_is_that_of_the_running_loop() -> None:
    """It is what AnyIO makes, also after a scope of the other event loop was made."""
    scope = new_scope()

    assert type(scope) is type(anyio.CancelScope())
    assert scope.deadline == math.inf


@pytest.mark.anyio
async def test_a_new_scope_ends_at_its_deadline() -> None:
    """A task that waits in the scope is cancelled then."""
    with new_scope(anyio.current_time() - 1) as scope:
        await anyio.sleep_forever()

    assert scope.cancelled_caught


@pytest.mark.anyio
async def test_the_time_is_that_of_the_running_loop() -> None:
    """Limits are compared with the deadlines of AnyIO's scopes."""
    before = anyio.current_time()

    assert before <= current_time() <= anyio.current_time()


def test_a_task_of_trio_as_a_guest_of_asyncio_has_the_scope_of_trio() -> None:
    """The loop of asyncio runs there too, in the same thread."""

    async def in_trio() -> bool:
        token: object = trio.lowlevel.current_trio_token()
        return type(new_scope()) is type(anyio.CancelScope()) and running_loop() is token

    async def host() -> bool:
        loop = asyncio.get_running_loop()
        result: asyncio.Future[bool] = loop.create_future()
        trio.lowlevel.start_guest_run(
            in_trio,
            run_sync_soon_threadsafe=loop.call_soon_threadsafe,
            done_callback=lambda outcome: result.set_result(outcome.unwrap()),
        )
        return await result

    assert asyncio.run(host())


@pytest.mark.anyio
async def test_side_tasks_end_with_their_block() -> None:
    ended: list[str] = []

    async def wait(name: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(name)

    async with SideTasks() as tasks:
        tasks.start(lambda: wait("one"))
        tasks.start(anyio.lowlevel.checkpoint)
        await anyio.wait_all_tasks_blocked()
        assert ended == []
    assert ended == ["one"]

    with anyio.CancelScope() as outside:
        async with SideTasks() as tasks:
            tasks.start(lambda: wait("two"))
            await anyio.wait_all_tasks_blocked()
            outside.cancel()
            await anyio.sleep_forever()
    assert ended == ["one", "two"]


@pytest.mark.anyio
async def test_a_side_task_that_raises_cancels_its_block() -> None:
    async def fail() -> None:
        raise OSError("gone")

    async def block() -> None:
        async with SideTasks() as tasks:
            tasks.start(fail)
            await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as caught:
        await block()
    assert caught.group_contains(OSError, match="gone")


@pytest.mark.anyio
async def test_uncancelled_work_ends_before_the_cancellation_is_raised() -> None:
    done: list[int] = []

    async def work() -> None:
        await anyio.sleep(0.05)
        done.append(1)

    with anyio.CancelScope() as scope:
        scope.cancel()
        await uncancelled(work)
        await anyio.lowlevel.checkpoint()

    assert scope.cancelled_caught
    assert done == [1]


@pytest.mark.parametrize("fails", [False, True])
def test_uncancelled_work_ends_where_its_task_is_cancelled_by_asyncio(*, fails: bool) -> None:
    """Also more than once, and though it raises: the cancellation is what is raised."""
    done: list[int] = []

    async def work() -> None:
        await asyncio.sleep(0.05)
        done.append(1)
        if fails:
            raise OSError("gone")

    async def main() -> None:
        task = asyncio.create_task(uncancelled(work))
        for _ in range(2):
            await asyncio.sleep(0.01)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert done == [1]


@pytest.mark.anyio
async def test_uncancelled_work_that_raises_is_raised() -> None:
    async def fail() -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await uncancelled(fail)


@asynccontextmanager
async def group_around(fails: str, seen: list[str]) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        if fails == "entering":
            raise OSError(fails)
        seen.append("entered")
        try:
            yield
        finally:
            group.cancel_scope.cancel()
            seen.append("left")
    if fails == "leaving":
        raise OSError(fails)


@pytest.mark.anyio
async def test_a_held_context_is_entered_and_left_in_any_task() -> None:
    """As those of a dropped async generator are."""
    seen: list[str] = []
    held = ContextTask(group_around("", seen))
    async with anyio.create_task_group() as group:
        group.start_soon(held.enter)
    async with anyio.create_task_group() as group:
        group.start_soon(held.leave)

    assert seen == ["entered", "left"]


@pytest.mark.anyio
async def test_a_held_context_raises_its_errors_where_it_is_entered_and_left() -> None:
    with pytest.raises((OSError, ExceptionGroup)) as caught:
        await ContextTask(group_around("entering", [])).enter()
    assert "entering" in str(caught.getrepr())
    held = ContextTask(group_around("leaving", []))
    await held.enter()
    with pytest.raises(OSError, match="leaving"):
        await held.leave()


@pytest.mark.anyio
async def test_a_held_context_is_left_where_entering_is_cancelled() -> None:
    ended: list[str] = []

    @asynccontextmanager
    async def slow() -> AsyncIterator[None]:
        try:
            await anyio.sleep_forever()
            yield
        finally:
            ended.append("ended")

    with anyio.move_on_after(0.05):
        await ContextTask(slow()).enter()

    assert ended == ["ended"]


@pytest.mark.anyio
async def test_a_task_after_a_while_runs_beside_a_block_that_takes_longer() -> None:
    """The end of the block stops it, and it never begins beside a shorter one."""
    begun, ended = anyio.Event(), anyio.Event()

    async def work() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    with anyio.CancelScope() as scope:
        async with TaskAfter(60.0, work, scope):
            await anyio.wait_all_tasks_blocked()
            assert not begun.is_set()

        async with TaskAfter(0.0, work, scope):
            await begun.wait()
            assert not ended.is_set()
        assert ended.is_set()


@pytest.mark.anyio
@pytest.mark.parametrize("ends", [False, True])
async def test_a_task_after_a_while_that_raises_cancels_its_block_which_raises_that(
    ends: bool,
) -> None:
    """It raises that also where it is at its end, and nothing after the scope is cancelled."""
    failed = anyio.Event()

    async def fail() -> None:
        failed.set()
        raise OSError("gone")

    async def block() -> None:
        with anyio.CancelScope() as scope:
            async with TaskAfter(0.0, fail, scope):
                with anyio.CancelScope(shield=True):
                    await failed.wait()
                    await anyio.wait_all_tasks_blocked()
                if not ends:
                    await anyio.sleep_forever()

    with pytest.raises(OSError, match="gone"):
        await block()
    await anyio.lowlevel.checkpoint()


@pytest.mark.anyio
async def test_a_block_beside_a_task_after_a_while_ends_as_it_would_without_it() -> None:
    """It raises its own error, and is cancelled by its scope and from outside."""

    async def fail() -> None:
        with anyio.CancelScope() as scope:
            async with TaskAfter(0.0, anyio.sleep_forever, scope):
                await anyio.wait_all_tasks_blocked()
                raise ValueError("own")

    with pytest.raises(ValueError, match="own"):
        await fail()

    for inner, outer in ((True, False), (False, True)):
        with anyio.CancelScope() as outside, anyio.CancelScope() as scope:
            async with TaskAfter(0.0, anyio.sleep_forever, scope):
                (scope if inner else outside).cancel()
                await anyio.sleep_forever()
        assert (scope.cancelled_caught, outside.cancelled_caught) == (inner, outer)
