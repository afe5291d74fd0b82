"""Content parts as entry parts, and a layout of what entry parts cannot express.

A layout has one item per content part, in order:

- null: the next entry part, as it reads by itself (`plain_part`)
- `{"set": {...}}`: the same, with other fields (JSON of the content part); of a tool result
  `content` is the layout of its parts, and `wrapped` states that its object represents `value`
- `{"whole": {...}}`: a content part that no entry part represents

so that entry parts and layout together are exactly the content parts. No layout at all is
one of nulls. A program that does not know layouts reads the entry parts, and has all that the
contract can express.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from attrs import evolve

from llmcore.schema import json
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
    ToolResultPart,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue
from llmcore.sessions.contract.entries import (
    EntryFileRef,
    EntryImage,
    EntryPart,
    EntryText,
    EntryThinking,
    EntryToolCall,
    EntryToolResult,
    ResultContent,
    ResultPart,
)
from llmcore.sessions.contract.errors import MalformedError

Layout: TypeAlias = Sequence[JsonValue] | None
"""One item per content part; None where each reads by itself."""

_ANY_IMAGE = "image/*"
_RESULT_PARTS = (EntryText, EntryImage, EntryFileRef)


@frozen
class CallNames:
    """Maps ids of calls to their form in entries, which is unique in the run."""

    of_call: Callable[[str], str]
    of_result: Callable[[str], str]


@frozen
class StoredContent:
    """Entry parts, and the layout that makes content parts of them again."""

    parts: tuple[EntryPart, ...]
    layout: Layout


def lay_out(
    content: Sequence[ContentPart], allowed: tuple[type, ...], names: CallNames
) -> StoredContent:
    """Return *content* as entry parts of the *allowed* classes, and the rest as a layout."""
    parts: list[EntryPart] = []
    layout: list[JsonValue] = []
    for part in content:
        entry_part = _entry_part(part, names)
        if entry_part is None or not isinstance(entry_part, allowed):
            layout.append({"whole": to_json(part)})
        else:
            parts.append(entry_part)
            layout.append(_difference(plain_part(entry_part), part, names))
    return StoredContent(tuple(parts), layout if any(item is not None for item in layout) else None)


def restore(parts: Sequence[EntryPart], layout: Layout) -> tuple[ContentPart, ...]:
    """Return the content parts from which *parts* and *layout* were made.

    Raises MalformedError for a layout that was not made for these parts.
    """
    if layout is None:
        return tuple(map(plain_part, parts))
    following = iter(parts)
    content = [_restored(item, following) for item in layout]
    if next(following, None) is not None:
        raise _misfit()
    return tuple(content)


def plain_part(part: EntryPart) -> ContentPart:
    """Return *part* as a content part, without a layout."""
    match part:
        case EntryText(text=text):
            return TextPart(text)
        case EntryThinking(text=text):
            return ReasoningPart(text)
        case EntryToolCall(raw_args_text=str(raw), arguments=arguments) if not arguments:
            return ToolCallPart(part.tool_call_id, part.tool_name, raw)
        case EntryToolCall():
            return ToolCallPart(part.tool_call_id, part.tool_name, part.arguments)
        case EntryToolResult():
            return ToolResultPart(
                part.tool_call_id, _plain_content(part.content), is_error=part.is_error
            )
        case EntryImage():
            return _plain_image(part)
        case EntryFileRef():
            return _plain_file(part)


# -- from content parts


def _entry_part(part: ContentPart, names: CallNames) -> EntryPart | None:
    """Return the entry part that is closest to *part*; None if there is none."""
    match part:
        case TextPart(text=text) | RefusalPart(text=text):
            return EntryText(text)
        case ReasoningPart(text=text):
            return EntryThinking(text)
        case ToolCallPart(provider_executed=False):
            return _entry_call(part, names.of_call(part.id))
        case ToolResultPart(provider_executed=False):
            content = _entry_content(part, names)
            id_ = names.of_result(part.tool_call_id)
            return EntryToolResult(id_, content, is_error=part.is_error)
        case ImagePart(file_id=None, path=None):
            data = None if part.data is None else base64.b64encode(part.data).decode()
            return EntryImage(mime_type=part.media_type or _ANY_IMAGE, data=data, url=part.url)
        case ImagePart(path=str(path)) | AudioPart(path=str(path)) | DocumentPart(path=str(path)):
            return EntryFileRef(path, mime_type=part.media_type)
        case _:
            return None


def _entry_call(part: ToolCallPart, id_: str) -> EntryToolCall:
    arguments = part.arguments
    if isinstance(arguments, Mapping):
        return EntryToolCall(id_, part.name, arguments)
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments).decode()
    return EntryToolCall(id_, part.name, {}, raw_args_text=raw)


def _entry_content(part: ToolResultPart, names: CallNames) -> ResultContent:
    content = part.content
    if isinstance(content, tuple):
        parts = lay_out(part.parts, _RESULT_PARTS, names).parts
        return cast("ResultContent", parts)
    return content if isinstance(content, str | Mapping) else {"value": content}


def _difference(plain: ContentPart, part: ContentPart, names: CallNames) -> JsonValue:
    """Return the layout item that turns *plain* into *part*; None if they are equal."""
    item: dict[str, JsonValue] = {}
    if isinstance(plain, ToolResultPart) and isinstance(part, ToolResultPart):
        item = _content_difference(part, names)
        plain, part = evolve(plain, content=""), evolve(part, content="")
    before, after = _fields(plain), _fields(part)
    changed = {
        name: value
        for name, value in after.items()
        if name not in before or json.canonical(before[name]) != json.canonical(value)
    }
    if changed:
        item["set"] = changed
    return item or None


def _content_difference(part: ToolResultPart, names: CallNames) -> dict[str, JsonValue]:
    if isinstance(part.content, tuple):
        layout = lay_out(part.parts, _RESULT_PARTS, names).layout
        return {} if layout is None else {"content": layout}
    return {} if isinstance(part.content, str | Mapping) else {"wrapped": True}


def _fields(part: ContentPart) -> dict[str, Any]:
    return cast("dict[str, Any]", to_json(part))


# -- to content parts


def _restored(item: JsonValue, parts: Iterator[EntryPart]) -> ContentPart:
    if isinstance(item, Mapping) and "whole" in item:
        return _part(item["whole"])
    part = next(parts, None)
    if part is None or not (item is None or isinstance(item, Mapping)):
        raise _misfit()
    plain = plain_part(part)
    if item is None:
        return plain
    changed = item.get("set", {})
    if not isinstance(changed, Mapping) or item.keys() - {"set", "content", "wrapped"}:
        raise _misfit()
    if not isinstance(plain, ToolResultPart) or not isinstance(part, EntryToolResult):
        return _changed(plain, changed)
    whole = _changed(evolve(plain, content=""), changed)
    if not isinstance(whole, ToolResultPart):
        raise _misfit()
    return evolve(whole, content=_restored_content(part.content, item))


def _changed(plain: ContentPart, changed: Mapping[str, Any]) -> ContentPart:
    return _part({**_fields(plain), **changed}) if changed else plain


def _restored_content(content: ResultContent, item: Mapping[str, JsonValue]) -> object:
    layout = item.get("content")
    if isinstance(content, tuple):
        return restore(content, cast("list[JsonValue] | None", layout))
    if item.get("wrapped") and isinstance(content, Mapping):
        return content.get("value")
    return content


def _part(data: JsonValue) -> ContentPart:
    try:
        part: ContentPart = from_json(ContentPart, data)  # type: ignore[arg-type]
    except InvalidRequestError as error:
        raise MalformedError(f"{_misfit().message} ({error.message})") from error
    return part


def _misfit() -> MalformedError:
    return MalformedError("meta.llmcore does not fit the entry's parts: remove it, or restore them")


def _plain_content(content: ResultContent) -> object:
    if isinstance(content, tuple):
        return tuple(map(_plain_output, content))
    return content


def _plain_output(part: ResultPart) -> ToolOutputPart:
    """Return a part of a result as a content part; a tool's thinking becomes text."""
    plain = TextPart(part.text) if isinstance(part, EntryThinking) else plain_part(part)
    return cast("ToolOutputPart", plain)


def _plain_image(part: EntryImage) -> ImagePart:
    media_type = None if part.mime_type == _ANY_IMAGE else part.mime_type
    if part.data is None:
        return ImagePart(url=part.url, media_type=media_type)
    try:
        data = base64.b64decode(part.data, validate=True)
    except binascii.Error as error:
        raise MalformedError(f"an image's data is not base64: {error}") from error
    return ImagePart(data=data, media_type=media_type)


def _plain_file(part: EntryFileRef) -> ContentPart:
    major = (part.mime_type or "").partition("/")[0]
    if major == "image":
        return ImagePart(path=part.path, media_type=part.mime_type)
    if major == "audio":
        return AudioPart(path=part.path, media_type=part.mime_type)
    return DocumentPart(path=part.path, media_type=part.mime_type)
