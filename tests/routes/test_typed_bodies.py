"""Type checkers know prepared bodies and matched results, without a plugin."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = [
    "tests/support/programs/typed_bodies.py",
    "tests/support/programs/matched_results.py",
]


@pytest.mark.parametrize("checker", ["mypy --strict", "pyright --pythonpath {python}"])
def test_type_checkers_know_the_native_body_of_a_prepared_request(checker: str) -> None:
    """The programs state each type with `assert_type`, and indexes a body without a cast."""
    command = checker.format(python=sys.executable).split()

    ran = subprocess.run(
        [sys.executable, "-m", *command, *PROGRAMS],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert ran.returncode == 0, ran.stdout
