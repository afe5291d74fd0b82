"""The gateway under load, beside relays that only pass bytes on, all in one interleaved run.

CPU is the server's own, per request or per event; medians of some rounds. `BENCH_ROUNDS` (3) and
`BENCH_REQUESTS` (2,000; how many the memory is to stay flat over) make it longer.
"""

import asyncio
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.bridge_peers import peers
from benchmarks.bridge_servers import CORES, Asked, all_servers, gateway, last_core, upstream
from benchmarks.bridge_upstream import connected

ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "3"))
REQUESTS: Final = int(os.environ.get("BENCH_REQUESTS", "2000"))
LARGE_BYTES: Final = 200_000
GROWTH: Final = (500, 5_000, 50_000)
"""Events of one stream."""


async def load(
    asked: Asked, at_once: int, count: int, events: int, request: bytes | None = None
) -> tuple[float, float, float]:
    """Ask *count* times; return requests a second, CPU seconds of all, seconds to a first event.

    Responses are streams of so many *events*, or whole ones.
    """
    request = request or asked.request(stream=events > 0)
    connections = [await connected(asked.url) for _ in range(at_once)]
    firsts: list[float] = []
    left = count

    async def work(number: int) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            sent = time.monotonic()
            answer = await connections[number].ask(request)
            firsts.append(connections[number].first_at - sent)
            asked.check(answer, events)

    used, began = asked.cpu_s, time.monotonic()
    await asyncio.gather(*(work(number) for number in range(at_once)))
    seconds, used = time.monotonic() - began, asked.cpu_s - used
    for connection in connections:
        connection.close()
    return count / seconds, used, statistics.median(firsts)


async def _table(
    servers: Sequence[Asked], at_once: Sequence[int], least: int, events: int, unit: str
) -> None:
    """Print a row for each server: how many *unit*s a second, and what one costs."""
    columns = " ".join(f"{f'{count}: /s':>12} {'us':>7}" for count in at_once)
    print(f"{unit + 's at once':24} {columns}", flush=True)
    results: dict[tuple[str, int], list[tuple[float, float]]] = {}
    servers = [server for server in servers if await _works(server, events)]
    for _ in range(ROUNDS):
        for count in at_once:
            for server in servers:
                asks = max(least, count)
                rate, used, _ = await load(server, count, asks, events)
                each = max(events, 1)
                cell = (rate * each, used / asks / each * 1e6)
                results.setdefault((server.name, count), []).append(cell)
    for server in servers:
        cells = [
            map(statistics.median, zip(*results[server.name, n], strict=True)) for n in at_once
        ]
        print(
            f"{server.name:24} " + " ".join(f"{r:12.0f} {us:7.1f}" for r, us in cells), flush=True
        )


async def _works(server: Asked, events: int) -> bool:
    """Ask a *server* a few times; print why it is left out, if it may be."""
    try:
        await load(server, 4, 12, events)
    except (AssertionError, OSError, asyncio.IncompleteReadError) as error:
        if not server.may_fail:
            raise
        print(f"{server.name}: left out, as it fails: {str(error)[:200]}")
        return False
    return True


async def _first_events(servers: Sequence[Asked], direct: Asked) -> None:
    """Print how much later a first event comes than from the upstream itself, one at a time."""
    print("\nmilliseconds that a first event comes later than without a gateway, one at a time")
    firsts: dict[str, list[float]] = {}
    for _ in range(4 * ROUNDS):
        for server in (direct, *servers):
            _, _, first = await load(server, 1, 20, 1)
            firsts.setdefault(server.name, []).append(first)
    base = statistics.median(firsts.pop(direct.name))
    for name, found in firsts.items():
        print(f"{name:24} {(statistics.median(found) - base) * 1e3:8.2f}", flush=True)


async def _growth(upstream_url: str, folder: Path) -> None:
    """Print what an event costs in ever longer streams: what grows with them would show."""
    print("\nCPU of one event, microseconds, in a stream of so many (Responses over Chat)")
    for events in GROWTH:
        base = f"{upstream_url}/chat/{events}/0"
        with gateway(base, folder, OPENBRIDGE_RELAY="false") as (url, pid, _):
            asked = Asked("growth", pid, url, "responses")
            _, used, _ = await load(asked, 1, 1, events)
            print(f"{events:8} {used / events * 1e6:8.1f} {asked.resident_mb:8.1f} MB", flush=True)


def _short_turns(asked: Asked) -> dict[str, Any]:
    """Return 400 short messages, as of a long chat."""
    words = "words " * 60
    turns = [{"role": ("user", "assistant")[n % 2], "content": words} for n in range(399)]
    size = len(asked.request(stream=False, more={"messages": turns}))
    return {"messages": [*turns, {"role": "user", "content": "x" * (LARGE_BYTES - size)}]}


def _agent_turns(_asked: Asked) -> dict[str, Any]:
    """Return what a coding agent sends: 20 tools, and 40 calls with results of some kilobytes."""
    fields = {f"field_{n}": {"type": "string", "description": "a thing " * 10} for n in range(6)}
    parameters = {"type": "object", "properties": fields, "required": ["field_0"]}
    tools = [
        {"name": f"tool_{n}", "description": "words " * 170, "parameters": parameters}
        for n in range(20)
    ]
    messages: list[dict[str, Any]] = [{"role": "system", "content": "words " * 3500}]
    for n in range(40):
        arguments = json.dumps({"field_0": f"/src/module_{n}.py", "field_1": "line\n" * 20})
        function = {"name": "tool_1", "arguments": arguments}
        call = {"id": f"call_{n}", "type": "function", "function": function}
        result = "def double(x): return 2 * x\n" * 100
        messages += [
            {"role": "assistant", "content": "I will read it.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{n}", "content": result},
        ]
    return {"messages": messages, "tools": [{"type": "function", "function": t} for t in tools]}


async def _large_requests(upstream_url: str, folder: Path) -> None:
    """Print what a large request costs, and how long others wait meanwhile."""
    print(f"\na request of some {LARGE_BYTES // 1000} kB, whole responses: milliseconds")
    print(f"{'':32} {'CPU':>8} {'added':>8} {'of another request':>20}")
    for relay, turns in itertools.product(("false", "true"), (_short_turns, _agent_turns)):
        base = f"{upstream_url}/chat/1/0"
        with gateway(base, folder, OPENBRIDGE_RELAY=relay) as (url, pid, _):
            asked = Asked("large", pid, url, "chat")
            large = asked.request(stream=False, more=turns(asked))
            direct = Asked("direct", os.getpid(), f"{upstream_url}", "chat")
            bare = large.replace(b"POST /", b"POST /chat/1/0/", 1)
            await load(asked, 1, 5, 0, large)
            _, used, first = await load(asked, 1, 30, 0, large)
            _, _, without = await load(direct, 1, 30, 0, bare)
            waits = asyncio.ensure_future(load(asked, 1, 200, 0))
            await load(asked, 1, 30, 0, large)
            _, _, small = await waits
            row = (used / 30 * 1e3, (first - without) * 1e3, small * 1e3)
            name = "chat relayed" if relay == "true" else "chat > chat"
            name += ", an agent's" if turns is _agent_turns else ", 400 messages"
            print(f"{name:32} {row[0]:8.2f} {row[1]:8.2f} {row[2]:20.2f}", flush=True)


async def _sizes(upstream_url: str, folder: Path) -> None:
    """Print start-up time and memory: idle, with 200 streams, and after many requests."""
    base = f"{upstream_url}/chat/200/20"
    with gateway(base, folder, OPENBRIDGE_RELAY="false") as (url, pid, start_s):
        asked = Asked("sizes", pid, url, "responses")
        idle = asked.resident_mb
        first_s = 1 / (await load(asked, 1, 1, 0))[0]
        streams = asyncio.ensure_future(load(asked, 200, 200, 200))
        await asyncio.sleep(3)
        loaded = asked.resident_mb
        await streams
        await load(asked, 16, 500, 0)
        before = asked.resident_mb
        await load(asked, 16, REQUESTS, 0)
        grown = asked.resident_mb - before
    print(f"\nstart to first response {start_s:.2f} s, to a model's {start_s + first_s:.2f} s")
    print(f"resident {idle:.1f} MB idle, {loaded:.1f} MB with 200 streams;", end=" ")
    print(f"{grown:+.1f} MB ({grown / before:+.1%}) over {REQUESTS} requests")


async def _workers(upstream_url: str, folder: Path) -> None:
    """Print what a second worker adds; the load and the upstream take their part of the cores."""
    rates, costs = {}, {}
    for count in (1, 2):
        base = f"{upstream_url}/chat/1/0"
        named = {"OPENBRIDGE_RELAY": "false", "OPENBRIDGE_WORKERS": str(count)}
        with gateway(base, folder, cores=CORES, **named) as (url, pid, _):
            asked = Asked("workers", pid, url, "responses")
            await load(asked, 16, 100, 0)
            found = [await load(asked, 16, 1_000, 0) for _ in range(ROUNDS)]
            rates[count] = statistics.median(rate for rate, _, _ in found)
            costs[count] = statistics.median(cpu_s for _, cpu_s, _ in found) * 1_000
    print(f"\nwhole responses a second: one worker {rates[1]:.0f}, two {rates[2]:.0f}", end=" ")
    print(f"({rates[2] / rates[1]:.2f} times), at {costs[1]:.0f} and {costs[2]:.0f} us of CPU")


async def _run(upstream_url: str, folder: Path) -> None:
    print("whole responses of 2 kB")
    beside = peers(f"{upstream_url}/chat/200/0", folder)
    with all_servers(upstream_url, folder, "200/0") as own, beside as others:
        servers = [*own, *others]
        await _table(servers, (1, 16, 64), 200, 0, "request")
        print("\nstreams of 200 events, one in each turn of the upstream's event loop")
        await _table(servers, (1, 16, 200), 16, 200, "stream")
    print("\nstreams of 100 events, one in 20 milliseconds")
    with all_servers(upstream_url, folder, "100/20") as servers:
        await _table(servers, (1, 16, 200), 1, 100, "stream")
    with all_servers(upstream_url, folder, "1/0") as servers:
        direct = Asked("direct", os.getpid(), upstream_url, "chat")
        await _first_events(servers, _Direct.of(direct))
    for section in (_growth, _large_requests, _sizes, _workers):
        await section(upstream_url, folder)


class _Direct(Asked):
    """The upstream itself, whose path names the response."""

    @classmethod
    def of(cls, asked: Asked) -> "_Direct":
        return cls(asked.name, asked.pid, asked.url, asked.front)

    def request(self, *, stream: bool, more: object = None) -> bytes:
        """Return the request of a stream of one event."""
        return super().request(stream=stream).replace(b"POST /", b"POST /chat/1/0/", 1)


def main() -> None:
    """Run the benchmark."""
    with tempfile.TemporaryDirectory() as folder, upstream() as url:
        os.sched_setaffinity(0, last_core())
        try:
            asyncio.run(_run(url, Path(folder)))
        finally:
            os.sched_setaffinity(0, CORES)


if __name__ == "__main__":
    main()
