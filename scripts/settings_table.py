"""The table of settings in `docs/generating.md`, made from the code.

    python scripts/settings_table.py

writes it into the page; a test says when that is due.
"""

import inspect
from pathlib import Path
from typing import Final

from llmcore import generate
from llmcore.generation.signatures import setting_meanings
from scripts.made_sections import with_section

PAGE: Final = Path(__file__).parents[1] / "docs" / "generating.md"


def table() -> str:
    """Return a row with default and meaning for each setting."""
    defaults = inspect.signature(generate).parameters
    rows = ["| Setting | Default | Meaning |", "| --- | --- | --- |"]
    rows += [
        f"| `{name}` | `{defaults[name].default!r}` | {meaning} |"
        for name, meaning in setting_meanings().items()
    ]
    return "".join(f"{row}\n" for row in rows)


def page(text: str) -> str:
    """Return *text* with the current table in its place."""
    return with_section(text, table(), "settings_table")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
