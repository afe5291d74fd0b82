"""Tokens and money."""

from functools import reduce
from operator import add
from typing import Any

import pytest
from attrs import fields_dict
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.usage import Usage
from tests.support.strategies.values import counts, maybe, usages

TOKENS = [name for name in fields_dict(Usage) if name.endswith("_tokens")]


def token_counts(usage: Usage) -> list[int]:
    """Return every count that the usage states."""
    return [count for name in TOKENS if (count := getattr(usage, name)) is not None]


# -- make


@given(
    st.integers(-5, 10**6),
    st.integers(-5, 10**6),
    maybe(st.integers(-5, 10**6)),
    maybe(st.integers(-5, 10**6)),
    maybe(st.integers(-5, 10**6)),
)
def test_the_breakdown_adds_up(
    input_tokens: int, output_tokens: int, read: int | None, write: int | None, total: int | None
) -> None:
    """Uncached, read and written tokens are the input, whatever the provider counted."""
    usage = Usage.make(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=write,
        total_tokens=total,
    )

    assert all(count >= 0 for count in token_counts(usage))
    if usage.input_tokens is not None:
        parts = (usage.uncached_input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        assert sum(part or 0 for part in parts) == usage.input_tokens


@pytest.mark.parametrize(
    ("given_counts", "expected"),
    [
        (
            {"input_tokens": 10, "output_tokens": 5},
            {"input_tokens": 10, "total_tokens": 15, "uncached_input_tokens": 10},
        ),
        (
            {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 4},
            {"input_tokens": 10, "total_tokens": 15, "uncached_input_tokens": 6},
        ),
        (  # cache counts beside the input
            {"input_tokens": 3, "output_tokens": 5, "cache_read_tokens": 40, "total_tokens": 8},
            {"input_tokens": 43, "total_tokens": 48, "uncached_input_tokens": 3},
        ),
        (  # the provider's own total stands where nothing contradicts it
            {"input_tokens": 10, "output_tokens": 5, "total_tokens": 99},
            {"input_tokens": 10, "total_tokens": 99},
        ),
        (
            {"input_tokens": None, "output_tokens": 5},
            {"input_tokens": None, "total_tokens": None, "uncached_input_tokens": None},
        ),
        (
            {"input_tokens": -1, "output_tokens": 5, "reasoning_tokens": -1},
            {"input_tokens": None, "output_tokens": 5, "reasoning_tokens": None},
        ),
    ],
)
def test_totals_and_breakdown_come_from_inclusive_counts(
    given_counts: dict[str, Any], expected: dict[str, int | None]
) -> None:
    """Totals and breakdown come from inclusive numbers."""
    usage = Usage.make(**given_counts)

    assert {name: getattr(usage, name) for name in expected} == expected


# -- addition


@given(usages(), usages())
def test_addition_of_usages_commutes(left: Usage, right: Usage) -> None:
    """It does not matter which step came first."""
    assert left + right == right + left


@given(usages(), usages(), usages())
def test_addition_of_usages_associates(first: Usage, second: Usage, third: Usage) -> None:
    """It does not matter how steps are grouped."""
    assert (first + second) + third == first + (second + third)


@given(usages())
def test_adding_an_empty_usage_changes_nothing(usage: Usage) -> None:
    """An empty usage changes nothing."""
    assert usage + Usage() == Usage() + usage == usage


@given(st.lists(st.tuples(counts(), counts(), maybe(counts())), min_size=1, max_size=5))
def test_the_breakdown_of_a_sum_adds_up(steps: list[tuple[int, int, int | None]]) -> None:
    """The invariant holds for several responses added up."""
    total = reduce(
        add,
        [Usage.make(input_tokens=i, output_tokens=o, cache_read_tokens=r) for i, o, r in steps],
    )

    assert total.total_tokens == (total.input_tokens or 0) + (total.output_tokens or 0)
    assert (total.uncached_input_tokens or 0) + (total.cache_read_tokens or 0) == total.input_tokens


@pytest.mark.parametrize("name", [*TOKENS, "cost_usd"])
def test_sum_of_missing_counts_is_missing(name: str) -> None:
    """Two missing counts stay missing; beside a number a missing one counts as 0."""
    three: dict[str, Any] = {name: 3}
    unsaid, said = Usage(), Usage(**three)

    assert getattr(unsaid + unsaid, name) is None
    assert getattr(said + unsaid, name) == 3
    assert getattr(said + said, name) == 6


def test_an_estimate_makes_the_sum_an_estimate() -> None:
    """A total is only as good as its worst part."""
    assert (Usage(estimated=True) + Usage()).estimated
    assert not (Usage() + Usage()).estimated


def test_sum_adds_usages() -> None:
    usages = [Usage(input_tokens=1, output_tokens=2), Usage(input_tokens=3)]

    assert sum(usages) == usages[0] + usages[1]


def test_only_usages_are_added() -> None:
    """Numbers are refused."""
    with pytest.raises(TypeError):
        Usage() + 5  # type: ignore[operator]
