"""A prepared request is typed by its protocol's body, from the facade to `prepared.body`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = "tests/support/programs/typed_bodies.py"


@pytest.mark.parametrize("checker", ["mypy --strict", "pyright --pythonpath {python}"])
def test_type_checkers_know_the_native_body_of_a_prepared_request(checker: str) -> None:
    """The program states each type with `assert_type`, and indexes a body without a cast."""
    command = checker.format(python=sys.executable).split()

    ran = subprocess.run(
        [sys.executable, "-m", *command, PROGRAM],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert ran.returncode == 0, ran.stdout
