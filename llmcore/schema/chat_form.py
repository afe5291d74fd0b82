"""Messages and tools in the form of Chat Completions, which many programs already have.

    {"role": "user", "content": [{"type": "text", "text": "What is it?"},
                                 {"type": "image_url", "image_url": {"url": "https://..."}}]}

Only this form is read, strictly: an unknown field or kind of part raises InvalidRequestError.
Source: https://platform.openai.com/docs/api-reference/chat/create, read November 2026.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final, cast

from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import parse_arguments

_FIELDS: Final = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id", "name"},
}


def content_of(message: Mapping[str, Any]) -> tuple[ContentPart, ...]:
    """Return the parts of a message; InvalidRequestError for what is not one."""
    role = message.get("role")
    fields = _FIELDS.get(role) if isinstance(role, str) else None
    if fields is None:
        fault = f"role {role!r} is not" if "role" in message else "the message needs a role,"
        raise InvalidRequestError(f"{fault} one of {', '.join(_FIELDS)}")
    unknown = sorted(k for k, value in message.items() if k not in fields and value is not None)
    if unknown:
        raise InvalidRequestError(
            f"a {role} message has no field {', '.join(map(repr, unknown))}; "
            f"its fields are {', '.join(sorted(fields))}"
        )
    content = _parts(message.get("content"), where=f"the content of a {role} message")
    if role == "tool":
        return (_result(message, content),)
    refusal = message.get("refusal")
    if refusal is not None:
        content += (RefusalPart(_text(refusal, "refusal")),)
    return (*content, *map(_call, message.get("tool_calls") or ()))


def _parts(content: object, where: str) -> tuple[ContentPart, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(content),)
    if not isinstance(content, list | tuple):
        raise InvalidRequestError(f"{where} is a {type(content).__name__}, not text or a list")
    return tuple(_part(item, where) for item in content)


def _part(part: Any, where: str) -> ContentPart:
    match part:
        case {"type": "text", "text": str(text)}:
            return TextPart(text)
        case {"type": "refusal", "refusal": str(text)}:
            return RefusalPart(text)
        case {"type": "image_url", "image_url": {"url": str(url), **more}}:
            return ImagePart(url=url, detail=cast("Any", more.get("detail")))
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            return AudioPart(data=_bytes(data, where), media_type=f"audio/{kind}")
        case {"type": "file", "file": {"file_id": str(file_id)}}:
            return DocumentPart(file_id=file_id)
        case {"type": "file", "file": {"file_data": str(url), **more}}:
            return DocumentPart(url=url, name=cast("str | None", more.get("filename")))
    shown = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    raise InvalidRequestError(f"{where} has a part that cannot be read: {shown!r}")


def _call(call: object) -> ToolCallPart:
    match call:
        case {"id": str(id_), "function": {"name": str(name), "arguments": str(text)}}:
            return ToolCallPart(id_, name, parse_arguments(text)[0], raw_arguments=text)
        case {"id": str(id_), "custom": {"name": str(name), "input": str(text)}}:
            return ToolCallPart(id_, name, text, kind="custom")
    raise InvalidRequestError(
        "a tool call needs an id and a function with name and arguments, which are JSON text"
    )


def _result(message: Mapping[str, Any], content: tuple[ContentPart, ...]) -> ToolResultPart:
    call_id = _text(message.get("tool_call_id"), "tool_call_id")
    texts = "".join(part.text for part in content if isinstance(part, TextPart))
    if any(not isinstance(part, TextPart) for part in content):
        raise InvalidRequestError("the content of a tool message is text")
    return ToolResultPart(call_id, texts, name=message.get("name"))


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequestError(f"{field} is a {type(value).__name__}, not text")
    return value


def _bytes(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise InvalidRequestError(f"{where} has data that is not base64", cause=error) from error


def function_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a function tool: name, description, parameters, strict.

    Raises InvalidRequestError for a dict of another form.
    """
    match tool:
        case {"type": "function", "function": Mapping() as function}:
            found: Mapping[str, Any] = function
        case {"type": "function", "name": str()}:  # as Responses has it
            found = {name: value for name, value in tool.items() if name != "type"}
        case _:
            raise InvalidRequestError(
                'a tool given as a dict must be {"type": "function", "function": {"name": ...}}'
            )
    unknown = sorted(set(found) - {"name", "description", "parameters", "strict"})
    if unknown:
        raise InvalidRequestError(f"a function has no field {', '.join(map(repr, unknown))}")
    return found
