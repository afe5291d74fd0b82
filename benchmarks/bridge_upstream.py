"""An upstream of made-up responses, and connections that load a gateway: as little work as can be.

The path `/{protocol}/{events}/{milliseconds}/...` names the response: one of 2,000 characters, or,
where the request asks for a stream, so many deltas with so long between them (0: one in
each turn of the event loop). Run with `python -m benchmarks.bridge_upstream`; it prints its
port, which an argument can choose.
"""

import asyncio
import re
import sys
from functools import cache
from typing import Final

from benchmarks import wire

WHOLE_CHARS: Final = 2000
_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
_STREAM_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


@cache
def _chunks(protocol: str, events: int) -> list[bytes]:
    frames = wire.stream(protocol, "text", events)
    return [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames]


@cache
def _whole(protocol: str) -> bytes:
    body = wire.whole(protocol, WHOLE_CHARS)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(body) + body


class _Upstream(asyncio.Protocol):
    """One connection: requests are answered one after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""
        self._pacing: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if found and length and len(body) >= int(length[1]):
            self._received = b""
            self._answer(head, body)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._pacing is not None:
            self._pacing.cancel()

    def _answer(self, head: bytes, body: bytes) -> None:
        path = head.split(b" ", 2)[1].decode()
        _, protocol, events, pause_ms, *_ = path.split("/")
        if b'"stream":true' not in body and "streamGenerate" not in path:
            self._transport.write(_whole(protocol))
            return
        chunks = _chunks(protocol, int(events))
        self._transport.write(_STREAM_HEAD)
        self._write_from(chunks, 0, int(pause_ms) / 1000)

    def _write_from(self, chunks: list[bytes], at: int, pause_s: float) -> None:
        if at == len(chunks):
            self._transport.write(_LAST_CHUNK[2:])
            return
        self._transport.write(chunks[at])
        loop = asyncio.get_running_loop()
        self._pacing = loop.call_later(pause_s, self._write_from, chunks, at + 1, pause_s)


class LoadConnection(asyncio.Protocol):
    """One connection of a client, which sends bytes and awaits the whole response.

    `first_at` is when the first event of a stream came, or the end of a response that has none.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._done: asyncio.Future[bytes] | None = None
        self._first_at: float | None = None

    def data_received(self, data: bytes) -> None:
        """Collect the response, and return it once its end is there."""
        if self._first_at is None and b"data:" in data:
            self._first_at = asyncio.get_running_loop().time()
        self._parts.append(data)
        self._size += len(data)
        if self._end is None:
            self._find_end()
        ended = self._size >= self._end if self._end else self._tail().endswith(_LAST_CHUNK)
        if ended and self._done is not None and not self._done.done():
            self.first_at = self._first_at or asyncio.get_running_loop().time()
            self._done.set_result(b"".join(self._parts))

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the response that is under way."""
        if self._done is not None and not self._done.done():
            self._done.set_exception(exc or ConnectionResetError())

    async def ask(self, request: bytes) -> bytes:
        """Send *request* and return the response, its head included."""
        self._parts: list[bytes] = []
        self._size = 0
        self._end: int | None = None
        self._first_at = None
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._done

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def _tail(self) -> bytes:
        return b"".join(self._parts[-2:])[-len(_LAST_CHUNK) :]

    def _find_end(self) -> None:
        """Set where the response ends: 0 where its last chunk does."""
        joined = b"".join(self._parts)
        head, found, _ = joined.partition(b"\r\n\r\n")
        if not found:
            return
        length = _LENGTH.search(head)
        self._end = len(head) + 4 + int(length[1]) if length else 0


async def connected(url: str) -> LoadConnection:
    """Return a new connection to the server of *url*."""
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(LoadConnection, host, int(port))
    return connection


async def main() -> None:
    """Serve until killed; print the port first."""
    loop = asyncio.get_running_loop()
    port = int(sys.argv[1]) if sys.argv[1:] else 0
    server = await loop.create_server(_Upstream, "127.0.0.1", port, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
