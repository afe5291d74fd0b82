"""OpenAI Chat Completions: lowering tools and the choice among them.

Source: https://platform.openai.com/docs/api-reference/chat/create (`tools`, `tool_choice`), read
November 2026.

Where a server does not force calls reliably (`ChatDialect.constrained_tools`), a forced call is
made from the response's text instead: the request has no tools but a JSON schema that only a call
fits, and the stream turns the text back into the call.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from llmcore.protocols.openai_chat.models import ChatDialect, callable_tools
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.protocols.tools import freeform_function, note_function, nothing_to_call, unknown_tool
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import UnsupportedToolChoiceError
from llmcore.schema.json import NativeObject
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition, ToolSpec


def lower_tools(
    request: LLMRequest, dialect: ChatDialect, keys: Iterable[str], diagnostics: Diagnostics
) -> NativeObject:
    """Return the body's `tools`, `tool_choice` and `parallel_tool_calls`.

    *keys* are the ids under which raw tools are this server's own.
    """
    choice = _checked(request, dialect)
    forbids = choice is not None and choice.mode == "none" and bool(request.tools)
    if forbids and "none" not in dialect.tool_choice_modes:
        why = "the server cannot forbid tool calls: the tools are left out"
        diagnostics.at("tool_choice").changed("tool-choice-emulated", why)
        return {}
    forced = choice if choice is not None and choice.mode == "named" else None
    alone = forced is not None and dialect.named_tool_choice == "required"
    tools: list[NativeObject] = []
    offered: Sequence[ToolSpec] = request.tools
    if dialect.strict_tools_alone:
        offered = _all_strict_or_none(offered, diagnostics)
    for index, tool in enumerate(offered):
        if alone and forced is not None and getattr(tool, "name", None) != forced.tool_name:
            continue
        native = _lower_tool(tool, dialect, frozenset(keys), diagnostics.at(f"tools[{index}]"))
        if native is not None:
            tools.append(native)
    fields: NativeObject = {}
    if tools:
        fields["tools"] = tools
    if tools and choice is not None:
        fields["tool_choice"] = _lower_choice(choice, alone, tools)
    elif choice is not None and choice.mode == "required":
        raise nothing_to_call(request)
    if alone and len(request.tools) > 1:
        why = "the server cannot require one tool: only that tool is offered"
        diagnostics.at("tool_choice").changed("tool-choice-emulated", why)
    return fields | _lower_parallel(request, bool(tools), dialect, diagnostics)


def _checked(request: LLMRequest, dialect: ChatDialect) -> ToolChoice | None:
    """Return the tool choice, if the server takes it."""
    choice = request.tool_choice
    if choice is None:
        return None
    if choice.mode == "named" and all(
        getattr(tool, "name", None) != choice.tool_name for tool in request.tools
    ):
        raise unknown_tool(choice)
    if request.tools and choice.mode not in {"none", *dialect.tool_choice_modes}:
        modes = ", ".join(sorted(dialect.tool_choice_modes)) or "none at all"
        raise UnsupportedToolChoiceError(
            f"the server does not support the tool choice {choice.mode!r}; it takes: {modes}"
        )
    return choice


def _lower_choice(choice: ToolChoice, alone: bool, tools: list[NativeObject]) -> object:
    if choice.mode != "named":
        return choice.mode
    if alone:
        return "required"
    kind = next(
        tool["type"]
        for tool in tools
        if (tool.get(tool.get("type", "")) or {}).get("name") == choice.tool_name
    )
    return {"type": kind, kind: {"name": choice.tool_name}}


def _lower_parallel(
    request: LLMRequest, has_tools: bool, dialect: ChatDialect, diagnostics: Diagnostics
) -> NativeObject:
    if request.parallel_tool_calls is None or not has_tools:
        return {}
    if not dialect.parallel_tool_calls:
        why = "the server decides by itself whether tools are called in parallel"
        diagnostics.at("parallel_tool_calls").unsupported(why)
        return {}
    return {"parallel_tool_calls": request.parallel_tool_calls}


# -- one tool


def _all_strict_or_none(tools: Sequence[ToolSpec], diagnostics: Diagnostics) -> Sequence[ToolSpec]:
    """Return *tools* of which every function is `strict`, or none is."""
    strict = [isinstance(tool, ToolDefinition) and tool.strict is True for tool in tools]
    if all(strict) or not any(strict):
        return tools
    for index in (index for index, is_strict in enumerate(strict) if is_strict):
        why = "the server accepts strict functions only if all of them are"
        diagnostics.at(f"tools[{index}].strict").unsupported(why)
    return [
        evolve(tool, strict=False) if isinstance(tool, ToolDefinition) else tool for tool in tools
    ]


def _lower_tool(
    tool: ToolSpec, dialect: ChatDialect, keys: frozenset[str], diagnostics: Diagnostics
) -> NativeObject | None:
    match tool:
        case CustomTool() if dialect.custom_tools:
            return {"type": "custom", "custom": _lower_custom(tool)}
        case ToolDefinition() | CustomTool():
            function = _lower_function(tool, dialect, diagnostics)
            return {"type": "function", "function": function}
        case HostedTool(kind="raw", provider=provider) if provider in keys:
            return dict(tool.options)
        case HostedTool():
            diagnostics.dropped(
                "unsupported-tool",
                f"Chat Completions has no {tool.kind} tool"
                if tool.kind != "raw"
                else f"the raw tool is {tool.provider}'s",
            )
            return None


def _lower_function(
    tool: ToolDefinition | CustomTool, dialect: ChatDialect, diagnostics: Diagnostics
) -> NativeObject:
    if isinstance(tool, CustomTool):
        note_function(diagnostics, "the server")
        tool = freeform_function(tool)
    strict = tool.strict
    if strict and not dialect.strict_tools:
        diagnostics.at("strict").unsupported("the server has no strict functions")
        strict = None
    target = SchemaTarget.OPENAI_STRICT if strict else dialect.schemas
    projected = project(tool.parameters, target, f"{diagnostics.path}.parameters")
    diagnostics.extend(projected.diagnostics)
    function: NativeObject = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = projected.schema
    if strict is not None and dialect.strict_tools:
        function["strict"] = projected.strict if strict else False
    return function


def _lower_custom(tool: CustomTool) -> NativeObject:
    custom: NativeObject = {"name": tool.name}
    if tool.description:
        custom["description"] = tool.description
    if tool.grammar is not None:
        grammar = {"syntax": tool.grammar.syntax, "definition": tool.grammar.definition}
        custom["format"] = {"type": "grammar", "grammar": grammar}
    return custom


# -- forced calls by schema


def lower_forced_call(
    request: LLMRequest, dialect: ChatDialect, diagnostics: Diagnostics
) -> tuple[NativeObject, str]:
    """Return the `response_format` that only a call fits, and instructions that describe it."""
    _checked(request, dialect)
    functions = [
        _lower_function(tool, dialect, diagnostics.at(f"tools[{index}]"))
        for index, tool in callable_tools(request)
    ]
    why = "the call is made from a JSON schema on the response's text: exactly one call"
    diagnostics.at("tool_choice").changed("tool-choice-emulated", why)
    schema = {
        "anyOf": [_call_schema(function["name"]) for function in functions],
        "$defs": {function["name"]: _moved_references(function) for function in functions},
    }
    response_format = {
        "type": "json_schema",
        "json_schema": {"name": "tool_call", "schema": schema},
    }
    return response_format, _call_words(functions)


def _call_schema(name: str) -> NativeObject:
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": {"$ref": f"#/$defs/{name}"}},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _moved_references(function: NativeObject) -> Any:
    """Return the function's parameters as a definition: their references point into it."""
    home = f"#/$defs/{function['name']}"

    def moved(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                name: home + item[1:]
                if name == "$ref" and isinstance(item, str) and item.startswith("#")
                else moved(item)
                for name, item in value.items()
            }
        return [moved(item) for item in value] if isinstance(value, list) else value

    return moved(function["parameters"])


def _call_words(functions: list[NativeObject]) -> str:
    """Return the list of functions as the model reads it."""
    lines = [
        f"- {function['name']}: {function.get('description', '')} "
        f"Arguments: {json.dumps(function['parameters']).decode()}"
        for function in functions
    ]
    return (
        "Call one of these functions. Answer with nothing but the JSON object "
        '{"name": <function>, "arguments": <its arguments>}.\n' + "\n".join(lines)
    )
