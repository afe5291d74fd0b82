"""The sockets that are open to a server on loopback, counted by /proc."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import anyio
import pytest

_TCP = Path("/proc/net/tcp")
needs_proc = pytest.mark.skipif(not _TCP.exists(), reason="sockets are counted by /proc")


def open_sockets(port: int) -> int:
    """Return how many sockets on this machine are connected to *port* of loopback."""
    rows = [line.split() for line in _TCP.read_text().splitlines()[1:]]
    return sum(row[2] == f"0100007F:{port:04X}" and row[9] != "0" for row in rows)


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Wait at most *seconds* for *condition*."""
    with anyio.move_on_after(seconds):
        while not condition():  # noqa: ASYNC110  (the condition is not one of this loop)
            await anyio.sleep(0.01)
    return condition()


class HasUrl(Protocol):
    """A server of the tests."""

    @property
    def url(self) -> str: ...


def port_of(server: HasUrl) -> int:
    """Return the port that *server* listens on."""
    return int(server.url.rpartition(":")[2])
