"""Parses, validates and repairs the arguments of tool calls."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import TypeAlias, Union

from attrs import evolve

from llmcore.generation.json_schema import problems
from llmcore.generation.object_nulls import without_null_options
from llmcore.generation.tool import Tool
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, InvalidToolCallError
from llmcore.schema.hints import shown_kind
from llmcore.schema.json import JsonObject, parse_arguments
from llmcore.schema.native_json import object_or_empty, texts

RepairToolCall: TypeAlias = Callable[
    [ToolCallPart, InvalidToolCallError],
    Union[ToolCallPart, Awaitable[Union[ToolCallPart, None]], None],
]
"""Called with an invalid call and its error; returns a corrected call, or None."""


def checked_arguments(tool: Tool, call: ToolCallPart) -> JsonObject:
    """Return the arguments of *call*. Raises InvalidToolCallError if they do not match *tool*.

    In strict function calling, null for an optional parameter means that it is absent. Such a
    null is removed if the parameter does not accept null, so that the function's default is used.
    An absent parameter that is required and has a default in the schema gets that: generators of
    schemas, which tools of MCP servers come from, list such parameters as required.
    """
    arguments = call.arguments
    if isinstance(arguments, str):
        arguments, problem = parse_arguments(arguments)
        if problem is not None:
            raise _invalid(call, problem)
    if not isinstance(arguments, Mapping):
        raise _invalid(call, f"{shown_kind(arguments)}, not an object")
    faults = _problems(tool, arguments)
    if not faults:
        return arguments
    filled = {**_required_defaults(tool.parameters, arguments), **arguments}
    completed, _ = without_null_options(filled, tool.parameters)
    if isinstance(completed, Mapping) and not _problems(tool, completed):
        return completed
    raise _invalid(call, "; ".join(faults))


def _required_defaults(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    properties = object_or_empty(schema.get("properties"))
    return {
        name: declared["default"]
        for name in texts(schema.get("required"))
        if name not in arguments
        and isinstance(declared := properties.get(name), Mapping)
        and "default" in declared
    }


def keywords_for(tool: Tool, call: ToolCallPart, arguments: JsonObject) -> dict[str, object]:
    """Return *arguments* converted to the types of the tool's function.

    Raises InvalidToolCallError if they cannot be converted.
    """
    if tool.handler is None:
        return dict(arguments)
    try:
        return tool.handler.keywords(arguments)
    except ValueError as error:
        raise _invalid(call, str(error)) from error


async def repaired(
    repair: RepairToolCall | None, call: ToolCallPart, error: InvalidToolCallError
) -> object:
    """Return what *repair* returns, which is not checked; raise *error* if that is None."""
    returned = repair(call, error) if repair is not None else None
    corrected = await returned if isawaitable(returned) else returned
    if corrected is None:
        raise error
    return corrected


def checked_repair(returned: object, call: ToolCallPart) -> ToolCallPart:
    """Return the repaired call, with the id of *call*; InvalidRequestError for another type."""
    if not isinstance(returned, ToolCallPart):
        message = f"repair_tool_call must return a ToolCallPart or None, not {shown_kind(returned)}"
        raise InvalidRequestError(f"{message}: change the call with evolve(call, arguments=...)")
    return evolve(returned, id=call.id)


def _invalid(call: ToolCallPart, problem: str) -> InvalidToolCallError:
    message = f"the arguments of {call.name} are invalid: {problem}"
    return InvalidToolCallError(message, raw=call.arguments)


def _problems(tool: Tool, arguments: JsonObject) -> list[str]:
    try:
        return problems(tool.parameters, arguments)
    except ValueError as error:
        message = f"the parameters of the tool {tool.name!r} are not a valid JSON Schema: {error}"
        raise ConfigurationError(message, cause=error) from error
