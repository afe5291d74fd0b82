"""Bedrock Converse: lowering tools, the choice among them, and the response's format.

Sources, read November 2026:
https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html (no choice is
`none`; `auto` is the default, and some models reject it),
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_SystemTool.html and
https://docs.aws.amazon.com/nova/latest/nova2-userguide/ (web grounding, code interpreter), and
https://docs.aws.amazon.com/bedrock/latest/userguide/computer-use.html: Anthropic's own tools go
into `additionalModelRequestFields`, with the beta features that they need.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import msgspec

from llmcore.protocols.bedrock_converse.caching import cache_point
from llmcore.protocols.bedrock_converse.models import ConverseRules
from llmcore.protocols.bedrock_converse.names import (
    CLAUDE_TOOLS,
    SYSTEM_TOOLS,
    TOOL_CHOICES,
    Block,
    ConverseMessage,
)
from llmcore.protocols.claude_tools import ClaudeTool, lower_claude_tool
from llmcore.protocols.forced_format import ForcedFormat
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.protocols.tools import check_forcible, freeform_function, note_function
from llmcore.schema import json
from llmcore.schema.content import ToolCallPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition


class ConverseTools(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of the body that a request's tools are lowered to."""

    tools: list[Block] = []
    """`toolConfig.tools`."""
    choice: JsonObject | None = None
    fields: dict[str, Any] = {}
    """Fields of `additionalModelRequestFields`."""


def lower_tools(
    request: LLMRequest, rules: ConverseRules, keys: frozenset[str], diagnostics: Diagnostics
) -> ConverseTools:
    """Return the body's tools and the choice among them.

    *keys* are the ids under which raw tools are this API's own.
    """
    if _are_forbidden(request):
        why = "the API cannot forbid tool calls: the tools are left out"
        diagnostics.at("tool_choice").changed("tool-choice-emulated", why)
        return ConverseTools()
    tools: list[Block] = []
    vendors: list[ClaudeTool] = []
    only = _only_tool(request, rules, diagnostics)
    for index, tool in enumerate(request.tools):
        here = diagnostics.at(f"tools[{index}]")
        if only is not None and getattr(tool, "name", None) != only:
            continue
        if not isinstance(tool, HostedTool):
            tools += _lower_function(tool, rules, here)
            continue
        lowered = _lower_hosted(tool, rules, keys, here)
        if isinstance(lowered, ClaudeTool):
            vendors.append(lowered)
        elif lowered is not None:
            tools.append(lowered)
    if request.parallel_tool_calls is False and request.tools:
        why = "the model decides by itself whether it calls tools in parallel"
        diagnostics.at("parallel_tool_calls").unsupported(why)
    fields: dict[str, Any] = {}
    if vendors:
        fields["tools"] = [vendor.definition for vendor in vendors]
    betas = list(dict.fromkeys(beta for vendor in vendors for beta in vendor.betas))
    if betas:
        fields["anthropic_beta"] = betas
    choice = _lower_choice(request, rules, has_tools=bool(tools or fields), diagnostics=diagnostics)
    return ConverseTools(tools=tools, choice=choice if tools else None, fields=fields)


def _are_forbidden(request: LLMRequest) -> bool:
    """Return whether no tool may be called, and none was, so that none needs a definition."""
    if not request.tools or request.tool_choice is None or request.tool_choice.mode != "none":
        return False
    parts = chain.from_iterable(message.content for message in request.messages)
    return not any(isinstance(part, ToolCallPart | ToolResultPart) for part in parts)


def _lower_hosted(
    tool: HostedTool, rules: ConverseRules, keys: frozenset[str], diagnostics: Diagnostics
) -> Block | ClaudeTool | None:
    """Return a hosted tool as the service or its vendor defines it; None, with a Diagnostic."""
    if tool.kind == "raw":
        if tool.provider in keys:
            return dict(tool.options)
        diagnostics.dropped("unsupported-tool", f"the raw tool is {tool.provider}'s")
        return None
    if rules.family == "nova" and tool.kind in SYSTEM_TOOLS:
        for name in tool.options:
            diagnostics.at(name).unsupported("the service's tool has no options")
        return {"systemTool": {"name": SYSTEM_TOOLS[tool.kind]}}
    if rules.family == "claude" and tool.kind in CLAUDE_TOOLS:
        return lower_claude_tool(tool, rules.claude_rules, diagnostics)
    diagnostics.dropped("unsupported-tool", f"the model has no {tool.kind} tool here")
    return None


def _lower_function(
    tool: ToolDefinition | CustomTool, rules: ConverseRules, diagnostics: Diagnostics
) -> list[Block]:
    """Return a tool, and the cache point that ends a prefix with it."""
    if isinstance(tool, CustomTool):
        note_function(diagnostics)
        tool = freeform_function(tool, closed=False)
    strict = bool(tool.strict) and rules.structured_output
    if tool.strict and not strict:
        diagnostics.at("strict").unsupported("the model has no strict tools")
    target = SchemaTarget.BEDROCK_STRICT if strict else rules.tool_schema
    projected = project(tool.parameters, target, f"{diagnostics.path}.parameters")
    diagnostics.extend(projected.diagnostics)
    strict = strict and projected.strict
    function = function_tool(tool.name, tool.description, projected.schema, strict=strict)
    return [function, *([] if tool.cache is None else [cache_point(tool.cache)])]


def function_tool(
    name: str, description: str | None, schema: JsonObject, *, strict: bool = False
) -> Block:
    """Return a tool that the caller runs."""
    spec: dict[str, Any] = {"name": name}
    if description:
        spec["description"] = description
    spec["inputSchema"] = {"json": schema}
    if strict:
        spec["strict"] = True
    return {"toolSpec": spec}


# -- tools that only the history has


def stub_tools(
    messages: Iterable[ConverseMessage],
    known: Iterable[Mapping[str, Any]],
    diagnostics: Diagnostics,
) -> list[Block]:
    """Return a bare definition of each tool that *messages* call, if *known* has none at all.

    The service refuses calls and results in a request without tools: "The toolConfig field
    must be defined when using toolUse and toolResult content blocks".
    """
    if any("toolSpec" in tool or "systemTool" in tool for tool in known):
        return []
    called = dict.fromkeys(_called(messages))
    for name, _ in called:
        why = "messages contain calls of it, and the service requires definitions for all calls"
        diagnostics.at("tools").added(
            "tool-stub-added", f"{name} was defined without parameters: {why}"
        )
    nothing: JsonObject = {"type": "object", "properties": {}}
    return [
        {"systemTool": {"name": name}} if hosted else function_tool(name, None, nothing)
        for name, hosted in called
    ]


def _called(messages: Iterable[ConverseMessage]) -> Iterator[tuple[str, bool]]:
    for message in messages:
        for block in message["content"]:
            call = block.get("toolUse")
            if isinstance(call, Mapping) and isinstance(call.get("name"), str):
                yield call["name"], call.get("type") == "server_tool_use"


# -- the choice


def _lower_choice(
    request: LLMRequest, rules: ConverseRules, *, has_tools: bool, diagnostics: Diagnostics
) -> JsonObject | None:
    choice = request.tool_choice
    check_forcible(
        request, forced_tools=rules.forced_tools, has_tools=has_tools, known_to="the model"
    )
    if choice is None or not has_tools or choice.mode == "auto":
        return None
    if choice.mode == "none":
        why = "the API cannot forbid tool calls; the tools stay, and the model may call them"
        diagnostics.at("tool_choice").dropped("unsupported-tool-choice", why)
        return None
    return _choice(choice, choice.tool_name, rules)


def _choice(choice: ToolChoice, name: str | None, rules: ConverseRules) -> JsonObject:
    """Return the native choice; where no tool can be named, it is the only one that is offered."""
    if choice.mode == "named" and rules.named_tools:
        return {TOOL_CHOICES["named"]: {"name": name}}
    return {TOOL_CHOICES["required"]: {}}


def _only_tool(request: LLMRequest, rules: ConverseRules, diagnostics: Diagnostics) -> str | None:
    """Return the name of the only tool to offer; None for all of them.

    `toolChoice.tool` is "only supported by Anthropic Claude 3 and Amazon Nova models":
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html.
    """
    choice = request.tool_choice
    if choice is None or choice.mode != "named" or rules.named_tools:
        return None
    if len(request.tools) > 1:
        why = "the model cannot be required to call one tool: only that tool is offered"
        diagnostics.at("tool_choice").changed("tool-choice-emulated", why)
    return choice.tool_name


# -- the response's format

UNENFORCED: Final = "the model cannot be held to this"


def format_choice(forced: ForcedFormat, rules: ConverseRules) -> JsonObject | None:
    """Return the choice that leads to the response; None leaves the caller's own."""
    return None if forced.choice is None else _choice(forced.choice, forced.tool, rules)


def text_format(forced: ForcedFormat, response_format: ResponseFormat | None) -> dict[str, Any]:
    """Return `outputConfig`; empty where the service enforces no schema."""
    if forced.schema is None or response_format is None:
        return {}
    encoded = json.dumps(forced.schema).decode()
    schema: dict[str, Any] = {"schema": encoded, "name": response_format.name}
    if response_format.description:
        schema["description"] = response_format.description
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}
