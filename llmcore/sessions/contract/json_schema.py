"""The contract's JSON Schema, made from the classes of its values."""

from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from attrs import Attribute, fields

from llmcore.schema.json import JsonObject
from llmcore.sessions.contract.deltas import DeltaPayload
from llmcore.sessions.contract.entries import (
    CONTRACT_VERSION,
    PARTS_OF_ROLE,
    EntryImage,
    EntryPart,
    ResultContent,
    ResultPart,
)

SCHEMA_ID: Final = f"urn:llmcore:message-delta-contract:{CONTRACT_VERSION}"

_VERSION: Final = {"const": CONTRACT_VERSION}


@cache
def contract_schema() -> JsonObject:
    """Return the JSON Schema (draft 2020-12) that every entry and every delta satisfies.

    It describes single entries and deltas. Rules between them (`seq` rises, results follow calls)
    are checked by `assemble` and `check_run`.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Message and delta contract",
        "oneOf": [{"$ref": "#/$defs/Message"}, {"$ref": "#/$defs/MessageDelta"}],
        "$defs": {
            "Message": {**_message(), "allOf": [_role_rule(role) for role in PARTS_OF_ROLE]},
            "MessageDelta": _delta(),
            **_definitions(),
        },
    }


@cache
def shape_schema(name: str) -> dict[str, Any]:
    """Return the schema of a `Message`, a `MessageDelta` or a part alone (`part_shape` names it).

    It has not the rules of roles: readers check those themselves, so that each broken rule has
    its own error.
    """
    shapes = {"Message": _message(), "MessageDelta": _delta(), **_definitions()}
    return {"$ref": f"#/$defs/{name}", "$defs": shapes}


@cache
def part_shape(kind: str) -> str:
    """Return the name that the schema gives parts of *kind*: `toolCallPart` for `tool_call`."""
    return f"{wire_name(kind)}Part"


@cache
def wire_name(name: str) -> str:
    """Return `toolCallId` for `tool_call_id`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def is_required(attribute: "Attribute[Any]") -> bool:
    """Return whether JSON always has the field."""
    return attribute.metadata.get("required", False) or NoneType not in _options(attribute.type)


def _message() -> dict[str, Any]:
    return _object(
        {
            "contractVersion": _VERSION,
            "runId": {"type": "string"},
            "role": {"enum": list(PARTS_OF_ROLE)},
            "parts": {"type": "array", "items": _any_of(EntryPart)},
            "timestamp": {"type": "string"},
            "meta": {"type": "object"},
        },
        optional=("meta",),
    )


def _delta() -> dict[str, Any]:
    shape = _object(
        {
            "contractVersion": _VERSION,
            "runId": {"type": "string"},
            "seq": {"type": "integer"},
            "kind": {"enum": [kind.kind for kind in get_args(DeltaPayload)]},
            "payload": {"type": "object"},
            "timestamp": {"type": "string"},
            "providerRaw": {"type": "object"},
        },
        optional=("providerRaw",),
    )
    rules = [
        {
            "if": {"properties": {"kind": {"const": kind.kind}}},
            "then": {"properties": {"payload": _payload(kind)}},
        }
        for kind in get_args(DeltaPayload)
    ]
    return {**shape, "allOf": rules}


def _definitions() -> dict[str, Any]:
    return {
        part_shape(kind.kind): _object({"kind": {"const": kind.kind}, "payload": _payload(kind)})
        for kind in get_args(EntryPart)
    }


def _role_rule(role: Any) -> dict[str, Any]:
    kinds = {"enum": [kind.kind for kind in PARTS_OF_ROLE[role]]}
    parts: dict[str, Any] = {"items": {"properties": {"kind": kinds}}}
    if role == "tool":
        parts.update(minItems=1, maxItems=1)
    return {
        "if": {"properties": {"role": {"const": role}}},
        "then": {"properties": {"parts": parts}},
    }


def _payload(kind: type) -> dict[str, Any]:
    """Return the schema of a payload class, field by field."""
    attributes = fields(kind)
    shape = _object(
        {wire_name(attribute.name): _value(attribute) for attribute in attributes},
        optional=[
            wire_name(attribute.name) for attribute in attributes if not is_required(attribute)
        ],
    )
    if kind is EntryImage:
        shape["oneOf"] = [{"required": ["data"]}, {"required": ["url"]}]
    return shape


def _value(attribute: "Attribute[Any]") -> dict[str, Any]:
    """Return the schema of one field. None means absent, unless the field is required."""
    declared: Any = attribute.type
    if declared == ResultContent:
        parts = {"type": "array", "items": _any_of(ResultPart)}
        return {"anyOf": [{"type": "string"}, {"type": "object"}, parts]}
    known = [_TYPES[kind] for kind in _options(attribute.type) if kind is not NoneType]
    if attribute.metadata.get("required"):
        known.append("null")
    return {"type": known[0] if len(known) == 1 else known}


_TYPES: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    JsonObject: "object",
}


def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _any_of(union: Any) -> dict[str, Any]:
    names = [part_shape(kind.kind) for kind in get_args(union)]
    return {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in names]}


def _object(properties: dict[str, Any], optional: Any = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
