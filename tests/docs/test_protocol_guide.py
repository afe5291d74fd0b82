"""The signatures in the guide of protocols are those of the code."""

import pytest

from scripts.protocol_guide import PAGE, page


def test_guide_has_the_current_signatures() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "run `make docs-table`"


def test_page_without_a_place_for_the_signatures_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        page("# Add a protocol\n")
