"""The body of a streamed response, written as fast as the client takes it."""

import time
from collections.abc import Callable
from typing import Final

import anyio

from llmcore.bridge.http.asgi import Headers, Send

NOT_READ: Final = "the client does not read"


class StreamWriter:
    """Sends the body of a response to a client.

    Several tasks may write: the one that reads the response, and one that sends heartbeats while
    no event comes.
    """

    def __init__(self, send: Send, headers: Callable[[], Headers]) -> None:
        self._transmit = send
        self._headers: Callable[[], Headers] | None = headers
        self._waiting: list[bytes] = []
        self.is_transmitting = False
        """Whether a write waits for the client to take what was written before."""
        self._transmitted: anyio.Event | None = None
        """Set when the write that another task waits for has ended."""
        self.wrote_at = time.monotonic()
        """When the last write began."""
        self.begun = False
        """Whether the head is sent, after which no HTTP error can be."""
        self.ended = False
        """Whether the last byte is written."""

    async def write(self, data: bytes) -> None:
        """Write *data*, once the client has taken enough of what was written before."""
        self.begun = True
        self._waiting.append(data)
        if self.is_transmitting:
            await self._turn()
        self.is_transmitting = True
        try:
            await self._flush()
        finally:
            self._free()

    async def _turn(self) -> None:
        """Wait until no other task transmits. A lock would cost more than the write."""
        while self.is_transmitting:
            self._transmitted = self._transmitted or anyio.Event()
            await self._transmitted.wait()

    def _free(self) -> None:
        self.is_transmitting = False
        if self._transmitted is not None:
            self._transmitted.set()
            self._transmitted = None

    async def _flush(self) -> None:
        waiting = self._waiting
        if not waiting or self.ended:
            return
        self.wrote_at = time.monotonic()
        if self._headers is not None:
            headers, self._headers = self._headers(), None
            await self._transmit({"type": "http.response.start", "status": 200, "headers": headers})
        count, data = len(waiting), b"".join(waiting)
        await self._transmit({"type": "http.response.body", "body": data, "more_body": True})
        del waiting[:count]  # now, as a write that is cancelled writes nothing

    async def end(self) -> None:
        """Write what is left and the end of the body. Idempotent."""
        await self._turn()
        if self.ended:
            return
        self.is_transmitting = True
        try:
            await self._flush()
            self.ended = True
            await self._transmit({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._free()

    def check_stall(self, seconds: float) -> None:
        """Raise ConnectionAbortedError if the client has taken nothing for *seconds*."""
        waited = time.monotonic() - self.wrote_at
        if self.is_transmitting and waited >= seconds:
            raise ConnectionAbortedError(NOT_READ)
