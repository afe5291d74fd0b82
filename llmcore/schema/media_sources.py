"""The sources of media parts: paths, URLs, bytes, base64, and images of other libraries."""

import base64
import re
from pathlib import PurePath
from typing import Any, Final

from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.hints import shown_kind, with_call_hints

_URL: Final = re.compile(r"data:|[A-Za-z][A-Za-z0-9+.-]*://")
"""The beginning of a URL, which paths do not have, also on Windows."""


with_source_hints: Final = with_call_hints(
    **dict.fromkeys(("path", "url", "data", "file"), "give it without a name: .of(...)"),
    **dict.fromkeys(
        ("name", "media_type", "mime_type", "format"),
        "give all by name, such as DocumentPart(path=..., name=..., media_type=...)",
    ),
)
"""Has the methods `of` explain what is given by name."""


def path_text(given: str | PurePath | None) -> str | None:
    """Return a path as its text."""
    return str(given) if isinstance(given, PurePath) else given


def source_fields(source: object) -> dict[str, Any] | None:
    """Return a path, a URL or bytes as the fields of a part; None for anything else.

    Raises InvalidRequestError for an empty text and for an open file.
    """
    if isinstance(source, str):
        if not source:
            raise InvalidRequestError("the text is empty: give a path, a URL or bytes")
        return {"url": source} if _URL.match(source) else {"path": source}
    if isinstance(source, bytes | bytearray | memoryview):
        return {"data": bytes(source)}
    if callable(getattr(source, "read", None)):
        raise InvalidRequestError("it is an open file: give its path, or its bytes, file.read()")
    return {"path": str(source)} if isinstance(source, PurePath) else None


class _PngSink:
    """A file in memory for libraries that write images."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


def png_of(image: Any) -> bytes:
    """Return the PNG of *image*. Raises InvalidRequestError for a value that cannot write one."""
    sink = _PngSink()
    if callable(getattr(image, "savefig", None)):
        image.savefig(sink, format="png")
    elif callable(getattr(image, "_repr_png_", None)):
        png = image._repr_png_()  # the protocol of IPython, which PIL has too
        sink.write(png[0] if isinstance(png, tuple) else png or b"")
    elif callable(getattr(image, "save", None)):
        image.save(sink, format="PNG")
    else:
        raise InvalidRequestError(
            "ImagePart.of takes a path, a URL, bytes, a PIL image or a matplotlib figure; "
            f"got {shown_kind(image)}"
        )
    return b"".join(sink.pieces)


def decode_base64(text: object) -> bytes | None:
    """Return the bytes of base64 *text*; None for anything else.

    Both alphabets of RFC 4648 are read, with line breaks, and with padding that is missing or too
    long, on which the versions of Python differ.
    """
    if not isinstance(text, str):
        return None
    standard = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except ValueError:
        return None
