"""The memory of a process of its own that reads 200 streams at once."""

import asyncio
import resource
import subprocess
import sys

from benchmarks.server import running

STREAMS = 200


async def read(url: str) -> None:
    """Read all streams at once."""
    from llmcore import Client, OpenAICompatible, request

    model = OpenAICompatible.configure(name="bench", base_url=url, api_key="k").model("m")

    async def one(client: Client) -> None:
        async with client.stream(request(model=model, prompt="x")) as stream:
            async for _ in stream:
                pass

    async with Client() as client:
        await one(client)
        print(f"after one stream: {_resident():.0f} MB")
        await asyncio.gather(*(one(client) for _ in range(STREAMS)))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"after {STREAMS} at once: {_resident():.0f} MB, at most {peak:.0f} MB")


def _resident() -> float:
    """Return the megabytes that the process holds now (Linux)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def main() -> None:
    """Run the benchmark in a fresh process."""
    with running() as url:
        command = [sys.executable, "-m", "benchmarks.memory", f"{url}/text/200/1"]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    asyncio.run(read(sys.argv[1]))
