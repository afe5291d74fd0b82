"""The loops that asyncio's part of the client runs on: its own, and uvloop where installed."""

import importlib.util

import pytest

ASYNCIO_LOOPS = [
    pytest.param("asyncio", id="asyncio"),
    pytest.param(
        ("asyncio", {"use_uvloop": True}),
        id="uvloop",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("uvloop") is None, reason="uvloop is not installed"
        ),
    ),
]
