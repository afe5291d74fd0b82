"""Gemini: lowering tools and the choice among them.

Source: https://ai.google.dev/gemini-api/docs/function-calling, read November 2026.
`parametersJsonSchema` takes JSON Schema; `parameters`, a subset of OpenAPI 3.0, is left for models
that know no other.
"""

from typing import Any, TypeAlias

from attrs import field, frozen

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.gemini.dialect import GeminiDialect
from llmcore.protocols.gemini.hosted_tools import Hosted, lower_hosted
from llmcore.protocols.gemini.models import ModelRules
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.protocols.tools import (
    freeform_description,
    freeform_schema,
    no_tools,
    note_function,
    unknown_tool,
)
from llmcore.schema.errors import UnsupportedToolChoiceError
from llmcore.schema.json import JsonObject
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition

Native: TypeAlias = dict[str, Any]


@frozen(kw_only=True)
class Lowered:
    """What a request's tools amount to in the body."""

    tools: list[Native] = field(factory=list[Native])
    config: Native = field(factory=dict[str, Any])
    """`toolConfig`."""


def lower_tools(
    request: LLMRequest,
    rules: ModelRules,
    dialect: GeminiDialect,
    keys: frozenset[str],
    notes: Notes,
) -> Lowered:
    """Return the body's tools, the caller's functions first, and the choice among them.

    *keys* are the ids under which raw tools are this API's own.
    """
    functions: list[Native] = []
    hosted: list[Hosted] = []
    config: Native = {}
    for index, tool in enumerate(request.tools):
        path = f"tools[{index}]"
        if isinstance(tool, HostedTool):
            found = lower_hosted(tool, path, dialect, keys, notes)
            hosted += [] if found is None else [found]
            _merge(config, found, path, notes)
        else:
            functions.append(_lower_own(tool, path, rules, notes))
    tools: list[Native] = [{"functionDeclarations": functions}] if functions else []
    tools += [one.tool for one in hosted]
    calling = _lower_choice(request, bool(functions), bool(tools))
    if calling:
        config["functionCallingConfig"] = calling
    beside = functions and any(one.runs_at_server for one in hosted)
    if beside and dialect.server_tool_parts and rules.checks_signatures:
        config["includeServerSideToolInvocations"] = True
    if request.parallel_tool_calls is False and functions:
        why = "the model decides by itself whether it calls functions in parallel"
        notes.dropped("unsupported-parameter", "parallel_tool_calls", why)
    return Lowered(tools=tools, config=config)


def _merge(config: Native, tool: Hosted | None, path: str, notes: Notes) -> None:
    """Add what *tool* says of `toolConfig`, which all tools share: the first counts."""
    for name, value in tool.config.items() if tool is not None else ():
        if config.setdefault(name, value) != value:
            why = "the tools before it are told another place, and there is one for all"
            notes.dropped("unsupported-parameter", f"{path}.user_location", why)


# -- the caller's own tools


def _lower_own(
    tool: ToolDefinition | CustomTool, path: str, rules: ModelRules, notes: Notes
) -> Native:
    if isinstance(tool, CustomTool):
        return _lower_custom(tool, path, rules, notes)
    declaration: Native = {"name": tool.name, "description": tool.description}
    if not tool.description:
        del declaration["description"]
    if tool.parameters.get("properties") or tool.parameters.keys() - {"type", "properties"}:
        declaration |= _lower_parameters(tool.parameters, f"{path}.parameters", rules, notes)
    return declaration


def _lower_parameters(schema: JsonObject, path: str, rules: ModelRules, notes: Notes) -> Native:
    target = SchemaTarget.GEMINI_JSON_SCHEMA if rules.json_schema else SchemaTarget.GEMINI_OPENAPI
    projected = project(schema, target, path)
    notes.extend(projected.diagnostics)
    return {"parametersJsonSchema" if rules.json_schema else "parameters": projected.schema}


def _lower_custom(tool: CustomTool, path: str, rules: ModelRules, notes: Notes) -> Native:
    """Return a freeform tool as a function of one string, its grammar in words."""
    note_function(path, notes)
    schema: JsonObject = freeform_schema(closed=False)
    return {
        "name": tool.name,
        "description": freeform_description(tool),
        **_lower_parameters(schema, f"{path}.parameters", rules, notes),
    }


# -- the choice


def _lower_choice(request: LLMRequest, has_functions: bool, has_tools: bool) -> Native:
    """Return `functionCallingConfig`.

    `VALIDATED` is the automatic mode that holds calls to their schemas, as `strict` asks.
    """
    choice = request.tool_choice
    _check(choice, request, has_functions=has_functions)
    strict = any(isinstance(tool, ToolDefinition) and tool.strict for tool in request.tools)
    if choice is None or choice.mode == "auto":
        if strict:
            return {"mode": "VALIDATED"}
        return {"mode": "AUTO"} if choice is not None and has_tools else {}
    match choice.mode:
        case "none":
            return {"mode": "NONE"} if has_tools else {}
        case "required":
            return {"mode": "ANY"}
        case "named":
            return {"mode": "ANY", "allowedFunctionNames": [choice.tool_name]}


def _check(choice: ToolChoice | None, request: LLMRequest, *, has_functions: bool) -> None:
    """Raise for a choice that cannot be had."""
    if choice is None or choice.mode in ("auto", "none"):
        return
    names = {tool.name for tool in request.tools if not isinstance(tool, HostedTool)}
    if choice.mode == "named" and choice.tool_name not in names:
        raise unknown_tool(choice, among="functions")
    if not has_functions and not request.tools:
        raise no_tools()
    if not has_functions:
        raise UnsupportedToolChoiceError(
            "only functions can be required; the service calls its own tools as it sees fit"
        )
