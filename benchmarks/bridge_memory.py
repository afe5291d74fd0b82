"""The memory of a gateway over 100,000 answers: whole and streamed, in the four APIs.

    python -m benchmarks.bridge_memory --answers 100000

One process with the SQLite store answers 16 clients. What it holds is printed after each tenth.
Exits with 1 if it holds more than 5 % more at the end than after the first tenth, when caches are
filled.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.bridge_servers import FRONTS, Asked, gateway, upstream
from benchmarks.bridge_upstream import connected

CLIENTS: Final = 16
EVENTS: Final = 20
MAX_GROWTH: Final = 0.05
SAMPLES: Final = 10


async def _ask(servers: list[Asked], answers: int) -> None:
    """Ask for so many answers, each client one after the other."""
    numbers = count()
    requests = [
        (one, stream, one.request(stream=stream)) for one in servers for stream in (False, True)
    ]

    async def client() -> None:
        connection = await connected(servers[0].url)
        while (number := next(numbers)) < answers:
            one, stream, request = requests[number % len(requests)]
            one.check(await connection.ask(request), EVENTS if stream else 0)
        connection.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


def main() -> int:
    """Measure; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000)
    answers = parser.parse_args().answers // SAMPLES
    held = []
    with tempfile.TemporaryDirectory() as folder, upstream() as url:
        base = f"{url}/chat/{EVENTS}/0"
        with gateway(base, Path(folder), cores=os.sched_getaffinity(0)) as (address, pid, _):
            servers = [Asked(front, pid, address, front) for front in FRONTS]
            print(f"at the start: {servers[0].resident_mb:.1f} MB")
            for sample in range(1, SAMPLES + 1):
                begun = time.monotonic()
                asyncio.run(_ask(servers, answers))
                held.append(servers[0].resident_mb)
                rate = answers / (time.monotonic() - begun)
                print(f"{sample * answers:8} answers: {held[-1]:.1f} MB ({rate:.0f} a second)")
                sys.stdout.flush()
    growth = held[-1] / held[0] - 1
    print(f"from the first tenth to the last: {growth:+.1%}")
    return 1 if growth > MAX_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
