"""Aborting a call from anywhere: another task, another thread, a signal handler."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
import sniffio

from llmcore.schema.errors import AbortError


class AbortSignal:
    """Says whether to stop. Made by an `AbortController`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._listeners: list[Callable[[], None]] = []

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
        with self._lock:
            if self._reason is None:
                self._listeners.append(listener)
                return lambda: self._remove(listener)
        listener()
        return lambda: None

    def _remove(self, listener: Callable[[], None]) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def _abort(self, reason: str) -> None:
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()


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
    call_soon = _loop_caller()

    def cancel() -> None:
        with suppress(RuntimeError):  # the loop ended in the same moment: nothing to cancel
            call_soon(scope.cancel)

    forget = signal.add_listener(cancel)
    try:
        yield
    finally:
        forget()


def _loop_caller() -> Callable[[Callable[[], object]], object]:
    """Return how another thread has the running event loop call a function."""
    if sniffio.current_async_library() == "trio":
        import trio

        return trio.lowlevel.current_trio_token().run_sync_soon
    import asyncio

    return asyncio.get_running_loop().call_soon_threadsafe
