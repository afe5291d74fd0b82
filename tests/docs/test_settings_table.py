"""The table of settings in the documentation is the one of the code."""

import pytest

from scripts.settings_table import PAGE, page


def test_page_has_the_current_table_of_settings() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "run `make docs-table`"


def test_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        page("# Generating text\n")
