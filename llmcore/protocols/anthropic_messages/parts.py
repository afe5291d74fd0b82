"""Anthropic Messages: lowering the parts that a message's content is made of.

Sources, read November 2026: https://platform.claude.com/docs/en/build-with-claude/vision,
https://platform.claude.com/docs/en/build-with-claude/pdf-support,
https://platform.claude.com/docs/en/build-with-claude/citations.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from llmcore.protocols import media
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, Block
from llmcore.protocols.caching import cache_mark
from llmcore.protocols.claude import Citing, ClaudeRules, is_cited, move_media_of_error
from llmcore.protocols.history import ITEM_FIELDS, LoweringTarget
from llmcore.protocols.lowering import native_citations, omitted_block, omitted_part
from llmcore.protocols.tools import FREEFORM_FIELD, object_arguments
from llmcore.schema.content import (
    AudioPart,
    Citation,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject, text_or_json, without
from llmcore.schema.native_json import object_or_empty

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


class MessagesTarget(LoweringTarget, frozen=True, kw_only=True):
    """The model and the request that content is lowered for."""

    rules: ClaudeRules
    citations: Citing = "asked"


def lower_part(part: ContentPart, target: MessagesTarget, diagnostics: Diagnostics) -> Block:
    """Return one part of a user's content as a block.

    What the API does not take becomes a short text in its place, and a Diagnostic.
    """
    match part:
        case TextPart():
            return lower_text(part, diagnostics)
        case ImagePart():
            pdf = media.pdf_of(part, diagnostics)
            if pdf is not None:
                return _lower_document(pdf, target, diagnostics)
            return _lower_image(part, diagnostics)
        case DocumentPart():
            return _lower_document(part, target, diagnostics)
        case AudioPart():
            return omitted_block(
                "audio", "the API does not accept it", diagnostics, part.transcript
            )
        case ProviderPart(provider=provider, data=Mapping() as data) if provider in target.keys:
            return native_block(part, data)
        case _:
            return {"type": "text", "text": omitted_part(part, diagnostics)}


def lower_text(part: TextPart, diagnostics: Diagnostics) -> Block:
    """Return text, with its citations and its cache mark."""
    block: Block = {"type": "text", "text": part.text, **_unread(part)}
    citations = _lower_citations(part.citations, diagnostics)
    if citations:
        block["citations"] = citations
    return marked(block, part)


def _unread(part: ContentPart) -> JsonObject:
    """Return the fields that came with the block and are not read, to go back with it."""
    return object_or_empty(part.provider_metadata.get(METADATA_KEY, {}).get(ITEM_FIELDS))


def text_block(text: str) -> Block:
    """Return *text* alone."""
    return {"type": "text", "text": text}


def marked(block: Block, part: object) -> Block:
    """Return *block* with the cache mark that the caller put on *part*, if any."""
    ttl = cache_ttl(part)
    if ttl is not None and not block.get("cache_control"):
        block["cache_control"] = cache_mark(ttl)
    return block


def native_block(part: ContentPart, data: JsonObject) -> Block:
    """Return *data* as it came, with the cache mark that the caller put on *part*.

    Of its own fields only `content` may be null, which a compaction that failed has: responses have
    `encrypted_content: null` or an empty content, which a request may not have. Sources:
    https://github.com/anthropics/anthropic-sdk-python/issues/1828,
    https://github.com/vercel/ai/issues/13335.
    """
    given = {name: value for name, value in data.items() if value is not None or name == "content"}
    if given.get("type") == "compaction" and given.get("content") == "":
        given["content"] = None
    return marked(given, part)


def _lower_citations(
    citations: Iterable[Citation], diagnostics: Diagnostics
) -> list[dict[str, Any]]:
    """Return citations in their native form; those that have none are left out.

    Their positions are in the cited document, not in the text. Null is sent only for titles,
    which must be there. Requests have no `file_id`: the `anthropic` package, 2.12.0
    (`BetaCitationCharLocationParam` and its neighbours).
    """
    return [
        {
            name: item
            for name, item in native.items()
            if name in _TITLES or (item is not None and name != "file_id")
        }
        for native in native_citations(citations, METADATA_KEY, diagnostics)
    ]


_TITLES: Final = ("title", "document_title")


# -- media


def _lower_image(part: ImagePart, diagnostics: Diagnostics) -> Block:
    encoded = media.base64_data(part) if part.file_id is None else None
    if encoded is not None and encoded[0] not in _IMAGES:
        return omitted_block("an image", f"the API accepts no {encoded[0]}", diagnostics)
    if part.file_id is None and part.detail not in (None, "auto"):
        diagnostics.at("detail").unsupported("the API has no detail levels")
    block: Block = {"type": "image", "source": _source(part, encoded)}
    how = object_or_empty(part.provider_metadata.get(METADATA_KEY)).get("transformations")
    return marked({**block, "transformations": how} if how else block, part)


def _source(part: ImagePart | DocumentPart, encoded: tuple[str, str] | None) -> dict[str, Any]:
    """Return the source of media: a file id, base64 *encoded* in the part, or a URL."""
    if part.file_id is not None:
        return {"type": "file", "file_id": part.file_id}
    if encoded is None:
        return {"type": "url", "url": media.remote_url(part) or ""}
    return {"type": "base64", "media_type": encoded[0], "data": encoded[1]}


def _lower_document(part: DocumentPart, target: MessagesTarget, diagnostics: Diagnostics) -> Block:
    source = _document_source(part)
    label = part.title or part.name
    if isinstance(source, str):
        return omitted_block("a document", source, diagnostics, label)
    block: Block = {"type": "document", "source": source}
    if label:
        block["title"] = label
    if part.context is not None:
        block["context"] = part.context
    if is_cited(part, target.citations, diagnostics):
        block["citations"] = {"enabled": True}
    return marked(block, part)


def _document_source(part: DocumentPart) -> dict[str, Any] | str:
    """Return the document's source, or why the API does not take it."""
    if part.file_id is not None:
        return _source(part, None)
    text = media.text_data(part)
    if text is not None:
        return {"type": "text", "media_type": "text/plain", "data": text}
    data = media.base64_data(part)
    if data is not None and data[0] != "application/pdf":
        return f"the API accepts PDF and text, not {data[0]}"
    media_type = media.media_type_of(part)
    if data is None and media_type not in (None, "application/pdf"):
        return f"the API opens addresses of PDF, not of {media_type}"
    return _source(part, data)


# -- calls of tools, and their results

EMPTY_ERROR: Final = "The tool failed without a message."
"""The API takes an empty result, but not an empty error."""


def lower_call(call: ToolCallPart, diagnostics: Diagnostics) -> Block:
    """Return a call of the caller's tool."""
    native = call.provider_metadata.get(METADATA_KEY, {})
    block: Block = {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": object_arguments(call, diagnostics),
        **_unread(call),
    }
    if isinstance(native.get("caller"), dict):
        block["caller"] = native["caller"]
    if isinstance(native.get("toolset_name"), str):
        block["toolset_name"] = native["toolset_name"]
    return marked(block, call)


def lower_result(
    part: ToolResultPart,
    toolset: str | None,
    target: MessagesTarget,
    diagnostics: Diagnostics,
    after_results: list[Block],
) -> Block:
    """Return a tool's result; *toolset* is the family that the called tool belongs to.

    What a result of a failed tool cannot hold goes to *after_results*.
    """
    content: str | list[Block]
    if isinstance(part.content, tuple):
        content = [
            lower_part(item, target, diagnostics.at(f"content[{index}]"))
            for index, item in enumerate(part.parts)
        ]
        if part.is_error:
            kinds = [(str(block.get("type")), block) for block in content]
            content, moved = move_media_of_error(kinds, text_block, part.tool_call_id, diagnostics)
            after_results += moved
    else:
        content = text_or_json(part.content)
    block: Block = {"type": "tool_result", "tool_use_id": part.tool_call_id}
    if content or part.is_error:
        block["content"] = content or EMPTY_ERROR
    if part.is_error:
        block["is_error"] = True
    if toolset is not None:
        block["toolset_name"] = toolset
    return marked(block, part)


def lower_executed(part: ToolCallPart | ToolResultPart) -> Block | None:
    """Return a call or result of the provider's own tool exactly as it came.

    None if it did not come from this API.
    """
    native = part.provider_metadata.get(METADATA_KEY, {})
    kind = native.get("type")
    if not isinstance(kind, str):
        return None
    rest = without(native, "type")
    if isinstance(part, ToolResultPart):
        result: Block = {"type": kind, "tool_use_id": part.tool_call_id}
        if part.content is not None:
            result["content"] = part.content
        return native_block(part, cast("JsonObject", {**result, **rest}))
    arguments = part.arguments if part.is_valid else {FREEFORM_FIELD: part.arguments}
    call = {"type": kind, "id": part.id, "name": part.name, "input": arguments}
    return native_block(part, {**call, **rest})


def lower_reasoning_part(part: ReasoningPart) -> Block:
    """Return thinking exactly as it came; its text may be empty, its signature is what counts."""
    if part.encrypted is not None:
        return {"type": "redacted_thinking", "data": part.encrypted, **_unread(part)}
    signature = part.signature or ""
    return {"type": "thinking", "thinking": part.text, "signature": signature, **_unread(part)}
