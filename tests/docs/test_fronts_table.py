"""The table of fronts in the documentation is the one of the code."""

import pytest

from scripts.fronts_table import FEATURES, PAGE, page, table


def test_page_has_the_current_table_of_fronts() -> None:
    """It changes with what a front reads and a protocol carries."""
    assert PAGE.read_text() == page(PAGE.read_text()), "run `make docs-table`"


def test_every_feature_is_in_the_table_of_some_front() -> None:
    """A row that no API can express would be useless."""
    shown = table()

    assert [name for name in FEATURES if f"| {name} |" not in shown] == []


def test_page_without_a_place_for_the_table_is_refused() -> None:
    """Rather than written over."""
    with pytest.raises(ValueError, match="no place"):
        page("# Fronts\n")
