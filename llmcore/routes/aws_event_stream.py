"""AWS event stream, `application/vnd.amazon.eventstream`: binary messages with checksums.

After the Amazon Event Stream Specification of Smithy 2.0
(smithy.io/2.0/aws/amazon-eventstream.html, read 2026-11). One message, big-endian:

    total length 4 | headers length 4 | CRC-32 of those 8 | headers | payload | CRC-32 of all

One header: length of the name 1 | name | type of the value 1 | value. Most are not
needed; `:message-type` distinguishes events, modelled exceptions and errors.
"""

from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from zlib import crc32

from attrs import define, field

from llmcore.schema.errors import StreamError
from llmcore.schema.json import dumps

if TYPE_CHECKING:
    from llmcore.routes.framing import Frame

_PRELUDE = Struct(">III")
_CHECKSUM = Struct(">I")
_CHECKSUM_BYTES = _CHECKSUM.size
_BAD_CHECKSUM = "an event stream message ends with a wrong checksum"
_QUOTED_BYTES = 500
"""The most bytes of a text body that are quoted in an error message."""

_VALUE_BYTES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""True, false, byte, short, integer, long, timestamp and UUID, by type of the value."""
_BYTES, _STRING = 6, 7
"""The types whose value begins with its length in two bytes."""

_BAD_HEADER = "an event stream message has a malformed header"

_Head: TypeAlias = tuple[Callable[[bytes, int], tuple[Any, ...]], bytes, int, str, bytes | None]
"""A function that cuts messages of one length into prelude with headers, payload and checksum; the
first of these, the CRC-32 so far, the name of the frame, and its payload if that is in the headers,
too."""
_MOST_KNOWN, _MOST_HEADS, _LARGE = 128, 512, 1024
_SHARED: Final = 64 * 1024
"""Chunks of up to so many bytes are read by the heads that all streams share."""
_KNOWN: Final[dict[int, _Head]] = {}
"""The last prelude and headers for each length of a message; streams repeat the same few."""


@define(eq=False)
class EventStreamDecoder:
    """Cuts one body into messages. Both checksums of each are verified.

    Time is linear in the bytes, however they are sliced. Lengths are checked as soon as
    the prelude has arrived, so that a wrong or hostile one never causes waiting or buffering.
    """

    max_frame_bytes: int
    """The most bytes that one message may have."""
    _held: bytearray = field(init=False, factory=bytearray)
    """The message so far."""
    _needed: int = field(init=False, default=0)
    """The number of held bytes below which nothing can be decoded."""
    _started: bool = field(init=False, default=False)
    """Whether a valid prelude was read, so that this is an event stream."""
    _known: dict[int, _Head] = field(init=False, factory=dict)
    """The heads of this stream alone, for longer chunks: their messages may be longer, too."""
    _failure: str = field(init=False, default="")
    """Not the error: its traceback would keep this decoder until a garbage collection."""
    _retryable: bool = field(init=False, default=True)

    def feed(self, chunk: bytes) -> "list[Frame]":
        """Return the messages that *chunk* completes."""
        if self._failure:
            raise StreamError(self._failure, retryable=self._retryable)
        frames: list[Frame] = []
        try:
            self._read(chunk, frames)
        except StreamError as error:
            self._failure, self._retryable = error.message, error.retryable
            if not frames:
                raise
        return frames

    def close(self) -> "list[Frame]":
        """Return nothing, or raise StreamError for a message that was cut off."""
        if self._held and not self._failure:
            quoted = _quoted(bytes(self._held)) if not self._started else ""
            self._failure = quoted or "the event stream ends inside a message"
        if self._failure:
            raise StreamError(self._failure, retryable=self._retryable)
        return []

    def _read(self, chunk: bytes, frames: "list[Frame]") -> None:
        """Add the messages that *chunk* completes to *frames*, and hold the rest."""
        held = self._held
        if held:
            held += chunk
            if len(held) < self._needed:
                return
            chunk = bytes(held)
            held.clear()
        at = 0
        size = len(chunk)
        known = _KNOWN if size <= min(_SHARED, self.max_frame_bytes) else self._known
        total_at = _CHECKSUM.unpack_from
        while size - at >= _PRELUDE.size:
            total = total_at(chunk, at)[0]
            head = known.get(total) if at + total <= size else None
            before, payload, stated = (b"", b"", 0) if head is None else head[0](chunk, at)
            if head is None or before != head[1]:
                if not self._new_head(chunk, at, known):
                    break
                continue
            _, _, checksum, name, instead = head
            if crc32(payload, checksum) != stated:
                raise StreamError(_BAD_CHECKSUM)
            frames.append((name, payload if instead is None else instead))
            at += total
        else:
            self._needed = _PRELUDE.size
        self._started = self._started or at > 0
        held += chunk[at:]

    def _new_head(self, chunk: bytes, at: int, known: dict[int, _Head]) -> bool:
        """Read the message at *at* up to its payload, and put it into *known* for its length.

        Returns False, and sets `_needed`, if there are too few bytes for that.
        """
        self._started = self._started or at > 0
        total, length, checksum = _PRELUDE.unpack_from(chunk, at)
        if crc32(chunk[at : at + 8]) != checksum or not self._fits(total, length):
            self._needed = self._quotable(chunk, total, length, checksum, at)
            return False
        self._started = True
        if at + total > len(chunk):
            self._needed = total
            return False
        end = at + total - _CHECKSUM_BYTES
        if (crc32(chunk[at:end]),) != _CHECKSUM.unpack_from(chunk, end):
            raise StreamError(_BAD_CHECKSUM)  # before its headers are read
        before = chunk[at : at + _PRELUDE.size + length]
        is_large = len(before) > _LARGE
        if len(known) >= _MOST_HEADS or is_large:  # a hostile server repeats none
            known.clear()
        known[total] = (_head_of if is_large else _known_head)(before, total)
        return True

    def _fits(self, total: int, headers: int) -> bool:
        """Return whether a message may have these lengths."""
        return _PRELUDE.size + headers + _CHECKSUM_BYTES <= total <= self.max_frame_bytes

    def _quotable(self, chunk: bytes, total: int, headers: int, checksum: int, at: int) -> int:
        """Raise StreamError for a bad prelude; or return how many bytes it takes to quote text."""
        if crc32(chunk[at : at + 8]) == checksum:
            raise StreamError(
                f"an event stream message declares {total} bytes, {headers} of them headers;"
                f" allowed are {self.max_frame_bytes}",
                retryable=False,
            )
        quoted = _quoted(chunk) if not self._started else ""
        if quoted and len(chunk) < _QUOTED_BYTES:
            return _QUOTED_BYTES
        raise StreamError(quoted or "an event stream message begins with a wrong checksum")


def _head_of(before: bytes, total: int) -> _Head:
    """Return how messages of *total* bytes with *before* in front of the payload are read."""
    form = Struct(f">{len(before)}s{total - len(before) - _CHECKSUM_BYTES}sI")
    headers = before[_PRELUDE.size :]
    meaning = (_known_meaning if len(before) <= _LARGE else _meaning)(headers)
    return form.unpack_from, before, crc32(before), *meaning


_known_head: Final = lru_cache(maxsize=_MOST_HEADS)(_head_of)
"""Streams have the same few headers, and lengths that differ by some bytes."""


def _meaning(headers: bytes) -> "tuple[str, bytes | None]":
    """Return the name of the frame, and its payload if that is in the headers, too."""
    values = _strings(headers)
    match values.get(":message-type"):
        case "exception":
            return f"exception:{values.get(':exception-type', '')}", None
        case "error":
            message = dumps({"message": values.get(":error-message", "")})
            return f"error:{values.get(':error-code', '')}", message
        case _:
            return values.get(":event-type", ""), None


_known_meaning: Final = lru_cache(maxsize=_MOST_KNOWN)(_meaning)
"""Messages of all lengths, and of all streams, have the same few headers."""


def _strings(headers: bytes) -> dict[str, str]:
    """Return the headers whose value is a string; StreamError if any is malformed."""
    values: dict[str, str] = {}
    at = 0
    while at < len(headers):
        kind_at = at + 1 + headers[at]
        if kind_at >= len(headers):
            raise StreamError(_BAD_HEADER)
        value_at = kind_at + 1
        kind = headers[kind_at]
        if kind in (_BYTES, _STRING):
            value_at += 2
            end = value_at + int.from_bytes(headers[value_at - 2 : value_at], "big")
        else:
            end = value_at + _VALUE_BYTES.get(kind, len(headers))  # no such type: past the end
        if end > len(headers):
            raise StreamError(_BAD_HEADER)
        if kind == _STRING:
            name = headers[at + 1 : kind_at].decode("utf-8", "replace")
            values[name] = headers[value_at:end].decode("utf-8", "replace")
        at = end
    return values


def _quoted(body: bytes) -> str:
    """Return the start of a *body* for an error message; empty if it is not text."""
    if body[:1] not in (b"{", b"[", b"<"):
        return ""
    text = body[:_QUOTED_BYTES].decode("utf-8", "replace")
    return f"the body is not an event stream but text: {text}"
