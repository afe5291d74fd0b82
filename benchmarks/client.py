"""The whole client over loopback against raw httpx and `json.loads` on the same bytes."""

import asyncio
import gc
import json
import resource
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import import_module

import httpx

from benchmarks.server import running
from llmcore import Client, Endpoint, Framing, Model, OpenAICompatible, Route, request
from llmcore.protocols import bedrock_converse

ROUNDS = 5

SHAPES = (
    (8, "8/write", (1_000, 10_000, 50_000)),
    (1, "1/write", (1_000, 10_000)),
    (0, "one a read", (1_000,)),
)
"""How streams are written: the server's number, its name, and of how many events."""

Variant = Callable[[str], Awaitable[int]]
"""Reads one stream at a URL and returns how many events it saw."""


async def raw_frames(url: str, http: httpx.AsyncClient) -> int:
    """Read AWS frames with httpx, slices and the standard library's JSON; no CRC is checked."""
    seen = 0
    async with http.stream("POST", url + "/raw", json={"stream": True}) as response:
        rest = b""
        async for data in response.aiter_raw():
            rest += data
            while len(rest) >= 12 and len(rest) >= (total := int.from_bytes(rest[:4])):
                headers = int.from_bytes(rest[4:8])
                json.loads(rest[12 + headers : total - 4])
                rest = rest[total:]
                seen += 1
    return seen


async def raw_httpx(url: str, http: httpx.AsyncClient) -> int:
    """Read with httpx, a hand-written split and the standard library's JSON."""
    if "/converse/" in url:
        return await raw_frames(url, http)
    seen = 0
    end = b"\r\n\r\n" if "/gemini/" in url else b"\n\n"
    async with http.stream("POST", url + "/raw", json={"stream": True}) as response:
        rest = b""
        async for data in response.aiter_raw():
            *blocks, rest = (rest + data).split(end)
            for block in blocks:
                payload = block.partition(b"data: ")[2]
                if payload != b"[DONE]":
                    json.loads(payload)
                    seen += 1
    return seen


@cache
def model_at(url: str) -> Model:
    """Return a model at *url*, by the protocol that its path names."""
    if "/converse/" in url:
        return Route.make(
            id="bedrock",
            provider="x",
            protocol=bedrock_converse.protocol,
            endpoint=Endpoint.path("/stream", base_url=url),
            framing=Framing.aws_event_stream(),
        ).model("m")
    for name in ("openai_responses", "anthropic_messages", "gemini"):
        if f"/{name.rpartition('_')[2]}/" in url:
            protocol = import_module(f"llmcore.protocols.{name}").protocol
            endpoint = Endpoint.path("/stream", base_url=url)
            return Route.make(id=name, provider="x", protocol=protocol, endpoint=endpoint).model(
                "m"
            )
    return OpenAICompatible.configure(name="bench", base_url=url, api_key="k").model("m")


async def ours(url: str, client: Client) -> int:
    """Read typed events with our client. A program configures its models once."""
    seen = 0
    async with client.stream(request(model=model_at(url), prompt="x")) as stream:
        async for _event in stream:
            seen += 1
    return seen


async def measure(
    variants: Mapping[str, Variant], url: str, rounds: int, *, in_a_row: int = 1
) -> dict[str, float]:
    """Return the least CPU seconds of each variant; of short streams, several are read in a row."""
    best = dict.fromkeys(variants, float("inf"))
    for _ in range(rounds):
        for name, variant in variants.items():
            gc.collect()
            gc.disable()
            started = time.thread_time()
            for _ in range(in_a_row):
                await variant(url)
            best[name] = min(best[name], (time.thread_time() - started) / in_a_row)
            gc.enable()
    return best


async def plain_raw(url: str, http: httpx.AsyncClient) -> int:
    """Make 50 plain requests with httpx."""
    for _ in range(50):
        response = await http.post(url + "/chat/completions", json={"model": "m"})
        json.loads(response.content)
    return 50


async def plain_ours(url: str, client: Client) -> int:
    """Make 50 plain requests with our client."""
    model = OpenAICompatible.configure(name="bench", base_url=url, api_key="k").model("m")
    for _ in range(50):
        (await client.generate(request(model=model, prompt="x"))).unwrap()
    return 50


async def many(url: str, variant: Variant, count: int) -> float:
    """Run *count* streams at once; return the CPU seconds."""
    started = time.thread_time()
    await asyncio.gather(*(variant(url) for _ in range(count)))
    return time.thread_time() - started


async def run(url: str) -> None:
    """Print the tables."""
    from httpx_aiohttp import AiohttpTransport

    warnings.simplefilter("ignore", DeprecationWarning)
    async with (
        httpx.AsyncClient() as http,
        Client() as client,
        httpx.AsyncClient(transport=AiohttpTransport()) as aio,
        Client(http=aio) as over_aiohttp,
    ):
        variants: dict[str, Variant] = {
            "raw httpx": lambda where: raw_httpx(where, http),
            "llmcore": lambda where: ours(where, client),
            "llmcore over aiohttp": lambda where: ours(where, over_aiohttp),
        }
        await measure(variants, f"{url}/text/1000/8", 1)
        columns = f"{'raw httpx':>12} {'llmcore':>9} {'ratio':>6} {'aiohttp':>9} {'ratio':>6}"
        print(f"{'stream':34} {columns}   (microseconds of CPU per event)")
        for kind in ("text", "tools", "responses", "messages", "gemini", "converse"):
            for per_write, how, counts in SHAPES:
                for count in counts:
                    if count == 50_000 and kind not in ("text", "tools"):
                        continue
                    best = await measure(
                        variants,
                        f"{url}/{kind}/{count}/{per_write}",
                        ROUNDS if count < 50_000 else 2,
                        in_a_row=5 if count == 1_000 and per_write else 1,
                    )
                    row = [best[name] / count * 1e6 for name in variants]
                    name = f"{kind}, {count} events, {how}"
                    print(
                        f"{name:34} {row[0]:12.1f} {row[1]:9.1f} {row[1] / row[0]:6.2f}"
                        f" {row[2]:9.1f} {row[2] / row[0]:6.2f}"
                    )
        plain = {
            "raw": lambda where: plain_raw(where, http),
            "ours": lambda where: plain_ours(where, client),
        }
        best = await measure(plain, f"{url}/plain/2000", ROUNDS)
        print(f"\nplain request: {best['ours'] / best['raw']:.2f} of raw httpx")
        streams = f"{url}/text/100/8"
        theirs = min([await many(streams, variants["raw httpx"], 200) for _ in range(3)])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        mine = min([await many(streams, variants["llmcore"], 200) for _ in range(3)])
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = f"{after / 1024:.0f} MB (+{(after - before) / 1024:.0f} MB)"
        print(f"200 streams at once: {mine / theirs:.2f} of raw httpx, peak memory {memory}")


def main() -> None:
    """Run the benchmark."""
    with running() as url:
        asyncio.run(run(url))
