"""The pytest plugin: the fixture `cassette`, recording, and its filters.

It is loaded whenever pytest starts, wherever llmcore is installed; so llmcore itself is
imported only when a test asks for a cassette.
"""

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from llmcore.testing.selection import MARKER, RecordedTest, Selection, describe

if TYPE_CHECKING:
    from llmcore.client.transport import Transport
    from llmcore.testing.cassette import Cassette, Origin
    from llmcore.testing.fixture import CassetteFixture


class RecordingSettings(NamedTuple):
    """The settings from options, the environment and the configuration file."""

    directory: Path
    selection: Selection
    record: bool
    in_ci: bool
    not_secret: tuple[str, ...]
    recorded: set[str]
    """The cassettes that this run has recorded: a second test with one of them replays it."""
    without_requests: list[str]
    """The tests whose new cassette is empty: what they sent may have passed it by."""


_SETTINGS = pytest.StashKey[RecordingSettings]()
_PASSED = pytest.StashKey[bool]()

# -- hooks


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; each can come from an environment variable as well."""
    group = parser.getgroup("llmcore", "recorded exchanges with LLM providers")
    group.addoption(
        "--record",
        action="store_true",
        dest="llmcore_record",
        help="record cassettes instead of replaying them (or RECORD=true; never with CI=true)",
    )
    for name, meaning in (
        ("provider", "of these providers"),
        ("prefix", "with cassettes in these folders"),
        ("tags", "with all of these tags"),
        ("test", "whose name, or cassette's path, has one of these in it"),
    ):
        group.addoption(
            f"--recorded-{name}",
            metavar="A,B",
            dest=f"llmcore_{name}",
            help=f"of the recorded tests, run those {meaning} (or RECORDED_{name.upper()})",
        )
    parser.addini("llmcore_cassettes", "directory of the cassettes", default="cassettes")
    parser.addini(
        "llmcore_not_secret", "texts that only look like credentials", type="linelist", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings."""
    config.addinivalue_line("markers", MARKER)
    names = ("provider", "prefix", "tags", "test")
    config.stash[_SETTINGS] = RecordingSettings(
        directory=config.rootpath / str(config.getini("llmcore_cassettes")),
        selection=Selection.of(
            {name: config.getoption(f"llmcore_{name}") for name in names}, os.environ
        ),
        record=bool(config.getoption("llmcore_record")) or _is_true("RECORD"),
        in_ci=_is_true("CI"),
        not_secret=tuple(config.getini("llmcore_not_secret")),
        recorded=set(),
        without_requests=[],
    )


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return the line of the report that names recording and the filters, if there are any."""
    settings = config.stash[_SETTINGS]
    lines = []
    if settings.record:
        what = "nothing is recorded: CI=true" if settings.in_ci else f"to {settings.directory}"
        lines.append(f"recording cassettes: {what}")
    if any(settings.selection):
        lines.append(f"recorded tests: {settings.selection}")
    return lines


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the tests that have recorded an empty cassette."""
    for test in config.stash[_SETTINGS].without_requests:
        terminalreporter.write_line(
            f"{test} sent nothing through its cassette; if it sends anything, give the code its "
            "client, as in generate(..., client=cassette.client())"
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the recorded tests that the filters leave out."""
    selection = config.stash[_SETTINGS].selection
    if not any(selection):
        return
    dropped = [item for item in items if _has_cassette(item) and not selection.wants(_test(item))]
    if dropped:
        left_out = set(dropped)
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=dropped)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Store whether the test passed, for the teardown of the fixture."""
    report = yield
    if call.when == "call":
        item.stash[_PASSED] = report.passed
    return report


# -- fixtures


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> "Iterator[CassetteFixture]":
    """Give the test its recorded exchanges: `cassette.client()` is a client over them."""
    settings = request.config.stash[_SETTINGS]
    test = _test(request.node)
    if _is_to_be_recorded(test, settings):
        with _turn(request, test, settings) as is_first:
            if is_first:
                yield from _recording(request, test, settings)
                return
    yield from _replaying(request, test, settings)


@pytest.fixture
def cassette_transport() -> "Transport":
    """Return the transport that recordings send requests by. Override it for your own server."""
    from llmcore.testing.fixture import LiveTransport

    return LiveTransport(os.environ)


@pytest.fixture
def cassette_origin() -> "Origin":
    """Return the origin of the recordings. Override it to name a program and its version."""
    from llmcore.testing.cassette import Recorded

    return Recorded()


def _is_to_be_recorded(test: RecordedTest, settings: RecordingSettings) -> bool:
    """Return whether *test* is to be recorded: an authored cassette never is."""
    if not settings.record or settings.in_ci or test.name in settings.recorded:
        return False
    path = test.path(settings.directory)
    if not path.exists():
        return True
    from llmcore.testing.cassette import Authored
    from llmcore.testing.cassette_file import load

    return not isinstance(load(path).metadata.origin, Authored)


@contextmanager
def _turn(
    request: pytest.FixtureRequest, test: RecordedTest, settings: RecordingSettings
) -> Iterator[bool]:
    """Wait while another worker of pytest-xdist records the cassette of *test*.

    Yields whether none has recorded it in this run. A file that all workers share is locked for
    the block, and is not empty once the cassette has been recorded.
    """
    if not hasattr(request.config, "workerinput") or sys.platform == "win32":
        yield True
        return
    import fcntl

    shared = request.getfixturevalue("tmp_path_factory").getbasetemp().parent
    digest = sha256(test.name.encode()).hexdigest()
    with (shared / f"cassette-{digest}").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield not file.read()
        if test.name in settings.recorded:
            file.write("recorded")


def _recording(
    request: pytest.FixtureRequest, test: RecordedTest, settings: RecordingSettings
) -> "Iterator[CassetteFixture]":
    from llmcore.testing.cassette import Metadata
    from llmcore.testing.fixture import CassetteFixture
    from llmcore.testing.recorder import Recorder

    missing = [name for name in test.requires if not os.environ.get(name)]
    if missing:
        pytest.skip(f"recording {test.name} needs {', '.join(missing)}")
    metadata = Metadata(
        name=test.name,
        provider=test.provider,
        protocol=test.protocol,
        tags=test.tags,
        origin=request.getfixturevalue("cassette_origin"),
    )
    recorder = Recorder(
        request.getfixturevalue("cassette_transport"),
        metadata,
        headers=test.headers,
        not_secret=settings.not_secret,
    )
    path = test.path(settings.directory)
    yield CassetteFixture(name=test.name, path=path, transport=recorder, record_mode="record")
    if request.node.stash.get(_PASSED, False):  # a failed test's exchanges are not saved
        if not recorder.cassette.interactions:
            settings.without_requests.append(test.node_id)
        recorder.save(path)
        settings.recorded.add(test.name)


def _replaying(
    request: pytest.FixtureRequest, test: RecordedTest, settings: RecordingSettings
) -> "Iterator[CassetteFixture]":
    path = test.path(settings.directory)
    again = f"pytest --record {test.node_id!r}"
    if not path.exists():
        pytest.fail(_missing(path, again, settings), pytrace=False)
    from llmcore.testing.fixture import CassetteFixture
    from llmcore.testing.player import Player

    stored = _loaded(path, again)
    player = Player(
        stored,
        realtime=test.realtime,
        order=test.order,
        headers=test.headers,
        hint=f"The cassette is {path}{_remedy(stored.metadata.origin, again)}",
    )
    yield CassetteFixture(name=test.name, path=path, transport=player, record_mode="replay")
    if request.node.stash.get(_PASSED, False):  # a failed test reports its own error
        player.finish()


def _loaded(path: Path, again: str) -> "Cassette":
    """Return the cassette in the file *path*; fail the test if it is damaged."""
    from llmcore.testing.cassette import CassetteError
    from llmcore.testing.cassette_file import load

    try:
        return load(path)
    except CassetteError as error:
        damage = str(error)
    # Outside the block, whose error would be shown with this one.
    pytest.fail(f"{damage}\nRestore the file, or record it again: {again}", pytrace=False)


def _remedy(origin: "Origin", again: str) -> str:
    from llmcore.testing.cassette import Authored

    if isinstance(origin, Authored):
        return f", written by hand after {origin.source}."
    return f". If the change is meant, record it again: {again}"


def _missing(path: Path, again: str, settings: RecordingSettings) -> str:
    where = " where there are keys and a network, and commit it" if settings.in_ci else ""
    reason = " (with CI=true nothing is recorded)" if settings.in_ci else ""
    return f"there is no cassette {path}{reason}. Record it{where}: {again}"


# -- reading


def _has_cassette(item: pytest.Item) -> bool:
    return "cassette" in getattr(item, "fixturenames", ())


def _test(item: pytest.Item) -> RecordedTest:
    try:
        return describe(item)
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from None


def _is_true(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() in {"1", "true", "yes", "on"}
