"""Runs the steps of deploy/Dockerfile without Docker, and checks what they make.

    python scripts/check_image.py

The package is installed by the image's own script into a folder, which then is read-only. The
gateway is started there with the image's variables, user and command, is asked for its health as
Docker would ask, and is stopped by the image's signal while it streams a response, which must come
to its end. Needs root to become the image's user; otherwise the user stays the same.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
KEY = "client-key-of-the-check"
START_S = 60.0
STOP_S = 30.0


class Image:
    """What the Dockerfile says of its last stage, and how it installs the package."""

    def __init__(self, text: str) -> None:
        self.env: dict[str, str] = {}
        self.install: list[str] = []
        self.of: dict[str, str] = {}
        for line in text.replace("\\\n", " ").splitlines():
            name, _, rest = line.strip().partition(" ")
            if name == "ENV":
                variable, _, value = rest.partition("=")
                self.env[variable] = value.replace("$PATH", os.environ["PATH"])
            elif name == "RUN" and "install.sh" in rest:
                self.install = shlex.split(rest)
            elif name.isupper():
                self.of[name] = rest.strip()

    @property
    def command(self) -> list[str]:
        """The words of the process."""
        return [*json.loads(self.of["ENTRYPOINT"]), *json.loads(self.of["CMD"])]

    @property
    def healthcheck(self) -> list[str]:
        """The words of the health check."""
        words: list[str] = json.loads(self.of["HEALTHCHECK"].partition(" CMD ")[2])
        return words

    @property
    def user(self) -> int:
        """The number of the user."""
        return int(self.of["USER"].partition(":")[0])


class Upstream(BaseHTTPRequestHandler):
    """A Chat Completions server whose responses take a second."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Stream `Hello` letter by letter."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for letter in "Hello":
            choice = {"index": 0, "delta": {"content": letter}, "finish_reason": None}
            self._event({"id": "c1", "model": "m", "choices": [choice]})
            time.sleep(0.2)
        last = {"index": 0, "delta": {}, "finish_reason": "stop"}
        self._event({"id": "c1", "model": "m", "choices": [last]})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, event: Mapping[str, Any]) -> None:
        self.wfile.write(b"data: %b\n\n" % json.dumps(event).encode())
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def upstream() -> Iterator[str]:
    """Serve the upstream for the block; yield its base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def need(holds: bool, message: str) -> None:
    """End the check with *message* unless it *holds*."""
    if not holds:
        sys.exit(f"check_image: {message}")


def make_read_only(folder: Path) -> None:
    """Take the right to write from everything in *folder*."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222 | 0o444 | (0o111 if path.is_dir() else 0))


def python_for(user: int | None) -> str:
    """Return a Python that *user* can run: that of root's home cannot be reached by others."""
    wanted = "import sys, venv, ensurepip, pip; sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        path = os.path.realpath(python)
        with suppress(OSError):
            if subprocess.run([path, "-c", wanted], check=False, user=user).returncode == 0:
                return path
    sys.exit("check_image: there is no Python 3.11 with venv that the image's user can run here")


class Check:
    """The image in a folder, and how to run commands in it."""

    def __init__(self, image: Image, folder: Path) -> None:
        self.image = image
        self.places = {
            "/src": str(ROOT),
            "/opt/openbridge": str(folder / "opt"),
            "/var/lib/openbridge": str(folder / "state"),
        }
        self.state = folder / "state"
        self.user = image.user if os.geteuid() == 0 else None

    def placed(self, text: str) -> str:
        """Return *text* with the paths of the image where they are here."""
        for there, here in self.places.items():
            text = text.replace(there, here)
        return text

    def install(self) -> None:
        """Run the step that installs, and copy the health check."""
        environ = {**os.environ, "PYTHON": python_for(self.user)}
        subprocess.run([*map(self.placed, self.image.install)], check=True, env=environ)
        opt = Path(self.places["/opt/openbridge"])
        (opt / "healthcheck.py").write_bytes((ROOT / "deploy/healthcheck.py").read_bytes())
        make_read_only(opt)
        self.state.mkdir(mode=0o700)
        if self.user is not None:
            os.chown(self.state, self.user, self.user)

    def environ(self, **changes: str) -> dict[str, str]:
        """Return the image's variables, and *changes*; nothing of this machine's."""
        return {**{name: self.placed(value) for name, value in self.image.env.items()}, **changes}

    def start(self, words: list[str], environ: Mapping[str, str]) -> subprocess.Popen[str]:
        """Start a command of the image as its user."""
        program = self.places["/opt/openbridge"] + "/bin/" + words[0]
        return subprocess.Popen(
            [program, *map(self.placed, words[1:])],
            env=dict(environ),
            cwd=self.placed(self.image.of["WORKDIR"]),
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def output(self, words: list[str], environ: Mapping[str, str]) -> tuple[int, str]:
        """Run a command of the image; return its exit code and output."""
        process = self.start(words, environ)
        text, _ = process.communicate(timeout=START_S)
        return process.returncode, text


def check_refusal(check: Check) -> None:
    """Check that it does not listen on all addresses without a client key."""
    code, text = check.output(check.image.command, check.environ(OPENAI_API_KEY="k"))
    need(code != 0 and "OPENBRIDGE_CLIENT_API_KEY" in text, f"it started without a key: {text}")


def wait_for_health(check: Check, gateway: subprocess.Popen[str], environ: dict[str, str]) -> None:
    """Ask for its health as Docker does until it is well."""
    until = time.monotonic() + START_S
    while check.output(check.image.healthcheck, environ)[0] != 0:
        need(gateway.poll() is None, "it ended at its start")
        need(time.monotonic() < until, "it is not well")
        time.sleep(0.2)


def check_user(check: Check, pid: int) -> None:
    """Check that it runs as the image's user, who can write nothing but its state."""
    if check.user is None:
        return
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    ids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
    need(set(ids) == {str(check.user)}, f"it runs as {ids}")
    script = "import pathlib, sys; pathlib.Path(sys.prefix, 'made').write_text('x')"
    code, _ = check.output(["python", "-c", script], check.environ())
    need(code != 0, "its user can write to the installed files")


def check_drain(gateway: subprocess.Popen[str], port: int, which: signal.Signals) -> None:
    """Check that a stream comes to its end after the signal, and then the process."""
    body = json.dumps({"model": "m", "input": "Hi", "stream": True}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
    url = f"http://127.0.0.1:{port}/v1/responses"
    with urlopen(Request(url, body, headers), timeout=STOP_S) as answer:
        received = answer.readline()
        gateway.send_signal(which)
        received += answer.read()
    need(b"response.completed" in received, f"the stream was cut: {received[-300:]!r}")
    with suppress(subprocess.TimeoutExpired):
        gateway.wait(STOP_S)
    need(gateway.returncode in (0, -which), f"it ended with {gateway.returncode}")


def main() -> None:
    """Run the check."""
    image = Image(DOCKERFILE.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as made, upstream() as url:
        folder = Path(made)
        folder.chmod(0o755)
        check = Check(image, folder)
        began = time.monotonic()
        check.install()
        print(f"installed in {time.monotonic() - began:.1f} s")
        check_refusal(check)
        port = free_port()
        environ = check.environ(
            OPENBRIDGE_PORT=str(port),
            OPENBRIDGE_CLIENT_API_KEY=KEY,
            OPENBRIDGE_UPSTREAM_BASE_URL=url,
        )
        began = time.monotonic()
        gateway = check.start(image.command, environ)
        try:
            wait_for_health(check, gateway, environ)
            print(f"well after {time.monotonic() - began:.1f} s")
            check_user(check, gateway.pid)
            check_drain(gateway, port, signal.Signals[image.of["STOPSIGNAL"]])
            need((check.state / "openbridge.sqlite3").exists(), "its state is elsewhere")
            print("drained")
        finally:
            gateway.kill()


if __name__ == "__main__":
    main()
