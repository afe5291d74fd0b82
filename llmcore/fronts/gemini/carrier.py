"""Sealed state in `thoughtSignature`, the one field that clients send back unread.

The field is bytes, which JSON has as base64: SDKs decode and encode it, in either alphabet. So a
seal goes in base64 (`sealer`). Source:
https://ai.google.dev/gemini-api/docs/thought-signatures, read November 2026.

    {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "b2IxLkFCQ0Q="}

Texts in a row are sealed with what the client sends back of them as one:

    {"text": "Hel"}  {"text": "lo"}  {"text": "Why?", "thought": true}  {"text": "."}
    -> a text "Hello" and a text ".", or, from a client that keeps no thoughts, "Hello."
"""

from collections.abc import Sequence
from typing import Final

from llmcore.fronts.opaque_state import ShownPart
from llmcore.protocols.lowering import SKIP_SIGNATURE
from llmcore.schema.content import ContentPart, TextPart
from llmcore.schema.json import NativeObject
from llmcore.schema.media_sources import decode_base64

_SKIPPING: Final = (SKIP_SIGNATURE, "context_engineering_is_the_way_to_go")
"""Placeholders for the signature of a call that another model made: they hold no state.
Source: https://ai.google.dev/gemini-api/docs/thought-signatures (FAQ), read November 2026."""

_SKIPPING_BYTES: Final = tuple(word.encode() for word in _SKIPPING)


def is_signature(value: object) -> bool:
    """Return whether *value* is a model's signature, and not a word that only skips the check.

    SDKs decode such a word as if it were base64, or encode it, on its way.
    """
    if not isinstance(value, str) or not value:
        return False
    decoded = decode_base64(value) or b""
    return value.replace("/", "_") not in _SKIPPING and decoded not in _SKIPPING_BYTES


# -- consecutive texts


class TextRun:
    """Texts that a client's echo joins into one, with what it does not see between them."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        """Pieces of the text that is open."""
        self._parts: list[tuple[ContentPart, str]] = []

    def end_text(self, part: ContentPart | None) -> str:
        """Add the text of the open segment, which is *part*, and return it."""
        text = "".join(self.pieces)
        self.pieces = []
        if part is not None:
            self._parts.append((part, text))
        return text

    def hide(self, part: ContentPart) -> None:
        """Add a part that the client does not see."""
        self._parts.append((part, ""))

    def take(self) -> list[ShownPart]:
        """Return the parts so far, and start again empty."""
        parts, self._parts = self._parts, []
        seen = [number for number, (_, text) in enumerate(parts) if text]
        first, last = (seen[0], seen[-1] + 1) if seen else (len(parts), len(parts))
        middle = parts[first:last]
        text = TextPart("".join(text for _, text in middle))
        run = [ShownPart(parts=tuple(part for part, _ in middle), as_read_by_client=text)]
        return [*_hidden(parts[:first]), *(run if middle else ()), *_hidden(parts[last:])]


def _hidden(parts: Sequence[tuple[ContentPart, str]]) -> list[ShownPart]:
    return [ShownPart(parts=(part,)) for part, _ in parts]


def joined_texts(parts: Sequence[NativeObject]) -> list[NativeObject]:
    """Return *parts* with plain texts in a row joined, and thoughts in a row.

    The signature of an empty text is that of the text before it, where Gemini's server writes it.
    """
    whole: list[NativeObject] = []
    pieces: list[str] = []
    for part in parts:
        if pieces and not whole[-1].get("thought") and _only_signs(part):
            whole[-1] |= {"thoughtSignature": part["thoughtSignature"]}
            _close(whole, pieces)
            pieces = []
            continue
        thought = part.get("thought")
        plain = isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}
        if plain and pieces and whole[-1].get("thought") == thought:
            pieces.append(part["text"])
            continue
        _close(whole, pieces)
        pieces = [part["text"]] if plain else []
        whole.append(dict(part))
    _close(whole, pieces)
    return whole


def _only_signs(part: NativeObject) -> bool:
    return part.keys() == {"text", "thoughtSignature"} and not part["text"]


def _close(whole: list[NativeObject], pieces: list[str]) -> None:
    if pieces:
        whole[-1]["text"] = "".join(pieces)
