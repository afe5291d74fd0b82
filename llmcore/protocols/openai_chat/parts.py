"""OpenAI Chat Completions: lowering the parts of messages.

Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat/create (content
parts), https://platform.openai.com/docs/guides/images-vision,
https://platform.openai.com/docs/guides/pdf-files, https://openrouter.ai/docs/features/multimodal
(files and videos by URL, `cache_control`).
"""

from llmcore.protocols import media
from llmcore.protocols.caching import cache_mark
from llmcore.protocols.lowering import document_text, file_name, omitted_block, omitted_part
from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    TextPart,
    cache_ttl,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import NativeObject


def lower_part(
    part: ContentPart, dialect: ChatDialect, keys: frozenset[str], diagnostics: Diagnostics
) -> list[NativeObject]:
    """Return one part of a user's content as native parts.

    A part that the server does not take is replaced by a short text, with a Diagnostic.
    """
    match part:
        case TextPart():
            return [_lower_text(part, dialect)]
        case ImagePart():
            return [_lower_image(part, dialect, diagnostics)]
        case AudioPart():
            return [_lower_audio(part, dialect, diagnostics)]
        case DocumentPart():
            return _lower_document(part, dialect, diagnostics)
        case ProviderPart(provider=provider, data=dict() as data) if provider in keys:
            return [dict(data)]
        case _:
            return [{"type": "text", "text": omitted_part(part, diagnostics)}]


def _lower_text(part: TextPart, dialect: ChatDialect) -> NativeObject:
    """Return text, with its cache mark where the server takes them."""
    native: NativeObject = {"type": "text", "text": part.text}
    ttl = cache_ttl(part) if dialect.cache_control else None
    if ttl is not None:
        native["cache_control"] = cache_mark(ttl)
    return native


def content_of(parts: list[NativeObject], dialect: ChatDialect) -> str | list[NativeObject]:
    """Return native parts as `content`: plain text as one string where that means the same."""
    if any(part.keys() != {"type", "text"} for part in parts):
        return parts
    if len(parts) > 1 and dialect.text_parts:
        return parts
    return "\n\n".join(part["text"] for part in parts)


# -- media


def _lower_image(part: ImagePart, dialect: ChatDialect, diagnostics: Diagnostics) -> NativeObject:
    if not dialect.images:
        return omitted_block("an image", "the server does not accept it", diagnostics)
    url = media.data_url(part) or media.remote_url(part)
    if url is None:
        return omitted_block("an image", "it cannot be given by file id", diagnostics)
    if not dialect.image_urls and not media.is_data_url(url):
        return omitted_block("an image", "the server accepts no URLs; set data", diagnostics)
    image: NativeObject = {"url": url}
    if part.detail is not None:
        image["detail"] = part.detail
    return {"type": "image_url", "image_url": image}


def _lower_audio(part: AudioPart, dialect: ChatDialect, diagnostics: Diagnostics) -> NativeObject:
    if not dialect.audio_formats:
        return omitted_block("audio", "the server does not accept it", diagnostics, part.transcript)
    encoded = media.base64_data(part)
    url = media.remote_url(part)
    if dialect.media_in_text and url is not None:
        return {"type": "input_audio", "input_audio": url}
    if encoded is None:
        return omitted_block("audio", "only its bytes can be given", diagnostics, part.transcript)
    form = media.audio_format(encoded[0])
    if form is None or form not in dialect.audio_formats:
        taken = ", ".join(sorted(dialect.audio_formats))
        return omitted_block(
            "audio", f"the server takes {taken}, not {encoded[0]}", diagnostics, part.transcript
        )
    data = {"data": encoded[1], "format": form}
    return {"type": "input_audio", "input_audio": encoded[1] if dialect.media_in_text else data}


def _lower_document(
    part: DocumentPart, dialect: ChatDialect, diagnostics: Diagnostics
) -> list[NativeObject]:
    media_type = media.media_type_of(part) or ""
    if media_type.startswith("video/"):
        return [_lower_video(part, dialect, diagnostics)]
    if part.citations:
        why = "Chat Completions does not support citations of documents"
        diagnostics.at("citations").unsupported(why)
    text = media.text_data(part)
    if text is not None:
        return [{"type": "text", "text": document_text(part, text)}]
    before = [{"type": "text", "text": part.context}] if part.context else []
    return [*before, _lower_file(part, dialect, diagnostics)]


def _lower_file(part: DocumentPart, dialect: ChatDialect, diagnostics: Diagnostics) -> NativeObject:
    if not dialect.files:
        return omitted_block(
            "a file", "the server does not accept it", diagnostics, part.name or part.title
        )
    if part.file_id is not None:
        given = {"file_id": part.file_id}
        return {"type": "file", **(given if dialect.media_in_text else {"file": given})}
    data = media.data_url(part)
    if data is None and not dialect.file_urls:
        return omitted_block(
            "a file", "the server accepts no URLs; set data", diagnostics, part.url
        )
    name = file_name(part)
    if dialect.media_in_text:
        return {"type": "document_url", "document_url": data or part.url, "document_name": name}
    return {"type": "file", "file": {"filename": name, "file_data": data or part.url}}


def _lower_video(
    part: DocumentPart, dialect: ChatDialect, diagnostics: Diagnostics
) -> NativeObject:
    url = media.data_url(part) or media.remote_url(part)
    if not dialect.videos or url is None:
        return omitted_block(
            "a video", "the server does not accept it", diagnostics, part.name or part.title
        )
    if not dialect.image_urls and not media.is_data_url(url):
        return omitted_block("a video", "the server accepts no URLs; set data", diagnostics, url)
    return {"type": "video_url", "video_url": {"url": url}}
