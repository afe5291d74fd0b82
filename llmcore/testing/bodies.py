"""The form of bodies in cassettes: as readable as possible, and exact to the byte.

- a JSON object, if one of the usual layouts reproduces its bytes; `body_layout` is the name of
  the layout, unless it is the compact one
- text: a string, or a list of its lines (server-sent events read well that way)
- anything else as base64, marked by `body_encoding`, in lines of 76 characters
"""

import base64
import binascii
import json
from collections.abc import Mapping
from itertools import product
from typing import TypedDict

from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, loads_exact
from llmcore.testing.cassette import CassetteError

_BINARY_TYPES = (
    "application/octet-stream",
    "application/vnd.amazon.eventstream",
    "audio/",
    "image/",
    "video/",
)
_BASE64_LINE = 76
_COMPACT = "compact"


@frozen
class _Layout:
    """A common way to write a JSON document."""

    indent: int | None
    separators: tuple[str, str]
    escaped: bool
    """Whether all but ASCII is escaped."""
    end: str

    def write(self, value: JsonObject) -> str:
        text = json.dumps(
            value, indent=self.indent, separators=self.separators, ensure_ascii=self.escaped
        )
        return text + self.end


_SPACING: Mapping[str, tuple[int | None, tuple[str, str]]] = {
    _COMPACT: (None, (",", ":")),
    "spaced": (None, (", ", ": ")),
    "indented-2": (2, (",", ": ")),
    "indented-4": (4, (",", ": ")),
}
_LAYOUTS = {
    f"{name}{'-ascii' if escaped else ''}{'-newline' if end else ''}": _Layout(
        indent, separators, escaped, end
    )
    for end, escaped, (name, (indent, separators)) in product(
        ("", "\n"), (False, True), _SPACING.items()
    )
}


class Packed(TypedDict, total=False):
    """The fields of a cassette that hold a body; an empty body has none."""

    body: JsonValue
    body_encoding: str
    body_layout: str


def pack(body: bytes, content_type: str = "") -> Packed:
    """Return the fields from which `unpack` restores *body*."""
    if not body:
        return {}
    text = None if content_type.startswith(_BINARY_TYPES) else _text(body)
    if text is None:
        encoded = base64.b64encode(body).decode()
        starts = range(0, len(encoded), _BASE64_LINE)
        lines = [encoded[start : start + _BASE64_LINE] for start in starts]
        return {"body": _folded(lines), "body_encoding": "base64"}
    return _as_object(text) or {"body": _folded(text.split("\n"))}


def unpack(body: JsonValue, body_encoding: str | None, body_layout: str | None) -> bytes:
    """Return the body in these fields; CassetteError if they are invalid."""
    if body_encoding not in (None, "base64"):
        raise CassetteError(f"body_encoding is {body_encoding!r}; it can be 'base64' or absent")
    if isinstance(body, Mapping):
        return _laid_out(body, body_layout or _COMPACT)
    text = _unfolded(body)
    if body_encoding is None:
        return text.encode()
    try:
        return base64.b64decode(text.replace("\n", ""), validate=True)
    except binascii.Error as error:
        raise CassetteError(f"body is not base64: {error}") from error


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _folded(lines: list[str]) -> JsonValue:
    return lines if len(lines) > 1 else lines[0]


def _unfolded(body: JsonValue) -> str:
    lines = body if isinstance(body, list) else [body or ""]
    texts = [line for line in lines if isinstance(line, str)]
    if len(texts) < len(lines):
        raise CassetteError("body is neither a JSON object, nor text, nor a list of lines")
    return "\n".join(texts)


def _as_object(text: str) -> Packed | None:
    """Return *text* as a JSON object, None if that would not give the same bytes back."""
    try:
        value = loads_exact(text) if text[:1] == "{" else None
    except ValueError:
        return None
    if not isinstance(value, Mapping):
        return None
    name = next((name for name, layout in _LAYOUTS.items() if layout.write(value) == text), None)
    if name is None:
        return None
    return {"body": value} if name == _COMPACT else {"body": value, "body_layout": name}


def _laid_out(value: JsonObject, layout: str) -> bytes:
    if layout not in _LAYOUTS:
        raise CassetteError(f"body_layout is {layout!r}, not one of {', '.join(_LAYOUTS)}")
    return _LAYOUTS[layout].write(value).encode()
