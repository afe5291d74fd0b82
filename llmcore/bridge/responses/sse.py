"""Events as server-sent events."""

from typing import Any, Final

from llmcore.schema import json

KEEP_ALIVE: Final = b": keep-alive\n"
"""A comment, without the empty line that would end an event: some clients take one for data."""

_SEPARATORS: Final = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)
"""Line ends to `str.splitlines`, with which clients cut streams, that JSON does not escape."""


def encode(event: dict[str, Any]) -> bytes:
    """Return *event* as bytes to send. Each takes exactly one `data` line for every reader."""
    data = json.dumps(event)
    if not data.isascii():
        for raw, escaped in _SEPARATORS:
            data = data.replace(raw, escaped)
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), data)
