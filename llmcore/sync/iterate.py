"""Iterate over an asynchronous stream from outside of its event loop."""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar

from llmcore.sync.background import Background, background

_T = TypeVar("_T")


class AsyncStream(AbstractAsyncContextManager[object], Protocol):
    """An asynchronous stream: a context manager that can also be closed directly."""

    async def aclose(self) -> None:
        """Close the connection."""
        ...


class Connection:
    """A stream, and the event loop that its connection belongs to."""

    def __init__(self, stream: AsyncStream) -> None:
        self.stream = stream
        """The asynchronous stream."""
        self._loop: Background | None = None
        self._entered = False

    def run(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Await *work* on that loop, and return its result."""
        if self._loop is None or not self._loop.alive:
            self._loop = background()
        return self._loop.run(work)

    def enter(self) -> None:
        """Enter the stream's context; inside it, reading can stop and continue later."""
        self.run(self.stream.__aenter__)
        self._entered = True

    def leave(self) -> None:
        """Leave the stream's context, which closes the connection."""
        entered, self._entered = self._entered, False
        if entered and self._loop is not None and self._loop.alive:
            self._loop.run(lambda: self.stream.__aexit__(None, None, None))

    def close(self) -> None:
        """Close the connection, if there is one. Idempotent."""
        if self._loop is not None and self._loop.alive:
            self._loop.run(self.stream.aclose)

    def abandon(self) -> None:
        """Schedule closing the connection, unless a context is open that will close it.

        Does not wait: the garbage collector may call this, in any thread, by dropping an iterator.
        """
        if not self._entered and self._loop is not None:
            self._loop.run_later(self.stream.aclose)


class PulledIterator(Generic[_T]):
    """Iterates over the items of a stream. Items that arrived unread stay for the next iterator.

    Leaving an iterator in the middle closes the connection, unless the stream's context was
    entered.
    """

    def __init__(self, connection: Connection, pull: Callable[[], Awaitable[Sequence[_T]]]) -> None:
        self._connection = connection
        self._pull = pull
        self._waiting: deque[_T] = deque()

    def __iter__(self) -> Iterator[_T]:
        ended = False
        try:
            while self._waiting or self._fill():
                yield self._waiting.popleft()
            ended = True
        finally:
            if not ended:
                self._connection.abandon()

    def _fill(self) -> bool:
        self._waiting.extend(self._connection.run(self._pull))
        return bool(self._waiting)

    def drop(self) -> None:
        """Discard items that have arrived and were not read."""
        self._waiting.clear()


def single_items(items: AsyncIterator[_T]) -> Callable[[], Awaitable[Sequence[_T]]]:
    """Return a function that awaits the next of *items*; it returns () at the end."""

    async def pull() -> Sequence[_T]:
        try:
            return (await anext(items),)
        except StopAsyncIteration:
            return ()

    return pull
