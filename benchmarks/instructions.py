"""What responses cost in instructions, which do not depend on what else the machine does.

    python -m benchmarks.instructions

The gateway and the relays run under `valgrind --tool=callgrind`, one after the other, and count the
instructions of their own process while they answer. The kernel's are not counted. Of a stream, what
it costs more than a whole response is divided by its events, which come one in each read.
"""

import asyncio
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.bridge import load
from benchmarks.bridge_servers import FRONTS, Asked, environment, listens, upstream

ANSWERS: Final = 60
STREAMS: Final = 4
EVENTS: Final = 60
_ANSWER: Final = f"{EVENTS}/100"
"""As the upstream's path names it: events, and the milliseconds between them, in which a gateway
under callgrind is done with the one before."""
_CALLGRIND: Final = ("valgrind", "--tool=callgrind", "--instr-atstart=no")
_GATEWAY: Final = "import sys; from llmcore.cli.openbridge import main; sys.exit(main())"
_TOTAL: Final = re.compile(r"^totals: (\d+)", re.MULTILINE)


@contextmanager
def _counted(
    folder: Path, port: int, command: Sequence[str], environ: dict[str, str]
) -> Iterator[int]:
    """Run Python with *command*, which listens at *port*, under callgrind; yield its process."""
    out = f"--callgrind-out-file={folder}/out.%p"
    process = subprocess.Popen(
        [*_CALLGRIND, out, sys.executable, *command],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not listens(port):
            time.sleep(0.1)
        yield process.pid
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _control(*command: str) -> None:
    subprocess.run(["callgrind_control", *command], check=True, capture_output=True)


def _instructions(folder: Path, pid: int) -> int:
    """Return the instructions since the last time, of all threads."""
    _control("-d", str(pid))
    found = 0
    for dump in folder.glob(f"out.{pid}.*"):
        found += sum(int(total) for total in _TOTAL.findall(dump.read_text()))
        dump.unlink()
    return found


async def _costs(folder: Path, pid: int, asked: Asked) -> str:
    """Return the thousands of instructions of one whole response, and of one event."""
    await load(asked, 1, 8, 0)  # which opens the store
    await load(asked, 8, 64, 0)
    await load(asked, STREAMS, STREAMS, EVENTS)
    _control("-i", "on", str(pid))
    await load(asked, 8, 16, 0)
    _instructions(folder, pid)
    await load(asked, 8, ANSWERS, 0)
    whole = _instructions(folder, pid) / ANSWERS / 1000
    await load(asked, STREAMS, STREAMS, EVENTS)
    event = (_instructions(folder, pid) / STREAMS / 1000 - whole) / EVENTS
    return f"{whole:12.0f} {event:12.1f}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


async def _run(upstream_url: str, folder: Path) -> None:
    print(f"{'thousands of instructions':24} {'whole answer':>12} {'event':>12}")
    relayed = [(f"{front} relayed", front, front, "true") for front in FRONTS]
    translated = [(f"{front} > chat", front, "chat", "false") for front in FRONTS]
    for name, front, protocol, relay in (*translated, *relayed):
        port = _free_port()
        environ = environment(f"{upstream_url}/{protocol}/{_ANSWER}", folder, port, protocol)
        environ["OPENBRIDGE_RELAY"] = relay
        command = ["-c", _GATEWAY, "serve", "--port", str(port)]
        with _counted(folder, port, command, environ) as pid:
            asked = Asked(name, pid, f"http://127.0.0.1:{port}", front)
            print(f"{name:24} {await _costs(folder, pid, asked)}", flush=True)
    port = _free_port()
    base = f"{upstream_url}/chat/{_ANSWER}"
    command = ["-m", "benchmarks.bridge_relays", "aiohttp", base, str(port)]
    with _counted(folder, port, command, environment(upstream_url, folder, port)) as pid:
        asked = Asked("relay, aiohttp", pid, f"http://127.0.0.1:{port}", "chat")
        print(f"{asked.name:24} {await _costs(folder, pid, asked)}", flush=True)


def main() -> None:
    """Run the benchmark, if valgrind is installed."""
    if shutil.which("callgrind_control") is None:
        print("valgrind is not installed")
        return
    with tempfile.TemporaryDirectory() as folder, upstream() as url:
        asyncio.run(_run(url, Path(folder)))


if __name__ == "__main__":
    main()
