"""Recording from the embedded model: `make record`."""

import os
from collections.abc import Iterator
from importlib.metadata import version

import anyio
import pytest

from llmcore.client.local.embedded import LocalServers
from llmcore.client.transport import Exchange
from llmcore.client.transport_selection import addressed
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Embedded, Timeouts
from llmcore.testing import Recorded


class _Embedded:
    """Carries requests to the embedded server, under the address that routes give it."""

    def __init__(self) -> None:
        self._servers = LocalServers(os.environ)

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> Exchange:
        http, base_url, key = await self._servers.running(Embedded())
        return await http.send(addressed(request, base_url, key), timeouts)

    async def aclose(self) -> None:
        """Stay: the server serves the whole session."""

    def stop(self) -> None:
        anyio.run(self._servers.aclose)


@pytest.fixture(scope="session")
def embedded() -> Iterator[_Embedded]:
    """Keep one server for all recordings."""
    transport = _Embedded()
    yield transport
    transport.stop()


@pytest.fixture
def cassette_transport(embedded: _Embedded) -> _Embedded:
    """Record from the embedded server."""
    return embedded


@pytest.fixture
def cassette_origin() -> Recorded:
    """Name the program, its version and the model."""
    return Recorded(
        server="llama.cpp (xllamacpp)",
        version=version("xllamacpp"),
        model="SmolLM2-135M-Instruct Q4_1",
    )
