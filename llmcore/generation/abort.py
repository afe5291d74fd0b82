"""Aborting a call from anywhere: another task, another thread, a signal handler."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import anyio

from llmcore.client.loop_task import loop_caller
from llmcore.schema.errors import AbortError


class AbortSignal:
    """Says whether to stop. Made by an `AbortController`."""

    # There is no lock: a signal handler may abort in the middle of any of this, in the same
    # thread. A listener is called by whoever takes it out, which is a single step.

    def __init__(self) -> None:
        self._reason: str | None = None
        self._listeners: dict[object, Callable[[], None]] = {}

    @property
    def aborted(self) -> bool:
        """Whether to stop."""
        return self._reason is not None

    @property
    def reason(self) -> str:
        """Why to stop; empty while there is no reason to."""
        return self._reason or ""

    def throw_if_aborted(self) -> None:
        """Raise AbortError if aborted; for long-running tools."""
        if self._reason is not None:
            raise AbortError(self._reason)

    def add_listener(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call *listener* on abort, from the thread that aborts; return how to take it back.

        If the signal was aborted before, it is called at once.
        """
        ticket = object()
        self._listeners[ticket] = listener
        if self.aborted:
            self._tell()
        return lambda: self._remove(ticket)

    def _remove(self, ticket: object) -> None:
        self._listeners.pop(ticket, None)

    def _abort(self, reason: str) -> None:
        if self._reason is None:
            self._reason = reason
        self._tell()

    def _tell(self) -> None:
        """Call all listeners, also after one that raises, in the order they came."""
        with ExitStack() as calls, suppress(KeyError):  # the last one to be taken goes first
            while True:
                calls.callback(self._listeners.popitem()[1])


class AbortController:
    """Holds the switch of an `AbortSignal`."""

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: str = "the call was aborted") -> None:
        """Stop every call that was given the signal. From any thread, more than once if need be."""
        self.signal._abort(reason)  # noqa: SLF001  (the two are one)


@contextmanager
def cancelling(scope: anyio.CancelScope, signal: AbortSignal | None) -> Iterator[None]:
    """Cancel *scope*, from whatever thread *signal* is aborted in, as long as the block runs."""
    if signal is None:
        yield
        return
    call_soon = loop_caller()

    def cancel() -> None:
        with suppress(RuntimeError):  # the loop ended in the same moment: nothing to cancel
            call_soon(scope.cancel)

    forget = signal.add_listener(cancel)
    try:
        yield
    finally:
        forget()
