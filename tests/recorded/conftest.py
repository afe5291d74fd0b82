"""Recording from the embedded model: `make record`."""

import os
from collections.abc import Iterator
from importlib.metadata import version

import anyio
import pytest

from llmcore.testing import Recorded
from llmcore.testing.fixture import LiveTransport


class _Embedded(LiveTransport):
    """Keeps the embedded server for the whole session."""

    async def aclose(self) -> None:
        """Stay: the server serves the whole session."""

    def stop(self) -> None:
        anyio.run(super().aclose)


@pytest.fixture(scope="session")
def embedded() -> Iterator[_Embedded]:
    """Keep one server for all recordings."""
    transport = _Embedded(os.environ)
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
