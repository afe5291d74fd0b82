"""The sockets of one event loop: which request goes over which of them.

A socket serves one request at a time. Its server remembers the last answer, so a conversation
goes on over the socket it went over before.
"""

from collections.abc import Callable, Iterable

import anyio
from attrs import define, field

from llmcore.client.transport import OpensSockets, Socket
from llmcore.protocols.openai_responses.continuation import (
    RemoteHistory,
    SocketRequest,
    terminal_event,
)
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport import Timeouts, WebSocket
from llmcore.schema.errors import NetworkError

Key = tuple[str, frozenset[tuple[str, str]]]
"""URL and headers of a handshake: whose socket it is."""


@define(kw_only=True, eq=False)
class PooledSocket:
    """An open socket, and what its server remembers."""

    socket: Socket
    key: Key = field(repr=False)
    opened_at: float
    memory: RemoteHistory | None = None


class SocketPool:
    """Opens sockets when they are needed, and keeps those that are free."""

    def __init__(self, opener: OpensSockets, spec: WebSocket, clock: Callable[[], float]) -> None:
        self._opener = opener
        self._spec = spec
        self._clock = clock
        self._slots = anyio.Semaphore(spec.max_connections)
        self._free: list[PooledSocket] = []
        """The one that was used last comes last."""
        self._busy: set[PooledSocket] = set()

    async def take(
        self, handshake: HttpRequest, turn: SocketRequest, timeouts: Timeouts, *, new: bool = False
    ) -> PooledSocket:
        """Return the best socket for *turn*, opened if need be; wait while all are busy.

        Give it back by `release` or `discard`. With *new*, one that was just opened.
        Raises what opening a socket raises.
        """
        await self._slots.acquire()
        try:
            taken = None if new else await self._usable(_key(handshake), turn)
            if taken is None:
                await self._make_room()
                taken = await self._open(handshake, timeouts)
        except BaseException:
            self._slots.release()
            raise
        self._busy.add(taken)
        return taken

    def release(self, taken: PooledSocket, memory: RemoteHistory | None) -> None:
        """Keep *taken* for the next request; its server remembers *memory*."""
        if taken in self._busy:
            taken.memory = memory
            self._busy.discard(taken)
            taken.socket.rest()
            self._free.append(taken)
            self._slots.release()

    async def discard(self, taken: PooledSocket) -> None:
        """Close *taken*, which may be in the middle of an answer. Idempotent."""
        if taken in self._busy:
            self._busy.discard(taken)
            try:
                await taken.socket.aclose()
            finally:
                self._slots.release()

    async def aclose(self) -> None:
        """Close all sockets, also those that are busy."""
        for taken in tuple(self._busy):
            await self.discard(taken)
        await self._close(tuple(self._free))

    async def _usable(self, key: Key, turn: SocketRequest) -> PooledSocket | None:
        """Take the best of the free sockets that still works."""
        youngest = self._clock() - self._spec.max_age_s
        await self._close([one for one in self._free if one.opened_at <= youngest])
        while (best := self._best(key, turn)) is not None:
            self._free.remove(best)
            try:
                left = await best.socket.settle()
            except BaseException:
                await best.socket.aclose()
                raise
            if left is not None and not any(map(terminal_event, left)):
                return best
            await best.socket.aclose()
        return None

    def _best(self, key: Key, turn: SocketRequest) -> PooledSocket | None:
        """Choose the socket of this conversation; another's only if no more may be opened."""
        own = [one for one in self._free if one.key == key]
        going_on = [one for one in own if turn.continues(one.memory)]
        if going_on:
            return max(going_on, key=_length)
        related = [one for one in own if one.memory is None or turn.shares_beginning(one.memory)]
        if related:
            return related[-1]
        return own[0] if own and self._is_full() else None

    def _is_full(self) -> bool:
        """Return whether one more would be too many. Whoever asks holds a slot already."""
        taken = self._spec.max_connections - self._slots.value
        return len(self._free) + taken > self._spec.max_connections

    async def _make_room(self) -> None:
        if self._is_full() and self._free:
            await self._close(self._free[:1])

    async def _open(self, handshake: HttpRequest, timeouts: Timeouts) -> PooledSocket:
        socket = await self._opener.open_socket(handshake, timeouts, self._spec)
        try:
            unasked = await socket.settle()
        except BaseException:
            await socket.aclose()
            raise
        if unasked is None or any(map(terminal_event, unasked)):
            await socket.aclose()
            raise NetworkError("the server answered over a WebSocket before it was asked")
        return PooledSocket(socket=socket, key=_key(handshake), opened_at=self._clock())

    async def _close(self, sockets: Iterable[PooledSocket]) -> None:
        for one in sockets:
            if one in self._free:
                self._free.remove(one)
                await one.socket.aclose()


def _key(handshake: HttpRequest) -> Key:
    return handshake.url, frozenset(handshake.headers.items())


def _length(pooled: PooledSocket) -> int:
    return len(pooled.memory.items) if pooled.memory is not None else 0
