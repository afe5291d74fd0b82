"""A bad-tempered provider in a process of its own, for the soak.

The first part of the path says how it behaves, see `_MODES`; it speaks Chat Completions. It
answers a line on its standard input with the number of connections that are open.
"""

import asyncio
import itertools
import json
import re
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

DELTAS = 40
PACE_S = 0.004
"""Seconds between the deltas of a slow stream."""

_LENGTH = re.compile(rb"(?i)content-length: (\d+)")


# -- what is sent


def _event(**choice: object) -> bytes:
    whole = {"index": 0, "delta": {}, "finish_reason": None, **choice}
    return _data({"id": "c-1", "object": "chat.completion.chunk", "model": "m", "choices": [whole]})


def _data(document: object) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def _part(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _whole(status: bytes, document: object, *headers: bytes) -> bytes:
    body = json.dumps(document).encode()
    lines = [b"HTTP/1.1 " + status, b"content-type: application/json", *headers]
    return b"\r\n".join([*lines, b"content-length: %d" % len(body), b"", body])


_DELTA = _part(_event(delta={"content": "words "}))
_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
_USAGE = {"prompt_tokens": 1, "completion_tokens": DELTAS, "total_tokens": DELTAS + 1}
_LAST = _data({"id": "c-1", "model": "m", "choices": [], "usage": _USAGE}) + b"data: [DONE]\n\n"
_END = _part(_event(finish_reason="stop") + _LAST)
_CLOSE = b"0\r\n\r\n"
_CALLS = [
    {"index": n, "id": f"call_{n}", "function": {"name": name, "arguments": '{"city": "A"}'}}
    for n, name in enumerate(("weather", "time_of_day"))
]
_CALLING = _part(_event(delta={"tool_calls": _CALLS}) + _event(finish_reason="tool_calls") + _LAST)
_ANSWER = _whole(
    b"200 OK",
    {
        "id": "c-1",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "words " * DELTAS},
                "finish_reason": "stop",
            }
        ],
        "usage": _USAGE,
    },
)
_BUSY = _whole(b"503 X", {"error": {"message": "busy"}}, b"retry-after-ms: 1")
_WRONG_KEY = _whole(b"401 X", {"error": {"message": "no such key"}})
_FAILING = _part(_data({"error": {"message": "overloaded", "code": 529}}))


# -- how it behaves: each returns whether the connection may be used again


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def write(self, *data: bytes) -> bool:
        self.writer.write(b"".join(data))
        await self.writer.drain()
        return True

    async def gone(self) -> bool:
        """Wait for the client to go."""
        await self.reader.read(1)
        return False


async def _text(connection: _Connection, body: bytes) -> bool:
    if b'"stream":true' not in body:
        return await connection.write(_ANSWER)
    return await connection.write(_STREAM, _DELTA * DELTAS, _END, _CLOSE)


async def _slow(connection: _Connection, _body: bytes) -> bool:
    await connection.write(_STREAM)
    while not connection.writer.is_closing():
        await connection.write(_DELTA)
        await asyncio.sleep(PACE_S)
    return False


async def _cut(connection: _Connection, _body: bytes) -> bool:
    await connection.write(_STREAM, _DELTA * 3)
    return False


async def _silent(connection: _Connection, _body: bytes) -> bool:
    await connection.write(_STREAM, _DELTA)
    return await connection.gone()


async def _mute(connection: _Connection, _body: bytes) -> bool:
    return await connection.gone()


_turns = itertools.count()


async def _busy(connection: _Connection, body: bytes) -> bool:
    if next(_turns) % 2 == 0:
        return await connection.write(_BUSY)
    return await _text(connection, body)


async def _wrong(connection: _Connection, _body: bytes) -> bool:
    return await connection.write(_WRONG_KEY)


async def _garbage(connection: _Connection, _body: bytes) -> bool:
    return await connection.write(_STREAM, _DELTA, _part(b'data: {"choices": [\n\n'), _CLOSE)


async def _failing(connection: _Connection, _body: bytes) -> bool:
    return await connection.write(_STREAM, _DELTA, _FAILING, _CLOSE)


async def _tools(connection: _Connection, body: bytes) -> bool:
    if b'"role":"tool"' in body:
        return await _text(connection, body)
    return await connection.write(_STREAM, _CALLING, _CLOSE)


async def _lingering(connection: _Connection, _body: bytes) -> bool:
    await connection.write(_STREAM, _DELTA, _END)
    return await connection.gone()


_MODES: dict[bytes, Callable[[_Connection, bytes], Awaitable[bool]]] = {
    b"text": _text,
    b"slow": _slow,
    b"cut": _cut,
    b"silent": _silent,
    b"mute": _mute,
    b"busy": _busy,
    b"wrong": _wrong,
    b"garbage": _garbage,
    b"failing": _failing,
    b"tools": _tools,
    b"lingering": _lingering,
}

# -- serving

_open = 0


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    global _open  # noqa: PLW0603  (the one number this process is asked for)
    _open += 1
    connection = _Connection(reader, writer)
    again = True
    try:
        while again:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1]) if length else 0)
            again = await _MODES[head.split(b"/", 2)[1]](connection, body)
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        _open -= 1
        writer.close()


def _tell() -> None:
    for _ in sys.stdin:
        print(_open, flush=True)


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    threading.Thread(target=_tell, daemon=True).start()
    await server.serve_forever()


class SoakServer:
    """The running process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.url = f"http://127.0.0.1:{self._line()}"

    def open_connections(self) -> int:
        """Return how many connections it has."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@contextmanager
def running() -> Iterator[SoakServer]:
    """Run the server for the block."""
    with subprocess.Popen(
        [sys.executable, "-m", __name__],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield SoakServer(process)
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_main())
