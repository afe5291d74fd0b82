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

PROGRAM = "import sys; from llmcore.cli.openbridge import main; sys.exit(main(sys.argv[1:]))"


@frozen
class Gateway:
    process: subprocess.Popen[str]
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
def gateway(folder: Path, **variables: str) -> Iterator[Gateway]:
    """Run `openbridge serve` on a free port for the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environ(folder, **variables),
    )
    assert process.stderr is not None
    lines: list[Any] = []
    url = ""
    for line in process.stderr:
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
