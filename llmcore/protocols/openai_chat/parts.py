"""OpenAI Chat Completions: lowering the parts of messages, and what is read off whole ones.

Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat/create (content
parts), https://platform.openai.com/docs/guides/images-vision,
https://platform.openai.com/docs/guides/pdf-files, https://openrouter.ai/docs/features/multimodal
(files and videos by URL, `cache_control`).
"""

from llmcore.protocols import media
from llmcore.protocols.caching import cache_mark
from llmcore.protocols.lowering import (
    SKIP_SIGNATURE,
    document_text,
    file_name,
    omitted_block,
    omitted_part,
)
from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.protocols.openai_chat.names import (
    CALL_FIELDS,
    METADATA_KEY,
    REASONING_FIELDS,
    THINKING_PARTS,
)
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    cache_ttl,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import NativeObject
from llmcore.schema.messages import Message
from llmcore.schema.native_json import str_or_none


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
            pdf = media.pdf_of(part, diagnostics)
            if pdf is not None:
                return _lower_document(pdf, dialect, diagnostics)
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


# -- fields of messages, and calls


def holds_reasoning(part: ContentPart) -> bool:
    """Return whether *part* is reasoning, or has data of this API, which may be of reasoning.

    Reasoning that came as a part of the content goes back as one.
    """
    data = part.provider_metadata.get(METADATA_KEY)
    if type(part) is ReasoningPart:
        return data is None or data.get("reasoning_field") not in THINKING_PARTS
    return data is not None


def thinking_part(part: ReasoningPart, dialect: ChatDialect) -> NativeObject | None:
    """Return *part* as a part of the content, if the server has thinking there."""
    form = "content" if dialect.thinks_in_content and part.text else None
    if dialect.reasoning_replay == "own":
        known = part.provider_metadata.get(METADATA_KEY, {})
        form = str_or_none(known.get("reasoning_field"))
    proof: NativeObject = {"signature": part.signature} if part.signature else {}
    if form == "content":
        words = [{"type": "text", "text": part.text}]
        return {"type": "thinking", "thinking": words, **proof}
    if form != "summary":
        return None
    text = {"type": "summary_text", "text": part.text, **proof}
    sealed = {"type": "summary_encrypted_text", "data": part.encrypted}
    summary = [*([text] if part.text else ()), *([sealed] if part.encrypted else ())]
    return {"type": "reasoning", "summary": summary}


def thinks_beside_blocks(message: Message) -> bool:
    """Return whether blocks do not hold all of the thinking of *message*.

    MiniMax's server alternates between them and `reasoning_content`.
    """
    data = [
        part.provider_metadata.get(METADATA_KEY, {})
        for part in message.content
        if isinstance(part, ReasoningPart) and part.text
    ]
    return any("reasoning_field" in one or not one.get("reasoning_details") for one in data)


def reasoning_field_of(message: Message) -> str | None:
    """Return the field in which the thinking of *message* came, where it is not the usual one."""
    metadata = (part.provider_metadata.get(METADATA_KEY, {}) for part in message.content)
    field_names = (data.get("reasoning_field") for data in metadata)
    return next((name for name in field_names if name in REASONING_FIELDS), None)


def is_of_message(part: ProviderPart) -> bool:
    """Return whether *part* holds fields of the message, not a part of its content."""
    return part.provider_metadata.get(METADATA_KEY, {}).get("place") == "message"


def is_plain_call(call: ToolCallPart) -> bool:
    """Return whether *call* is one of a function, with an object as its arguments."""
    return call.kind == "function" and not call.provider_executed and call.is_valid


def kept_fields(call: ToolCallPart) -> NativeObject:
    """Return the fields that came with *call* and must go back with it."""
    known = call.provider_metadata.get(METADATA_KEY, {})
    return {name: known[name] for name in CALL_FIELDS if known.get(name)}


def function_call(call_id: str, name: str, arguments: str) -> NativeObject:
    """Return a call of a function, whose *arguments* are JSON text."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def signed_call(call: NativeObject, diagnostics: Diagnostics) -> NativeObject:
    """Return *call* with a thought signature: its own, or the value that skips the check.

    Source: https://ai.google.dev/gemini-api/docs/thought-signatures (OpenAI compatibility).
    """
    if "extra_content" in call:
        return call
    why = "its call has no signature of this model: the value that skips the check is sent"
    diagnostics.added("thought-signature-skipped", why)
    return {**call, "extra_content": {"google": {"thought_signature": SKIP_SIGNATURE}}}


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
