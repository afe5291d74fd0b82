"""Tools: what the model may call, and what runs when it does.

    @tool
    async def get_weather(city: Annotated[str, "such as Paris"]) -> str:
        "The current weather in a city."
        ...

A tool without `execute` is passive: its calls come back to the caller.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, Union, overload

from attrs import field, frozen

from llmcore.generation.docstrings import summary_of
from llmcore.generation.handler import Function, Handler, handler_of, name_of, typed_handler
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.json import JsonObject
from llmcore.schema.tools import ToolDefinition, check_tool_name

NeedsApproval: TypeAlias = Union[bool, Callable[[JsonObject], Union[bool, Awaitable[bool]]]]
"""Whether somebody must agree before a tool runs; a function decides by the arguments."""


class ToolFailure(Exception):  # noqa: N818  (a tool's outcome, which ends no call)
    """What a tool raises to tell the model that it failed, and why."""


def _parameters(schema: JsonObject | None) -> JsonObject:
    return ToolDefinition("checked", "", schema).parameters


def _more_than_0(_tool: object, _attribute: object, seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise ConfigurationError(f"a tool's timeout must be more than 0 seconds, not {seconds}")


@frozen
class Tool:
    """A function the model may call.

    `parameters` is a JSON Schema whose root is an object; None means no parameters.
    `execute` gets the arguments by keyword, or as one dict if it has a single parameter of
    another name, and, by name, whatever it asks for of `messages`, `abort_signal`,
    `tool_call_id` and `context`. It returns text, anything JSON can say, or content parts;
    it raises ToolFailure to tell the model what went wrong. Plain functions run in threads.
    """

    name: str = field(converter=check_tool_name)
    description: str = ""
    parameters: JsonObject = field(default=None, converter=_parameters)
    execute: Function | None = None
    timeout: float | None = field(default=None, kw_only=True, validator=_more_than_0)
    """Seconds that one run may take; None leaves it to `Timeouts.tool`."""
    needs_approval: NeedsApproval = field(default=False, kw_only=True)
    """Whether a call waits for `approvals`; the run ends with it pending."""
    strict: bool | None = field(default=None, kw_only=True)
    """Whether the provider is to hold the model to the schema."""
    handler: Handler | None = field(default=None, kw_only=True, repr=False, eq=False)
    """How `execute` is called; found from its signature."""

    def __attrs_post_init__(self) -> None:
        if self.execute is None:
            object.__setattr__(self, "handler", None)
        elif not callable(self.execute):
            kind = type(self.execute).__name__
            raise ConfigurationError(f"execute of the tool {self.name!r} is a {kind}, no function")
        elif self.handler is None or self.handler.function is not self.execute:
            object.__setattr__(self, "handler", handler_of(self.execute, self.parameters))

    @property
    def definition(self) -> ToolDefinition:
        """The tool as a request has it."""
        return ToolDefinition(self.name, self.description, self.parameters, strict=self.strict)


@overload
def tool(function: Function, /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    needs_approval: NeedsApproval = False,
    strict: bool | None = None,
) -> Callable[[Function], Tool]: ...


def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    needs_approval: NeedsApproval = False,
    strict: bool | None = None,
) -> Tool | Callable[[Function], Tool]:
    """Make a function a `Tool`, with its name, docstring, annotations and defaults.

    The docstring's first paragraph is the description; `Annotated[type, "text"]` describes
    a parameter, and so does a Google-style `Args:` section. Arguments are converted to the
    annotated types: dataclasses, attrs classes, enums, typed dicts, pydantic models.
    ConfigurationError for a signature that a model cannot fill.
    """

    def made(function: Function) -> Tool:
        handler, parameters = typed_handler(function)
        return Tool(
            name or name_of(function),
            summary_of(function.__doc__) if description is None else description,
            parameters,
            function,
            timeout=timeout,
            needs_approval=needs_approval,
            strict=strict,
            handler=handler,
        )

    return made if function is None else made(function)
