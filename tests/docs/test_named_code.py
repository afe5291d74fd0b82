"""Modules, and the names in them, that the guides send readers to, are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("llmcore", "tests", "scripts", "benchmarks", "examples")
SOURCES = [
    path.relative_to(ROOT).as_posix()
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
]
STEPS = [
    row for row in (ROOT / "docs/tour.md").read_text("utf-8").splitlines() if row.startswith("| ")
]

_CODE = re.compile(r"`([^`\n]+)`")
_MODULE = re.compile(r"[\w/]+\.py")
_NAME = re.compile(r"[A-Za-z_]\w*(\.[a-z_]\w*)?")


def found(module: str) -> list[str]:
    """Return the sources that *module* may mean: a path, or the end of one."""
    return [source for source in SOURCES if f"/{source}".endswith(f"/{module}")]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: str(guide.name))
def test_modules_that_a_guide_names_are_there(guide: Path) -> None:
    named = {text for text in _CODE.findall(guide.read_text("utf-8")) if _MODULE.fullmatch(text)}

    assert [module for module in sorted(named) if not found(module)] == []


@pytest.mark.parametrize("row", STEPS)
def test_names_in_a_row_of_the_tour_are_in_its_modules(row: str) -> None:
    """Each is defined in one of them."""
    code = _CODE.findall(row.split("|")[2])
    modules = [source for text in code if _MODULE.fullmatch(text) for source in found(text)]
    text = "\n".join((ROOT / module).read_text("utf-8") for module in modules)
    names = [name for name in code if _NAME.fullmatch(name) and not _MODULE.fullmatch(name)]
    parts = [part for name in names for part in name.split(".")]

    assert [n for n in parts if not re.search(rf"\b(class|def) {n}\b|\b{n}: ", text)] == []
