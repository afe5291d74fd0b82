"""Types that pydantic converts: unions of classes, constraints, and types of its own."""

import dataclasses
import json
import sys
from collections.abc import Iterable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal

import annotated_types
import attrs
import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from llmcore import sync
from llmcore.generation.object_schema import ObjectSchema
from llmcore.generation.tool import tool
from llmcore.generation.type_schema import converted, is_instance, schema_of
from llmcore.schema.errors import ConfigurationError
from llmcore.testing import FakeModel

pytestmark = pytest.mark.filterwarnings("error")


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    bark: str


@dataclasses.dataclass
class Circle:
    radius: Annotated[float, pydantic.Field(gt=0)]


@dataclasses.dataclass
class Square:
    side: float
    children: "list[Circle | Square]" = dataclasses.field(default_factory=list)


@pydantic.dataclasses.dataclass
class Checked:
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def _lower(cls, name: str) -> str:
        if not name.islower():
            raise ValueError("must be lower case")
        return name


class Strict(pydantic.BaseModel, strict=True):
    at: pydantic.AwareDatetime
    path: Path


Pet = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]
CAT, DOG = Cat(kind="cat", lives=9), Dog(kind="dog", bark="woof")
AT = {"at": "2026-01-02T03:04:05Z", "path": "/a"}


@pytest.mark.parametrize(
    ("type_", "data", "value"),
    [
        (Cat | Dog, {"kind": "dog", "bark": "woof"}, DOG),
        (list[Cat | Dog], [{"kind": "cat", "lives": 9.0}], [CAT]),
        (list[Pet], [{"kind": "cat", "lives": 9}, {"kind": "dog", "bark": "woof"}], [CAT, DOG]),
        (dict[str, Pet | None], {"a": None}, {"a": None}),
        (Circle | Square, {"side": 2.0}, Square(2.0)),
        (Square, {"side": 1, "children": [{"radius": 3}]}, Square(1.0, [Circle(3.0)])),
        (Annotated[int, annotated_types.Ge(0)], 4, 4),
        (pydantic.PositiveInt, 4, 4),
        (tuple[Path, IPv4Address], ["/a", "127.0.0.1"], (Path("/a"), IPv4Address("127.0.0.1"))),
        (Checked, {"name": "ann"}, Checked("ann")),
        (list[Strict], [AT], [Strict.model_validate_json(json.dumps(AT))]),
    ],
)
def test_json_becomes_a_value_of_a_type_that_pydantic_reads(
    type_: Any, data: Any, value: Any
) -> None:
    """The schema has no reference at its root, and a value is of its type."""
    assert "$ref" not in schema_of(type_)
    assert converted(data, type_) == value
    assert is_instance(value, type_)


@pytest.mark.parametrize(
    ("type_", "data", "message"),
    [
        (list[Pet], [{"kind": "dog", "lives": 9}], r"^\$\.0\.dog\.bark: Field required$"),
        (Annotated[int, pydantic.Field(ge=0)], -1, r"^\$: Input should be greater than or equal"),
        (list[Circle], [{"radius": 0}], r"^\$\.0\.radius: Input should be greater than 0$"),
        (Checked, {"name": "ANN"}, r"^\$\.name: Value error, must be lower case$"),
    ],
)
def test_json_that_breaks_a_constraint_of_pydantic_is_an_error_with_its_path(
    type_: Any, data: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        converted(data, type_)
    assert not is_instance(data, type_)


def test_schema_of_a_type_for_pydantic_has_constraints_and_no_titles_of_fields() -> None:
    assert schema_of(list[Circle]) == {
        "type": "array",
        "items": {"$ref": "#/$defs/Circle"},
        "$defs": {
            "Circle": {
                "title": "Circle",
                "type": "object",
                "properties": {"radius": {"type": "number", "exclusiveMinimum": 0}},
                "required": ["radius"],
            }
        },
    }


def test_objects_of_a_union_are_generated_and_streamed() -> None:
    """As elements too, each of which is converted alone."""
    fake = FakeModel(*['{"value": [{"kind": "cat", "lives": 9}]}'] * 2)
    result = sync.generate_object(fake.model, "Pets?", schema=list[Cat | Dog], client=fake.client)
    stream = sync.stream_object(fake.model, "Pets?", schema=list[Cat | Dog], client=fake.client)

    assert result.output == [CAT]
    assert list(stream.element_stream) == [CAT]


def test_a_function_with_annotations_of_pydantic_becomes_a_tool() -> None:
    """Descriptions of `Field` go before those of the docstring."""

    @tool
    def feed(  # noqa: D417
        pet: Pet,
        grams: int = pydantic.Field(50, ge=1, description="of dry food"),
        json: list[str] = [],  # noqa: B006  (a name that models of pydantic do not allow)
        at: Annotated[str | None, "such as 08:30"] = None,
    ) -> str:
        """Feed a pet.

        Args:
            pet: The pet to feed.
            grams: Not this text.

        """
        return f"{pet} {grams} {json} {at}"

    properties: Any = feed.parameters["properties"]
    handler = feed.handler
    assert handler is not None
    filled = handler.keywords({"pet": {"kind": "cat", "lives": 9}})

    assert feed.parameters["required"] == ["pet"]
    assert feed.parameters["additionalProperties"] is False
    assert properties["pet"]["description"] == "The pet to feed."
    assert properties["grams"] == {
        "type": "integer",
        "minimum": 1,
        "default": 50,
        "description": "of dry food",
    }
    assert properties["at"]["description"] == "such as 08:30"
    assert filled == {"pet": CAT, "grams": 50}


def test_a_parameter_that_json_cannot_represent_is_named_with_its_function() -> None:
    def look(where: Cat | Dog, how: Callable_) -> None: ...

    with pytest.raises(ConfigurationError, match=r"^look cannot be a tool: the parameter 'how': "):
        tool(look)


def test_an_attrs_class_beside_constraints_of_pydantic_is_refused_by_its_name() -> None:
    def look(grams: Annotated[int, pydantic.Field(ge=0)], where: Place) -> None: ...

    with pytest.raises(ConfigurationError, match=r"^look cannot be a tool: .*schema for .*Place'>"):
        tool(look)


@attrs.frozen
class Place:
    name: str


class Callable_:  # noqa: N801
    """A class without fields that JSON could have."""


def test_a_union_of_classes_without_pydantic_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)

    @dataclasses.dataclass
    class Local:
        shape: Circle | int | Path

    with pytest.raises(ConfigurationError, match=r"install pydantic \(2 or newer\), or give"):
        schema_of(Local)


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (dict[str, Annotated[int, msgspec.Meta(ge=0)] | Path], "does not read msgspec.Meta"),
        (list[Annotated[msgspec.Struct, pydantic.Field()]], "schema for .*Struct"),
        ("list[int]", "has no JSON Schema"),
        (dict[str, Iterable[Cat]], r"write list\[...\]"),
    ],
)
def test_a_type_of_which_a_part_would_be_ignored_is_refused(type_: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        schema_of(type_)


def test_an_annotation_with_a_value_that_has_no_hash_is_converted() -> None:
    type_ = Annotated[list[Path], {"unhashable": True}]
    fake = FakeModel('["/a"]')

    result: Any = sync.generate_object(fake.model, "?", schema=type_, client=fake.client)

    assert result.output == [Path("/a")]
    assert ObjectSchema.of(type_).is_array


def test_a_union_of_attrs_classes_says_what_to_write() -> None:
    """Neither msgspec nor pydantic tells them apart; dataclasses work."""
    first, second = attrs.make_class("First", ["a"]), attrs.make_class("Second", ["b"])

    with pytest.raises(ConfigurationError, match="attrs classes in a union as dataclasses, or"):
        schema_of(list[first | second])  # type: ignore[valid-type]
