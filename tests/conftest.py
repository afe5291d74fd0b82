"""Shared by all tests: event loops, the examples of property tests, the order of the run."""

import gc
import signal

import pytest

from tests.support.strategies.examples import (
    leave_out_local_constants,
    register_profiles,
)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start background jobs so, and their children inherit it: nothing could be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)

register_profiles()


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
