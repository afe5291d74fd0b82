"""Responses of every kind that the vendors' packages declare, made from their types.

Of each type there is an example for every member of its unions, every value of its enumerations
and every optional field, one at a time, so that a version of a package that declares more gives
more examples.
"""

import json
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from anthropic.types.beta import BetaMessage
from google.genai.types import Candidate, FunctionCall, GenerateContentResponse, Part
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from pydantic import BaseModel

_DEPTH = 3
"""Objects within objects that are varied; those below have only what they must."""
_PLAIN: Mapping[Any, Any] = {
    str: "text",
    int: 0,
    float: 0.5,
    bool: True,
    bytes: "aGk=",
    datetime: "2026-11-23T12:00:00Z",
}
_NAMED: Mapping[str, Any] = {
    "arguments": '{"a":1}',
    "partial_json": '{"a":1}',
    "url": "https://a.example/x",
    "file_uri": "https://a.example/x.png",
    "uri": "https://a.example/x",
    "mime_type": "image/png",
    "media_type": "image/png",
    "result": "aGk=",
}
"""Values of fields whose text has a form."""


_DATA = frozenset(
    {"codeExecutionResult", "executableCode", "fileData", "functionCall", "functionResponse"}
    | {"inlineData", "toolCall", "toolResponse"}
)
"""Fields of a part of Gemini's, of which it has one, or text."""
_BASES: Mapping[Any, Mapping[str, Any]] = {
    GenerateContentResponse: {
        "candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]
    },
    Candidate: {"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"},
    FunctionCall: {"name": "look", "args": {"a": 1}},
    Part: {"text": "Hi"},
}
"""Fields that objects must have, though their types declare every field as optional."""


def variants(declared: Any, *, depth: int = 0, name: str = "") -> Iterator[Any]:
    """Yield examples of a type as JSON, the plainest first."""
    origin, args = get_origin(declared), get_args(declared)
    if origin is Annotated:
        yield from variants(args[0], depth=depth, name=name)
    elif origin in (Union, types.UnionType):
        arms = [arm for arm in args if arm is not type(None)]
        for arm in arms:
            yield from variants(arm, depth=depth, name=name)
    elif origin is Literal:
        yield from sorted(args, key=lambda value: value != "completed")
    elif isinstance(declared, type) and issubclass(declared, Enum):
        yield from (one.value for one in declared)
    elif isinstance(declared, type) and issubclass(declared, BaseModel):
        yield from _objects(declared, depth)
    elif origin in (list, typing.List):  # noqa: UP006
        yield from ([one] for one in variants(args[0], depth=depth, name=name))
    elif origin in (dict, typing.Dict, Mapping):  # noqa: UP006
        yield {"k": next(variants(args[1], depth=depth))}
    else:
        yield _NAMED.get(name, _PLAIN.get(declared, {"k": "v"}))


def _objects(declared: type[BaseModel], depth: int) -> Iterator[dict[str, Any]]:
    fields = {field.alias or name: (name, field) for name, field in declared.model_fields.items()}
    base = dict(_BASES.get(declared, {}))
    base |= {
        key: next(variants(field.annotation, depth=depth + 1, name=name))
        for key, (name, field) in fields.items()
        if field.is_required() or name == "type"
    }
    yield base
    if depth >= _DEPTH:
        return
    for key, (name, field) in fields.items():
        for value in variants(field.annotation, depth=depth + 1, name=name):
            if base.get(key) != value:
                kept = {} if declared is Part and key in _DATA else base
                yield {**kept, key: value}


# -- responses

_DECLARED: Mapping[str, type[BaseModel]] = {
    "openai-chat": ChatCompletion,
    "openai-responses": Response,
    "anthropic-messages": BetaMessage,
    "gemini": GenerateContentResponse,
}
PROTOCOL_IDS = tuple(_DECLARED)
_LEFT_OUT: Mapping[str, frozenset[str]] = {
    "openai-responses": frozenset(
        {"conversation", "instructions", "metadata", "prompt", "prompt_cache_retention"}
        | {"reasoning", "text", "tool_choice", "tools", "truncation"}
    ),
    "gemini": frozenset({"automaticFunctionCallingHistory", "parsed", "sdkHttpResponse"}),
}
"""Fields that repeat the request, or that only the package itself fills in."""
_INVALID = ("partialArgs", "willContinue")
"""Fields of a call of Gemini's that is not whole, which a whole response has none of."""


def answers(protocol_id: str) -> Iterator[dict[str, Any]]:
    """Yield whole responses of an API, each other than those before."""
    declared, left_out = _DECLARED[protocol_id], _LEFT_OUT.get(protocol_id, frozenset())
    usual = next(variants(declared))
    seen: set[str] = set()
    for body in variants(declared):
        if any(body.get(name) != usual.get(name) for name in left_out):
            continue
        kept = {name: value for name, value in body.items() if name not in left_out}
        if protocol_id == "openai-responses":
            kept.setdefault("status", "completed")
        text = json.dumps(kept, sort_keys=True)
        if text not in seen and not any(name in text for name in _INVALID):
            seen.add(text)
            yield kept
