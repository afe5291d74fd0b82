"""The next step of a run, which `prepare_step` may change, and the tools that it offers."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, Union, runtime_checkable

from attrs import field, fields_dict

from llmcore.generation.execution import AnyTool
from llmcore.generation.results import StepResult
from llmcore.generation.setting_checks import sequence_of
from llmcore.generation.tool import Tool, tool
from llmcore.schema.content import TextPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_call_hints
from llmcore.schema.json import ProviderMetadata
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import (
    CachePolicy,
    GenerationOptions,
    HttpOverlay,
    ReasoningOptions,
    ResponseFormat,
    as_reasoning_options,
    as_response_format,
)
from llmcore.schema.request import LLMRequest, as_system
from llmcore.schema.tools import ToolChoice, ToolSpec, as_tool_choice, as_tool_spec


@runtime_checkable
class ToolSource(Protocol):
    """A value with tools that may change during a run, such as `llmcore.mcp.McpServers`."""

    def current_tools(self) -> Sequence[Tool]:
        """Return the tools of the next step."""
        ...


ToolInput: TypeAlias = Union[AnyTool, ToolSource, Callable[..., object], Mapping[str, Any]]
"""A tool, a function that is made into one, a dict in the form of Chat Completions, or a source of
tools, whose tools are read before each step."""

GivenTool: TypeAlias = Union[AnyTool, ToolSource]
"""A tool of a run, or a source of tools."""


def tools_of(given: Sequence[ToolInput] | None) -> tuple[GivenTool, ...]:
    """Return *given* with functions as tools; InvalidRequestError if two have the same name."""
    tools = tuple(_tool(item) for item in sequence_of("tools", given))
    _reject_same_names(tools)
    return tools


def current_tools(given: Sequence[ToolInput]) -> tuple[AnyTool, ...]:
    """Return *given* with sources replaced by their tools; InvalidRequestError as `tools_of`."""
    tools: list[AnyTool] = []
    for item in tools_of(given):
        tools += item.current_tools() if isinstance(item, ToolSource) else (item,)
    _reject_same_names(tools)
    return tuple(tools)


def diagnostics_of(given: Sequence[GivenTool]) -> tuple[Diagnostic, ...]:
    """Return what the sources among *given* report, if they have `diagnostics`."""
    sources = (item for item in given if isinstance(item, ToolSource))
    return tuple(note for source in sources for note in getattr(source, "diagnostics", ()))


def _reject_same_names(tools: Iterable[GivenTool]) -> None:
    names = [name for name in (getattr(item, "name", None) for item in tools) if name]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        shown = ", ".join(sorted(twice))
        raise InvalidRequestError(f"two tools have the same name: {shown}: rename one of them")


def _tool(given: ToolInput) -> GivenTool:
    if isinstance(given, Mapping):
        return as_tool_spec(given)
    if isinstance(given, Tool | ToolSource) or not callable(given) or isinstance(given, type):
        return given  # type: ignore[return-value]  # checked by the request
    return tool(given)


def _messages(given: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(given)


@with_call_hints()
@frozen(kw_only=True)
class NextStep:
    """The next step of a run. `prepare_step` can change it with `evolve(step, ...)`."""

    number: int
    """The step's number, from 0."""
    steps: tuple[StepResult, ...]
    """The completed steps."""
    model: Model | str
    """The model of the step."""
    messages: tuple[Message, ...] = field(converter=_messages)
    """The messages of the step."""
    tools: tuple[AnyTool, ...] = field(converter=current_tools)
    """The tools of the step."""
    tool_choice: ToolChoice | None = field(default=None, converter=as_tool_choice)
    """The tool choice of the step."""
    parallel_tool_calls: bool | None = None
    """Whether the model may make several calls in the step."""
    system: tuple[TextPart, ...] = field(default=(), converter=as_system)
    """The instructions of the step: text, or parts."""
    generation: GenerationOptions = GenerationOptions()
    """The sampling options of the step."""
    response_format: ResponseFormat | None = field(default=None, converter=as_response_format)
    """The format of the step's response."""
    reasoning: ReasoningOptions | None = field(default=None, converter=as_reasoning_options)
    """The reasoning of the step."""
    cache: CachePolicy = CachePolicy()
    """The prompt caching of the step."""
    provider_options: ProviderMetadata = field(factory=dict)
    """Native fields of the body, by provider id."""
    http: HttpOverlay = HttpOverlay()
    """Headers, query parameters and body fields of the step."""

    @classmethod
    def of(
        cls, request: LLMRequest, steps: Sequence[StepResult], tools: Sequence[AnyTool]
    ) -> "NextStep":
        """Return the step that sends *request* with *tools*, after *steps*."""
        settings = {name: getattr(request, name) for name in _SETTINGS}
        return cls(number=len(steps), steps=tuple(steps), **{**settings, "tools": tuple(tools)})

    def changes(self) -> dict[str, Any]:
        """Return the fields of the request that the step sets."""
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return {**settings, "tools": definitions_of(self.tools)}


_SETTINGS: Final = tuple(name for name in fields_dict(NextStep) if name not in ("number", "steps"))

PrepareStep: TypeAlias = Callable[[NextStep], Union[NextStep, Awaitable[NextStep | None], None]]
"""Returns the next step with changes for this step alone, or None for no change."""


def definitions_of(tools: Sequence[AnyTool]) -> tuple[ToolSpec, ...]:
    """Return the definitions of *tools* for a request."""
    return tuple(item.definition if isinstance(item, Tool) else item for item in tools)


def checked_step(returned: object, step: NextStep) -> NextStep:
    """Return what `prepare_step` *returned* for *step*; InvalidRequestError for another type."""
    if returned is None:
        return step
    if not isinstance(returned, NextStep):
        message = f"prepare_step must return a NextStep or None, not {shown_kind(returned)}"
        raise InvalidRequestError(f"{message}: change it with evolve(step, ...)")
    return returned
