"""JSON in and out for the contract's values, on the library's one converter.

What is read is checked: a missing field, a wrong type, or an object that is not one of a union's
variants is an error that names the path. Unknown fields of the request itself are kept, those of
objects in it are not. Fields that are not set are not written.

Reading is strict: it admits what the contract has. With `tolerant=True` it also admits what later
versions of the API added, and keeps objects of unknown types as they came.
"""

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Union, cast, get_args, get_origin

import cattrs
from attrs import fields, fields_dict, has
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from llmcore.protocols.anthropic_messages.contract import blocks, request, response, sources
from llmcore.protocols.anthropic_messages.contract.request import ClientTool, MessagesRequest
from llmcore.protocols.anthropic_messages.contract.response import MessagesResponse, StreamEvent
from llmcore.protocols.anthropic_messages.contract.sources import Raw, is_always_written
from llmcore.schema.converter import (
    READING_ERRORS,
    faults_of,
    is_literal,
    is_tuple,
    kind_of,
    object_of,
    strict_converter,
)
from llmcore.schema.errors import InvalidRequestError, LLMError, StreamError
from llmcore.schema.json import JsonObject, JsonValue, plain_object

# -- reading and writing


def write(value: object) -> dict[str, Any]:
    """Return a request, a response, an event or a part of one as JSON data."""
    written: dict[str, Any] = _converter(tolerant=True).unstructure(value)
    return written


def read_request(data: JsonValue, *, tolerant: bool = False) -> MessagesRequest:
    """Read a request from *data*; InvalidRequestError if it is not valid."""
    return cast("MessagesRequest", _read(MessagesRequest, data, InvalidRequestError, tolerant))


def read_response(data: JsonValue, *, tolerant: bool = False) -> MessagesResponse:
    """Read a response from *data*; StreamError if it is not valid."""
    return cast("MessagesResponse", _read(MessagesResponse, data, StreamError, tolerant))


def read_event(data: JsonValue, *, tolerant: bool = False) -> StreamEvent:
    """Read a stream event from *data*; StreamError if it is not valid."""
    return cast("StreamEvent", _read(StreamEvent, data, StreamError, tolerant))


def _read(kind: Any, data: JsonValue, error: type[LLMError], tolerant: bool) -> object:
    try:
        return _converter(tolerant=tolerant).structure(data, kind)
    except READING_ERRORS as problem:
        name = getattr(kind, "__name__", "StreamEvent")
        raise error(f"not a valid Anthropic {name}: {faults_of(problem)}", cause=problem) from None


# -- the converter


@cache
def _converter(*, tolerant: bool) -> cattrs.Converter:
    """Build the converter, on first use."""
    converter = strict_converter(forbid_extra_keys=False)
    converter.register_unstructure_hook_factory(has, lambda kind: _object_writer(kind, converter))
    converter.register_structure_hook_factory(
        has, lambda kind: _object_reader(kind, converter, tolerant=tolerant)
    )
    converter.register_unstructure_hook_factory(
        is_tuple, lambda kind: _tuple_writer(kind, converter)
    )
    converter.register_structure_hook_factory(
        _is_union, lambda kind: _union_reader(kind, converter, tolerant=tolerant)
    )
    converter.register_unstructure_hook_factory(
        _is_union, lambda kind: _union_writer(kind, converter)
    )
    converter.register_structure_hook(Raw, lambda data, _: Raw(object_of(data)))
    converter.register_unstructure_hook(Raw, lambda raw: plain_object(raw.data))
    _requests(converter)
    return converter


# -- objects


def _tags(kind: Any) -> tuple[str, ...]:
    """Return the values of `type` that *kind* represents; none if it has no type."""
    if kind is ClientTool:
        return ("custom",)
    attribute = fields_dict(kind).get("type")
    if attribute is not None:
        return get_args(attribute.type) if is_literal(attribute.type) else ()
    tag = getattr(kind, "type", None)
    return (tag,) if isinstance(tag, str) else ()


def _renamed(kind: Any) -> dict[str, Any]:
    """Return the fields whose names in JSON are keywords of Python."""
    names = [attribute.name for attribute in fields(kind) if attribute.name.endswith("_")]
    return {name: override(rename=name.rstrip("_")) for name in names}


def _object_writer(kind: Any, converter: cattrs.Converter) -> Any:
    """Write an object, its type first, without what is not set."""
    written = [attribute.name for attribute in fields(kind) if is_always_written(attribute)]
    always: Any = {name: override(omit_if_default=False) for name in written} | _renamed(kind)
    body = make_dict_unstructure_fn(kind, converter, _cattrs_omit_if_default=True, **always)
    tag = getattr(kind, "type", None)
    if not isinstance(tag, str) or "type" in fields_dict(kind):
        return body
    return lambda value: {"type": tag, **body(value)}


def _object_reader(kind: Any, converter: cattrs.Converter, *, tolerant: bool) -> Any:
    """Read an object of the right type."""
    read: Any = make_dict_structure_fn(kind, converter, **_renamed(kind))
    tags = _tags(kind)
    tagged = bool(tags) and "type" not in fields_dict(kind)

    def structure(data: object, _: object) -> object:
        given = object_of(data)
        untyped = kind is ClientTool and given.get("type") is None
        if tagged and given.get("type") not in tags and not untyped:
            raise ValueError(f"type is {given.get('type')!r}, not {tags[0]!r}")
        if not tolerant:
            check(kind, given)
        return read(given, kind)

    return structure


def _requests(converter: cattrs.Converter) -> None:
    """Keep a request's unknown fields, and write the messages last.

    All before them then stays the same from turn to turn, byte for byte.
    """
    kept: Any = {"extra_fields": override(omit=True)}
    body = make_dict_unstructure_fn(
        MessagesRequest, converter, _cattrs_omit_if_default=True, **kept
    )
    read: Any = make_dict_structure_fn(MessagesRequest, converter, **kept)
    known_names = fields_dict(MessagesRequest).keys() - kept.keys()

    def unstructure(request: MessagesRequest) -> dict[str, Any]:
        native = body(request)
        messages = native.pop("messages")
        extra = {k: v for k, v in request.extra_fields.items() if k not in native}
        return {**native, **plain_object(extra), "messages": messages}

    def structure(data: object, _: object) -> MessagesRequest:
        given = object_of(data)
        extra = {name: given.pop(name) for name in list(given) if name not in known_names}
        from_fields: MessagesRequest = read(given, MessagesRequest)
        if not extra:
            return from_fields
        values = {name: getattr(from_fields, name) for name in known_names}
        return MessagesRequest(**values, extra_fields=extra)

    converter.register_unstructure_hook(MessagesRequest, unstructure)
    converter.register_structure_hook(MessagesRequest, structure)


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


def _union_reader(kind: Any, converter: cattrs.Converter, *, tolerant: bool) -> Any:
    """Read null, a string, a list, or the object that `type` names."""
    variants = [member for member in _variants(kind) if tolerant or member not in LATER]
    classes = [member for member in variants if isinstance(member, type) and has(member)]
    simple = [member for member in variants if member not in classes and member is not type(None)]
    by_tag = {tag: member for member in classes for tag in _tags(member)}
    readers = {member: converter.get_structure_hook(member) for member in (*classes, *simple)}
    only = classes[0] if len(classes) == 1 else None  # it needs no `type`

    def structure(data: object, _: object) -> object:
        if data is None and type(None) in variants:
            return None
        if isinstance(data, Mapping) and (by_tag or only):
            variant = only or by_tag.get(data.get("type") or "custom", Raw)
            if variant not in readers:
                known = ", ".join(sorted(by_tag))
                raise ValueError(f"type is {data.get('type')!r}, not one of {known}")
        else:
            variant = _simple_variant(simple, data)
        return readers[variant](data, variant)

    return structure


def _simple_variant(simple: list[Any], data: object) -> Any:
    """Return which of *simple* (a scalar, a list, JSON) *data* is meant for."""
    for variant in simple:
        if (is_tuple(variant) and isinstance(data, list | tuple)) or variant is type(data):
            return variant
    if len(simple) == 1:
        return simple[0]
    wanted = " or ".join("a list" if is_tuple(v) else v.__name__ for v in simple) or "an object"
    raise TypeError(f"expected {wanted}, got {kind_of(data)}")


def _union_writer(kind: Any, converter: cattrs.Converter) -> Any:
    """Write a string as a string, and a tuple as a list."""
    variants = _variants(kind)
    lists = next((variant for variant in variants if is_tuple(variant)), None)
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


# -- the strict mode

LATER: Final[frozenset[type]] = frozenset(
    {
        Raw,
        blocks.ToolReferenceBlock,
        blocks.McpToolUseBlock,
        blocks.McpToolResultBlock,
        blocks.WebFetchToolResultBlock,
        blocks.CodeExecutionToolResultBlock,
        blocks.BashCodeExecutionToolResultBlock,
        blocks.TextEditorCodeExecutionToolResultBlock,
        blocks.ToolSearchToolResultBlock,
        blocks.AdvisorToolResultBlock,
        blocks.ContainerUploadBlock,
        blocks.CompactionBlock,
        blocks.FallbackBlock,
        blocks.McpToolListingBlock,
        blocks.ToolAdditionBlock,
        blocks.ToolRemovalBlock,
        response.CompactionDelta,
        request.ThinkingAdaptive,
        request.ThinkingBetweenTools,
        sources.FileSource,
        request.MemoryTool,
        request.ComputerTool,
        request.Toolset,
        request.WebFetchTool,
        request.CodeExecutionTool,
        request.ToolSearchTool,
        request.AdvisorTool,
        request.McpToolset,
    }
)
"""Variants of unions that only the tolerant mode reads."""

STOP_REASONS: Final = (
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
)

_VALUES: Final[Mapping[type, Mapping[str, tuple[str, ...]]]] = {
    request.InputMessage: {"role": ("user", "assistant")},
    response.MessagesResponse: {"role": ("assistant",), "stop_reason": STOP_REASONS},
    response.MessageChange: {"stop_reason": STOP_REASONS},
    request.BashTool: {"type": ("bash_20250124",)},
    request.TextEditorTool: {
        "type": ("text_editor_20250124", "text_editor_20250429", "text_editor_20250728")
    },
    request.WebSearchTool: {"type": ("web_search_20250305",)},
}
"""The values of fields that admit fewer than their type; null stays what it is."""

_REQUIRED: Final[Mapping[type, tuple[str, ...]]] = {response.MessagesResponse: ("role",)}
"""Fields that must be there although their type has a default."""


def check(kind: type, data: Mapping[str, Any]) -> None:
    """Raise ValueError if *data*, to be read as a *kind*, has what the contract does not admit."""
    for name in _REQUIRED.get(kind, ()):
        if name not in data:
            raise ValueError(f"required field missing: {name}")
    for name, admitted in _VALUES.get(kind, {}).items():
        value = data.get(name)
        if value is not None and value not in admitted:
            raise ValueError(f"{name} is {value!r}, not one of {', '.join(admitted)}")
