"""Records `docs/pictures/terminal.svg`: the command line at work, as an animation.

    python scripts/record_terminal.py

runs the commands in this environment, none of which needs a key or a network (`llmcore local
install` comes first), and shows what they print. That changes with the catalog and the model, so no
test compares the file.
"""

import re
import subprocess
import sys
from textwrap import wrap
from typing import Final

from scripts.pictures import COLOURS, FOLDER, INK, MUTED, Picture, shortened

COMMANDS: Final = (
    ["ask", "--local", "--temperature", "0", "--max-tokens", "64", "Why is the sky blue?"],
    ["prepare", "-m", "openai:gpt-5.2", "Hi"],
    ["models", "gpt-5.2"],
    ["providers"],
)
LINES: Final = 9
"""The most lines of a command's output that are shown."""


def main() -> None:
    """Run the commands and write the picture."""
    shown: list[tuple[str, str]] = []
    for arguments in COMMANDS:
        words = [f'"{word}"' if " " in word else word for word in arguments]
        shown.append((COLOURS[2], f"$ llmcore {' '.join(words)}"))
        command = [sys.executable, "-m", "llmcore", *arguments]
        ran = subprocess.run(  # noqa: S603 (the commands above)
            command, check=False, capture_output=True, text=True
        )
        plain = re.sub(r"\x1b\[[0-9;]*m", "", ran.stdout + ran.stderr).strip("\n")
        wrapped = plain.splitlines()
        if arguments[0] == "ask":  # a paragraph is one line
            wrapped = [part for line in wrapped for part in wrap(line, 100)]
        lines = [shortened(line, 104) for line in wrapped]
        shown += [(INK, line) for line in lines[:LINES]]
        shown += [(MUTED, f"… {len(lines) - LINES} more lines")] * (len(lines) > LINES)
    picture = Picture("The command line of llmcore", 40 + 20 * len(shown))
    for row, (colour, line) in enumerate(shown):
        picture.parts.append(f'<g class="l" style="animation-delay:{row * 0.1:.1f}s">')
        picture.text(20, 34 + row * 20, line, style="c", colour=colour, size=13)
        picture.parts.append("</g>")
    svg = picture.svg().replace(
        "<style>",
        "<style>.l{animation:l .2s both}@keyframes l{from{opacity:0}to{opacity:1}}"
        "@media (prefers-reduced-motion){.l{animation:none}}",
    )
    (FOLDER / "terminal.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
