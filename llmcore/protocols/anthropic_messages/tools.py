"""Anthropic Messages: lowering tools and the choice among them.

Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools, read November
2026.
"""

from attrs import field, frozen

from llmcore.protocols.anthropic_messages.hosted_tools import Hosted, lower_hosted
from llmcore.protocols.anthropic_messages.models import ModelRules
from llmcore.protocols.anthropic_messages.types import CacheControl
from llmcore.protocols.anthropic_messages.types import tools as native
from llmcore.protocols.freeform import freeform_description, freeform_schema, note_function
from llmcore.protocols.notes import Notes
from llmcore.protocols.tool_choice import check_forcible
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.schema.json import JsonObject
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolDefinition


@frozen(kw_only=True)
class Lowered:
    """What a request's tools amount to in the body."""

    tools: tuple[native.AnyTool, ...] = ()
    choice: native.ToolChoice | None = None
    fields: JsonObject = field(factory=dict)
    """Top-level fields that go with the tools, such as `mcp_servers`."""
    betas: tuple[str, ...] = ()


def lower_tools(
    request: LLMRequest, rules: ModelRules, keys: frozenset[str], notes: Notes
) -> Lowered:
    """Return the body's tools and the choice among them.

    *keys* are the ids under which raw tools are this API's own.
    """
    tools: list[native.AnyTool] = []
    hosted: list[Hosted] = []
    for index, tool in enumerate(request.tools):
        path = f"tools[{index}]"
        if isinstance(tool, HostedTool):
            found = lower_hosted(tool, path, rules, keys, notes)
            if found is not None:
                hosted.append(found)
                tools.append(found.tool)
        else:
            tools.append(_lower_own(tool, path, rules, notes))
    servers = [server for one in hosted for server in one.servers]
    return Lowered(
        tools=tuple(tools),
        choice=_lower_choice(request, rules, bool(tools)),
        fields={"mcp_servers": servers} if servers else {},
        betas=tuple(dict.fromkeys(beta for one in hosted for beta in one.betas)),
    )


# -- the caller's own tools


def _lower_own(
    tool: ToolDefinition | CustomTool, path: str, rules: ModelRules, notes: Notes
) -> native.Tool:
    if isinstance(tool, CustomTool):
        return _lower_custom(tool, path, notes)
    strict = tool.strict if rules.strict_tools else None
    if tool.strict and not rules.strict_tools:
        notes.dropped("unsupported-parameter", f"{path}.strict", "the model has no strict tools")
    target = SchemaTarget.ANTHROPIC_STRICT if strict else SchemaTarget.ANTHROPIC
    projected = project(tool.parameters, target, f"{path}.parameters")
    notes.extend(projected.diagnostics)
    return native.Tool(
        name=tool.name,
        description=tool.description or None,
        input_schema=projected.schema,
        strict=True if strict and projected.strict else None,
        cache_control=None if tool.cache is None else cache_mark(tool.cache),
    )


def _lower_custom(tool: CustomTool, path: str, notes: Notes) -> native.Tool:
    """Return a freeform tool as a function of one string, its grammar in words."""
    note_function(path, notes)
    return native.Tool(
        name=tool.name,
        description=freeform_description(tool),
        input_schema=freeform_schema(closed=True),
    )


def cache_mark(ttl: str | None) -> CacheControl:
    """Return a cache mark; five minutes are the default and are not written."""
    return CacheControl("1h" if ttl == "1h" else None)


# -- the choice


def _lower_choice(
    request: LLMRequest, rules: ModelRules, has_tools: bool
) -> native.ToolChoice | None:
    choice = request.tool_choice
    check_forcible(request, forced_tools=rules.forced_tools, has_tools=has_tools, knower="the API")
    if not has_tools:
        return None
    serial = True if request.parallel_tool_calls is False else None
    if choice is None:
        return native.ToolChoiceAuto(serial) if serial else None
    match choice.mode:
        case "auto":
            return native.ToolChoiceAuto(serial)
        case "required":
            return native.ToolChoiceAny(serial)
        case "none":
            return native.ToolChoiceNone()
        case "named":
            return native.ToolChoiceTool(choice.tool_name or "", disable_parallel_tool_use=serial)
