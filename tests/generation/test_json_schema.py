"""JSON Schemas: values that do not fit them, and schemas that are invalid."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from llmcore.generation.json_schema import MAX_PROBLEMS, MAX_TEXT, check_schema, problems

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "ages": {"items": {"$ref": "#/$defs/age"}}},
    "required": ["name"],
    "$defs": {"age": {"type": "integer", "minimum": 0}},
}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"name": "A", "ages": [1]}, []),
        ({}, ['$: "name" is a required property']),
        ([], ['$: [] is not of type "object"']),
        ({"name": "A", "ages": [1, -1]}, ["$.ages.1: -1 is less than the minimum of 0"]),
    ],
    ids=str,
)
def test_problems_say_where_and_what(value: Any, told: list[str]) -> None:
    """Paths lead from the value itself."""
    assert problems(PERSON, value) == told


def test_problems_are_few_and_short() -> None:
    """A model needs some of them, and not its own text again."""
    told = problems(
        {"additionalProperties": {"type": "integer"}}, dict.fromkeys("abcdefgh", "x" * 9999)
    )

    assert len(told) == MAX_PROBLEMS
    assert all(len(one) <= MAX_TEXT + len("$.a: ") for one in told)


@pytest.mark.parametrize(
    "schema",
    [{"type": "strange"}, {"$ref": "#/$defs/no"}, {"$ref": "http://127.0.0.1:1/x"}],
    ids=str,
)
def test_what_is_not_a_schema_is_a_value_error(schema: dict[str, Any]) -> None:
    """Whoever asks; and nothing is fetched."""
    with pytest.raises(ValueError, match=r"."):
        check_schema(schema)
    with pytest.raises(ValueError, match=r"."):
        problems(schema, {})


ages = st.lists(st.integers(-2, 2) | st.text(max_size=2), max_size=3)
people = st.fixed_dictionaries({}, optional={"name": st.text(max_size=2) | st.none(), "ages": ages})


@given(people | ages)
def test_it_agrees_with_another_implementation(value: Any) -> None:
    """About whether a value fits."""
    assert (problems(PERSON, value) == []) == Draft202012Validator(PERSON).is_valid(value)
