"""The places of the background responses that a process makes at once.

Waiting responses get a place in the order of their arrival, those of the group that has the fewest
places first. A group is the key and the model of a response: those that wait for a slow upstream do
not keep others waiting. So that there is a place for another group, none gets more than three times
as many as are free, nor the last one: of 16 places one group has 12, and a second one 3 of the rest
until the first one has fewer.
"""

from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Final

import anyio
from attrs import define, field

_TIMES_FREE: Final = 3


def may_have_another(taken: int, free: int, most: int) -> bool:
    """Return whether a group with *taken* of *most* places may have one of those that are *free*.

    Fewer than four places are too few to keep one for others.
    """
    is_last = free == 1 and most > _TIMES_FREE
    return taken < _TIMES_FREE * free and not (taken and is_last)


@define(eq=False)
class _Waiting:
    group: Hashable
    has_place: bool = False
    changed: anyio.Event = field(init=False, factory=anyio.Event)


class FairPlaces:
    """A number of places, and the responses that wait for one, by groups."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken: Counter[Hashable] = Counter()
        self._waiting: list[_Waiting] = []

    @asynccontextmanager
    async def place(self, group: Hashable) -> AsyncIterator[None]:
        """Wait for a place for a response of *group*, and hold it for the block."""
        waiting = _Waiting(group)
        self._waiting.append(waiting)
        self._give()
        try:
            if not waiting.has_place:
                await waiting.changed.wait()
            yield
        finally:
            if waiting.has_place:
                self._taken[group] -= 1
                if not self._taken[group]:
                    del self._taken[group]
            else:
                self._waiting.remove(waiting)
            self._give()

    def _give(self) -> None:
        """Give all free places to responses that may have one."""
        taken, most = self._taken, self.most
        while free := most - taken.total():
            may_have = [x for x in self._waiting if may_have_another(taken[x.group], free, most)]
            if not may_have:
                return
            following = min(may_have, key=lambda each: taken[each.group])
            self._waiting.remove(following)
            taken[following.group] += 1
            following.has_place = True
            following.changed.set()
