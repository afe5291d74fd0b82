"""Sections of the docs' pages that scripts write: between two comments, the first names the script.

<!-- table: made by scripts/settings_table.py -->

| Setting | Default | Meaning |

<!-- end of table -->
"""


def with_section(text: str, made: str, script: str, what: str = "table") -> str:
    """Return the page *text* with *made* as the section of *script*; *what* is what it holds.

    Raises ValueError if the page has no place for it.
    """
    begin, end = f"<!-- {what}: made by scripts/{script}.py -->\n", f"<!-- end of {what} -->\n"
    before, begins, rest = text.partition(begin)
    _, ends, after = rest.partition(end)
    if not begins or not ends:
        raise ValueError(f"the page has no place for the {what}: {begin!r} to {end!r}")
    return f"{before}{begin}\n{made}\n{end}{after}"
