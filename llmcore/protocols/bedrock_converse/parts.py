"""Bedrock Converse: lowering the parts that a message's content is made of.

Sources, read November 2026, below https://docs.aws.amazon.com/bedrock/latest/APIReference/:
API_runtime_ContentBlock.html, API_runtime_DocumentBlock.html, API_runtime_ToolResultBlock.html,
API_runtime_S3Location.html. Media are bytes or are in S3; the service fetches no other URL and
stores no files.
"""

import base64
from collections.abc import Mapping
from typing import Final

import msgspec

from llmcore.protocols import media
from llmcore.protocols.bedrock_converse.models import ConverseRules
from llmcore.protocols.bedrock_converse.names import METADATA_KEY, Block
from llmcore.protocols.claude import Citing, is_cited, move_media_of_error
from llmcore.protocols.history import LoweringTarget
from llmcore.protocols.lowering import native_citations, omitted_part, omitted_text
from llmcore.protocols.tools import object_arguments
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import text_or_json
from llmcore.schema.native_json import all_objects


class ConverseTarget(LoweringTarget, frozen=True, kw_only=True):
    """The model and the request that content is lowered for."""

    rules: ConverseRules
    citations: Citing = "asked"
    document_names: set[str] = msgspec.field(default_factory=set[str])
    """Names that documents of this body have; no two may have the same."""


def lower_part(part: ContentPart, target: ConverseTarget, diagnostics: Diagnostics) -> Block:
    """Return one part of a user's content as a block.

    What the API does not take becomes a short text in its place, and a Diagnostic.
    """
    match part:
        case TextPart():
            return text_block(part.text)
        case ImagePart():
            pdf = media.pdf_of(part, diagnostics)
            if pdf is not None:
                return _lower_document(pdf, target, diagnostics)
            return _lower_image(part, diagnostics)
        case DocumentPart():
            return _lower_document(part, target, diagnostics)
        case AudioPart():
            return _lower_audio(part, diagnostics)
        case ProviderPart(provider=provider, data=Mapping() as data) if provider in target.keys:
            return dict(data)
        case _:
            return {"text": omitted_part(part, diagnostics)}


def text_block(text: str) -> Block:
    """Return *text* alone."""
    return {"text": text}


def lower_assistant_text(part: TextPart, diagnostics: Diagnostics) -> Block:
    """Return a text of the model with its citations."""
    native = native_citations(part.citations, METADATA_KEY, diagnostics)
    citations = [dict(citation) for citation in native]
    if not citations:
        return {"text": part.text}
    return {"citationsContent": {"content": [{"text": part.text}], "citations": citations}}


# -- media


def _lower_image(part: ImagePart, diagnostics: Diagnostics) -> Block:
    media_type, source = _media(part)
    if isinstance(source, str):
        return _omitted("an image", source, diagnostics)
    name = media.image_format(media_type)
    if name is None:
        return _omitted("an image", f"the API accepts no {media_type}", diagnostics)
    if part.detail not in (None, "auto"):
        diagnostics.at("detail").unsupported("the API has no detail levels")
    return {"image": {"format": name, "source": source}}


def _lower_audio(part: AudioPart, diagnostics: Diagnostics) -> Block:
    media_type, source = _media(part)
    if isinstance(source, str):
        return _omitted("audio", source, diagnostics, part.transcript)
    name = media.audio_format(media_type)
    if name is None:
        return _omitted("audio", f"the API accepts no {media_type}", diagnostics, part.transcript)
    return {"audio": {"format": name, "source": source}}


def _lower_document(part: DocumentPart, target: ConverseTarget, diagnostics: Diagnostics) -> Block:
    media_type, source = _media(part)
    label = part.title or part.name
    if isinstance(source, str):
        return _omitted("a document", source, diagnostics, label)
    video = media.video_format(media_type)
    if video is not None:
        return {"video": {"format": video, "source": source}}
    name = media.document_format(media_type)
    if name is None:
        return _omitted("a document", f"the API accepts no {media_type}", diagnostics, label)
    document_name = media.document_name(label, target.document_names)
    target.document_names.add(document_name)
    document: Block = {"format": name, "name": document_name, "source": source}
    if part.context:
        document["context"] = part.context
    if is_cited(part, target.citations, diagnostics):
        document["citations"] = {"enabled": True}
    return {"document": document}


def _media(part: media.MediaPart) -> tuple[str, Block | str]:
    """Return MIME type and source, or instead of the source why the service does not take it.

    Raises InvalidRequestError if the MIME type cannot be determined.
    """
    if part.file_id is not None:
        return "", "the service stores no files: give data or a path"
    typed_bytes = media.raw_data(part)
    if typed_bytes is not None:
        if not typed_bytes[1]:
            raise InvalidRequestError(f"{media.noun_of(part)} holds no bytes: give its data")
        return typed_bytes[0], {"bytes": base64.b64encode(typed_bytes[1]).decode()}
    url = media.remote_url(part) or ""
    if not url.startswith("s3://"):
        return "", "the service fetches only s3:// addresses: give data or a path"
    media_type = media.media_type_of(part)
    if media_type is None:
        raise InvalidRequestError(f"cannot tell what {url} holds: give its media type")
    owner = part.provider_metadata.get(METADATA_KEY, {}).get("bucketOwner")
    location = {"uri": url, "bucketOwner": owner} if owner else {"uri": url}
    return media_type, {"s3Location": location}


def _omitted(what: str, why: str, diagnostics: Diagnostics, words: str | None = None) -> Block:
    """Return the text that replaces something that could not be sent."""
    return {"text": omitted_text(what, why, diagnostics, words)}


# -- calls of tools, and their results

EMPTY_RESULT: Final = "(no output)"
"""The service refuses text of no characters, and results without content."""


def lower_call(call: ToolCallPart, diagnostics: Diagnostics) -> Block:
    """Return a call of the caller's tool."""
    given = object_arguments(call, diagnostics)
    return {"toolUse": {"toolUseId": call.id, "name": call.name, "input": given}}


def lower_result(
    part: ToolResultPart,
    target: ConverseTarget,
    diagnostics: Diagnostics,
    after_results: list[Block],
) -> Block:
    """Return a tool's result. Only a failure is marked: some models take no `status`.

    What a result of a failed tool cannot hold goes to *after_results*.
    """
    content = _result_content(part, target, diagnostics)
    if part.is_error and target.rules.family == "claude":
        kinds = [(next(iter(block)), block) for block in content]
        content, moved = move_media_of_error(kinds, text_block, part.tool_call_id, diagnostics)
        after_results += moved
    result: Block = {"toolUseId": part.tool_call_id, "content": content}
    if part.is_error:
        result["status"] = "error"
    return {"toolResult": result}


def _result_content(
    part: ToolResultPart, target: ConverseTarget, diagnostics: Diagnostics
) -> list[Block]:
    content = part.content
    if isinstance(content, Mapping):
        return [{"json": dict(content)}]
    if isinstance(content, tuple):
        blocks = [
            _lower_output(item, target, diagnostics.at(f"content[{index}]"))
            for index, item in enumerate(part.parts)
        ]
    else:
        text = text_or_json(content)
        blocks = [{"text": text}] if text.strip() else []
    if not blocks:
        why = f"the service accepts no empty result: {EMPTY_RESULT!r} is sent"
        diagnostics.at("content").changed("empty-text", why)
    return blocks or [{"text": EMPTY_RESULT}]


def _lower_output(item: ToolOutputPart, target: ConverseTarget, diagnostics: Diagnostics) -> Block:
    if isinstance(item, AudioPart):
        return _omitted("audio", "a tool's result cannot contain any", diagnostics, item.transcript)
    return lower_part(item, target, diagnostics)


_RESULT_BLOCKS = frozenset({"document", "image", "json", "searchResult", "text", "video"})


def lower_executed(part: ToolCallPart | ToolResultPart) -> Block | None:
    """Return a call or result of the service's own tool as it came.

    None if it did not come from this API.
    """
    native = part.provider_metadata.get(METADATA_KEY, {})
    if isinstance(part, ToolResultPart):
        content = part.content
        blocks = all_objects(content)
        if blocks is None or not all(len(b) == 1 and b.keys() <= _RESULT_BLOCKS for b in blocks):
            return None
        return {"toolResult": {"toolUseId": part.tool_call_id, "content": content, **native}}
    if "type" not in native or not part.is_valid:
        return None
    call = {"toolUseId": part.id, "name": part.name, "input": part.arguments}
    return {"toolUse": {**call, **native}}


def lower_reasoning_part(part: ReasoningPart) -> Block:
    """Return reasoning exactly as it came; its text may be empty, its signature is what counts."""
    if part.encrypted is not None:
        return {"reasoningContent": {"redactedContent": part.encrypted}}
    shown: Block = {"text": part.text}
    if part.signature is not None:
        shown["signature"] = part.signature
    return {"reasoningContent": {"reasoningText": shown}}
