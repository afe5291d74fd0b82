"""The tool choice: whether, and which of the offered tools, the model may or must call.

Source: https://developers.openai.com/api/reference/resources/responses/methods/create
(`tool_choice`), read November 2026.
"""

from collections.abc import Mapping
from typing import Any

from llmcore.bridge.errors import invalid
from llmcore.bridge.responses.tool_offer import OfferedTool, ToolOffer
from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.schema.tools import ToolChoice

_MAX_ALLOWED = 1000
_PARAM = "tool_choice"
_MODES = {"auto": ToolChoice.auto, "none": ToolChoice.none, "required": ToolChoice.required}


def choose(native: object, offer: ToolOffer) -> tuple[ToolChoice | None, ToolOffer]:
    """Return the choice, and what of *offer* it leaves.

    Without tools `auto` and `none` say nothing. BridgeError for a choice that nothing fulfils.
    """
    if isinstance(native, dict) and native.get("type") == "allowed_tools":
        allowed = ToolOffer(_allowed(native, offer))
        return _mode(native.get("mode") or "auto", allowed), allowed
    if native is None or isinstance(native, str):
        return _mode(native, offer), offer
    if not isinstance(native, dict):
        raise invalid("tool_choice must be a string or an object.", _PARAM)
    found = _find(native, offer)
    if found is None:
        raise invalid(f"tool_choice names {_words(native)}, which is not in tools.", _PARAM)
    return ToolChoice.named(_call_name(found)), offer


def _mode(mode: object, offer: ToolOffer) -> ToolChoice | None:
    if mode is None:
        return None
    if not isinstance(mode, str) or mode not in _MODES:
        raise invalid(f"tool_choice {mode!r} is not auto, none or required.", _PARAM)
    if offer.tools:
        return _MODES[mode]()
    if mode == "required":
        raise invalid("tool_choice is required, but there are no tools to call.", _PARAM)
    return None


def _allowed(native: Mapping[str, Any], offer: ToolOffer) -> tuple[OfferedTool, ...]:
    wanted = dicts(native.get("tools"))
    if len(wanted) > _MAX_ALLOWED:
        raise invalid(f"tool_choice names more than {_MAX_ALLOWED} tools.", _PARAM)
    allowed: set[int] = set()
    for one in wanted:
        meant = {number for number, tool in enumerate(offer.tools) if _is_meant(one, tool)}
        if not meant:
            raise invalid(f"tool_choice allows {_words(one)}, which is not in tools.", _PARAM)
        allowed |= meant
    return tuple(offer.tools[number] for number in sorted(allowed))


def _find(native: Mapping[str, Any], offer: ToolOffer) -> OfferedTool | None:
    return next((tool for tool in offer.tools if _is_meant(native, tool)), None)


def _is_meant(native: Mapping[str, Any], tool: OfferedTool) -> bool:
    """Return whether *native*, a way to name a tool, names *tool*."""
    type_ = native.get("type")
    entry = tool.entry
    name = string(native.get("name")) or string(mapping(native.get("function")).get("name"))
    if type_ == "namespace":
        return entry is not None and entry.namespace == name
    if type_ == "mcp":
        return tool.type == "mcp" and tool.label == native.get("server_label")
    if type_ in ("function", "custom"):
        namespace = string(native.get("namespace"))
        # a choice is taken to mean a namespaced tool also where it leaves the namespace out
        return (
            entry is not None
            and tool.type == type_
            and entry.name == name
            and namespace in (None, entry.namespace)
        )
    return tool.type == type_


def _call_name(tool: OfferedTool) -> str:
    """Return how the request names the tool: a function by its name, others by type or label."""
    return tool.entry.upstream if tool.entry else tool.label or tool.type


def _words(native: Mapping[str, Any]) -> str:
    name = native.get("name") or native.get("server_label") or native.get("type")
    return f"the tool {name!r}"
