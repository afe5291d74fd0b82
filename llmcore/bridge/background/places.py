"""The places of the background responses that a process makes at once.

Waiting responses get a place in the order of their arrival, those of the group that has the fewest
places first. A group is the key and the model of a response: those that wait for a slow upstream do
not keep others waiting. So that there is a place for another group at any time, a quarter of them
is not given to one group.
"""

from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Final

import anyio
from attrs import define, field

_SHARE_OF_OTHERS: Final = 4
"""One place in so many is kept for other groups than the largest."""


@define(eq=False)
class _Waiting:
    group: Hashable
    has_place: bool = False
    changed: anyio.Event = field(init=False, factory=anyio.Event)


class FairPlaces:
    """A number of places, and the responses that wait for one, by groups."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.most_of_one: Final = most - most // _SHARE_OF_OTHERS
        """The most places that one group may have."""
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
        while self._taken.total() < self.most:
            most = self.most_of_one
            may_have = [each for each in self._waiting if self._taken[each.group] < most]
            if not may_have:
                return
            following = min(may_have, key=lambda each: self._taken[each.group])
            self._waiting.remove(following)
            self._taken[following.group] += 1
            following.has_place = True
            following.changed.set()
