"""Requests to Chat Completions in the forms of other APIs, as Cursor sends them.

Cursor has one base URL for every model. Tools are flat, as in the Responses API, or those of
Anthropic, whose blocks of content the messages hold then:

    {"type": "custom", "name": "ApplyPatch", "format": {"type": "grammar", "syntax": "lark",
     "definition": "start: ..."}}
    {"name": "read_file", "description": "Read.", "input_schema": {"type": "object"}}
    {"role": "assistant", "content": [
     {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.py"}}]}
    {"role": "user", "content": [
     {"type": "tool_result", "tool_use_id": "toolu_1", "content": "import os"}]}

Its agent sends whole requests of the Responses API, with `input` in place of `messages`, and reads
a response of Chat Completions. Sources, read November 2026:
https://github.com/BerriAI/litellm/pull/34029, https://github.com/archestra-ai/archestra/pull/7375,
https://github.com/router-for-me/CLIProxyAPI/issues/3805.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from llmcore.fronts.reading import Fields
from llmcore.schema import json
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty, objects, str_or_none

_BLOCKS: Final = frozenset(
    {"document", "image", "redacted_thinking", "tool_result", "tool_use"}
)  # of Anthropic alone; `text` is the same in both APIs
_NESTED: Final = ("function", "custom")
_CHOICES: Final[Mapping[str, str]] = {"auto": "auto", "any": "required", "none": "none"}
"""Anthropic's types of `tool_choice`, as the words of this API."""
_GRAMMAR: Final = ("definition", "syntax")


def is_responses_request(body: Fields) -> bool:
    """Return whether *body* is a request of the Responses API."""
    return not body.get("messages") and bool(body.get("input"))


def has_foreign_forms(body: Fields) -> bool:
    """Return whether *body* is, or has in it, what Chat Completions has no form for."""
    return (
        is_responses_request(body)
        or any(map(_is_flat, objects(body.get("tools"))))
        or object_or_empty(body.get("tool_choice")).get("type") in (*_CHOICES, "tool")
        or any(any(map(_is_block, content)) for content in listed_contents(body))
    )


def in_own_forms(body: JsonObject) -> JsonObject:
    """Return *body* with tools, choice and messages in the forms of Chat Completions.

    What is already in them stays as it is, and so does what no API has a form for.
    """
    if not has_foreign_forms(body):
        return body
    own = {**body, **_choice(object_or_empty(body.get("tool_choice")))}
    if isinstance(tools := body.get("tools"), list):
        own["tools"] = [_tool(tool) if isinstance(tool, dict) else tool for tool in tools]
    if isinstance(messages := body.get("messages"), list):
        own["messages"] = [own for message in messages for own in _messages(message)]
    return own


# -- tools


def _is_flat(tool: Fields) -> bool:
    named = tool.get("type") in (None, *_NESTED) and isinstance(tool.get("name"), str)
    return named and not any(kind in tool for kind in _NESTED)


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    if not _is_flat(tool):
        return tool
    flat = {name: value for name, value in tool.items() if name not in ("type", "cache_control")}
    mark = {"cache_control": tool["cache_control"]} if "cache_control" in tool else {}
    if tool.get("type") == "custom" and "input_schema" not in tool:
        if isinstance(form := tool.get("format"), dict):
            flat["format"] = _format(form)
        return {"type": "custom", "custom": flat, **mark}
    if "input_schema" in flat:
        flat["parameters"] = flat.pop("input_schema")
    return {"type": "function", "function": flat, **mark}


def _format(form: dict[str, Any]) -> dict[str, Any]:
    if form.get("type") != "grammar" or "grammar" in form:
        return form
    return {"type": "grammar", "grammar": {name: form.get(name) for name in _GRAMMAR}}


def _choice(choice: Fields) -> dict[str, Any]:
    """Return the fields of this API for *choice*, which is Anthropic's; none for another."""
    kind, name = _kind(choice), choice.get("name")
    own: dict[str, Any] = {}
    if kind is not None and kind in _CHOICES:
        own["tool_choice"] = _CHOICES[kind]
    elif kind == "tool":
        own["tool_choice"] = {"type": "function", "function": {"name": name}}
    if own and choice.get("disable_parallel_tool_use") is True:
        own["parallel_tool_calls"] = False
    return own


# -- messages


def listed_contents(body: Fields) -> list[list[Any]]:
    """Return the contents of messages that are lists of parts; most are texts."""
    given = body.get("messages")
    messages = given if isinstance(given, list) else ()
    return [
        content
        for message in messages
        if isinstance(message, dict) and type(content := message.get("content")) is list
    ]


def _has_blocks(message: Fields) -> bool:
    content = message.get("content")
    return type(content) is list and any(map(_is_block, content))


def _is_block(part: object) -> bool:
    kind = _kind(part)
    return kind in _BLOCKS or (kind == "thinking" and "signature" in object_or_empty(part))


def _messages(message: Any) -> Iterator[Any]:
    """Yield *message*, or the messages of this API that mean the same."""
    if not isinstance(message, dict) or not _has_blocks(message):
        yield message
    elif message.get("role") == "assistant":
        yield _response(message)
    else:
        parts = message["content"]
        yield from (_result(part) for part in parts if _kind(part) == "tool_result")
        rest = [_part(part) for part in parts if _kind(part) != "tool_result"]
        if rest:
            yield {**message, "content": rest}


def _kind(part: object) -> str | None:
    return str_or_none(object_or_empty(part).get("type"))


def _response(message: dict[str, Any]) -> dict[str, Any]:
    parts = message["content"]
    calls = [_call(part) for part in parts if _kind(part) == "tool_use"]
    thinking = [part for part in parts if _kind(part) in ("redacted_thinking", "thinking")]
    apart = ("redacted_thinking", "thinking", "tool_use")
    rest = [_part(part) for part in parts if _kind(part) not in apart]
    own = {**message, "content": rest or None}
    if calls:
        own["tool_calls"] = [*objects(message.get("tool_calls")), *calls]
    return {**own, "thinking_blocks": thinking} if thinking else own


def _call(block: Fields) -> dict[str, Any]:
    arguments = json.dumps(block.get("input") or {}).decode()
    function = {"name": block.get("name"), "arguments": arguments}
    return {"id": block.get("id"), "type": "function", "function": function}


def _result(block: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's result as a message; one that failed begins with "Error: " here."""
    content = block.get("content")
    parts = [_part(part) for part in content] if isinstance(content, list) else [content or ""]
    if block.get("is_error") is True:
        parts = ["Error: ", *parts]
    texts = [part if isinstance(part, str) else None for part in parts]
    mark = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
    return {
        "role": "tool",
        "tool_call_id": block.get("tool_use_id"),
        "content": parts if None in texts else "".join(filter(None, texts)),
        **mark,
    }


def _part(part: Any) -> Any:
    """Return *part*, an image or a document of Anthropic's as a part of this API."""
    if _kind(part) not in ("document", "image"):
        return part
    source = object_or_empty(part.get("source"))
    url = _url(source)
    mark = {"cache_control": part["cache_control"]} if "cache_control" in part else {}
    if part["type"] == "image" and url is not None:
        return {"type": "image_url", "image_url": {"url": url}, **mark}
    if source.get("type") == "text":
        return {"type": "text", "text": source.get("data"), **mark}
    if part["type"] == "document" and url is not None:
        title = str_or_none(part.get("title"))
        name = {"filename": title} if title else {}
        return {"type": "file", "file": {"file_data": url, **name}, **mark}
    return part


def _url(source: Fields) -> str | None:
    """Return the address of a source, or its data as one; None if it has neither."""
    if source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    return str_or_none(source.get("url"))
