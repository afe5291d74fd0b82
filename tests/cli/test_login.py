"""`llmcore login` and `llmcore logout`, against a stand-in for GitHub."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from llmcore.cli import main
from llmcore.client.client import Client
from llmcore.client.github.login import login_file, read_login
from llmcore.routes.providers import PROVIDERS
from tests.support.servers.github_loopback import Github, answer, github


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Github]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("LLMCORE_CONFIG_DIR", raising=False)
    with github() as running:
        running.code = {"interval": 1}
        yield running


def login(stand_in: Github) -> int:
    command = ["login", "github-copilot", "--github-url", stand_in.url, "--api-url", stand_in.url]
    return main(command)


def test_logging_in_and_out(stand_in: Github, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what to enter where, and keeps the login; then it is gone."""
    assert login(stand_in) == 0
    shown = capsys.readouterr()
    kept = read_login(os.environ)

    assert "https://github.com/login/device" in shown.out
    assert "ABCD-1234" in shown.out
    assert str(login_file(os.environ)) in shown.out
    assert "gho_new" not in shown.out + shown.err
    assert kept is not None
    assert (kept.github_token, kept.api_url) == ("gho_new", stand_in.url)
    assert kept.exchanged is not None
    assert main(["logout", "github-copilot"]) == 0
    assert read_login(os.environ) is None
    assert main(["logout", "github-copilot"]) == 0
    assert "no login was stored" in capsys.readouterr().out


def test_a_login_is_seen_among_the_providers(
    stand_in: Github, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is ticked, with its file, as long as it is kept; a variable comes first."""
    monkeypatch.delenv("GITHUB_COPILOT_TOKEN", raising=False)

    def told() -> str:
        capsys.readouterr()
        assert main(["providers"]) == 0
        lines = capsys.readouterr().out.splitlines()
        return next(line for line in lines if line[2:].startswith("github-copilot "))

    assert told().startswith("  ")
    assert login(stand_in) == 0
    assert told().startswith("✓ ")
    assert str(login_file(os.environ)) in told()
    monkeypatch.setenv("GITHUB_COPILOT_TOKEN", "t")
    assert "GITHUB_COPILOT_TOKEN" in told()
    monkeypatch.delenv("GITHUB_COPILOT_TOKEN")
    assert main(["logout", "github-copilot"]) == 0
    assert told().startswith("  ")


def test_an_account_without_copilot(stand_in: Github, capsys: pytest.CaptureFixture[str]) -> None:
    """The login is not kept; the reason is GitHub's, the exit code that of no access."""
    stand_in.exchange = answer({"message": "Copilot is not enabled"}, 403)

    assert login(stand_in) == 3
    assert "Copilot is not enabled" in capsys.readouterr().err
    assert read_login(os.environ) is None


def test_a_login_that_is_refused(stand_in: Github, capsys: pytest.CaptureFixture[str]) -> None:
    """One line reports it."""
    stand_in.polls = [{"error": "access_denied"}]

    assert login(stand_in) == 3
    assert "declined in the browser" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--github-url", "--api-url"])
@pytest.mark.parametrize("url", ["acme", "https://me:secret@acme.ghe.com"])
def test_address_that_is_not_one_is_refused_by_the_name_of_its_option(
    option: str, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["login", "github-copilot", option, url]) == 9
    err = capsys.readouterr().err
    assert f"{option} must be the URL of a server" in err
    assert "secret" not in err


def test_login_without_a_writable_folder_raises_configuration_error(
    stand_in: Github, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a matter of configuration."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))

    assert login(stand_in) == 9


def test_the_api_stands_beside_github(stand_in: Github, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only GitHub's own address is given, as for an enterprise."""
    asked: list[str] = []

    def run(_function: object, github_url: str, api_url: str, client_id: str) -> object:
        asked.extend((github_url, api_url, client_id))
        raise KeyboardInterrupt

    monkeypatch.setattr(anyio, "run", run)

    assert main(["login", "github-copilot", "--github-url", "https://acme.ghe.com/"]) == 130
    assert asked[:2] == ["https://acme.ghe.com", "https://api.acme.ghe.com"]
    assert stand_in.forms == []


def test_a_login_is_all_that_asking_needs(
    stand_in: Github, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No variable names the provider, and none is configured."""
    for entry in PROVIDERS:
        for name in entry.switches:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    ask = ["ask", "-q", "-m", "github-copilot:gpt-4.1", "Hi"]

    assert main(ask) == 3
    assert "llmcore login github-copilot" in capsys.readouterr().err
    assert login(stand_in) == 0
    capsys.readouterr()
    assert main(ask) == 0
    assert capsys.readouterr().out == "Hello\n"
    assert len(stand_in.chats) == 1


def test_login_of_one_provider_leaves_others_without_a_key(
    stand_in: Github, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A login does for its own provider only."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setattr("llmcore.cli.ask.make_client", Client)

    assert main(["ask", "-m", "openai:gpt-5.2", "Hi"]) == 9
    assert "set OPENAI_API_KEY" in capsys.readouterr().err
