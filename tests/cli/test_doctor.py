"""`llmcore doctor`; how the command line starts."""

import json
import os
from collections.abc import Iterator

import pytest

from llmcore.cli import main
from llmcore.cli.commands import COMMANDS
from llmcore.cli.openbridge import COMMANDS as GATEWAY_COMMANDS
from llmcore.cli.user_config import config_file
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.servers.loopback import Answer, Loopback, serve


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """Run a server, configured in the environment as vLLM, and no other provider."""
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    headers = {"date": "Sat, 01 Jan 2000 00:00:00 GMT"}
    with serve(lambda _: Answer([b""], 404, headers, length=0)) as running:
        monkeypatch.setenv("VLLM_BASE_URL", running.url + "/v1")
        yield running


def test_the_doctor_finds_a_wrong_clock_and_an_open_way(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any response shows that the provider can be reached; no key is sent."""
    assert main(["doctor"]) == 1

    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("✓ vllm: http") and "answers in" in line for line in lines)
    assert any(line.startswith("✗ this machine's clock differs") for line in lines)
    assert "authorization" not in server.received[0].headers


def test_the_doctor_finds_what_is_wrong_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a connection: the files, and values that were pasted with their quotes."""
    monkeypatch.setenv("OPENAI_API_KEY", "'sk-secret'")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret-word@proxy:8080")
    path = config_file(os.environ)
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert main(["doctor", "--offline"]) == 1

    shown = capsys.readouterr().out
    assert "! openai: OPENAI_API_KEY has quotes" in shown
    assert f"✗ configuration: cannot read {path}" in shown
    assert "through the proxy proxy:8080" in shown
    assert "secret" not in shown
    assert server.received == []


def test_the_doctor_names_a_provider_that_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the address."""
    monkeypatch.setenv("VLLM_BASE_URL", "http://127.0.0.1:1/v1")
    assert main(["doctor"]) == 1
    assert "✗ vllm: cannot reach http://127.0.0.1:1/v1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("OPENAI_API_KEY", "sk-secret", "✓ openai: variable OPENAI_API_KEY"),
        ("OPENAI_API_KEY", "sk-secret secret", "! openai: OPENAI_API_KEY has a character"),
        ("OPENAI_API_KEY", "sk-...", "! openai: OPENAI_API_KEY is a placeholder"),
        ("OPENAI_API_KEY", "sk-ant-secret", "! openai: OPENAI_API_KEY has the form of a key of a"),
        ("ANTHROPIC_API_KEY", "sk-ant-secret", "✓ anthropic: variable ANTHROPIC_API_KEY"),
        ("VLLM_BASE_URL", "127.0.0.1:8912", "✗ vllm: base_url '127.0.0.1:8912' is not an http(s)"),
    ],
)
def test_the_doctor_finds_values_that_cannot_be_right(
    monkeypatch: pytest.MonkeyPatch,
    server: Loopback,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    shown: str,
) -> None:
    """No key is printed, and the other providers are checked."""
    monkeypatch.setenv(name, value)
    main(["doctor", "--offline"])

    printed = capsys.readouterr().out
    assert shown in printed
    assert "secret" not in printed


def test_the_doctor_checks_the_connections_beside_a_wrong_address(
    monkeypatch: pytest.MonkeyPatch, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", "127.0.0.1:11434")
    assert main(["doctor"]) == 1

    printed = capsys.readouterr().out
    assert "✗ ollama: base_url '127.0.0.1:11434' is not an http(s) URL" in printed
    assert "✓ vllm: http" in printed


def test_doctor_warns_if_no_provider_is_configured(
    monkeypatch: pytest.MonkeyPatch, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what to do."""
    monkeypatch.delenv("VLLM_BASE_URL")
    assert main(["doctor", "--offline"]) == 0
    assert "! no provider is configured" in capsys.readouterr().out
    assert main(["doctor", "--offline", "--json"]) == 0
    *_, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert last["level"] == "warning"
    assert last["text"].startswith("no provider is configured")


@pytest.mark.parametrize("option", ["--version", "--help"])
@pytest.mark.parametrize("program", ["cli", "cli.openbridge"])
def test_version_and_help_do_not_import_the_library(program: str, option: str) -> None:
    """They are there at once: the library itself is not imported."""
    code = (
        f"import sys\nfrom llmcore.{program} import main\ntry:\n"
        f"    main([{option!r}])\nexcept SystemExit:\n    pass\n"
        "own = [name for name in sys.modules if name.startswith('llmcore.')]\n"
        "slow = {'aiohttp', 'anyio', 'asyncio', 'attr', 'httpx', 'jiter'} & set(sys.modules)\n"
        "print(sorted(own), slow, file=sys.stderr)\n"
    )
    done = run_fresh(code)
    assert "llmcore" in done.stdout or "openbridge" in done.stdout
    loaded = {
        "cli",
        program,
        "cli.commands",
        "cli.program",
        "lazy_names",
        "names_in_modules",
        "version",
    }
    assert done.stderr.strip() == f"{sorted(f'llmcore.{name}' for name in loaded)} set()"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_loads_no_library(command: str) -> None:
    assert _loaded_by(f"from llmcore.cli import main\nmain([{command!r}, '--help'])") == set()


def test_marks_are_ascii_where_the_terminal_has_no_others() -> None:
    code = "from llmcore.cli import main; main(['doctor', '--offline'])"
    done = run_fresh(code, check=False, PYTHONIOENCODING="ascii", VLLM_BASE_URL="nonsense")

    lines = done.stdout.splitlines()
    assert lines[0].startswith("+ llmcore ")
    assert any(line.startswith("x vllm: base_url 'nonsense'") for line in lines)


@pytest.mark.parametrize("command", GATEWAY_COMMANDS)
def test_help_of_a_command_of_the_gateway_loads_no_library(command: str) -> None:
    code = f"from llmcore.cli.openbridge import main\nmain([{command!r}, '--help'])"
    assert _loaded_by(code) == set()


def _loaded_by(code: str) -> set[str]:
    """Return which packages that take long to import are loaded when *code* ends."""
    slow = {"aiohttp", "anyio", "asyncio", "cattrs", "httpx", "jiter", "msgspec"}
    last = f"import atexit, sys\natexit.register(lambda: print(*(set(sys.modules) & {slow!r})))\n"
    return set(run_fresh(last + code).stdout.splitlines()[-1].split())


def test_a_mistyped_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """With the nearest one."""
    with pytest.raises(SystemExit) as ended:
        main(["aks", "Hi"])
    assert ended.value.code == 2
    assert "did you mean 'ask'?" in capsys.readouterr().err


def test_options_are_not_abbreviated(capsys: pytest.CaptureFixture[str]) -> None:
    """A new option would change what an abbreviation means."""
    with pytest.raises(SystemExit) as ended:
        main(["ask", "--temp", "1", "Hi"])
    assert ended.value.code == 2
    assert "--temp" in capsys.readouterr().err
