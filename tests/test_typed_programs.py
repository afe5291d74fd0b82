"""Programs of users, under mypy and pyright in strict mode: each states its types itself."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted(str(path) for path in (ROOT / "tests/support/programs").glob("typed_*.py"))


@pytest.mark.parametrize("checker", ["mypy --strict", "pyright --pythonpath {python}"])
def test_programs_of_users_pass_the_type_checker_in_strict_mode(checker: str) -> None:
    """Each of them states types by `assert_type`, and uses values without a cast."""
    assert PROGRAMS
    command = checker.format(python=sys.executable).split()

    ran = subprocess.run(
        [sys.executable, "-m", *command, *PROGRAMS],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert ran.returncode == 0, ran.stdout
