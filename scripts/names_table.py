"""Write the table of the public names that are not at the front door into docs/reference/names.md.

    python scripts/names_table.py

A test checks that the page is as this script writes it.
"""

import re
from pathlib import Path
from typing import Final

from llmcore.names_in_modules import names_in_modules

PAGE: Final = Path(__file__).parents[1] / "docs" / "reference" / "names.md"
_TABLE: Final = re.compile(r"(<!-- table: .* -->\n).*(<!-- end of the table -->)", re.DOTALL)


def with_table(page: str) -> str:
    """Return *page* with the table of today."""
    rows = [
        f"| `{module}` | {', '.join(f'`{name}`' for name in names.split())} |"
        for module, names in names_in_modules().items()
    ]
    table = "\n".join(["| module | names |", "| --- | --- |", *rows, ""])
    return _TABLE.sub(lambda match: match[1] + table + match[2], page)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
