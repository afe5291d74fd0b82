"""Bedrock Converse: lowering tools and the choice among them.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html, read
November 2026. There is no choice `none`; `auto` is the default, and some models refuse to be
told it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import field, frozen

from llmcore.protocols.bedrock_converse.hosted_tools import Hosted, lower_hosted
from llmcore.protocols.bedrock_converse.models import ModelRules
from llmcore.protocols.notes import Notes
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.schema import json
from llmcore.schema.content import CacheTtl
from llmcore.schema.errors import InvalidRequestError, UnsupportedToolChoiceError
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition, ToolSpec

FREEFORM_FIELD: Final = "input"
"""The one parameter of a freeform tool, which is offered as a function."""


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
    target = SchemaTarget.BEDROCK_STRICT if strict else SchemaTarget.BEDROCK
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
    notes.changed(
        "custom-tool-as-function",
        path,
        "the API has no freeform tools: it is a function of one string, "
        "and nothing holds that string to a grammar",
    )
    words = [tool.description] if tool.description else []
    if tool.grammar is not None:
        words.append(
            f"The input must match this {tool.grammar.syntax} grammar:\n{tool.grammar.definition}"
        )
    schema = {
        "type": "object",
        "properties": {FREEFORM_FIELD: {"type": "string", "description": "The whole input."}},
        "required": [FREEFORM_FIELD],
    }
    spec = {
        "name": tool.name,
        "description": "\n\n".join(words) or "Takes one text.",
        "inputSchema": {"json": schema},
    }
    return {"toolSpec": spec}


def freeform_tools(request: LLMRequest) -> frozenset[str]:
    """Return the names of the freeform tools, which are offered as functions."""
    return frozenset(tool.name for tool in request.tools if isinstance(tool, CustomTool))


def freeform_text(arguments: JsonValue) -> str:
    """Return the text that the arguments of a freeform tool, offered as a function, hold."""
    if isinstance(arguments, Mapping):
        value = arguments.get(FREEFORM_FIELD)
        if value is None and len(arguments) == 1:
            value = next(iter(arguments.values()))  # models rename the only field
        if isinstance(value, str):
            return value
    return arguments if isinstance(arguments, str) else json.dumps(arguments).decode()


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
    _check(choice, request.tools, rules, has_tools=has_tools)
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


def _check(
    choice: ToolChoice | None, tools: tuple[ToolSpec, ...], rules: ModelRules, *, has_tools: bool
) -> None:
    """Raise for a choice that cannot be had."""
    if choice is None or choice.mode in ("auto", "none"):
        return
    if choice.mode == "required" and not has_tools:
        raise InvalidRequestError(
            "tool_choice is 'required', but the request has no tools that the model knows"
        )
    own = {tool.name for tool in tools if not isinstance(tool, HostedTool)}
    hosted = any(isinstance(tool, HostedTool) for tool in tools)
    if choice.mode == "named" and choice.tool_name not in own and not hosted:
        raise InvalidRequestError(
            f"tool_choice names {choice.tool_name!r}, which is not among the request's tools"
        )
    if not rules.forced_tools:
        raise UnsupportedToolChoiceError(
            f"the model does not take the tool choice {choice.mode!r}; it takes: auto, none"
        )
