"""Processes that begin as copies of one that has imported the gateway, and so start in no time.

A start from nothing takes 0.6 s of a core, nearly all of it imports, and there are dozens in a run.
The copies are made by `multiprocessing`'s fork server: a process of one thread, which has done
nothing but import. They have a process of their own, with its signals and exit code.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

_SERVER: Any = get_context("spawn" if sys.platform == "win32" else "forkserver")
_IMPORTED = (
    "llmcore.bridge.http.server",
    "llmcore.bridge.http.http1",
    "llmcore.cli.commands",
    "llmcore.routes.openrouter",
    "llmcore.routes.openai_compatible",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
    "aiohttp",
)


def warm_process(target: Callable[..., None], *given: object) -> BaseProcess:
    """Start a process that calls *target*, a function of a module, with what is *given*."""
    _SERVER.set_forkserver_preload([__name__, *_IMPORTED])
    process: BaseProcess = _SERVER.Process(target=target, args=given, daemon=True)
    process.start()
    return process


class WarmProcess:
    """`openbridge` with *arguments*; like `subprocess.Popen`, as far as tests use it.

    `stderr` has what is written to stdout, too.
    """

    def __init__(self, arguments: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        reading, writing = _SERVER.Pipe(duplex=False)
        with reading, writing:
            given = (writing, list(arguments), str(folder), dict(environ))
            self._process = warm_process(_run, *given)
            self.stderr = os.fdopen(os.dup(reading.fileno()), encoding="utf-8")
        assert self._process.pid is not None
        self.pid = self._process.pid

    def send_signal(self, which: signal.Signals) -> None:
        """Send *which*, unless the process has ended; the fork server may report that later."""
        if self._process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, which)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; raises TimeoutExpired."""
        self._process.join(timeout)
        code: int | None = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("openbridge", timeout or 0.0)
        return code


def _run(stderr: Any, arguments: list[str], folder: str, environ: dict[str, str]) -> None:
    from llmcore.cli.openbridge import main

    for descriptor in (1, 2):
        os.dup2(stderr.fileno(), descriptor)
    stderr.close()
    # Those of before were made for what the descriptors were, which may be files.
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.exit(main(arguments))
