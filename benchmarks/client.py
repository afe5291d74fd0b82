"""The client over both engines, beside raw httpx and raw aiohttp on the same bytes.

Each row is one kind of response in one protocol. The columns are ratios of the CPU time of this
process to that of raw httpx with the standard library's JSON, the least of several interleaved
rounds; `again` is that same raw client a second time, which shows how far noise goes. The last
column is llmcore over aiohttp against raw aiohttp with orjson. The row `first delta` is time on the
clock, the median.
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

import aiohttp
import httpx

from benchmarks import raw
from benchmarks.ours import over_llmcore
from benchmarks.server import running
from benchmarks.wire import PROTOCOLS
from llmcore import Client
from llmcore.client.http.options import HttpOptions

GROWTH: Final = (1_000, 10_000, 50_000)
STREAMS: Final = 200

Measure = Callable[[raw.Reader, str], Awaitable[float]]
"""Reads responses at a URL and returns the seconds of one."""


async def cpu_time(read: raw.Reader, url: str, *, in_a_row: int) -> float:
    """Return the CPU seconds of one response; several are read in a row."""
    started = time.thread_time()
    for _ in range(in_a_row):
        await read(url)
    return (time.thread_time() - started) / in_a_row


async def first_delta(read: raw.Reader, url: str) -> float:
    """Return the median of the seconds from the request to the first delta."""
    waited = []
    for _ in range(40):
        started = time.perf_counter()
        await read(url, lambda: waited.append(time.perf_counter() - started))  # noqa: B023
    return statistics.median(waited)


async def at_once(read: raw.Reader, url: str) -> float:
    """Return the CPU seconds of one of many streams at once."""
    started = time.thread_time()
    await asyncio.gather(*(read(url) for _ in range(STREAMS)))
    return (time.thread_time() - started) / STREAMS


ROWS: Final[Mapping[str, tuple[str, Measure, int]]] = {
    "bulk, 8 a write": ("text/1000/8", partial(cpu_time, in_a_row=3), 7),
    "reasoning, 8 a write": ("reasoning/1000/8", partial(cpu_time, in_a_row=3), 5),
    "all in one write": ("text/1000/all", partial(cpu_time, in_a_row=3), 7),
    "tools, 5 x 200": ("tools/1000/8", partial(cpu_time, in_a_row=3), 7),
    "paced, one a read": ("text/300/0", partial(cpu_time, in_a_row=1), 3),
    "plain, 2 kB": ("plain/2000", partial(cpu_time, in_a_row=50), 7),
    "first delta (wall)": ("text/10/all", first_delta, 5),
    f"{STREAMS} at once": ("text/100/8", at_once, 3),
}
"""The path of the response, how it is measured, in how many rounds."""


async def measured(
    readers: Mapping[str, raw.Reader], url: str, measure: Measure, rounds: int
) -> dict[str, float]:
    """Return the least seconds of each reader, measured in turn."""
    best = dict.fromkeys(readers, float("inf"))
    for _ in range(rounds):
        for name, read in readers.items():
            gc.collect()
            gc.disable()
            best[name] = min(best[name], await measure(read, url))
            gc.enable()
    return best


async def all_readers(stack: AsyncExitStack) -> dict[str, raw.Reader]:
    """Return the raw clients and llmcore over both engines, by name."""
    http = await stack.enter_async_context(httpx.AsyncClient())
    session = await stack.enter_async_context(aiohttp.ClientSession())
    readers = dict(raw.readers(http, session))
    for engine in ("httpx", "aiohttp"):
        client = Client(http=HttpOptions(engine=engine))
        readers[f"llmcore {engine}"] = over_llmcore(await stack.enter_async_context(client))
    return readers


async def rows(readers: Mapping[str, raw.Reader], url: str, names: list[str]) -> None:
    """Print the table."""
    heads = "".join(f"{name:>16}" for name in list(readers)[1:])
    print(f"{'ratios to raw httpx + json':34}{'us':>8}{heads}{'to raw aiohttp':>16}")
    for row, (path, measure, rounds) in ROWS.items():
        if names and not any(row.startswith(name) for name in names):
            continue
        for protocol in PROTOCOLS:
            where = f"{url}/{protocol}/{path}"
            for read in readers.values():
                await read(where)
            best = await measured(readers, where, measure, rounds)
            base, *others = best.values()
            cells = "".join(f"{other / base:16.2f}" for other in others)
            fast = best["llmcore aiohttp"] / best["aiohttp orjson"]
            print(f"{row:23}{protocol:11}{base * 1e6:8.0f}{cells}{fast:16.2f}", flush=True)


async def growth(readers: Mapping[str, raw.Reader], url: str) -> None:
    """Print the microseconds per event of longer and longer streams."""
    print(f"\n{'us per event, of events:':34}" + "".join(f"{count:>10}" for count in GROWTH))
    for name in ("llmcore httpx", "llmcore aiohttp"):
        for protocol in PROTOCOLS:
            cells = []
            for count in GROWTH:
                where = f"{url}/{protocol}/text/{count}/8"
                measure = partial(cpu_time, in_a_row=1)
                best = await measured({name: readers[name]}, where, measure, 3)
                cells.append(best[name] / count * 1e6)
            print(f"{name:23}{protocol:11}" + "".join(f"{cell:10.2f}" for cell in cells))


async def run(url: str, names: list[str]) -> None:
    """Print the tables; with *names*, only those rows."""
    async with AsyncExitStack() as stack:
        readers = await all_readers(stack)
        await rows(readers, url, names)
        if not names:
            await growth(readers, url)


def main(names: list[str] | None = None) -> None:
    """Run the benchmark."""
    with running() as url:
        asyncio.run(run(url, names or []))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
