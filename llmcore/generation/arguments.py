"""A call's arguments: parsed, validated against the tool's schema, and repaired once.

Validation is by jsonschema-rs: it knows JSON Schema 2020-12, which type annotations and most
providers' schemas are written in, runs no generated code, and is compiled.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from inspect import isawaitable
from typing import TYPE_CHECKING, NoReturn, TypeAlias, Union

from attrs import evolve

from llmcore.folds.segments import parse_arguments
from llmcore.generation.tool import Tool
from llmcore.schema import json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import ConfigurationError, InvalidToolCallError
from llmcore.schema.json import JsonObject

if TYPE_CHECKING:
    import jsonschema_rs

RepairToolCall: TypeAlias = Callable[
    [ToolCallPart, InvalidToolCallError],
    Union[ToolCallPart, Awaitable[Union[ToolCallPart, None]], None],
]
"""Gets a call that cannot be run and the reason; returns a better one, or None to give up."""

_MAX_PROBLEMS = 5
_MAX_TEXT = 300


def checked_arguments(tool: Tool, call: ToolCallPart) -> JsonObject:
    """Return the arguments of *call*; InvalidToolCallError if *tool* does not take them."""
    arguments = call.arguments
    if isinstance(arguments, str):
        arguments, problem = parse_arguments(arguments)
        if problem is not None:
            raise _invalid(call, problem)
    if not isinstance(arguments, Mapping):
        raise _invalid(call, f"a {type(arguments).__name__}, not an object")
    problems = _problems(tool.parameters, arguments)
    if problems:
        raise _invalid(call, "; ".join(problems))
    return arguments


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


def _problems(schema: JsonObject, arguments: JsonObject) -> list[str]:
    problems = []
    for error in _validator(json.canonical(schema)).iter_errors(arguments):
        path = ".".join(str(step) for step in error.instance_path)
        problems.append(
            f"{path}: {error.message[:_MAX_TEXT]}" if path else error.message[:_MAX_TEXT]
        )
        if len(problems) == _MAX_PROBLEMS:
            break
    return problems


@lru_cache(maxsize=512)
def _validator(schema: str) -> "jsonschema_rs.Validator":
    """Return the compiled form of *schema*; ConfigurationError if it is none."""
    import jsonschema_rs  # a large library, needed once a tool is called

    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse)
    except ValueError as error:
        message = f"a tool's parameters are no valid JSON Schema: {error}"
        raise ConfigurationError(message, cause=error) from error


def _refuse(uri: str) -> NoReturn:
    """Fetch nothing: a schema that a stranger wrote must not send us anywhere."""
    raise ValueError(f"references to other documents are not followed: {uri}")
