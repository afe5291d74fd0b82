"""The schema of the wanted object, and the check of the response."""

import dataclasses
import enum
from collections.abc import Callable
from typing import Annotated, Any, NotRequired, TypedDict

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given

from llmcore.generation.object_schema import Accepted, ObjectSchema
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError
from llmcore.schema.json import JsonValue
from tests.support.strategies.examples import costly
from tests.support.strategies.values import json_values


class Color(enum.Enum):
    RED = "red"


@attrs.frozen
class AttrsPerson:
    name: str
    age: int = attrs.field(validator=attrs.validators.ge(0))
    tags: tuple[str, ...] = ()


@dataclasses.dataclass
class DataPerson:
    name: str
    age: int
    color: Color = Color.RED


class DictPerson(TypedDict):
    name: str
    age: int
    nick: NotRequired[str]


class StructPerson(msgspec.Struct):
    name: str
    age: Annotated[int, msgspec.Meta(ge=0)]


class ModelPerson(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=0)
    friends: list["ModelPerson"] = []


class ModelOfFunction(pydantic.BaseModel):
    f: Callable[[int], int]


JSON_PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
}

ALICE: dict[str, Any] = {"name": "Alice", "age": 30}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (AttrsPerson, AttrsPerson("Alice", 30)),
        (DataPerson, DataPerson("Alice", 30)),
        (DictPerson, ALICE),
        (StructPerson, StructPerson("Alice", 30)),
        (ModelPerson, ModelPerson(name="Alice", age=30)),
        (JSON_PERSON, ALICE),
    ],
)
def test_an_object_is_returned_as_what_was_asked_for(schema: Any, expected: Any) -> None:
    """Every kind of schema, by itself and in a list."""
    one, many = ObjectSchema.of(schema), None
    if not isinstance(schema, dict):
        many = ObjectSchema.of(list[schema])
        assert many.accept([ALICE, ALICE]).value == [expected, expected]

    assert one.accept(ALICE).value == expected
    assert not one.wrapped
    assert one.schema["type"] == "object"


@pytest.mark.parametrize("schema", [AttrsPerson, StructPerson, ModelPerson, JSON_PERSON])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "Alice", "age": "x"}, "age"),
        ({"name": "Alice"}, "age"),
        ({"name": "Alice", "age": -1}, "0"),
        ([], "object|dict"),
        ({"name": None, "age": 1}, "name"),
    ],
)
def test_what_does_not_fit_says_where(schema: Any, value: Any, problem: str) -> None:
    """One line, with the path, or what is wrong with the whole."""
    with pytest.raises(ValueError, match=problem) as caught:
        ObjectSchema.of(schema).accept(value)

    assert "\n" not in str(caught.value)
    assert "http" not in str(caught.value)


@pytest.mark.parametrize(
    ("given_", "error"),
    [
        ({"type": "nonsense"}, InvalidRequestError),
        (None, InvalidRequestError),
        ({"$ref": "https://example.com/schema.json"}, InvalidRequestError),
        ({"type": {1, 2}}, InvalidRequestError),
        ({"type": "json_schema", "json_schema": {"schema": {}}}, InvalidRequestError),
        (object, ConfigurationError),
        (lambda name: name, ConfigurationError),
        (len, ConfigurationError),
        ("a person", InvalidRequestError),
        (ModelOfFunction, ConfigurationError),
        (dataclasses.make_dataclass("Misspelt", [("name", "Strr")]), ConfigurationError),
        (dataclasses.make_dataclass("Described", [("name", "their name")]), ConfigurationError),
    ],
)
def test_what_is_not_a_schema_is_refused_at_once(given_: Any, error: type[LLMError]) -> None:
    """Before anything is sent, and without fetching anything."""
    with pytest.raises(error):
        ObjectSchema.of(given_)


@pytest.mark.parametrize(
    "value",
    [
        DataPerson("Ada", 36),
        AttrsPerson("Ada", 36),
        StructPerson("Ada", 36),
        ModelPerson(name="Ada", age=36),
    ],
    ids=lambda value: type(value).__name__,
)
def test_value_of_a_class_as_the_schema_is_answered_with_the_class(value: Any) -> None:
    with pytest.raises(InvalidRequestError, match=f"give the class, schema={type(value).__name__}"):
        ObjectSchema.of(value)


def test_a_model_in_a_list_is_found() -> None:
    """Pydantic says where in the model, and we where the model is."""
    with pytest.raises(
        ValueError, match=r"^\$\[1\]\.age: Input should be a valid integer"
    ) as caught:
        ObjectSchema.of(list[ModelPerson]).accept([ALICE, {"name": "Bob", "age": "x"}])

    assert "pydantic" not in str(caught.value)


def test_only_the_first_problems_are_listed() -> None:
    """Five say what is the matter with a list of a thousand."""
    with pytest.raises(ValueError, match=r"^\$\.0: .*; \$\.4: [^;]*$"):
        ObjectSchema.of({"type": "array", "items": {"type": "string"}}).accept([1] * 1000)


# -- roots


@pytest.mark.parametrize(
    ("schema", "wrapped"),
    [
        (JSON_PERSON, False),
        ({"properties": {}}, False),
        ({"$ref": "#/$defs/P", "$defs": {"P": JSON_PERSON}}, False),
        ({"$ref": "#/$defs/L", "$defs": {"L": {"type": "array"}}}, True),
        ({"$ref": "#"}, True),
        ({"type": "array"}, True),
        ({"anyOf": [JSON_PERSON, {"type": "null"}]}, True),
        ({"type": ["object", "null"]}, True),
        ({}, True),
        (list[int], True),
        (int, True),
        (StructPerson | None, True),
    ],
)
def test_what_is_not_an_object_goes_into_one(schema: Any, wrapped: bool) -> None:
    """The root that is sent is an object in any case."""
    wanted = ObjectSchema.of(schema)
    sent = wanted.response_format(None, None).schema

    assert sent is not None
    assert wanted.wrapped == wrapped
    assert (sent == wanted.schema) == (not wrapped)
    assert not wrapped or sent["type"] == "object"


def test_references_lead_where_the_schema_went() -> None:
    """Definitions stay at the root; what pointed to the old root points to the new place."""
    tree = {
        "type": "array",
        "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/N"}, {"$ref": "#/items"}]},
        "$defs": {"N": {"type": "integer"}, "T": {"$ref": "#"}},
    }
    sent = ObjectSchema.of(tree).response_format(None, None).schema

    assert sent == {
        "type": "object",
        "properties": {
            "value": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"$ref": "#/properties/value"},
                        {"$ref": "#/$defs/N"},
                        {"$ref": "#/properties/value/items"},
                    ]
                },
            }
        },
        "required": ["value"],
        "$defs": {"N": {"type": "integer"}, "T": {"$ref": "#/properties/value"}},
    }


@given(value=json_values())
@costly
def test_value_in_a_wrapper_is_unwrapped_and_one_without_it_is_kept(value: JsonValue) -> None:
    """Also where the model left the wrapper out."""
    assert ObjectSchema.of({}).unwrapped({"value": value}) == value
    assert ObjectSchema.of(list[int]).unwrapped([1]) == [1]
    assert ObjectSchema.of(JSON_PERSON).unwrapped({"value": value}) == {"value": value}


@pytest.mark.parametrize(
    ("schema", "name"),
    [(StructPerson, "StructPerson"), (JSON_PERSON, "response"), (list[int], "response")],
)
def test_the_format_is_named_for_the_type(schema: Any, name: str) -> None:
    """Unless the caller gives a name."""
    wanted = ObjectSchema.of(schema)

    assert wanted.response_format(None, "Who.").name == name
    assert wanted.response_format(None, "Who.").description == "Who."
    assert wanted.response_format("person", None).name == "person"


# -- nulls of strict providers


@pytest.mark.parametrize("schema", [DictPerson, AttrsPerson, DataPerson])
def test_a_null_for_an_optional_property_is_absence(schema: Any) -> None:
    """Strict modes write every property; what they are told to write is taken back."""
    wanted = ObjectSchema.of(schema)
    strict = project(wanted.schema, SchemaTarget.OPENAI_STRICT, "schema").schema
    required = strict["required"]
    assert isinstance(required, list)
    (optional,) = set(required) - {"name", "age"}

    accepted = wanted.accept({**ALICE, optional: None})

    assert accepted == Accepted(wanted.accept(ALICE).value, (f"$.{optional}",))


def test_the_error_is_about_what_the_model_wrote() -> None:
    """Nulls do not hide another problem."""
    with pytest.raises(ValueError, match="age"):
        ObjectSchema.of(DictPerson).accept({"name": "A", "age": "x", "nick": None})


# -- elements


@pytest.mark.parametrize(
    ("schema", "item", "expected"),
    [
        (list[StructPerson], ALICE, StructPerson("Alice", 30)),
        (tuple[AttrsPerson, ...], ALICE, AttrsPerson("Alice", 30)),
        (set[int], 3, 3),
        (list, "x", "x"),
        (Annotated[list[DataPerson], msgspec.Meta(min_length=2)], ALICE, DataPerson("Alice", 30)),
        (tuple[int, str], 1, 1),
        ({"type": "array", "items": JSON_PERSON, "minItems": 2}, ALICE, ALICE),
        (
            {"type": "array", "items": {"$ref": "#/$defs/P"}, "$defs": {"P": JSON_PERSON}},
            ALICE,
            ALICE,
        ),
    ],
)
def test_an_element_is_checked_by_itself(schema: Any, item: Any, expected: Any) -> None:
    """As the array's element type, without the limits that are the whole array's."""
    assert ObjectSchema.of(schema).elements()(item) == expected


def test_an_element_that_does_not_fit() -> None:
    """It is refused like a whole object."""
    element = ObjectSchema.of(list[StructPerson]).elements()

    with pytest.raises(ValueError, match="age"):
        element({"name": "Alice", "age": "x"})


@pytest.mark.parametrize("schema", [JSON_PERSON, StructPerson, {}, int])
def test_only_arrays_have_elements(schema: Any) -> None:
    """Asking for those of anything else is the caller's mistake."""
    with pytest.raises(InvalidRequestError, match="array"):
        ObjectSchema.of(schema).elements()
