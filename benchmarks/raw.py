"""Raw clients: httpx and aiohttp with a hand-written split and a JSON library, and nothing else.

They check nothing: no limits, no checksums, no errors, no end of the response. So they are the
floor for what reading a response costs.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol

import aiohttp
import httpx
import orjson

BODY: Final = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
_HEADERS: Final = {"content-type": "application/json", "authorization": "Bearer k"}

Loads = Callable[[bytes], Any]
Bodies = Callable[[str], AbstractAsyncContextManager[AsyncIterator[bytes]]]
"""Sends a request to a URL; gives the body as it comes."""


class Reader(Protocol):
    """Reads one response at a URL, calling *first* at the first payload after *skip* others."""

    async def __call__(self, url: str, first: Callable[[], object] | None = None) -> int:
        """Return how many payloads there were."""
        ...


def _aws_payloads(rest: bytes) -> tuple[list[bytes], bytes]:
    payloads = []
    while len(rest) >= 12 and len(rest) >= (total := int.from_bytes(rest[:4])):
        headers = int.from_bytes(rest[4:8])
        payloads.append(rest[12 + headers : total - 4])
        rest = rest[total:]
    return payloads, rest


def _sse_payloads(text: bytes, end: bytes) -> tuple[list[bytes], bytes]:
    *blocks, rest = text.split(end)
    return [block.partition(b"data: ")[2] for block in blocks], rest


def _splitter(url: str) -> Callable[[bytes], tuple[list[bytes], bytes]]:
    if "/converse/" in url:
        return _aws_payloads
    end = b"\r\n\r\n" if "/gemini/" in url else b"\n\n"
    return lambda text: _sse_payloads(text, end)


def _read_with(bodies: Bodies, loads: Loads) -> Reader:
    async def read(url: str, first: Callable[[], object] | None = None) -> int:
        seen, rest, split = 0, b"", _splitter(url)
        async with bodies(url) as body:
            if "/plain/" in url:
                loads(b"".join([data async for data in body]))
                return 1
            async for data in body:
                payloads, rest = split(rest + data)
                for payload in payloads:
                    if payload != b"[DONE]":
                        document = loads(payload)
                        seen += 1
                        if first is not None and b"words" in payload and document:
                            first()
                            first = None
        return seen

    return read


def over_httpx(http: httpx.AsyncClient, loads: Loads, dumps: Callable[[Any], Any]) -> Reader:
    """Return a reader over httpx."""

    @asynccontextmanager
    async def bodies(url: str) -> AsyncIterator[AsyncIterator[bytes]]:
        data = dumps(BODY)
        async with http.stream("POST", f"{url}/raw", content=data, headers=_HEADERS) as response:
            yield response.aiter_raw()

    return _read_with(bodies, loads)


def over_aiohttp(session: aiohttp.ClientSession, loads: Loads) -> Reader:
    """Return a reader over aiohttp."""

    @asynccontextmanager
    async def bodies(url: str) -> AsyncIterator[AsyncIterator[bytes]]:
        data = orjson.dumps(BODY)
        async with session.post(f"{url}/raw", data=data, headers=_HEADERS) as response:
            yield response.content.iter_any()

    return _read_with(bodies, loads)


def readers(
    http: httpx.AsyncClient, session: aiohttp.ClientSession
) -> Iterator[tuple[str, Reader]]:
    """Yield the raw clients by name; the first one twice, so that its spread shows."""
    yield "httpx json", over_httpx(http, json.loads, json.dumps)
    yield "again", over_httpx(http, json.loads, json.dumps)
    yield "httpx orjson", over_httpx(http, orjson.loads, orjson.dumps)
    yield "aiohttp orjson", over_aiohttp(session, orjson.loads)
