"""The least that a plain request over aiohttp can cost with frozen values, beside raw aiohttp.

    python -m benchmarks.floor
    valgrind --tool=callgrind --instr-atstart=no python -m benchmarks.floor count NAME TIMES [PATH]

It prints ratios of CPU time to `aiohttp.ClientSession` with orjson (the least of interleaved
rounds). `pool` sends a prepared request over llmcore's connections and reads the body. `frozen`
also makes the request, its body and its headers, and one frozen response; it checks nothing, and
has no events, time limits, diagnostics or costs. With `count` the instructions of the reader of
that name are counted, for a plain response of Chat Completions or the one at a path of
`benchmarks.server`, such as `gemini/text/10/all`.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

import aiohttp
import orjson

from benchmarks import raw
from benchmarks.client import cpu_time, measured
from benchmarks.ours import over_llmcore
from benchmarks.own_cost import switch_callgrind
from benchmarks.server import running
from benchmarks.wire import PROTOCOLS
from llmcore import Client, Message, request
from llmcore.client.http.http_transport import HttpTransport
from llmcore.client.http.options import HttpOptions
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.events import FinishReason
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

ROUNDS: Final = 9
IN_A_ROW: Final = 50
_TIMEOUTS: Final = Timeouts()
_HEADERS: Final = {"content-type": "application/json", "accept": "application/json"}
_TEXT_OF: Final[dict[str, Callable[[Any], str]]] = {
    "chat": lambda body: body["choices"][0]["message"]["content"],
    "responses": lambda body: body["output"][0]["content"][0]["text"],
    "messages": lambda body: body["content"][0]["text"],
    "gemini": lambda body: body["candidates"][0]["content"]["parts"][0]["text"],
    "converse": lambda body: body["output"]["message"]["content"][0]["text"],
}


def _sent(url: str, body: object) -> HttpRequest:
    headers = {**_HEADERS, "authorization": "Bearer k", "user-agent": "floor"}
    return HttpRequest(method="POST", url=f"{url}/raw", headers=headers, body=orjson.dumps(body))


async def _body(transport: HttpTransport, sent: HttpRequest) -> bytes:
    exchange = await transport.send(sent, _TIMEOUTS)
    return b"".join([chunk async for chunk in exchange.chunks()])


def over_pool(transport: HttpTransport) -> raw.Reader:
    """Return a reader of the bytes alone, over requests that are made once."""
    made: dict[str, HttpRequest] = {}

    async def read(url: str, first: Callable[[], object] | None = None) -> int:
        if url not in made:
            made[url] = _sent(url, raw.BODY)
        return len(await _body(transport, made[url]))

    return read


def over_frozen(transport: HttpTransport) -> raw.Reader:
    """Return a reader that makes a frozen request and a frozen response, and nothing between."""

    async def read(url: str, first: Callable[[], object] | None = None) -> int:
        asked = request(model="m", prompt="x")
        messages = [{"role": message.role, "content": message.text} for message in asked.messages]
        data = await _body(transport, _sent(url, {"model": "m", "messages": messages}))
        text = _TEXT_OF[url.split("/")[3]](orjson.loads(data))
        made = LLMResponse(
            provider="x",
            model="m",
            message=Message.assistant(text),
            finish_reason=FinishReason("stop"),
            usage=Usage(input_tokens=1, output_tokens=1, total_tokens=2),
        )
        return len(made.text)

    return read


async def _readers(stack: AsyncExitStack) -> dict[str, raw.Reader]:
    session = await stack.enter_async_context(aiohttp.ClientSession())
    options = HttpOptions(engine="aiohttp")
    client = await stack.enter_async_context(Client(http=options))
    transport = HttpTransport(options=options)
    stack.push_async_callback(transport.aclose)
    return {
        "raw": raw.over_aiohttp(session, orjson.loads),
        "pool": over_pool(transport),
        "frozen": over_frozen(transport),
        "llmcore": over_llmcore(client),
    }


async def compare(url: str) -> None:
    """Print the table."""
    async with AsyncExitStack() as stack:
        readers = await _readers(stack)
        print(f"{'plain request':12}{'raw, us':>10}" + "".join(f"{n:>10}" for n in [*readers][1:]))
        for protocol in PROTOCOLS:
            measure = partial(cpu_time, in_a_row=IN_A_ROW)
            best = await measured(readers, f"{url}/{protocol}/plain/2000", measure, ROUNDS)
            base, *others = best.values()
            cells = "".join(f"{other / base:10.2f}" for other in others)
            print(f"{protocol:12}{base * 1e6:10.0f}{cells}", flush=True)


async def count(url: str, name: str, times: int, path: str = "chat/plain/2000") -> None:
    """Read the response at *path* *times* times, counted by callgrind."""
    async with AsyncExitStack() as stack:
        read = (await _readers(stack))[name]
        for counted in (False, True):
            if counted:
                switch_callgrind("on")
            for _ in range(times):
                await read(f"{url}/{path}")
        switch_callgrind("off")


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    with running() as url:
        if arguments[:1] == ["count"]:
            asyncio.run(count(url, arguments[1], int(arguments[2]), *arguments[3:]))
        else:
            asyncio.run(compare(url))


if __name__ == "__main__":
    main(sys.argv[1:])
