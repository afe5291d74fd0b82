"""Finds the JSON document in the text of a response, whole or while it is streamed.

Models that are only instructed to answer in JSON put it into a code fence, or write a sentence
before it. The first of the following that is valid JSON is the document:
1. The whole text.
2. The content of a code fence.
3. The text from the first opening bracket to the last closing one. Where the document must be an
   object, square brackets in the sentence before it are skipped.

Parsing the whole text again at every delta takes quadratic time. A text of up to `EAGER`
characters is therefore parsed at every delta, a longer one whenever it has grown by a sixteenth,
and at its end: together at most some 17 times the cost of the last parse. A scanner that reads
each character once finds the elements of an array.

    text so far           value                 elements
    [{"a": 1}, {"b        [{"a": 1}, {}]        {"a": 1}
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

import jiter

from llmcore.schema import json
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue

EAGER: Final = 1024
"""The length in characters up to which the text is parsed at every delta."""

EITHER: Final = "{["
"""The brackets that open an object or an array."""

_GROWTH = 16
_UNFINISHED_NUMBER = "0123456789+-.eE"
_INSIDE = re.compile(r'["{}\[\]]')
_BETWEEN = re.compile(r'["{}\[\],]')  # elements
_STRING = re.compile(r'["\\]')


class PartialValue:
    """The growing text of a JSON document, and its value so far.

    The document begins at the first of the characters *opening*; text before it, such as a code
    fence, is skipped.
    """

    def __init__(self, opening: str = EITHER) -> None:
        self._opening = opening
        self._chunks: list[str] = []
        self._length = 0
        self._due = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._length} characters)"

    def feed(self, text: str) -> JsonValue:
        """Add text. Returns the value so far, or None if it was not parsed or there is none."""
        if not self._chunks:
            text = self._from_opening(text)
        if not text:
            return None
        self._chunks.append(text)
        self._length += len(text)
        return self.read() if self._length >= self._due else None

    def read(self) -> JsonValue:
        """Return the value of the whole text so far; None if there is none, or if it is not JSON.

        Numbers and names such as `true` are included once they are complete, strings as far as they
        have arrived, properties once their value has begun.
        """
        text = "".join(self._chunks)
        self._chunks = [text] if text else []
        self._due = self._length + (self._length // _GROWTH if self._length > EAGER else 0)
        try:
            return _partial(text)
        except ValueError:
            return None

    def _from_opening(self, text: str) -> str:
        begin = _first_of(self._opening, text)
        return text[begin:] if begin >= 0 else ""


def _partial(text: str) -> JsonValue:
    # The possible beginning of a longer number is omitted: 12 must not become 123. In a
    # string this only delays a few characters.
    data = text.rstrip(_UNFINISHED_NUMBER).encode("utf-8", "replace")
    value: JsonValue = jiter.from_json(
        data, partial_mode="trailing-strings", allow_inf_nan=False, catch_duplicate_keys=True
    )
    return value


def contains(larger: JsonValue, smaller: JsonValue) -> bool:
    """Return whether *larger* extends *smaller* by properties, elements or characters."""
    if isinstance(smaller, str):
        return isinstance(larger, str) and larger.startswith(smaller)
    if isinstance(smaller, Mapping):
        return isinstance(larger, Mapping) and all(
            name in larger and contains(larger[name], item) for name, item in smaller.items()
        )
    if isinstance(smaller, list):
        return (
            isinstance(larger, list)
            and len(larger) >= len(smaller)
            and all(contains(larger[at], item) for at, item in enumerate(smaller))
        )
    return type(larger) is type(smaller) and larger == smaller


class ElementScanner:
    """Splits the first array of a text into its elements as they become complete."""

    def __init__(self) -> None:
        self.found: deque[str] = deque()
        """The texts of the elements that were not consumed yet."""
        self._chunks: list[str] = []
        self._depth = -1  # of brackets inside the array; -1 before it and -2 after it
        self._in_string = False
        self._escaped = False

    def feed(self, text: str) -> None:
        """Add text."""
        at = self._opening(text) if self._depth == -1 else 0
        while self._depth >= 0 and at < len(text):
            at = self._scan_string(text, at) if self._in_string else self._scan(text, at)

    def _opening(self, text: str) -> int:
        at = text.find("[") + 1
        if at:
            self._depth = 0
        return at

    def _scan_string(self, text: str, at: int) -> int:
        """Scan to the end of a string; return the position after it."""
        begin, length = at, len(text)
        while self._in_string and at < length:
            if self._escaped:
                self._escaped, at = False, at + 1
                continue
            match = _STRING.search(text, at)
            at = match.end() if match is not None else length
            self._escaped = match is not None and match[0] == "\\"
            self._in_string = match is None or self._escaped
        self._chunks.append(text[begin:at])
        return at

    def _scan(self, text: str, at: int) -> int:
        """Scan past the next structural character; return the position after it."""
        match = (_INSIDE if self._depth else _BETWEEN).search(text, at)
        if match is None:
            self._chunks.append(text[at:])
            return len(text)
        self._chunks.append(text[at : match.start()])
        mark = match[0]
        if self._depth == 0 and mark in ",]}":
            self._cut()
            self._depth = 0 if mark == "," else -2
            return match.end()
        self._chunks.append(mark)
        self._in_string = mark == '"'
        self._depth += (mark in "{[") - (mark in "}]")
        return match.end()

    def _cut(self) -> None:
        element = "".join(self._chunks).strip()
        self._chunks.clear()
        if element:
            self.found.append(element)


# -- objects in texts


_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_NEAR = 20


@frozen
class Document:
    """A JSON document, and whether it was the whole text (`bare`)."""

    value: JsonValue
    bare: bool = True


def document_in(text: str, opening: str = EITHER) -> Document:
    """Return the JSON document in *text*; ValueError with the position of the fault if none.

    Inside other text it begins with one of the characters *opening*. NaN and infinities are not
    JSON. Integers keep all digits.
    """
    problem = ValueError("there is no text")
    for number, candidate in enumerate(_candidates(text, opening)):
        try:
            return Document(json.loads_exact(candidate), bare=number == 0)
        except ValueError as error:
            problem = _with_context(error, candidate)
    raise problem


def _candidates(text: str, opening: str) -> Iterator[str]:
    whole = text.strip()
    if not whole:
        return
    yield whole
    yield from (match[1] for match in _FENCE.finditer(whole))
    begin = _first_of(opening, whole)
    if begin >= 0:
        end = whole.rfind(_CLOSING[whole[begin]], begin)
        yield whole[begin : end + 1 if end > 0 else len(whole)]


def _first_of(characters: str, text: str) -> int:
    """Return where the first of *characters* stands in *text*; -1 if none does."""
    return min((at for at in map(text.find, characters) if at >= 0), default=-1)


def _with_context(error: ValueError, text: str) -> ValueError:
    """Return *error* with the text near its position."""
    position = getattr(error, "pos", None)
    if not isinstance(position, int):
        return error
    near = text[max(0, position - _NEAR) : position + _NEAR]
    return ValueError(f"{error}, near {near!r}")
