"""The converter of `codec`, which cattrs makes: the tags of unions, and checks of what is read."""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from math import isfinite
from typing import Any, Final, Literal, get_args, get_origin

import cattrs
from attrs import fields_dict, has, resolve_types
from cattrs.cols import list_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.strategies import configure_tagged_union

from llmcore.schema import content, errors, events, json, tools
from llmcore.schema.model import Model
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import RateLimitInfo

READING_ERRORS: Final = (cattrs.BaseValidationError, errors.LLMError, TypeError, ValueError)
"""The exceptions that a converter raises for invalid data."""
UNKNOWN_FIELDS: Final = cattrs.StructureHandlerNotFoundError
"""The exception that it raises for a class whose fields are not known."""


def faults_of(error: BaseException) -> str:
    """Return the faults in data that a converter rejected, each with its path."""
    return "; ".join(cattrs.transform_error(error, format_exception=_fault))


def _fault(error: BaseException, _type: type | None) -> str:
    """Return the fault at one path as text."""
    match error:
        case cattrs.ForbiddenExtraKeysError():
            return f"unknown fields: {', '.join(sorted(map(str, error.extra_fields)))}"
        case KeyError():
            return "required field missing"
        case errors.LLMError(message=message):
            return message
        case _:
            return str(error)


def _part_tag(kind: type) -> str:
    """Return `tool_call` for ToolCallPart."""
    words = kind.__name__.removesuffix("Part")
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in words).lstrip("_")


_TOOL_TAGS: dict[type, str] = {
    tools.ToolDefinition: "function",
    tools.CustomTool: "custom",
    tools.HostedTool: "hosted",
}

# Inner unions first: configuring one builds its members' hooks.
_UNIONS: tuple[tuple[Any, Callable[[type], str]], ...] = (
    (content.ToolOutputPart, _part_tag),
    (content.ContentPart, _part_tag),
    (tools.ToolSpec, _TOOL_TAGS.__getitem__),
    (events.LLMEvent, lambda kind: str(kind.type)),  # type: ignore[attr-defined]
)

NAMES: dict[Any, str] = {
    content.ToolOutputPart: "ToolOutputPart",
    content.ContentPart: "ContentPart",
    tools.ToolSpec: "ToolSpec",
    events.LLMEvent: "LLMEvent",
}

_WIDEST: dict[Any, Any] = {member: union for union, _tag in _UNIONS for member in get_args(union)}


def union_of(kind: Any) -> Any:
    """Return the widest union that *kind* is a member of; None if there is none."""
    if isinstance(kind, type) and issubclass(kind, errors.LLMError):
        return errors.LLMError
    return _WIDEST.get(kind)


@cache
def converter_of_values() -> cattrs.Converter:
    """Return the converter, built on first use."""
    resolve_types(events.Finish, localns={"LLMResponse": LLMResponse})
    converter = strict_converter(forbid_extra_keys=True)
    _models(converter)
    _errors(converter)
    converter.register_unstructure_hook_func(
        _is_pydantic, lambda value: value.model_dump(mode="json")
    )
    for union, tag in _UNIONS:
        _tagged(converter, union, tag)
        if union is content.ToolOutputPart:
            _tool_output(converter)
    return converter


def _is_pydantic(kind: Any) -> bool:
    """Return whether *kind* is a model of pydantic, such as one that is a result's output."""
    return hasattr(kind, "model_dump") and isinstance(kind, type)


def strict_converter(*, forbid_extra_keys: bool) -> cattrs.Converter:
    """Return a converter that checks scalars, lists and objects, and copies JSON both ways."""
    converter = cattrs.Converter(forbid_extra_keys=forbid_extra_keys)
    _scalars(converter)
    _json(converter)
    _tuples(converter)
    _objects(converter)
    return converter


def _objects(converter: cattrs.Converter) -> None:
    """Write values as objects without fields at their default; read objects only."""

    def unstructure(kind: type) -> Any:
        return make_dict_unstructure_fn(kind, converter, _cattrs_omit_if_default=True)

    def structure(kind: type) -> Any:
        read: Any = make_dict_structure_fn(kind, converter)
        return lambda data, _: read(object_of(data), kind)

    converter.register_unstructure_hook_factory(has, unstructure)
    converter.register_structure_hook_factory(has, structure)


def _tagged(converter: cattrs.Converter, union: Any, tag: Callable[[type], str]) -> None:
    """Read and write the members of *union* with the tag `type`."""
    configure_tagged_union(union, converter, tag_generator=tag, tag_name="type")
    read = converter.get_structure_hook(union)
    known = [tag(member) for member in get_args(union)]

    def structure(data: object, _: object) -> object:
        given = object_of(data)
        if given.get("type") not in known:
            raise ValueError(f"type is {given.get('type')!r}, not one of {', '.join(known)}")
        return read(given, union)

    converter.register_structure_hook(union, structure)


def is_tuple(kind: Any) -> bool:
    """Return whether *kind* is a tuple of any length."""
    return get_origin(kind) is tuple and get_args(kind)[1:] == (...,)


def _tuples(converter: cattrs.Converter) -> None:
    """Read tuples from lists only: a string must not become a list of its characters."""

    def structure(kind: Any) -> Any:
        read = list_structure_factory(kind, converter)
        return lambda data, _: tuple(read(list_of(data), kind))

    converter.register_structure_hook_factory(is_tuple, structure)


def object_of(data: object) -> dict[str, Any]:
    """Return *data* as an object; TypeError if it is not one."""
    if not isinstance(data, Mapping):
        raise TypeError(f"expected an object, got {kind_of(data)}")
    return dict(data)


def list_of(data: object) -> list[Any]:
    """Return *data* as a list; TypeError if it is not one."""
    if not isinstance(data, list | tuple):
        raise TypeError(f"expected a list, got {kind_of(data)}")
    return list(data)


def kind_of(data: object) -> str:
    """Return the type of JSON *data*, for error messages."""
    return "null" if data is None else type(data).__name__


def _models(converter: cattrs.Converter) -> None:
    """Write a model as its ids, without its route, which holds credentials."""

    def unstructure(model: Model | str) -> object:
        return model if isinstance(model, str) else {"id": model.id, "provider": model.provider}

    def structure(data: object, _: object) -> Model:
        given = object_of(data)
        if given.keys() != {"id", "provider"} or not all(
            isinstance(item, str) for item in given.values()
        ):
            raise ValueError("expected a model id, or an object with the strings id and provider")
        return Model(given["id"], given["provider"])

    def structure_either(data: object, _: object) -> Model | str:
        return data if isinstance(data, str) else structure(data, _)

    converter.register_unstructure_hook_func(_is_model, unstructure)
    converter.register_unstructure_hook_func(_is_model_or_id, unstructure)
    converter.register_structure_hook_func(_is_model, structure)
    converter.register_structure_hook_func(_is_model_or_id, structure_either)


def _is_model(kind: Any) -> bool:
    """Return whether *kind* is `Model`, with or without a type argument."""
    return kind is Model or get_origin(kind) is Model


def _is_model_or_id(kind: Any) -> bool:
    members = get_args(kind)
    return len(members) == 2 and str in members and any(map(_is_model, members))


def _scalars(converter: cattrs.Converter) -> None:
    """Check scalars instead of coercing them, as cattrs would."""
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, _exactly(kind))
    converter.register_structure_hook_factory(is_literal, _one_of)
    converter.register_structure_hook(bytes, lambda data, _: _bytes(data))
    converter.register_unstructure_hook(bytes, lambda data: base64.b64encode(data).decode())
    converter.register_structure_hook(datetime, lambda data, _: _moment(data))
    converter.register_unstructure_hook(datetime, lambda moment: moment.isoformat())


def _exactly(kind: type) -> Any:
    def check(data: object, _: object) -> object:
        value = float(data) if kind is float and type(data) is int else data
        if type(value) is not kind:
            raise TypeError(f"expected {kind.__name__}, got {kind_of(data)}")
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{value} is not a JSON number")
        return value

    return check


def is_literal(kind: Any) -> bool:
    """Return whether *kind* is a `Literal`."""
    origin: Any = get_origin(kind)
    return origin is Literal


def _one_of(words: Any) -> Any:
    def check(data: object, _: object) -> object:
        if data not in get_args(words):
            raise ValueError(f"{data!r} is not one of {', '.join(get_args(words))}")
        return data

    return check


def _bytes(data: object) -> bytes:
    if not isinstance(data, str):
        raise TypeError(f"expected base64, got {kind_of(data)}")
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise ValueError(f"not base64: {error}") from error


def _moment(data: object) -> datetime:
    if not isinstance(data, str):
        raise TypeError(f"expected an ISO 8601 date and time, got {kind_of(data)}")
    return datetime.fromisoformat(data)


def _json(converter: cattrs.Converter) -> None:
    """Copy JSON both ways, so that changing the input does not change the value."""

    def register(marker: Any, copy: Callable[[object], object]) -> None:
        converter.register_structure_hook(marker, lambda data, _: copy(data))
        converter.register_unstructure_hook(marker, copy)

    register(json.JsonValue, json.plain_json)
    register(json.JsonObject, json.plain_object)
    register(json.ProviderMetadata, json.plain_metadata)


def _tool_output(converter: cattrs.Converter) -> None:
    """Write a tuple of parts as `{"parts": [...]}` and JSON as `{"json": ...}`; read both."""
    declared = json.JsonValue | tuple[content.ToolOutputPart, ...]
    parts = tuple[content.ToolOutputPart, ...]

    def unstructure(value: object) -> object:
        if isinstance(value, tuple):
            return {"parts": converter.unstructure(value, parts)}
        return value if isinstance(value, str) else {"json": json.plain_json(value)}

    def structure(data: object, _: object) -> object:
        if isinstance(data, Mapping) and data.keys() == {"parts"}:
            return converter.structure(data["parts"], parts)
        if isinstance(data, Mapping) and data.keys() == {"json"}:
            return data["json"]
        return data

    converter.register_unstructure_hook(declared, unstructure)
    converter.register_structure_hook(declared, structure)


def _errors(converter: cattrs.Converter) -> None:
    """Read and write an error as its class name and its fields, without its cause."""

    def unstructure(error: errors.LLMError) -> dict[str, object]:
        data: dict[str, object] = {"type": type(error).__name__}
        for name, attribute in fields_dict(resolved(type(error))).items():
            value = getattr(error, name)
            if name == "cause" or (value is None and attribute.default is None):
                continue
            data[name] = converter.unstructure(value, attribute.type)
        return data

    def structure(data: object, _: object) -> errors.LLMError:
        given = object_of(data)
        kind = errors.error_types().get(str(given.pop("type", None)))
        if kind is None:
            raise ValueError("type is not the name of an error class")
        if kind not in readers:
            readers[kind] = reader(kind)
        error: errors.LLMError = readers[kind](given, kind)
        return error

    readers: dict[type[errors.LLMError], Any] = {}

    def resolved(kind: type[errors.LLMError]) -> type[errors.LLMError]:
        names = {item.__name__: item for item in (LLMResponse, RateLimitInfo)}
        return resolve_types(kind, localns={"JsonValue": json.JsonValue, **names})

    def reader(kind: type[errors.LLMError]) -> Any:
        return make_dict_structure_fn(resolved(kind), converter, cause=override(omit=True))

    def is_error(kind: object) -> bool:
        return isinstance(kind, type) and issubclass(kind, errors.LLMError)

    converter.register_unstructure_hook_func(is_error, unstructure)
    converter.register_structure_hook_func(is_error, structure)
