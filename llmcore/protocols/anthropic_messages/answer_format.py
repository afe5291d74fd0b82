"""Anthropic Messages: the shape of the answer.

Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs, read November
2026.

A model that the API can hold to a schema gets it in `output_config.format`. Another is
made to call a tool whose input is the answer, and the stream turns that call back into text.
Where a call cannot be demanded (beside a budget of thinking), it is asked for in words.
"""

from attrs import frozen

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
from llmcore.protocols.anthropic_messages.models import rules_of
from llmcore.protocols.anthropic_messages.types import request as native
from llmcore.protocols.anthropic_messages.types import tools as native_tools
from llmcore.protocols.notes import Notes
from llmcore.protocols.tool_schema import SchemaTarget
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest


def plan(request: LLMRequest, metadata_key: str) -> Plan:
    """Return how the shape that *request* wants is had; the same for the body and the stream.

    The provider option `structured_output` (`"native"` or `"tool"`) decides for models whose
    names do not tell.
    """
    rules = rules_of(request.model_id)
    option = request.options_for(metadata_key, request.provider_id).get("structured_output")
    ways = Ways(
        format=option == "native" or (option != "tool" and rules.structured_output),
        tool=rules.forced_tools,
        format_target=SchemaTarget.ANTHROPIC_STRICT,
        tool_target=SchemaTarget.ANTHROPIC,
    )
    return plan_answer(request.response_format, ways)


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
    words = format_in_words(wanted, "the API cannot hold the answer to this", notes)
    return Format(instructions=(words,))


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
        description=wanted.description or TOOL_DESCRIPTION,
        input_schema=planned.projected.schema,
    )
    if isinstance(thinking, native.ThinkingEnabled):
        words = ask_for_call(name, notes)
        return Format(tools=(tool,), tool_choice=None, instructions=(words,))
    note_call(notes)
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
