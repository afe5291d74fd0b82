"""Bedrock Converse: the shape of the answer.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html, read
November 2026.

A model that the service can hold to a schema gets it in `outputConfig.textFormat`. Another is
made to call a tool whose input is the answer, and the stream turns that call back into text;
where no call can be demanded, the shape is asked for in words.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from attrs import field, frozen

from llmcore.protocols.bedrock_converse.models import ModelRules, rules_of
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
_FORCED: Final = ("claude", "nova")
"""Families of which one tool can be demanded, by the API reference of `ToolChoice`."""


def base_model(request: LLMRequest, metadata_key: str) -> str:
    """Return the id that tells what the model takes: its own, or the option `base_model`."""
    named = request.options_for(metadata_key, request.provider_id).get("base_model")
    return named if isinstance(named, str) else request.model_id


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
    rules = rules_of(base_model(request, metadata_key))
    option = request.options_for(metadata_key, request.provider_id).get("structured_output")
    if option == "native" or (option != "tool" and rules.structured_output):
        projected = project(wanted.schema, SchemaTarget.BEDROCK_STRICT, _PATH)
        if projected.strict:
            return Plan(by="format", projected=projected)
    if not rules.forced_tools or (rules.family not in _FORCED and option != "tool"):
        return Plan(by="words")
    wrapped = wanted.schema.get("type") != "object"
    schema = _wrapped(wanted.schema) if wrapped else wanted.schema
    return Plan(by="tool", projected=project(schema, SchemaTarget.BEDROCK, _PATH), wrapped=wrapped)


def _wrapped(schema: JsonObject) -> JsonObject:
    """Return *schema* as the one property of an object; what it refers to stays at the root."""
    inner = {name: value for name, value in schema.items() if name not in _AT_ROOT}
    at_root = {name: value for name, value in schema.items() if name in _AT_ROOT}
    return {"type": "object", "properties": {WRAPPER: inner}, "required": [WRAPPER], **at_root}


_AT_ROOT: Final = frozenset({"$defs", "definitions", "$schema", "$id"})


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

    text_format: dict[str, Any] | None = None
    """`outputConfig.textFormat`."""
    tool: dict[str, Any] | None = None
    tool_choice: dict[str, Any] | None = None
    instructions: tuple[str, ...] = field(default=())


def lower_format(
    request: LLMRequest,
    metadata_key: str,
    rules: ModelRules,
    *,
    has_budget: bool,
    notes: Notes,
) -> Format:
    """Return what the body says of the answer's shape.

    *has_budget* says that Claude thinks with a budget, beside which no call can be demanded.
    """
    wanted = request.response_format
    planned = plan(request, metadata_key)
    notes.extend(planned.projected.diagnostics)
    if wanted is None or planned.by == "nothing":
        return Format()
    if planned.by == "format":
        return Format(text_format=_text_format(wanted, planned))
    if planned.by == "tool":
        return _by_tool(request, wanted, planned, has_budget=has_budget, notes=notes)
    return _in_words(wanted, notes)


def _text_format(wanted: ResponseFormat, planned: Plan) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "schema": json.dumps(planned.projected.schema).decode(),
        "name": wanted.name,
    }
    if wanted.description:
        schema["description"] = wanted.description
    return {"type": "json_schema", "structure": {"jsonSchema": schema}}


def _by_tool(
    request: LLMRequest, wanted: ResponseFormat, planned: Plan, *, has_budget: bool, notes: Notes
) -> Format:
    name = answer_tool(request)
    spec = {
        "name": name,
        "description": wanted.description or "Gives the final answer. Call it exactly once.",
        "inputSchema": {"json": planned.projected.schema},
    }
    if has_budget:
        notes.changed(
            "tool-choice-weakened",
            "response_format",
            "the model does not think where it must call a tool: it is only told to",
        )
        words = f"Give the final answer by calling the tool {name}, and in no other way."
        return Format(tool={"toolSpec": spec}, instructions=(words,))
    notes.noted("response-format-by-tool", "response_format", "the answer is a tool's input")
    return Format(tool={"toolSpec": spec}, tool_choice=_choice(request, name))


def _choice(request: LLMRequest, name: str) -> dict[str, Any] | None:
    """Return the choice that leads to an answer, or first to the caller's tools."""
    mode = request.tool_choice.mode if request.tool_choice is not None else "auto"
    if not request.tools or mode == "none":
        return {"tool": {"name": name}}
    return None if mode == "named" else {"any": {}}


def _in_words(wanted: ResponseFormat, notes: Notes) -> Format:
    notes.changed(
        "response-format-in-words",
        "response_format",
        "the model cannot be held to this: it is only told",
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
