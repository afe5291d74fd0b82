"""`llmcore config` and `llmcore keys`: what the user sets once, and how `ask` uses it."""

import io
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from llmcore.cli import main
from llmcore.cli.stored_keys import keys_file, with_stored_keys
from llmcore.cli.user_config import Template, config_file
from llmcore.schema.errors import InvalidRequestError
from tests.support.programs.packages import without
from tests.support.servers.loopback import Loopback


def body(server: Loopback) -> dict[str, Any]:
    """Return the body of the last request."""
    sent = server.received[-1].json
    assert isinstance(sent, dict)
    return sent


def test_the_default_model_and_system_prompt_are_used(server: Loopback) -> None:
    """Until an option says otherwise."""
    assert main(["config", "set", "model", "vllm:m-1"]) == 0
    assert main(["config", "set", "system", "Be brief."]) == 0
    assert main(["ask", "-q", "Hi"]) == 0
    assert (body(server)["model"], body(server)["messages"][0]["content"]) == ("m-1", "Be brief.")

    assert main(["ask", "-q", "-m", "vllm:m-2", "-s", "Be long.", "Hi"]) == 0
    assert (body(server)["model"], body(server)["messages"][0]["content"]) == ("m-2", "Be long.")
    assert main(["config", "unset", "model"]) == 0
    assert main(["ask", "-q", "Hi"]) == 9


def test_without_any_key_the_file_to_be_written_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "{}\n"
    assert str(config_file(os.environ)) in printed.err

    main(["config", "set", "system", "Be brief."])
    assert main(["config", "show"]) == 0
    assert capsys.readouterr() == ('{\n  "system": "Be brief."\n}\n', "")


def test_an_alias_stands_for_a_model(server: Loopback) -> None:
    """Also as the default model."""
    main(["config", "set", "alias.fast", "vllm:m-3"])
    assert main(["ask", "-q", "-m", "fast", "Hi"]) == 0
    assert body(server)["model"] == "m-3"
    main(["config", "set", "model", "fast"])
    assert main(["ask", "-q", "Hi"]) == 0
    assert body(server)["model"] == "m-3"


def test_a_template_gives_model_system_and_prompt(server: Loopback) -> None:
    """Its parameters are given with -p."""
    for name, value in {
        "model": "vllm:m-4",
        "system": "You translate.",
        "prompt": "To $language: $input",
    }.items():
        assert main(["config", "set", f"template.translate.{name}", value]) == 0
    assert main(["ask", "-q", "-t", "translate", "-p", "language=German", "Hi"]) == 0

    sent = body(server)
    assert sent["model"] == "m-4"
    assert [one["content"] for one in sent["messages"]] == ["You translate.", "To German: Hi"]


@pytest.mark.parametrize(
    ("prompt", "text", "filled"),
    [
        ("Sum up: $input", "x $y", "Sum up: x $y"),
        ("Sum up.", "x", "Sum up.\n\nx"),
        ("It costs $$5.", "", "It costs $5."),
        (None, "x", "x"),
    ],
)
def test_a_template_is_filled(prompt: str | None, text: str, filled: str) -> None:
    """Inserted values are not templates themselves."""
    assert Template(prompt=prompt).fill(text, {}) == filled


@pytest.mark.parametrize("prompt", ["$missing", "$ "])
def test_a_template_without_a_value_is_refused(prompt: str) -> None:
    """The error names the parameter, or the fault."""
    with pytest.raises(InvalidRequestError, match=r"-p missing=VALUE|invalid"):
        Template(prompt=prompt).fill("x", {})


def test_a_value_that_the_template_has_no_parameter_for_is_refused() -> None:
    """A misspelt name is reported before the parameter that it leaves without a value."""
    with pytest.raises(InvalidRequestError, match=r"no parameter 'langauge': did you mean 'lang"):
        Template(prompt="To $language: $input").fill("x", {"langauge": "German"})


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["config", "set", "modle", "x"], "there is no key 'modle'"),
        (["config", "set", "log", "maybe"], "log is on or off"),
        (["config", "set", "alias.", "x"], "there is no key"),
        (["ask", "-p", "a=b", "Hi"], "give -t NAME"),
    ],
)
def test_mistakes_in_the_configuration_are_named_before_anything_is_sent(
    command: list[str], told: str, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is sent."""
    assert main(command) == 2
    assert told in capsys.readouterr().err
    assert server.received == []


def test_a_template_that_does_not_exist_is_named(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", "-t", "nothing", "Hi"]) == 5
    err = capsys.readouterr().err
    assert "there is no template 'nothing' (store one with `llmcore config set" in err
    assert server.received == []


@pytest.mark.parametrize("content", ["{", "[]", '{"model": 1}', '{"modle": "x"}', "\xff"])
def test_a_broken_file_is_named(
    content: str, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may have been edited by hand."""
    path = config_file(os.environ)
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="latin-1")
    assert main(["ask", "Hi"]) == 9
    assert str(path) in capsys.readouterr().err


def test_the_configuration_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON, and where it is."""
    main(["config", "set", "alias.x", "openai:gpt-5.2"])
    assert main(["config"]) == 0
    assert json.loads(capsys.readouterr().out) == {"alias.x": "openai:gpt-5.2"}
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(config_file(os.environ))
    assert main(["config", "unset", "nothing"]) == 1


# -- keys


def test_a_key_is_kept_in_a_private_file_without_a_keyring(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is used, and never printed."""
    without(monkeypatch, "keyring")
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-secret\n"))
    assert main(["keys", "set", "vllm"]) == 0
    assert "programs and the gateway read the variable VLLM_API_KEY" in capsys.readouterr().err
    path = keys_file(os.environ)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert main(["ask", "-q", "-m", "vllm:m-1", "Hi"]) == 0

    assert server.received[0].headers["authorization"] == "Bearer sk-secret"
    main(["keys", "list"])
    shown = capsys.readouterr()
    assert "VLLM_API_KEY  in the file" in shown.out
    assert "sk-secret" not in shown.out + shown.err
    main(["keys", "list", "--json"])
    assert capsys.readouterr().out == '{"variable": "VLLM_API_KEY", "place": "file"}\n'
    assert main(["keys", "remove", "VLLM_API_KEY"]) == 0
    assert main(["keys", "remove", "vllm"]) == 1
    main(["keys", "list"])
    assert "no keys are stored" in capsys.readouterr().err
    assert "sk-secret" not in path.read_text()


def test_a_key_is_kept_in_the_keyring_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file has its name alone, and a variable wins over it."""
    keyring = pytest.importorskip("keyring")
    from keyring.backend import KeyringBackend

    class Ring(KeyringBackend):
        priority: Any = 5.0

        def __init__(self) -> None:
            self.kept: dict[tuple[str, str], str] = {}

        def get_password(self, service: str, username: str) -> str | None:
            return self.kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.kept[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            del self.kept[service, username]

    ring = Ring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: ring)
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-secret\n"))
    assert main(["keys", "set", "openai"]) == 0

    assert json.loads(keys_file(os.environ).read_text()) == {"OPENAI_API_KEY": None}
    plain = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    assert with_stored_keys(plain)["OPENAI_API_KEY"] == "sk-secret"
    assert with_stored_keys({**plain, "OPENAI_API_KEY": "own"})["OPENAI_API_KEY"] == "own"
    assert main(["keys", "remove", "openai"]) == 0
    assert ring.kept == {}


def test_a_stored_key_configures_its_provider(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without(monkeypatch, "keyring")
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\n"))
    main(["providers"])
    assert "✓ cohere" not in capsys.readouterr().out

    main(["keys", "set", "cohere"])
    main(["providers"])

    assert "✓ cohere" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("provider", "told", "code"),
    [
        ("opnai", "there is no provider 'opnai': did you mean 'openai'?", 9),
        ("local", "has no key", 5),
    ],
)
def test_keys_are_those_of_providers(
    provider: str,
    told: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A provider that needs none has none."""
    monkeypatch.setattr("sys.stdin", io.StringIO("sk\n"))
    assert main(["keys", "set", provider]) == code
    assert told in capsys.readouterr().err


def test_an_empty_key_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is stored."""
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main(["keys", "set", "openai"]) == 5
    assert not keys_file(os.environ).exists()
