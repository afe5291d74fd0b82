"""`openbridge serve` as a process of its own."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.support.servers.warm_process import WarmProcess

PROGRAM = "import sys; from llmcore.cli.openbridge import main; sys.exit(main(sys.argv[1:]))"


@frozen
class Gateway:
    process: subprocess.Popen[str] | WarmProcess
    url: str
    """With `/v1`."""
    lines: list[Any]
    """Its log."""


KEPT = ("PATH", "LLMCORE_CACHE_DIR", "SSL_CERT_FILE", "COVERAGE_PROCESS_CONFIG", "COVERAGE_FILE")


def environ(folder: Path, **variables: str) -> dict[str, str]:
    """Return an environment of nothing but what is needed."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "HOME": str(folder), "PYTHONPATH": os.getcwd(), **variables}


@contextmanager
def gateway(folder: Path, *, program: str = "", **variables: str) -> Iterator[Gateway]:
    """Run `openbridge serve` on a free port for the block.

    A *program*, such as `PROGRAM`, runs in an interpreter that has imported nothing, as for users.
    """
    arguments, given = ["serve", "--port", "0"], environ(folder, **variables)
    process: subprocess.Popen[str] | WarmProcess
    if program:
        command = [sys.executable, "-c", program, *arguments]
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, cwd=folder, env=given
        )
    else:
        process = WarmProcess(arguments, folder, given)
    assert process.stderr is not None
    lines: list[Any] = []
    url = ""
    for line in process.stderr:
        assert line.startswith("{"), line + process.stderr.read()
        lines.append(json.loads(line))
        if lines[-1]["event"] == "listening":
            url = lines[-1]["url"]
            break
    reader = threading.Thread(
        target=lambda: lines.extend(map(json.loads, filter(str.strip, process.stderr or ()))),
        daemon=True,
    )
    reader.start()
    try:
        assert url, lines
        yield Gateway(process, url, lines)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(5)
        process.stderr.close()


def refusal(folder: Path, **variables: str) -> tuple[int, str]:
    """Return the exit code and the output of an `openbridge serve` that refuses its settings."""
    process = WarmProcess(["serve", "--port", "0"], folder, environ(folder, **variables))
    with process.stderr:
        output = process.stderr.read()
    return process.wait(30), output
