"""Values that the requests of all APIs use."""

from base64 import b64encode
from typing import Final

_PIXEL_BYTES: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
PIXEL: Final = b64encode(_PIXEL_BYTES).decode()
PNG: Final = f"data:image/png;base64,{PIXEL}"
PDF_DATA: Final = b64encode(b"%PDF-1.4\n%%EOF").decode()
PDF: Final = f"data:application/pdf;base64,{PDF_DATA}"
WAV: Final = b64encode(b"RIFF\x24\x00\x00\x00WAVEfmt ").decode()
MP3: Final = b64encode(b"ID3\x04\x00").decode()
SCHEMA: Final = {
    "type": "object",
    "properties": {"at": {"type": "string"}},
    "required": ["at"],
    "additionalProperties": False,
}
WIDE_SCHEMA: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
        }
    },
    "properties": {
        "node": {"$ref": "#/$defs/node"},
        "kind": {"const": "a"},
        "mixed": {"type": ["string", "null", "integer"]},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
        "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "one": {"oneOf": [{"type": "string", "format": "date"}, {"type": "number", "minimum": 0}]},
        "größe": {"type": "integer", "exclusiveMinimum": 0, "maximum": 2**63, "default": 1},
        "word": {"type": "string", "pattern": "^[a-z]+$", "minLength": 1, "examples": ["a"]},
    },
    "required": ["kind"],
}
"""References, alternatives, tuples and bounds."""
