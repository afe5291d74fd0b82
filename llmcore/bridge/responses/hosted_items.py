"""Tools that the provider ran, as output items.

What an upstream's Responses API said goes on as it came. Searches and code of other providers
become the items that clients know; every other tool becomes a call of an MCP server, which is
the item for "somebody ran this tool with this input, and this came out".
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.json_text import written
from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.schema.content import TextPart
from llmcore.schema.events import File, ToolCall, ToolResult

LIFECYCLE: Final[Mapping[str, tuple[str, ...]]] = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_call": ("in_progress", "completed"),
}
"""Events of their own that items have between their beginning and their end; the last one
belongs to the end."""

_SEARCHES: Final = frozenset({"web_search", "google_search", "x_search", "nova_grounding"})
_CODE: Final = frozenset({"code_execution", "code_interpreter", "nova_code_interpreter"})
_PREFIXES: Final = {"web_search_call": "ws", "code_interpreter_call": "ci", "mcp_call": "mcp"}


def hosted_type(call: ToolCall) -> str:
    """Return the type of the item that *call* becomes."""
    native = string(_native(call).get("type"))
    if native is not None:
        return native
    if call.name in _SEARCHES:
        return "web_search_call"
    return "code_interpreter_call" if call.name in _CODE else "mcp_call"


def hosted_prefix(call: ToolCall) -> str:
    """Return the prefix of the item's id."""
    return _PREFIXES.get(hosted_type(call), "item")


def hosted_item(
    call: ToolCall,
    result: ToolResult | None,
    files: list[File],
    *,
    item_id: str,
    provider: str,
    status: str,
) -> dict[str, Any]:
    """Return the item of a call, as far as it has got."""
    native = _native(call)
    if native:
        return _native_item(native, files, item_id, status)
    item = {"id": item_id, "type": hosted_type(call), "status": _status(result, status)}
    match item["type"]:
        case "web_search_call":
            return {**item, "action": _search(call, result)}
        case "code_interpreter_call":
            return {**item, **_code(call, result)}
        case _:
            arguments = written(call.arguments)
            named = {"server_label": provider or "upstream", "name": call.name}
            output = None if result is None else _text(result)
            return {**item, **named, "arguments": arguments, "output": output, "error": None}


def _status(result: ToolResult | None, status: str) -> str:
    return "failed" if result is not None and result.is_error else status


def _native(call: ToolCall) -> Mapping[str, Any]:
    return mapping(mapping(call.provider_metadata.get("openai")).get("item"))


def _native_item(
    native: Mapping[str, Any], files: list[File], item_id: str, status: str
) -> dict[str, Any]:
    item = {**native, "id": item_id}
    if status == "in_progress" and "status" in item:
        item["status"] = status
    if item["type"] == "image_generation_call":
        item["result"] = picture(files[0]) if files else None
    return item


def picture(file: File) -> str | None:
    """Return a file as the base64 of `image_generation_call`; None if it has no bytes."""
    return base64.b64encode(file.data).decode() if file.data else None


def _search(call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    """Return what was searched for, and what was found."""
    arguments = mapping(call.arguments)
    given = arguments.get("queries")
    queries = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
    query = string(arguments.get("query")) or (queries[0] if queries else "")
    action: dict[str, Any] = {"type": "search", "query": query}
    if queries:
        action["queries"] = queries
    found = result.content if result is not None else None
    pages = dicts(found) or dicts(mapping(found).get("sources"))
    sources = [{"type": "url", "url": page["url"]} for page in pages if string(page.get("url"))]
    return {**action, "sources": sources} if sources else action


def _code(call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    code = string(mapping(call.arguments).get("code"))
    text = "" if result is None else _text(result)
    return {
        "code": code if code is not None else written(call.arguments),
        "container_id": "",
        "outputs": [{"type": "logs", "logs": text}] if text else None,
    }


def _text(result: ToolResult) -> str:
    content = result.content
    if isinstance(content, tuple):
        return "".join(part.text for part in content if isinstance(part, TextPart))
    return written(content)
