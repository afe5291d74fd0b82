"""A conversation that ends with what the model said: to be gone on with, or cut off there.

Older models go on from a beginning of their answer ("prefill"). Newer ones refuse the request as
a whole, so that the user has to have the last word.
"""

from typing import Final

from llmcore.protocols.notes import Notes

LAST_WORD: Final = "(continue)"
"""What the user says last where the conversation ends with an answer."""


def note_last_word(path: str, notes: Notes) -> None:
    """Say that the user got the last word, after the answer at *path*."""
    why = f"the model does not go on from a beginning of its answer: {LAST_WORD!r} is sent after it"
    notes.added("last-message-added", path, why)
