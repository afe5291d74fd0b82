"""The body of a streamed answer, written as fast as the client takes it."""

from collections.abc import Callable

import anyio

from llmcore.bridge.http.asgi import Headers, Send

_MAX_WAITING_BYTES = 64 * 1024


class StreamWriter:
    """Bytes on their way to a client.

    `write`, a separate task, writes what was sent. It runs once no further event is at hand, so
    that events which arrived together cost one write.
    """

    def __init__(self, send: Send, headers: Callable[[], Headers]) -> None:
        self._transmit = send
        self._headers = headers
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._pending = anyio.Event()
        self._transmiting = anyio.Lock(fast_acquire=True)
        self.wrote_at = anyio.current_time()
        """When the last write began, by the event loop's clock."""
        self.begun = False
        """Whether the head is sent: an HTTP error is too late."""
        self.ended = False
        """Whether the last byte is written."""

    def send(self, data: bytes) -> None:
        """Schedule *data* to be written."""
        self.begun = True
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        self._pending.set()

    @property
    def is_full(self) -> bool:
        """Whether `flush` should come before further data."""
        return self._waiting_bytes > _MAX_WAITING_BYTES

    async def write(self) -> None:
        """Write whatever is sent, until it is cancelled."""
        while True:
            await self._pending.wait()
            self._pending = anyio.Event()
            await self.flush()

    async def flush(self) -> None:
        """Write what was sent so far."""
        async with self._transmiting:
            await self._flush()

    async def _flush(self) -> None:
        waiting = self._waiting
        if not waiting or self.ended:
            return
        self.wrote_at = anyio.current_time()
        if (headers := self._take_headers()) is not None:
            await self._transmit({"type": "http.response.start", "status": 200, "headers": headers})
        count, data = len(waiting), b"".join(waiting)
        await self._transmit({"type": "http.response.body", "body": data, "more_body": True})
        del waiting[:count]  # now, as a write that is cancelled writes nothing
        self._waiting_bytes -= len(data)

    def _take_headers(self) -> Headers | None:
        headers, self._headers = self._headers, _no_headers
        return headers() or None

    async def end(self) -> None:
        """Write what was sent so far and the end of the body. Idempotent."""
        async with self._transmiting:
            if self.ended:
                return
            await self._flush()
            self.ended = True
            await self._transmit({"type": "http.response.body", "body": b"", "more_body": False})

    async def watch_for_stall(self, seconds: float) -> None:
        """Raise ConnectionAbortedError once the client has taken nothing for *seconds*."""
        while True:
            await anyio.sleep(seconds / 2)
            waited = anyio.current_time() - self.wrote_at
            if self._transmiting.locked() and waited >= seconds:
                raise ConnectionAbortedError("the client does not read")


def _no_headers() -> Headers:
    return []
