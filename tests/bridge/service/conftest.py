"""Shared by most tests of the gateway: an upstream of Chat Completions on loopback."""

from collections.abc import Iterator

import pytest

from llmcore.bridge.configuration.settings import GatewaySettings
from tests.support.servers.bridge_service import settings_for
from tests.support.servers.loopback import Loopback, chat_handler, serve


@pytest.fixture
def upstream() -> Iterator[Loopback]:
    """Serve an upstream that answers every request."""
    with serve(chat_handler) as running:
        yield running


@pytest.fixture
def settings(upstream: Loopback) -> GatewaySettings:
    """Return those of a gateway in front of it."""
    return settings_for(upstream.url)
