"""The tools that Anthropic defines for Claude, by their versions.

Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference, read November
2026. A kind of tool is sent in the version below, the newest that every model with the tool takes;
`type` among the tool's options names another (`HostedTool.web_search(type="web_search_20260318")`).

    web_search      web_search_20250305
    web_fetch       web_fetch_20250910
    code_execution  code_execution_20250825
    computer_use    computer_20250124, computer_20251124 or computer_toolset_20260801, by the model
    mcp             mcp_toolset, and an entry in `mcp_servers`
    shell           bash_20250124             run by the caller
    text_editor     text_editor_20250728      run by the caller
    memory          memory_20250818           run by the caller
    tool_search     tool_search_tool_bm25_20251119, or _regex_ with `variant="regex"`
"""

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from llmcore.protocols.claude import ClaudeRules
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject, present
from llmcore.schema.tools import HostedTool

HOSTED_TOOLS: Final[Mapping[str, str]] = {
    "web_search": "web_search_20250305",
    "web_fetch": "web_fetch_20250910",
    "code_execution": "code_execution_20250825",
    "shell": "bash_20250124",
    "text_editor": "text_editor_20250728",
    "memory": "memory_20250818",
    "tool_search": "tool_search_tool_bm25_20251119",
}
"""The version of each kind of hosted tool that does not depend on the model."""
_NAMES: Final = {
    "web_search_": "web_search",
    "web_fetch_": "web_fetch",
    "code_execution_": "code_execution",
    "bash_": "bash",
    "text_editor_20241022": "str_replace_editor",
    "text_editor_20250124": "str_replace_editor",
    "text_editor_": "str_replace_based_edit_tool",
    "memory_": "memory",
    "tool_search_tool_bm25": "tool_search_tool_bm25",
    "tool_search_tool_regex": "tool_search_tool_regex",
    "computer_toolset_": None,
    "browser_toolset_": None,
    "computer_": "computer",
    "advisor_": "advisor",
}
"""The name that goes with a type, by how the type begins; toolsets have none."""
_BETAS: Final = {
    "computer_20241022": "computer-use-2024-10-22",
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
    "advisor_20260301": "advisor-tool-2026-03-01",
    "mcp_toolset": "mcp-client-2025-11-20",
    "code_execution_20250522": "code-execution-2025-05-22",
}
"""Beta features that a type belongs to."""


@frozen(kw_only=True)
class ClaudeTool:
    """The definition of a tool, and the fields and features that it needs beside it."""

    definition: dict[str, Any]
    servers: tuple[JsonObject, ...] = ()
    """Entries of `mcp_servers`."""
    betas: tuple[str, ...] = ()


def lower_claude_tool(
    tool: HostedTool, path: str, rules: ClaudeRules, diagnostics: Diagnostics
) -> ClaudeTool | None:
    """Return *tool* as Anthropic defines it; None, with a Diagnostic, if it has no such tool."""
    if tool.kind == "mcp":
        return _mcp(dict(tool.options), path, diagnostics)
    if tool.kind == "computer_use":
        return _computer(dict(tool.options), path, rules, diagnostics)
    if tool.kind not in HOSTED_TOOLS:
        diagnostics.dropped("unsupported-tool", path, f"the API has no {tool.kind} tool")
        return None
    return native_tool(
        {"type": HOSTED_TOOLS[tool.kind], **_shared_options(tool, path, diagnostics)}
    )


def _shared_options(tool: HostedTool, path: str, diagnostics: Diagnostics) -> dict[str, Any]:
    """Return the options under the API's names."""
    options = dict(tool.options)
    location = options.get("user_location")
    if isinstance(location, Mapping):
        options["user_location"] = {"type": "approximate", **location}
    if tool.kind == "tool_search" and options.pop("variant", "bm25") == "regex":
        options.setdefault("type", "tool_search_tool_regex_20251119")
    if options.pop("container", None) is not None:
        why = "a container is named for the whole request: provider_options.anthropic.container"
        diagnostics.unsupported(f"{path}.container", why)
    return options


def native_tool(definition: dict[str, Any]) -> ClaudeTool:
    """Return a native definition with the name that its type must have."""
    kind = definition.get("type")
    if isinstance(kind, str):
        name = next((name for start, name in _NAMES.items() if kind.startswith(start)), None)
        if name is not None and "name" not in definition:
            definition = {"type": kind, "name": name, **definition}
    beta = _BETAS.get(str(kind))
    return ClaudeTool(definition=present(definition), betas=(beta,) if beta else ())


def _computer(
    options: dict[str, Any], path: str, rules: ClaudeRules, diagnostics: Diagnostics
) -> ClaudeTool:
    version = options.pop("type", None) or rules.computer
    width, height = options.pop("display_width", None), options.pop("display_height", None)
    if options.pop("environment", None) is not None:
        diagnostics.unsupported(f"{path}.environment", "the API has no such option")
    if str(version).startswith("computer_toolset_"):
        why = "the computer toolset reads the size from the screenshots"
        diagnostics.unsupported(f"{path}.display_width", why)
        return native_tool({"type": version, **options})
    size = {"display_width_px": width, "display_height_px": height}
    return native_tool({"type": version, **size, **options})


def _mcp(options: dict[str, Any], path: str, diagnostics: Diagnostics) -> ClaudeTool | None:
    """Return the tools of a remote MCP server, and the server."""
    label, url = options.pop("server_label"), options.pop("server_url", None)
    if url is None:
        diagnostics.dropped(
            "unsupported-tool", path, "the API accepts MCP servers only by server_url"
        )
        return None
    server: dict[str, Any] = {"type": "url", "name": label, "url": url}
    token = options.pop("authorization", None)
    if token is not None:
        server["authorization_token"] = token
    toolset: dict[str, Any] = {"type": "mcp_toolset", "mcp_server_name": label}
    allowed = options.pop("allowed_tools", None)
    if allowed:
        toolset["default_config"] = {"enabled": False}
        toolset["configs"] = {name: {"enabled": True} for name in allowed}
    found = native_tool({**toolset, **options})
    return ClaudeTool(definition=found.definition, servers=(server,), betas=found.betas)
