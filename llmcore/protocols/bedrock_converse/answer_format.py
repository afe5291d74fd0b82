"""Bedrock Converse: the shape of the answer.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html, read
November 2026.

A model that the service can hold to a schema gets it in `outputConfig.textFormat`. Another is
made to call a tool whose input is the answer, and the stream turns that call back into text;
where no call can be demanded, the shape is asked for in words.
"""

from typing import Any, Final

from attrs import field, frozen

from llmcore.protocols.answer_format import (
    TOOL_DESCRIPTION,
    Plan,
    Ways,
    answer_tool,
    ask_for_call,
    format_in_words,
    note_call,
    plan_answer,
)
from llmcore.protocols.bedrock_converse.models import ModelRules, rules_of
from llmcore.protocols.notes import Notes
from llmcore.protocols.tool_schema import SchemaTarget
from llmcore.schema import json
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest

_FORCED: Final = ("claude", "nova")
"""Families of which one tool can be demanded, by the API reference of `ToolChoice`."""


def base_model(request: LLMRequest, metadata_key: str) -> str:
    """Return the id that tells what the model takes: its own, or the option `base_model`."""
    named = request.options_for(metadata_key, request.provider_id).get("base_model")
    return named if isinstance(named, str) else request.model_id


def plan(request: LLMRequest, metadata_key: str) -> Plan:
    """Return how the shape that *request* wants is had; the same for the body and the stream.

    The provider option `structured_output` (`"native"` or `"tool"`) decides for models whose
    names do not tell.
    """
    rules = rules_of(base_model(request, metadata_key))
    option = request.options_for(metadata_key, request.provider_id).get("structured_output")
    ways = Ways(
        format=option == "native" or (option != "tool" and rules.structured_output),
        tool=rules.forced_tools and (rules.family in _FORCED or option == "tool"),
        format_target=SchemaTarget.BEDROCK_STRICT,
        tool_target=rules.tool_schema,
    )
    return plan_answer(request.response_format, ways)


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
    words = format_in_words(wanted, "the model cannot be held to this", notes)
    return Format(instructions=(words,))


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
        "description": wanted.description or TOOL_DESCRIPTION,
        "inputSchema": {"json": planned.projected.schema},
    }
    if has_budget:
        words = ask_for_call(name, notes)
        return Format(tool={"toolSpec": spec}, instructions=(words,))
    note_call(notes)
    return Format(tool={"toolSpec": spec}, tool_choice=_choice(request, name))


def _choice(request: LLMRequest, name: str) -> dict[str, Any] | None:
    """Return the choice that leads to an answer, or first to the caller's tools."""
    mode = request.tool_choice.mode if request.tool_choice is not None else "auto"
    if not request.tools or mode == "none":
        return {"tool": {"name": name}}
    return None if mode == "named" else {"any": {}}
