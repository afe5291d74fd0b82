"""Cancel scopes of the running event loop, on asyncio and trio."""

import math

import anyio
import pytest

from llmcore.client.loop_task import new_scope


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
