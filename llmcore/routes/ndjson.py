"""Newline-delimited JSON: a document a line (ndjson.org; also called JSON Lines).

Lines end with LF; the CR of a CRLF is white space to JSON and goes, like blank lines.
Only bytes are split, and only at LF: a JSON string may hold U+2028 and its like raw.
The last line needs no line end. Whether it is whole is for the protocol to find out,
which has to parse it anyway.
"""

from typing import TYPE_CHECKING

from attrs import define, field

from llmcore.schema.errors import StreamError

if TYPE_CHECKING:
    from llmcore.routes.framing import Frame

_BLANK = b" \t\r"


@define(eq=False)
class NdjsonDecoder:
    """Cuts one body into lines. Time is linear in the bytes, however they are sliced."""

    max_frame_bytes: int
    """The most bytes that one line may have, without its line end."""
    _held: bytearray = field(init=False, factory=bytearray)
    """The line that is not complete."""
    _failure: str = field(init=False, default="")

    def feed(self, chunk: bytes) -> "list[Frame]":
        """Return the lines that *chunk* completes."""
        if self._failure:
            raise StreamError(self._failure)
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
        return self.feed(b"\n")

    def _within_limit(self, lines: list[bytes]) -> "list[Frame]":
        """Return the lines before the first that is too long; raise if there are none."""
        candidates: list[bytes | bytearray] = [*lines, self._held]
        for index, line in enumerate(candidates):
            if len(line) - line.endswith(b"\r") > self.max_frame_bytes:
                self._failure = f"a line of JSON has more than {self.max_frame_bytes} bytes"
                frames = _documents(lines[:index])
                if not frames:
                    raise StreamError(self._failure)
                return frames
        return _documents(lines)


def _documents(lines: list[bytes]) -> "list[Frame]":
    """Return a frame for each of *lines* that is not blank."""
    return [("", document) for line in lines if (document := line.strip(_BLANK))]
