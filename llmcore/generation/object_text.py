"""Finds the JSON document in the text of a response.

Models that are only instructed to answer in JSON put it into a code fence, or write a sentence
before it. The first of the following that is valid JSON is the document:
1. The whole text.
2. The content of a code fence.
3. The text from the first opening bracket to the last closing one.
"""

import re
from collections.abc import Iterator

from attrs import frozen

from llmcore.schema import json
from llmcore.schema.json import JsonValue

_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_CLOSING = {"{": "}", "[": "]"}
_NEAR = 20


@frozen
class Document:
    """A JSON document, and whether it was the whole text (`bare`)."""

    value: JsonValue
    bare: bool = True


def document_in(text: str) -> Document:
    """Return the JSON document in *text*; ValueError with the position of the fault if none.

    NaN and infinities are not JSON. Integers keep all digits.
    """
    problem = ValueError("there is no text")
    for number, candidate in enumerate(_candidates(text)):
        try:
            return Document(json.loads_exact(candidate), bare=number == 0)
        except ValueError as error:
            problem = _with_context(error, candidate)
    raise problem


def _candidates(text: str) -> Iterator[str]:
    whole = text.strip()
    if not whole:
        return
    yield whole
    yield from (match[1] for match in _FENCE.finditer(whole))
    opening = _OPENING.search(whole)
    if opening is not None:
        end = whole.rfind(_CLOSING[opening[0]], opening.start())
        yield whole[opening.start() : end + 1 if end > 0 else len(whole)]


def _with_context(error: ValueError, text: str) -> ValueError:
    """Return *error* with the text near its position."""
    position = getattr(error, "pos", None)
    if not isinstance(position, int):
        return error
    near = text[max(0, position - _NEAR) : position + _NEAR]
    return ValueError(f"{error}, near {near!r}")
