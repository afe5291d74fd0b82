"""Bytes of a response that its framing cannot read: what they are, and their error.

<html><body>404 Not Found</body></html>    a web page: the address is wrong
upstream connect error                     plain text, from a proxy
data: {"id": ...}                          events, in a response that was not to be streamed
"""

import re
from typing import Final

from llmcore.routes.framing import Framing
from llmcore.schema.errors import StreamError

QUOTED_BYTES: Final = 200
"""The most bytes of an unreadable body that an error quotes."""

_FIRST_FIELD_OR_LAST: Final = re.compile(rb"\A\s*(?:data|event|id)?:|\n\r?\ndata: ?\[DONE\]\s*\Z")
_ANY_FIELD: Final = re.compile(rb"^(?:data|event|id|retry)?:", re.MULTILINE)
_JSON_LINES: Final = re.compile(rb"\s*\{[^\n]*\}[ \t\r]*\n\s*\{")


def looks_streamed(body: bytes, framing: Framing) -> bool:
    """Return whether a whole *body*, which is not JSON, is one of events or of lines of JSON."""
    if framing.id not in ("sse", "ndjson"):
        return False
    return bool(_FIRST_FIELD_OR_LAST.search(body) or _JSON_LINES.match(body))


def is_plain_text(head: bytes, framing: Framing) -> bool:
    """Return whether a body begins with anything but server-sent events."""
    return framing.id == "sse" and head.strip() != b"" and not _ANY_FIELD.search(head)


def unreadable_error(data: bytes, error: Exception) -> StreamError:
    """Return the error for bytes that are not JSON, or JSON that our values cannot hold."""
    if not data.strip() and isinstance(error, ValueError):
        return StreamError("the response is empty", cause=error)
    text = data[:QUOTED_BYTES].decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        message = f"the server answered with a web page, not with JSON: check base_url: {text!r}"
        return StreamError(message, cause=error, raw=text)
    what = "is not JSON" if isinstance(error, ValueError) else f"cannot be read ({error})"
    return StreamError(f"the response {what}: {text!r}", cause=error, raw=text)
