"""What all tests share: every asynchronous test runs on asyncio and on trio."""

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Name the event loop an asynchronous test runs on."""
    name: str = request.param
    return name
