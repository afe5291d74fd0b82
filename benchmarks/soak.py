"""Thousands of streams that end in every way there is, and what is left of them.

    python -m benchmarks.soak --seconds 120

Workers run scenarios, chosen at random, against a server in another process: on asyncio, then on
trio. After a warm-up and at the end, with nothing running, memory, objects, connections, tasks,
threads and file descriptors are counted. Exits with 1 if anything is left behind, anything was
warned about, or a scenario ended otherwise than it should.
"""

import argparse
import asyncio
import gc
import logging
import os
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Final

import anyio
import trio
from attrs import define, field, frozen

from benchmarks.soak_scenarios import SCENARIOS, Scenario, Site, dropped
from benchmarks.soak_server import SoakServer, running
from llmcore import Client, LLMError

MAX_GROWTH_BYTES: Final = 8 * 1024 * 1024
MAX_MORE_OBJECTS: Final = 20
"""Of one class: what a few caches may come to hold."""
MAX_MORE_SCOPES: Final = 2_000
"""Of trio: ended scopes stay in the heap of its deadlines until they outnumber the others by
1,000."""
SETTLE_S: Final = 15.0
"""Seconds for what ends by itself: idle threads of trio live for 10."""


# -- running them


@define
class Record:
    """What came of it all."""

    problems: list[str] = field(factory=list)
    outcomes: Counter[str] = field(factory=Counter)

    def problem(self, text: str) -> None:
        """Keep *text*; the first hundred are enough."""
        if len(self.problems) < 100:
            self.problems.append(text)


async def _run(scenario: Scenario, site: Site, record: Record) -> None:
    try:
        with anyio.fail_after(60):
            await scenario(site)
        outcome = "ok"
    except LLMError as error:
        outcome = type(error).__name__
    except Exception as error:  # noqa: BLE001  (whatever it is, it should not have come)
        outcome = repr(error)
    record.outcomes[f"{scenario.__name__}: {outcome}"] += 1
    if outcome not in SCENARIOS[scenario]:
        record.problem(f"{scenario.__name__} ended with {outcome}")


async def _round(site: Site, record: Record, workers: int, seconds: float) -> None:
    """Run scenarios for *seconds*, then wait for those that run."""
    end = time.monotonic() + seconds
    on_trio = _on_trio()
    # trio warns of iterators that nobody closed, as it should
    scenarios = [one for one in SCENARIOS if not (on_trio and one is dropped)]

    async def work() -> None:
        while time.monotonic() < end:
            await _run(site.rng.choice(scenarios), site, record)

    async with anyio.create_task_group() as group:
        for _ in range(workers):
            group.start_soon(work)


# -- counting what is there


@frozen
class Census:
    """What this process holds."""

    memory: int
    files: int
    sockets: int
    threads: int
    tasks: int
    objects: Counter[str]


def census() -> Census:
    """Count, after collecting garbage."""
    for _ in range(3):
        gc.collect()
    kinds = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
    ours = {name: count for name, count in kinds.items() if name.startswith(_COUNTED)}
    files = _files()
    return Census(
        memory=_resident_bytes(),
        files=len(files),
        sockets=sum(one.startswith("socket:") for one in files),
        threads=threading.active_count(),
        tasks=_tasks(),
        objects=Counter(ours),
    )


_SCOPES: Final = ("trio.CancelScope", "trio._core._run.CancelReason")
_COUNTED: Final = ("llmcore.", "httpcore.", "h11.", "anyio.", "_asyncio.", "trio.", "builtins.coro")


def _files() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:
            continue  # the one that lists the others
    return found


def _resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _on_trio() -> bool:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def _tasks() -> int:
    if _on_trio():
        return trio.lowlevel.current_statistics().tasks_living
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:
        return 0


async def _settled(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + SETTLE_S
    while not condition():
        if time.monotonic() > end:
            return False
        await anyio.sleep(0.05)
    return True


# -- one event loop


async def _phase(
    server: SoakServer, record: Record, workers: int, seconds: float, rng: random.Random
) -> None:
    if not _on_trio():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: record.problem(f"asyncio: {context}"))
    before = census()
    client = Client()
    site = Site(client, server.url, rng)
    await _round(site, record, workers, seconds / 4)
    early = await _quiet(server, record, before)
    await _round(site, record, workers, seconds * 3 / 4)
    late = await _quiet(server, record, before)
    _compare(early, late, record)
    await client.aclose()
    if not await _settled(lambda: server.open_connections() == 0):
        record.problem(f"{server.open_connections()} connections are open after closing")
    if not await _settled(lambda: census().files <= before.files):
        record.problem(f"{census().files - before.files} files are open after closing")


async def _quiet(server: SoakServer, record: Record, before: Census) -> Census:
    """Return what is there while nothing runs; each connection is one that is kept in the pool."""

    def agreed() -> bool:
        return server.open_connections() == census().sockets - before.sockets

    if not await _settled(agreed):
        here, there = census().sockets - before.sockets, server.open_connections()
        record.problem(f"the server has {there} connections open, this process {here}")
    if not await _settled(lambda: census().tasks <= before.tasks + _own_tasks()):
        record.problem(f"{census().tasks - before.tasks} tasks are left")
    return census()


def _own_tasks() -> int:
    """Return how many tasks a loop has for itself once threads were used."""
    return 1 if _on_trio() else 0


def _compare(early: Census, late: Census, record: Record) -> None:
    grown = late.memory - early.memory
    print(f"   memory {early.memory >> 20} MiB after the warm-up, {grown / 2**20:+.1f} at the end")
    if grown > MAX_GROWTH_BYTES:
        record.problem(f"memory grew by {grown / 2**20:.1f} MiB")
    for name, count in (late.objects - early.objects).items():
        allowed = MAX_MORE_SCOPES if name in _SCOPES else MAX_MORE_OBJECTS
        if count > allowed:
            record.problem(f"{count} more {name} than after the warm-up")


class _Told(logging.Handler):
    """Takes what is logged for a problem."""

    def __init__(self, record: Record) -> None:
        super().__init__(logging.WARNING)
        self._record = record

    def emit(self, record: logging.LogRecord) -> None:
        self._record.problem(f"logged: {record.getMessage()}")


def _watch(record: Record) -> None:
    """Record every warning, every ignored exception, and what asyncio logs."""
    warnings.simplefilter("always")

    def show(message: Warning | str, kind: type[Warning], *_where: object) -> None:
        record.problem(f"{kind.__name__}: {message}")

    warnings.showwarning = show  # type: ignore[assignment]
    sys.unraisablehook = lambda it: record.problem(f"ignored: {it.exc_value!r} in {it.object!r}")
    threading.excepthook = lambda it: record.problem(f"in a thread: {it.exc_value!r}")
    logging.getLogger().addHandler(_Told(record))


def main() -> int:
    """Soak for as long as the arguments say; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="for both event loops")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    record = Record()
    _watch(record)
    threads = threading.active_count()
    with running() as server:
        for backend in ("asyncio", "trio"):
            print(f"-- {backend}", flush=True)
            rng = random.Random(given.seed)
            record.outcomes.clear()
            anyio.run(
                _phase, server, record, given.workers, given.seconds / 2, rng, backend=backend
            )
            for line, count in sorted(record.outcomes.items()):
                print(f"   {count:7} {line}")
            print(f"   {record.outcomes.total():7} in all", flush=True)
            if not anyio.run(_settled, lambda: threading.active_count() <= threads):
                record.problem(f"{threading.active_count() - threads} threads are left")
    for line, count in Counter(record.problems).items():
        print(f"PROBLEM ({count} times) {line}")
    print("soak: failed" if record.problems else "soak: nothing is left behind")
    return 1 if record.problems else 0


if __name__ == "__main__":
    sys.exit(main())
