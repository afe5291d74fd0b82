"""`openbridge config`: check, show, init."""

import re
import stat
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from llmcore.bridge.configuration.document import parse_document
from llmcore.bridge.configuration.reading import settings_and_values, settings_of
from llmcore.bridge.configuration.show import SECRETS, shown
from llmcore.bridge.configuration.values import SECTIONS, file_keys
from llmcore.cli.openbridge import main
from llmcore.client.local import model_files

EXAMPLE = files("llmcore.bridge.configuration").joinpath("example.toml").read_text("utf-8")
CONFIG = """
[server]
port = 9000
client_api_key = "sk-client"
seal_key = "sk-seal"
[limits]
idle_seconds = 7
[[upstreams]]
name = "a"
provider = "anthropic"
key = "sk-upstream"
variables = { ANTHROPIC_BETA = "sk-variable" }
[[upstreams]]
name = "b"
provider = "anthropic"
key_command = ["sh", "-c", "echo vault-read"]
weight = 2
[models."claude x"]
targets = [["anthropic/claude-x"], { upstream = "b", model = "y", weight = 3 }]
aliases = ["x"]
[prefixes]
"gpt-" = { upstream = "a", strip = true }
[prices]
"b/claude y" = { input = 0.5, output = 2, cache_read = 0.05 }
[[clients]]
name = "ann"
key = "sk-ann"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty folder, with no variables of the gateway or of providers."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENBRIDGE_CONFIG", "OPENBRIDGE_UPSTREAM", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_valid_file_is_reported_as_valid(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "openbridge.toml").write_text(CONFIG)

    assert main(["config", "check"]) == 0
    assert "openbridge.toml: valid; upstreams: a, b; models: 2" in capsys.readouterr().out


def test_config_without_an_action_is_refused_with_the_actions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["config"])

    assert ended.value.code == 2
    assert "ACTION" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[server]\nprot = 1\n", "openbridge.toml line 2: server.prot is not a setting"),
        ("[server\n", "openbridge.toml line 1: "),
        (
            '[models.m]\ntargets = ["anthropic/x"]\n[routing]\notherwise = "refuse"\n',
            "the provider 'anthropic' is not configured",
        ),
        (
            '[[upstreams]]\nname = "a"\nprovider = "anthropic"\n',
            "the upstream 'a': give it a key, key_file or key_command, or set ANTHROPIC_API_KEY",
        ),
        (
            '[[upstreams]]\nname = "a"\nprovider = "openai"\nkey_file = "missing"\n',
            "openbridge.toml line 1: the upstream 'a': the key_file ",
        ),
        (
            '[[upstreams]]\nname = "a"\nprovider = "openai"\nkey_file = "missing"\n',
            "missing cannot be read: No such file or directory",
        ),
        (
            '[[upstreams]]\nname = "a"\nprovider = "openai"\nkey_command = ["no-such-program"]\n',
            "line 1: the upstream 'a': the program no-such-program of key_command is not found",
        ),
        (
            '[[clients]]\nname = "ann"\nkey_command = ["./no-such-program"]\n',
            "line 1: the client 'ann': the program ./no-such-program of key_command is not found",
        ),
        (
            '[[clients]]\nname = "ann"\nkey_command = ["sh", "-c", "exit 3"]\n',
            "line 1: the client 'ann': the program sh of key_command failed with exit code 3",
        ),
        (
            '[state]\nbackend = "redis"\nredis_url = "foo"\n',
            "openbridge.toml line 3: state.redis_url must begin with redis://",
        ),
        (
            '[state]\nbackend = "redis"\nredis_url = "redis://h?colour=red"\n',
            "state.redis_url in openbridge.toml is not the URL of a Redis server",
        ),
        (
            '[[clients]]\nname = "ann"\nkey_file = "/dev/null"\n',
            "the client 'ann': the key_file /dev/null is empty",
        ),
        (
            '[[upstreams]]\nname = "a"\nprovider = "openai-compatible"\n',
            "the upstream 'a': a compatible server needs a base_url",
        ),
    ],
)
def test_what_cannot_work_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    (folder / "openbridge.toml").write_text(text)

    assert main(["config", "check", "--upstream", "local"]) == 9
    assert says in capsys.readouterr().err


def test_effective_values_are_shown_with_their_origin_and_without_secrets(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "openbridge.toml").write_text(CONFIG)
    monkeypatch.setenv("OPENBRIDGE_RETRIES", "7")

    assert main(["config", "show"]) == 0
    output = capsys.readouterr().out
    values = tomllib.loads(output)

    assert "sk-" not in output
    assert re.search(r"^port = 9000 +# openbridge\.toml line 3: server\.port$", output, re.M)
    assert re.search(r"^retries = 7 +# OPENBRIDGE_RETRIES$", output, re.M)
    assert re.search(r"^max_running = 256 +# default$", output, re.M)
    assert values["routing"]["upstream"] == "anthropic"
    assert values["routing"]["otherwise"] == "pass"
    assert values["state"]["path"].endswith("/openbridge.sqlite3")
    assert values["state"]["max_entries"] == 100_000
    assert values["server"]["client_api_key"] == "[set]"
    assert values["upstreams"][0]["variables"] == {"ANTHROPIC_BETA": "[set]"}
    assert values["models"]["claude x"]["targets"][1][0]["weight"] == 3


def test_without_any_upstream_the_error_names_what_can_be_set(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only the embedded model, which has to be downloaded."""
    monkeypatch.setenv("OPENBRIDGE_UPSTREAM", "local")
    monkeypatch.setattr(model_files, "find", lambda _: None)

    assert main(["config", "check"]) == 9
    message = capsys.readouterr().err
    assert "`llmcore local install`, or set the key of a provider" in message


def test_what_is_shown_is_a_file_of_the_same_settings() -> None:
    """But for its secrets."""
    environ = {"ANTHROPIC_API_KEY": "k"}
    document = parse_document(Path("openbridge.toml"), CONFIG)
    settings, values = settings_and_values(environ, document)
    text = shown(settings, values)

    again = settings_of(environ, parse_document(Path("openbridge.toml"), text))

    assert again.limits == settings.limits
    assert again.tables.models == settings.tables.models
    assert again.tables.prefixes == settings.tables.prefixes
    assert again.tables.prices == settings.tables.prices != {}
    assert (again.retries, again.upstream) == (settings.retries, settings.upstream)


def test_the_example_is_valid_and_so_is_everything_in_its_comments() -> None:
    """Every setting is in it, and every comment that looks like one."""
    path = Path("openbridge.toml")
    whole = re.sub(r"(?m)^# (?=\[|[a-z\"_/]+ = |    \"|\])", "", EXAMPLE)
    alone = re.sub(r"(?m)^(model_map_path|prices_path) = .*\n", "", whole)

    plain = settings_of({"OPENAI_API_KEY": "k"}, parse_document(path, EXAMPLE))
    every = settings_of({"OPENAI_API_KEY": "k"}, parse_document(path, alone))

    assert (plain.port, plain.upstream, plain.state.backend) == (8787, "openai", "sqlite")
    assert [one.name for one in every.tables.upstreams] == ["anthropic-a", "vllm"]
    given = tomllib.loads(whole)
    for section, names in SECTIONS.items():
        if names:
            assert list(given[section]) == [file_keys(name)[1] for name in names]
    assert set(given["upstreams"][0]) >= {"name", "provider", "key_file", "weight", "max_running"}


def test_the_local_model_that_is_not_installed_is_an_error_before_requests_come(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "check", "--upstream", "local"]) == 9
    assert "run `llmcore local install`" in capsys.readouterr().err


def test_init_writes_the_example_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-a-test")
    path = folder / "openbridge.toml"

    assert main(["config", "init"]) == 0
    assert path.read_text() == EXAMPLE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("mine")
    assert main(["config", "init"]) == 9
    assert path.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["config", "init", "--force"]) == 0
    assert path.read_text() == EXAMPLE
    assert main(["config", "check"]) == 0


def test_settings_that_look_like_secrets_are_hidden() -> None:
    names = {name for names in SECTIONS.values() for name in names}
    suspicious = {
        name
        for name in names
        if name.endswith(("_KEY", "_TOKEN", "_SECRET")) or name in ("REDIS_URL", "POSTGRES_URL")
    }
    assert suspicious == SECRETS


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("serve", "--port", "abc"), "--port='abc' is not a whole number"),
        (("serve", "--workers", "-3"), "--workers=-3 must be at least 1 and at most 64"),
        (("run", "--env-file", "gone", "--", "x"), "--env-file names gone, which is not a file"),
        (("config", "check", "--upstream", "opnai"), "--upstream: there is no provider 'opnai'"),
        (("config", "show", "--config", "no.toml"), "--config names no.toml, which is not a file"),
        (("serve", "--host", "::1"), "OPENBRIDGE_PORT='x' is not a whole number"),
    ],
)
def test_errors_about_an_option_name_it(
    command: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An error about a variable names the variable."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    if "--host" in command:
        monkeypatch.setenv("OPENBRIDGE_PORT", "x")

    assert main(command) != 0
    assert f"ConfigurationError: {message}" in capsys.readouterr().err
