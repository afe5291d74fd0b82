"""Programs of users, of the README and of `examples/` pass mypy and pyright in strict mode."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.docs.test_code_blocks import ROOT, blocks_of

pytestmark = pytest.mark.slow
MYPY = ["mypy", "--strict"]
"""With the configuration of the project, and so with what it has cached in `make lint`."""
PYRIGHT = ["pyright", "--pythonpath", sys.executable, "--project"]

UNTYPED = {"celery_tasks.py", "django_app.py", "streamlit_app.py"}
"""Programs over libraries that have no complete types."""

TYPED = sorted((ROOT / "tests/support/programs").glob("typed_*.py"))
"""Programs that state types by `assert_type`, and use values without a cast."""


@pytest.fixture(scope="module")
def checkers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Write each program into a folder, and start both type checkers on them at the same time."""
    folder = tmp_path_factory.mktemp("checked") / "programs"
    folder.mkdir()
    for number, (code, _, _) in enumerate(blocks_of((ROOT / "README.md").read_text())):
        (folder / f"readme_{number}.py").write_text("".join(code))
    for path in (ROOT / "examples").glob("*.py"):
        if path.name not in UNTYPED:
            (folder / path.name).write_text(path.read_text())
    for path in TYPED:
        (folder / path.name).write_text(path.read_text())
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))
    running = {
        command[0]: subprocess.Popen(
            [sys.executable, "-m", *command, str(folder)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for command in (MYPY, PYRIGHT)
    }
    yield running
    for process in running.values():
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()  # a checker that no test asked has not been read


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_programs_of_users_pass_the_type_checker_in_strict_mode(
    checker: str, checkers: dict[str, subprocess.Popen[str]]
) -> None:
    assert TYPED
    printed, _ = checkers[checker].communicate()

    assert checkers[checker].returncode == 0, printed
