"""Tools that the model can call, and the functions that run for them.

    @tool
    async def get_weather(city: Annotated[str, "such as Paris"]) -> str:
        "The current weather in a city."
        ...

A tool without `execute` is passive: its calls are returned to the caller.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar, Union, cast, overload

from attrs import evolve, field

from llmcore.generation.docstrings import summary_of
from llmcore.generation.handler import Handler, behind, handler_of, name_of, typed_handler
from llmcore.generation.object_schema import ObjectSchema
from llmcore.schema.content import ToolOutputPart
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_call_hints, with_names_of_others
from llmcore.schema.json import JsonObject
from llmcore.schema.options import check_kind
from llmcore.schema.tools import ToolDefinition, check_tool_name

if TYPE_CHECKING:
    import typing_extensions as typed  # type checkers know it without its being installed

    _P = typed.ParamSpec("_P", default=...)
    _R_co = typed.TypeVar("_R_co", covariant=True, default=Any)
else:
    _P = ParamSpec("_P")
    _R_co = TypeVar("_R_co", covariant=True)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

NeedsApproval: TypeAlias = Union[bool, Callable[[JsonObject], Union[bool, Awaitable[bool]]]]
"""Whether a call must be approved before it is run; a function of the arguments can decide."""


class ToolFailure(Exception):  # noqa: N818  (a result for the model)
    """Raised by a tool to send an error message to the model as its result.

    With *content*, the result has these parts, such as a screenshot, instead of the message.
    """

    def __init__(self, *message: object, content: Sequence[ToolOutputPart] = ()) -> None:
        super().__init__(*message)
        self.content = tuple(content)


class ToolDeferred(Exception):  # noqa: N818  (an outcome, not a fault)
    """Raised by a tool whose result comes later: the run ends with its call in `pending_calls`.

    To continue, append `Message.tool(call.id, result)` to the messages of the result.
    """


def _parameters(schema: JsonObject | None) -> JsonObject:
    return ToolDefinition("checked", "", schema).parameters


def _more_than_0(_tool: object, _attribute: object, seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise ConfigurationError(f"a tool's timeout must be greater than 0 seconds, not {seconds}")


@with_call_hints(
    function="execute",
    func="execute",
    fn="execute",
    callable="execute",
    input_schema="parameters",
    args_schema="parameters",
)
@with_names_of_others(
    **dict.fromkeys(("run", "invoke", "arun", "ainvoke"), "call it like the function"),
    **dict.fromkeys(("func", "fn", "function"), "write `.execute`"),
    **dict.fromkeys(
        ("schema", "args", "args_schema", "input_schema", "json_schema"), "write `.parameters`"
    ),
)
@frozen
class Tool(Generic[_P, _R_co]):
    """A function that the model may call. Code can still call it: `get_weather("Paris")`.

    `parameters` is a JSON Schema whose root is an object; None means no parameters.
    `execute` receives the arguments by keyword, or as one dict if it has a single parameter of
    another name. Parameters named `messages`, `abort_signal`, `tool_call_id` and `context` are
    filled by the tool loop. It returns text, a value that can be written as JSON (dataclasses,
    attrs classes, pydantic models, dates, arrays, ...), or content parts, and raises ToolFailure
    to send an error message to the model, or ToolDeferred if its result comes later. Functions
    that are not async run in threads.
    """

    name: str = field(converter=check_tool_name)
    """The name that the model calls it by."""
    description: str = ""
    """Its description for the model."""
    parameters: JsonObject = field(default=None, converter=_parameters)
    """The JSON Schema of its arguments."""
    execute: Callable[_P, _R_co] | None = None
    """The function; None for a tool that the caller runs."""
    timeout: float | None = field(default=None, kw_only=True, validator=_more_than_0)
    """The time limit of one call in seconds; None uses `Timeouts.tool`."""
    needs_approval: NeedsApproval = field(default=False, kw_only=True)
    """Whether a call must be approved: the run ends with it pending, until `approvals` has it."""
    strict: bool | None = field(default=None, kw_only=True)
    """Whether the provider enforces the schema; None uses its default."""
    output: object = field(default=None, kw_only=True)
    """The type or JSON Schema that results must match; None uses the function's return annotation,
    if JSON can represent it."""
    handler: Handler | None = field(default=None, kw_only=True, repr=False, eq=False)
    """How `execute` is called, by its signature."""

    def __attrs_post_init__(self) -> None:
        check_kind("description", self.description, (str,), "text", ConfigurationError)
        if self.execute is None:
            object.__setattr__(self, "handler", None)
            return
        if not callable(self.execute):
            kind = shown_kind(self.execute)
            message = f"execute of the tool {self.name!r} must be a function, not {kind}"
            raise ConfigurationError(message)
        handler = self.handler
        if handler is None or handler.function is not self.execute:
            handler = handler_of(self.execute, self.parameters)
        if self.output is not None:
            handler = evolve(handler, output=ObjectSchema.of(self.output))
        object.__setattr__(self, "handler", handler)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co:
        """Call the function without validation or conversion."""
        if self.execute is None:
            raise ConfigurationError(f"the tool {self.name!r} has no function to call")
        return self.execute(*args, **kwargs)

    @property
    def definition(self) -> ToolDefinition:
        """The tool's definition for a request."""
        return ToolDefinition(self.name, self.description, self.parameters, strict=self.strict)


@overload
def tool(function: Callable[_Arguments, _Result], /) -> Tool[_Arguments, _Result]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    needs_approval: NeedsApproval = False,
    strict: bool | None = None,
    output: object = None,
) -> Callable[[Callable[_Arguments, _Result]], Tool[_Arguments, _Result]]: ...


@with_call_hints(
    **dict.fromkeys(("require_approval", "requires_approval"), "needs_approval"),
    **dict.fromkeys(("title", "tool_name"), "name"),
    **dict.fromkeys(("schema", "args_schema"), "it is read from the annotations of the function"),
)
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    needs_approval: NeedsApproval = False,
    strict: bool | None = None,
    output: object = None,
) -> Tool[..., Any] | Callable[[Callable[_Arguments, _Result]], Tool[_Arguments, _Result]]:
    """Make a `Tool` of a function, from its name, docstring, annotations and defaults.

    The docstring's first paragraph is the description; `Annotated[type, "text"]` describes
    a parameter, and so does a Google-style `Args:` section. Arguments are converted to the
    annotated types: dataclasses, attrs classes, enums, typed dicts, pydantic models. Results
    are checked against the return annotation, or *output*. Raises ConfigurationError for
    parameters that a model cannot fill.
    """

    def make(function: Callable[..., Any]) -> Tool[..., Any]:
        handler, parameters = typed_handler(function)
        if name is None and name_of(function) == "<lambda>":
            raise ConfigurationError("a lambda has no name: set one with tool(name=...)")
        return Tool(
            name or name_of(function),
            summary_of(behind(function).__doc__) if description is None else description,
            parameters,
            function,
            timeout=timeout,
            needs_approval=needs_approval,
            strict=strict,
            output=output,
            handler=handler,
        )

    if function is not None:
        if not callable(function):
            given = f"@tool(name={function!r})" if isinstance(function, str) else "@tool"
            kind = shown_kind(function)
            raise ConfigurationError(
                f"tool makes a tool of a function, not of {kind}: write {given} above the function"
            )
        return make(function)
    return cast("Callable[[Callable[_Arguments, _Result]], Tool[_Arguments, _Result]]", make)
