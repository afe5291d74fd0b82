"""Python types as JSON Schema, and JSON as their values."""

import dataclasses
import enum
from datetime import date
from typing import Any, Literal, NotRequired, TypedDict

import attrs
import jsonschema_rs
import msgspec
import pydantic
import pytest

from llmcore.generation.type_schema import converted, schema_of
from llmcore.schema import json
from llmcore.schema.errors import ConfigurationError


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


@attrs.frozen
class Named:
    name: str


@attrs.frozen
class Other:
    other: str


class Row(TypedDict):
    id: int
    note: NotRequired[str]


class Tree(msgspec.Struct):
    children: "list[Tree]" = []


class Inner(pydantic.BaseModel):
    n: int


class Outer(pydantic.BaseModel):
    inner: Inner


CASES: list[tuple[Any, Any, Any]] = [
    (int, 3, 3),
    (int, 3.0, 3),
    (float, 3, 3.0),
    (list[Point], [{"x": 1.0}], [Point(1)]),
    (Named, {"name": "a"}, Named("a")),
    (Row, {"id": 1}, {"id": 1}),
    (Colour, "red", Colour.RED),
    (Literal["a", "b"], "b", "b"),
    (str | None, None, None),
    (date, "2026-01-02", date(2026, 1, 2)),
    (tuple[int, ...], [1, 2], (1, 2)),
    (Outer, {"inner": {"n": 1}}, Outer(inner=Inner(n=1))),
    (dict[str, Outer], {"k": {"inner": {"n": 1}}}, {"k": Outer(inner=Inner(n=1))}),
]


@pytest.mark.parametrize(("type_", "data", "value"), CASES)
def test_json_that_fits_the_schema_of_a_type_becomes_its_value(
    type_: Any, data: Any, value: Any
) -> None:
    """The schema of the type accepts what is converted; whole floats count as integers."""
    validator = jsonschema_rs.validator_for(json.canonical(schema_of(type_)))

    assert validator.is_valid(data)
    assert converted(data, type_) == value


@pytest.mark.parametrize(
    ("type_", "data"), [(int, "3"), (int, 3.5), (Point, {"y": 1}), (Colour, "blue")]
)
def test_what_does_not_fit_is_a_value_error(type_: Any, data: Any) -> None:
    """Nothing is coerced that only looks alike."""
    with pytest.raises(ValueError, match=r"[A-Z]"):
        converted(data, type_)


def test_the_root_is_written_out() -> None:
    """Providers want an object at the root, not a reference to one."""
    assert schema_of(Point) == {
        "title": "Point",
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
        "required": ["x"],
    }


def test_a_recursive_type_keeps_its_definition() -> None:
    """References to it must still resolve."""
    schema = schema_of(Tree)

    assert schema["type"] == "object"
    assert "Tree" in schema["$defs"]  # type: ignore[operator]


@pytest.mark.parametrize("type_", [type("Own", (), {}), list[Named | Other], object])
def test_what_json_cannot_say_is_refused(type_: Any) -> None:
    """It names the type."""
    with pytest.raises(ConfigurationError, match="no JSON Schema"):
        schema_of(type_)
