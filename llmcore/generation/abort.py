"""Aborts calls from other tasks, threads or signal handlers."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import anyio

from llmcore.client.loop_task import loop_caller
from llmcore.schema.errors import AbortError
from llmcore.schema.hints import with_call_hints


class AbortSignal:
    """States whether a call is to be aborted. Made by an `AbortController`."""

    # Without a lock, since a signal handler can interrupt these methods in the same thread.
    # Removing a listener is atomic, and only the thread that removed it calls it.

    def __init__(self) -> None:
        self._reason: str | None = None
        self._listeners: dict[object, Callable[[], None]] = {}

    def __repr__(self) -> str:
        reason = f", reason={self._reason!r}" if self.aborted else ""
        return f"AbortSignal(aborted={self.aborted}{reason})"

    @property
    def aborted(self) -> bool:
        """Whether the signal was aborted."""
        return self._reason is not None

    @property
    def reason(self) -> str:
        """The reason given to `abort`; empty before."""
        return self._reason or ""

    def throw_if_aborted(self) -> None:
        """Raise AbortError if the signal was aborted; long-running tools can call it."""
        if self._reason is not None:
            raise AbortError(self._reason)

    def add_listener(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call *listener* on abort, in the thread that aborts. Returns a function to remove it.

        If the signal is already aborted, it is called at once.
        """
        ticket = object()
        self._listeners[ticket] = listener
        if self.aborted:
            self._notify()
        return lambda: self._remove(ticket)

    def _remove(self, ticket: object) -> None:
        self._listeners.pop(ticket, None)

    def _abort(self, reason: str) -> None:
        if self._reason is None:
            self._reason = reason
        self._notify()

    def _notify(self) -> None:
        """Call all listeners in the order of their addition, also if one of them raises."""
        with (
            ExitStack() as calls,
            suppress(KeyError),
        ):  # ExitStack calls in reverse order of `callback`
            while True:
                calls.callback(self._listeners.popitem()[1])


@with_call_hints()
class AbortController:
    """Makes an `AbortSignal` and aborts it."""

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def __repr__(self) -> str:
        return f"AbortController(signal={self.signal!r})"

    def abort(self, reason: str = "the call was aborted") -> None:
        """Abort all calls that use the signal. Can be called in any thread, and repeatedly."""
        self.signal._abort(reason)  # noqa: SLF001  (one unit in two classes)


@contextmanager
def cancelling(scope: anyio.CancelScope, signal: AbortSignal | None) -> Iterator[None]:
    """Cancel *scope* if *signal* is aborted, in any thread, while the block runs."""
    if signal is None:
        yield
        return
    call_soon = loop_caller()

    def cancel() -> None:
        with suppress(RuntimeError):  # the loop has just ended
            call_soon(scope.cancel)

    forget = signal.add_listener(cancel)
    try:
        yield
    finally:
        forget()
