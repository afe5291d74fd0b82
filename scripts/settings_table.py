"""The table of settings in `docs/generating.md`, made from the code.

    python scripts/settings_table.py

writes it into the page; a test says when that is due.
"""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from llmcore import generate
from llmcore.generation import settings

PAGE: Final = Path(__file__).parents[1] / "docs" / "generating.md"
BEGIN: Final = "<!-- table: made by scripts/settings_table.py -->\n"
END: Final = "<!-- end of table -->\n"
CLASSES: Final = ("Settings",)


def table() -> str:
    """Return a row with default and meaning for each setting."""
    defaults = inspect.signature(generate).parameters
    rows = ["| Setting | Default | Meaning |", "| --- | --- | --- |"]
    rows += [
        f"| `{name}` | `{defaults[name].default!r}` | {' '.join(meaning.split())} |"
        for name, meaning in meanings()
    ]
    return "".join(f"{row}\n" for row in rows)


def meanings() -> Iterator[tuple[str, str]]:
    """Yield the keys of the settings' TypedDicts with the docstring below each."""
    tree = ast.parse(Path(settings.__file__).read_text("utf-8"))
    for cls in tree.body:
        if isinstance(cls, ast.ClassDef) and cls.name in CLASSES:
            for key, below in pairwise([*cls.body, ast.Pass()]):
                if isinstance(key, ast.AnnAssign):
                    text = below.value if isinstance(below, ast.Expr) else ast.Constant("")
                    yield ast.unparse(key.target), ast.literal_eval(text)


def page(text: str) -> str:
    """Return *text* with the current table in its place."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place for the table")
    return f"{before}{begin}\n{table()}\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
