"""Entries and deltas as JSON: camelCase, versioned, and strict both ways.

What is written satisfies the contract's JSON Schema, and only that is read.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, get_args

from attrs import fields

from llmcore.schema import json
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.sessions.contract.deltas import DeltaPayload, MessageDelta
from llmcore.sessions.contract.entries import (
    CONTRACT_VERSION,
    PARTS_OF_ROLE,
    EntryPart,
    EntryToolResult,
    MessageEntry,
    ResultPart,
)
from llmcore.sessions.contract.errors import (
    ContractVersionError,
    MalformedError,
    RolePartError,
    UnknownKindError,
)
from llmcore.sessions.contract.json_schema import is_required, part_shape, shape_schema, wire_name

_T = TypeVar("_T")

MAX_ENTRY_BYTES = 64 * 1024 * 1024
"""The longest JSON text of an entry that is written or read."""

_PARTS = {kind.kind: kind for kind in get_args(EntryPart)}
_PAYLOADS = {kind.kind: kind for kind in get_args(DeltaPayload)}
_SHOWN = 300
"""The most characters that are quoted of a schema violation."""


def to_wire(value: MessageEntry | MessageDelta) -> JsonObject:
    """Return *value* as JSON data.

    Raises MalformedError for a field of another type than the contract's.
    """
    if isinstance(value, MessageDelta):
        data, name = _delta_to_wire(value), "MessageDelta"
    else:
        data, name = _entry_to_wire(value), "Message"
    _check_shape(data, name)
    return data


def _entry_to_wire(entry: MessageEntry) -> JsonObject:
    data: dict[str, Any] = {
        "contractVersion": CONTRACT_VERSION,
        "runId": entry.run_id,
        "role": entry.role,
        "parts": [_part_to_wire(part) for part in entry.parts],
        "timestamp": entry.timestamp,
    }
    return {**data, "meta": entry.meta} if entry.meta else data


def _delta_to_wire(delta: MessageDelta) -> JsonObject:
    data: dict[str, Any] = {
        "contractVersion": CONTRACT_VERSION,
        "runId": delta.run_id,
        "seq": delta.seq,
        "kind": delta.kind,
        "payload": _payload_to_wire(delta.payload),
        "timestamp": delta.timestamp,
    }
    return data if delta.provider_raw is None else {**data, "providerRaw": delta.provider_raw}


def _part_to_wire(part: EntryPart) -> JsonObject:
    payload = _payload_to_wire(part)
    if isinstance(part, EntryToolResult) and isinstance(part.content, tuple):
        payload["content"] = [_part_to_wire(inner) for inner in part.content]
    return {"kind": part.kind, "payload": payload}


def _payload_to_wire(payload: EntryPart | DeltaPayload) -> dict[str, Any]:
    named = ((attribute, getattr(payload, attribute.name)) for attribute in fields(type(payload)))
    return {
        wire_name(attribute.name): value
        for attribute, value in named
        if value is not None or is_required(attribute)
    }


def entry_from_wire(data: JsonValue) -> MessageEntry:
    """Read an entry from *data*.

    Raises MalformedError (ContractVersionError, UnknownKindError) for what has not the
    contract's form, RolePartError and ToolResultCountError for parts that the role cannot hold.
    """
    given = _checked(data, "Message")
    return MessageEntry(
        run_id=given["runId"],
        role=given["role"],
        parts=[_part_from_wire(part) for part in given["parts"]],
        timestamp=given["timestamp"],
        meta=given.get("meta", {}),
    )


def delta_from_wire(data: JsonValue) -> MessageDelta:
    """Read a delta from *data*; raises as `entry_from_wire` does."""
    given = _checked(data, "MessageDelta")
    return MessageDelta(
        run_id=given["runId"],
        seq=int(given["seq"]),
        payload=_payload_from_wire(_PAYLOADS[given["kind"]], given["payload"]),
        timestamp=given["timestamp"],
        provider_raw=given.get("providerRaw"),
    )


def _part_from_wire(data: Mapping[str, Any]) -> EntryPart:
    kind, payload = data["kind"], data["payload"]
    if kind == EntryToolResult.kind and isinstance(payload["content"], list):
        content = tuple(_part_from_wire(inner) for inner in payload["content"])
        payload = {**payload, "content": content}
    part: EntryPart = _payload_from_wire(_PARTS[kind], payload)
    return part


def _payload_from_wire(kind: type[_T], data: Mapping[str, Any]) -> _T:
    names = {wire_name(attribute.name): attribute.name for attribute in fields(kind)}  # type: ignore[arg-type]
    return kind(**{names[name]: value for name, value in data.items()})


# -- text


def entry_to_text(entry: MessageEntry) -> str:
    """Return *entry* as one line of JSON.

    Raises MalformedError for fields of wrong types, InvalidRequestError for what could not be
    read again: more than 128 levels of nesting, numbers of more than 4300 digits, more than
    MAX_ENTRY_BYTES.
    """
    data = to_wire(entry)
    json.plain_json(data, "the entry")
    try:
        text = json.dumps(data)
    except ValueError as error:
        raise InvalidRequestError(f"the entry cannot be kept: {error}", cause=error) from error
    if len(text) > MAX_ENTRY_BYTES:
        message = f"the entry has {len(text)} bytes of JSON; at most {MAX_ENTRY_BYTES} are kept"
        raise InvalidRequestError(message)
    return text.decode()


def entry_from_text(text: str | bytes) -> MessageEntry:
    """Return the entry in a line of JSON; raises what `entry_from_wire` raises."""
    if len(text) > MAX_ENTRY_BYTES:
        raise MalformedError(f"the entry has more than {MAX_ENTRY_BYTES} bytes, which is the limit")
    try:
        data = json.loads_exact(text.decode() if isinstance(text, bytes) else text)
    except ValueError as error:
        raise MalformedError(f"an entry is one line of JSON: {error}") from error
    return entry_from_wire(data)


# -- checks, each with its own error


def _checked(data: JsonValue, name: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise MalformedError(f"a {name} is a JSON object")
    version = data.get("contractVersion")
    if type(version) is not int:
        raise MalformedError(f"a {name} needs a contractVersion, which is a number")
    if version != CONTRACT_VERSION:
        message = f"contractVersion {version} is not {CONTRACT_VERSION}, which is read here"
        raise ContractVersionError(message)
    _check_kinds(data, name)
    _check_shape(data, name)
    return data


def _check_kinds(data: Mapping[str, Any], name: str) -> None:
    if name == "MessageDelta":
        _known(data, "kind", _PAYLOADS)
        return
    _known(data, "role", PARTS_OF_ROLE)
    for part in _parts_of(data.get("parts")):
        _known(part, "kind", _PARTS)
        payload = part.get("payload")
        inner = payload.get("content") if isinstance(payload, Mapping) else None
        for result_part in _parts_of(inner if part["kind"] == EntryToolResult.kind else None):
            _known(result_part, "kind", _PARTS)
            if _PARTS[result_part["kind"]] not in get_args(ResultPart):
                raise RolePartError(f"a tool_result cannot hold a {result_part['kind']} part")


def _parts_of(value: object) -> list[Mapping[str, Any]]:
    items = value if isinstance(value, list | tuple) else []
    return [item for item in items if isinstance(item, Mapping)]


def _known(data: Mapping[str, Any], name: str, words: Mapping[Any, object]) -> None:
    word = data.get(name)
    if isinstance(word, str) and word not in words:
        raise UnknownKindError(f"{name} {word[:_SHOWN]!r} is not one of {', '.join(words)}")
    if not isinstance(word, str):
        raise MalformedError(f"{name} is missing, or is not text")


def _check_shape(data: JsonObject, name: str) -> None:
    try:
        fault = _first_fault(data, name)
    except UnicodeEncodeError as error:  # the complaint would have to quote it
        message = f"not a valid {name}: a field is wrong, and half a surrogate pair in it: {error}"
        raise MalformedError(message) from error
    except (ValueError, RecursionError) as error:  # nested beyond the limit of the validator
        raise MalformedError(f"not a valid {name}: it cannot be checked: {error}") from error
    if fault is not None:
        where = "".join(f"[{step!r}]" for step in fault.path)
        raise MalformedError(f"not a valid {name}: {where or '$'}: {fault.message[:_SHOWN]}")


@frozen
class _Fault:
    """A violation of the schema: its place and its text."""

    path: tuple[str | int, ...]
    message: str


def _first_fault(data: Any, name: str) -> _Fault | None:
    """Return the first violation in *data* as a *name*; in a part, by the schema of its kind.

    Of a wrong part the schema alone states only that it is not any of the kinds.
    """
    error = next(_validator(name).iter_errors(data), None)
    if error is None:
        return None
    path, culprit = tuple(error.instance_path), data
    for step in path:
        culprit = culprit[step]
    for more, part in _places(culprit) if path else ():
        kind = part.get("kind") if isinstance(part, Mapping) else None
        inner = _first_fault(part, part_shape(kind)) if kind in _PARTS else None
        if inner is not None:
            return _Fault((*path, *more, *inner.path), inner.message)
    return _Fault(path, error.message)


def _places(value: Any) -> Iterable[tuple[tuple[int, ...], Any]]:
    """Return the possible parts in *value*, a part or a list of parts, with their positions."""
    if isinstance(value, list | tuple):
        return [((index,), item) for index, item in enumerate(value)]
    return [((), value)]


@cache
def _validator(name: str) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(shape_schema(name))
