"""Responses in a terminal: formatted as Markdown with rich, plain without it."""

import io
import re

import pytest

from llmcore.cli.markdown_printer import ChatPrinter
from llmcore.schema.events import TextDelta, TextEnd, TextStart, ToolCall
from tests.support.programs.packages import without

pytest.importorskip("rich", reason="formats the text")

TEXTS = ["# Tit", "le\n\nSome **bold** ", "words.\n\n", "```\nco", "de\n```\n"]


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(out: io.StringIO, *texts: str) -> str:
    """Return what a response of *texts* prints."""
    printer = ChatPrinter(out)
    printer.show(TextStart("t"))
    for text in texts:
        printer.show(TextDelta("t", text))
    printer.show(TextEnd("t", "".join(texts)))
    printer.close()
    return out.getvalue()


@pytest.fixture(autouse=True)
def with_a_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")


def test_markdown_is_formatted_in_a_terminal() -> None:
    """Marks are gone; each block is printed once when it is complete."""
    shown = printed(Terminal(), *TEXTS)

    assert "**" not in shown
    assert "#" not in shown
    assert "Some" in shown
    assert "code" in shown
    assert shown.index("Title") < shown.rindex("bold") < shown.rindex("code")


def test_blocks_stand_one_empty_line_apart() -> None:
    shown = printed(Terminal(), "Two:\n\n", "- a\n- b\n\n", "End.\n")

    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown[shown.rindex("Two:") :])
    lines = [line.strip() for line in plain.replace("\r", "\n").splitlines()]
    assert "Two:\n\n• a" in "\n".join(lines)


def test_a_sign_of_waiting_is_removed_before_anything_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = Terminal()
    printer = ChatPrinter(out)
    waiting = out.getvalue()

    printer.show(ToolCall(id="c", name="weather", arguments={"city": "Oslo"}))

    assert "⠋" in waiting
    assert out.getvalue().endswith("\x1b[?25h") or "\x1b[2K" in out.getvalue()[len(waiting) :]
    assert "weather" in capsys.readouterr().err


def test_control_characters_are_not_sent_to_the_terminal() -> None:
    assert "\x1b]0;" not in printed(Terminal(), "a\x1b]0;title\x07b")


@pytest.mark.parametrize("reason", ["a file", "no cursor", "no rich"])
def test_text_is_plain_without_a_terminal_a_cursor_or_rich(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out: io.StringIO = Terminal()
    if reason == "a file":
        out = io.StringIO()
    elif reason == "no cursor":
        monkeypatch.setenv("TERM", "dumb")
    else:
        without(monkeypatch, "rich", "rich.console")

    assert printed(out, *TEXTS).strip() == "".join(TEXTS).strip()
