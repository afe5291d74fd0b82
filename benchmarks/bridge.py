"""The gateway under load: streams a second, and latency added to each event, against direct.

An upstream in a process of its own streams Chat answers whose every delta holds the moment it
was sent; the gateway is `openbridge serve` in another; this process reads. The monotonic clock
is one for all of them (Linux). Path `/<events>/<milliseconds between>` says what is streamed.
"""

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import aiohttp

CONCURRENCY = (1, 50, 200)
PER_EVENT = (1, 16, 200)
"""Streams at once, where the cost of one event is measured."""
EVENTS = 50
PACE_MS = 100
_STAMP = re.compile(rb"@(\d+)@")

Read = Callable[[aiohttp.ClientSession, list[float]], Awaitable[None]]
"""Reads one stream and adds the delay of each of its deltas, in milliseconds."""


# -- The upstream


def _chunk(**choice: object) -> bytes:
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {}, "finish_reason": None, **choice}],
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async def write(data: bytes) -> None:
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await writer.drain()

    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            _, count, pause_ms = head.split(b" ")[1].split(b"/")[:3]
            length = re.search(rb"(?i)content-length: (\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                b"transfer-encoding: chunked\r\n\r\n"
            )
            for _ in range(int(count)):
                await asyncio.sleep(int(pause_ms) / 1000)
                await write(_chunk(delta={"content": f"@{time.monotonic_ns()}@"}))
            await write(_chunk(finish_reason="stop") + b"data: [DONE]\n\n")
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()


async def _upstream() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def _running(command: list[str], environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **environ},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def _gateway(
    upstream: str,
    folder: Path,
    events: int,
    pause_ms: int,
    more: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, int]]:
    """Run a gateway before the upstream's path; its URL and process id."""
    environ = {
        "OPENBRIDGE_UPSTREAM": "openai-compatible",
        "OPENBRIDGE_UPSTREAM_BASE_URL": f"{upstream}/{events}/{pause_ms}",
        "OPENBRIDGE_STATE_PATH": str(folder / "state.db"),
        "OPENBRIDGE_MAX_RUNNING": "1000",
        **(more or {}),
    }
    program = "import sys; from llmcore.cli.openbridge import main; sys.exit(main())"
    with _running(["-c", program, "serve", "--port", "0"], environ) as process:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        while line["event"] != "listening":
            line = json.loads(process.stdout.readline())
        asyncio.get_running_loop().run_in_executor(None, process.stdout.read)  # drain its log
        yield line["url"], process.pid


# -- Reading


def _reader(url: str, body: dict[str, object], mark: bytes) -> Read:
    """Return what reads one stream of *url*; *mark* is in the lines that hold a delta."""

    async def read(session: aiohttp.ClientSession, delays: list[float]) -> None:
        seen = 0
        async with session.post(url, json=body) as answer:
            assert answer.status == 200, await answer.text()
            async for line in answer.content:
                if mark not in line:
                    continue
                now = time.monotonic_ns()
                for stamp in _STAMP.findall(line):
                    delays.append((now - int(stamp)) / 1e6)
                    seen += 1
        assert seen, "no deltas came"

    return read


async def _at_once(read: Read, count: int, rounds: int) -> tuple[float, list[float]]:
    """Read *count* streams at once, *rounds* times; return streams a second and the delays."""
    delays: list[float] = []
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        await read(session, [])
        started = time.monotonic()
        for _ in range(rounds):
            await asyncio.gather(*(read(session, delays) for _ in range(count)))
        return count * rounds / (time.monotonic() - started), delays


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


_ASKS: tuple[tuple[str, str, dict[str, object], bytes], ...] = (
    ("responses", "/responses", {"input": "x", "store": False}, b'"response.output_text.delta"'),
    ("chat", "/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, b'"content"'),
    (
        "messages",
        "/messages",
        {"max_tokens": 99, "messages": [{"role": "user", "content": "x"}]},
        b'"text_delta"',
    ),
    (
        "gemini",
        "/models/m:streamGenerateContent?alt=sse",
        {"contents": [{"parts": [{"text": "x"}]}]},
        b'"candidates"',
    ),
)
"""The name of an API, a path below `/v1`, a body, and the mark of a delta."""


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _per_event(upstream: str, folder: Path) -> None:
    """Print what one event costs in each API over a Chat upstream, and what relaying costs."""
    print(f"\nan event each {PACE_MS} ms: CPU of the gateway per event, microseconds")
    print(f"{'API':>16} " + " ".join(f"{count:>8}" for count in PER_EVENT))
    for relay in (False, True):
        environ = {"OPENBRIDGE_RELAY": str(relay).lower()}
        with _gateway(upstream, folder, EVENTS, PACE_MS, environ) as (gateway, pid):
            for name, path, body, mark in _ASKS:
                if relay and name != "chat":
                    continue
                asked = {"model": "m", "stream": True, **body}
                read = _reader(f"{gateway}{path}", asked, mark)
                await _at_once(read, 2, 1)
                cells = []
                for count in PER_EVENT:
                    before = _cpu_s(pid)
                    await _at_once(read, count, 1)
                    events = EVENTS * (count + 1)  # one stream is read to warm up
                    cells.append(f"{(_cpu_s(pid) - before) / events * 1e6:8.0f}")
                print(f"{name + (' relayed' if relay else ''):>16} " + " ".join(cells))


def _readers(upstream: str, gateway: str, events: int, pause_ms: int) -> tuple[Read, Read]:
    messages = [{"role": "user", "content": "x"}]
    chat = {"model": "m", "stream": True, "messages": messages}
    direct = _reader(f"{upstream}/{events}/{pause_ms}/chat/completions", chat, b'"content"')
    asked = {"model": "m", "stream": True, "input": "x", "store": False}
    bridged = _reader(f"{gateway}/responses", asked, b'"response.output_text.delta"')
    return direct, bridged


async def _throughput(upstream: str, folder: Path) -> None:
    print(f"{EVENTS} events a stream, as fast as they come")
    print(f"{'streams':>8} {'direct/s':>9} {'bridge/s':>9} {'resident MB':>12}")
    with _gateway(upstream, folder, EVENTS, 0) as (gateway, pid):
        direct, bridged = _readers(upstream, gateway, EVENTS, 0)
        for count in CONCURRENCY:
            rounds = max(1, 200 // count)
            theirs, _ = await _at_once(direct, count, rounds)
            ours, _ = await _at_once(bridged, count, rounds)
            print(f"{count:8} {theirs:9.1f} {ours:9.1f} {_resident_mb(pid):12.1f}")
        before = _resident_mb(pid)
        for _ in range(5):
            await _at_once(bridged, 50, 4)
        print(f"memory after 1000 more streams: {_resident_mb(pid) - before:+.1f} MB")


async def _latency(upstream: str, folder: Path) -> None:
    print(f"\nan event each {PACE_MS} ms, milliseconds from upstream to client")
    columns = f"{'direct p50':>11} {'bridge p50':>11} {'direct p99':>11} {'bridge p99':>11}"
    print(f"{'streams':>8} {columns} {'added p50':>10}")
    with _gateway(upstream, folder, EVENTS, PACE_MS) as (gateway, _pid):
        direct, bridged = _readers(upstream, gateway, EVENTS, PACE_MS)
        for count in CONCURRENCY:
            theirs, ours = [(await _at_once(read, count, 1))[1] for read in (direct, bridged)]
            row = [statistics.quantiles(d, n=100) for d in (theirs, ours)]
            print(
                f"{count:8} {row[0][49]:11.2f} {row[1][49]:11.2f} {row[0][98]:11.2f}"
                f" {row[1][98]:11.2f} {row[1][49] - row[0][49]:10.2f}"
            )


async def _run(upstream: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await _throughput(upstream, Path(folder))
        await _latency(upstream, Path(folder))
        await _per_event(upstream, Path(folder))


def main() -> None:
    """Run the benchmark."""
    with _running(["-m", "benchmarks.bridge", "upstream"], {}) as process:
        assert process.stdout is not None
        asyncio.run(_run(f"http://127.0.0.1:{process.stdout.readline().strip()}"))


if __name__ == "__main__":
    asyncio.run(_upstream())
