"""Named tuples as JSON objects: msgspec and pydantic write them as arrays, without their names.

    class Point(NamedTuple):
        x: float
        y: float = 0.0

is `{"type": "object", "properties": {"x": ..., "y": ...}, "required": ["x"]}`, so that the model
gets the names, and no provider has to support `prefixItems`.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

import msgspec

from llmcore.generation.annotations import field_types, plain

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema


def is_named_tuple(type_: Any) -> bool:
    """Return whether *type_* is a NamedTuple, or a class of `collections.namedtuple`."""
    return isinstance(type_, type) and issubclass(type_, tuple) and hasattr(type_, "_fields")


def as_object(schema: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Change the *schema* of an array to that of an object, whose fields have *names*."""
    items = schema.pop("prefixItems", [])
    needed = schema.pop("minItems", 0)
    for keyword in ("maxItems", "items"):
        schema.pop(keyword, None)
    properties = dict(zip(names, items, strict=True))
    schema.update(type="object", properties=properties, required=list(names[:needed]))
    return schema


@cache
def model_schema_generator() -> "type[GenerateJsonSchema]":
    """Return pydantic's generator of schemas, with objects for named tuples."""
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        def named_tuple_schema(self, schema: Any) -> Any:  # pydantic 2.14 and newer
            return as_object(super().named_tuple_schema(schema), _names(schema["fields"]))

        def p_arguments_schema(self, arguments: Any, var_args_schema: Any) -> Any:  # older ones
            array = super().p_arguments_schema(arguments, var_args_schema)
            return array if var_args_schema else as_object(array, _names(arguments))

    return Generator


def _names(fields: Sequence[Mapping[str, Any]]) -> list[str]:
    return [field["name"] for field in fields]


def as_arrays(value: Any, type_: Any) -> Any:
    """Return the JSON *value* with arrays, which msgspec reads, for the named tuples in *type_*.

    Raises ValueError if an object does not have the names of its named tuple.
    """
    type_ = plain(getattr(type_, "__value__", type_))
    arguments = get_args(type_)
    if get_origin(type_) in (Union, UnionType):
        return _of_one(value, arguments)
    if isinstance(value, list):
        return _items(value, type_, arguments)
    if not isinstance(value, Mapping):
        return value
    types = field_types(get_origin(type_) or type_)
    others = arguments[1] if len(arguments) == 2 else Any
    read = {name: as_arrays(item, types.get(name, others)) for name, item in value.items()}
    return _array(read, type_) if is_named_tuple(type_) else read


def _of_one(value: Any, members: Iterable[Any]) -> Any:
    """Return *value* as the first of the *members* of a union that changes it."""
    for member in members:
        with suppress(ValueError):
            read = as_arrays(value, member)
            if read != value:
                return read
    return value


def _items(value: list[Any], type_: Any, arguments: tuple[Any, ...]) -> list[Any]:
    if get_origin(type_) is not tuple or ... in arguments:
        arguments = (arguments[0] if arguments else Any,) * len(value)
    if len(arguments) != len(value):
        return value
    return [as_arrays(item, kind) for item, kind in zip(value, arguments, strict=True)]


def _array(value: dict[str, Any], type_: Any) -> list[Any]:
    """Return the items of *value* in their order, and defaults for those that are missing."""
    items = {**msgspec.to_builtins(type_._field_defaults), **value}
    missing = [name for name in type_._fields if name not in items]
    unknown = [name for name in items if name not in type_._fields]
    if missing or unknown:
        fault = f"is missing {missing}" if missing else f"has unknown fields {unknown}"
        raise ValueError(f"the object for {type_.__name__} {fault}")
    return [items[name] for name in type_._fields]


def with_names(value: object) -> object:
    """Return *value* with dicts for the named tuples in it, and in its lists and dicts."""
    if isinstance(value, tuple) and is_named_tuple(type(value)):
        names: Sequence[str] = getattr(value, "_fields", ())
        return {name: with_names(item) for name, item in zip(names, value, strict=True)}
    if type(value) is dict:
        return {key: with_names(item) for key, item in value.items()}
    return list(map(with_names, value)) if isinstance(value, list) else value
