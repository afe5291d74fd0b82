"""Every diagnostic code is explained in one table, and has a page made from it."""

import pytest

from scripts.diagnostic_codes import CODES
from scripts.diagnostic_pages import FOLDER, pages, reports


def test_explained_codes_are_those_that_the_library_reports() -> None:
    assert set(CODES) == {report.code for report in reports()}


def test_pages_of_codes_are_current() -> None:
    written = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}

    assert written == pages(), "run `make docs-table`"


@pytest.mark.parametrize("code", CODES)
def test_explanation_is_three_sentences_and_the_code_is_a_word(code: str) -> None:
    entry = CODES[code]

    assert code == code.lower().replace("_", "-")
    for text in (entry.meaning, entry.cause, entry.remedy):
        assert text.endswith(".")
        assert text[0].isupper() or text[0] == "`"


def test_codes_are_sorted() -> None:
    assert list(CODES) == sorted(CODES)
