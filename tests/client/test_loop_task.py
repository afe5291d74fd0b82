"""Cancel scopes of the running event loop, on asyncio and trio."""

import math

import anyio
import anyio.lowlevel
import pytest

from llmcore.client.loop_task import new_scope, side_tasks


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
async def test_side_tasks_end_with_their_block() -> None:
    ended: list[str] = []

    async def wait(name: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(name)

    async with side_tasks() as tasks:
        tasks.start(lambda: wait("one"))
        tasks.start(anyio.lowlevel.checkpoint)
        await anyio.wait_all_tasks_blocked()
        assert ended == []
    assert ended == ["one"]

    with anyio.CancelScope() as outside:
        async with side_tasks() as tasks:
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
        async with side_tasks() as tasks:
            tasks.start(fail)
            await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as caught:
        await block()
    assert caught.group_contains(OSError, match="gone")
