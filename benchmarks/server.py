"""A server in a process of its own that sends the made-up responses of `benchmarks.wire`.

The path names the response: `/chat/text/1000/8` streams 1000 text deltas of Chat Completions, 8
events to a write; `/chat/text/1000/0` one to a write with a pause after each, so that no read
brings more than one; `/chat/text/1000/all` all in one write. `/chat/plain/2000` is a response in
one piece with a text of 2000 characters. What follows in the path is left to the client.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from benchmarks import wire

_AWS = b"application/vnd.amazon.eventstream"
_PAUSES = {"0": 0.0003, "1": 0.0}
"""Seconds after each write."""


@cache
def writes(protocol: str, kind: str, count: int, per_write: str) -> list[bytes]:
    """Return the writes of a streamed response, each an HTTP chunk."""
    every = wire.stream(protocol, kind, count)
    size = len(every) if per_write == "all" else int(per_write) or 1
    groups = [b"".join(every[i : i + size]) for i in range(0, len(every), size)]
    return [b"%x\r\n%b\r\n" % (len(group), group) for group in groups]


@cache
def plain(protocol: str, size: int) -> bytes:
    """Return a response in one piece, with its head."""
    body = wire.whole(protocol, size)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(body) + body


async def _handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests on one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.decode().split("\r\n")
            _, protocol, kind, size, *rest = lines[0].split(" ")[1].split("/")
            headers = {k.lower(): v.strip() for k, _, v in (x.partition(":") for x in lines[1:])}
            await reader.readexactly(int(headers.get("content-length", "0")))
            if kind == "plain":
                writer.write(plain(protocol, int(size)))
                await writer.drain()
            else:
                await _stream(writer, protocol, kind, int(size), rest[0])
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()


async def _stream(
    writer: asyncio.StreamWriter, protocol: str, kind: str, count: int, per_write: str
) -> None:
    media_type = _AWS if protocol == "converse" else b"text/event-stream"
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ntransfer-encoding: chunked\r\n\r\n" % media_type
    )
    pause = _PAUSES.get(per_write)
    for data in writes(protocol, kind, count, per_write):
        writer.write(data)
        await writer.drain()
        if pause is not None:
            await asyncio.sleep(pause)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def main() -> None:
    """Serve until killed; print the port first."""
    server = await asyncio.start_server(_handle, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def running() -> Iterator[str]:
    """Run the server in another process; yield its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.server"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    asyncio.run(main())
