"""Tools of Claude's APIs: those that Anthropic defines, and names of properties that are refused.

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

"tools.0.custom.input_schema.properties: Property keys should match pattern
'^[a-zA-Z0-9_.-]{1,64}$'", the API answers to the whole request for one such name, as servers of MCP
have: `filter[id]`, `$top`, `user name`. The name is replaced in the request (the tool's schema, and
the calls in the history) and put back in the response, as names of tools are:

    {"filter[id]": 1}  --request-->  {"filter_id_": 1}  --response-->  {"filter[id]": 1}

The replacement depends on the names of the tool alone, so that the same tools give the same bytes.
The tool that represents the response (`forced_format`) is one like all others. The API looks at the
names of the outermost object only. Source:
https://github.com/anthropics/claude-code/issues/79418.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from attrs import evolve

from llmcore.protocols.claude import ClaudeRules
from llmcore.protocols.forced_format import FormatPlan, format_tool
from llmcore.protocols.lowering import with_parts
from llmcore.protocols.tool_schema.normalise import renamed
from llmcore.protocols.tools import ToolNameRule
from llmcore.schema.content import ContentPart, ToolCallPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, dumps, json_or_text, present
from llmcore.schema.native_json import texts
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import HostedTool, ToolDefinition, ToolSpec

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
    tool: HostedTool, rules: ClaudeRules, diagnostics: Diagnostics
) -> ClaudeTool | None:
    """Return *tool* as Anthropic defines it; None, with a Diagnostic, if it has no such tool."""
    if tool.kind == "mcp":
        return _mcp(dict(tool.options), diagnostics)
    if tool.kind == "computer_use":
        return _computer(dict(tool.options), rules, diagnostics)
    if tool.kind not in HOSTED_TOOLS:
        diagnostics.dropped("unsupported-tool", f"the API has no {tool.kind} tool")
        return None
    return native_tool({"type": HOSTED_TOOLS[tool.kind], **_shared_options(tool, diagnostics)})


def _shared_options(tool: HostedTool, diagnostics: Diagnostics) -> dict[str, Any]:
    """Return the options under the API's names."""
    options = dict(tool.options)
    location = options.get("user_location")
    if isinstance(location, Mapping):
        options["user_location"] = {"type": "approximate", **location}
    if tool.kind == "tool_search" and options.pop("variant", "bm25") == "regex":
        options.setdefault("type", "tool_search_tool_regex_20251119")
    if options.pop("container", None) is not None:
        why = "a container is named for the whole request: provider_options.anthropic.container"
        diagnostics.at("container").unsupported(why)
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


def _computer(options: dict[str, Any], rules: ClaudeRules, diagnostics: Diagnostics) -> ClaudeTool:
    version = options.pop("type", None) or rules.computer
    width, height = options.pop("display_width", None), options.pop("display_height", None)
    if options.pop("environment", None) is not None:
        diagnostics.at("environment").unsupported("the API has no such option")
    if str(version).startswith("computer_toolset_"):
        why = "the computer toolset reads the size from the screenshots"
        diagnostics.at("display_width").unsupported(why)
        return native_tool({"type": version, **options})
    size = {"display_width_px": width, "display_height_px": height}
    return native_tool({"type": version, **size, **options})


def _mcp(options: dict[str, Any], diagnostics: Diagnostics) -> ClaudeTool | None:
    """Return the tools of a remote MCP server, and the server."""
    label, url = options.pop("server_label"), options.pop("server_url", None)
    if url is None:
        diagnostics.dropped("unsupported-tool", "the API accepts MCP servers only by server_url")
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
    tool = native_tool({**toolset, **options})
    return ClaudeTool(definition=tool.definition, servers=(server,), betas=tool.betas)


# -- names of properties

Names: TypeAlias = Mapping[str, str]
"""The replacement of each name."""

_DIGITS: Final = 8
_RULE: Final = ToolNameRule(first="a-zA-Z0-9_.-", rest="a-zA-Z0-9_.-")
_allowed: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}").fullmatch


def replaced_properties(request: LLMRequest) -> dict[str, Names]:
    """Return, for each tool with names that are refused, what is sent for each of them."""
    replaced: dict[str, Names] = {}
    for tool in request.tools:
        if isinstance(tool, ToolDefinition):
            names = tool.parameters.get("properties")
            if isinstance(names, Mapping) and not all(map(_allowed, names)):
                replaced[tool.name] = _replacements(names)
    return replaced


def own_properties(request: LLMRequest, plan: FormatPlan) -> dict[str, Names]:
    """Return, for each such tool, its own name for each that is sent."""
    replaced = replaced_properties(request)
    of_format = _replaced_in_format(plan)
    if of_format:
        replaced[format_tool(request)] = of_format
    return {tool: {sent: name for name, sent in names.items()} for tool, names in replaced.items()}


def _replaced_in_format(plan: FormatPlan) -> Names:
    """Return what is sent for each name in the schema of the tool that represents the response."""
    names = plan.projected.schema.get("properties")
    return _replacements(names) if plan.by == "tool" and isinstance(names, Mapping) else {}


def _replacements(names: Mapping[str, Any]) -> Names:
    taken = {name for name in names if _allowed(name)}
    sent: dict[str, str] = {}
    for name in names:
        if _allowed(name):
            continue
        fitted = _RULE.fit(name or "_")
        if fitted in taken:
            fitted = _RULE.fit(name or "_", digits=_DIGITS)
        taken.add(fitted)
        sent[name] = fitted
    return sent


# -- in the request


def fit_properties(request: LLMRequest, diagnostics: Diagnostics) -> LLMRequest:
    """Return *request* with names that the API accepts; itself where it has only such names."""
    replaced = replaced_properties(request)
    if not replaced:
        return request
    for index, tool in enumerate(request.tools):
        path = f"tools[{index}].parameters.properties"
        for name, sent in replaced.get(getattr(tool, "name", ""), {}).items():
            message = f"{name!r} is sent as {sent!r}; calls come back with the tool's own name"
            diagnostics.at(f"{path}.{name}").noted("property-name-changed", message)
    return evolve(
        request,
        tools=tuple(_tool(tool, replaced) for tool in request.tools),
        messages=tuple(
            with_parts(message, lambda part: _part(part, replaced)) for message in request.messages
        ),
    )


def fit_format(plan: FormatPlan, diagnostics: Diagnostics) -> FormatPlan:
    """Return *plan* with names that the API accepts in the tool that represents the response."""
    replaced = _replaced_in_format(plan)
    if not replaced:
        return plan
    for name, sent in replaced.items():
        path = f"response_format.schema.properties.{name}"
        message = f"{name!r} is sent as {sent!r}; the response has the schema's own name"
        diagnostics.at(path).noted("property-name-changed", message)
    schema = _schema(plan.projected.schema, replaced)
    return evolve(plan, projected=evolve(plan.projected, schema=schema))


def _tool(tool: ToolSpec, replaced: Mapping[str, Names]) -> ToolSpec:
    if not isinstance(tool, ToolDefinition) or tool.name not in replaced:
        return tool
    return evolve(tool, parameters=_schema(tool.parameters, replaced[tool.name]))


def _schema(schema: JsonObject, names: Names) -> JsonObject:
    fields: dict[str, Any] = {**schema, "properties": renamed(schema["properties"], names)}
    if "required" in schema:
        fields["required"] = [names.get(name, name) for name in texts(schema["required"])]
    return fields


def _part(part: ContentPart, replaced: Mapping[str, Names]) -> ContentPart:
    if not isinstance(part, ToolCallPart) or part.provider_executed or part.name not in replaced:
        return part
    if not isinstance(part.arguments, Mapping):
        return part
    return evolve(part, arguments=renamed(part.arguments, replaced[part.name]))


# -- in the response


def with_own_names(arguments: str, names: Names) -> str:
    """Return the JSON text of a call's *arguments* with the tool's own *names*."""
    given = json_or_text(arguments)
    return dumps(renamed(given, names)).decode() if isinstance(given, Mapping) else arguments
