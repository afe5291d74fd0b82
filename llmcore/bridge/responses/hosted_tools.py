"""Tools that a provider runs: which upstream has which, and in what words.

An upstream that speaks the Responses API takes the client's own definition. For others the
options that providers share are translated, and the rest is named in a Diagnostic. Which API has
which tool is that of its protocol's tables.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.bridge.errors import invalid
from llmcore.bridge.policy import TranslationPolicy
from llmcore.protocols.loose_json import mapping, string
from llmcore.protocols.notes import Notes
from llmcore.schema.tools import HostedTool, HostedToolKind

RESPONSES: Final = "openai-responses"

_KINDS: Final[Mapping[str, HostedToolKind]] = {
    "web_search": "web_search",
    "web_search_2025_08_26": "web_search",
    "web_search_preview": "web_search",
    "web_search_preview_2025_03_11": "web_search",
    "file_search": "file_search",
    "code_interpreter": "code_execution",
    "image_generation": "image_generation",
    "computer": "computer_use",
    "computer_use_preview": "computer_use",
    "mcp": "mcp",
    "shell": "shell",
    "tool_search": "tool_search",
    "programmatic_tool_calling": "raw",
}
"""The client's types of tools that somebody else than the client runs."""

_NATIVE: Final[Mapping[str, frozenset[HostedToolKind]]] = {
    "anthropic-messages": frozenset({"web_search", "code_execution", "mcp"}),
    "gemini": frozenset({"web_search", "code_execution"}),
}
"""What an API has besides the Responses API, that a client need not run or configure there."""


def is_hosted(type_: str) -> bool:
    """Return whether *type_* is a tool that a provider runs."""
    return type_ in _KINDS


def kind_of(type_: str) -> HostedToolKind:
    """Return the kind of a hosted tool; `raw` for one that other providers do not have."""
    return _KINDS.get(type_, "raw")


def offer_hosted(
    native: Mapping[str, Any],
    path: str,
    protocol_id: str | None,
    policy: TranslationPolicy,
    notes: Notes,
) -> HostedTool | None:
    """Return a hosted tool as the upstream has it; None, with a Diagnostic, if it is left out.

    BridgeError where the policy wants it.
    """
    type_ = str(native.get("type"))
    kind = kind_of(type_)
    if policy.hosted_tools == "drop":
        notes.dropped("hosted-tool-dropped", path, f"the bridge leaves out {type_} tools")
        return None
    if protocol_id == RESPONSES:
        return HostedTool.raw("openai", native)
    if kind in _NATIVE.get(protocol_id or "", frozenset()):
        return _LOWER[kind](native, path, notes)
    if policy.hosted_tools == "error":
        raise invalid(
            f"The upstream has no {type_} tool. Leave it out, or offer a function instead.",
            path,
            "unsupported_tool",
        )
    notes.dropped("hosted-tool-dropped", path, f"the upstream has no {type_} tool")
    return None


def _rest(native: Mapping[str, Any], known: set[str], path: str, notes: Notes) -> None:
    """Name the options that have no word at other providers."""
    for name, value in native.items():
        if name not in known | {"type"} and value is not None:
            why = f"the upstream's tool has no {name}"
            notes.dropped("unsupported-parameter", f"{path}.{name}", why)


def _web_search(native: Mapping[str, Any], path: str, notes: Notes) -> HostedTool:
    _rest(native, {"filters", "user_location"}, path, notes)
    domains = mapping(native.get("filters")).get("allowed_domains")
    place = {k: v for k, v in mapping(native.get("user_location")).items() if v and k != "type"}
    return HostedTool.web_search(
        allowed_domains=tuple(map(str, domains)) if isinstance(domains, list) else (),
        user_location=place or None,
    )


def _code_execution(native: Mapping[str, Any], path: str, notes: Notes) -> HostedTool:
    container = native.get("container")
    if isinstance(container, str) or set(mapping(container)) - {"type"}:
        why = "the upstream runs code in a container of its own"
        notes.dropped("unsupported-parameter", f"{path}.container", why)
    return HostedTool.code_execution()


def _mcp(native: Mapping[str, Any], path: str, notes: Notes) -> HostedTool:
    known = {"server_label", "server_url", "authorization", "allowed_tools", "require_approval"}
    _rest(native, known, path, notes)
    if native.get("require_approval") not in (None, "never"):
        raise invalid(
            "The upstream calls MCP tools without asking: set require_approval to never.",
            f"{path}.require_approval",
        )
    allowed = native.get("allowed_tools")
    names = mapping(allowed).get("tool_names") if isinstance(allowed, dict) else allowed
    return HostedTool.mcp(
        server_label=string(native.get("server_label")) or "mcp",
        server_url=string(native.get("server_url")),
        authorization=string(native.get("authorization")),
        allowed_tools=tuple(map(str, names)) if isinstance(names, list) else (),
    )


_LOWER: Final = {"web_search": _web_search, "code_execution": _code_execution, "mcp": _mcp}
