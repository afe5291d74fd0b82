"""Base64 that comes in pieces: each padded by itself, or one text cut anywhere."""

import base64
import binascii
from collections.abc import Iterable


def decode_pieces(pieces: Iterable[str]) -> bytes:
    """Return the bytes of base64 *pieces*; a piece that is not base64 has none."""
    found: list[bytes] = []
    rest = ""
    for piece in pieces:
        rest += piece
        end = len(rest) // 4 * 4
        found.append(_decode(rest[:end]))
        rest = rest[end:]
    return b"".join([*found, _decode(rest + "=" * (-len(rest) % 4))])


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return b""
