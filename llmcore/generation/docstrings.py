"""Reads the descriptions of functions and parameters from Google-style docstrings."""

import inspect
import re
from collections.abc import Iterator

_SECTION = re.compile(r"[A-Z][A-Za-z ]*:$")
_ARGUMENTS = ("Args:", "Arguments:", "Parameters:")
_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)")


def summary_of(docstring: str | None) -> str:
    """Return the first paragraph as one line; empty if there is none."""
    first, _, _ = inspect.cleandoc(docstring or "").partition("\n\n")
    if _SECTION.fullmatch(first.partition("\n")[0].strip()):
        return ""
    return " ".join(first.split())


def arguments_of(docstring: str | None) -> dict[str, str]:
    """Return the description of each parameter that an `Args:` section describes.

    An entry is `name: text` or `name (type): text`; deeper indented lines continue it.
    """
    lines_of: dict[str, list[str]] = {}
    current: list[str] = []
    indent: int | None = None
    for line in _section(inspect.cleandoc(docstring or "").split("\n")):
        depth = len(line) - len(line.lstrip())
        indent = depth if indent is None else indent
        entry = _ENTRY.fullmatch(line.strip()) if depth <= indent else None
        if entry is not None:
            current = lines_of.setdefault(entry["name"], [])
            current.append(entry["text"])
        else:
            current.append(line.strip())
    return {name: " ".join(" ".join(lines).split()) for name, lines in lines_of.items()}


def _section(lines: list[str]) -> Iterator[str]:
    """Yield the indented lines below `Args:`."""
    inside = False
    for line in lines:
        if not line.strip():
            continue
        if not line[0].isspace():
            inside = line.strip() in _ARGUMENTS
        elif inside:
            yield line
