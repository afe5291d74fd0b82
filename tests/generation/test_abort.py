"""Signals, from any thread."""

import signal
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from llmcore.generation.abort import AbortController, cancelling
from llmcore.schema.errors import AbortError
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.waiting import PATIENCE_S


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


def test_listeners_are_reported_once() -> None:
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


def test_a_listener_that_raises_does_not_keep_it_from_the_others() -> None:
    """Everything else is stopped first."""
    controller, told = AbortController(), list[str]()

    def broken() -> None:
        raise RuntimeError("of the listener")

    controller.signal.add_listener(broken)
    controller.signal.add_listener(lambda: told.append("other"))
    with pytest.raises(RuntimeError, match="of the listener"):
        controller.abort()

    assert (controller.signal.aborted, told) == (True, ["other"])


class Interrupted(dict[object, Callable[[], None]]):
    """Listeners, between any two steps of which a signal handler strikes."""

    def __init__(self, handler: Callable[[], None]) -> None:
        super().__init__()
        self.handler = handler

    def __setitem__(self, key: object, listener: Callable[[], None]) -> None:
        self.handler()
        super().__setitem__(key, listener)
        self.handler()

    def pop(self, *args: Any) -> Any:
        self.handler()
        return super().pop(*args)

    def popitem(self) -> tuple[object, Callable[[], None]]:
        taken = super().popitem()
        self.handler()
        return taken


def test_a_signal_handler_may_abort_in_the_middle_of_anything() -> None:
    """In the thread that is just adding or taking back a listener: it neither waits nor is lost."""
    controller, told = AbortController(), list[str]()
    controller.signal._listeners = Interrupted(controller.abort)
    controller.signal.add_listener(lambda: told.append("added"))
    forget = controller.signal.add_listener(lambda: told.append("late"))
    forget()
    assert told == ["added", "late"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
def test_a_real_signal_handler_does_not_deadlock() -> None:
    """Struck again and again while the main thread adds and takes back listeners."""
    assert run_fresh(STRUCK).stdout.strip() == "done"


STRUCK = """
import signal, time
from llmcore.generation.abort import AbortController

current = AbortController()
signal.signal(signal.SIGALRM, lambda *_: current.abort())
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.monotonic() + 1
while time.monotonic() < end:
    current = AbortController()
    for _ in range(50):
        current.signal.add_listener(lambda: None)()
signal.setitimer(signal.ITIMER_REAL, 0)
print("done")
"""


@pytest.mark.anyio
async def test_a_thread_cancels_a_scope() -> None:
    """Waiting ends at once, though the event loop had nothing to do."""
    controller = AbortController()
    timer = threading.Timer(0.05, controller.abort)
    with (
        anyio.fail_after(PATIENCE_S),
        anyio.CancelScope() as scope,
        cancelling(scope, controller.signal),
    ):
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
