"""The programs of the README and of `examples/` pass mypy and pyright in strict mode."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_code_blocks import ROOT, blocks_of

pytestmark = pytest.mark.slow
MYPY = ["mypy", "--strict", "--config-file", "", "--cache-dir", "../mypy-cache"]
PYRIGHT = ["pyright", "--pythonpath", sys.executable, "--project", "."]

UNTYPED = {"celery_tasks.py", "django_app.py", "streamlit_app.py"}
"""Programs over libraries that have no complete types."""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Write each block as a program; return their folder."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for number, (code, _, _) in enumerate(blocks_of((ROOT / "README.md").read_text())):
        (folder / f"readme_{number}.py").write_text("".join(code))
    for path in (ROOT / "examples").glob("*.py"):
        if path.name not in UNTYPED:
            (folder / path.name).write_text(path.read_text())
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))
    return folder


@pytest.mark.parametrize("command", [[*MYPY, "."], PYRIGHT], ids=["mypy", "pyright"])
def test_programs_pass_the_type_checker_in_strict_mode(
    programs: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ran = subprocess.run(
        [sys.executable, "-m", *command], check=False, cwd=programs, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
