"""Images, audio and documents in the forms that providers accept.

A part's media is a URL (`data:` URLs included), bytes, or a provider's file id. Local
paths are read by the client before a protocol sees the request, so a part that still has
one is an InvalidRequestError here.
"""

import base64
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias, Union
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.media_sources import decode_base64

MediaPart: TypeAlias = Union[ImagePart, AudioPart, DocumentPart]

# -- what it is

_NOUNS: Final[Mapping[type, str]] = {
    AudioPart: "audio",
    DocumentPart: "a document",
    ImagePart: "an image",
    ReasoningPart: "reasoning",
    RefusalPart: "a refusal",
    TextPart: "a text",
    ToolCallPart: "a tool call",
    ToolResultPart: "a tool result",
}


def noun_of(part: ContentPart) -> str:
    """Return what a message to a user or to a model calls *part*, such as "an image"."""
    return _NOUNS.get(type(part), "a native part")


def media_type_of(part: MediaPart) -> str | None:
    """Return the part's MIME type, in lower case and without parameters; None if unknown.

    The first source that states one: `media_type`, a `data:` URL, the first bytes, the ending of
    the document's name or of the URL's path. Of an image, the first bytes count before what is
    stated: Anthropic refuses a JPEG file that is called `image/png`.
    """
    _refuse_path(part)
    in_url = part.url is not None and is_data_url(part.url)
    stated = part.media_type or (part.url[5:].partition(",")[0] if part.url and in_url else "")
    if (plain := _plain_type(stated)) is not None:
        return (isinstance(part, ImagePart) and _image_type(_first_bytes(part))) or plain
    if in_url:
        return sniffed(_first_bytes(part))
    if part.data is not None and (media_type := sniffed(part.data)):
        return media_type
    name = part.name if isinstance(part, DocumentPart) else None
    return _type_by_name(name) or _type_by_name(_path_of(part.url or ""))


def pdf_of(part: ImagePart, diagnostics: Diagnostics) -> DocumentPart | None:
    """Return *part* as the document that it is, if it is a PDF; None for an image.

    Clients of Chat Completions put PDFs into `image_url`, since many servers read them there:
    https://docs.litellm.ai/docs/completion/document_understanding, read November 2026.
    """
    if part.file_id is not None or media_type_of(part) != "application/pdf":
        return None
    if part.detail not in (None, "auto"):
        diagnostics.at("detail").unsupported("it is a PDF, which is sent as a document")
    return DocumentPart(
        url=part.url,
        data=part.data,
        media_type="application/pdf",
        provider_metadata=part.provider_metadata,
    )


def sniffed(data: bytes) -> str | None:
    """Return the MIME type that the first bytes of *data* tell; None if they tell none."""
    for offset, magic, media_type in _MAGIC:
        if data[offset : offset + len(magic)] == magic:
            if media_type == "riff":
                return _RIFF.get(data[8:12])
            if media_type == "iso":
                return _ISO_BRANDS.get(data[8:12], "video/mp4")
            return media_type
    return None


def _image_type(data: bytes) -> str | None:
    media_type = sniffed(data)
    return media_type if media_type is not None and media_type.startswith("image/") else None


_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"RIFF", "riff"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xf1", "audio/aac"),
    (0, b"\xff\xf9", "audio/aac"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"FLV\x01", "video/x-flv"),
    (4, b"ftyp", "iso"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_ISO_BRANDS = {
    b"M4A ": "audio/mp4",
    b"qt  ": "video/quicktime",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"avif": "image/avif",
}

_OFFICE = "application/vnd.openxmlformats-officedocument"
_BY_ENDING = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "heic": "image/heic",
    "bmp": "image/bmp",
    "pdf": "application/pdf",
    "csv": "text/csv",
    "txt": "text/plain",
    "md": "text/markdown",
    "html": "text/html",
    "htm": "text/html",
    "json": "application/json",
    "xml": "application/xml",
    "doc": "application/msword",
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    "pptx": f"{_OFFICE}.presentationml.presentation",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "opus": "audio/opus",
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "mkv": "video/x-matroska",
    "webm": "video/webm",
    "mpg": "video/mpeg",
    "mpeg": "video/mpeg",
    "flv": "video/x-flv",
    "wmv": "video/x-ms-wmv",
    "3gp": "video/3gpp",
}
"""Written down here: the standard library's table differs from machine to machine."""


def _plain_type(media_type: str) -> str | None:
    plain = media_type.partition(";")[0].strip().lower()
    return ("image/jpeg" if plain == "image/jpg" else plain) or None


def _path_of(url: str) -> str:
    """Return the path of *url*; empty for an invalid URL such as `https://[`."""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def _type_by_name(name: str | None) -> str | None:
    ending = (name or "").rpartition(".")[2].lower()
    return _BY_ENDING.get(ending) if name and "." in name else None


# -- where it is


def is_data_url(url: str | None) -> bool:
    """Return whether *url* carries its data itself."""
    return url is not None and url[:5].lower() == "data:"


def remote_url(part: MediaPart) -> str | None:
    """Return the URL that the provider is to fetch; None for `data:` URLs, bytes and file ids."""
    _refuse_path(part)
    return None if is_data_url(part.url) else part.url


def raw_bytes(part: MediaPart) -> bytes | None:
    """Return the bytes, also of a `data:` URL; None for URLs and file ids."""
    _refuse_path(part)
    if part.url is not None and is_data_url(part.url):
        return _decoded(part.url)
    return part.data


def raw_data(part: MediaPart) -> tuple[str, bytes] | None:
    """Return MIME type and bytes, from bytes or a `data:` URL; None for URLs and file ids.

    Raises InvalidRequestError if the MIME type is unknown or the URL is invalid.
    """
    data = raw_bytes(part)
    return None if data is None else (_known_type(part), data)


def base64_data(part: MediaPart) -> tuple[str, str] | None:
    """Return MIME type and base64 text, from bytes or a `data:` URL; None for URLs and file ids.

    Raises InvalidRequestError if the MIME type is unknown or the URL is invalid.
    """
    typed_bytes = raw_data(part)
    return (
        None if typed_bytes is None else (typed_bytes[0], base64.b64encode(typed_bytes[1]).decode())
    )


def data_url(part: MediaPart) -> str | None:
    """Return the media as a base64 `data:` URL; None for URLs and file ids.

    Raises InvalidRequestError for a MIME type with a comma, which would begin the data.
    """
    encoded = base64_data(part)
    if encoded is None:
        return None
    if "," in encoded[0]:
        raise InvalidRequestError(
            f"{noun_of(part)} has {encoded[0]!r}, which is not a MIME type: leave the comma out"
        )
    return f"data:{encoded[0]};base64,{encoded[1]}"


def text_data(part: MediaPart) -> str | None:
    """Return the part's bytes as text, if its MIME type is text and they are UTF-8."""
    data = raw_bytes(part)
    media_type = media_type_of(part) or ""
    if data is None or not is_text_type(media_type):
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def is_text_type(media_type: str) -> bool:
    """Return whether data of *media_type* is text."""
    return media_type.startswith("text/") or media_type in _TEXT_TYPES


_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/x-yaml"})


def _refuse_path(part: MediaPart) -> None:
    if part.path is not None:
        raise InvalidRequestError(
            f"{type(part).__name__} still has the path {part.path!r}: the client reads files when "
            "it prepares a request; here give data=... or a URL"
        )


def _known_type(part: MediaPart) -> str:
    media_type = media_type_of(part)
    if media_type is None:
        examples: dict[type, str] = {AudioPart: "audio/wav", ImagePart: "image/png"}
        usual = examples.get(type(part), "application/pdf")
        raise InvalidRequestError(
            f"cannot tell what {noun_of(part)} holds: give its media type, such as {usual!r}"
        )
    return media_type


def _first_bytes(part: MediaPart) -> bytes:
    """Return at least as many bytes as `sniffed` reads, without decoding all of a `data:` URL.

    There are none in an invalid URL, which is refused where all of its bytes are needed.
    """
    if part.url is None or not is_data_url(part.url):
        return part.data or b""
    end = part.url.find(",") + 1 + _SNIFFED_CHARACTERS
    try:
        return _decoded(part.url[:end])
    except InvalidRequestError:
        return b""


_SNIFFED_CHARACTERS: Final = 64
"""Of base64: a multiple of 4, and 48 bytes."""


def _decoded(url: str) -> bytes:
    """Return the bytes of a `data:` URL (RFC 2397); line breaks and lost padding are forgiven."""
    header, comma, payload = url[5:].partition(",")
    if not comma:
        raise InvalidRequestError("a data: URL needs a comma before its data")
    if not header.lower().replace(" ", "").endswith(";base64"):
        return unquote_to_bytes(payload)
    data = decode_base64(unquote(payload))
    if data is None:
        raise InvalidRequestError("the data: URL is not base64")
    return data


# -- what a provider calls it


_SUBTYPE_NAMES = {
    "image/jpeg": "jpeg",
    "image/png": "png",
    "image/gif": "gif",
    "image/webp": "webp",
}
_DOCUMENT_NAMES = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/csv": "csv",
    "application/msword": "doc",
    f"{_OFFICE}.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
    "text/x-markdown": "md",
}
_VIDEO_NAMES = {
    "video/x-matroska": "mkv",
    "video/quicktime": "mov",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/mpg": "mpg",
    "video/x-ms-wmv": "wmv",
    "video/wmv": "wmv",
    "video/3gpp": "three_gp",
}
_AUDIO_NAMES = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/mp4": "m4a",
    "audio/m4a": "m4a",
    "audio/x-m4a": "m4a",
    "audio/aac": "aac",
    "audio/x-aac": "aac",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/ogg": "ogg",
    "audio/opus": "opus",
    "audio/webm": "webm",
    "audio/pcm": "pcm",
    "audio/l16": "pcm",
}


def image_format(media_type: str) -> str | None:
    """Return Bedrock's name of an image format: `png`, `jpeg`, `gif` or `webp`; else None."""
    return _SUBTYPE_NAMES.get(media_type)


def document_format(media_type: str) -> str | None:
    """Return Bedrock's name of a document format, such as `pdf` or `md`; None if it has none.

    Other text (source code, JSON, XML) is `txt`.
    """
    if media_type in _DOCUMENT_NAMES:
        return _DOCUMENT_NAMES[media_type]
    return "txt" if media_type.startswith("text/") or media_type in _TEXT_TYPES else None


def video_format(media_type: str) -> str | None:
    """Return Bedrock's name of a video format, such as `mp4`; None if it has none."""
    return _VIDEO_NAMES.get(media_type)


def audio_format(media_type: str) -> str | None:
    """Return the short name of a audio format (`wav`, `mp3`, ...); None if it has none.

    OpenAI takes `wav` and `mp3` only; Bedrock takes them all.
    """
    return _AUDIO_NAMES.get(media_type)


MAX_DOCUMENT_NAME = 200
"""Characters of a Bedrock document name."""


def document_name(name: str | None, taken: Collection[str] = ()) -> str:
    """Return *name* as Bedrock takes document names, different from all in *taken*.

    Letters, digits, single white space, hyphens, parentheses and square brackets only, at
    most 200 characters; `document` where nothing is left of it. (DocumentBlock in the API
    reference.)
    """
    words = re.sub(r"[^a-zA-Z0-9\s()\[\]-]", " ", name or "")
    base = " ".join(words.split())[:MAX_DOCUMENT_NAME].strip() or "document"
    result, times = base, 1
    while result in taken:
        times += 1
        ending = f" {times}"
        result = base[: MAX_DOCUMENT_NAME - len(ending)].rstrip() + ending
    return result


# -- base64


def decode_pieces(pieces: Iterable[str]) -> bytes:
    """Return the bytes of base64 *pieces*: each padded by itself, or one text cut anywhere.

    A piece that is not base64 has none.
    """
    decoded: list[bytes] = []
    rest = ""
    for piece in pieces:
        rest += piece
        end = len(rest) // 4 * 4
        decoded.append(decode_leniently(rest[:end]))
        rest = rest[end:]
    return b"".join([*decoded, decode_leniently(rest + "=" * (-len(rest) % 4))])


def decode_leniently(text: object) -> bytes:
    """Return the bytes of base64 *text* as far as it can be read; some recordings are cut."""
    try:
        return base64.b64decode(text, validate=False) if isinstance(text, str) else b""
    except ValueError:
        return b""
