"""Streams that are closed or cancelled at any moment leave nothing behind.

On trio, an asynchronous generator that is not closed is a warning, and so an error here.
"""

import contextlib
import gc
import random
import socket
from collections import Counter
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from llmcore import Client, Failure, Timeouts, generate, request, stream
from llmcore.client.event_stream import EventStream
from llmcore.routes.http_request import HttpRequest
from llmcore.schema.errors import LLMError
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    Script,
    chat_chunk,
    chat_stream,
    model_at,
    serve,
)
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

SSE = {"content-type": "text/event-stream"}


def endless() -> Script:
    while True:
        yield chat_chunk(delta={"content": "x"})
        yield 0.002


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(lambda _: Answer(endless(), headers=SSE)) as running:
        yield running


async def test_closing_while_another_task_reads(server: Loopback) -> None:
    """Whatever the reader is doing at that moment, also when data has just come for it."""
    chance = random.Random(1)

    async def once(client: Client) -> None:
        running = client.stream(request(model=model_at(server.url), prompt="Hi"))
        async with anyio.create_task_group() as group:
            group.start_soon(running.result)
            await anyio.sleep(chance.uniform(0, 0.03))
            await running.aclose()
        assert isinstance(await running.result(), Failure)

    async with Client() as client:
        for _ in range(15):
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(once, client)
        gc.collect()
        assert await until(lambda: len(server.disconnects) == len(server.received))


async def test_streams_closed_while_another_task_reads_are_not_kept(server: Loopback) -> None:
    """Their requests are garbage once the results are: no error of a library refers to them."""

    async def once(client: Client) -> None:
        running = client.stream(request(model=model_at(server.url), prompt="Hi"))
        async with anyio.create_task_group() as group:
            group.start_soon(running.result)
            await until(lambda: running.partial_response.text != "")
            await running.aclose()

    def kept() -> int:
        gc.collect()
        return sum(type(each) is HttpRequest for each in gc.get_objects())

    async with Client() as client:
        before = kept()
        for _ in range(10):
            await once(client)
        assert await until(lambda: kept() <= before)


async def test_two_tasks_may_close(server: Loopback) -> None:
    """At the same time, also at the end of a response whose connection lingers."""
    server.handler = lambda _: Answer([*chat_stream(), 5.0], headers=SSE)
    async with Client() as client:
        for _ in range(10):
            running = client.stream(request(model=model_at(server.url), prompt="Hi"))

            def has_the_text(stream: EventStream = running) -> bool:
                return stream.partial_response.text == "Hello"

            async with anyio.create_task_group() as group:
                group.start_soon(running.result)
                assert await until(has_the_text)
                group.start_soon(running.aclose)
                group.start_soon(running.aclose)
    gc.collect()


async def test_cancelling_while_the_request_is_sent() -> None:
    """A server that does not read: the body is in the middle of the way."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        model = model_at(f"http://127.0.0.1:{deaf.getsockname()[1]}")
        async with Client() as client:
            with anyio.move_on_after(0.2) as scope:
                await client.generate(request(model=model, prompt="long " * 4_000_000))
            gc.collect()

    assert scope.cancelled_caught


def census() -> Counter[str]:
    """Count the objects of this library and of what carries its requests."""
    gc.collect()
    kinds = [type(one) for one in gc.get_objects()]
    return Counter(
        f"{kind.__module__}.{kind.__qualname__}"
        for kind in kinds
        if str(kind.__module__).partition(".")[0] in {"llmcore", "httpcore", "h11"}
    )


def moody(received: Received) -> Answer:
    """Behave as the prompt says."""
    body: Any = received.json
    match body["messages"][0]["content"]:
        case "refuse":
            return Answer([b"{}"], 500, {}, 2)
        case "cut":
            return Answer([chat_chunk(delta={"content": "a"})], headers=SSE, cut=True)
        case "stall":
            return Answer([chat_chunk(delta={"content": "a"}), 5.0], headers=SSE)
        case _:
            return Answer(chat_stream(), headers=SSE)


@pytest.mark.slow
async def test_objects_and_sockets_do_not_grow_with_calls(server: Loopback) -> None:
    """After streams that end well, badly, early and not at all, no object is left over."""
    server.handler = moody
    model = model_at(server.url)
    batches = 10  # more than the six requests of a call cancelled last, whose frames may still be

    async def batch(client: Client) -> None:
        for prompt in ("answer", "refuse", "cut", "stall"):
            given: dict[str, Any] = {
                "prompt": prompt,
                "client": client,
                "max_retries": 0,
                "timeout": Timeouts(idle=0.02) if prompt == "stall" else None,
            }
            for call in (generate(model, **given), stream(model, **given).result()):
                try:
                    await call
                except LLMError:
                    assert prompt != "answer"
            async with stream(model, **given) as running:
                async for _ in running:
                    break
            with contextlib.suppress(LLMError), anyio.move_on_after(0.001):
                await generate(model, **given)

    async with Client() as client:
        for _ in range(3):  # caches fill
            await batch(client)
        before = census()
        for _ in range(batches):
            await batch(client)
        grown = census() - before

    assert {name: count for name, count in grown.items() if count >= batches} == {}
