"""Opaque state as text: what goes out in `encrypted_content` and comes back with the next request.

A seal is `ob1.` and base64url of an HMAC and compressed JSON: only a holder of the key can make
one. The content is not encrypted: it is what the upstream sent to this client.

In the signatures of Gemini's and Anthropic's APIs it is base64 of `ob1.` and the bytes: some
clients decode a signature, and encode it again.
"""

import base64
import hmac
import zlib
from typing import Final

from attrs import field

from llmcore.schema import json
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue
from llmcore.schema.media_sources import decode_base64

PREFIX: Final = "ob1."
_MARK: Final = PREFIX.encode()
_MARK_IN_BASE64: Final = "b2Ix"
"""How base64 of the mark begins."""
_SIGNATURE_BYTES: Final = 16
_MAX_BYTES: Final = 32 * 1024 * 1024
"""The most bytes of unpacked state."""


@frozen(eq=False)
class Sealer:
    """Seals and unseals with one key, which all gateways with the same clients must share."""

    key: bytes = field(repr=False)

    def seal(self, state: JsonValue) -> str:
        """Return *state* as text."""
        packed = zlib.compress(json.dumps(state))
        data = self._signature(packed) + packed
        return PREFIX + base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    def unseal(self, text: str) -> JsonValue:
        """Return the state that *text* holds; ValueError if we did not seal it."""
        return json.loads(self.unpack(text))

    def unpack(self, text: str, limit: int = _MAX_BYTES) -> bytes:
        """Return the state that *text* holds as JSON.

        ValueError if we did not seal it, or if it is larger than *limit* bytes.
        """
        data = _decoded(text)
        signature, packed = data[:_SIGNATURE_BYTES], data[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(packed)):
            raise ValueError("the seal is broken, or another key made it")
        return _unpacked(packed, limit)

    def _signature(self, packed: bytes) -> bytes:
        return hmac.digest(self.key, packed, "sha256")[:_SIGNATURE_BYTES]


def _decoded(text: str) -> bytes:
    if not text.startswith(PREFIX):
        raise ValueError("this gateway did not seal it")
    body = text[len(PREFIX) :]
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise ValueError("the seal is broken") from error


def _unpacked(packed: bytes, limit: int) -> bytes:
    """Return the JSON in *packed*; ValueError for what unpacks to too much."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(packed, max(1, limit))
    except zlib.error as error:
        raise ValueError("the seal is broken") from error
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise ValueError("the state is cut off, or too large")
    return data


# -- in base64


def as_base64(sealed: str) -> str:
    """Return a seal as padded base64 of the standard alphabet."""
    return base64.b64encode(_MARK + _decoded(sealed)).decode()


def seal_in(text: object) -> str | None:
    """Return the seal that *text* is, in base64 or not; None for others, such as signatures."""
    if not isinstance(text, str) or not text.startswith((PREFIX, _MARK_IN_BASE64)):
        return None
    if text.startswith(PREFIX):
        return text
    data = decode_base64(text)
    if data is None or not data.startswith(_MARK):
        return None
    return PREFIX + base64.urlsafe_b64encode(data[len(_MARK) :]).rstrip(b"=").decode()
