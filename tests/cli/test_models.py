"""`llmcore models`."""

import json

import pytest

from llmcore.cli import main


def test_models_are_listed_with_what_they_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    """A line each, aligned, with a head."""
    assert main(["models", "--provider", "anthropic"]) == 0

    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["MODEL", "RELEASED"]
    opus = next(line for line in lines if line.startswith("anthropic:claude-opus-4-6 "))
    assert opus.split()[1:6] == ["2026-02-05", "1,000,000", "128,000", "5", "25"]
    assert opus.endswith("reasoning, vision, tools, structured_output")
    assert all(line.startswith("anthropic:") for line in lines)


def test_models_are_printed_as_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """As the catalog has them, those that have every capability asked for."""
    capabilities = ["--capability", "tools", "--capability", "vision"]
    assert main(["models", "--provider", "openai", *capabilities, "--json"]) == 0

    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"gpt-5.2", "gpt-5.2-codex"} <= {record["id"] for record in records}
    assert all(record["supports_tools"] and record["supports_vision"] for record in records)


def test_deprecated_models_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    """They still answer, for now."""
    assert main(["models", "--provider", "google"]) == 0

    lines = capsys.readouterr().out.splitlines()
    pro = next(line for line in lines if line.startswith("google:gemini-3-pro-preview "))
    assert pro.endswith("(deprecated)")


def test_no_model_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A script notices a word that nothing has."""
    assert main(["models", "no-such-model"]) == 1
    assert "no model" in capsys.readouterr().err


def test_a_misspelled_provider_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the nearest one."""
    assert main(["models", "--provider", "opnai"]) == 5
    assert "did you mean 'openai'" in capsys.readouterr().err


def test_models_are_searched_by_words(capsys: pytest.CaptureFixture[str]) -> None:
    """All words must be in provider, id or name; the newest come first."""
    assert main(["models", "OPENAI:", "gpt-5", "codex"]) == 0

    _, *lines = capsys.readouterr().out.splitlines()
    ids = [line.split()[0] for line in lines]
    assert "openai:gpt-5.2-codex" in ids
    assert all(name.startswith("openai:gpt-5") and "codex" in name for name in ids)
    dates = [line.split()[1] for line in lines if "deprecated" not in line]
    assert dates == sorted(dates, reverse=True)


def test_the_latest_of_each_provider_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each provider that has a match."""
    assert main(["models", "claude", "--latest"]) == 0

    providers = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert "anthropic" in providers
    assert len(providers) == len(set(providers))


def test_models_without_a_date_come_after_the_dated_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["models", "--provider", "openai", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    days = [one.get("release_date") for one in found if not one.get("deprecated")]
    dated = [day for day in days if day is not None]

    assert days == [*sorted(dated, reverse=True), *[None] * (len(days) - len(dated))]
    assert main(["models", "--provider", "openai", "--latest"]) == 0
    assert found[0]["id"] in capsys.readouterr().out


@pytest.mark.parametrize("columns", [40, 60, 72, 80, 200])
def test_lines_do_not_wrap_in_a_narrow_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns are left out and named; prices are always shown."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["models", "openai:gpt-5.2", "codex"]) == 0

    shown = capsys.readouterr()
    head, *lines = shown.out.splitlines()
    assert "OUT $/M" in head
    assert all(len(line) <= max(columns, 45) for line in [head, *lines])
    assert ("CAPABILITIES" in head) == (columns == 200)
    assert ("CAPABILITIES" in shown.err) == (columns != 200)
