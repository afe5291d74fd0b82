"""Bedrock Converse: lowering tools and the choice among them.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html, read
November 2026. There is no choice `none`; `auto` is the default, and some models refuse to be
told it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from llmcore.protocols.bedrock_converse.hosted_tools import Hosted, lower_hosted
from llmcore.protocols.bedrock_converse.models import ModelRules
from llmcore.protocols.freeform import freeform_description, freeform_schema, note_function
from llmcore.protocols.notes import Notes
from llmcore.protocols.tool_choice import check_forcible
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.schema.content import CacheTtl
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolDefinition


@frozen(kw_only=True)
class Lowered:
    """What a request's tools amount to in the body."""

    tools: list[dict[str, Any]] = field(factory=list[dict[str, Any]])
    """`toolConfig.tools`."""
    choice: dict[str, Any] | None = None
    fields: dict[str, Any] = field(factory=dict[str, Any])
    """Fields of `additionalModelRequestFields`."""


def lower_tools(
    request: LLMRequest, rules: ModelRules, keys: frozenset[str], notes: Notes
) -> Lowered:
    """Return the body's tools and the choice among them.

    *keys* are the ids under which raw tools are this API's own.
    """
    tools: list[dict[str, Any]] = []
    hosted: list[Hosted] = []
    for index, tool in enumerate(request.tools):
        path = f"tools[{index}]"
        if isinstance(tool, HostedTool):
            found = lower_hosted(tool, path, rules, keys, notes)
            hosted += [] if found is None else [found]
            tools += [found.tool] if found is not None and found.tool is not None else []
        else:
            tools += _lower_own(tool, path, rules, notes)
    if request.parallel_tool_calls is False and request.tools:
        why = "the model decides by itself whether it calls tools in parallel"
        notes.dropped("unsupported-parameter", "parallel_tool_calls", why)
    fields = _vendor_fields(hosted)
    choice = _lower_choice(request, rules, has_tools=bool(tools or fields), notes=notes)
    return Lowered(tools=tools, choice=choice if tools else None, fields=fields)


def _vendor_fields(hosted: Sequence[Hosted]) -> dict[str, Any]:
    tools = [one.vendor_tool for one in hosted if one.vendor_tool is not None]
    betas = list(dict.fromkeys(beta for one in hosted for beta in one.betas))
    fields = {"tools": tools} if tools else {}
    return {**fields, "anthropic_beta": betas} if betas else fields


# -- the caller's own tools


def _lower_own(
    tool: ToolDefinition | CustomTool, path: str, rules: ModelRules, notes: Notes
) -> list[dict[str, Any]]:
    """Return a tool, and the cache point that ends a prefix with it."""
    if isinstance(tool, CustomTool):
        return [_lower_custom(tool, path, notes)]
    strict = bool(tool.strict) and rules.structured_output
    if tool.strict and not strict:
        notes.dropped("unsupported-parameter", f"{path}.strict", "the model has no strict tools")
    target = SchemaTarget.BEDROCK_STRICT if strict else rules.tool_schema
    projected = project(tool.parameters, target, f"{path}.parameters")
    notes.extend(projected.diagnostics)
    spec: dict[str, Any] = {"name": tool.name}
    if tool.description:
        spec["description"] = tool.description
    spec["inputSchema"] = {"json": projected.schema}
    if strict and projected.strict:
        spec["strict"] = True
    return [{"toolSpec": spec}, *([] if tool.cache is None else [cache_point(tool.cache)])]


def _lower_custom(tool: CustomTool, path: str, notes: Notes) -> dict[str, Any]:
    """Return a freeform tool as a function of one string, its grammar in words."""
    note_function(path, notes)
    schema = freeform_schema(closed=False)
    spec = {
        "name": tool.name,
        "description": freeform_description(tool),
        "inputSchema": {"json": schema},
    }
    return {"toolSpec": spec}


def cache_point(ttl: CacheTtl | None) -> dict[str, Any]:
    """Return a cache point; five minutes are the default and are not written."""
    point = {"type": "default"}
    return {"cachePoint": {**point, "ttl": "1h"} if ttl == "1h" else point}


# -- tools that only the history knows


def stub_tools(
    messages: Iterable[Mapping[str, Any]], known: Iterable[Mapping[str, Any]], notes: Notes
) -> list[dict[str, Any]]:
    """Return a bare definition of each tool that *messages* call, if *known* has none at all.

    The service refuses calls and results in a request without tools: "The toolConfig field
    must be defined when using toolUse and toolResult content blocks".
    """
    if any("toolSpec" in tool or "systemTool" in tool for tool in known):
        return []
    called = dict.fromkeys(_called(messages))
    for name, _ in called:
        why = "messages call it, and the service wants the tools of all calls defined"
        notes.added("tool-stub-added", "tools", f"{name} was defined without parameters: {why}")
    return [_stub(name, hosted=hosted) for name, hosted in called]


def _called(messages: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    for message in messages:
        for block in message["content"]:
            call = block.get("toolUse")
            if isinstance(call, Mapping) and isinstance(call.get("name"), str):
                yield call["name"], call.get("type") == "server_tool_use"


def _stub(name: str, *, hosted: bool) -> dict[str, Any]:
    if hosted:
        return {"systemTool": {"name": name}}
    schema = {"json": {"type": "object", "properties": {}}}
    return {"toolSpec": {"name": name, "inputSchema": schema}}


# -- the choice


def _lower_choice(
    request: LLMRequest, rules: ModelRules, *, has_tools: bool, notes: Notes
) -> dict[str, Any] | None:
    choice = request.tool_choice
    check_forcible(
        request, forced_tools=rules.forced_tools, has_tools=has_tools, knower="the model"
    )
    if choice is None or not has_tools or choice.mode == "auto":
        return None
    match choice.mode:
        case "required":
            return {"any": {}}
        case "named":
            return {"tool": {"name": choice.tool_name}}
        case "none":
            why = "the API cannot forbid tool calls; the tools stay, and the model may call them"
            notes.dropped("unsupported-tool-choice", "tool_choice", why)
            return None
