"""Named tuples are objects with their names: as schemas, as parameters and as what tools return."""

import dataclasses
import re
from collections import namedtuple
from typing import Annotated, Any, NamedTuple

import attrs
import pydantic
import pytest

from llmcore import sync
from llmcore.generation.plain_values import to_plain
from llmcore.generation.tool import tool
from llmcore.generation.type_schema import converted, schema_of
from llmcore.testing import FakeModel


class Point(NamedTuple):
    """A place."""

    x: Annotated[float, "to the right"]
    y: float = 0.0


class Positive(NamedTuple):
    size: Annotated[int, pydantic.Field(gt=0)]


class Box(NamedTuple):
    corner: Point
    label: str


@dataclasses.dataclass
class Line:
    start: Point
    end: Point | None


@attrs.frozen
class Dot:
    at: Point


class Map(pydantic.BaseModel):
    center: Point


Untyped = namedtuple("Untyped", "a b")  # noqa: PYI024  (the form without types is the case)

_POINT = {
    "title": "Point",
    "description": "A place.",
    "type": "object",
    "properties": {
        "x": {"type": "number", "description": "to the right"},
        "y": {"type": "number", "default": 0.0},
    },
    "required": ["x"],
}


def test_the_schema_of_a_named_tuple_is_an_object_with_its_names() -> None:
    assert schema_of(Point) == _POINT


@pytest.mark.parametrize("type_", [list[Point], Line, Dot, Box, dict[str, Point], Point | None])
def test_a_named_tuple_within_another_type_keeps_its_names(type_: Any) -> None:
    assert schema_of(type_)["$defs"] == {"Point": _POINT}


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (Point, {"y": 2, "x": 1}, Point(1, 2)),
        (Point, {"x": 1}, Point(1)),
        (Point, [1, 2], Point(1, 2)),
        (Positive, {"size": 3}, Positive(3)),
        (list[Point], [{"x": 1}], [Point(1)]),
        (dict[str, Point], {"here": {"x": 1}}, {"here": Point(1)}),
        (tuple[Point, int], [{"x": 1}, 2], (Point(1), 2)),
        (tuple[Point, ...], [{"x": 1}, {"x": 2}], (Point(1), Point(2))),
        (Point | None, None, None),
        (Line, {"start": {"x": 1}, "end": None}, Line(Point(1), None)),
        (Line, {"start": {"x": 1}, "end": {"x": 2}}, Line(Point(1), Point(2))),
        (Dot, {"at": {"x": 1}}, Dot(Point(1))),
        (Box, {"corner": {"x": 1}, "label": "a"}, Box(Point(1), "a")),
        (Map, {"center": {"x": 1}}, Map(center=Point(1))),
        (Untyped, {"a": 1, "b": "c"}, Untyped(1, "c")),
    ],
)
def test_an_object_is_converted_to_a_named_tuple(type_: Any, value: Any, expected: object) -> None:
    result = converted(value, type_)

    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"y": 1}, "the object for Point is missing ['x']"),
        ({"x": 1, "z": 2}, "the object for Point has unknown fields ['z']"),
        ({"x": "far"}, "Expected `float`, got `str` - at `$[0]`"),
        ([], "Expected `array` of length 1 to 2, got 0"),
    ],
)
def test_an_object_that_does_not_fit_is_refused_with_what_is_wrong(value: Any, fault: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(fault)}$"):
        converted(value, Point)


@pytest.mark.parametrize("type_", [Map, Positive])
def test_pydantics_schema_of_a_named_tuple_is_an_object(type_: Any) -> None:
    schema: Any = schema_of(type_)
    named = schema.get("$defs", {"Positive": schema})

    assert [each["type"] for each in named.values()] == ["object"]
    assert "prefixItems" not in str(schema)


def test_a_response_becomes_a_named_tuple() -> None:
    fake = FakeModel('{"x": 1, "y": 2}')

    result = sync.generate_object(fake.model, "Where?", schema=Point, client=fake.client)

    assert result.output == Point(1, 2)


def test_a_tool_takes_named_tuples_as_objects() -> None:
    @tool
    def distance(to: Point) -> float:
        """Measure the distance to a place."""
        return to.x

    properties: Any = distance.definition.parameters["properties"]
    assert properties["to"] in ({"$ref": "#/$defs/Point"}, _POINT)


def test_a_tool_returns_named_tuples_as_objects() -> None:
    returned = {"all": [Box(Point(1, 2), "a")]}

    assert to_plain(returned) == {"all": [{"corner": {"x": 1, "y": 2}, "label": "a"}]}
