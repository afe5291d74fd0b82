"""A list that grows at its head: `chain`."""

from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.answering import PersistentList, to_list


@given(st.lists(st.integers()))
def test_values_come_back_oldest_first(values: list[int]) -> None:
    """In the order in which they were added."""
    chain: PersistentList | None = None
    for value in values:
        chain = PersistentList(value, chain)
    assert to_list(chain) == values
