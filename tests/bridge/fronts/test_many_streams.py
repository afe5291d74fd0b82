"""Hundreds of streams at the same time, of which many are left in the middle."""

import asyncio
import json
import random
import re
from typing import Any

import aiohttp
import pytest

from llmcore.bridge.configuration.settings import Limits
from llmcore.bridge.model_map import ModelMap
from tests.support.servers.front_gateways import MODEL, served, service_for, violations
from tests.support.servers.loopback import DONE, Answer, Received, chat_chunk, serve
from tests.support.waiting import wait_until
from tests.support.wire.matrix import COMPATIBLE

COUNT = 500
WORDS = 4


def prompt(number: int) -> str:
    """Return the word that one client alone says."""
    return f"word{number}."


def asked(number: int) -> tuple[str, dict[str, Any]]:
    """Return path and body of a client's request, for each API in turn."""
    said = prompt(number)
    messages = [{"role": "user", "content": said}]
    match number % 4:
        case 0:
            return "/v1/responses", {"model": MODEL, "input": said, "stream": True, "store": False}
        case 1:
            return "/v1/chat/completions", {"model": MODEL, "messages": messages, "stream": True}
        case 2:
            fields = {"model": MODEL, "max_tokens": 90, "stream": True}
            return "/v1/messages", {**fields, "messages": messages}
        case _:
            contents = [{"role": "user", "parts": [{"text": said}]}]
            path = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
            return path, {"contents": contents}


def echo(received: Received) -> Answer:
    """Say the client's word some times, slowly."""
    said = json.loads(received.body)["messages"][-1]["content"]
    script: list[bytes | float] = []
    for _ in range(WORDS):
        script += [chat_chunk(delta={"content": said}), 0.05]
    script += [chat_chunk(finish_reason="stop"), DONE]
    return Answer(script, headers={"content-type": "text/event-stream"})


async def one(client: aiohttp.ClientSession, url: str, number: int, *, leaves: bool) -> str:
    """Return what a client was sent, up to the moment when it left."""
    path, body = asked(number)
    data = b""
    async with client.post(url + path, json=body) as answer:
        assert answer.status == 200
        async for piece in answer.content.iter_any():
            data += piece
            if leaves and prompt(number).encode() in data:
                answer.close()  # or the connection would be read to its end for another request
                break
    return data.decode(errors="replace")


async def all_of(url: str, leaving: set[int]) -> list[str]:
    """Return what every client was sent."""
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    timeout = aiohttp.ClientTimeout(total=120)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as client:
        asks = (one(client, url, number, leaves=number in leaving) for number in range(COUNT))
        return await asyncio.gather(*asks)


@pytest.mark.slow
@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
def test_five_hundred_streams_do_not_mix_though_many_are_left(relay: bool) -> None:
    """Everyone who stays hears all of their own words; every place is free afterwards."""
    leaving = set(random.Random(7).sample(range(COUNT), COUNT // 3))
    with serve(echo) as server:
        service = service_for(
            COMPATIBLE.model_at(server.url),
            ModelMap(upstream="up"),
            relay=relay,
            limits=Limits(max_running=COUNT),
        )
        with served(service) as url:
            heard = asyncio.run(all_of(url, leaving))
            wait_until(lambda: running(service) == 0)

    for number, text in enumerate(heard):
        assert set(re.findall(r"word\d+\.", text)) == {prompt(number)}
        assert number in leaving or text.count(prompt(number)) >= WORDS
    assert violations(service) == 0


def running(service: Any) -> float:
    """Return how many responses are under way."""
    return float(service.metrics.running.shown()["value"])
