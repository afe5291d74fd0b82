"""Every asynchronous test of HTTP runs over each engine and each event loop that it supports."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import pytest

from tests.support.programs.packages import without

ENGINES: Final[Mapping[str, Any]] = {
    "aiohttp": "asyncio",
    "aiohttp-uvloop": ("asyncio", {"use_uvloop": True}),
    "httpx": "asyncio",
    "httpx-uvloop": ("asyncio", {"use_uvloop": True}),
    "httpx-trio": "trio",
}


@pytest.fixture(params=ENGINES)
def anyio_backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the event loop; for the engine httpx, let aiohttp seem not to be installed."""
    name: str = request.param
    if name.endswith("uvloop"):
        pytest.importorskip("uvloop")
    if name.startswith("httpx"):
        without(monkeypatch, "aiohttp")
    return ENGINES[name]


Run = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine in an event loop of its own and returns its value."""


@pytest.fixture(params=[name for name, loop in ENGINES.items() if loop != "trio"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs coroutines over one engine, each in a new event loop of one kind."""
    name: str = request.param
    factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    if name.endswith("uvloop"):
        factory = pytest.importorskip("uvloop").new_event_loop
    if name.startswith("httpx"):
        without(monkeypatch, "aiohttp")

    def in_a_new_loop(work: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(work)

    return in_a_new_loop
