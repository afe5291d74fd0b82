"""The question before a call: `llmcore/cli/approval.py`."""

import io

import pytest

from llmcore.cli.approval import ask_for_approval
from llmcore.schema.content import ToolCallPart


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200b", "\u2028", "\ufeff"])
def test_characters_that_hide_or_reorder_others_are_shown_by_their_numbers(
    character: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model could otherwise have another file approved than the one that is shown."""
    terminal = io.StringIO("y\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    call = ToolCallPart(id="c-1", name="delete", arguments={"path": f"é{character}txt"})

    assert ask_for_approval([call]) == {"c-1": True}

    asked = capsys.readouterr().err
    assert asked == f'run delete({{"path": "é\\u{ord(character):04x}txt"}})? [y/N] '
