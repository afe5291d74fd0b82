"""Every asynchronous test of HTTP runs over each engine and each event loop that it supports."""

from collections.abc import Mapping
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
