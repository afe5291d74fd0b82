"""Anthropic Messages: the shape of the answer.

Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs, read November
2026.

A model that the API can hold to a schema gets it in `output_config.format`. Another is
made to call a tool whose input is the answer, and the stream turns that call back into text.
Where a call cannot be demanded (beside a budget of thinking), it is asked for in words.
"""

from collections.abc import Mapping
from typing import Final, Literal

from attrs import frozen

from llmcore.protocols.anthropic_messages.models import rules_of
from llmcore.protocols.anthropic_messages.types import request as native
from llmcore.protocols.anthropic_messages.types import tools as native_tools
from llmcore.protocols.notes import Notes
from llmcore.protocols.tool_schema import Projected, SchemaTarget, project
from llmcore.schema import json
from llmcore.schema.json import JsonObject
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest

WRAPPER: Final = "answer"
"""The one property of a tool's input that stands for an answer that is no object."""

_PATH: Final = "response_format.schema"
_SHORT: Final = "Answer with one JSON document and nothing else."


@frozen(kw_only=True)
class Plan:
    """How the wanted shape is had."""

    by: Literal["nothing", "format", "tool", "words"] = "nothing"
    projected: Projected = Projected(schema={})
    wrapped: bool = False
    """Whether the tool's input holds the answer in a property."""


def plan(request: LLMRequest, metadata_key: str) -> Plan:
    """Return how the shape that *request* wants is had; the same for the body and the stream.

    The provider option `structured_output` (`"native"` or `"tool"`) decides for models whose
    names do not tell.
    """
    wanted = request.response_format
    if wanted is None or wanted.type == "text":
        return Plan()
    if wanted.schema is None:
        return Plan(by="words")
    rules = rules_of(request.model_id)
    option = request.options_for(metadata_key, request.provider_id).get("structured_output")
    if option == "native" or (option != "tool" and rules.structured_output):
        projected = project(wanted.schema, SchemaTarget.ANTHROPIC_STRICT, _PATH)
        if projected.strict:
            return Plan(by="format", projected=projected)
    if not rules.forced_tools:
        return Plan(by="words")
    wrapped = wanted.schema.get("type") != "object"
    schema = _wrapped(wanted.schema) if wrapped else wanted.schema
    projected = project(schema, SchemaTarget.ANTHROPIC, _PATH)
    return Plan(by="tool", projected=projected, wrapped=wrapped)


def _wrapped(schema: JsonObject) -> JsonObject:
    """Return *schema* as the one property of an object; what it refers to stays at the root."""
    inner = {name: value for name, value in schema.items() if name not in _SHARED}
    shared = {name: value for name, value in schema.items() if name in _SHARED}
    properties = {WRAPPER: inner}
    return {"type": "object", "properties": properties, "required": [WRAPPER], **shared}


_SHARED: Final = frozenset({"$defs", "definitions", "$schema", "$id"})


def answer_tool(request: LLMRequest) -> str:
    """Return the name of the tool that stands for the answer, which no tool of *request* has."""
    name = "structured_answer"
    taken = {getattr(tool, "name", None) for tool in request.tools}
    while name in taken:
        name += "_"
    return name


# -- in the body


@frozen(kw_only=True)
class Format:
    """What the body says of the answer's shape."""

    format: native.JsonFormat | None = None
    tools: tuple[native_tools.Tool, ...] = ()
    tool_choice: native_tools.ToolChoice | None = None
    instructions: tuple[str, ...] = ()


def lower_format(
    request: LLMRequest, metadata_key: str, thinking: native.Thinking | None, notes: Notes
) -> Format:
    """Return what the body says of the answer's shape."""
    wanted = request.response_format
    planned = plan(request, metadata_key)
    notes.extend(planned.projected.diagnostics)
    if wanted is None or planned.by == "nothing":
        return Format()
    if planned.by == "format":
        return Format(format=native.JsonFormat(planned.projected.schema))
    if planned.by == "tool":
        return _by_tool(request, wanted, planned, thinking, notes)
    return _in_words(wanted, notes)


def _by_tool(
    request: LLMRequest,
    wanted: ResponseFormat,
    planned: Plan,
    thinking: native.Thinking | None,
    notes: Notes,
) -> Format:
    name = answer_tool(request)
    tool = native_tools.Tool(
        name=name,
        description=wanted.description or "Gives the final answer. Call it exactly once.",
        input_schema=planned.projected.schema,
    )
    if isinstance(thinking, native.ThinkingEnabled):
        notes.changed(
            "tool-choice-weakened",
            "response_format",
            "the model does not think where it must call a tool: it is only told to",
        )
        words = f"Give the final answer by calling the tool {name}, and in no other way."
        return Format(tools=(tool,), tool_choice=None, instructions=(words,))
    notes.noted("response-format-by-tool", "response_format", "the answer is a tool's input")
    return Format(tools=(tool,), tool_choice=_choice(request, name))


def _choice(request: LLMRequest, name: str) -> native_tools.ToolChoice | None:
    """Return the choice that leads to an answer, or first to the caller's tools."""
    mode = request.tool_choice.mode if request.tool_choice is not None else "auto"
    if not request.tools or mode == "none":
        return native_tools.ToolChoiceTool(name, disable_parallel_tool_use=True)
    if mode == "named":
        return None  # the caller's own choice stands
    serial = True if request.parallel_tool_calls is False else None
    return native_tools.ToolChoiceAny(serial)


def _in_words(wanted: ResponseFormat, notes: Notes) -> Format:
    notes.changed(
        "response-format-in-words",
        "response_format",
        "the API cannot hold the answer to this: the model is only told",
    )
    if wanted.schema is None:
        return Format(instructions=(_SHORT,))
    schema = json.dumps(wanted.schema).decode()
    return Format(instructions=(f"{_SHORT} It must match this schema:\n{schema}",))


# -- in the answer


def unwrapped(arguments: json.JsonValue) -> str:
    """Return the answer that a tool's input holds in its one property, as text."""
    if isinstance(arguments, Mapping) and WRAPPER in arguments:
        return json.dumps(arguments[WRAPPER]).decode()
    return arguments if isinstance(arguments, str) else json.dumps(arguments).decode()
