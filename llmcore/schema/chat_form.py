"""Messages and tools in the form of Chat Completions, which many programs already have.

    {"role": "user", "content": [{"type": "text", "text": "What is it?"},
                                 {"type": "image_url", "image_url": {"url": "https://..."}}]}

Only this form is read, strictly: an unknown field or kind of part raises InvalidRequestError. A
`cache_control` of parts and tools, which OpenRouter and LiteLLM add to it, is a mark of `cached`.
Sources: https://platform.openai.com/docs/api-reference/chat/create, and
https://openrouter.ai/docs/features/prompt-caching, read November 2026.
"""

from collections.abc import Container, Mapping
from typing import Any, Final, cast

from llmcore.schema.content import (
    AudioPart,
    CacheTtl,
    ContentPart,
    DocumentPart,
    ImagePart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
    cached,
    is_local,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.hints import shown_kind
from llmcore.schema.json import parse_arguments
from llmcore.schema.media_sources import decode_base64

_FIELDS: Final = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id", "name"},
}


_TEXT: Final = 'write {"type": "text", "text": ...}'
_IMAGE: Final = 'write ImagePart.of(...), or {"type": "image_url", "image_url": {"url": ...}}'
_RESULT: Final = 'write a message {"role": "tool", "tool_call_id": ..., "content": ...}'
_CALLS: Final = 'write the field "tool_calls" of an assistant message'
_REASONING: Final = "write Message.assistant(ReasoningPart(..., signature=...), ...)"
_INSTEAD: Final[Mapping[object, str]] = {
    None: _TEXT,
    **dict.fromkeys(("input_text", "output_text"), _TEXT),
    **dict.fromkeys(("image_url", "input_image", "image"), _IMAGE),
    **dict.fromkeys(
        ("input_file", "document", "file"),
        'write DocumentPart.of(...), or {"type": "file", "file": {"file_data": ...}}',
    ),
    **dict.fromkeys(("audio", "input_audio", "media"), "write AudioPart.of(...)"),
    **dict.fromkeys(("tool_result", "function_call_output"), _RESULT),
    **dict.fromkeys(("tool_use", "function_call"), _CALLS),
    **dict.fromkeys(("thinking", "reasoning"), _REASONING),
}
"""Parts and items of the other APIs by their type, with their form here."""
_FIELDS_ELSEWHERE: Final = {
    "cache_control": "put it into a part of the content",
    "parts": "write content",
    "function_call": _CALLS,
    **dict.fromkeys(("reasoning", "reasoning_content", "thinking_blocks"), _REASONING),
}
"""Fields of messages in other libraries, with what to write here."""
_ROLES_ELSEWHERE: Final = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "function": "tool",
}


def content_of(message: Mapping[str, Any]) -> tuple[ContentPart, ...]:
    """Return the parts of a message; InvalidRequestError for what is not one."""
    role = message.get("role")
    fields = _FIELDS.get(role) if isinstance(role, str) else None
    if fields is None:
        raise InvalidRequestError(_fault_of_role(message, role))
    named = f"{'an' if role == 'assistant' else 'a'} {role} message"
    unknown = _unknown(message, fields)
    if unknown:
        hint = next((f": {_FIELDS_ELSEWHERE[k]}" for k in unknown if k in _FIELDS_ELSEWHERE), "")
        raise InvalidRequestError(
            f"{named} has no field {', '.join(map(repr, unknown))}; "
            f"its fields are {', '.join(sorted(fields))}{hint}"
        )
    if message.get("content") is None and role != "assistant":
        raise InvalidRequestError(f"{named} needs content, which is text or a list")
    content = _parts(message.get("content"), where=f"the content of {named}")
    if role == "tool":
        return (_result(message, content),)
    refusal = message.get("refusal")
    if refusal is not None:
        content += (RefusalPart(_text(refusal, "refusal")),)
    return (*content, *map(_call, message.get("tool_calls") or ()))


def _unknown(given: Mapping[str, Any], known: Container[str]) -> list[str]:
    """Return the names of the fields that are not *known*, except those that are empty."""
    return sorted(
        str(name) for name, value in given.items() if name not in known and _is_given(value)
    )


def _is_given(value: object) -> bool:
    return value is not None and not (isinstance(value, list | tuple | Mapping) and not value)


def _fault_of_role(message: Mapping[str, Any], role: object) -> str:
    kind = message.get("type")
    meant = _ROLES_ELSEWHERE.get(str(kind if role is None else role))
    other = _INSTEAD.get(kind, "") if isinstance(kind, str) else ""
    hint = f"write role {meant!r}" if meant else other
    fault = f"role {role!r} is not" if "role" in message else "the message needs a role,"
    return f"{fault} one of {', '.join(_FIELDS)}" + (f": {hint}" if hint else "")


def _parts(content: object, where: str) -> tuple[ContentPart, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(content),)
    if not isinstance(content, list | tuple):
        raise InvalidRequestError(f"{where} is {shown_kind(content)}, not text or a list")
    return tuple(_part(item, where) for item in content)


def _part(part: Any, where: str) -> ContentPart:
    read = _unmarked(part, where)
    mark = part.get(_MARK)
    kind = part["type"]
    unknown = _unknown(part, {"type", kind, _MARK})
    inner = part[kind]
    if isinstance(inner, Mapping):
        unknown += _unknown(inner, _MEDIA_FIELDS[kind])
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise InvalidRequestError(f"{where} has a part {kind!r} with unknown fields: {names}")
    return read if mark is None else cached(read, ttl=_ttl(mark))


_MARK: Final = "cache_control"
_DOCUMENT_FIELDS: Final = {"file_id": "file_id", "file_data": "url", "filename": "name"}
_MEDIA_FIELDS: Final = {
    "image_url": {"url", "detail"},
    "input_audio": {"data", "format"},
    "file": _DOCUMENT_FIELDS,
}


def _address(url: str, where: str) -> str:
    """Return *url*; InvalidRequestError for a local path: dicts often come from other machines."""
    if is_local(url):
        raise InvalidRequestError(
            f"{where} has a local path where the API has a URL: write ImagePart.of(path) or "
            "DocumentPart.of(path) for a file of this machine"
        )
    return url


def _ttl(mark: object) -> CacheTtl:
    """Return how long to cache what has *mark*; InvalidRequestError for what is not a mark."""
    match mark:
        case {"type": "ephemeral", "ttl": "1h"}:
            return "1h"
        case {"type": "ephemeral", **rest} if rest.get("ttl") in (None, "5m"):
            return "5m"
    raise InvalidRequestError(
        f'{_MARK} must be {{"type": "ephemeral"}}, with "ttl": "5m" or "1h" if it is given'
    )


def _unmarked(part: Any, where: str) -> ContentPart:
    match part:
        case {"type": "text", "text": str(text)}:
            return TextPart(text)
        case {"type": "refusal", "refusal": str(text)}:
            return RefusalPart(text)
        case {"type": "image_url", "image_url": {"url": str(url), **more}}:
            return ImagePart(url=_address(url, where), detail=cast("Any", more.get("detail")))
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            return AudioPart(data=_bytes(data, where), media_type=f"audio/{kind}")
        case {"type": "file", "file": {"file_id": str()} | {"file_data": str()} as file}:
            fields: dict[str, Any] = {
                _DOCUMENT_FIELDS[k]: v for k, v in file.items() if k in _DOCUMENT_FIELDS
            }
            _address(fields.get("url", ""), where)
            return DocumentPart(**fields)
    fault = f"{where} has a part that cannot be read"
    if not isinstance(part, Mapping):
        hint = "the parts of a dict are dicts, or write Message.user(...)"
        raise InvalidRequestError(f"{fault}: {type(part).__name__!r}; {hint}")
    stated = part.get("type")
    hint = _INSTEAD.get(stated if isinstance(stated, str) else None) or ""
    raise InvalidRequestError(f"{fault}: {stated!r}{'; ' * bool(hint)}{hint}")


def _call(call: object) -> ToolCallPart:
    if isinstance(call, Mapping):
        unknown = _unknown(call, {"id", "type", "index", "function", "custom"})
        if unknown:
            raise InvalidRequestError(f"a tool call has no field {', '.join(map(repr, unknown))}")
    match call:
        case {"id": str(id_), "function": {"name": str(name), "arguments": str(text)}}:
            return ToolCallPart(id_, name, parse_arguments(text)[0], raw_arguments=text)
        case {"id": str(id_), "custom": {"name": str(name), "input": str(text)}}:
            return ToolCallPart(id_, name, text, kind="custom")
    raise InvalidRequestError(
        "a tool call needs an id and a function with name and arguments, which are JSON text"
    )


def _result(message: Mapping[str, Any], content: tuple[ContentPart, ...]) -> ToolResultPart:
    if message.get("tool_call_id") is None:
        raise InvalidRequestError("a tool message needs tool_call_id, the id of its tool call")
    call_id = _text(message["tool_call_id"], "tool_call_id")
    texts = "".join(part.text for part in content if isinstance(part, TextPart))
    if any(not isinstance(part, TextPart) for part in content):
        raise InvalidRequestError("the content of a tool message is text")
    result = ToolResultPart(call_id, texts, name=message.get("name"))
    marks: list[CacheTtl] = [ttl for part in content if (ttl := cache_ttl(part)) is not None]
    return cached(result, ttl=marks[-1]) if marks else result


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequestError(f"{field} is {shown_kind(value)}, not text")
    return value


def _bytes(text: str, where: str) -> bytes:
    data = decode_base64(text)
    if data is None:
        raise InvalidRequestError(f"{where} has data that is not base64")
    return data


_WORDS_OF_HOSTED: Final = ("search", "code_", "computer", "mcp", "fetch")
"""Parts of the names of tools that providers run."""


def _hint_on_tool(tool: Mapping[str, Any]) -> str:
    """Return what to write for a definition in the form of another API."""
    if "input_schema" in tool:
        return ', with "parameters" in place of "input_schema"'
    if "parameters" in tool:
        return ': "type" is missing'
    if "function_declarations" in tool or "functionDeclarations" in tool:
        return ", one for each of the function declarations"
    if any(word in str(name) for name in (tool.get("type"), *tool) for word in _WORDS_OF_HOSTED):
        return "; a tool of the provider is a HostedTool, such as HostedTool.web_search()"
    return ""


def function_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a function tool: name, description, parameters, strict, cache.

    Raises InvalidRequestError for a dict of another form.
    """
    match tool:
        case {"type": "function", "function": Mapping() as function, **more}:
            fields: Mapping[str, Any] = {**more, **function}
        case {"type": "function", "name": str()}:  # as Responses has it
            fields = {name: value for name, value in tool.items() if name != "type"}
        case _:
            raise InvalidRequestError(
                'a tool given as a dict must be {"type": "function", "function": {"name": ...}}'
                + _hint_on_tool(tool)
            )
    unknown = _unknown(fields, {"name", "description", "parameters", "strict", _MARK})
    if unknown:
        raise InvalidRequestError(f"a function has no field {', '.join(map(repr, unknown))}")
    mark = fields.get(_MARK)
    return fields if mark is None else {**fields, "cache": _ttl(mark)}
