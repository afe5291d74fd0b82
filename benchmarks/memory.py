"""The memory of processes of their own that read 200 streams at once, one for each engine."""

import asyncio
import resource
import subprocess
import sys
from typing import Any

from benchmarks.server import running

ENGINES = ("httpx", "aiohttp")
STREAMS = 200
NOT_OURS = ("click", "h2", "trio")
"""Packages that httpx and httpcore import where they are installed, which llmcore does not need."""


async def read(url: str, engine: Any) -> None:
    """Read all streams at once, and then make as many plain calls."""
    from benchmarks.ours import over_llmcore
    from llmcore import Client
    from llmcore.client.http.options import HttpOptions

    async with Client(http=HttpOptions(engine=engine)) as client:
        one = over_llmcore(client)
        await one(f"{url}/chat/text/200/1")
        first = _resident()
        await asyncio.gather(*(one(f"{url}/chat/text/200/1") for _ in range(STREAMS)))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        before = _resident()
        for _ in range(2 * STREAMS):
            await one(f"{url}/chat/plain/2000")
        kept = (_resident() - before) * 1e3 / (2 * STREAMS)
    print(
        f"{engine:10} after one stream {first:.0f} MB, {STREAMS} at once at most {peak:.0f} MB;"
        f" kept per finished call {kept:.2f} kB"
    )


def _resident() -> float:
    """Return the megabytes that the process holds now (Linux)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def main() -> None:
    """Run the benchmark in fresh processes."""
    with running() as url:
        for engine in ENGINES:
            command = [sys.executable, "-m", "benchmarks.memory", url, engine]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.modules.update(dict.fromkeys(NOT_OURS))  # type: ignore[arg-type]
    asyncio.run(read(*sys.argv[1:]))
