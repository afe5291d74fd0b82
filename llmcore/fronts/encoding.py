"""The events of a stream as bytes: server-sent events, one JSON line each.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html ("Interpreting an event
stream"), read November 2026.
"""

from typing import Final

from llmcore.fronts.front import Event, StreamEncoding
from llmcore.schema import json

EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
"""The content type of server-sent events."""

COMMENT: Final = b": keep-alive\n"
"""A comment, without the empty line that would end an event: some clients take one for data."""
COMMENT_FRAME: Final = COMMENT + b"\n"
"""A comment as a frame of its own, for clients that cut a stream at empty lines."""

_SEPARATORS: Final = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)
"""Line ends to `str.splitlines`, with which clients cut streams, that JSON does not escape."""


def json_line(event: Event) -> bytes:
    """Return *event* as JSON that takes exactly one line for every reader."""
    data = json.dumps(event)
    if not data.isascii():
        for raw, escaped in _SEPARATORS:
            data = data.replace(raw, escaped)
    return data


def data_event(event: Event) -> bytes:
    """Return *event* as a server-sent event without a name."""
    return b"data: %b\n\n" % json_line(event)


def named_event(event: Event) -> bytes:
    """Return *event* as a server-sent event that is named after its `type`."""
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), json_line(event))


JSON_LINES: Final = StreamEncoding(
    content_type="application/x-ndjson",
    encode=lambda event: json.dumps(event) + b"\n",
    heartbeat=b"",
)
"""Events as lines of JSON, for what passes them on in another form."""
