"""Shared by all tests: event loops, the examples of property tests, the order of the run."""

import gc
import logging
import os
import signal
from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs.browser import chromium
from tests.support.strategies.examples import leave_out_local_constants, register_profiles

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start background jobs so, and their children inherit it: nothing could be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)

register_profiles()

gc.disable()  # until all is collected: it would visit a growing heap that is there to stay


def pytest_configure(config: pytest.Config) -> None:
    """Let clients trust one certificate instead of the 150 of the system, unless for real servers.

    SDKs and httpx read the certificates for each client, which takes 25 ms, and the servers of the
    tests are local. Tests of certificates set the variables themselves.
    """
    goes_out = any(os.environ.get(name) == "true" for name in ("LLMCORE_LIVE", "RECORD"))
    if not (goes_out or config.getoption("llmcore_record", default=False)):
        os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support/servers/authority.pem")
        os.environ.pop("SSL_CERT_DIR", None)


def worker_of(config: pytest.Config) -> tuple[int, int]:
    """Return the number of this worker of pytest-xdist, from 0, and how many there are."""
    given = getattr(config, "workerinput", {"workerid": "gw0", "workercount": 1})
    return int(given["workerid"].removeprefix("gw")), given["workercount"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Run one Chromium for the tests of a module."""
    with chromium() as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have each worker of pytest-xdist read the test files from another one on.

    In a fresh clone, compiling them with the messages of failing assertions takes as long as all
    their imports; each worker finds most of them compiled by the others.
    """
    config = session.config
    number, workers = worker_of(config)
    if workers > 1 and config.args_source is config.ArgsSource.TESTPATHS:
        root = Path(__file__).parent
        found = (path.relative_to(root) for path in root.rglob("test_*.py"))
        files = [str(root / path) for path in sorted(found) if path.parts[0] != "clients"]
        first = len(files) * number // workers
        config.args[:] = files[first:] + files[:first]


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Put the tests of the embedded model first, and deal the files of all others out like cards.

    All workers of pytest-xdist must have one order, whichever file they read first. They begin
    with contiguous parts of the list: one worker runs all tests of the model, and loads it once.
    Each gets files of all rooms, as those of some mostly wait for other processes.
    """
    workers = worker_of(config)[1]
    if workers > 1:
        items.sort(key=lambda item: item.path)
    yield
    if workers > 1:
        model = [item for item in items if item.get_closest_marker("local_model")]
        of_model = {*model}
        others = [item for item in items if item not in of_model]
        files = [list(tests) for _, tests in groupby(others, key=lambda item: item.path)]
        dealt = (tests for worker in range(workers) for tests in files[worker::workers])
        items[:] = [*model, *chain.from_iterable(dealt)]


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    """Have workers of pytest-xdist send a message for a test that passes, not six.

    The controller only counts tests, unless options ask for all phases or a report in a file;
    messages are otherwise half of what the run of a small test costs.
    """
    if type(plugin).__name__ != "WorkerInteractor":
        return
    option = plugin.config.option  # type: ignore[attr-defined]
    if option.durations is not None or option.xmlpath or option.verbose > 0:
        return
    send = plugin.sendevent  # type: ignore[attr-defined]

    def send_what_counts(name: str, **event: Any) -> None:
        phase = event.get("data", {}) if name == "testreport" else {"when": name}
        if phase["when"] in ("setup", "teardown") and phase["outcome"] == "passed":
            return
        if name not in ("logstart", "logfinish"):
            send(name, **event)

    plugin.sendevent = send_what_counts  # type: ignore[attr-defined]


def pytest_sessionstart() -> None:
    """Apply what depends on the profile that the command line chose."""
    leave_out_local_constants()


def pytest_collection_finish() -> None:
    """Exclude modules and collected tests from garbage collection, which begins here.

    There are some hundred thousand objects of them, which every full collection would visit again.
    """
    gc.freeze()
    gc.enable()


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


@pytest.fixture
def restored_logs() -> Iterator[None]:
    """Put loggers back as they were: the gateway sets them up for its process."""
    names = (None, "llmcore", "uvicorn", "uvicorn.error", "uvicorn.access")
    loggers = [logging.getLogger(name) for name in names]
    before = [
        (one.handlers[:], one.filters[:], one.propagate, one.level, one.disabled) for one in loggers
    ]
    yield
    for one, state in zip(loggers, before, strict=True):
        one.handlers, one.filters, one.propagate, level, one.disabled = state
        one.setLevel(level)
