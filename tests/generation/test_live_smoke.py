"""The smoke test of three providers: with real keys where asked for, else with scripted responses.

    LLMCORE_LIVE=true OPENAI_API_KEY=... python -m pytest tests/generation/test_live_smoke.py

Providers whose key is not set are skipped.
"""

import json
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from llmcore import Client, Model
from llmcore.catalog.lookup import get_latest_model
from tests.support.programs import live_smoke
from tests.support.servers.loopback import Received
from tests.support.wire.matrix import COLUMNS, Column, Counts, Refused, Reply, Said, playing

pytestmark = pytest.mark.anyio

Check = Callable[[Model, Client], Awaitable[None]]
KEYS: Final = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
THREE: Final = [column for column in COLUMNS if column.id in ("openai", "anthropic", "gemini")]
HELLO: Final = Said(text="Hello.", counts=Counts(uncached=9, answer=3))


@pytest.mark.parametrize("check", live_smoke.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("provider", KEYS)
async def test_a_real_provider_passes_the_smoke_test(provider: str, check: Check) -> None:
    """Its newest model, over the network; only where `LLMCORE_LIVE` asks for it."""
    if os.environ.get("LLMCORE_LIVE", "").lower() != "true":
        pytest.skip("set LLMCORE_LIVE=true to ask real providers")
    if not any(os.environ.get(name) for name in KEYS[provider]):
        pytest.skip(f"set {' or '.join(KEYS[provider])}")
    newest = get_latest_model(provider, "tools")
    assert newest is not None
    async with Client.from_env() as client:
        await check(client.providers[provider].model(newest.id), client)


class Cache:
    """A provider that reads *share* of what it has seen before from its cache."""

    def __init__(self, column: Column, share: float) -> None:
        self._column = column
        self._share = share
        self._before = 0

    def __call__(self, received: Received) -> Said:
        body: Any = received.json
        length = len(json.dumps(self._column.history(body)))
        read, self._before = int(self._before * self._share), length
        return Said(text="7", counts=Counts(uncached=length - read, read=read))


def replies(column: Column) -> dict[Check, list[Reply]]:
    """Return what a provider that works responses to each check."""
    cities = "San Francisco", "New York"
    return {
        live_smoke.basic_answer: [HELLO],
        live_smoke.streamed_answer: [HELLO],
        live_smoke.parallel_tools: [
            Said(cities=cities),
            Said(text="Sunny in San Francisco and in New York."),
        ],
        live_smoke.picture: [HELLO],
        live_smoke.structured_output: [Said(text='{"name": "Alice", "age": 30}')],
        live_smoke.unknown_model: [Refused(status=404)],
        live_smoke.cached_conversation: [Cache(column, 1.0)],
    }


def faults(column: Column) -> dict[Check, list[Reply]]:
    """Return what a provider answers that does not pass."""
    return {
        live_smoke.basic_answer: [Said(text="", counts=Counts(uncached=9))],
        live_smoke.streamed_answer: [Said(thinking="Hm.", text="")],
        live_smoke.parallel_tools: [Said(cities=("Rome",)), Said(text="Sunny.")],
        live_smoke.picture: [Said(text="")],
        live_smoke.structured_output: [Said(text='{"name": "Alice", "age": 31}')],
        live_smoke.unknown_model: [HELLO],
        live_smoke.cached_conversation: [Cache(column, 0.4)],
    }


@pytest.mark.parametrize("check", live_smoke.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("column", THREE, ids=[column.id for column in THREE])
async def test_the_checks_pass_for_scripted_responses(column: Column, check: Check) -> None:
    """As a provider that works gives them."""
    with playing(column, *replies(column)[check]) as scene:
        async with Client() as client:
            await check(scene.model, client)


@pytest.mark.parametrize("check", live_smoke.CHECKS, ids=lambda check: check.__name__)
async def test_the_checks_fail_for_what_is_wrong(check: Check) -> None:
    """A check that nothing fails would prove nothing."""
    column = THREE[0]
    with playing(column, *faults(column)[check]) as scene:
        async with Client() as client:
            with pytest.raises((AssertionError, pytest.fail.Exception)):
                await check(scene.model, client)
