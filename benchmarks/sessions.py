"""What keeping a conversation in SQLite costs: appends per second, and how long reads take.

Run with `python -m benchmarks.sessions`. Every append waits for the disk, so what the disk
takes for that is measured first.
"""

import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from llmcore.sessions.contract.entries import EntryText, MessageEntry
from llmcore.sessions.sqlite_store import SQLiteStore

APPENDS = 300
WRITERS = 4
READS = 60
RUN = "benchmark"


def entry(number: int) -> MessageEntry:
    """Return an entry of about a kilobyte."""
    text = f"{number}: " + "a few words of text " * 45
    return MessageEntry(
        run_id=RUN, role="user", parts=(EntryText(text),), timestamp="2026-11-22T12:00:00Z"
    )


def fsync_ms(folder: Path) -> float:
    """Return the median milliseconds that the disk takes to keep one kilobyte."""
    times = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(50):
            started = time.perf_counter()
            file.write(b"x" * 1024)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return 1000 * sorted(times)[len(times) // 2]


async def appending(store: SQLiteStore, count: int, batch: int = 1) -> None:
    """Append *count* times, so many entries at once."""
    for number in range(count):
        await store.append(RUN, [entry(number)] * batch)


async def writers(path: Path) -> None:
    """Append from several stores on one file at once."""
    async with anyio.create_task_group() as group:
        for _ in range(WRITERS):
            group.start_soon(one_writer, path)


async def one_writer(path: Path) -> None:
    """Append this writer's share."""
    async with SQLiteStore(path) as store:
        await appending(store, APPENDS // WRITERS)


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    """Return how long *work* takes."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def read_ms(read: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Return the median and the 99th percentile of a read."""
    times = sorted([await seconds(read) for _ in range(READS)])
    return 1000 * times[READS // 2], 1000 * times[READS * 99 // 100]


async def measure(folder: Path) -> None:
    """Print the table."""
    path = folder / "sessions.db"
    print(f"the disk keeps 1 kB in {fsync_ms(folder):.2f} ms (fsync)")
    async with SQLiteStore(path) as store:
        await store.append(RUN, [entry(0)])
        took = await seconds(lambda: appending(store, APPENDS))
        print(f"{'append 1 entry':34} {APPENDS / took:8.0f} appends/s")
        took = await seconds(lambda: appending(store, APPENDS // 3, 10))
        print(f"{'append 10 entries':34} {APPENDS / 3 / took:8.0f} appends/s")
        took = await seconds(lambda: writers(path))
        print(f"{f'append 1 entry, {WRITERS} writers':34} {APPENDS / took:8.0f} appends/s")
        last = (await store.runs())[0].last_seq
        for name, options in (
            ("read the last 10 entries", {"after": last - 10}),
            ("read 10 entries of the middle", {"after": 500, "limit": 10}),
            ("read 1000 entries", {"limit": 1000}),
        ):
            median, slowest = await read_ms(lambda o=options: store.read(RUN, **o))  # type: ignore[misc]
            print(f"{name:34} {median:8.2f} ms median, {slowest:.2f} ms 99th percentile")


def main() -> None:
    """Measure in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="llmcore-bench-", dir=os.environ.get("BENCH_DIR")) as f:
        anyio.run(measure, Path(f))


if __name__ == "__main__":
    main()
