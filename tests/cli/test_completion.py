"""`llmcore completion` and `openbridge completion`: the scripts, run by installed shells."""

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import get_args

import pytest

from llmcore.bridge.accounts.issued_key import LIMITS
from llmcore.bridge.spend.report import GROUPS
from llmcore.catalog.lookup import Capability
from llmcore.cli import gateway_options, main, openbridge, options
from llmcore.cli.commands import COMMANDS, Commands
from llmcore.routes import github_credentials
from llmcore.schema.audio import Granularity
from tests.support.programs.packages import without


@pytest.fixture
def script(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Path:
    """Return the file of both completion scripts of a shell; skip without the shell."""
    pytest.importorskip("shtab")
    shell: str = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    for name, program in PROGRAMS.items():
        assert program(["completion", shell]) == 0
        (tmp_path / f"_{name}").write_text(capsys.readouterr().out)
    (tmp_path / "photo.png").touch()
    return tmp_path


PROGRAMS = {"llmcore": main, "openbridge": openbridge.main}
COMPLETED = [
    ("llmcore as", "ask"),
    ("llmcore ask --reas", "--reasoning-effort"),
    ("llmcore inspect --protocol bed", "bedrock-converse"),
    ("llmcore keys rem", "remove"),
    ("openbridge us", "usage"),
    ("openbridge keys rot", "rotate"),
    ("openbridge serve --wor", "--workers"),
    ("openbridge usage --format c", "csv"),
]
COMPLETED_FILES = [("llmcore ask --image ph", "photo.png"), ("openbridge replay ph", "photo.png")]


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(("line", "completed"), COMPLETED)
def test_bash_completes_commands_options_and_choices(
    script: Path, line: str, completed: str
) -> None:
    words = line.split()
    name = words[0]
    code = (
        f"source {script}/_{name}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _shtab_{name}"
    )

    done = subprocess.run(
        ["bash", "--norc", "-c", f'{code}; echo "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == [completed]


@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(("line", "completed"), [*COMPLETED, *COMPLETED_FILES])
def test_fish_completes_commands_options_choices_and_files(
    script: Path, line: str, completed: str
) -> None:
    name = line.partition(" ")[0]
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}/_{name}; complete -C '{line}'"],
        capture_output=True,
        text=True,
        check=True,
        cwd=script,
        env={**os.environ, "HOME": str(script)},
    )

    assert completed in [shown.split("\t")[0] for shown in done.stdout.splitlines()]


@pytest.mark.parametrize("script", ["zsh"], indirect=True)
@pytest.mark.parametrize(("line", "completed"), [*COMPLETED, *COMPLETED_FILES])
def test_zsh_completes_commands_options_choices_and_files(
    script: Path, line: str, completed: str
) -> None:
    setup = f"fpath=({script} $fpath); autoload -Uz compinit; compinit -u -D; echo REA''DY\n"

    shown = _typed(["zsh", "-f", "-i"], script, setup, "READY", line + "\t", completed)

    assert completed in shown


def _typed(shell: list[str], folder: Path, setup: str, ready: str, keys: str, expected: str) -> str:
    """Return what *shell* shows after *keys*, until *expected* or for five seconds."""
    master, slave = pty.openpty()
    environ = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(folder), "PS1": "% "}
    process = subprocess.Popen(
        shell,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environ,
        cwd=folder,
        start_new_session=True,
    )
    os.close(slave)
    try:
        os.write(master, setup.encode())
        _read_until(master, ready, 20)
        os.write(master, keys.encode())
        return _read_until(master, expected, 10)
    finally:
        process.kill()
        process.wait()
        os.close(master)


def _read_until(master: int, expected: str, seconds: float) -> str:
    shown, end = "", time.monotonic() + seconds
    while expected not in shown and time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            shown += os.read(master, 4096).decode(errors="replace")
    return shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
@pytest.mark.parametrize(
    ("program", "commands"), [("llmcore", COMMANDS), ("openbridge", openbridge.COMMANDS)]
)
def test_a_script_has_all_commands(
    program: str, commands: Commands, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("shtab")
    assert PROGRAMS[program](["completion", shell]) == 0

    script = capsys.readouterr().out
    assert all(name in script for name in commands)
    assert program in script


def test_completion_needs_an_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without(monkeypatch, "shtab")
    assert main(["completion", "bash"]) == 9
    assert "pip install 'llmcore-routes[cli]'" in capsys.readouterr().err


def test_choices_of_options_are_those_of_the_library() -> None:
    assert get_args(Granularity) == options.GRANULARITIES
    assert get_args(Capability) == options.CAPABILITIES
    assert options.LOGINS == (github_credentials.PROVIDER,)
    assert ", ".join(GROUPS) == gateway_options.GROUPS
    removable = {name.replace("-", "_") for name in gateway_options.REMOVABLE}
    assert removable - {"expires"} < set(LIMITS)
