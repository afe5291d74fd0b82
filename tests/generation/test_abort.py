"""Signals, from any thread."""

import threading

import anyio
import anyio.lowlevel
import pytest

from llmcore.generation.abort import AbortController, cancelling
from llmcore.schema.errors import AbortError


def test_a_signal_says_why() -> None:
    """The first reason stays."""
    controller = AbortController()
    controller.signal.throw_if_aborted()
    assert (controller.signal.aborted, controller.signal.reason) == (False, "")

    controller.abort("enough")
    controller.abort("again")
    assert (controller.signal.aborted, controller.signal.reason) == (True, "enough")
    with pytest.raises(AbortError, match="enough"):
        controller.signal.throw_if_aborted()


def test_listeners_are_told_once() -> None:
    """Those that were taken back are not, those that come late are told at once."""
    controller, told = AbortController(), list[str]()
    controller.signal.add_listener(lambda: told.append("first"))
    forget = controller.signal.add_listener(lambda: told.append("second"))
    forget()
    forget()

    controller.abort()
    controller.abort()
    controller.signal.add_listener(lambda: told.append("late"))
    assert told == ["first", "late"]


@pytest.mark.anyio
async def test_a_thread_cancels_a_scope() -> None:
    """Waiting ends at once, though the event loop had nothing to do."""
    controller = AbortController()
    timer = threading.Timer(0.05, controller.abort)
    with anyio.fail_after(5), anyio.CancelScope() as scope, cancelling(scope, controller.signal):
        timer.start()
        await anyio.sleep(60)
    timer.join()

    assert scope.cancelled_caught


@pytest.mark.anyio
async def test_afterwards_nothing_is_cancelled() -> None:
    """A listener does not outlive its block; no signal, no listener."""
    controller = AbortController()
    with anyio.CancelScope() as scope:
        with cancelling(scope, controller.signal), cancelling(scope, None):
            await anyio.lowlevel.checkpoint()
        controller.abort()
        await anyio.sleep(0.01)

    assert not scope.cancel_called
