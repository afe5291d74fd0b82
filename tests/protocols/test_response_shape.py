"""Formats of responses that an API does not enforce, and required tool calls."""

from typing import Any

import pytest

from llmcore.protocols.forced_format import FormatSupport, forced_plan, format_tool, unwrapped
from llmcore.protocols.tool_schema import SchemaTarget
from llmcore.protocols.tools import check_forcible
from llmcore.schema.errors import InvalidRequestError, UnsupportedToolChoiceError
from llmcore.schema.messages import Message
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import ToolChoice, ToolDefinition

OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def asked_with(**fields: Any) -> LLMRequest:
    """Return a small request with *fields*."""
    return LLMRequest(model="m", messages=(Message.user("Hi"),), **fields)


def ways(*, format: bool, tool: bool) -> FormatSupport:
    """Return what a model lets itself be held to."""
    return FormatSupport(
        format=format,
        tool=tool,
        format_target=SchemaTarget.ANTHROPIC_STRICT,
        tool_target=SchemaTarget.ANTHROPIC,
    )


@pytest.mark.parametrize(
    ("schema", "format", "tool", "by", "wrapped"),
    [
        (OBJECT, True, True, "format", False),
        (OBJECT, False, True, "tool", False),
        (OBJECT, False, False, "words", False),
        ({"type": "array", "items": {"type": "string"}}, False, True, "tool", True),
    ],
)
def test_the_surest_way_is_taken(
    schema: dict[str, Any], format: bool, tool: bool, by: str, wrapped: bool
) -> None:
    """A format before a call, a call before the prompt; other values are wrapped for a call."""
    planned = forced_plan(ResponseFormat("json_schema", schema), ways(format=format, tool=tool))
    assert (planned.by, planned.wrapped) == (by, wrapped)


def test_definitions_stay_where_references_look_for_them() -> None:
    """Wrapping moves all but them."""
    schema: dict[str, Any] = {"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}}
    planned = forced_plan(ResponseFormat("json_schema", schema), ways(format=False, tool=True))
    assert planned.projected.schema["$defs"] == {"x": {"type": "string"}}


def test_the_responses_tool_has_a_name_of_its_own() -> None:
    """Whatever the caller's tools are called."""
    taken = ToolDefinition("structured_answer", "", {"type": "object"})
    assert format_tool(asked_with(tools=(taken,))) == "structured_answer_"


@pytest.mark.parametrize(
    ("arguments", "expected"), [({"answer": [1]}, "[1]"), ({"a": 1}, '{"a":1}'), ("cut", "cut")]
)
def test_wrapped_responses_are_unwrapped(arguments: Any, expected: str) -> None:
    """And what the model did not wrap is the response as it is."""
    assert unwrapped(arguments) == expected


@pytest.mark.parametrize(
    ("choice", "forced", "has_tools", "error"),
    [
        (ToolChoice.required(), True, False, InvalidRequestError),
        (ToolChoice.required(), False, True, UnsupportedToolChoiceError),
        (ToolChoice.named("other"), True, True, InvalidRequestError),
    ],
)
def test_choices_that_the_api_lacks_are_refused(
    choice: ToolChoice, forced: bool, has_tools: bool, error: type[Exception]
) -> None:
    """Nothing to call, a model that cannot be made to, a name that no tool has."""
    tools = (ToolDefinition("t", "", {"type": "object"}),) if has_tools else ()
    asked = asked_with(tools=tools, tool_choice=choice)
    with pytest.raises(error):
        check_forcible(asked, forced_tools=forced, has_tools=has_tools, known_to="the API")
