"""Freeform tools at APIs that know only functions: a function with one string parameter.

The grammar of its input goes into the description: nothing can hold the model to it.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.json_text import written
from llmcore.protocols.notes import Notes
from llmcore.schema.content import ToolCallPart
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool

FREEFORM_FIELD: Final = "input"
"""The one parameter of a freeform tool that is offered as a function."""


# -- in the body


def note_function(path: str, notes: Notes, api: str = "the API") -> None:
    """Say that the freeform tool at *path* becomes a function."""
    notes.changed(
        "custom-tool-as-function",
        path,
        f"{api} has no freeform tools: it is a function of one string, "
        "and nothing holds that string to a grammar",
    )


def freeform_description(tool: CustomTool) -> str:
    """Return what the function says of itself, the grammar in words included."""
    words = [tool.description] if tool.description else []
    if tool.grammar is not None:
        words.append(
            f"The input must match this {tool.grammar.syntax} grammar:\n{tool.grammar.definition}"
        )
    return "\n\n".join(words) or "Takes one text."


def freeform_schema(*, closed: bool) -> dict[str, Any]:
    """Return the function's parameters; *closed* forbids others in so many words."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {FREEFORM_FIELD: {"type": "string", "description": "The whole input."}},
        "required": [FREEFORM_FIELD],
    }
    return {**schema, "additionalProperties": False} if closed else schema


def freeform_tools(request: LLMRequest) -> frozenset[str]:
    """Return the names of the freeform tools."""
    return frozenset(tool.name for tool in request.tools if isinstance(tool, CustomTool))


def freeform_arguments(text: str) -> dict[str, Any]:
    """Return a freeform tool's input as the arguments of its function."""
    return {FREEFORM_FIELD: text}


def object_arguments(call: ToolCallPart, path: str, notes: Notes) -> Any:
    """Return the arguments of *call* as an object, for an API that takes nothing else."""
    if call.kind == "function" and call.is_valid:
        return call.arguments
    if call.kind == "function":
        why = "the API takes only JSON objects as arguments: they are wrapped in one"
        notes.changed("invalid-tool-arguments", f"{path}.arguments", why)
    return freeform_arguments(written(call.arguments))


# -- in the answer


def freeform_text(arguments: JsonValue) -> str:
    """Return the text that the arguments of a freeform tool, offered as a function, hold."""
    if isinstance(arguments, Mapping):
        value = arguments.get(FREEFORM_FIELD)
        if value is None and len(arguments) == 1:
            value = next(iter(arguments.values()))  # models rename the only field
        if isinstance(value, str):
            return value
    return written(arguments)
