"""The sockets of this process that are open to a server on loopback."""

import os
import socket
from pathlib import Path
from typing import Protocol

import pytest

_OPEN_FILES = Path("/proc/self/fd")
_CONNECTING = 2  # the first byte of TCP_INFO: SYN_SENT, in which a socket has no peer yet
needs_proc = pytest.mark.skipif(not _OPEN_FILES.exists(), reason="sockets are found by /proc")


def open_sockets(port: int) -> int:
    """Return how many sockets are connected to *port* of loopback, or connecting to anything.

    The table of the whole system, /proc/net/tcp, takes 10 ms to read after thousands of tests.
    """
    return sum(is_open_to(port, int(name)) for name in os.listdir(_OPEN_FILES))


def is_open_to(port: int, descriptor: int) -> bool:
    """Return whether a file of this process is such a socket."""
    try:
        if not os.readlink(_OPEN_FILES / str(descriptor)).startswith("socket:"):
            return False
        copy = socket.socket(fileno=os.dup(descriptor))
    except OSError:  # closed since it was listed
        return False
    with copy:
        if copy.family != socket.AF_INET or copy.type != socket.SOCK_STREAM:
            return False
        try:
            return bool(copy.getpeername() == ("127.0.0.1", port))
        except OSError:
            return copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _CONNECTING


class HasUrl(Protocol):
    """A server of the tests."""

    @property
    def url(self) -> str: ...


def port_of(server: HasUrl) -> int:
    """Return the port that *server* listens on."""
    return int(server.url.rpartition(":")[2])
