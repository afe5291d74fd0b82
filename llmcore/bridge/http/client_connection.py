"""The connection of a request's client: whether it is still there.

ASGI reports a disconnect to a task that waits for it, which every request would have to start. The
gateway's own server calls back instead; with other servers `while_connected` waits as ASGI has it.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import anyio

from llmcore.bridge.http.asgi import Receive, Scope
from llmcore.bridge.http.logs import log
from llmcore.client.loop_task import new_scope

SCOPE_KEY: Final = "openbridge.client"


class ClientConnection:
    """Whether a connection is lost, and what is to be called when it is."""

    def __init__(self) -> None:
        self._is_lost = False
        self._watching: set[Callable[[], object]] = set()

    def lost(self) -> None:
        """Call back everything that watches: the connection is closed."""
        self._is_lost = True
        for callback in tuple(self._watching):
            callback()

    def watch(self, callback: Callable[[], object]) -> None:
        """Call *callback* if the connection is lost already, or when it is."""
        if self._is_lost:
            callback()
        self._watching.add(callback)

    def unwatch(self, callback: Callable[[], object]) -> None:
        """Do not call *callback* any more."""
        self._watching.discard(callback)


Work: TypeAlias = Callable[[anyio.CancelScope], Awaitable[None]]
"""The work for a client, in a scope that ends it."""


async def while_connected(
    scope: Scope, receive: Receive, work: Work, ended: Callable[[], bool]
) -> None:
    """Run *work*; stop as soon as the client disconnects, unless it has *ended* by then."""
    client: ClientConnection | None = scope.get(SCOPE_KEY)
    try:
        if client is None:
            await _while_no_disconnect(receive, work, ended)
            return
        with new_scope() as connected:
            leave = _leaving(connected, ended)
            client.watch(leave)
            try:
                await work(connected)
            finally:
                client.unwatch(leave)
    except* OSError:  # what servers raise on sending to a client that disconnected
        log(logging.INFO, "client_gone")


def _leaving(connected: anyio.CancelScope, ended: Callable[[], bool]) -> Callable[[], None]:
    def leave() -> None:
        if not ended():  # connections are also closed after a whole response
            log(logging.INFO, "client_gone")
            connected.cancel()

    return leave


async def _while_no_disconnect(receive: Receive, work: Work, ended: Callable[[], bool]) -> None:
    async with anyio.create_task_group() as tasks:
        leave = _leaving(tasks.cancel_scope, ended)

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            leave()

        tasks.start_soon(watch)
        await work(tasks.cancel_scope)
        tasks.cancel_scope.cancel()
