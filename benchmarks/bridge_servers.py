"""The gateways and relays that are compared, each a process of its own, and what is asked of them.

On Linux they are pinned to the first core, and the upstream and the load to the last one.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from attrs import frozen

FRONTS: Final = ("responses", "chat", "messages", "gemini")
CORES: Final = os.sched_getaffinity(0)
"""Those of the benchmark before it keeps to one of them, which programs that it starts inherit."""
_PROGRAM: Final = "import sys; from llmcore.cli.openbridge import main; sys.exit(main())"
_UPSTREAMS: Final[Mapping[str, tuple[str, str, str]]] = {
    "chat": ("openai-compatible", "OPENBRIDGE_UPSTREAM_BASE_URL", "OPENBRIDGE_UPSTREAM_API_KEY"),
    "responses": ("openai", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "messages": ("anthropic", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "gemini": ("google", "GEMINI_BASE_URL", "GEMINI_API_KEY"),
}
"""A provider of each protocol, and the variables of its address and key."""
_USER: Final = [{"role": "user", "content": "x"}]
_BODIES: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "responses": ("/v1/responses", {"model": "m", "input": "x", "store": False}),
    "chat": ("/v1/chat/completions", {"model": "m", "messages": _USER}),
    "messages": ("/v1/messages", {"model": "m", "max_tokens": 99, "messages": _USER}),
    "gemini": ("/v1beta/models/m", {"contents": [{"parts": [{"text": "x"}]}]}),
}
DELTAS: Final[Mapping[str, bytes]] = {
    "responses": b"event: response.output_text.delta",
    "chat": b'"content":"words "',
    "messages": b"event: content_block_delta",
    "gemini": b'"text":"words "',
}
"""The bytes that each delta has once."""
_CHUNK_FRAMING: Final = re.compile(rb"\r\n[0-9a-fA-F]+\r\n")
"""What stands between two chunks of a body, which may begin anywhere in a delta."""


@frozen
class Asked:
    """A server, and the requests that it is sent."""

    name: str
    pid: int
    url: str
    front: str
    headers: Mapping[str, str] = MappingProxyType({})
    """Further headers of each request."""
    may_fail: bool = False
    """Whether it is left out where it fails, as the programs of others may."""

    def request(self, *, stream: bool, more: Mapping[str, Any] | None = None) -> bytes:
        """Return the bytes of a request; *more* are fields of its body."""
        path, body = _BODIES[self.front]
        if self.front == "gemini":
            path += ":streamGenerateContent?alt=sse" if stream else ":generateContent"
        elif stream:
            body = {**body, "stream": True}
        data = json.dumps({**body, **(more or {})}, separators=(",", ":")).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\nuser-agent: load/1\r\n"
            f"content-type: application/json\r\ncontent-length: {len(data)}\r\n"
        )
        more_headers = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        return f"{head}{more_headers}\r\n".encode() + data

    def check(self, answer: bytes, events: int) -> None:
        """Raise AssertionError unless *answer* is whole."""
        assert answer.startswith(b"HTTP/1.1 200"), answer[:2000]
        found = _CHUNK_FRAMING.sub(b"", answer).count(DELTAS[self.front])
        assert found >= events, f"{self.name}: {found} of {events} deltas"

    @property
    def cpu_s(self) -> float:
        """The CPU time of the process and its workers so far."""
        return sum(map(_cpu_s, _family(self.pid)))

    @property
    def resident_mb(self) -> float:
        """The memory that the process and its workers hold."""
        return sum(map(_resident_mb, _family(self.pid)))


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def _cpu_s(pid: int) -> float:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _resident_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


# -- processes


@contextmanager
def started(
    command: Sequence[str],
    environ: Mapping[str, str] | None = None,
    *,
    cores: set[int],
    python: bool = True,
) -> Iterator[subprocess.Popen[str]]:
    """Run *command*, of *python* or a program, on *cores* for the block."""
    process = subprocess.Popen(
        [sys.executable, *command] if python else command,
        env={**os.environ, **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    os.sched_setaffinity(process.pid, cores)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def first_core() -> set[int]:
    """Return the core of what is measured."""
    return {min(CORES)}


def last_core() -> set[int]:
    """Return the core of everything else."""
    return {max(CORES)}


@contextmanager
def upstream() -> Iterator[str]:
    """Run the upstream; its URL, below which the path names the response."""
    with started(["-m", "benchmarks.bridge_upstream"], cores=last_core()) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"


def environment(upstream_url: str, folder: Path, port: int, front: str = "chat") -> dict[str, str]:
    """Return the environment of a gateway at *port*, in front of the API *front*."""
    provider, url, key = _UPSTREAMS[front]
    return {
        **os.environ,
        "OPENBRIDGE_UPSTREAM": provider,
        url: upstream_url,
        key: "k",
        "OPENBRIDGE_STATE_PATH": str(folder / f"{port}.sqlite3"),
        "OPENBRIDGE_MAX_RUNNING": "1000",
    }


@contextmanager
def gateway(
    upstream_url: str,
    folder: Path,
    front: str = "chat",
    *,
    cores: set[int] | None = None,
    **variables: str,
) -> Iterator[tuple[str, int, float]]:
    """Run a gateway in front of the API *front*; its URL, process, and seconds to start."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = environment(upstream_url, folder, port, front) | variables
    begun = time.monotonic()
    command = ["-c", _PROGRAM, "serve", "--port", str(port)]
    with started(command, environ, cores=cores or first_core()) as process:
        while not _answers(port):
            assert process.poll() is None, "the gateway did not start"
            time.sleep(0.005)
        yield f"http://127.0.0.1:{port}", process.pid, time.monotonic() - begun


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            return client.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


@contextmanager
def all_servers(upstream_url: str, folder: Path, answer: str) -> Iterator[list[Asked]]:
    """Run every server in front of the *answer* (`200/0`: events, milliseconds between them)."""
    with ExitStack() as running:
        servers = []
        for kind in ("httpx", "aiohttp"):
            command = ["-m", "benchmarks.bridge_relays", kind, f"{upstream_url}/chat/{answer}"]
            process = running.enter_context(started(command, cores=first_core()))
            assert process.stdout is not None
            port = int(process.stdout.readline())
            while not listens(port):
                time.sleep(0.01)
            servers.append(Asked(f"relay, {kind}", process.pid, f"http://127.0.0.1:{port}", "chat"))
        url, pid, _ = running.enter_context(
            gateway(f"{upstream_url}/chat/{answer}", folder, OPENBRIDGE_RELAY="false")
        )
        servers += [Asked(f"{front} > chat", pid, url, front) for front in FRONTS]
        for front in FRONTS:
            base = f"{upstream_url}/{front}/{answer}"
            url, pid, _ = running.enter_context(gateway(base, folder, front))
            servers.append(Asked(f"{front} relayed", pid, url, front))
        yield servers


def listens(port: int) -> bool:
    """Return whether a server accepts connections at *port* of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
