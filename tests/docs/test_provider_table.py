"""The table of providers in the documentation is the one of the code."""

import pytest

from llmcore.routes.providers import PROVIDERS, RETRIEVAL_PROVIDERS
from scripts.provider_table import PAGE, page, table


def test_the_page_has_the_current_table() -> None:
    """If not: `python scripts/provider_table.py`."""
    assert PAGE.read_text() == page(PAGE.read_text())


def test_every_provider_has_a_row() -> None:
    """With its id, its variables and its address."""
    rows = table().splitlines()[2:]

    entries = (*PROVIDERS, *RETRIEVAL_PROVIDERS)
    assert len(rows) == len(entries)
    for entry, row in zip(entries, rows, strict=True):
        assert f"`{entry.id}`" in row
        assert all(f"`{name}`" in row for name in entry.key_variables)
        assert "`http" in row


def test_a_page_without_a_place_for_it() -> None:
    """It is an error, and nothing is lost."""
    with pytest.raises(ValueError, match="no place"):
        page("# Providers\n<!-- table: made by scripts/provider_table.py -->\n")
