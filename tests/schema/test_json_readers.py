"""Reading JSON whose types are not guaranteed."""

import pytest
from hypothesis import given

from llmcore.schema.json import (
    JsonValue,
    count_or_none,
    int_or_none,
    object_or_empty,
    objects,
    str_or_none,
)
from tests.support.strategies.values import json_values


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (3.0, 3), (-1, 0), (0, 0), (True, None), ("3", None), (None, None)],
)
def test_counts_are_whole_and_never_negative(value: object, expected: int | None) -> None:
    """A number in words does not count."""
    assert count_or_none(value) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_no_number_is_not_a_count(value: float) -> None:
    """Values that cannot be counted are None."""
    assert count_or_none(value) is None


def test_empty_text_is_none() -> None:
    """Servers fill absent fields with empty strings."""
    assert (str_or_none("a"), str_or_none(""), str_or_none(1)) == ("a", None, None)


def test_truth_is_not_a_number() -> None:
    """Python's booleans are integers; JSON's are not."""
    assert (int_or_none(1), int_or_none(True), int_or_none("1")) == (1, None, None)


@given(json_values())
def test_any_json_is_read(value: JsonValue) -> None:
    """None of the readers raises, and each returns its own type."""
    assert isinstance(object_or_empty(value), dict)
    assert all(isinstance(item, dict) for item in objects(value))
    assert isinstance(str_or_none(value), str | None)
    assert isinstance(int_or_none(value), int | None)
    assert isinstance(count_or_none(value), int | None)
