"""The memory of a gateway over 100,000 responses: whole and streamed, in the four APIs.

    python -m benchmarks.bridge_memory --answers 100000
    python -m benchmarks.bridge_memory --answers 10000 --history 1000000

One process with the SQLite store responses 16 clients. What it holds is printed after each tenth.
With `--history`, each request has a conversation of so many bytes, and no two are the same.
Exits with 1 if it holds more than 5 % more at the end than after the first tenth, when caches are
filled.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.bridge_servers import FRONTS, Asked, gateway, upstream
from benchmarks.bridge_upstream import connected

CLIENTS: Final = 16
EVENTS: Final = 20
MAX_GROWTH: Final = 0.05
SAMPLES: Final = 10
_NUMBER: Final = "request 000000000000"
"""A text of the conversation, in which each request has its own number."""


def _conversation(front: str, size: int) -> Mapping[str, Any]:
    """Return the fields of a conversation of about *size* bytes; none for 0."""
    if not size:
        return {}
    texts = [f"{_NUMBER} {'words and more of them ' * 90}"] * (size // 2200 | 1)
    roles = ["user", "model" if front == "gemini" else "assistant"]
    named = [(roles[index % 2], text) for index, text in enumerate(texts)]
    if front == "gemini":
        return {"contents": [{"role": role, "parts": [{"text": text}]} for role, text in named]}
    messages = [{"role": role, "content": text} for role, text in named]
    return {"input" if front == "responses" else "messages": messages}


async def _ask(servers: list[Asked], numbers: range, history: int) -> None:
    """Ask for a response for each of *numbers*, each client one after the other."""
    left = iter(numbers)
    requests = [
        (one, stream, one.request(stream=stream, more=_conversation(one.front, history)))
        for one in servers
        for stream in (False, True)
    ]

    async def client() -> None:
        connection = await connected(servers[0].url)
        for number in left:
            one, stream, request = requests[number % len(requests)]
            own = request.replace(_NUMBER.encode(), b"request %012d" % number)
            one.check(await connection.ask(own), EVENTS if stream else 0)
        connection.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


def main() -> int:
    """Measure; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--history", type=int, default=0, help="bytes of each conversation")
    given = parser.parse_args()
    answers = given.answers // SAMPLES
    held = []
    with tempfile.TemporaryDirectory() as folder, upstream() as url:
        base = f"{url}/chat/{EVENTS}/0"
        with gateway(base, Path(folder), cores=os.sched_getaffinity(0)) as (address, pid, _):
            servers = [Asked(front, pid, address, front) for front in FRONTS]
            print(f"at the start: {servers[0].resident_mb:.1f} MB")
            for sample in range(1, SAMPLES + 1):
                begun = time.monotonic()
                numbers = range((sample - 1) * answers, sample * answers)
                asyncio.run(_ask(servers, numbers, given.history))
                held.append(servers[0].resident_mb)
                rate = answers / (time.monotonic() - begun)
                print(f"{sample * answers:8} responses: {held[-1]:.1f} MB ({rate:.0f} a second)")
                sys.stdout.flush()
    growth = held[-1] / held[0] - 1
    print(f"from the first tenth to the last: {growth:+.1%}")
    return 1 if growth > MAX_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
