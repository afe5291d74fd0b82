"""A list that grows at its head: `chain`."""

from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.protocols.chain import Chain, unchain


@given(st.lists(st.integers()))
@settings(max_examples=50)
def test_values_come_back_oldest_first(values: list[int]) -> None:
    """In the order in which they were added."""
    chain: Chain | None = None
    for value in values:
        chain = Chain(value, chain)
    assert unchain(chain) == values
