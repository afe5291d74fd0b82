"""Printing the responses of a chat: as formatted Markdown where rich is installed.

Blocks of Markdown that are complete are printed once and scroll away; only the last block, which
may still change, is drawn again as its text arrives.
"""

import os
import re
from typing import TYPE_CHECKING, TextIO

from llmcore.cli.printing import TextPrinter
from llmcore.cli.program import printable
from llmcore.schema.events import LLMEvent, TextDelta, TextEnd

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.segment import Segments

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def complete_blocks(text: str) -> int:
    r"""Return the length of the blocks of the Markdown *text* that further text cannot change.

    A block ends with an empty line outside of a fence, unless what follows is indented, as the
    next paragraph of a list item is.

        >>> text = "# Title\n\nSome wor"
        >>> text[: complete_blocks(text)]
        '# Title\n\n'
    """
    fence, end, position, blank = "", 0, 0, False
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        opened = _FENCE.match(line)
        if blank and line.strip():
            if not line[0].isspace():
                end = position
            blank = False
        if opened and not fence:
            fence = opened[1]
        elif opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        position += len(line)
        blank = not line.strip() and line.endswith("\n") and not fence
    return end


class ChatPrinter(TextPrinter):
    """Prints as `TextPrinter` does, with the text formatted in a terminal."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out, quiet=False, streamed=True)
        self._console = _console(out)
        self._text = ""
        self._live: Live | None = None if self._console is None else _waiting(self._console)

    def show(self, event: LLMEvent) -> None:
        """Print what *event* adds to the response."""
        if self._console is None:
            super().show(event)
        elif isinstance(event, TextDelta):
            self._begin()
            self._text += printable(event.text)
            self._draw(self._console)
        elif isinstance(event, TextEnd):
            self.close()
        else:
            super().show(event)

    def close(self) -> None:
        """Print the rest of the text."""
        self._stop()
        if self._text and self._console is not None:
            self._print(self._console, self._text)
        self._text = ""

    def _draw(self, console: "Console") -> None:
        done = complete_blocks(self._text)
        if done:
            self._stop()
            self._print(console, self._text[:done])
            console.print()
            self._text = self._text[done:]
        if self._live is None:
            self._live = _live(console)
        self._live.update(_formatted(console, self._text))

    def _print(self, console: "Console", text: str) -> None:
        console.print(_formatted(console, text), end="")

    def _aside(self, text: str) -> None:
        self._stop()
        super()._aside(text)

    def _note(self, text: str) -> None:
        self._stop()
        super()._note(text)

    def _stop(self) -> None:
        """Remove what is drawn again and again: the last block, or the sign of waiting."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def _waiting(console: "Console") -> "Live":
    """Show that a response is being waited for."""
    from rich.spinner import Spinner

    live = _live(console)
    live.update(Spinner("dots"), refresh=True)
    return live


def _live(console: "Console") -> "Live":
    """Return a part of the screen that is drawn again and again, and removed when it stops."""
    from rich.live import Live

    live = Live(console=console, transient=True, refresh_per_second=10)
    live.start()
    return live


def _formatted(console: "Console", text: str) -> "Segments":
    """Return the Markdown *text* for the width of *console*, without empty lines around it."""
    from rich.markdown import Markdown
    from rich.segment import Segment, Segments

    lines = console.render_lines(Markdown(text), pad=False)
    filled = [number for number, line in enumerate(lines) if any(piece.text for piece in line)]
    shown = lines[filled[0] : filled[-1] + 1] if filled else []
    return Segments([segment for line in shown for segment in (*line, Segment.line())])


def _console(out: TextIO) -> "Console | None":
    """Return a console for a terminal; None elsewhere, without rich and without a cursor."""
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=out, highlight=False)
