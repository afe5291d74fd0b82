"""What all tests share: every asynchronous test runs on asyncio and on trio."""

import signal

import pytest
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start background jobs so, and their children inherit it: nothing could be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run and every machine, so that a change is judged by its own faults;
# `make fuzz` looks for new ones. No deadline: the machines that run this are shared.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("fixed")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Name the event loop an asynchronous test runs on."""
    name: str = request.param
    return name
