"""Responses in a terminal: formatted as Markdown with rich, plain without it."""

import io
import re
from textwrap import dedent

import pytest

from llmcore.cli.markdown_printer import Blocks, ChatPrinter, LastBlock, formatted
from llmcore.schema.events import TextDelta, TextEnd, TextStart, ToolCall
from tests.support.programs.packages import without

pytest.importorskip("rich", reason="formats the text")

from rich.console import Console
from rich.segment import Segment

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
    lines = [line.strip() for line in plain.replace("\r", "").split("\n")]
    assert lines == ["Two:", "", "• a", "• b", "", "End.", ""]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Use the <div> tag.", "Use the <div> tag."),
        ("<answer>\n42\n</answer>", "<answer>\n42\n</answer>"),
        ("A [link](https://a.example/b).", "A link (https://a.example/b)."),
        ("![alt](https://a.example/i.png)", "!alt (https://a.example/i.png)"),
        ("See <https://a.example>.", "See <https://a.example>."),
        ("See [1].\n\n[1]: https://a.example", "See [1].\n\n[1]: https://a.example"),
        ("Roses are red\nViolets are blue", "Roses are red\nViolets are blue"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a  b\n────\n1  2"),
    ],
)
def test_nothing_that_a_response_contains_is_hidden(text: str, shown: str) -> None:
    """Tags, addresses and line ends are shown, and tables begin with their names."""
    console = Console(width=60)
    lines = formatted(console, text)
    assert dedent("\n".join("".join(one.text for one in line) for line in lines)) == shown
    assert not any(line[-1].text.endswith(" ") for line in lines if line)


def rows(out: io.StringIO) -> list[str]:
    """Return what the last drawing of *out* has shown, row by row."""
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue().rpartition("\x1b[2K")[2])
    return [row.strip() for row in drawn.splitlines()]


def test_the_end_of_a_block_that_is_higher_than_the_screen_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The text of a long code block is seen as it arrives."""
    monkeypatch.setenv("LINES", "10")
    out = Terminal()
    console = Console(file=out, width=60, height=10)
    blocks = Blocks()
    blocks.feed("```\n" + "".join(f"line {number}\n" for number in range(50)))
    console.print(LastBlock(blocks))

    shown = [row for row in rows(out) if row]
    assert len(shown) < 10
    assert shown[-1] == "line 49"


def test_a_block_is_not_formatted_for_each_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of a delta does not grow with the block."""
    formatted_texts: list[str] = []

    def counting(console: Console, text: str) -> list[list[Segment]]:
        formatted_texts.append(text)
        return formatted(console, text)

    monkeypatch.setattr("llmcore.cli.markdown_printer.formatted", counting)
    monkeypatch.setattr("llmcore.cli.markdown_printer.REFRESHES_PER_SECOND", 0.01)
    printed(Terminal(), "```\n", *(f"line {number}\n" for number in range(500)), "```\n")
    assert len(formatted_texts) <= 2


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


class Ascii(Terminal):
    """A terminal to which other characters are written as escapes."""

    encoding = "ascii"  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]


@pytest.mark.parametrize("reason", ["a file", "no cursor", "no rich", "no Unicode"])
def test_text_is_plain_without_a_terminal_a_cursor_or_rich(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out: io.StringIO = Terminal()
    if reason == "a file":
        out = io.StringIO()
    elif reason == "no Unicode":
        out = Ascii()
    elif reason == "no cursor":
        monkeypatch.setenv("TERM", "dumb")
    else:
        without(monkeypatch, "rich", "rich.console")

    assert printed(out, *TEXTS) == "".join(TEXTS)
