"""The page of requirements: each row is kept by code and tests that exist, or gives its reason."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"

_NOT_BUILT = "not built"
_CODE = re.compile(r"`([^`]+)`")


@frozen
class Row:
    """A row of the page: its number, what is required, where it is built, and what keeps it."""

    number: int
    requirement: str
    built: str
    kept: str

    @property
    def files(self) -> list[str]:
        """The files and folders that it is built in."""
        return _CODE.findall(self.built)

    @property
    def tests(self) -> list[str]:
        """The tests, each as `file::function`."""
        return [named for named in _CODE.findall(self.kept) if "::" in named]

    @property
    def reason(self) -> str:
        """Return the text beside the tests."""
        return _CODE.sub("", self.kept).strip(" ,.")


def rows_of(text: str) -> Iterator[Row]:
    """Yield the rows of all tables of *text*."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0].isdecimal():
            number, requirement, built, kept = cells
            yield Row(int(number), requirement, built, kept)


@cache
def functions_of(file: str) -> frozenset[str]:
    """Return the names of the functions that *file* defines; none if there is no such file."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def missing(row: Row) -> list[str]:
    """Return what *row* names and is not there, and what it leaves out."""
    absent = [file for file in row.files if not (ROOT / file).exists()]
    for test in row.tests:
        file, _, name = test.partition("::")
        if name not in functions_of(file) or not name.startswith("test_"):
            absent.append(test)
    if row.built == _NOT_BUILT:
        return absent if row.reason else [*absent, "a reason"]
    complete = row.requirement and row.files and row.tests
    return absent if complete else [*absent, "a file and a test"]


ROWS = tuple(rows_of(PAGE.read_text(encoding="utf-8")))


def test_rows_are_numbered_without_gaps() -> None:
    """No requirement can be taken away unnoticed."""
    assert [row.number for row in ROWS] == list(range(1, len(ROWS) + 1))
    assert len(ROWS) > 250


def test_files_and_tests_of_every_row_exist() -> None:
    """A test that is renamed takes its row along."""
    assert {row.number: absent for row in ROWS if (absent := missing(row))} == {}


def test_row_without_a_test_or_a_reason_is_found() -> None:
    """The check itself can fail."""
    here = "`tests/docs/test_requirements.py"
    page = f"""
| 1 | a | `llmcore/schema` | {here}::test_rows_are_numbered_without_gaps` |
| 2 | b | `llmcore/nowhere.py` | {here}::test_rows_are_numbered_without_gaps` |
| 3 | c | `llmcore/schema` | {here}::test_nothing` |
| 4 | d | `llmcore/schema` | soon |
| 5 | e | not built | |
| 6 | f | not built | The API has it by now. |
"""
    found = {row.number: missing(row) for row in rows_of(page)}

    assert [number for number, absent in found.items() if absent] == [2, 3, 4, 5]
