"""Programs that are pointed at the gateway: by the text at its start, and by `openbridge run`."""

import json
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from llmcore.cli import gateway
from llmcore.cli.gateway_clients import Address, command, instructions, variables
from llmcore.cli.openbridge import main
from tests.support.servers.loopback import chat_handler, serve

ADDRESS = Address(root="http://127.0.0.1:8787", key="k-1", model="m-1")

ASK = """
import json, os, sys, urllib.request
body = json.dumps({"model": os.environ["ANTHROPIC_MODEL"], "input": "Hi"}).encode()
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/responses",
    body,
    {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"},
)
print(urllib.request.urlopen(request).status, file=open("asked.txt", "w"))
sys.exit(7)
"""


pytestmark = pytest.mark.usefixtures("restored_logs")


@pytest.mark.parametrize(
    "title",
    [
        "Claude Code",
        "Codex",
        "Gemini CLI",
        "opencode",
        "aider",
        "Copilot CLI",
        "Qwen Code",
        "SDKs",
    ],
)
def test_instructions_have_two_lines_for_each_program(title: str) -> None:
    """Both can be typed as they are: a shell splits them without an error."""
    lines = _blocks(instructions(ADDRESS))[title]

    assert len(lines) == 2
    assert any("http://127.0.0.1:8787" in line for line in lines)
    assert all(shlex.split(line) for line in lines)


def _blocks(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("  "):
            found[title].append(line)
        else:
            title = line.rstrip(":")
            found[title] = []
    return found


def test_variables_without_a_model_name_none() -> None:
    """Each program then asks for the model that it is set to."""
    named = variables(Address(root="http://127.0.0.1:8787"))

    assert not any("MODEL" in name for name in named)
    assert "OPENCODE_CONFIG_CONTENT" not in named


def test_variables_name_the_model_for_opencode_as_a_provider_of_its_own() -> None:
    """Its configuration is JSON in a variable."""
    config = json.loads(variables(ADDRESS)["OPENCODE_CONFIG_CONTENT"])

    assert config["model"] == "openbridge/m-1"
    assert config["provider"]["openbridge"]["options"]["baseURL"] == f"{ADDRESS.root}/v1"


@pytest.mark.parametrize("name", ["GEMINI_MODEL", "OPENAI_MODEL", "COPILOT_MODEL"])
def test_variables_name_the_model_as_each_program_reads_it(name: str) -> None:
    assert variables(ADDRESS)[name] == "m-1"


def test_codex_gets_a_provider_by_arguments_before_its_own() -> None:
    """It reads no variable for the URL."""
    words = command(["/usr/bin/codex", "exec", "Hi"], ADDRESS)

    assert words[-2:] == ["exec", "Hi"]
    assert any("http://127.0.0.1:8787/v1" in word for word in words)
    assert 'model="m-1"' in words


def test_run_starts_a_gateway_for_the_program_and_returns_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program reaches the upstream through it, with a key of this run alone."""
    monkeypatch.chdir(tmp_path)
    with serve(chat_handler) as upstream:
        monkeypatch.setenv("OPENBRIDGE_UPSTREAM_BASE_URL", f"{upstream.url}/v1")
        monkeypatch.setenv("OPENBRIDGE_STATE_BACKEND", "memory")
        code = main(["run", "--model", "m-1", "--", sys.executable, "-c", ASK])

    assert code == 7
    assert (tmp_path / "asked.txt").read_text() == "200\n"


def test_run_of_a_program_that_does_not_exist_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gateway ends with it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENBRIDGE_UPSTREAM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENBRIDGE_STATE_BACKEND", "memory")

    assert main(["run", "--", "no-such-program"]) != 0
    assert "no-such-program cannot be run" in capsys.readouterr().err


def test_on_windows_a_program_is_found_as_a_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """npm installs `claude.cmd`, which Windows does not run by the name `claude`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENBRIDGE_UPSTREAM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENBRIDGE_STATE_BACKEND", "memory")
    found = {"npm-tool": sys.executable}
    monkeypatch.setattr(gateway, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr("llmcore.cli.gateway.shutil.which", lambda name, path: found[name])

    assert main(["run", "--", "npm-tool", "-c", "exit(5)"]) == 5


def test_run_without_a_program_says_how_to_name_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is started."""
    assert main(["run"]) != 0
    assert "openbridge run -- claude" in capsys.readouterr().err
