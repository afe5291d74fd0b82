"""Anthropic Messages: lowering tools, the choice among them, and the response's format.

Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools, read November
2026. Where the API cannot enforce a schema, the model is made to call a tool whose input is the
response, and the stream turns that call back into text. Where a call cannot be forced (beside a
budget of thinking), words ask for it.
"""

from typing import Any, Final

import msgspec

from llmcore.protocols.anthropic_messages.names import METADATA_KEY, TOOL_CHOICES
from llmcore.protocols.caching import cache_mark
from llmcore.protocols.claude import ClaudeRules
from llmcore.protocols.claude_tools import ClaudeTool, lower_claude_tool, native_tool
from llmcore.protocols.forced_format import ForcedFormat
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.protocols.tools import check_forcible, freeform_function, note_function
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import texts
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolDefinition, ToolSpec


class MessagesTools(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of the body that a request's tools are lowered to."""

    tools: list[dict[str, Any]] = []
    choice: JsonObject | None = None
    servers: list[JsonObject] = []
    """`mcp_servers`."""
    betas: tuple[str, ...] = ()


def lower_tools(
    request: LLMRequest, rules: ClaudeRules, keys: frozenset[str], diagnostics: Diagnostics
) -> MessagesTools:
    """Return the body's tools and the choice among them.

    *keys* are the ids under which raw tools are this API's own.
    """
    if not request.tools:
        return MessagesTools(choice=_lower_choice(request, rules, diagnostics, has_tools=False))
    tools: list[dict[str, Any]] = []
    hosted: list[ClaudeTool] = []
    for index, tool in enumerate(request.tools):
        here = diagnostics.at(f"tools[{index}]")
        if isinstance(tool, HostedTool):
            lowered = _lower_hosted(tool, rules, keys, here)
            if lowered is not None:
                hosted.append(lowered)
                tools.append(lowered.definition)
        else:
            tools.append(_lower_function(tool, rules, here))
    return MessagesTools(
        tools=tools,
        choice=_lower_choice(request, rules, diagnostics, has_tools=bool(tools)),
        servers=[server for lowered in hosted for server in lowered.servers],
        betas=tuple(dict.fromkeys(beta for lowered in hosted for beta in lowered.betas)),
    )


# -- tools


def _lower_function(
    tool: ToolDefinition | CustomTool, rules: ClaudeRules, diagnostics: Diagnostics
) -> dict[str, Any]:
    if isinstance(tool, CustomTool):
        note_function(diagnostics)
        tool = freeform_function(tool)
    strict = tool.strict and rules.strict_tools and not _called_by_code(tool)
    if tool.strict and not strict:
        whose = "a tool that code calls" if rules.strict_tools else "a tool of this model"
        diagnostics.at("strict").unsupported(f"{whose} cannot be strict")
    target = SchemaTarget.ANTHROPIC_STRICT if strict else SchemaTarget.ANTHROPIC
    projected = project(tool.parameters, target, f"{diagnostics.path}.parameters")
    diagnostics.extend(projected.diagnostics)
    function = function_tool(tool.name, tool.description, projected.schema)
    if strict and projected.strict:
        function["strict"] = True
    if tool.cache is not None:
        function["cache_control"] = cache_mark(tool.cache)
    return {**function, **tool.provider_metadata.get(METADATA_KEY, {})}


def _called_by_code(tool: ToolSpec) -> bool:
    """Return whether code that the provider runs may call *tool*.

    Such tools can neither be strict nor be called one at a time: https://platform.claude.com/docs/
    en/agents-and-tools/tool-use/programmatic-tool-calling#feature-incompatibilities.
    """
    if not isinstance(tool, ToolDefinition):
        return False
    callers = tool.provider_metadata.get(METADATA_KEY, {}).get("allowed_callers")
    return any(caller != "direct" for caller in texts(callers))


def function_tool(name: str, description: str | None, schema: JsonObject) -> dict[str, Any]:
    """Return a tool that the caller runs."""
    described = {"description": description} if description else {}
    return {"name": name, "input_schema": schema, **described}


def _lower_hosted(
    tool: HostedTool, rules: ClaudeRules, keys: frozenset[str], diagnostics: Diagnostics
) -> ClaudeTool | None:
    if tool.kind != "raw":
        return lower_claude_tool(tool, rules, diagnostics)
    if tool.provider in keys:
        return native_tool(dict(tool.options))
    diagnostics.dropped("unsupported-tool", f"the raw tool is {tool.provider}'s")
    return None


# -- the choice


def _lower_choice(
    request: LLMRequest, rules: ClaudeRules, diagnostics: Diagnostics, *, has_tools: bool
) -> JsonObject | None:
    choice = request.tool_choice
    check_forcible(
        request, forced_tools=rules.forced_tools, has_tools=has_tools, known_to="the API"
    )
    if not has_tools:
        return None
    serial = request.parallel_tool_calls is False
    if serial and any(map(_called_by_code, request.tools)):
        diagnostics.at("parallel_tool_calls").unsupported("code calls its tools as it needs them")
        serial = False
    if choice is None:
        return _choice("auto", serial=True) if serial else None
    name = choice.tool_name or "" if choice.mode == "named" else None
    return _choice(choice.mode, name=name, serial=serial and choice.mode != "none")


def _choice(mode: str, *, name: str | None = None, serial: bool) -> dict[str, Any]:
    choice: dict[str, Any] = {"type": TOOL_CHOICES[mode]}
    if name is not None:
        choice["name"] = name
    if serial:
        choice["disable_parallel_tool_use"] = True
    return choice


# -- the response's format

UNENFORCED: Final = "the API cannot hold the response to this"


def format_choice(forced: ForcedFormat, request: LLMRequest) -> JsonObject | None:
    """Return the choice that leads to the response; None leaves the caller's own."""
    if forced.choice is None:
        return None
    if forced.choice.mode == "named":
        return _choice("named", name=forced.tool, serial=True)
    return _choice(forced.choice.mode, serial=request.parallel_tool_calls is False)
