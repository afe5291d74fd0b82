"""The embedded servers of one client, with a server that only remembers what is done to it."""

from collections.abc import Mapping

import pytest

from llmcore.client.local.embedded import EmbeddedAddress, EmbeddedServer, LocalServers
from llmcore.routes.transport_spec import Embedded

pytestmark = pytest.mark.anyio


class Remembering:
    """Takes the place of a server, which would load a model."""

    def __init__(self, options: Embedded) -> None:
        self.options = options
        self.stops = 0
        self.address = EmbeddedAddress(socket_path="/nowhere", base_url="http://local")

    def stop(self) -> None:
        self.stops += 1


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Remembering]:
    """Return the servers that are started from now on."""
    servers: list[Remembering] = []

    def start(options: Embedded, _environ: Mapping[str, str]) -> Remembering:
        servers.append(Remembering(options))
        return servers[-1]

    monkeypatch.setattr(EmbeddedServer, "start", start)
    return servers


async def test_every_server_is_stopped_once_with_its_client(started: list[Remembering]) -> None:
    servers = LocalServers({})
    first, again, other = [
        await servers.running(spec) for spec in (Embedded(), Embedded(), Embedded(threads=2))
    ]

    await servers.aclose()
    await servers.aclose()

    assert first == again
    assert first[0] is not other[0]
    assert [(one.options.threads, one.stops) for one in started] == [(1, 1), (2, 1)]


async def test_a_server_is_started_again_after_the_end(started: list[Remembering]) -> None:
    servers = LocalServers({})

    for _ in range(2):
        await servers.running(Embedded(context_tokens=512))
        await servers.aclose()

    assert [(one.options.context_tokens, one.stops) for one in started] == [(512, 1)] * 2
