"""Content of messages: reads it as parts, and writes it from them.

    {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral"}}
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,...", "detail": "low"}}
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,..."}}

Media come from a client of the network: only web addresses and data URLs are taken, never paths.
Sources, read November 2026: https://developers.openai.com/api/reference/resources/chat,
https://openrouter.ai/docs/features/multimodal (`video_url`, files by URL, `cache_control`).
"""

import base64
from collections.abc import Iterable, Sequence
from typing import Final, cast

from llmcore.fronts import field_types, reading
from llmcore.fronts.errors import invalid
from llmcore.fronts.openai_forms import logprob_list, token_bytes
from llmcore.fronts.reading import Fields
from llmcore.protocols import media
from llmcore.protocols.openai_chat.names import METADATA_KEY, PROTOCOL_ID
from llmcore.schema.content import (
    AudioPart,
    Citation,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    TokenLogprob,
    ToolOutputPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import File
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.native_json import (
    int_or_none,
    object_or_empty,
    objects,
    str_or_empty,
    str_or_none,
)

# -- reading

_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_OTHERS: Final = {"video_url": "video/mp4", "document_url": None}
"""Parts given by URL that OpenAI's API does not have (OpenRouter's, Mistral's), and their types."""
_DETAILS: Final = ("auto", "low", "high", "original")
_FIELDS: Final = frozenset(
    {
        "annotations",
        "cache_control",
        "detail",
        "file",
        "image_url",
        "input_audio",
        "prompt_cache_breakpoint",
    }
    | {"file_data", "file_id", "file_url", "filename", "refusal", "text", "thinking", "type"}
    | _OTHERS.keys()
)
"""Fields of parts."""
_INSIDE: Final = {
    "document_url": frozenset({"url"}),
    "file": frozenset({"file_data", "file_id", "file_url", "filename"}),
    "image_url": frozenset({"detail", "url"}),
    "input_audio": frozenset({"data", "format"}),
    "video_url": frozenset({"url"}),
}
"""Fields of the objects in parts."""
_AUDIO_TYPES: Final = {"mp3": "audio/mpeg", "wav": "audio/wav"}


def read_content(
    content: object, diagnostics: Diagnostics, *, protocol_id: str | None
) -> tuple[ContentPart, ...]:
    """Return the parts of a message's content, which is a text, a list of parts, or null.

    *protocol_id* is that of the upstream: if it is Chat Completions, parts that OpenAI's API does
    not have are sent to it unread. Raises FrontError, naming the place, for other content.
    """
    if not content:
        return ()  # an empty text has no part that an API takes
    if isinstance(content, str):
        return (reading.text_part(content),)
    if not isinstance(content, list):
        path = diagnostics.path
        raise invalid(f"{path} must be a text or a list of parts.", path)
    return tuple(
        _read_part(part, protocol_id, diagnostics.at(f"[{index}]"))
        for index, part in enumerate(content)
    )


def read_result(
    content: object, diagnostics: Diagnostics, *, protocol_id: str | None
) -> JsonValue | tuple[ToolOutputPart, ...]:
    """Return a tool's result: a text, or parts. OpenAI's own API accepts no images there."""
    if isinstance(content, str) or content is None:
        return content or ""
    parts = read_content(content, diagnostics, protocol_id=protocol_id)
    return cast("tuple[ToolOutputPart, ...]", parts)


def _read_part(part: object, protocol_id: str | None, diagnostics: Diagnostics) -> ContentPart:
    if isinstance(part, str):
        return reading.text_part(part)
    native = object_or_empty(part)
    if protocol_id in (None, PROTOCOL_ID) and _is_unread(native):
        return ProviderPart(METADATA_KEY, native)
    reading.report_unknown(native, _FIELDS, diagnostics)
    field_types.check_types(native, field_types.OF_CHAT_PARTS, diagnostics.path)
    if not _INSIDE.keys().isdisjoint(native):
        reading.report_unknown_inside(native, _INSIDE, diagnostics)
    return reading.with_mark(
        _read_native(native, diagnostics.path), native, protocol_id, diagnostics
    )


_READ: Final = _TEXTS | {"file", "image_url", "input_audio", "input_file", "input_image"}
_READ_OF_MODEL: Final = frozenset({"refusal", "thinking"})


def _is_unread(native: Fields) -> bool:
    """Return whether a part goes to another server of the API as it is.

    These are parts that OpenAI's API does not have, audio by its address or as a data URL (Qwen's
    API), and files by their address (OpenRouter's). Sources, read November 2026:
    https://www.alibabacloud.com/help/en/model-studio/qwen-omni,
    https://openrouter.ai/docs/features/multimodal.
    """
    kind = str_or_none(native.get("type"))
    if kind == "input_audio":
        data = str_or_none(object_or_empty(native.get(kind)).get("data"))
        return data is not None and reading.is_remote(data)
    if kind == "file":
        data = str_or_none(object_or_empty(native.get(kind)).get("file_data"))
        return data is not None and reading.is_remote(data) and not media.is_data_url(data)
    return kind is not None and kind not in _READ | _READ_OF_MODEL


def _read_native(native: Fields, path: str) -> ContentPart:
    match native.get("type"):
        case str(kind) if kind in _TEXTS:
            text = reading.required(native, "text", str, f"{path}.")
            citations = read_annotations(native.get("annotations"))
            return TextPart(text, citations=citations) if citations else reading.text_part(text)
        case "refusal":
            return RefusalPart(reading.required(native, "refusal", str, f"{path}."))
        case "thinking":  # Mistral's
            inner = native.get("thinking")
            texts = (str_or_empty(piece.get("text")) for piece in objects(inner))
            return ReasoningPart(inner if isinstance(inner, str) else "".join(texts))
        case "image_url" | "input_image":
            return _image(native, path)
        case "input_audio":
            given = native.get("input_audio")  # a text, as for Mistral
            data = {"data": given} if isinstance(given, str) else object_or_empty(given)
            return _audio(data, f"{path}.input_audio")
        case "file":
            return _file(object_or_empty(native.get("file")) or native, f"{path}.file")
        case "input_file":
            return _file(native, path)
        case str(kind) if kind in _OTHERS:
            where = f"{path}.{kind}.url"
            url = reading.remote(_address(native.get(kind), where), where)
            return DocumentPart(
                url=url, media_type=None if media.is_data_url(url) else _OTHERS[kind]
            )
        case kind:
            raise invalid(f"{path} has the unknown type {str(kind)[:80]!r}.", f"{path}.type")


def _address(value: object, path: str) -> str:
    """Return the address in `{"url": ...}`; some clients leave the object out."""
    url = value if isinstance(value, str) else object_or_empty(value).get("url")
    if not isinstance(url, str) or not url:
        raise invalid(f"{path} must be a web address or a data URL.", path)
    return url


def _image(native: Fields, path: str) -> ImagePart:
    holder, where = native.get("image_url"), f"{path}.image_url.url"
    detail = object_or_empty(holder).get("detail") or native.get("detail")
    if detail is not None and detail not in _DETAILS:
        place = f"{path}.image_url.detail"
        raise invalid(f"{place} is one of {', '.join(_DETAILS)}.", place)
    return ImagePart(url=reading.remote(_address(holder, where), where), detail=detail)


def _audio(native: Fields, path: str) -> AudioPart:
    data = reading.required(native, "data", str, f"{path}.")
    form = reading.read_field(native, "format", str, f"{path}.")
    known = _AUDIO_TYPES.get(str(form), f"audio/{form}" if form else None)
    if reading.is_remote(data):
        return AudioPart(url=data, media_type=known)
    return AudioPart(data=reading.decoded(data, f"{path}.data"), media_type=known)


def _file(native: Fields, path: str) -> DocumentPart:
    name = reading.read_field(native, "filename", str, f"{path}.")
    file_id = reading.read_field(native, "file_id", str, f"{path}.")
    data = str_or_none(native.get("file_data")) or str_or_none(native.get("file_url"))
    if (data is None) == (file_id is None):
        raise invalid(f"{path}: a file has file_data or a file_id.", path)
    if data is None:
        return DocumentPart(file_id=file_id, name=name)
    raw = None if ":" in data[:12] else decode_base64(data)
    if raw is not None:
        return DocumentPart(data=raw, name=name)
    return DocumentPart(url=reading.remote(data, f"{path}.file_data"), name=name)


# -- citations, both directions


def read_annotations(value: object) -> tuple[Citation, ...]:
    """Return the citations of a text, in this API's form or in that of the Responses API."""
    cited = [
        object_or_empty(annotation.get("url_citation", annotation)) for annotation in objects(value)
    ]
    return tuple(
        Citation(
            url=str_or_none(annotation.get("url")),
            title=str_or_none(annotation.get("title")),
            cited_text=str_or_none(annotation.get("content")),
            start_index=int_or_none(annotation.get("start_index")),
            end_index=int_or_none(annotation.get("end_index")),
        )
        for annotation in cited
        if annotation
    )


def annotations_of(
    citations: Iterable[Citation], text: str, start: int, diagnostics: Diagnostics
) -> list[JsonObject]:
    """Return the citations of *text* as annotations; it begins at character *start* of the content.

    A citation of something that is not on the web is named in a Diagnostic.
    """
    annotations: list[JsonObject] = []
    for citation in citations:
        if citation.url is None:
            why = "only pages of the web can be cited in Chat Completions"
            diagnostics.at("choices[0].message.annotations").dropped("citation-dropped", why)
            continue
        # a provider that names no stretch means the whole text
        end = len(text) if citation.end_index is None else citation.end_index
        cited: dict[str, JsonValue] = {
            "url": citation.url,
            "title": citation.title or citation.url,
            "start_index": start + (citation.start_index or 0),
            "end_index": start + end,
        }
        if citation.cited_text is not None:
            cited["content"] = citation.cited_text
        annotations.append({"type": "url_citation", "url_citation": cited})
    return annotations


# -- log probabilities


def native_logprobs(tokens: Iterable[TokenLogprob]) -> Sequence[JsonObject]:
    """Return log probabilities as `logprobs.content` or `logprobs.refusal` has them."""
    return logprob_list(tokens, _with_bytes)


def _with_bytes(token: TokenLogprob) -> dict[str, JsonValue]:
    data = token_bytes(token)
    listed: list[JsonValue] | None = None if data is None else [*data]
    return {"token": token.token, "logprob": token.logprob, "bytes": listed}


# -- media in responses


def native_image(file: File) -> JsonObject | None:
    """Return an image as OpenRouter has it in `images`; None for another file.

    Source: https://openrouter.ai/docs/features/multimodal/image-generation
    """
    url = _image_url(file)
    return None if url is None else {"type": "image_url", "image_url": {"url": url}}


def _image_url(file: File) -> str | None:
    if file.data is not None:
        kind = file.media_type or media.sniffed(file.data) or ""
        encoded = base64.b64encode(file.data).decode()
        return f"data:{kind};base64,{encoded}" if kind.startswith("image/") else None
    url = file.url or ""
    kind = file.media_type or ("image/" if url.startswith("https:") else url[5:])
    is_image = kind.startswith("image/") and url.startswith(("https:", "http:", "data:"))
    return url if is_image else None


def read_images(value: object, path: str) -> tuple[ImagePart, ...]:
    """Return the images of an assistant message, as `native_image` writes them."""
    return tuple(_image(image, f"{path}[{index}]") for index, image in enumerate(objects(value)))


def native_audio(file: File, created_at: int) -> JsonObject | None:
    """Return spoken words as `audio` of a message; None for another file.

    `expires_at` is the time until which the upstream keeps the audio. Audio of an upstream that
    states none expires at once, since the gateway does not keep it.
    """
    if not (file.media_type or "").startswith("audio/") or file.data is None:
        return None
    native = object_or_empty(file.provider_metadata.get(METADATA_KEY))
    expires = int_or_none(native.get("expires_at"))
    return {
        "id": file.id,
        "data": base64.b64encode(file.data).decode(),
        "expires_at": created_at if expires is None else expires,
        "transcript": file.transcript or "",
    }
