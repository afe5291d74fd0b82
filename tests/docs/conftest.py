"""Programs of the documentation run without a network: a stand-in answers for every provider."""

import logging
from collections.abc import Iterator

import pytest

from llmcore.client import client as client_module
from llmcore.client.transport_selection import Transports
from llmcore.generation import default_client
from tests.docs.stand_in import StandIn


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect clients without a transport of their own to the stand-in provider."""

    def transports(**given: object) -> Transports:
        if given.get("http") is None and given.get("transport") is None:
            given["transport"] = StandIn()
        return Transports(**given)  # type: ignore[arg-type]

    monkeypatch.setattr(client_module, "Transports", transports)
    monkeypatch.setattr(default_client, "_client", None)
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL", "COHERE", "ACME"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-example")


@pytest.fixture(autouse=True)
def levels_of_loggers_as_before() -> Iterator[None]:
    logger = logging.getLogger("llmcore.wire")
    level = logger.level
    yield
    logger.setLevel(level)
