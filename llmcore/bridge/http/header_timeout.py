"""uvicorn's HTTP/1.1 with a time limit for the heads of requests.

uvicorn itself waits without a limit for the first request of a connection, and for the rest of one
that has begun; a few thousand such connections are all that a process can have open.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class _TimedHeads(H11Protocol):
    """It is h11's: that alone limits the size of headers."""

    head_s: ClassVar[float]
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.trailing_data[0]:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch()

    def _watch(self) -> None:
        """Let the time run while no request is being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._unwatch()
        elif self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(self.head_s, self.transport.close)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def timed_heads(seconds: float) -> type[H11Protocol]:
    """Return the protocol that closes a connection whose next head takes more than *seconds*.

    The time begins with the connection, or with the first byte after an answer.
    """
    return type("TimedHeads", (_TimedHeads,), {"head_s": seconds})
