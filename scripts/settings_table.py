"""The table of settings in `docs/generating.md`, made from the code.

    python scripts/settings_table.py

writes it into the page; a test says when that is due.
"""

import inspect
from pathlib import Path
from typing import Final

from llmcore import generate
from llmcore.generation.signatures import setting_meanings

PAGE: Final = Path(__file__).parents[1] / "docs" / "generating.md"
BEGIN: Final = "<!-- table: made by scripts/settings_table.py -->\n"
END: Final = "<!-- end of table -->\n"


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
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place for the table")
    return f"{before}{begin}\n{table()}\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
