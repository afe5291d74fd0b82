"""A guard for tests that must not reach a network."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_LOOPBACK = ("127.", "::1", "localhost")


class NetworkForbiddenError(AssertionError):
    """Code under test tried to reach another machine."""


class _Guard:
    """The number of blocks that forbid the network now, and whether the audit hook is installed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._hooked = False
        self.blocks = 0

    def change(self, by: int) -> None:
        """Count a block that begins or ends; the first installs the hook, which stays."""
        with self._lock:
            self.blocks += by
            if not self._hooked:
                sys.addaudithook(_audit)
                self._hooked = True


_guard = _Guard()


@contextmanager
def forbid_network() -> Iterator[None]:
    """Raise NetworkForbiddenError where the process connects to, or looks up, another machine.

    It holds for all threads while the block runs. Loopback and Unix sockets stay allowed. Every
    socket of Python is seen; libraries that open their own in C, such as uvloop, are not.
    """
    _guard.change(1)
    try:
        yield
    finally:
        _guard.change(-1)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if not event.startswith("socket.") or not _guard.blocks:
        return
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if isinstance(name, str) and not name.startswith(_LOOPBACK):
        raise NetworkForbiddenError(f"the network is forbidden here: {event} of {name!r}")
