r"""One JSON array whose elements arrive over time (RFC 8259).

Gemini's `streamGenerateContent` returns one when it is not asked for `alt=sse`:
`[{...},\r\n{...}]`. Each top-level element is a frame, returned at its last byte. In a
body that is an object, or several in a row, each is a frame: errors look like that.

Only strings and brackets are read here. The protocol, which parses each
element anyway, reports invalid JSON.
"""

import re
from enum import Enum, auto
from typing import TYPE_CHECKING

from attrs import define, field

from llmcore.schema.errors import StreamError

if TYPE_CHECKING:
    from llmcore.routes.framing import Frame


class _Place(Enum):
    """A position between elements."""

    START = auto()
    ARRAY = auto()
    OBJECTS = auto()
    END = auto()


class _Inside(Enum):
    """The part of the document that the last byte belongs to."""

    GAP = auto()
    BRACKETS = auto()
    STRING = auto()
    ESCAPE = auto()
    SCALAR = auto()


# Each pattern matches up to the next byte that matters, and always matches. Neighbouring
# repeats share no byte, so none backtracks over more than one string. The counts bound the
# memory that a repeated group takes in the matcher; a longer text takes several matches.
_GAP = re.compile(rb"[ \t\r\n,]*")
_SCALAR = re.compile(rb"[^ \t\r\n,\]]*")
_TO_BRACKET = re.compile(rb'(?:[^"\[\]{}]*"[^"\\]*"){0,99}[^"\[\]{}]*')
_TO_QUOTE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,99}', re.DOTALL)


def _end(pattern: re.Pattern[bytes], chunk: bytes, start: int) -> int:
    """Return where the match of *pattern* at *start* ends."""
    match = pattern.match(chunk, start)
    return match.end() if match else start


@define(eq=False)
class JsonArrayDecoder:
    """Cuts one body into its top-level elements.

    Time is linear in the bytes, however they are sliced: no byte is read by two calls.
    """

    max_frame_bytes: int
    """The most bytes that one element may have."""
    _held: bytearray = field(init=False, factory=bytearray)
    """The element so far."""
    _place: _Place = field(init=False, default=_Place.START)
    _inside: _Inside = field(init=False, default=_Inside.GAP)
    _depth: int = field(init=False, default=0)
    """The number of open brackets within the element."""
    _failure: str = field(init=False, default="")
    _retryable: bool = field(init=False, default=True)

    def feed(self, chunk: bytes) -> "list[Frame]":
        """Return the elements that *chunk* completes."""
        frames: list[Frame] = []
        at = 0
        while at < len(chunk) and not self._failure:
            if self._inside is _Inside.GAP:
                at = self._read_gap(chunk, at)
            else:
                start, at = at, self._read_element(chunk, at)
                self._take(chunk[start:at], frames)
        if self._failure and not frames:
            raise StreamError(self._failure, retryable=self._retryable)
        return frames

    def close(self) -> "list[Frame]":
        """Return nothing, or raise StreamError for a body that was cut off."""
        if self._failure:
            raise StreamError(self._failure, retryable=self._retryable)
        if self._inside is not _Inside.GAP:
            raise StreamError("the body ends inside a JSON document")
        if self._place is _Place.ARRAY:
            raise StreamError("the body ends before its JSON array does")
        return []

    def _take(self, piece: bytes, frames: "list[Frame]") -> None:
        """Add *piece* to the element, and the element to *frames* if that ended it."""
        held = self._held
        if len(held) + len(piece) > self.max_frame_bytes:
            self._failure = f"a JSON document has more than {self.max_frame_bytes} bytes"
            held.clear()
            self._retryable = False  # another try would be billed, and end in the same way
        elif self._inside is not _Inside.GAP:
            held += piece
        elif held:
            held += piece
            frames.append(("", bytes(held)))
            held.clear()
        else:
            frames.append(("", piece))

    def _read_gap(self, chunk: bytes, at: int) -> int:
        """Skip to the next element, or over a bracket of the array, and return the new position."""
        at = _end(_GAP, chunk, at)
        first = chunk[at : at + 1]
        if not first:
            return at
        match self._place, first:
            case _Place.START, b"[":
                self._place = _Place.ARRAY
                return at + 1
            case _Place.ARRAY, b"]":
                self._place = _Place.END
                return at + 1
            case (_Place.START, b"{") | (_Place.OBJECTS, b"{"):
                self._place = _Place.OBJECTS
                self._inside = _Inside.BRACKETS
            case _Place.ARRAY, (b"{" | b"["):
                self._inside = _Inside.BRACKETS
            case _Place.ARRAY, b'"':
                self._inside = _Inside.STRING
                self._held += first  # so that it is not taken for the closing quote
                return at + 1
            case _Place.ARRAY, _:
                self._inside = _Inside.SCALAR
            case _Place.START, _:
                self._failure = f"the body is not a JSON array or object: it starts with {first!r}"
            case _:
                self._failure = f"the JSON of the body is followed by {first!r}"
        return at

    def _read_element(self, chunk: bytes, at: int) -> int:
        """Read on until the element or *chunk* ends, and return the new position."""
        while at < len(chunk) and self._inside is not _Inside.GAP:
            match self._inside:
                case _Inside.BRACKETS:
                    at = self._read_brackets(chunk, at)
                case _Inside.STRING:
                    at = self._read_string(chunk, at)
                case _Inside.ESCAPE:
                    at += 1
                    self._inside = _Inside.STRING
                case _:
                    at = _end(_SCALAR, chunk, at)
                    if at < len(chunk):
                        self._inside = _Inside.GAP
        return at

    def _read_brackets(self, chunk: bytes, at: int) -> int:
        """Read to the end of the element, into a string that ends later, or to the end."""
        depth = self._depth
        while True:
            at = _end(_TO_BRACKET, chunk, at)
            if at == len(chunk):
                break
            byte = chunk[at]
            at += 1
            if byte in b"{[":
                depth += 1
            elif byte in b"}]":
                depth -= 1
                if not depth:
                    self._inside = _Inside.GAP
                    break
            else:
                self._inside = _Inside.STRING
                break
        self._depth = depth
        return at

    def _read_string(self, chunk: bytes, at: int) -> int:
        """Read to the end of the string, or as far as one match goes."""
        at = _end(_TO_QUOTE, chunk, at)
        if chunk[at : at + 1] == b'"':
            self._inside = _Inside.BRACKETS if self._depth else _Inside.GAP
            return at + 1
        if at + 1 == len(chunk):  # a backslash whose other half is in the next chunk
            self._inside = _Inside.ESCAPE
            return at + 1
        return at
