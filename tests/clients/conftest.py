"""A gateway as a process, in front of a scripted upstream or of the local model.

With `RECORD_CLIENTS=true` what the clients send is written to `cassettes/clients`.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.programs.client_programs import CLIENT_KEY, require_clients
from tests.support.programs.client_recorder import recorded
from tests.support.programs.request_recorder import recording
from tests.support.servers.bridge_process import Gateway, gateway
from tests.support.servers.bridge_service import UPSTREAM_KEY
from tests.support.servers.client_gateway import SEAL_KEY, Bridge
from tests.support.servers.client_upstream import answer
from tests.support.servers.loopback import Loopback, serve

RECORDING = os.environ.get("RECORD_CLIENTS", "").lower() in ("1", "true", "yes")


def pytest_configure(config: pytest.Config) -> None:
    """Name our marker."""
    line = "recorded_as(name, package): the cassette that this test writes when it records"
    config.addinivalue_line("markers", line)


@pytest.fixture(scope="session", autouse=True)
def _clients() -> None:
    require_clients()


@pytest.fixture(scope="session")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, Loopback]]:
    folder = tmp_path_factory.mktemp("gateway")
    with (
        serve(answer) as upstream,
        gateway(
            folder,
            OPENROUTER_API_KEY=UPSTREAM_KEY,
            OPENROUTER_BASE_URL=f"{upstream.url}/v1",
            OPENBRIDGE_CLIENT_API_KEY=CLIENT_KEY,
            OPENBRIDGE_CHECK_STREAM="true",
            OPENBRIDGE_KEEP_ALIVE_SECONDS="0.1",
            OPENBRIDGE_RETRIES="0",
            OPENBRIDGE_SEAL_KEY=SEAL_KEY,
        ) as running,
    ):
        yield running, upstream


@pytest.fixture
def bridge(_running: tuple[Gateway, Loopback], request: pytest.FixtureRequest) -> Iterator[Bridge]:
    """Run a gateway in front of the scripted Chat server; its stream checks must all pass."""
    running, upstream = _running
    upstream.received.clear()
    before = len(running.lines)
    with ExitStack() as stack:
        url = running.url
        if RECORDING and (marked := request.node.get_closest_marker("recorded_as")):
            url = stack.enter_context(recorded(url, *marked.args))
        elif RECORDING:
            url = stack.enter_context(recording(url, request.node.name))
        made = Bridge(url, running, upstream, before)
        yield made
    broken = [line for line in made.lines() if line["level"] in ("error", "critical")]
    assert broken == []


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Run a gateway with nothing configured but the embedded model."""
    folder = tmp_path_factory.mktemp("local")
    kept = {"HOME": os.environ["HOME"]}  # the model is installed below it
    state = str(folder / "state.sqlite3")
    with gateway(
        folder,
        **kept,
        OPENBRIDGE_UPSTREAM="local",
        OPENBRIDGE_STATE_PATH=state,
        OPENBRIDGE_CHECK_STREAM="true",
    ) as running:
        yield running
