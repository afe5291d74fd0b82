"""Building a body that either stands, with what is to be said of it, or fails with an error."""

from collections.abc import Callable
from typing import TypeVar

from llmcore.protocols.notes import Notes
from llmcore.protocols.protocol import Built
from llmcore.schema.errors import LLMError
from llmcore.schema.result import Failure, Result, Success

B = TypeVar("B")


def build(lower: Callable[[Notes], B]) -> Result[Built[B], LLMError]:
    """Return the body that *lower* makes and its notes; the error that it raises otherwise."""
    notes = Notes()
    try:
        body = lower(notes)
    except LLMError as error:
        return Failure(error)
    return Success(Built(body, tuple(notes.entries)))
