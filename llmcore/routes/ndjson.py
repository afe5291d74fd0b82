"""Newline-delimited JSON: one document on each line (ndjson.org; also called JSON Lines).

Lines end with LF; the CR of a CRLF is white space to JSON and is removed, as blank lines are. Only
bytes are split, and only at LF: a JSON string may hold characters such as U+2028 unescaped. The
last line needs no line end. The protocol, which parses it, finds out whether it is complete. A body
that begins with a field of server-sent events is read as those, since servers label both alike.
"""

from typing import TYPE_CHECKING

from attrs import define, field

from llmcore.routes.sse import SseDecoder
from llmcore.schema.errors import StreamError

if TYPE_CHECKING:
    from llmcore.routes.framing import Frame

_BLANK = b" \t\r"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
"""How a line of server-sent events begins, and no JSON."""


@define(eq=False)
class NdjsonDecoder:
    """Cuts one body into lines. Time is linear in the bytes, however they are sliced."""

    max_frame_bytes: int
    """The most bytes that one line may have, without its line end."""
    _held: bytearray = field(init=False, factory=bytearray)
    """The line that is not complete."""
    _failure: str = field(init=False, default="")
    """That a line is too long: another try would be billed, and end in the same way."""
    _beginning: bytes | None = field(init=False, default=b"")
    """The first bytes, while they may begin a field of server-sent events; None after that."""
    _events: SseDecoder | None = field(init=False, default=None)
    """Reads a body of server-sent events."""

    def feed(self, chunk: bytes) -> "list[Frame]":
        """Return the lines that *chunk* completes."""
        if self._failure:
            raise StreamError(self._failure, retryable=False)
        if self._beginning is not None:
            chunk = self._after_beginning(self._beginning + chunk)
        if self._events is not None:
            return self._events.feed(chunk)
        held = self._held
        longest = len(held) + len(chunk)
        lines = chunk.split(b"\n")
        if held and len(lines) > 1:
            held += lines[0]
            lines[0] = bytes(held)
            held.clear()
        held += lines.pop()
        if longest > self.max_frame_bytes:
            return self._within_limit(lines)
        return _documents(lines)

    def close(self) -> "list[Frame]":
        """Return the last line, if it had no line end."""
        last = self.feed(b"\n")
        return last if self._events is None else [*last, *self._events.close()]

    def _after_beginning(self, text: bytes) -> bytes:
        """Return what can be read of the first bytes: none while they may begin a field."""
        words = text.lstrip()
        if any(words.startswith(name) for name in _FIELDS):
            self._events = SseDecoder(self.max_frame_bytes)
        elif words and any(name.startswith(words) for name in _FIELDS):
            self._beginning = text
            return b""
        self._beginning = None if words else b""
        return text

    def _within_limit(self, lines: list[bytes]) -> "list[Frame]":
        """Return the lines before the first that is too long; raise if there are none."""
        candidates: list[bytes | bytearray] = [*lines, self._held]
        for index, line in enumerate(candidates):
            if len(line) - line.endswith(b"\r") > self.max_frame_bytes:
                self._held = bytearray()
                self._failure = f"a line of JSON has more than {self.max_frame_bytes} bytes"
                frames = _documents(lines[:index])
                if not frames:
                    raise StreamError(self._failure, retryable=False)
                return frames
        return _documents(lines)


def _documents(lines: list[bytes]) -> "list[Frame]":
    """Return a frame for each of *lines* that is not blank."""
    return [("", document) for line in lines if (document := line.strip(_BLANK))]
