"""Gemini: lowering what tools returned.

Source: https://ai.google.dev/api/caching#FunctionResponse, read November 2026: `response` is an
object whose `output` is the result, or whose `error` is what went wrong; an object with neither
is the result itself. Pictures and documents go into `parts` from Gemini 3 on
(https://ai.google.dev/gemini-api/docs/function-calling#multimodal).
"""

from typing import Any, Final, TypeAlias, cast

from attrs import field, frozen

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.gemini.models import ModelRules
from llmcore.protocols.gemini.parts import lower_media
from llmcore.schema.content import (
    AudioPart,
    DocumentPart,
    ImagePart,
    TextPart,
    ToolOutputPart,
    ToolResultPart,
)
from llmcore.schema.json import JsonValue

Native: TypeAlias = dict[str, Any]

_MEANINGFUL: Final = frozenset({"output", "error"})


@frozen(kw_only=True)
class Desk:
    """What the results of one message are lowered with."""

    rules: ModelRules
    ids: frozenset[str]
    """Ids that the service gave; other calls are tied to their results by name and order."""
    notes: Notes
    moved: list[Native] = field(factory=list[Native])
    """Media that no function response can hold; they follow the responses."""


def lower_result(part: ToolResultPart, path: str, desk: Desk) -> Native:
    """Return a `functionResponse`."""
    native: Native = {"id": part.tool_call_id} if part.tool_call_id in desk.ids else {}
    native["name"] = part.name or "tool"
    if not isinstance(part.content, tuple):
        native["response"] = _response(part.content, is_error=part.is_error)
        return {"functionResponse": native}
    items = cast("tuple[ToolOutputPart, ...]", part.content)
    words, held = _lower_items(items, path, native["name"], desk)
    native["response"] = _response(words, is_error=part.is_error)
    if held:
        native["parts"] = held
    return {"functionResponse": native}


def _response(content: JsonValue, *, is_error: bool) -> Native:
    if is_error:
        return {"error": content}
    if isinstance(content, dict) and _MEANINGFUL.isdisjoint(content):
        return content
    return {"output": content}


def _lower_items(
    items: tuple[ToolOutputPart, ...],
    path: str,
    name: str,
    desk: Desk,
) -> tuple[str, list[Native]]:
    """Return the words of a result, with a mark where each file stood, and its files."""
    words: list[str] = []
    held: list[Native] = []
    files = 0
    for index, item in enumerate(items):
        where = f"{path}.content[{index}]"
        match item:
            case TextPart(text=text):
                words.append(text)
            case ImagePart() | AudioPart() | DocumentPart():
                files += 1
                *before, native = lower_media(item, where, desk.rules, desk.notes)
                words += [known["text"] for known in before]
                if desk.rules.media_in_results and "inlineData" in native:
                    words.append(f"[file {files}]")
                    held.append(native)
                    continue
                label = f"file {files} of {name}"
                words.append(f"[{label}: after the results]")
                desk.moved.extend(({"text": f"{label}:"}, native))
                why = "the function response cannot hold it: it follows the responses"
                desk.notes.changed("moved-tool-result-media", where, why)
            case _:
                why = f"a function response cannot hold what is native to {item.provider}"
                desk.notes.dropped("unsupported-content", where, why)
    return "\n".join(words), held
