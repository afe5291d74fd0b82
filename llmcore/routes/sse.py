"""Server-sent events, after the WHATWG HTML standard, section 9.2 (read 2026-11).

Lines end with LF, CRLF or CR and nothing else: U+2028, U+0085, vertical tab, form feed
and their like are text, which is why only bytes are split here and never a `str`. A blank
line ends an event. `id`, `retry`, comments and unknown fields are dropped; an event
without a `data` line is dropped, one with an empty `data` line is a frame without payload.

Four deliberate deviations. The standard discards an event whose blank line never came, `close`
delivers it, for servers leave out the last one. Whether such a payload is whole is for the protocol
to find out, which has to parse it anyway. And it ignores a line without a field name: here one that
begins with `{` starts a payload, which ends at the blank line, because Google's servers write an
error inside a stream as bare JSON. Such a line that ends with `}` is a payload by itself, for
servers label lines of JSON as events. And a field `error` with an object is an event of that name:
so llama.cpp wrote errors until September 2025 (https://github.com/ggml-org/llama.cpp/pull/16109).
And two lines of data are two events if the first ends an object and the second begins one, which no
JSON has without a comma: servers leave out the blank line between events (GLM-4.7 and Kimi-K2.5
among calls of tools, according to https://github.com/rexxars/eventsource-parser/pull/31).
"""

import re
from functools import lru_cache
from itertools import repeat, takewhile
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import define, field

from llmcore.schema.errors import StreamError

if TYPE_CHECKING:
    from llmcore.routes.framing import Frame

_BOM = b"\xef\xbb\xbf"
_CR, _LF = ord("\r"), ord("\n")
"""Integers, for `b"\\r" in chunk` raises and clears an exception inside: 7 times slower."""

_Form: TypeAlias = tuple[str, bytes, bytes, bytes]
"""The name of events, what is before the data of the first, between two, and after the last."""


@define(eq=False)
class SseDecoder:
    """Cuts one body into events.

    An event goes out with the first byte that completes its blank line, so the LF of a
    CRLF need not have come. Time is linear in the bytes, however they are sliced: what
    is incomplete is held in one buffer, and only new bytes are searched.

    `_with_lf` finds the ends of lines, and `_lines` reads them. `_alike`, `_burst` and `_events`
    are faster for events with one line of data, of which they return what `_lines` would.
    """

    max_frame_bytes: int
    """The most bytes that the lines of one event may have, comments included."""
    _held: bytearray = field(init=False, factory=bytearray)
    """The lines so far of the incomplete event; line ends are LF."""
    _start: bytes | None = field(init=False, default=b"")
    """The first bytes, while they may be a byte order mark; None after that."""
    _after_cr: bool = field(init=False, default=False)
    """The last byte was a CR, so an LF that follows is part of the same line end."""
    _failure: str = field(init=False, default="")
    """That an event is too long: another try would be billed, and end in the same way."""
    _forms: dict[bytes, _Form | None] = field(init=False, factory=dict)
    """How events are split, by the lines before their data, of which a stream repeats the same few;
    None for lines of which `_lines` has to read each."""
    _plain: bool = field(init=False, default=False)
    """Whether start, line end and failure do not affect the next chunk, the usual case."""
    _line_end: bytes = field(init=False, default=b"\n")
    """How the lines of the last chunk ended."""
    _form: _Form = field(init=False, default=("", b"data: ", b"\n\ndata: ", b"\n\n"))
    """The form of the last usual event; those after it mostly have the same."""

    def feed(self, chunk: bytes) -> "list[Frame]":
        """Return the events whose blank line *chunk* completes."""
        if not self._plain and self._start == b"" and chunk.startswith(_USUAL_STARTS):
            self._start, self._plain = None, True  # no byte order mark follows
            if chunk[: chunk.find(_LF)].endswith(b"\r"):
                self._use_line_end(b"\r\n")
        if self._plain and len(chunk) <= self.max_frame_bytes:
            if len(chunk) <= _WINDOW and (frames := self._alike(chunk)):
                return frames
            if len(chunk) > _BURST:
                return self._burst(chunk)
        return self._read(chunk)

    def _read(self, chunk: bytes) -> "list[Frame]":
        """Return the events whose blank line *chunk* completes, which may be any bytes."""
        if not self._plain or _CR in chunk:
            chunk = self._with_lf(chunk)
        if self._held or chunk[-2:] != b"\n\n":
            return self._cut(chunk)
        if len(chunk) > self.max_frame_bytes:
            return self._within_limit(chunk)
        return self._events(chunk)

    def close(self) -> "list[Frame]":
        """Return the event that lacks its blank line, if there is one."""
        if self._failure:
            raise StreamError(self._failure, retryable=False)
        return self._cut(b"\n\n")

    def _with_lf(self, chunk: bytes) -> bytes:
        """Return *chunk* with each line end as one LF, and without a byte order mark."""
        if self._failure:
            raise StreamError(self._failure, retryable=False)
        if self._start is not None:
            chunk = self._start + chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._start = chunk
                return b""
            self._start = None
            chunk = chunk.removeprefix(_BOM)
        if not chunk:
            return chunk
        has_cr = _CR in chunk  # a search for two bytes takes many times as long
        self._use_line_end(b"\r\n" if has_cr and b"\r\n" in chunk else b"\n")
        text = chunk.removeprefix(b"\n") if self._after_cr else chunk
        self._after_cr = chunk.endswith(b"\r")
        self._plain = not self._after_cr
        return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if has_cr else text

    def _use_line_end(self, line_end: bytes) -> None:
        if line_end != self._line_end:
            head = self._form[1].removesuffix(b"data: ").replace(self._line_end, b"\n")
            self._line_end, self._forms = line_end, {}
            self._form = _form_of(head, line_end)

    def _cut(self, chunk: bytes) -> "list[Frame]":
        """Return the events that are complete now, and hold the rest."""
        held = self._held
        searched = max(len(held) - 1, 0)  # a blank line may lie across the cut
        held += chunk
        end = held.rfind(b"\n\n", searched) + 2 if _LF in chunk else 0
        complete = b""
        if end >= 2:
            with memoryview(held) as view:
                complete = bytes(view[:end])
            del held[:end]
        if held.startswith(b"\n"):  # blank lines before an event
            del held[: len(held) - len(held.lstrip(b"\n"))]
        if _LF in chunk and held.startswith(b"{"):
            end = _end_of_json_lines(held)
            complete += held[:end] + b"\n" if end else b""
            del held[:end]
        if len(complete) > self.max_frame_bytes or len(held) > self.max_frame_bytes:
            return self._within_limit(complete)
        return self._events(complete) if complete else []

    def _within_limit(self, complete: bytes) -> "list[Frame]":
        """Return the events before the first that is too long; raise if there are none."""
        end = 0
        for event in (*complete.split(b"\n\n"), bytes(self._held)):
            for piece in _pieces(event):
                # Blank lines are not part of an event; which ones are attached to it is chance.
                if len(piece.strip(b"\n")) > self.max_frame_bytes:
                    return self._failed(complete[:end])
                end += len(piece)
            end += 2
        return self._events(complete)

    def _failed(self, complete: bytes) -> "list[Frame]":
        """Return the events before one that is too long; raise if there are none."""
        self._plain, self._held = False, bytearray()
        self._failure = f"a server-sent event has more than {self.max_frame_bytes} bytes"
        frames = _lines(complete + b"\n\n")
        if not frames:
            raise StreamError(self._failure, retryable=False)
        return frames

    def _events(self, text: bytes) -> "list[Frame]":
        """Return the events in *text*, whose lines end with LF and whose last one is blank."""
        if len(text) > _LARGE and len(text) > _LARGE * text.count(b"\n\n"):
            return _lines(text)
        frames: list[Frame] = []
        forms = self._forms
        last = self._form
        for event in text[:-2].split(b"\n\n"):
            head, _, data = event.partition(b"data: ")
            form = forms.get(head)
            if form is None and len(forms) < _MOST_HEADS and len(head) < _LONGEST_HEAD:
                form = forms[head] = _usual_form(head, self._line_end)
            if form is None or _LF in data or not data:
                frames += _lines(event + b"\n")
            else:
                frames.append((form[0], data))
                last = form
        self._form = last
        return frames

    def _alike(self, chunk: bytes) -> "list[Frame]":
        """Return the events in *chunk* if all have the usual head and one line of data.

        Returns none otherwise. Nearly all events are cut here, by one split.
        """
        name, start, between, end = self._form
        if self._held or not chunk.startswith(start) or not chunk.endswith(end):
            return []
        payloads = chunk[len(start) : -len(end)].split(between)
        text = b"".join(payloads)  # searched at once, which costs less than one by one
        return [] if _LF in text or _CR in text else [*zip(repeat(name), payloads)]

    def _burst(self, chunk: bytes) -> "list[Frame]":
        """Return the events of a *chunk* with many, which may begin and end within one."""
        blank = self._line_end * 2
        first = chunk.find(blank) + len(blank) if self._held else 0
        end = chunk.rfind(blank) + len(blank)
        if end < len(blank):
            return self._read(chunk)
        frames = self._read(chunk[:first]) if first else []
        if self._failure:
            return frames
        if self._line_end * 2 != blank:
            return frames + self._read(chunk[first:])
        while first < end:
            last = chunk.rfind(blank, first, first + _WINDOW)
            last = (chunk.find(blank, first) if last < 0 else last) + len(blank)
            frames += self._several(chunk[first:last])
            first = last
        return frames + self._read(chunk[end:]) if end < len(chunk) else frames

    def _several(self, text: bytes) -> "list[Frame]":
        """Return the events in *text*, which ends with a blank line of the usual kind.

        The form of the one in its middle is probably that of most.
        """
        form = self._form_after(text, len(text) // 2) if len(text) > _FEW else None
        if form is None:
            lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if _CR in text else text
            return self._events(lines) if lines else []
        name, start, between, end = self._form = form
        first = 0 if text.startswith(start) else text.find(between) + len(end)
        frames = self._several(text[:first])
        payloads = text[first + len(start) : -len(end)].split(between)
        all_text = b"".join(payloads)
        mixed: list[int] = []
        """The payloads between which and the next one are other events."""
        if _LF in all_text or _CR in all_text:
            mixed = [n for n, some in enumerate(payloads) if _LF in some or _CR in some]
        done = 0
        for at in mixed:
            frames += zip(repeat(name), payloads[done:at])
            frames += self._several(start + payloads[at] + end)
            done = at + 1
        frames += zip(repeat(name), payloads[done:])
        return frames

    def _form_after(self, text: bytes, at: int) -> _Form | None:
        """Return the form of the first event in *text* that begins after *at*, if it is usual."""
        blank = self._line_end * 2
        begin = text.find(blank, at) + len(blank)
        end = text.find(b"data: ", begin, begin + _LONGEST_HEAD)
        if begin < len(blank) or end < 0:
            return None
        head = text[begin:end].replace(self._line_end, b"\n")
        form = _usual_form(head, self._line_end)
        return form if form is not None and text.startswith(form[1], begin) else None


@lru_cache(maxsize=256)
def _usual_form(head: bytes, line_end: bytes) -> _Form | None:
    """Return how events with *head* before the data are cut; None if it is more than a name.

    Streams have the same few, so that the forms are made once for all of them.
    """
    return _form_of(head, line_end) if _NAMED.fullmatch(head) else None


def _form_of(head: bytes, line_end: bytes) -> _Form:
    """Return how events are cut whose lines before the data are *head*, at most one with a name."""
    start = head.replace(b"\n", line_end) + b"data: "
    return head[7:-1].decode("utf-8", "replace"), start, line_end * 2 + start, line_end * 2


_USUAL_STARTS: Final = (b"data: ", b"event: ")
_BURST: Final = 8 * 1024
"""A chunk with more bytes has probably many events."""
_FEW: Final = 2 * 1024
"""So many bytes of a burst are cut event by event."""
_WINDOW: Final = 16 * 1024
"""So many bytes at most are split at once. For more than 30,000, CPython 3.11 prepares a search
again for each piece, which takes longer than the rest of the split."""
_LARGE: Final = 64 * 1024
"""Chunks whose events are larger on average are not split twice, which would take memory."""
_MOST_HEADS: Final = 64
"""The most lines before data that are kept for a stream; APIs have fewer names of events."""
_LONGEST_HEAD: Final = 200
_NAMED: Final = re.compile(rb"(?:event: [^\n]*\n)?")


def _end_of_json_lines(text: bytes | bytearray) -> int:
    """Return where the lines at the beginning of *text* end that are JSON by themselves."""
    end = 0
    while text.startswith(b"{", end):
        line_end = text.find(b"\n", end)
        if line_end < 0 or not _is_alone(text[end:line_end]):
            break
        end = line_end + 1
    return end


def _is_alone(line: bytes | bytearray) -> bool:
    """Return whether a line that begins with `{` is a document by itself."""
    return line.rstrip().endswith(b"}")


def _pieces(event: bytes) -> list[bytes]:
    """Return the lines of JSON at the beginning of *event*, and the rest of it."""
    blank = len(event) - len(event.lstrip(b"\n"))
    end = blank + _end_of_json_lines(event[blank:] + b"\n")
    return [*_LINE.findall(event[:end]), event[end:]]


_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")


def _begins_event(line: bytes, before: bytes, first: bytes) -> bool:
    """Return whether data begins another event after the line *before* of data with the *first*."""
    whole = first[:1] == b"{" and before.rstrip().endswith(b"}")
    return whole and (line[:1] == b"{" or line.strip() == b"[DONE]")


def _lines(text: bytes) -> "list[Frame]":
    """Return the events in *text*, line by line."""
    frames: list[Frame] = []
    name = own_name = ""
    data: bytes | None = None
    earlier: list[bytes] = []
    lines = iter(text.split(b"\n"))
    for line in lines:
        if not line:
            if data is not None:
                frames.append((name, b"\n".join([*earlier, data]) if earlier else data))
                data = None
                earlier = []
            name = ""
        elif line[:5] == b"data:" or line == b"data":
            value = line[6:] if line[:6] == b"data: " else line[5:]  # copied once
            if data is not None:
                earlier.append(data)
                if _begins_event(value, data, earlier[0]):
                    frames.append((own_name, b"\n".join(earlier)))
                    earlier = []
            data, own_name = value, name
        elif line[:1] == b"{":
            rest = () if _is_alone(line) else takewhile(bool, lines)
            frames.append((name, b"\n".join([line, *rest])))
            data, earlier, name = None, [], ""
        else:
            field_name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field_name == b"error" and value[:1] == b"{":
                frames.append(("error", value))
            elif field_name == b"event":
                name = value.decode("utf-8", "replace")
    return frames
