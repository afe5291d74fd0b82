"""What tools returned: output items of any type, as results.

Source: https://developers.openai.com/api/reference/resources/responses/methods/create (`input`),
read November 2026.
"""

from collections.abc import Mapping
from typing import Any

from llmcore.bridge.errors import invalid
from llmcore.bridge.responses.input_content import read_output
from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.schema.content import ToolCallPart, ToolResultPart


def is_output(item: Mapping[str, Any]) -> bool:
    """Return whether *item* is a tool's result."""
    type_ = str(item.get("type"))
    return type_.endswith("_call_output") or type_ == "tool_search_output"


def result_part(
    item: Mapping[str, Any], calls: Mapping[str, ToolCallPart], path: str
) -> ToolResultPart:
    """Return the result that *item* brings; *calls* are those before it, by their ids.

    BridgeError for one that says of no call that it answers it.
    """
    # the one output that names the item, not the call
    by_id = item.get("type") == "local_shell_call_output"
    call_id = string(item.get("call_id")) or (string(item.get("id")) if by_id else None)
    if call_id is None:
        raise invalid(f"{path}: a tool's output needs the call_id of its call.", f"{path}.call_id")
    call = calls.get(call_id)
    return ToolResultPart(
        call.id if call else call_id,
        _content(item, path),
        name=call.name if call else None,
        is_error=item.get("status") == "failed",
        kind=call.kind if call else "function",
    )


def _content(item: Mapping[str, Any], path: str) -> Any:
    match item.get("type"):
        case "tool_search_output":
            return {"tools": [_found(tool) for tool in dicts(item.get("tools"))]}
        case "apply_patch_call_output":
            return string(item.get("output")) or str(item.get("status") or "completed")
        case "computer_call_output":
            return read_output([mapping(item.get("output"))], f"{path}.output")
        case _:
            return read_output(item.get("output"), f"{path}.output")


def _found(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the model reads of a tool that was found; it is offered like the others."""
    found = {name: tool[name] for name in ("type", "name", "description") if tool.get(name)}
    inner = [_found(one) for one in dicts(tool.get("tools"))]
    return {**found, "tools": inner} if inner else found
