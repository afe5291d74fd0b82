"""Parley: lowering the parts of messages."""

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.history import LoweringContext
from llmcore.protocols.lowering import omitted_text, result_text
from llmcore.protocols.tools import object_arguments
from llmcore.schema.content import (
    ContentPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.support.parley.names import NativeObject


class ParleyTarget(LoweringContext):
    """The target that messages are lowered for."""


def lower_part(part: ContentPart, path: str, target: ParleyTarget, notes: Notes) -> NativeObject:
    """Return *part* as an object of one field, which names its kind."""
    match part:
        case TextPart(text=text) | RefusalPart(text=text):
            return {"text": text}
        case ReasoningPart(text=text):
            return {"thought": text}
        case ToolCallPart(provider_executed=False):
            arguments = object_arguments(part, path, notes)
            return {"call": {"id": part.id, "name": part.name, "input": arguments}}
        case ToolResultPart(provider_executed=False):
            return {"result": {"id": part.tool_call_id, "text": _result(part, path, notes)}}
        case _:
            return {"text": omitted_text(type(part).__name__, path, "the API has text only", notes)}


def _result(part: ToolResultPart, path: str, notes: Notes) -> str:
    if not isinstance(part.content, tuple):
        return result_text(part)
    texts = []
    for index, item in enumerate(part.content):
        if isinstance(item, TextPart):
            texts.append(item.text)
        else:
            where = f"{path}.content[{index}]"
            texts.append(omitted_text(type(item).__name__, where, "the API has text only", notes))
    return "\n".join(texts)
