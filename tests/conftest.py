"""Shared by all tests: event loops, the examples of property tests, the order of the run."""

import gc
import os
import signal
from pathlib import Path

import pytest

from tests.support.strategies.examples import (
    leave_out_local_constants,
    register_profiles,
)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start background jobs so, and their children inherit it: nothing could be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)

register_profiles()


def pytest_configure(config: pytest.Config) -> None:
    """Let clients trust one certificate instead of the 150 of the system, unless for real servers.

    SDKs and httpx read the certificates for each client, which takes 25 ms, and the servers of the
    tests are local. Tests of certificates set the variables themselves.
    """
    goes_out = any(os.environ.get(name) == "true" for name in ("LLMCORE_LIVE", "RECORD"))
    if not (goes_out or config.getoption("llmcore_record", default=False)):
        os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support/servers/authority.pem")
        os.environ.pop("SSL_CERT_DIR", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the embedded model first.

    Workers of pytest-xdist begin with contiguous parts of the list: one worker then runs them all,
    and loads the model once.
    """
    items.sort(key=lambda item: item.get_closest_marker("local_model") is None)


def pytest_sessionstart() -> None:
    """Apply what depends on the profile that the command line chose."""
    leave_out_local_constants()


def pytest_collection_finish() -> None:
    """Exclude modules and collected tests from garbage collection.

    There are some hundred thousand objects of them, which every full collection would visit again.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def leave_the_heap_out_of_collections(request: pytest.FixtureRequest) -> None:
    """Do the same before a module whose tests collect: what others imported and made is there.

    A test that collects at each of sixty steps takes half a minute otherwise, late in a run.
    """
    if vars(request.module).get("gc") is gc:
        gc.collect()
        gc.freeze()


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Return the name of the event loop that an asynchronous test runs on."""
    name: str = request.param
    return name
