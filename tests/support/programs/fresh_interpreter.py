"""Programs that a fresh interpreter runs, in which nothing is loaded yet."""

import os
import subprocess
import sys


def run_fresh(
    code: str, *arguments: str, check: bool = True, **environ: str
) -> "subprocess.CompletedProcess[str]":
    """Run *code* to its end; with *check*, a failure is an AssertionError with its stderr."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 or not check, done.stderr
    return done
