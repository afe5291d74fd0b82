"""What all tests share: every asynchronous test runs on asyncio and on trio."""

import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start background jobs so, and their children inherit it: nothing could be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Name the event loop an asynchronous test runs on."""
    name: str = request.param
    return name
