"""OpenAI Responses: lowering the parts that a message's or a result's content is made of.

Sources, read November 2026: https://developers.openai.com/api/docs/guides/images-vision,
https://developers.openai.com/api/docs/guides/file-inputs.
"""

from typing import Any, TypeAlias

from llmcore.protocols import media
from llmcore.protocols.notes import Notes
from llmcore.protocols.substitutes import document_text, file_name, left_out
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    TextPart,
)

Native: TypeAlias = dict[str, Any]


def lower_part(part: ContentPart, path: str, keys: frozenset[str], notes: Notes) -> list[Native]:
    """Return one part of what a user says, or a tool returns, as native parts.

    What the server does not take becomes a short text in its place, and a Diagnostic.
    """
    match part:
        case TextPart(text=text):
            return [_text(text)]
        case ImagePart():
            return [lower_image(part)]
        case AudioPart(transcript=transcript):
            return [_omitted("sound", path, "the Responses API takes none", notes, transcript)]
        case DocumentPart():
            return _lower_document(part, path, notes)
        case ProviderPart(provider=provider, data=dict() as data) if provider in keys:
            return [dict(data)]
        case _:
            what = f"a part of {part.provider}" if isinstance(part, ProviderPart) else _name(part)
            return [_omitted(what, path, "it has no form here", notes)]


def content_of(parts: list[Native]) -> str | list[Native]:
    """Return native parts as `content`: a lone text as a string, which says the same."""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        text: str = parts[0]["text"]
        return text
    return parts


def _text(text: str) -> Native:
    return {"type": "input_text", "text": text}


# -- media


def lower_image(part: ImagePart) -> Native:
    """Return a picture; all forms of one are taken."""
    image: Native = {"type": "input_image", "detail": part.detail or "auto"}
    if part.file_id is not None:
        return {**image, "file_id": part.file_id}
    return {**image, "image_url": media.data_url(part) or media.remote_url(part)}


def _lower_document(part: DocumentPart, path: str, notes: Notes) -> list[Native]:
    media_type = media.media_type_of(part) or ""
    if media_type.startswith("video/"):
        name = part.name or part.title
        return [_omitted("a video", path, "the Responses API takes none", notes, name)]
    if part.citations:
        why = "the Responses API cannot be asked to cite documents"
        notes.dropped("unsupported-parameter", f"{path}.citations", why)
    text = media.text_data(part)
    if text is not None:
        return [_text(document_text(part, text))]
    before = [_text(part.context)] if part.context else []
    return [*before, _lower_file(part)]


def _lower_file(part: DocumentPart) -> Native:
    if part.file_id is not None:
        return {"type": "input_file", "file_id": part.file_id}
    data = media.data_url(part)
    if data is None:
        return {"type": "input_file", "file_url": media.remote_url(part)}
    name = file_name(part)
    return {"type": "input_file", "filename": name, "file_data": data}


def _omitted(what: str, path: str, why: str, notes: Notes, words: str | None = None) -> Native:
    """Return the text that stands where something could not be sent."""
    return _text(left_out(what, path, why, notes, words))


def _name(part: object) -> str:
    return f"a {type(part).__name__}"
