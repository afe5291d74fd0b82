"""A call's arguments: parsed, validated against the tool's schema, and repaired once."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import TypeAlias, Union

from attrs import evolve

from llmcore.generation.json_schema import problems
from llmcore.generation.object_nulls import without_null_options
from llmcore.generation.tool import Tool
from llmcore.schema.content import ToolCallPart, parse_arguments
from llmcore.schema.errors import ConfigurationError, InvalidToolCallError
from llmcore.schema.json import JsonObject

RepairToolCall: TypeAlias = Callable[
    [ToolCallPart, InvalidToolCallError],
    Union[ToolCallPart, Awaitable[Union[ToolCallPart, None]], None],
]
"""Gets a call that cannot be run and the reason; returns a better one, or None to give up."""


def checked_arguments(tool: Tool, call: ToolCallPart) -> JsonObject:
    """Return the arguments of *call*; InvalidToolCallError if *tool* does not take them.

    Null for an optional parameter that does not take null is how strict function calling says
    that there is none: it is left out, so that the function's default holds.
    """
    arguments = call.arguments
    if isinstance(arguments, str):
        arguments, problem = parse_arguments(arguments)
        if problem is not None:
            raise _invalid(call, problem)
    if not isinstance(arguments, Mapping):
        raise _invalid(call, f"a {type(arguments).__name__}, not an object")
    misfits = _problems(tool, arguments)
    if not misfits:
        return arguments
    pruned, absent = without_null_options(arguments, tool.parameters)
    if absent and isinstance(pruned, Mapping) and not _problems(tool, pruned):
        return pruned
    raise _invalid(call, "; ".join(misfits))


def keywords_for(tool: Tool, call: ToolCallPart, arguments: JsonObject) -> dict[str, object]:
    """Return *arguments* converted for the tool's handler; InvalidToolCallError if they defy it."""
    if tool.handler is None:
        return dict(arguments)
    try:
        return tool.handler.keywords(arguments)
    except ValueError as error:
        raise _invalid(call, str(error)) from error


async def repaired(
    repair: RepairToolCall | None, call: ToolCallPart, error: InvalidToolCallError
) -> ToolCallPart:
    """Return what *repair* makes of *call*, under the same id; *error* again if it gives up."""
    made = repair(call, error) if repair is not None else None
    better = await made if isawaitable(made) else made
    if better is None:
        raise error
    return evolve(better, id=call.id)


def _invalid(call: ToolCallPart, problem: str) -> InvalidToolCallError:
    message = f"the arguments of {call.name} are invalid: {problem}"
    return InvalidToolCallError(message, raw=call.arguments)


def _problems(tool: Tool, arguments: JsonObject) -> list[str]:
    try:
        return problems(tool.parameters, arguments)
    except ValueError as error:
        message = f"the parameters of the tool {tool.name!r} are no valid JSON Schema: {error}"
        raise ConfigurationError(message, cause=error) from error
