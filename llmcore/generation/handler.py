"""Calls tools' functions by their signatures and annotations."""

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from llmcore.generation.annotations import description_of
from llmcore.generation.docstrings import arguments_of
from llmcore.generation.object_schema import ObjectSchema
from llmcore.generation.type_schema import Argument, arguments_type, converted, schema_of
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject

if sys.version_info >= (3, 14):
    from annotationlib import Format

Function: TypeAlias = Callable[..., object]
"""A tool's function, plain or asynchronous."""

INJECTED = ("messages", "abort_signal", "tool_call_id", "context")
"""The parameters that the tool loop fills, if the function has them."""

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@frozen(kw_only=True)
class Handler:
    """A tool's function, and the values of its parameters."""

    function: Function
    injected: frozenset[str] = frozenset()
    """The parameters among INJECTED that it has."""
    takes_all: str | None = None
    """The name of the parameter that receives all arguments as one dict, if there is one."""
    types: type | None = None
    """A struct of the annotated types, to which the arguments are converted."""
    fields: frozenset[str] = frozenset()
    """The parameters whose default is a `pydantic.Field(...)`: the function would receive that."""
    output: ObjectSchema | None = None
    """The schema that results must match; None accepts any JSON."""
    context_type: Any = Any
    """The annotation of the parameter `context`."""

    def accepts_context(self, context: object) -> bool:
        """Return whether *context* is of the annotated type, as far as `isinstance` can check."""
        if "context" not in self.injected:
            return True
        annotated = self.context_type
        union = get_origin(annotated) in (Union, UnionType)
        kinds = get_args(annotated) if union else (annotated,)
        classes = tuple(get_origin(kind) or kind for kind in kinds)
        try:
            return Any in kinds or isinstance(context, classes)
        except TypeError:  # a typed dict, a protocol, ...
            return True

    @property
    def is_async(self) -> bool:
        """Whether it runs in the event loop rather than in a thread."""
        call = getattr(self.function, "__call__", None)  # noqa: B004  (its code, not whether)
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)

    def keywords(self, arguments: JsonObject) -> dict[str, object]:
        """Return *arguments* converted for the function; ValueError if they do not match its types.

        Arguments that the model omitted are left to the function's defaults.
        """
        if self.takes_all is not None:
            return {self.takes_all: dict(arguments)}
        if self.types is None:
            return dict(arguments)
        values: object = converted(arguments, self.types)
        return {name: getattr(values, name) for name in self.fields.union(arguments)}


def handler_of(function: Function, parameters: JsonObject) -> Handler:
    """Return the handler of *function* for arguments of the JSON Schema *parameters*.

    Names that the schema declares are arguments and never injected. If the only other parameter
    is not an argument's name, it receives all arguments as one dict.
    """
    _reject_generators(function)
    declared = parameters.get("properties")
    names = set(declared) if isinstance(declared, Mapping) else set[str]()
    parameter_names = [name for name in _parameters(function) if name not in bound(function)]
    injected = frozenset(name for name in parameter_names if name in INJECTED and name not in names)
    supplied = [name for name in parameter_names if name not in injected]
    takes_all = supplied[0] if len(supplied) == 1 and supplied[0] not in names else None
    try:
        hints = _hints(function)
    except ConfigurationError:  # annotations are optional where there is a schema
        hints = {}
    return Handler(
        function=function,
        injected=injected,
        takes_all=takes_all,
        output=_annotated_output(hints),
        context_type=hints.get("context", Any),
    )


def _parameters(function: Function) -> list[str]:
    try:
        if sys.version_info >= (3, 14):  # which evaluates annotations now, else when it defines
            signature = inspect.signature(function, annotation_format=Format.STRING)
        else:
            signature = inspect.signature(function)
    except (ValueError, TypeError):  # written in C without a signature
        return []
    return [name for name, item in signature.parameters.items() if item.kind in _NAMED]


def _reject_generators(function: Function) -> None:
    code = [function, getattr(function, "__call__", None)]  # noqa: B004  (the function itself)
    if any(inspect.isasyncgenfunction(item) or inspect.isgeneratorfunction(item) for item in code):
        raise ConfigurationError(
            f"{name_of(function)} is a generator function, but a tool returns one result: "
            "return a list instead of yielding"
        )


def _annotated_output(hints: Mapping[str, Any]) -> ObjectSchema | None:
    """Return the schema of the return annotation; None if JSON cannot represent the type."""
    if hints.get("return", Any) is Any:
        return None
    try:
        return ObjectSchema.of_type(hints["return"])
    except ConfigurationError:
        return None


def typed_handler(function: Function) -> tuple[Handler, JsonObject]:
    """Return the handler of *function* and the JSON Schema of its parameters.

    Raises ConfigurationError for parameters that a model cannot fill.
    """
    _reject_generators(function)
    hints = _hints(function)
    arguments, injected = _read_parameters(function, hints)
    try:
        types = arguments_type(arguments)
        schema = {key: item for key, item in schema_of(types).items() if key != "title"}
    except ConfigurationError as error:
        message = f"{name_of(function)} cannot be a tool: {error.message}"
        raise ConfigurationError(message, cause=error) from error
    output = _annotated_output(hints)
    return Handler(
        function=function,
        injected=injected,
        types=types,
        fields=frozenset(each.name for each in arguments if each.is_field),
        output=output,
        context_type=hints.get("context", Any),
    ), schema


def _read_parameters(
    function: Function, hints: Mapping[str, Any]
) -> tuple[list[Argument], frozenset[str]]:
    """Return the arguments that the model fills, and the names of those that llmcore does."""
    described = arguments_of(behind(function).__doc__)
    arguments: list[Argument] = []
    injected = set()
    for name, parameter in _signature(function).parameters.items():
        if name in bound(function):
            continue
        _check_parameter(function, parameter, is_first=not arguments)
        type_ = hints.get(name, Any)
        if name in INJECTED:
            _check_injected(function, name, type_)
            injected.add(name)
            continue
        empty = parameter.default is parameter.empty
        default = dataclasses.MISSING if empty else parameter.default
        description = description_of(type_) or described.get(name)
        arguments.append(Argument(name, type_, description, default))
    return arguments, frozenset(injected)


def _check_parameter(function: Function, parameter: inspect.Parameter, *, is_first: bool) -> None:
    """Raise ConfigurationError for a parameter that a model cannot fill."""
    if parameter.kind not in _NAMED:
        raise ConfigurationError(
            f"{name_of(function)} cannot be a tool: models pass arguments by name, and "
            f"{parameter.name!r} is a {parameter.kind.description} parameter; wrap it in a "
            "function whose parameters have names"
        )
    if parameter.name == "self" and is_first:
        raise ConfigurationError(
            f"{name_of(function)} is an unbound method: make a tool of the bound "
            "method, such as tool(object.method)"
        )


def _check_injected(function: Function, name: str, type_: object) -> None:
    """Raise ConfigurationError if a parameter that the loop fills is meant for the model.

    Its annotation shows it: a type of JSON in place of the filled value's.
    """
    filled, right = _FILLED.get(name, ("", ()))
    kind = get_origin(type_) or type_
    items = {get_origin(item) or item for item in get_args(type_)}
    if kind in _OF_JSON and kind not in right and (kind is not list or items & _OF_JSON):
        raise ConfigurationError(
            f"the parameter {name!r} of {name_of(function)} gets {filled}: rename it if the model "
            "is to fill it"
        )


_OF_JSON = frozenset({str, int, float, bool, dict, list})
_FILLED: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "messages": ("the conversation, a sequence of Message", ()),
    "abort_signal": ("the AbortSignal of the run", ()),
    "tool_call_id": ("the id of the call, a str", (str,)),
    "context": ("tool_context", tuple(_OF_JSON)),
}


def _signature(function: Function) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (ValueError, TypeError) as error:
        message = (
            f"the parameters of {name_of(function)} cannot be read: "
            "use Tool(name, description, parameters, execute) with a JSON Schema"
        )
        raise ConfigurationError(message, cause=error) from error


def _hints(function: Function) -> dict[str, Any]:
    try:
        inner = behind(function)
        own = inspect.isroutine(inner) or isinstance(inner, type) or _has_annotations(inner)
        annotated = inner if own else type(inner).__call__
        return get_type_hints(annotated, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        message = f"the annotations of {name_of(function)} cannot be read: {error}"
        raise ConfigurationError(message, cause=error) from error


def _has_annotations(value: object) -> bool:
    """Return whether *value* has annotations that are not those of its class's fields."""
    return "__annotations__" in getattr(value, "__dict__", ())


def name_of(function: Function) -> str:
    """Return the name of *function*, or of the one behind a `functools.partial`."""
    inner = behind(function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def behind(function: Function) -> Function:
    """Return the function that *function* calls if it is a `functools.partial`, or itself."""
    while isinstance(function, partial):
        function = function.func
    return function


def bound(function: Function) -> frozenset[str]:
    """Return the parameters that a `functools.partial` passes by name.

    Python lets callers override them. A model must not see them: they may be secrets.
    """
    return frozenset(function.keywords) if isinstance(function, partial) else frozenset()
