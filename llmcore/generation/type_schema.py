"""Converts Python types to JSON Schema, and JSON to values of those types.

Uses msgspec, which supports the built-in types, `Literal`, enums, `TypedDict`, dataclasses, attrs
classes and its own structs. Pydantic models are converted by their own methods; pydantic is never
imported.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from llmcore.schema import json
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.json import JsonObject, JsonValue, plain_object

_T = TypeVar("_T")

_REFERENCE = "#/$defs/{name}"


def schema_of(type_: Any) -> JsonObject:
    """Return the JSON Schema of *type_*, with the schemas that it references in `$defs`.

    The root is not a reference. Raises ConfigurationError if JSON cannot represent the type.
    """
    definitions: dict[str, Any] = {}

    def hook(kind: Any) -> dict[str, Any]:
        if not _is_pydantic(kind):
            raise TypeError(f"the type {kind!r} is not supported")
        schema: dict[str, Any] = kind.model_json_schema(ref_template="#/$defs/{model}")
        definitions.update(schema.pop("$defs", {}))
        return schema

    try:
        (root,), components = msgspec.json.schema_components(
            [type_], schema_hook=hook, ref_template=_REFERENCE
        )
    except (TypeError, RecursionError) as error:
        message = (
            f"{type_!r} has no JSON Schema ({error}): give a dataclass, a TypedDict, a Pydantic or "
            "attrs class, a list of them, or a JSON Schema as a dict"
        )
        raise ConfigurationError(message, cause=error) from error
    return _rooted(root, {**definitions, **components})


def _rooted(root: dict[str, Any], definitions: dict[str, Any]) -> JsonObject:
    """Return *root* without a reference at its root, with the *definitions* that it needs."""
    name = root.get("$ref", "").removeprefix("#/$defs/")
    if name in definitions:
        root = dict(definitions[name])
        if f'"#/$defs/{name}"' not in json.canonical(plain_object({"all": [root, definitions]})):
            del definitions[name]
    return plain_object({**root, "$defs": definitions} if definitions else root)


def converted(value: JsonValue, type_: type[_T]) -> _T:
    """Return the JSON *value* converted to *type_*; ValueError with the path if impossible.

    Integers may be written with a decimal point, as in JSON Schema. Keys of objects are converted
    from text to the annotated type.
    """
    try:
        return msgspec.convert(value, type_, str_keys=True, dec_hook=_from_json)
    except msgspec.ValidationError:
        return msgspec.convert(_integral(value), type_, str_keys=True, dec_hook=_from_json)


def is_instance(value: object, type_: Any) -> bool:
    """Return whether *value* is already of *type_*, including type arguments and fields."""
    try:
        if isinstance(type_, type) and isinstance(value, type_):
            return True
        msgspec.convert(value, type_, dec_hook=_from_json)
    except (msgspec.ValidationError, ValueError, TypeError):
        return False
    return True


def to_plain(value: object) -> object:
    """Return *value* as dicts, lists and scalars; TypeError if it has no such form."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_to_json)


def _integral(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _integral(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_integral(item) for item in value]
    return value


def _from_json(type_: Any, value: Any) -> Any:
    if _is_pydantic(type_):
        return value if isinstance(value, type_) else type_.model_validate(value)
    raise TypeError(f"the type {type_!r} is not supported")


def _to_json(value: Any) -> Any:
    if _is_pydantic(type(value)):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def _is_pydantic(type_: Any) -> bool:
    return hasattr(type_, "model_json_schema") and hasattr(type_, "model_validate")
