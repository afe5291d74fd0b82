"""A real PostgreSQL server for tests: that of the machine (Debian: `postgresql`).

Where it is not installed the tests are skipped with a reason.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from attrs import define

_PLACES = "/usr/lib/postgresql"
"""Where Debian keeps each version's programs, which are not on the path."""


def _program(name: str) -> str | None:
    found = sorted(Path(_PLACES).glob(f"*/bin/{name}"), reverse=True)
    return str(found[0]) if found else shutil.which(name)


def missing_postgres() -> str | None:
    """Return why a server cannot run here; None if it can."""
    if _program("initdb") is None or _program("postgres") is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    if find_spec("psycopg") is None:
        return "its client is not installed: pip install 'psycopg[binary]'"
    if os.geteuid() == 0 and _account() is None:
        return "PostgreSQL refuses to run as root, and there is no account postgres"
    return None


def _account() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


def _with_children(process: int) -> list[int]:
    """Return a process of Linux, and the processes that it has started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(found for child in children for found in _with_children(int(child)))]


@define
class PostgresServer:
    """A server on a Unix socket in *folder*, which can be stopped and started again."""

    folder: Path
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql:///postgres?host={self.folder}&user=postgres"

    def initialize(self) -> None:
        command = [_program("initdb") or "", "-D", str(self.folder / "data"), "-A", "trust"]
        command += ["-U", "postgres", "--no-sync", "--no-instructions"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **_user())  # type: ignore[call-overload]

    def start(self) -> None:
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", "fsync=off"]
        settings += ["max_connections=60", "shared_buffers=16MB"]
        given = [part for setting in settings for part in ("-c", setting)]
        self._process = subprocess.Popen(
            [_program("postgres") or "", "-D", str(self.folder / "data"), *given],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_user(),  # type: ignore[call-overload]
        )
        self._wait()

    @contextmanager
    def hung(self) -> Iterator[None]:
        """Stop all processes for the block: connections open, nothing is answered."""
        assert self._process is not None
        processes = _with_children(self._process.pid)
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                with suppress(ProcessLookupError):  # it was ending
                    os.kill(process, signal.SIGCONT)

    def _wait(self) -> None:
        import time

        import psycopg

        assert self._process is not None
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return
        pytest.fail(f"PostgreSQL did not start (exit code {self._process.poll()})")

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(20)
            self._process = None

    def clear(self) -> None:
        """Empty all tables of the gateway."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as db:
            names = [
                name
                for (name,) in db.execute(
                    "select tablename from pg_tables where tablename like 'openbridge_%'"
                ).fetchall()
            ]
            if names:
                db.execute(f"truncate {', '.join(names)}".encode())


def _user() -> dict[str, object]:
    """Return the account that the server runs as: it refuses to run as root."""
    account = _account()
    if os.geteuid() != 0 or account is None:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Run a server for the block; the test is skipped where it cannot run."""
    if why := missing_postgres():
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="llmcore-pg-", ignore_cleanup_errors=True) as folder:
        if os.geteuid() == 0 and (account := _account()) is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
        server = PostgresServer(Path(folder))
        try:
            server.initialize()
            server.start()
            yield server
        finally:
            server.stop()
