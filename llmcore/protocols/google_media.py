"""Media out of Gemini's models: `generateContent` that answers with images or speech.

Documents, read November 2026: https://ai.google.dev/gemini-api/docs/image-generation,
https://ai.google.dev/gemini-api/docs/speech-generation, https://ai.google.dev/api/generate-content.
An answer:

    {"candidates": [{"content": {"role": "model", "parts": [{"inlineData":
     {"mimeType": "image/png", "data": "iVBO..."}}]}, "finishReason": "STOP"}],
     "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1290},
     "modelVersion": "gemini-3.1-flash-image"}
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

from llmcore.protocols.media import MediaPart, base64_data, decode_base64, media_type_of
from llmcore.protocols.native_json import object_or_empty, objects, str_or_none
from llmcore.protocols.protocol import NativeResponse
from llmcore.schema.errors import ContentFilterError, LLMError, StreamError
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.unary import UnaryRequest
from llmcore.schema.usage import Usage

VERTEX_MODELS: Final = "publishers/google/"
"""The parent of models on Vertex."""

_REFUSALS: Final = ("SAFETY", "PROHIBITED", "BLOCKLIST", "RECITATION", "SPII")
"""In the finish reasons of answers that a filter withheld, such as `IMAGE_SAFETY`."""


def google_path(request: UnaryRequest, method: str, below: str = "") -> str:
    """Return the path of *method* of the model: `/models/m:method`, with *below* before it."""
    model = request.model_id
    resource = model if "/" in model else f"{below}models/{model}"
    return f"/{quote(resource, safe='/@')}:{method}"


def content_body(text: str, media: Sequence[MediaPart], config: JsonObject) -> JsonObject:
    """Return the body that asks with *text* and *media*, of *config* as its `generationConfig`."""
    parts: list[JsonValue] = [{"text": text}, *map(_lowered, media)]
    return {"contents": [{"role": "user", "parts": parts}], "generationConfig": config}


def _lowered(part: MediaPart) -> JsonObject:
    found = base64_data(part)
    if found is not None:
        return {"inlineData": {"mimeType": part.media_type or found[0], "data": found[1]}}
    known = part.media_type or media_type_of(part)
    return {"fileData": {"fileUri": part.url or part.file_id, "mimeType": known}}


def read_media(answer: NativeResponse, kind: str) -> list[tuple[str, bytes]]:
    """Return the MIME type and the bytes of the parts of *kind*, such as `image`.

    Raises ContentFilterError if they were withheld, StreamError if there are none.
    """
    document = object_or_empty(answer.document)
    found = [
        (media_type, data)
        for media_type, data in _inline(document)
        if media_type.partition("/")[0] == kind
    ]
    if not found:
        raise _no_media(document, kind)
    return found


def _inline(document: JsonObject) -> Iterator[tuple[str, bytes]]:
    for candidate in objects(document.get("candidates")):
        for part in objects(object_or_empty(candidate.get("content")).get("parts")):
            data = object_or_empty(part.get("inlineData"))
            content = decode_base64(data.get("data"))
            if content and part.get("thought") is not True:
                yield str(data.get("mimeType")), content


def _no_media(document: JsonObject, kind: str) -> LLMError:
    feedback = object_or_empty(document.get("promptFeedback"))
    ends: list[dict[str, Any]] = [feedback, *objects(document.get("candidates"))]
    words = [end.get("blockReason") or end.get("finishReason") for end in ends]
    said = [str_or_none(end.get("blockReasonMessage") or end.get("finishMessage")) for end in ends]
    why = ", ".join(filter(None, map(str_or_none, [*words, *said]))) or "no reason stated"
    message = f"the answer has no {kind}: {why}"
    if feedback.get("blockReason") or any(word in why for word in _REFUSALS):
        return ContentFilterError(message)
    return StreamError(message, retryable=False)


def google_usage(answer: NativeResponse) -> Usage:
    """Return the tokens of an answer."""
    from llmcore.protocols.gemini.finish import map_usage  # clients of other providers need none

    return map_usage(object_or_empty(object_or_empty(answer.document).get("usageMetadata")))
