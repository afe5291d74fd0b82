"""One pool of connections for each event loop, closed with its loop.

Connections belong to the event loop that opened them, but one client may be used from
several loops: in turn (`asyncio.run` again and again), or at once, from threads. So each
loop gets its own pool. An asynchronous generator, which every loop closes when it
shuts down, closes the pool in time; nothing is left to a finaliser.

Each step on the pools is one operation on a dictionary, which is atomic between threads. A forked
child thus cannot inherit a lock that a thread of its parent held.
"""

import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

from llmcore.client.loop_task import running_loop

_T = TypeVar("_T")


class PerLoop(Generic[_T]):
    """Makes one `_T` for each running event loop and keeps it."""

    def __init__(self, make: Callable[[], _T], close: Callable[[_T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._leases: dict[object, tuple[_T, AsyncGenerator[_T, None]]] = {}

    async def get(self) -> _T:
        """Return the value of this event loop."""
        loop = running_loop()
        lease = self._leases.get(loop)
        if lease is None:
            _forget_closed_loops()
            generator = _lease(self._make(), self._close, weakref.ref(self), loop)
            lease = await anext(generator), generator
            lease = self._leases.setdefault(loop, lease)
        return lease[0]

    async def aclose(self) -> None:
        """Close the value of this event loop; other loops close theirs."""
        lease = self._leases.pop(running_loop(), None)
        if lease is not None:
            await lease[1].aclose()

    def __len__(self) -> int:
        """Return the number of loops that have a value."""
        return len(self._leases)

    def forget(self, loop: object) -> None:
        """Drop the value of *loop*, so that a new one is made."""
        self._leases.pop(loop, None)


async def _lease(
    value: _T,
    close: Callable[[_T], Awaitable[None]],
    owner: "weakref.ref[PerLoop[_T]]",
    loop: object,
) -> AsyncGenerator[_T, None]:
    """Lend *value* until the loop or the owner ends.

    It does not hold the owner: so an owner that is dropped without being closed takes its lease
    with it at once, and the loop closes it, before anything warns about an open socket.
    """
    _alive[id(value)] = loop, value
    try:
        yield value
    finally:
        _alive.pop(id(value), None)
        if (lender := owner()) is not None:
            lender.forget(loop)
        await close(value)


_alive: dict[int, tuple[object, object]] = {}
"""The values in use, with their loops.

When a client is dropped in a reference cycle, the garbage collector finalises the generator and all
that only the generator holds, in any order. This keeps connections out of that: they are closed by
the generator, before they warn about it.
"""


def _forget_closed_loops() -> None:
    """Drop the values of loops that were closed without closing their generators."""
    for key, (loop, _kept) in tuple(_alive.items()):
        closed = getattr(loop, "is_closed", None)
        if closed is not None and closed():
            _alive.pop(key, None)
