"""Keep what the command line stores in a folder of each test's own, and run a server."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.loopback import Loopback, chat_handler, serve


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("LLMCORE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Loopback]:
    """Run a Chat server, configured in the environment as vLLM.

    A module's `provider`, if it has one, handles its requests.
    """
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with serve(getattr(request.module, "provider", chat_handler)) as running:
        monkeypatch.setenv("VLLM_BASE_URL", running.url + "/v1")
        yield running
