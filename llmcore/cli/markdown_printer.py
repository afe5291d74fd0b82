"""Printing the responses of a chat: as formatted Markdown where rich is installed.

Blocks of Markdown that are complete are printed once and scroll away; only the last block, which
may still change, is drawn again as its text arrives.
"""

import math
import os
import re
import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, TextIO

from llmcore.cli.printing import TextPrinter
from llmcore.cli.program import printable
from llmcore.schema.events import LLMEvent, TextDelta, TextEnd

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.live import Live
    from rich.segment import Segment, Segments

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PIECES_OF_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Blocks:
    r"""The Markdown blocks of a text that arrives in pieces.

    A block ends with an empty line outside of a fence, unless what follows is indented, as the
    next paragraph of a list item is. Further text does not change a complete block.

        >>> blocks = Blocks()
        >>> blocks.feed("# Title\n\nSome wor")
        '# Title\n\n'
        >>> blocks.open
        'Some wor'
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest: list[str] = []  # of the line that is not complete
        self._fence = ""
        self._blank = False

    @property
    def open(self) -> str:
        """The text after the complete blocks."""
        return "".join((*self._lines, *self._rest))

    def feed(self, text: str) -> str:
        """Add *text*, and return the blocks that are complete now."""
        complete: list[str] = []
        for piece in _PIECES_OF_LINES.findall(text):
            self._rest.append(piece)
            if self._blank and not piece.isspace():
                if not self._rest[0][0].isspace():
                    complete += self._lines
                    self._lines = []
                self._blank = False
            if piece.endswith("\n"):
                self._end_line()
        return "".join(complete)

    def _end_line(self) -> None:
        line = "".join(self._rest)
        opened = _FENCE.match(line)
        if opened and not self._fence:
            self._fence = opened[1]
        elif opened and opened[1].startswith(self._fence) and not line.strip().strip(opened[1][0]):
            self._fence = ""
        self._lines.append(line)
        self._rest = []
        self._blank = not line.strip() and not self._fence


class ChatPrinter(TextPrinter):
    """Prints as `TextPrinter` does, with the text formatted in a terminal."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out, quiet=False, streamed=True)
        self._console = _console(out)
        self._blocks = Blocks()
        self._last = LastBlock(self._blocks)
        self._live: Live | None = None if self._console is None else _waiting(self._console)

    def show(self, event: LLMEvent) -> None:
        """Print what *event* adds to the response."""
        if self._console is None:
            super().show(event)
        elif isinstance(event, TextDelta):
            if self._first is None:
                self._stop()
            self._begin()
            self._add(self._console, printable(event.text))
        elif isinstance(event, TextEnd):
            self.close()
        else:
            super().show(event)

    def close(self) -> None:
        """Print the rest of the text."""
        self._stop()
        blocks, self._blocks = self._blocks, Blocks()
        if blocks.open and self._console is not None:
            self._print(self._console, blocks.open)

    def _add(self, console: "Console", text: str) -> None:
        if complete := self._blocks.feed(text):
            self._stop()
            self._print(console, complete)
            console.print()
        if self._live is None:
            self._last = LastBlock(self._blocks)
            self._live = _live(console, self._last)

    def _print(self, console: "Console", text: str) -> None:
        console.print(_segments(formatted(console, text)), end="")

    def _aside(self, text: str) -> None:
        self._stop()
        super()._aside(text)

    def _note(self, text: str) -> None:
        self._stop()
        super()._note(text)

    def _stop(self) -> None:
        """Remove what is drawn again and again: the last block, or the sign of waiting."""
        if self._live is not None:
            self._last.freeze()
            self._live.stop()
            self._live = None


REFRESHES_PER_SECOND: Final = 10
"""How often the block that is not complete is drawn."""

_SHARE: Final = 0.2
"""The part of the time that may be spent on formatting a block that is not complete."""


class LastBlock:
    """The block that is not complete, formatted when it is drawn and not for each delta.

    Of a block that is higher than the screen, the end is shown, where its text arrives.
    """

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._shown: list[list[Segment]] = []
        self._due = 0.0

    def freeze(self) -> None:
        """Draw what was drawn last, from now on: it is about to be removed."""
        self._due = math.inf

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> Iterator["RenderableType"]:
        began = time.monotonic()
        if began >= self._due:
            self._shown = formatted(console, self._blocks.open)[-(console.height - 1) :]
            now = time.monotonic()
            self._due = now + (now - began) / _SHARE
        yield _segments(self._shown)


def _waiting(console: "Console") -> "Live":
    """Show that a response is being waited for."""
    from rich.spinner import Spinner

    return _live(console, Spinner("dots"), refresh=True)


def _live(console: "Console", shown: "RenderableType", *, refresh: bool = False) -> "Live":
    """Return a part of the screen that is drawn again and again, and removed when it stops."""
    from rich.live import Live

    live = Live(shown, console=console, transient=True, refresh_per_second=REFRESHES_PER_SECOND)
    live.start(refresh=refresh)
    return live


def formatted(console: "Console", text: str) -> "list[list[Segment]]":
    """Return the lines of the Markdown *text* for the width of *console*.

    Empty lines around them are left out. All of the text is shown: HTML and the addresses of links
    and images as they are written, and each line end as one.
    """
    from rich.markdown import Markdown

    markdown = Markdown("", hyperlinks=False)
    markdown.parsed = _parser().parse(text)
    for token in markdown.parsed:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    lines = [_without_padding(line) for line in console.render_lines(markdown, pad=False)]
    filled = [number for number, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _without_padding(line: "list[Segment]") -> "list[Segment]":
    """Return *line* without spaces at its end, which would wrap if the terminal became narrower.

    Those with a background are kept: they are the frame of a code block.
    """
    from rich.segment import Segment

    for last in range(len(line) - 1, -1, -1):
        text, style, _ = line[last]
        kept = text if style and style.bgcolor else text.rstrip()
        if kept:
            return [*line[:last], Segment(kept, style)]
    return []


def _segments(lines: "list[list[Segment]]") -> "Segments":
    from rich.segment import Segment, Segments

    return Segments([segment for line in lines for segment in (*line, Segment.line())])


@cache
def _parser() -> "MarkdownIt":
    """Return a parser without the rules whose text rich does not show, or shows elsewhere."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt().enable(["strikethrough", "table"])
    return parser.disable(["autolink", "html_block", "html_inline", "image", "reference"])


def _console(out: TextIO) -> "Console | None":
    """Return a console for a terminal.

    Return None elsewhere, without rich, without a cursor, and if *out* writes escapes in place of
    some characters: lines would be longer than they are taken to be.
    """
    is_unicode = (out.encoding or "utf-8").lower().startswith("utf")
    if not out.isatty() or os.environ.get("TERM") == "dumb" or not is_unicode:
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=out, highlight=False)
