"""The schema of a requested object, as sent to the provider, and validation of the response.

A schema is a JSON Schema or a Python type, to which the object is converted. Providers require an
object at the root; other schemas are sent as the property `value` of an object, and unwrapped from
the response (unless the model omitted the wrapper):

    list[int]  →  {"type": "object", "properties": {"value": {"type": "array", ...}}, ...}
    {"value": [1, 2]}  →  [1, 2]
"""

import collections.abc
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, get_args, get_origin

from attrs import evolve

from llmcore.generation.annotations import is_record
from llmcore.generation.json_schema import check_schema, problems
from llmcore.generation.object_nulls import without_null_options
from llmcore.generation.partial_objects import EITHER
from llmcore.generation.type_schema import converted, is_instance, schema_of
from llmcore.protocols.tool_schema.traverse import look_up
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind
from llmcore.schema.json import JsonObject, JsonValue, plain_object
from llmcore.schema.options import ResponseFormat

WRAPPER: Final = "value"
"""The property that wraps a value that is not an object."""

_MAX_REFERENCES = 16
_STATEMENTS = frozenset({"type", "title", "description", "const", "$ref", "$schema", "$id"})
"""The keywords of JSON Schema whose values are text."""
_AT_ROOT = ("$defs", "definitions", "$schema", "$id")
_COUNTS = {"minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"}
_COLLECTIONS = (list, set, frozenset, collections.abc.Sequence, collections.abc.Collection)


@frozen
class Accepted:
    """An accepted object, in the caller's type."""

    value: Any
    absent: tuple[str, ...] = ()
    """Paths of nulls that were removed as absent properties."""


@frozen(kw_only=True)
class ObjectSchema:
    """The schema of an object, and the type it is returned as."""

    schema: JsonObject
    type: Any = None
    """None returns plain JSON."""
    name: str = "response"

    @classmethod
    def of(cls, given: object) -> "ObjectSchema":
        """Return the schema for a JSON Schema or a type.

        Raises InvalidRequestError for an invalid JSON Schema, ConfigurationError for a type that
        JSON cannot represent.
        """
        _refuse_other_values(given)
        if not isinstance(given, Mapping):
            return cls.of_type(given)
        schema = plain_object(given)
        _refuse_other_forms(schema)
        try:
            check_schema(schema)
        except ValueError as error:
            reason, *_ = str(error).split("\n")
            message = f"schema is not a valid JSON Schema: {reason}"
            raise InvalidRequestError(message, cause=error) from error
        return cls(schema=schema)

    @classmethod
    def of_type(cls, type_: Any) -> "ObjectSchema":
        """Return the schema of *type_*; ConfigurationError if JSON cannot represent it."""
        return cls(schema=schema_of(type_), type=type_, name=_name_of(type_))

    @property
    def wrapped(self) -> bool:
        """Whether the schema's root is something other than an object."""
        root = self.schema
        for _ in range(_MAX_REFERENCES):  # references may be circular
            target = look_up(self.schema, str(root.get("$ref", "")))
            if target is None:
                break
            root = target
        return root.get("type", "object" if "properties" in root else None) != "object"

    @property
    def opening(self) -> str:
        """The characters of which one begins the document of a response."""
        return EITHER if self.wrapped else "{"

    @property
    def is_array(self) -> bool:
        """Whether it is a list of elements."""
        return self.schema.get("type") == "array"

    def response_format(self, name: str | None, description: str | None) -> ResponseFormat:
        """Return the response format to send."""
        schema = _wrapper_of(self.schema) if self.wrapped else self.schema
        return ResponseFormat.json_schema(schema, name=name or self.name, description=description)

    def unwrapped(self, document: JsonValue) -> JsonValue:
        """Return the value in *document*, without its wrapper."""
        if self.wrapped and isinstance(document, Mapping) and set(document) == {WRAPPER}:
            return document[WRAPPER]
        return document

    def accept(self, value: JsonValue) -> Accepted:
        """Return *value* in the caller's type; ValueError with paths if it is not valid."""
        try:
            return Accepted(self._checked(value))
        except ValueError as error:
            pruned, absent = without_null_options(value, self.schema)
            if not absent:
                raise
            try:
                return Accepted(self._checked(pruned), tuple(absent))
            except ValueError:
                raise error from None  # the fault of the original value

    def check(self, value: object, plain: JsonValue) -> None:
        """Raise ValueError unless *value*, or its JSON form *plain*, matches the schema.

        A value of the schema's type is valid, even if its JSON form cannot be read back.
        """
        try:
            self._checked(plain)
        except ValueError as error:
            if self.type is None or not is_instance(value, self.type):
                raise ValueError(f"the result does not match its type: {error}") from error

    def elements(self) -> Callable[[JsonValue], Any]:
        """Return a function that checks and converts one element of the array.

        Raises InvalidRequestError if the schema is not an array.
        """
        if not self.is_array:
            raise InvalidRequestError("element_stream requires a schema whose root is an array")
        loose = {name: item for name, item in self.schema.items() if name not in _COUNTS}
        single = evolve(self, schema=loose, type=_collection_in(self.type))

        def element(item: JsonValue) -> Any:
            return next(iter(single.accept([item]).value))

        return element

    def _checked(self, value: JsonValue) -> Any:
        if self.type is None:
            faults = problems(self.schema, value)
            if faults:
                raise ValueError("; ".join(faults))
            return value
        return converted(value, self.type)


def _refuse_other_values(given: object) -> None:
    """Raise InvalidRequestError for what is meant as a schema, but is neither a type nor JSON."""
    if given is None:
        raise InvalidRequestError("schema must be a JSON Schema or a type, not None")
    if isinstance(given, str):
        raise InvalidRequestError(
            "schema must be a JSON Schema or a type, not text: give json.loads(...) of it"
        )
    if is_record(given):
        name = type(given).__name__
        raise InvalidRequestError(f"schema is a value of {name}: give the class, schema={name}")
    if isinstance(given, list | tuple):
        raise InvalidRequestError(
            f"schema is {shown_kind(given)}: write list[A] for a list of A, A | B for either"
        )


def _refuse_other_forms(schema: JsonObject) -> None:
    """Raise InvalidRequestError for an object that other libraries take for a schema."""
    if "json_schema" in schema:
        raise InvalidRequestError(
            "schema is a response_format of Chat Completions: give what its `json_schema` has "
            "as `schema`"
        )
    are_words = all(isinstance(value, str | type) for value in schema.values())
    if schema and are_words and _STATEMENTS.isdisjoint(schema):
        name = next(iter(schema))
        raise InvalidRequestError(
            "schema is not a JSON Schema: write {'type': 'object', 'properties': "
            f"{{{name!r}: {{'type': 'string'}}}}}}, or give a class"
        )


# -- types


def _name_of(type_: object) -> str:
    if not isinstance(type_, type) or type_.__module__ == "builtins":
        return "response"
    return re.sub(r"[^A-Za-z0-9_-]+", "_", type_.__name__)[:64]


def _collection_in(type_: Any) -> Any:
    """Return *type_* without annotations if it can hold a single element; else None."""
    while get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    kind = get_origin(type_) or type_
    if kind is tuple:
        return type_ if get_args(type_)[1:] in {(), (Ellipsis,)} else None
    return type_ if kind in _COLLECTIONS else None


# -- JSON Schemas


def _wrapper_of(schema: JsonObject) -> JsonObject:
    """Return an object schema with *schema* as its property, and references adjusted."""
    at_root = {name: item for name, item in schema.items() if name in _AT_ROOT}
    inner = {name: item for name, item in schema.items() if name not in _AT_ROOT}
    whole: dict[str, JsonValue] = {
        "type": "object",
        "properties": {WRAPPER: _moved(inner)},
        "required": [WRAPPER],
    }
    return {**whole, **{name: _moved(item) for name, item in at_root.items()}}


def _moved(schema: JsonValue) -> JsonValue:
    """Return *schema* with references to the root changed to its new position."""
    if isinstance(schema, list):
        return [_moved(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    moved = {name: _moved(item) for name, item in schema.items()}
    reference = moved.get("$ref")
    if isinstance(reference, str) and (reference == "#" or _points_inside(reference)):
        moved["$ref"] = f"#/properties/{WRAPPER}{reference[1:]}"
    return moved


def _points_inside(reference: str) -> bool:
    return reference.startswith("#/") and reference.split("/")[1] not in _AT_ROOT
