"""Gemini: lowering text, pictures, sound and documents.

Sources, read November 2026: https://ai.google.dev/api/caching#Part (`inlineData`, `fileData`),
https://ai.google.dev/gemini-api/docs/file-input-methods and .../media-resolution.
"""

from typing import Any, Final, TypeAlias

from llmcore.protocols import media
from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.gemini.models import ModelRules
from llmcore.schema.content import AudioPart, DocumentPart, ImagePart

Native: TypeAlias = dict[str, Any]
MediaPart: TypeAlias = ImagePart | AudioPart | DocumentPart


def with_own(native: Native, own: Native) -> Native:
    """Lay what a part carried over *native*: fields beside its content, and inside it."""
    merged = dict(native)
    for name, value in own.items():
        below = merged.get(name)
        merged[name] = {**below, **value} if isinstance(below, dict) else value
    return merged


def lower_media(part: MediaPart, path: str, rules: ModelRules, notes: Notes) -> list[Native]:
    """Return the parts that *part* becomes: itself, and before it what is to be known of it."""
    native = _lower_source(part, path, notes)
    before: list[Native] = []
    if isinstance(part, ImagePart):
        native |= _lower_detail(part, path, rules, notes)
    if isinstance(part, DocumentPart):
        words = "\n".join(filter(None, (part.title or part.name, part.context)))
        before = [{"text": words}] if words else []
        if part.citations:
            why = "the model cannot be asked to cite documents"
            notes.dropped("unsupported-parameter", f"{path}.citations", why)
    return [*before, native]


def _lower_source(part: MediaPart, path: str, notes: Notes) -> Native:
    """Return `inlineData`, or `fileData` for what stands elsewhere.

    The MIME type goes with its parameters: raw sound is nothing without its rate.
    """
    found = media.base64_data(part)
    if found is not None:
        media_type = part.media_type or found[0]
        if not media_type.startswith("text/") and media.text_data(part) is not None:
            why = f"the model reads {media_type} as plain text only"
            notes.changed("media-type-changed", f"{path}.media_type", why)
            media_type = "text/plain"
        return {"inlineData": {"mimeType": media_type, "data": found[1]}}
    uri = part.url or part.file_id
    known = part.media_type or media.media_type_of(part)
    return {"fileData": {**({"mimeType": known} if known else {}), "fileUri": uri}}


_RESOLUTIONS: Final = {"low": "LOW", "high": "HIGH", "original": "ULTRA_HIGH"}


def _lower_detail(part: ImagePart, path: str, rules: ModelRules, notes: Notes) -> Native:
    level = _RESOLUTIONS.get(part.detail or "")
    if level is None:
        return {}
    if not rules.media_resolution:
        why = "the model looks at all pictures alike (generationConfig.mediaResolution)"
        notes.dropped("unsupported-parameter", f"{path}.detail", why)
        return {}
    return {"mediaResolution": {"level": f"MEDIA_RESOLUTION_{level}"}}
