"""Reading JSON whose types nobody guarantees."""

import pytest
from hypothesis import given

from llmcore.protocols.loose_json import count, dicts, integer, mapping, string
from llmcore.schema.json import JsonValue
from tests.support.strategies.values import json_values


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (3.0, 3), (-1, 0), (0, 0), (True, None), ("3", None), (None, None)],
)
def test_counts_are_whole_and_never_negative(value: object, expected: int | None) -> None:
    """A number in words is none."""
    assert count(value) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_no_number_is_no_count(value: float) -> None:
    """What cannot be counted is not said."""
    assert count(value) is None


def test_empty_text_is_none() -> None:
    """Servers that fill fields with empty strings say nothing by it."""
    assert (string("a"), string(""), string(1)) == ("a", None, None)


def test_truth_is_no_number() -> None:
    """Python's booleans are integers; JSON's are not."""
    assert (integer(1), integer(True), integer("1")) == (1, None, None)


@given(json_values())
def test_any_json_is_read(value: JsonValue) -> None:
    """None of the readers raises, and each returns its own type."""
    assert isinstance(mapping(value), dict)
    assert all(isinstance(item, dict) for item in dicts(value))
    assert isinstance(string(value), str | None)
    assert isinstance(integer(value), int | None)
    assert isinstance(count(value), int | None)
