"""Unwrapping a freeform tool's input while the model writes it as JSON.

The function that represents a freeform tool has one string, `input`. Its text is emitted as it
arrives, in pieces cut anywhere: inside an escape, between the halves of a surrogate pair. Models
do not always keep to the form, so other forms are accepted too: another name for the
only field, bare text, raw line breaks and quotes inside the string.
"""

import re
from typing import Final, Literal

from llmcore.protocols.tools import FREEFORM_FIELD, freeform_text
from llmcore.schema.json import json_or_text, parse_arguments, text_or_json

_SPACE: Final = " \t\r\n"
_ESCAPES: Final = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_UNICODE_LENGTH: Final = 6
_SPECIAL: Final = re.compile(r'["\\]')
_REPLACEMENT: Final = "�"

_Mode = Literal["start", "string", "closing", "closed", "bare", "whole"]


class FreeformInput:
    """Turns pieces of a function's arguments into pieces of a freeform tool's input.

    The pieces that `feed` and `close` return, joined, are the whole input.
    """

    def __init__(self) -> None:
        self._mode: _Mode = "start"
        self._held: list[str] = []
        self._rest = ""
        self._half = ""
        self._spaces = ""

    def feed(self, text: str) -> str:
        """Return what *text*, the next piece, adds to the input."""
        match self._mode:
            case "bare":
                return text
            case "string" | "closing":
                return self._read_string(self._rest + text)
            case "closed":
                return ""
            case "whole":
                self._held.append(text)
                return ""
            case "start":
                return self._begin(text)

    def close(self) -> str:
        """Return the last piece, after all arguments have arrived."""
        match self._mode:
            case "start" | "whole":
                return self._decoded_whole("".join(self._held) + self._rest)
            case "string" | "closing":
                # cut inside an escape, or before the closing quote: the text before it is valid
                half, self._half = self._half, ""
                return _REPLACEMENT if half else ""
            case _:
                return ""

    @property
    def is_cut(self) -> bool:
        """Whether the arguments so far end inside the string that holds the input."""
        return self._mode == "string"

    # -- the beginning: which form is it

    def _begin(self, text: str) -> str:
        self._rest += text
        head = self._rest.lstrip(_SPACE)
        if not head:
            return ""
        if head[0] == '"':
            return self._hold()
        if head[0] != "{":
            self._mode = "bare"
            buffered, self._rest = self._rest, ""
            return buffered
        return self._begin_object(head)

    def _begin_object(self, head: str) -> str:
        """Find the one field that is streamed; other forms are buffered until their end."""
        at = _Cursor(head, 1)
        for wanted in (f'"{FREEFORM_FIELD}"', ":", '"'):
            after = at.skip(wanted)
            if after is None:
                return ""
            if not after:
                return self._hold()
        self._mode = "string"
        self._rest = ""
        return self._read_string(head[at.place :])

    def _hold(self) -> str:
        self._mode = "whole"
        self._held, self._rest = [self._rest], ""
        return ""

    def _decoded_whole(self, text: str) -> str:
        arguments, _ = parse_arguments(text)
        if isinstance(arguments, str):
            bare = json_or_text(arguments)  # a string of JSON, or none
            return bare if isinstance(bare, str) else text_or_json(arguments)
        return "" if not arguments else freeform_text(arguments)

    # -- inside the string

    def _read_string(self, text: str) -> str:
        """Return the decoded characters of *text*; an incomplete escape is buffered."""
        pieces: list[str] = []
        place = 0
        while place < len(text):
            if self._mode == "closing":
                place = self._after_quote(text, place, pieces)
                continue
            if self._mode == "closed":
                break
            special = _SPECIAL.search(text, place)
            end = special.start() if special else len(text)
            self._say(text[place:end], pieces)
            place = end
            if place == len(text):
                break
            if text[place] == '"':
                self._mode = "closing"
                self._spaces = '"'
                place += 1
                continue
            length = self._escape(text, place, pieces)
            if not length:
                self._rest = text[place:]
                return "".join(pieces)
            place += length
        self._rest = ""
        return "".join(pieces)

    def _after_quote(self, text: str, place: int, pieces: list[str]) -> int:
        """Decide whether the quote before *place* ended the string; models forget to escape."""
        character = text[place]
        if character in _SPACE:
            self._spaces += character
        elif character in ",}":
            self._mode = "closed"
            self._say("", pieces, last=True)
        else:
            self._say(self._spaces, pieces)
            self._mode = "string"
            return place
        return place + 1

    def _say(self, text: str, pieces: list[str], *, last: bool = False) -> None:
        """Add plain characters; half of a pair before them stays alone."""
        if self._half and (text or last):
            pieces.append(_REPLACEMENT)
            self._half = ""
        if text:
            pieces.append(text)

    def _escape(self, text: str, place: int, pieces: list[str]) -> int:
        """Read the escape at *place*, and return its length; 0 if it is incomplete."""
        if place + 1 == len(text):
            return 0
        letter = text[place + 1]
        if letter != "u":
            # an unknown escape is what was meant literally, such as a regular expression's
            self._say(_ESCAPES.get(letter, f"\\{letter}"), pieces)
            return 2
        digits = text[place + 2 : place + _UNICODE_LENGTH]
        if not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            self._say("\\u", pieces)
            return 2
        if len(digits) < _UNICODE_LENGTH - 2:
            return 0
        self._say_unit(int(digits, 16), pieces)
        return _UNICODE_LENGTH

    def _say_unit(self, unit: int, pieces: list[str]) -> None:
        """Add a UTF-16 unit; the first half of a pair is buffered until the second."""
        if 0xD800 <= unit < 0xDC00:
            self._say("", pieces, last=True)
            self._half = chr(unit)
        elif 0xDC00 <= unit < 0xE000:
            pair = (ord(self._half) - 0xD800) * 0x400 + unit - 0xDC00 + 0x10000 if self._half else 0
            self._half = ""
            pieces.append(chr(pair) if pair else _REPLACEMENT)
        else:
            self._say(chr(unit), pieces)


class _Cursor:
    """A position in a text of which more may arrive."""

    def __init__(self, text: str, place: int) -> None:
        self._text = text
        self.place = place

    def skip(self, wanted: str) -> bool | None:
        """Skip spaces and *wanted*; False if other text follows, None if too little has arrived."""
        while self.place < len(self._text) and self._text[self.place] in _SPACE:
            self.place += 1
        there = self._text[self.place : self.place + len(wanted)]
        if not wanted.startswith(there):
            return False
        if len(there) < len(wanted):
            return None
        self.place += len(wanted)
        return True


def unwrapped(text: str) -> str:
    """Return the freeform input in complete arguments."""
    wrapped = FreeformInput()
    return wrapped.feed(text) + wrapped.close()
