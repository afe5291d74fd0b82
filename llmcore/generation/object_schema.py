"""What object is wanted: its schema as the provider gets it, and the check of what came back.

A schema is a JSON Schema or a Python type, to which the object is
converted. Providers demand an object at the root; anything else is asked for as the one
property `value` of an object, and taken from there (or as it is, from a model that left
the wrapper out).
"""

import collections.abc
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, get_args, get_origin

from attrs import evolve, frozen

from llmcore.generation.json_schema import MAX_PROBLEMS, MAX_TEXT, check_schema, problems
from llmcore.generation.object_nulls import referred, without_null_options
from llmcore.generation.type_schema import converted, is_instance, schema_of
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject, JsonValue, plain_object
from llmcore.schema.options import ResponseFormat

WRAPPER: Final = "value"
"""The property that holds what is no object."""

_MAX_REFERENCES = 16
_PATH = re.compile(r" - at `(\$[^`]*)`$")
_AT_ROOT = ("$defs", "definitions", "$schema", "$id")
_COUNTS = {"minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"}
_COLLECTIONS = (list, set, frozenset, collections.abc.Sequence, collections.abc.Collection)


@frozen
class Accepted:
    """An object as the caller gets it."""

    value: Any
    absent: tuple[str, ...] = ()
    """Paths of nulls that were taken for absent properties."""


@frozen(kw_only=True)
class ObjectSchema:
    """The shape of an object, and the type it is returned as."""

    schema: JsonObject
    type: Any = None
    """None returns plain JSON."""
    name: str = "response"

    @classmethod
    def of(cls, given: object) -> "ObjectSchema":
        """Return the shape that a JSON Schema or a type describes.

        InvalidRequestError for what is no JSON Schema, ConfigurationError for a type that
        JSON does not have.
        """
        if given is None:
            raise InvalidRequestError("schema is a JSON Schema or a type, not None")
        if not isinstance(given, Mapping):
            return cls.of_type(given)
        schema = plain_object(given)
        try:
            check_schema(schema)
        except ValueError as error:
            message = f"schema is no valid JSON Schema: {error}"
            raise InvalidRequestError(message, cause=error) from error
        return cls(schema=schema)

    @classmethod
    def of_type(cls, type_: Any) -> "ObjectSchema":
        """Return the shape of *type_*; ConfigurationError if JSON has no such type."""
        return cls(schema=schema_of(type_), type=type_, name=_name_of(type_))

    @property
    def wrapped(self) -> bool:
        """Whether the schema's root is something other than an object."""
        root = self.schema
        for _ in range(_MAX_REFERENCES):  # they may lead in a circle
            target = referred(self.schema, str(root.get("$ref", "")))
            if not isinstance(target, Mapping):
                break
            root = target
        return root.get("type", "object" if "properties" in root else None) != "object"

    @property
    def is_array(self) -> bool:
        """Whether it is a list of elements."""
        return self.schema.get("type") == "array"

    def response_format(self, name: str | None, description: str | None) -> ResponseFormat:
        """Return what to ask the provider for."""
        schema = _wrapper_of(self.schema) if self.wrapped else self.schema
        return ResponseFormat.json_schema(schema, name=name or self.name, description=description)

    def unwrapped(self, document: JsonValue) -> JsonValue:
        """Return the value that *document* holds."""
        if self.wrapped and isinstance(document, Mapping) and set(document) == {WRAPPER}:
            return document[WRAPPER]
        return document

    def accept(self, value: JsonValue) -> Accepted:
        """Return *value* as the wanted type; ValueError, naming paths, if it does not fit."""
        try:
            return Accepted(self._checked(value))
        except ValueError as error:
            pruned, absent = without_null_options(value, self.schema)
            if not absent:
                raise
            try:
                return Accepted(self._checked(pruned), tuple(absent))
            except ValueError:
                raise error from None  # about what the model wrote

    def check(self, value: object, plain: JsonValue) -> None:
        """Raise ValueError unless *value*, which is *plain* as JSON, is of the wanted shape.

        A value of the wanted type fits, also one that cannot be made again from its JSON.
        """
        try:
            self._checked(plain)
        except ValueError as error:
            if self.type is None or not is_instance(value, self.type):
                raise ValueError(f"the result does not fit its type: {error}") from error

    def elements(self) -> Callable[[JsonValue], Any]:
        """Return what checks and converts one element; InvalidRequestError unless an array."""
        if not self.is_array:
            raise InvalidRequestError("element_stream needs a schema whose root is an array")
        loose = {name: item for name, item in self.schema.items() if name not in _COUNTS}
        of_one = evolve(self, schema=loose, type=_collection_in(self.type))

        def element(item: JsonValue) -> Any:
            return next(iter(of_one.accept([item]).value))

        return element

    def _checked(self, value: JsonValue) -> Any:
        if self.type is None:
            misfits = problems(self.schema, value)
            if misfits:
                raise ValueError("; ".join(misfits))
            return value
        try:
            return converted(value, self.type)
        except (ValueError, TypeError) as error:
            raise ValueError(_said(error)) from error


# -- types


def _name_of(type_: object) -> str:
    if not isinstance(type_, type) or type_.__module__ == "builtins":
        return "response"
    return re.sub(r"[^A-Za-z0-9_-]+", "_", type_.__name__)[:64]


def _collection_in(type_: Any) -> Any:
    """Return *type_*, without limits on its length, if it can hold a single element."""
    while get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    kind = get_origin(type_) or type_
    if kind is tuple:
        return type_ if get_args(type_)[1:] in {(), (Ellipsis,)} else None
    return type_ if kind in _COLLECTIONS else None


def _said(error: BaseException) -> str:
    """Return what is wrong, in a line; a pydantic error lists it better than it prints it."""
    cause: Any = error.__cause__ or error
    if not type(cause).__module__.startswith("pydantic"):
        return " ".join(str(error).split())[:MAX_TEXT]
    where = _PATH.search(str(error))
    root = where[1] if where else "$"
    told = [
        f"{'.'.join([root, *map(str, one['loc'])])}: {one['msg'][:MAX_TEXT]}"
        for one in cause.errors(include_url=False)
    ]
    return "; ".join(told[:MAX_PROBLEMS])


# -- JSON Schemas


def _wrapper_of(schema: JsonObject) -> JsonObject:
    """Return an object with *schema* as its one property; references go on to lead there."""
    at_root = {name: item for name, item in schema.items() if name in _AT_ROOT}
    inner = {name: item for name, item in schema.items() if name not in _AT_ROOT}
    whole: dict[str, JsonValue] = {
        "type": "object",
        "properties": {WRAPPER: _moved(inner)},
        "required": [WRAPPER],
    }
    return {**whole, **{name: _moved(item) for name, item in at_root.items()}}


def _moved(schema: JsonValue) -> JsonValue:
    """Return *schema* with references to the root, or into it, following where it went."""
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
