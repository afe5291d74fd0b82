"""Converts Python types to JSON Schema, and JSON to values of those types.

Uses msgspec, which supports the built-in types, `Literal`, enums, `TypedDict`, dataclasses, attrs
classes and its own structs. Pydantic models are converted by their own methods. A type that
contains constraints or other types of pydantic, and one that msgspec does not support, is converted
by pydantic as a whole, which is imported only then:

    Annotated[int, Field(ge=0)], list[Cat | Dog], pathlib.Path
"""

import collections.abc
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from inspect import isroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

import msgspec

from llmcore.generation.annotations import (
    describe,
    description_of,
    field_types,
    is_annotated,
    is_model,
    parts_of,
)
from llmcore.generation.json_schema import MAX_PROBLEMS, MAX_TEXT
from llmcore.generation.named_tuples import (
    as_arrays,
    as_object,
    is_named_tuple,
    model_schema_generator,
)
from llmcore.schema import json
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, plain_object, without

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

_T = TypeVar("_T")

_MODEL = "#/$defs/{model}"
_SEVERAL_CLASSES = "Type unions may not contain more than one dataclass or attrs type"
_PATH = re.compile(r" - at `(\$[^`]*)`$")


# -- schemas


def schema_of(type_: Any) -> JsonObject:
    """Return the JSON Schema of *type_*, with the schemas that it references in `$defs`.

    The root is not a reference. Raises ConfigurationError if JSON cannot represent the type.
    """
    return _reading_of(type_).schema


def _schema_by_msgspec(type_: Any, parts: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of *type_* and its definitions; TypeError for what msgspec cannot read."""
    definitions: dict[str, Any] = {}

    def hook(kind: Any) -> dict[str, Any]:
        if not is_model(kind):
            raise TypeError(f"the type {kind!r} is not supported")
        from pydantic.errors import PydanticUserError

        try:
            schema: dict[str, Any] = kind.model_json_schema(
                ref_template=_MODEL, schema_generator=model_schema_generator()
            )
        except PydanticUserError as error:  # a field without a schema
            raise TypeError(_first_sentence(error)) from error
        definitions.update(schema.pop("$defs", {}))
        return schema

    classes = list(_described_classes(parts))
    (root, *references), components = msgspec.json.schema_components(
        [type_, *(class_ for class_, _ in classes)],
        schema_hook=hook,
        ref_template="#/$defs/{name}",
    )
    for reference, (class_, fields) in zip(references, classes, strict=True):
        schema = components[_referred(reference)]
        if is_named_tuple(class_):
            as_object(schema, class_._fields)
        _describe_fields(schema, fields)
    return root, {**definitions, **components}


def _described_classes(parts: Sequence[Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield named tuples, and classes of which a field has a description, with their fields."""
    for part in parts:
        fields = _fields(part)
        if is_named_tuple(part) or any(map(description_of, fields.values())):
            yield part, fields


def _describe_fields(schema: dict[str, Any], fields: dict[str, Any]) -> None:
    """Add the descriptions of *fields* to the *schema* of their class."""
    properties = schema.get("properties", {})
    for name, type_ in fields.items():
        if name in properties:
            describe(properties[name], type_)


def _fields(class_: Any) -> dict[str, Any]:
    """Return the types of the fields of *class_* by their names in JSON."""
    types = field_types(get_origin(class_) or class_)
    renamed = zip(
        getattr(class_, "__struct_fields__", ()),
        getattr(class_, "__struct_encode_fields__", ()),
        strict=True,
    )
    names: dict[str, str] = dict(renamed)
    return {names.get(name, name): type_ for name, type_ in types.items()}


def _referred(schema: dict[str, Any]) -> str:
    """Return the name of the definition that *schema* references; empty if it is another."""
    return str(schema.get("$ref", "")).removeprefix("#/$defs/")


def _rooted(root: dict[str, Any], definitions: dict[str, Any]) -> JsonObject:
    """Return *root* without a reference at its root, with the *definitions* that it needs."""
    name = _referred(root)
    if name in definitions:
        root = {**definitions[name], **without(root, "$ref")}
        if f'"#/$defs/{name}"' not in json.canonical(plain_object({"all": [root, definitions]})):
            del definitions[name]
    return plain_object({**root, "$defs": definitions} if definitions else root)


# -- values


def converted(value: JsonValue, type_: type[_T]) -> _T:
    """Return the JSON *value* converted to *type_*; ValueError with the path if impossible.

    Integers may be written with a decimal point, as in JSON Schema. Keys of objects are converted
    from text to the annotated type.
    """
    reading = _reading_of(type_)
    try:
        if reading.adapter is not None:
            result: _T = reading.adapter.validate_json(json.dumps(value))
            return result
        given = as_arrays(value, type_) if reading.has_named_tuples else value
        return _converted_by_msgspec(given, type_)
    except (ValueError, TypeError) as error:
        raise ValueError(_message_of(error)) from error


def _converted_by_msgspec(value: JsonValue, type_: type[_T]) -> _T:
    try:
        return msgspec.convert(value, type_, str_keys=True, dec_hook=_from_json)
    except msgspec.ValidationError:
        return msgspec.convert(_integral(value), type_, str_keys=True, dec_hook=_from_json)


def is_instance(value: object, type_: Any) -> bool:
    """Return whether *value* is already of *type_*, including type arguments and fields."""
    try:
        if isinstance(type_, type) and isinstance(value, type_):
            return True
        adapter = _reading_of(type_).adapter
        if adapter is not None:
            adapter.validate_python(value)
        else:
            msgspec.convert(value, type_, dec_hook=_from_python)
    except (msgspec.ValidationError, ValueError, TypeError):
        return False
    return True


def _integral(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _integral(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_integral(item) for item in value]
    return value


def _from_json(type_: Any, value: Any) -> Any:
    """Return *value* as a model. A strict model accepts text for a date in JSON only."""
    if is_model(type_):
        return type_.model_validate_json(json.dumps(value))
    raise TypeError(f"the type {type_!r} is not supported")


def _from_python(type_: Any, value: Any) -> Any:
    if is_model(type_):
        return value if isinstance(value, type_) else type_.model_validate(value)
    raise TypeError(f"the type {type_!r} is not supported")


def _message_of(error: BaseException) -> str:
    """Return the message of *error* in one line. Errors of pydantic are read from their list."""
    cause: Any = error.__cause__ or error
    if not type(cause).__module__.startswith("pydantic"):
        return " ".join(str(error).split())[:MAX_TEXT]
    where = _PATH.search(str(error))
    root = where[1] if where else "$"
    faults = [
        f"{'.'.join([root, *map(str, item['loc'])])}: {item['msg'][:MAX_TEXT]}"
        for item in cause.errors(include_url=False)
    ]
    return "; ".join(faults[:MAX_PROBLEMS])


# -- arguments of functions


@frozen
class Argument:
    """A parameter of a function that a model fills."""

    name: str
    type: Any
    description: str | None = None
    default: object = dataclasses.MISSING

    @property
    def is_field(self) -> bool:
        """Whether its default is a `pydantic.Field(...)`, which is replaced by the field's."""
        return type(self.default).__module__ == "pydantic.fields"

    @property
    def is_mutable(self) -> bool:
        """Whether its default is a collection, which calls of the function share."""
        return isinstance(self.default, list | dict | set | bytearray)


def arguments_type(arguments: Sequence[Argument]) -> type:
    """Return a type whose values have the *arguments* as attributes, and that allows no others.

    Raises ConfigurationError with the parameter's name if JSON cannot represent its type.
    """
    for_pydantic = any(each.is_field for each in arguments)
    for each in arguments:
        try:
            for_pydantic = _reading_of(each.type).adapter is not None or for_pydantic
        except ConfigurationError as error:
            message = f"the parameter {each.name!r}: {error.message}"
            raise ConfigurationError(message, cause=error) from error
    if for_pydantic:
        return _dataclass_of(arguments)
    fields = [_struct_field(each) for each in arguments]
    return msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)


def _struct_field(argument: Argument) -> Any:
    type_, default = argument.type, argument.default
    if argument.description:
        type_ = Annotated[type_, msgspec.Meta(description=argument.description)]
    if default is dataclasses.MISSING:
        return (argument.name, type_)
    if argument.is_mutable and default:
        default = msgspec.field(default_factory=lambda: argument.default)
    return (argument.name, type_, default)


def _dataclass_of(arguments: Sequence[Argument]) -> type:
    """Return a dataclass for pydantic, whose models do not allow all names of fields."""
    fields = [(each.name, _described_for_pydantic(each), _field_of(each)) for each in arguments]
    config = {"__pydantic_config__": {"extra": "forbid"}}
    return dataclasses.make_dataclass("Arguments", fields, kw_only=True, namespace=config)


def _field_of(argument: Argument) -> Any:
    if argument.is_mutable:
        return dataclasses.field(default_factory=lambda: argument.default)
    return dataclasses.field(default=argument.default)


def _described_for_pydantic(argument: Argument) -> Any:
    """Return the type with its description, before annotations that may have one of their own."""
    from pydantic import Field

    if not argument.description:
        return argument.type
    plain, *notes = get_args(argument.type) if is_annotated(argument.type) else (argument.type,)
    described: Any = Annotated[plain, Field(description=argument.description)]
    for note in notes:
        described = Annotated[described, note]
    return described


# -- pydantic


OF_PYDANTIC = ("pydantic", "pydantic_core", "pydantic_extra_types", "annotated_types")
"""The packages whose types and annotations only pydantic understands."""


_LAZY = (collections.abc.Iterable, collections.abc.Iterator, collections.abc.Generator)


@frozen
class _Reading:
    """How a type is read."""

    schema: JsonObject
    adapter: "TypeAdapter[Any] | None" = None
    """Pydantic's, if it converts the type; None if msgspec does."""
    has_named_tuples: bool = False


def _reading_of(type_: Any) -> _Reading:
    """Return how *type_* is read. Raises ConfigurationError if JSON cannot represent it."""
    try:
        hash(type_)
    except TypeError:  # an annotation that is a dict, for example
        return _read(type_)
    try:
        return _cached(type_)
    except (NameError, SyntaxError) as error:  # of an annotation that is text
        name = getattr(type_, "__name__", repr(type_))
        raise ConfigurationError(
            f"the annotations of {name} cannot be read: {error}. They must be types that are "
            "defined at the top level of the same module, before the call",
            cause=error,
        ) from error


def _read(type_: Any) -> _Reading:
    parts = parts_of(type_)
    if any(map(_is_of_pydantic, parts)):
        return _read_by_pydantic(type_, parts, None)
    try:
        root, definitions = _schema_by_msgspec(type_, parts)
    except (TypeError, RecursionError) as error:
        return _read_by_pydantic(type_, parts, error)
    describe(root, type_)
    return _Reading(_rooted(root, definitions), has_named_tuples=any(map(is_named_tuple, parts)))


_cached = lru_cache(maxsize=512)(_read)


def _read_by_pydantic(type_: Any, parts: Sequence[Any], fault: Exception | None) -> _Reading:
    """Return how pydantic reads *type_*, for which msgspec has a *fault*; None was not tried."""
    reason = fault or TypeError("it has types or annotations of pydantic")
    if isinstance(type_, str) or isroutine(type_) or type_ is object:  # pydantic would take them
        raise _unsupported(type_, reason)
    if any(get_origin(part) in _LAZY for part in parts):
        raise _unsupported(type_, TypeError("its items would be checked late: write list[...]"))
    try:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUserError
    except ImportError:
        raise _unsupported(type_, reason, "install pydantic (2 or newer), or ") from reason
    metas = [part for part in parts if isinstance(part, msgspec.Meta)]
    if any(meta != msgspec.Meta(description=meta.description) for meta in metas):
        raise _unsupported(type_, TypeError("pydantic does not read msgspec.Meta"))
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(type_)
        root = adapter.json_schema(ref_template=_MODEL, schema_generator=_schema_generator())
    except ImportError as error:  # of a validator that a type of pydantic needs
        raise _unsupported(type_, error) from error
    except (PydanticUserError, RecursionError) as error:
        first = TypeError(_first_sentence(error))
        unions = "write attrs classes in a union as dataclasses, or "
        hint = unions if str(fault).startswith(_SEVERAL_CLASSES) else ""
        raise _unsupported(type_, fault or first, hint) from error
    definitions = root.pop("$defs", {})
    for class_, fields in _described_classes(parts):
        _describe_fields(definitions.get(getattr(class_, "__name__", ""), root), fields)
    describe(root, type_)
    return _Reading(_rooted(root, definitions), adapter)


def _unsupported(type_: Any, reason: Exception, hint: str = "") -> ConfigurationError:
    message = (
        f"{type_!r} has no JSON Schema ({reason}): {hint}give a dataclass, a TypedDict, a Pydantic "
        "or attrs class, a list of them, or a JSON Schema as a dict"
    )
    return ConfigurationError(message, cause=reason)


def _first_sentence(error: Exception) -> str:
    return re.split(r"\.\s|\n", str(error), maxsplit=1)[0]


def _is_of_pydantic(part: Any) -> bool:
    """Return whether *part* is a type or an annotation that only pydantic understands."""
    kind = part if isinstance(part, type) else type(part)
    if is_model(kind):
        return False
    module = kind.__module__.partition(".")[0]
    return module in OF_PYDANTIC or hasattr(kind, "__pydantic_validator__")


@cache
def _schema_generator() -> "type[GenerateJsonSchema]":
    """Return such a generator without titles of fields, which repeat their names."""

    class Generator(model_schema_generator()):  # type: ignore[misc]
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    return Generator
