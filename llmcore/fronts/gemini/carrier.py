"""Sealed state in `thoughtSignature`, the one field that clients send back unread.

The field is bytes, which JSON has as base64: SDKs decode and encode it, in either alphabet. So a
seal, which is text, is packed as the bytes it stands for. Source:
https://ai.google.dev/gemini-api/docs/thought-signatures, read November 2026.

    {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "b2IxLkFCQ0Q="}
"""

import base64
from typing import Final

from llmcore.fronts.sealer import PREFIX
from llmcore.protocols.lowering import SKIP_SIGNATURE
from llmcore.schema.media_sources import decode_base64

_MARK: Final = PREFIX.encode()
_SKIPPING: Final = (SKIP_SIGNATURE, "context_engineering_is_the_way_to_go")
"""Stand for the signature of a call that another model made: they hold no state.
Source: https://ai.google.dev/gemini-api/docs/thought-signatures (FAQ), read November 2026."""

_SKIPPING_BYTES: Final = tuple(word.encode() for word in _SKIPPING)


def carried(sealed: str) -> str:
    """Return *sealed* state as a thought signature: padded base64 of the standard alphabet."""
    return base64.b64encode(_MARK + _raw(sealed.removeprefix(PREFIX))).decode()


def sealed_in(signature: object) -> str | None:
    """Return the sealed state in a thought signature; None for a model's own signature."""
    data = decode_base64(signature)
    if data is None or not data.startswith(_MARK):
        return None
    packed = base64.urlsafe_b64encode(data[len(_MARK) :]).rstrip(b"=")
    return PREFIX + packed.decode()


def is_signature(value: object) -> bool:
    """Return whether *value* is a model's signature, and not a word that only skips the check.

    SDKs decode such a word as if it were base64, or encode it, on its way.
    """
    if not isinstance(value, str) or not value:
        return False
    decoded = decode_base64(value) or b""
    return value.replace("/", "_") not in _SKIPPING and decoded not in _SKIPPING_BYTES


def _raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
