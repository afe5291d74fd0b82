"""JSON in and out for the API's types, through one converter.

What is read is checked: a missing field, a wrong type, or an object that is none of a
union's variants is an error that names the path. Unknown fields of the request itself are
kept, those of sub-structures are not. Fields that are not set are not written.

Reading is strict: it admits what the contract has (`strict`). With `tolerant=True` it also
admits what later versions of the API added, and keeps objects of unknown types as they came.
"""

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import cattrs
from attrs import fields, fields_dict, frozen, has
from cattrs.cols import list_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from llmcore.protocols.anthropic_messages.types.citations import TextCitation
from llmcore.protocols.anthropic_messages.types.request import Request
from llmcore.protocols.anthropic_messages.types.shapes import Raw, is_always_written
from llmcore.protocols.anthropic_messages.types.tools import AnyTool, Tool
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.json import JsonObject, JsonValue, canonical, plain, plain_object

# -- what others call


def write(value: object) -> dict[str, Any]:
    """Return a request, response, event or part of one as JSON data."""
    written: dict[str, Any] = _converter(tolerant=True).unstructure(value)
    return written


def read_request(data: JsonValue, *, tolerant: bool = False) -> Request:
    """Return the request that *data* is; InvalidRequestError if it is not one."""
    request: Request = structured(Request, data, InvalidRequestError, tolerant=tolerant)
    return request


def read_tool(data: JsonObject) -> AnyTool:
    """Return a tool definition; one with more than is modelled here is kept as it came."""
    tool: AnyTool = _read_exactly(AnyTool, data)
    return tool


def read_citation(data: JsonObject) -> TextCitation:
    """Return a citation; one with more than is modelled here is kept as it came."""
    citation: TextCitation = _read_exactly(TextCitation, data)
    return citation


def _read_exactly(union: Any, data: JsonObject) -> Any:
    """Return *data* as a member of *union*, or as `Raw` where that would lose something."""
    try:
        value = structured(union, data, InvalidRequestError, tolerant=True)
    except InvalidRequestError:
        return Raw(data)
    said = {name: item for name, item in data.items() if item is not None}
    written = {name: item for name, item in write(value).items() if item is not None}
    return value if canonical(written) == canonical(said) else Raw(data)


def read_field(name: str, data: JsonValue) -> Any:
    """Return *data* as the request's field *name*; InvalidRequestError if it does not fit."""
    kind = fields_dict(Request)[name].type
    return structured(kind, data, InvalidRequestError, tolerant=True)


def write_field(name: str, value: object) -> JsonValue:
    """Return *value* of the request's field *name* as JSON data."""
    written: JsonValue = _converter(tolerant=True).unstructure(
        value, fields_dict(Request)[name].type
    )
    return written


def structured(kind: Any, data: JsonValue, error: type[LLMError], *, tolerant: bool) -> Any:
    """Return *data* as a value of *kind*; an *error*, naming each path, if it is not one."""
    try:
        return _converter(tolerant=tolerant).structure(data, kind)
    except (cattrs.BaseValidationError, LLMError, TypeError, ValueError) as problem:
        faults = "; ".join(cattrs.transform_error(problem, format_exception=_fault))
        name = getattr(kind, "__name__", "value")
        raise error(f"not a valid Anthropic {name}: {faults}", cause=problem) from problem


def _fault(error: BaseException, _kind: type | None) -> str:
    """Say what is wrong at one path."""
    match error:
        case KeyError():
            return "required field missing"
        case LLMError(message=message):
            return message
        case _:
            return str(error)


# -- the converter


@cache
def _converter(*, tolerant: bool) -> cattrs.Converter:
    """Build the converter, on first use."""
    admitted = _everything() if tolerant else _contract()
    converter = cattrs.Converter()
    for scalar in (str, int, float, bool):
        converter.register_structure_hook(scalar, _exactly(scalar))
    converter.register_structure_hook_factory(_is_literal, _one_of)
    _json(converter)
    converter.register_unstructure_hook_factory(has, lambda kind: _object_writer(kind, converter))
    converter.register_structure_hook_factory(
        has, lambda kind: _object_reader(kind, converter, admitted)
    )
    converter.register_structure_hook_factory(
        _is_tuple, lambda kind: _tuple_reader(kind, converter)
    )
    converter.register_unstructure_hook_factory(
        _is_tuple, lambda kind: _tuple_writer(kind, converter)
    )
    converter.register_structure_hook_factory(
        _is_union, lambda kind: _union_reader(kind, converter, admitted)
    )
    converter.register_unstructure_hook_factory(
        _is_union, lambda kind: _union_writer(kind, converter)
    )
    converter.register_structure_hook(Raw, lambda data, _: Raw(_object(data)))
    converter.register_unstructure_hook(Raw, lambda raw: plain_object(raw.data))
    _requests(converter)
    return converter


@frozen
class _Admitted:
    """What a converter reads of all that is modelled."""

    later: frozenset[type]
    """Variants that it refuses."""
    check: Callable[[type, Mapping[str, Any]], None]
    """Raises ValueError for values that it refuses."""


def _everything() -> _Admitted:
    return _Admitted(frozenset(), lambda _kind, _data: None)


def _contract() -> _Admitted:
    from llmcore.protocols.anthropic_messages.types import strict

    return _Admitted(strict.LATER, strict.check)


def _exactly(kind: type) -> Any:
    def check(data: object, _: object) -> object:
        if type(data) is not kind and not (kind is float and type(data) is int):
            raise TypeError(f"expected {kind.__name__}, got {_kind(data)}")
        return data

    return check


def _kind(data: object) -> str:
    return "null" if data is None else type(data).__name__


def _object(data: object) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise TypeError(f"expected an object, got {_kind(data)}")
    return dict(data)


def _is_literal(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is Literal


def _one_of(words: Any) -> Any:
    def check(data: object, _: object) -> object:
        if data not in get_args(words):
            raise ValueError(f"{data!r} is not one of {', '.join(get_args(words))}")
        return data

    return check


def _json(converter: cattrs.Converter) -> None:
    """Copy JSON both ways, so that nobody changes a value through what it was read from."""

    def register(marker: Any, copy: Callable[[object], object]) -> None:
        converter.register_structure_hook(marker, lambda data, _: copy(data))
        converter.register_unstructure_hook(marker, copy)

    register(JsonValue, plain)
    register(JsonObject, lambda data: plain_object(_object(data)))


# -- objects


def _tags(kind: Any) -> tuple[str, ...]:
    """Return the values of `type` that *kind* stands for; none if it has no type."""
    if kind is Tool:
        return ("custom",)
    attribute = fields_dict(kind).get("type")
    if attribute is not None:
        return get_args(attribute.type) if _is_literal(attribute.type) else ()
    tag = getattr(kind, "type", None)
    return (tag,) if isinstance(tag, str) else ()


def _object_writer(kind: Any, converter: cattrs.Converter) -> Any:
    """Write an object, its type first, without what is not set."""
    written = [attribute.name for attribute in fields(kind) if is_always_written(attribute)]
    kept: Any = {name: override(omit_if_default=False) for name in written}
    body = make_dict_unstructure_fn(kind, converter, _cattrs_omit_if_default=True, **kept)
    tag = getattr(kind, "type", None)
    if not isinstance(tag, str) or "type" in fields_dict(kind):
        return body
    return lambda value: {"type": tag, **body(value)}


def _object_reader(kind: Any, converter: cattrs.Converter, admitted: _Admitted) -> Any:
    """Read an object of the right type."""
    read: Any = make_dict_structure_fn(kind, converter)
    tags = _tags(kind)
    tagged = bool(tags) and "type" not in fields_dict(kind)

    def structure(data: object, _: object) -> object:
        given = _object(data)
        if tagged and given.get("type") not in tags and not (kind is Tool and _untyped(given)):
            raise ValueError(f"type is {given.get('type')!r}, not {tags[0]!r}")
        admitted.check(kind, given)
        return read(given, kind)

    return structure


def _untyped(data: Mapping[str, Any]) -> bool:
    return data.get("type") is None


def _requests(converter: cattrs.Converter) -> None:
    """Keep a request's unknown fields, and write the messages last.

    All before them then stays the same from turn to turn, byte for byte.
    """
    kept: Any = {"extra_fields": override(omit=True)}
    body = make_dict_unstructure_fn(Request, converter, _cattrs_omit_if_default=True, **kept)
    read: Any = make_dict_structure_fn(Request, converter, **kept)
    known = fields_dict(Request).keys() - kept.keys()

    def unstructure(request: Request) -> dict[str, Any]:
        written = body(request)
        messages = written.pop("messages")
        extra = {k: v for k, v in request.extra_fields.items() if k not in written}
        return {**written, **plain_object(extra), "messages": messages}

    def structure(data: object, _: object) -> Request:
        given = _object(data)
        extra = {name: given.pop(name) for name in list(given) if name not in known}
        from_fields: Request = read(given, Request)
        if not extra:
            return from_fields
        values = {name: getattr(from_fields, name) for name in known}
        return Request(**values, extra_fields=extra)

    converter.register_unstructure_hook(Request, unstructure)
    converter.register_structure_hook(Request, structure)


# -- lists


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[1:] == (...,)


def _tuple_reader(kind: Any, converter: cattrs.Converter) -> Any:
    """Read lists only: a string is no list of its characters."""
    read: Any = list_structure_factory(kind, converter)

    def structure(data: object, _: object) -> object:
        if not isinstance(data, list | tuple):
            raise TypeError(f"expected a list, got {_kind(data)}")
        return tuple(read(list(data), kind))

    return structure


def _tuple_writer(kind: Any, converter: cattrs.Converter) -> Any:
    item = converter.get_unstructure_hook(get_args(kind)[0])
    return lambda values: [item(value) for value in values]


# -- unions: exactly one variant


def _is_union(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is Union or origin is types.UnionType


def _variants(kind: Any) -> list[Any]:
    """Return the members of a union, those of unions inside it too."""
    return [
        variant
        for member in get_args(kind)
        for variant in (_variants(member) if _is_union(member) else [member])
    ]


def _union_reader(kind: Any, converter: cattrs.Converter, admitted: _Admitted) -> Any:
    """Read null, a string, a list, or the object that `type` names."""
    variants = [variant for variant in _variants(kind) if variant not in admitted.later]
    simple = [v for v in variants if v is not type(None) and not (isinstance(v, type) and has(v))]
    by_tag = {tag: v for v in variants if isinstance(v, type) and has(v) for tag in _tags(v)}
    readers = {v: converter.get_structure_hook(v) for v in variants if v is not type(None)}
    only = _only_object(variants)

    def structure(data: object, _: object) -> object:
        if data is None and type(None) in variants:
            return None
        if isinstance(data, Mapping) and (by_tag or only):
            variant = only or by_tag.get(data.get("type") or "custom", Raw)
            if variant not in readers:
                known = ", ".join(sorted(by_tag))
                raise ValueError(f"type is {data.get('type')!r}, not one of {known}")
            return readers[variant](data, variant)
        variant = _simple_variant(simple, data)
        return readers[variant](data, variant)

    return structure


def _only_object(variants: list[Any]) -> Any:
    """Return the one class among *variants*, if there is just one: it needs no `type`."""
    classes = [variant for variant in variants if isinstance(variant, type) and has(variant)]
    return classes[0] if len(classes) == 1 else None


def _simple_variant(simple: list[Any], data: object) -> Any:
    """Return which of *simple* (a scalar, a list, JSON) *data* is meant for."""
    for variant in simple:
        if (_is_tuple(variant) and isinstance(data, list | tuple)) or variant is type(data):
            return variant
    if len(simple) == 1:
        return simple[0]
    wanted = " or ".join("a list" if _is_tuple(v) else v.__name__ for v in simple) or "an object"
    raise TypeError(f"expected {wanted}, got {_kind(data)}")


def _union_writer(kind: Any, converter: cattrs.Converter) -> Any:
    """Write what is there: a string as a string, a tuple as a list."""
    variants = _variants(kind)
    lists = next((variant for variant in variants if _is_tuple(variant)), None)
    classes = {v: converter.get_unstructure_hook(v) for v in variants if isinstance(v, type)}
    write_list = converter.get_unstructure_hook(lists) if lists else None
    write_json = next((classes[v] for v in variants if v in (JsonObject, JsonValue)), None)

    def unstructure(value: object) -> object:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, tuple) and write_list is not None:
            return write_list(value)
        writer = classes.get(type(value), write_json)
        return value if writer is None else writer(value)

    return unstructure
