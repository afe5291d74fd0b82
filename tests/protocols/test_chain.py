"""A list that grows at its head: `chain`."""

from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.chain import Chain, unchain


@given(st.lists(st.integers()))
def test_values_come_back_oldest_first(values: list[int]) -> None:
    """In the order in which they were added."""
    chain: Chain | None = None
    for value in values:
        chain = Chain(value, chain)
    assert unchain(chain) == values
