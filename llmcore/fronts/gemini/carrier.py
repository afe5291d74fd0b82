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
from llmcore.fronts.response_record import ResponseRecord
from llmcore.fronts.sealer import as_base64
from llmcore.protocols.lowering import SKIP_SIGNATURE
from llmcore.schema.content import ContentPart, TextPart
from llmcore.schema.events import LLMEvent, TextEnd
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


# -- what the client does not see


class SignatureCarrier:
    """The parts of one response, and what of them is still to be sealed.

    Consecutive texts, which a client's echo joins into one, are sealed as one, with what it does
    not see between them.
    """

    def __init__(self, record: ResponseRecord) -> None:
        self.record = record
        self.pieces: list[str] = []
        """Pieces of the text that is open."""
        self._run: list[tuple[ContentPart, str]] = []

    def end_text(self, event: TextEnd) -> str:
        """Add the open text, which ends with *event*, and return it."""
        text = "".join(self.pieces)
        self.pieces = []
        if (part := self.record.part_of(event)) is not None:
            self._run.append((part, text))
        return text

    def hide(self, event: LLMEvent) -> None:
        """Add what the client does not see, or does not send back unchanged."""
        if (part := self.record.part_of(event)) is not None:
            self._run.append((part, ""))

    def show(self, part: ContentPart, as_read_by_client: ContentPart) -> None:
        """Add a part other than text."""
        self.end_run()
        self.record.show(part, as_read_by_client)

    def end_run(self) -> None:
        """Add the consecutive texts so far."""
        parts, self._run = self._run, []
        seen = [number for number, (_, text) in enumerate(parts) if text]
        first, last = (seen[0], seen[-1] + 1) if seen else (len(parts), len(parts))
        self._add_hidden(parts[:first])
        if middle := parts[first:last]:
            text = TextPart("".join(text for _, text in middle))
            texts = tuple(part for part, _ in middle)
            self.record.add(ShownPart(parts=texts, as_read_by_client=text))
        self._add_hidden(parts[last:])

    def _add_hidden(self, parts: Sequence[tuple[ContentPart, str]]) -> None:
        for part, _ in parts:
            self.record.show(part)

    def signature(self) -> NativeObject:
        """Return the signature that carries all that is not sealed yet; empty if all is seen."""
        if not self.record.needs_opaque_item:
            return {}
        return {"thoughtSignature": as_base64(self.record.seal()["encrypted_content"])}


def joined_texts(parts: Sequence[NativeObject]) -> list[NativeObject]:
    """Return *parts* with plain texts in a row joined, and thoughts in a row.

    The signature of an empty text is that of the text before it, where Gemini's server writes it.
    """
    whole: list[NativeObject] = []
    pieces: list[str] = []
    for part in parts:
        only_signs = part.keys() == {"text", "thoughtSignature"} and not part["text"]
        if pieces and not whole[-1].get("thought") and only_signs:
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


def _close(whole: list[NativeObject], pieces: list[str]) -> None:
    if pieces:
        whole[-1]["text"] = "".join(pieces)
