"""The vendors' own declarations of requests, as judges of the bodies that upstreams are sent."""

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import botocore.session
import typing_extensions
from anthropic.types.beta import message_create_params as messages
from botocore.validate import ParamValidator
from google.genai import types as gemini
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses
from pydantic import TypeAdapter, ValidationError

_PLAIN = (str, int, float, bool, type(None))


def misfits(value: Any, declared: Any, path: str = "body") -> list[str]:
    """Return where *value* is not of the *declared* type; unknown keys do not fit."""
    origin, args = get_origin(declared), get_args(declared)
    if declared is Any or declared is object:
        return []
    if typing_extensions.is_typeddict(declared):
        return _dict_misfits(value, declared, path)
    if origin in (Union, types.UnionType):
        found = [misfits(value, arm, path) for arm in args]
        return [] if any(not wrong for wrong in found) else min(found, key=len)
    if origin is Literal:
        return [] if value in args else [f"{path}: {value!r} is none of {args}"]
    if origin in (dict, Mapping, typing.Mapping) or declared is dict:
        if not isinstance(value, dict):
            return [f"{path}: {value!r} is no object"]
        inner = args[1] if args else Any
        return [w for k, v in value.items() for w in misfits(v, inner, f"{path}.{k}")]
    if declared in _PLAIN or declared is None:
        return _plain_misfits(value, declared, path)
    if args and not isinstance(value, str):  # Iterable, List, SequenceNotStr
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no list"]
        return [w for i, v in enumerate(value) for w in misfits(v, args[0], f"{path}[{i}]")]
    return [f"{path}: {value!r} is no {declared}"]


def _plain_misfits(value: Any, declared: Any, path: str) -> list[str]:
    kind = type(None) if declared is None else declared
    fits = type(value) is kind or (kind is float and type(value) is int)
    return [] if fits else [f"{path}: {value!r} is no {kind.__name__}"]


def _is_required(hint: Any) -> bool:
    origin: Any = get_origin(hint)
    return origin is typing.Required


def _dict_misfits(value: Any, declared: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no {declared.__name__}"]
    hints, needed = _fields(declared)
    wrong = [f"{path}.{key} is missing" for key in sorted(needed - value.keys())]
    for key, item in value.items():
        if key not in hints:
            wrong.append(f"{path}.{key} is no field of {declared.__name__}")
        else:
            wrong += misfits(item, hints[key], f"{path}.{key}")
    return wrong


@cache
def _fields(declared: Any) -> tuple[Mapping[str, Any], frozenset[str]]:
    """Return the types of an object's fields, and the names of those that it must have."""
    hints = typing_extensions.get_type_hints(declared, include_extras=True)
    needed = frozenset(key for key, hint in hints.items() if _is_required(hint))
    return {key: get_args(h)[0] if key in needed else h for key, h in hints.items()}, needed


_OF_GEMINI: dict[str, Any] = {
    "systemInstruction": gemini.Content,
    "contents": list[gemini.Content],
    "tools": list[gemini.Tool],
    "toolConfig": gemini.ToolConfig,
    "generationConfig": gemini.GenerationConfig,
    "labels": dict[str, str],
    "safetySettings": list[gemini.SafetySetting],
}


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_OF_GEMINI[name])


def gemini_misfits(body: dict[str, Any]) -> list[str]:
    """Return what of *body* the types of `google-genai` refuse; unknown fields do not fit."""
    found = [f"{name}: unknown" for name in body if name not in _OF_GEMINI]
    for name in _OF_GEMINI:
        try:
            if name in body:
                _adapter(name).validate_python(body[name])
        except ValidationError as problem:
            found += [f"{name}{fault['loc']}: {fault['msg']}" for fault in problem.errors()]
    return found


_SERVICE: Any = botocore.session.get_session().get_service_model("bedrock-runtime")
_SHAPES = {
    False: _SERVICE.operation_model("Converse").input_shape,
    True: _SERVICE.operation_model("ConverseStream").input_shape,
}


def bedrock_misfits(body: dict[str, Any], *, stream: bool, model: str) -> str:
    """Return what botocore's validator says of a body; empty if it takes it."""
    report = ParamValidator().validate({"modelId": model, **body}, _SHAPES[stream])
    return str(report.generate_report())


_DECLARED: Mapping[str, tuple[Any, Any]] = {
    "openai-chat": (
        chat.CompletionCreateParamsNonStreaming,
        chat.CompletionCreateParamsStreaming,
    ),
    "openai-responses": (
        responses.ResponseCreateParamsNonStreaming,
        responses.ResponseCreateParamsStreaming,
    ),
    "anthropic-messages": (
        messages.MessageCreateParamsNonStreaming,
        messages.MessageCreateParamsStreaming,
    ),
}


def body_misfits(protocol_id: str, body: dict[str, Any], *, stream: bool) -> list[str]:
    """Return what of an upstream's *body* its vendor does not declare."""
    if protocol_id == "gemini":
        return gemini_misfits(body)
    if protocol_id == "bedrock-converse":
        return bedrock_misfits(body, stream=stream, model="anthropic.claude-any").splitlines()
    return misfits(body, _DECLARED[protocol_id][stream])
