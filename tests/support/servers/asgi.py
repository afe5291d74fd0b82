"""ASGI applications in threads of this process, which end as soon as they are asked to."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
import uvicorn.server

from tests.support.waiting import PATIENCE_S

_TICK_S = 0.01


class _ShortTicks:
    """asyncio, but for shorter sleeps.

    uvicorn looks every tenth of a second whether it is to stop, and waits as long for its
    connections; tests stop a thousand servers.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, delay: float) -> None:
        await asyncio.sleep(min(delay, _TICK_S))


uvicorn.server.__dict__["asyncio"] = _ShortTicks()


@contextmanager
def serving(config: uvicorn.Config, sockets: Sequence[socket.socket] = ()) -> Iterator[None]:
    """Serve what *config* names, on *sockets* if there are any, from a thread for the block."""
    server = uvicorn.Server(config)
    given = list(sockets) or None
    thread = threading.Thread(target=server.run, kwargs={"sockets": given}, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.002)
        assert server.started
        yield
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        for one in sockets:
            one.close()
    assert not thread.is_alive()
