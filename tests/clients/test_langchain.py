"""LangChain's three chat models, each over its own API."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs.client_programs import CLIENT_KEY, environ
from tests.support.servers.client_gateway import Bridge
from tests.support.servers.client_upstream import CITIES

PROVIDERS = ["openai", "anthropic", "google"]
FOLDER = Path(__file__).parent / "py"
PYTHON = os.environ.get("LANGCHAIN_PYTHON", "")

each = pytest.mark.parametrize("provider", PROVIDERS)


def scene(bridge: Bridge, name: str, provider: str) -> Any:
    assert PYTHON, "LangChain is missing: run `make test-clients`"
    done = subprocess.run(
        [PYTHON, str(FOLDER / "langchain_scenes.py"), name],
        env=environ(BASE_URL=bridge.url, API_KEY=CLIENT_KEY, MODEL="m-1", PROVIDER=provider),
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@each
def test_a_response_with_its_usage(bridge: Bridge, provider: str) -> None:
    """Tokens are those that the upstream counted."""
    made = scene(bridge, "create", provider)

    assert made["text"] == "Hello"
    assert made["usage"]["total_tokens"] == 5


@each
def test_streamed_pieces_add_up_to_the_response(bridge: Bridge, provider: str) -> None:
    """It arrives in pieces that add up."""
    made = scene(bridge, "stream", provider)

    assert made["text"] == "Hello"
    assert made["pieces"] >= 2


@each
def test_tools_in_several_turns(bridge: Bridge, provider: str) -> None:
    """Both calls are made, and the last text has both results."""
    made = scene(bridge, "tools", provider)

    assert made["called"] == list(CITIES)
    assert all(f"{city}: sunny" in made["text"] for city in CITIES)


@each
def test_a_refusal_of_the_upstream_raises(bridge: Bridge, provider: str) -> None:
    """The upstream's words are in the error."""
    raised = scene(bridge, "error", provider)

    assert raised is not None
    assert "as you wish" in raised["text"] or "429" in raised["text"]
