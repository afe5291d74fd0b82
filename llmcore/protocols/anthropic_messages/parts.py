"""Anthropic Messages: lowering the parts that a message's content is made of.

Sources, read November 2026: https://platform.claude.com/docs/en/build-with-claude/vision,
https://platform.claude.com/docs/en/build-with-claude/pdf-support,
https://platform.claude.com/docs/en/build-with-claude/citations.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from attrs import frozen

from llmcore.protocols import media
from llmcore.protocols.anthropic_messages.citations import lower_citations
from llmcore.protocols.anthropic_messages.models import ModelRules
from llmcore.protocols.anthropic_messages.tools import cache_mark
from llmcore.protocols.anthropic_messages.types import CacheControl, Raw, blocks, sources, write
from llmcore.protocols.anthropic_messages.types.citations import CitationsConfig
from llmcore.protocols.freeform import FREEFORM_FIELD
from llmcore.protocols.message_target import MessageTarget
from llmcore.protocols.notes import Notes
from llmcore.protocols.substitutes import left_out
from llmcore.schema import json
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
    ToolResultPart,
    cache_ttl,
)
from llmcore.schema.json import JsonObject

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


@frozen(kw_only=True)
class Target(MessageTarget):
    """Whom content is lowered for."""

    rules: ModelRules
    citations: bool = True
    """Whether documents may be cited; the API refuses that beside structured output."""


def lower_part(part: ContentPart, path: str, target: Target, notes: Notes) -> blocks.ContentBlock:
    """Return one part of a user's content as a block.

    What the API does not take becomes a short text in its place, and a Diagnostic.
    """
    match part:
        case TextPart():
            return lower_text(part, path, target, notes)
        case ImagePart():
            return _lower_image(part, path, notes)
        case DocumentPart():
            return _lower_document(part, path, target, notes)
        case AudioPart():
            return _omitted("sound", path, "the API takes none", notes, part.transcript)
        case ProviderPart(provider=provider, data=Mapping() as data) if provider in target.keys:
            return native_block(part, data)
        case _:
            what = f"a part of {part.provider}" if isinstance(part, ProviderPart) else _name(part)
            return _omitted(what, path, "it has no form here", notes)


def lower_text(part: TextPart, path: str, target: Target, notes: Notes) -> blocks.TextBlock:
    """Return text, with its citations and its cache mark."""
    return blocks.TextBlock(
        part.text,
        citations=lower_citations(part.citations, path, target.metadata_key, notes) or None,
        cache_control=mark_of(part),
    )


def mark_of(part: ContentPart) -> CacheControl | None:
    """Return the cache mark that the caller put on *part*."""
    ttl = cache_ttl(part)
    return None if ttl is None else cache_mark(ttl)


def native_block(part: ContentPart, data: JsonObject) -> Raw:
    """Return *data* as it came, with the cache mark that the caller put on *part*."""
    ttl = cache_ttl(part)
    if ttl is None or data.get("cache_control"):
        return Raw(data)
    return Raw({**data, "cache_control": write(cache_mark(ttl))})


# -- media


def _lower_image(part: ImagePart, path: str, notes: Notes) -> blocks.ImageBlock | blocks.TextBlock:
    if part.file_id is not None:
        return blocks.ImageBlock(sources.FileSource(part.file_id), cache_control=mark_of(part))
    found = media.base64_data(part)
    if found is not None and found[0] not in _IMAGES:
        return _omitted("an image", path, f"the API takes no {found[0]}", notes)
    source = _url(part) if found is None else sources.Base64Source(*found)
    if part.detail not in (None, "auto"):
        notes.dropped("unsupported-parameter", f"{path}.detail", "the API has no detail levels")
    return blocks.ImageBlock(source, cache_control=mark_of(part))


def _url(part: ImagePart | DocumentPart) -> sources.UrlSource:
    return sources.UrlSource(media.remote_url(part) or "")


def _lower_document(
    part: DocumentPart, path: str, target: Target, notes: Notes
) -> blocks.DocumentBlock | blocks.TextBlock:
    source = _document_source(part)
    if isinstance(source, str):
        return _omitted("a document", path, source, notes, part.title or part.name)
    return blocks.DocumentBlock(
        source,
        title=part.title or part.name,
        context=part.context,
        citations=_cited(part, path, target, notes),
        cache_control=mark_of(part),
    )


def _cited(part: DocumentPart, path: str, target: Target, notes: Notes) -> CitationsConfig | None:
    if part.citations and not target.citations:
        why = "the API refuses citations beside structured output"
        notes.dropped("unsupported-parameter", f"{path}.citations", why)
        return None
    return CitationsConfig(enabled=True) if part.citations else None


def _document_source(part: DocumentPart) -> blocks.DocumentSource | str:
    """Return where the document comes from, or why the API does not take it."""
    if part.file_id is not None:
        return sources.FileSource(part.file_id)
    text = media.text_data(part)
    if text is not None:
        return sources.PlainTextSource("text/plain", text)
    found = media.base64_data(part)
    if found is None:
        return _url(part)
    if found[0] != "application/pdf":
        return f"the API takes PDF and text, not {found[0]}"
    return sources.Base64Source(*found)


def _omitted(
    what: str, path: str, why: str, notes: Notes, words: str | None = None
) -> blocks.TextBlock:
    """Return the text that stands where something could not be sent."""
    return blocks.TextBlock(left_out(what, path, why, notes, words))


def _name(part: object) -> str:
    return f"a {type(part).__name__}"


# -- what tools returned

EMPTY_ERROR: Final = "The tool failed without a message."
"""The API takes an empty result, but not an empty error."""


def lower_result(
    part: ToolResultPart, toolset: str | None, path: str, target: Target, notes: Notes
) -> blocks.ToolResultBlock:
    """Return a tool's result; *toolset* is the family that the called tool belongs to."""
    content: str | tuple[blocks.ToolResultContent, ...] | None
    if isinstance(part.content, tuple):
        output = cast("tuple[ToolOutputPart, ...]", part.content)
        content = _lower_output(output, path, target, notes)
    else:
        content = part.content if isinstance(part.content, str) else _dumped(part.content)
    return blocks.ToolResultBlock(
        tool_use_id=part.tool_call_id,
        content=content or (EMPTY_ERROR if part.is_error else None),
        is_error=True if part.is_error else None,
        toolset_name=toolset,
        cache_control=mark_of(part),
    )


def _dumped(value: json.JsonValue) -> str:
    return json.dumps(value).decode()


def _lower_output(
    content: tuple[ToolOutputPart, ...], path: str, target: Target, notes: Notes
) -> tuple[blocks.ToolResultContent, ...]:
    return tuple(
        lower_part(item, f"{path}.content[{index}]", target, notes)  # type: ignore[misc]
        for index, item in enumerate(content)
    )


# -- what the provider's tools did


def lower_executed(part: ToolCallPart | ToolResultPart, own: JsonObject) -> Raw | None:
    """Return a call or result of the provider's own tool exactly as it came.

    *own* is what the API sent beside id, name, input and content; None if it did not come
    from this API.
    """
    kind = own.get("type")
    if not isinstance(kind, str):
        return None
    rest = {name: value for name, value in own.items() if name != "type"}
    if isinstance(part, ToolResultPart):
        result: dict[str, Any] = {"type": kind, "tool_use_id": part.tool_call_id}
        result["content"] = part.content
        return native_block(part, {**result, **rest})
    given = part.arguments if part.is_valid else {FREEFORM_FIELD: part.arguments}
    call: dict[str, Any] = {"type": kind, "id": part.id, "name": part.name, "input": given}
    return native_block(part, {**call, **rest})
