"""The sockets of one event loop, and the choice of a socket for a request.

A socket serves one request at a time. Its server stores the last response, so a conversation
continues over the socket that it used before.

    state   | take            | release | discard, aclose | too old or broken
    free    | busy            |         | closed          | closed
    busy    | (others wait)   | free    | closed          | closed
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
from llmcore.routes.transport_spec import Timeouts, WebSocket
from llmcore.schema.errors import NetworkError

Key = tuple[str, frozenset[tuple[str, str]]]
"""URL and headers of a handshake, which include its credentials."""


@define(kw_only=True, eq=False)
class PooledSocket:
    """An open socket and the history that its server stores."""

    socket: Socket
    key: Key = field(repr=False)
    opened_at: float
    history: RemoteHistory | None = None


class SocketPool:
    """Opens sockets on demand, and keeps free ones."""

    def __init__(self, opener: OpensSockets, spec: WebSocket, clock: Callable[[], float]) -> None:
        self._opener = opener
        self._spec = spec
        self._clock = clock
        self._slots = anyio.Semaphore(spec.max_connections)
        self._free: list[PooledSocket] = []
        """Free sockets; the last one was used last."""
        self._busy: set[PooledSocket] = set()

    async def take(
        self,
        handshake: HttpRequest,
        request: SocketRequest,
        timeouts: Timeouts,
        *,
        new: bool = False,
    ) -> PooledSocket:
        """Return the best socket for *request*, opened if necessary; waits while all are busy.

        Return it with `release` or `discard`. With *new*, it is a newly opened one.
        Raises what opening a socket raises.
        """
        await self._slots.acquire()
        try:
            taken = None if new else await self._usable(_key(handshake), request)
            if taken is None:
                await self._make_room()
                taken = await self._open(handshake, timeouts)
        except BaseException:
            self._slots.release()
            raise
        self._busy.add(taken)
        return taken

    def release(self, taken: PooledSocket, history: RemoteHistory | None) -> None:
        """Keep *taken* for the next request; its server stores *history*."""
        if taken in self._busy:
            taken.history = history
            self._busy.discard(taken)
            taken.socket.rest()
            self._free.append(taken)
            self._slots.release()

    async def discard(self, taken: PooledSocket) -> None:
        """Close *taken*, also in the middle of a response. Idempotent."""
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

    async def _usable(self, key: Key, request: SocketRequest) -> PooledSocket | None:
        """Remove and return the best free socket that still works; None if there is none."""
        youngest = self._clock() - self._spec.max_age_s
        await self._close([item for item in self._free if item.opened_at <= youngest])
        while (best := self._best(key, request)) is not None:
            self._free.remove(best)
            try:
                unread = await best.socket.settle()
            except BaseException:
                await best.socket.aclose()
                raise
            if unread is not None and not any(map(terminal_event, unread)):
                return best
            await best.socket.aclose()
        return None

    def _best(self, key: Key, request: SocketRequest) -> PooledSocket | None:
        """Return this conversation's socket; another one only if no more can be opened."""
        matching = [item for item in self._free if item.key == key]
        continued = [item for item in matching if request.continues(item.history)]
        if continued:
            return max(continued, key=lambda item: len(item.history.items) if item.history else 0)
        related = [
            item
            for item in matching
            if item.history is None or request.shares_beginning(item.history)
        ]
        if related:
            return related[-1]
        return matching[0] if matching and self._is_full() else None

    def _is_full(self) -> bool:
        """Return whether another socket would exceed the limit. The caller holds a slot already."""
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
            did = "closed a WebSocket or began a message" if unasked is None else "sent a response"
            raise NetworkError(f"the server {did} before any request")
        return PooledSocket(socket=socket, key=_key(handshake), opened_at=self._clock())

    async def _close(self, sockets: Iterable[PooledSocket]) -> None:
        for item in sockets:
            if item in self._free:
                self._free.remove(item)
                await item.socket.aclose()


def _key(handshake: HttpRequest) -> Key:
    return handshake.url, frozenset(handshake.headers.items())
