"""Descriptions in the annotations of types."""

import dataclasses
from typing import Annotated, Any, Generic, NotRequired, TypedDict, TypeVar

import attrs
import msgspec
import pydantic
import pytest
from typing_extensions import Doc

from llmcore.generation.type_schema import schema_of

T = TypeVar("T")


@dataclasses.dataclass
class City:
    name: Annotated[str, "such as Paris"]
    size: Annotated[int | None, msgspec.Meta(description="in people"), "not this"] = None


@dataclasses.dataclass
class Country:
    """A country."""

    capital: Annotated[City, "the largest"]
    rivers: list[Annotated[str, "its name"]]
    heights: dict[str, Annotated[float | None, "in metres"]]


@attrs.frozen
class Documented:
    name: Annotated[str, Doc("a name")]


class Row(TypedDict):
    id: NotRequired[Annotated[int, "a number"]]


class Renamed(msgspec.Struct, rename="camel"):
    full_name: Annotated[str, "with titles"]


@dataclasses.dataclass
class Box(Generic[T]):
    content: Annotated[T, "what is in it"]


@dataclasses.dataclass
class Checked:
    age: Annotated[int, pydantic.Field(ge=0), "in years"]
    home: Annotated[City, "where they live"] | None = None


@pytest.mark.parametrize(
    ("type_", "path", "text"),
    [
        (City, ("name",), "such as Paris"),
        (City, ("size",), "in people"),
        (Documented, ("name",), "a name"),
        (Row, ("id",), "a number"),
        (Renamed, ("fullName",), "with titles"),
        (Box[int], ("content",), "what is in it"),
        (Checked, ("age",), "in years"),
        (Country, ("capital",), "the largest"),
        (Country, ("rivers", "items"), "its name"),
        (Country, ("heights", "additionalProperties"), "in metres"),
    ],
)
def test_text_in_the_annotation_of_a_field_is_its_description(
    type_: Any, path: tuple[str, ...], text: str
) -> None:
    node: Any = schema_of(type_)["properties"]
    for name in path:
        node = node[name]

    assert node["description"] == text


def test_fields_of_nested_classes_are_described_by_msgspec_and_by_pydantic() -> None:
    for type_ in (list[Country], list[Checked]):
        definitions: Any = schema_of(type_)["$defs"]

        assert definitions["City"]["properties"]["name"]["description"] == "such as Paris"


def test_a_description_of_the_root_replaces_the_docstring_of_its_class() -> None:
    schema = schema_of(Annotated[Country, "the country that is meant"])

    assert schema["description"] == "the country that is meant"
    assert schema_of(Country)["description"] == "A country."


def test_elements_of_a_list_at_the_root_are_described() -> None:
    assert schema_of(list[Annotated[str, "a city"]]) == {
        "type": "array",
        "items": {"type": "string", "description": "a city"},
    }
