"""The CPU time that is llmcore's own, without a network: plain calls, deltas, first events.

The transport is in this process and has the whole response at once. A delta is compared with
`orjson.loads` of its frame's payload; what is measured runs from the chunk's bytes to the event in
the caller's loop. Run with `python -m benchmarks.own_cost`, or `... count CASE TIMES` under
`valgrind --tool=callgrind --instr-atstart=no` for the instructions of all *TIMES* together.
"""

import asyncio
import gc
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import cache
from typing import Final

import orjson

from benchmarks import wire
from benchmarks.ours import model_at
from llmcore import Client, request
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.events import StreamStart

EVENTS: Final = 1000
PER_CHUNK: Final = 8
ROUNDS: Final = 9


class _Outcome:
    """A response that is there."""

    status = 200

    def __init__(self, content_type: str, chunks: list[bytes], come: asyncio.Event | None) -> None:
        self.headers: Mapping[str, str] = {"content-type": content_type, "x-request-id": "r-1"}
        self._chunks = chunks
        self._come = come

    def limit_reads(self, _seconds: float | None) -> bool:
        """Have no limits: nothing is waited for."""
        return True

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Iterate over the body, from when it has come."""
        if self._come is not None:
            await self._come.wait()
        for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        """Hold nothing."""


class _OperationApp:
    """A transport that gives the same response again and again."""

    def __init__(
        self, content_type: str, chunks: list[bytes], come: asyncio.Event | None = None
    ) -> None:
        self._answer = content_type, chunks, come

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> _Outcome:
        """Answer at once."""
        return _Outcome(*self._answer)

    async def aclose(self) -> None:
        """Hold nothing."""


def _grouped(events: list[bytes]) -> list[bytes]:
    return [b"".join(events[at : at + PER_CHUNK]) for at in range(0, len(events), PER_CHUNK)]


def _content_type(protocol: str) -> str:
    return "application/vnd.amazon.eventstream" if protocol == "converse" else "text/event-stream"


@cache
def _streaming(protocol: str, kind: str, count: int) -> Client:
    """Return a client that gets a stream, which is made once."""
    chunks = _grouped(wire.stream(protocol, kind, count))
    return Client(transport=_OperationApp(_content_type(protocol), chunks))


@cache
def _whole(protocol: str) -> Client:
    return Client(transport=_OperationApp("application/json", [wire.whole(protocol, 2000)]))


@cache
def _payloads(protocol: str, kind: str) -> list[bytes]:
    """Return the JSON of every frame."""
    frames = wire.stream(protocol, kind, EVENTS)
    if protocol == "converse":
        return [frame[12 + int.from_bytes(frame[4:8]) : -4] for frame in frames]
    found = (frame.partition(b"data: ")[2].strip() for frame in frames)
    return [payload for payload in found if payload != b"[DONE]"]


async def plain(protocol: str, times: int) -> None:
    """Make plain calls."""
    client = _whole(protocol)
    model = model_at(f"http://x/{protocol}")
    for _ in range(times):
        (await client.generate(request(model=model, prompt="x"))).unwrap()


async def first(protocol: str, times: int) -> None:
    """Read a stream that has one delta."""
    client = _streaming(protocol, "text", 1)
    model = model_at(f"http://x/{protocol}")
    for _ in range(times):
        async with client.stream(request(model=model, prompt="x")) as stream:
            async for _event in stream:
                pass


async def first_event(protocol: str, streams: int) -> float:
    """Return the CPU seconds from the bytes of a first frame to the first event in the caller.

    All *streams* wait for their bytes, which come at once, so that one wakes after the other.
    """
    come = asyncio.Event()
    chunks = wire.stream(protocol, "text", 1)[:1]
    client = Client(transport=_OperationApp(_content_type(protocol), chunks, come))
    model = model_at(f"http://x/{protocol}")
    opened = [client.stream(request(model=model, prompt="x")) for _ in range(streams)]
    waiting = [asyncio.ensure_future(anext(stream)) for stream in opened]
    for _ in range(10):
        await asyncio.sleep(0)
    started = time.thread_time()
    come.set()
    events = await asyncio.gather(*waiting)
    taken = time.thread_time() - started
    for stream in opened:
        await stream.aclose()
    if {type(event) for event in events} != {StreamStart}:
        raise RuntimeError(f"the first events are {events}")
    return taken / streams


async def deltas(protocol: str, kind: str, times: int) -> None:
    """Read long streams."""
    client = _streaming(protocol, kind, EVENTS)
    model = model_at(f"http://x/{protocol}")
    for _ in range(times):
        async with client.stream(request(model=model, prompt="x")) as stream:
            async for _event in stream:
                pass


def parsing(protocol: str, kind: str, times: int) -> None:
    """Read the JSON of their frames alone."""
    payloads, loads = _payloads(protocol, kind), orjson.loads
    for _ in range(times):
        for payload in payloads:
            loads(payload)


def least(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the least CPU seconds that *work* takes, once it has been done."""
    work()
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        started = time.thread_time()
        work()
        best = min(best, time.thread_time() - started)
        gc.enable()
    return best


def main() -> None:
    """Print the tables."""
    print(f"{'us of CPU':12}{'plain call':>12}{'short stream':>14}{'first event':>13}")
    for protocol in wire.PROTOCOLS:
        call = least(lambda: asyncio.run(plain(protocol, 50))) / 50  # noqa: B023
        short = least(lambda: asyncio.run(first(protocol, 50))) / 50  # noqa: B023
        event = min(asyncio.run(first_event(protocol, 50)) for _ in range(ROUNDS))
        cells = f"{call * 1e6:12.0f}{short * 1e6:14.0f}{event * 1e6:13.0f}"
        print(f"{protocol:12}{cells}", flush=True)
    print(f"\n{'us a delta, and orjson.loads of its frame':44}{'llmcore':>9}{'orjson':>9}{'':>9}")
    for protocol in wire.PROTOCOLS:
        for kind in wire.KINDS:
            ours = least(lambda: asyncio.run(deltas(protocol, kind, 2))) / 2 / EVENTS  # noqa: B023
            theirs = least(lambda: parsing(protocol, kind, 2)) / 2 / EVENTS  # noqa: B023
            cells = f"{ours * 1e6:9.2f}{theirs * 1e6:9.2f}{ours / theirs:9.2f}"
            print(f"{protocol + ', ' + kind:44}{cells}", flush=True)


def count(case: str, times: int) -> None:
    """Do one thing *times* times, counted by callgrind, after a few times that are not counted."""
    repeat(case, max(2, times // 4))
    gc.collect()
    gc.disable()
    switch_callgrind("on")
    repeat(case, times)
    switch_callgrind("off")


def switch_callgrind(state: str) -> None:
    """Count the instructions of this process from now on, or no longer."""
    subprocess.run(["callgrind_control", "-i", state, str(os.getpid())], check=True)


def repeat(case: str, times: int) -> None:
    """Do one thing again and again."""
    what, protocol, *kind = case.split("/")
    match what:
        case "plain":
            asyncio.run(plain(protocol, times))
        case "first":
            asyncio.run(first(protocol, times))
        case "deltas":
            asyncio.run(deltas(protocol, kind[0], times))
        case _:
            parsing(protocol, kind[0], times)


if __name__ == "__main__":
    if sys.argv[1:2] == ["count"]:
        count(sys.argv[2], int(sys.argv[3]))
    else:
        main()
