"""Reading an asynchronous stream from outside of its event loop."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from llmcore.sync.background import Background, background

_T = TypeVar("_T")


class Opened(Protocol):
    """What streams have in common."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *exc: object) -> None: ...

    async def aclose(self) -> None:
        """Close the connection."""
        ...


class Connection:
    """A stream, and the event loop that its connection belongs to."""

    def __init__(self, stream: Opened) -> None:
        self._stream = stream
        self._loop: Background | None = None
        self._held: _Held | None = None

    def run(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Await *work* on that loop, and return its result."""
        if self._loop is None or not self._loop.alive:
            self._loop = background()
        return self._loop.run(work)

    def enter(self) -> None:
        """Enter the stream's context: whoever stops reading in it may go on later."""
        held = _Held(self._stream)
        self.run(held.enter)
        self._held = held

    def leave(self) -> None:
        """Leave the stream's context, which closes the connection."""
        held, self._held = self._held, None
        if held is not None and self._loop is not None and self._loop.alive:
            self._loop.run(held.leave)

    def close(self) -> None:
        """Close the connection, if one may have been opened. Idempotent."""
        if self._loop is not None and self._loop.alive:
            self._loop.run(self._stream.aclose)

    def abandon(self) -> None:
        """Have the connection closed, unless its context is still to be left.

        Without waiting: it may be the garbage collector that drops an iterator, in any thread.
        """
        if self._held is None and self._loop is not None:
            self._loop.run_later(self._stream.aclose)


class _Held:
    """A context that one task enters and leaves, as task groups want it."""

    def __init__(self, stream: Opened) -> None:
        self._stream = stream
        self._leave = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def enter(self) -> None:
        inside = asyncio.Event()
        self._task = asyncio.create_task(self._hold(inside))
        entered = asyncio.create_task(inside.wait())
        try:
            await asyncio.wait({entered, self._task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # Ctrl-C: nobody would leave what is entered now
            self._task.cancel()
            raise
        finally:
            entered.cancel()
        if not inside.is_set():
            await self._task

    async def _hold(self, inside: asyncio.Event) -> None:
        async with self._stream:
            inside.set()
            await self._leave.wait()

    async def leave(self) -> None:
        self._leave.set()
        if self._task is not None:
            await self._task


class Pulled(Generic[_T]):
    """The items of a stream. What has come and was not read stays for whoever goes on.

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
        """Forget what has come and was not read."""
        self._waiting.clear()


def one_by_one(items: AsyncIterator[_T]) -> Callable[[], Awaitable[Sequence[_T]]]:
    """Return what pulls the next of *items*."""

    async def pull() -> Sequence[_T]:
        try:
            return (await anext(items),)
        except StopAsyncIteration:
            return ()

    return pull
