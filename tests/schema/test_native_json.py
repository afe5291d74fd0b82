"""Reading JSON whose types are not guaranteed."""

import pytest
from hypothesis import given

from llmcore.schema.json import JsonValue
from llmcore.schema.native_json import (
    LARGEST_COUNT,
    count_or_none,
    float_or_none,
    index_or_none,
    int_or_none,
    object_or_empty,
    objects,
    objects_or_one,
    str_or_none,
)
from tests.support.strategies.values import json_values


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((3, 3), (3.0, 3), (-1, None), (-1.0, None), (0, 0), (0.0, 0)),
        *((True, None), ("3", None), (None, None)),
        *((LARGEST_COUNT, LARGEST_COUNT), (LARGEST_COUNT + 1, None), (1e30, None)),
    ],
)
def test_counts_are_whole_and_within_reason(value: object, expected: int | None) -> None:
    """A number in words does not count, nor one that nothing can be counted to."""
    assert count_or_none(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3.0), (0.5, 0.5), (True, None), ("3", None), (10**400, None)]
)
def test_an_integer_that_no_float_holds_is_none(value: object, expected: float | None) -> None:
    """JSON bounds no integer, and converting such a one would raise."""
    assert float_or_none(value) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_no_number_is_not_a_count(value: float) -> None:
    """Values that cannot be counted are None."""
    assert count_or_none(value) is None


def test_str_or_none_of_an_empty_text_is_none() -> None:
    """Servers fill absent fields with empty strings."""
    assert (str_or_none("a"), str_or_none(""), str_or_none(1)) == ("a", None, None)


def test_truth_is_not_a_number() -> None:
    """Python's booleans are integers; JSON's are not."""
    assert (int_or_none(1), int_or_none(True), int_or_none("1")) == (1, None, None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((3, 3), (3.0, 3), ("3", 3), (3.5, None), ("3.0", None), ("", None), ("9" * 5000, None)),
        *((True, None), (None, None), (float("inf"), None), ("\u0663", None), ("-1", None)),
    ],
)
def test_an_index_is_a_whole_number_also_as_text(value: object, expected: int | None) -> None:
    """Serializers of other languages write integers as text or as floats."""
    assert index_or_none(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [({}, [{}]), ([{}, 1], [{}]), ([], []), ("a", []), (None, [])]
)
def test_one_object_stands_for_a_list_of_it(value: object, expected: object) -> None:
    """Other values hold no objects."""
    assert objects_or_one(value) == expected


@given(json_values())
def test_any_json_is_read(value: JsonValue) -> None:
    """None of the readers raises, and each returns its own type."""
    assert isinstance(object_or_empty(value), dict)
    assert all(isinstance(item, dict) for item in objects(value))
    assert isinstance(str_or_none(value), str | None)
    assert isinstance(int_or_none(value), int | None)
    assert isinstance(index_or_none(value), int | None)
    assert all(isinstance(item, dict) for item in objects_or_one(value))
    assert isinstance(count_or_none(value), int | None)
