"""Summaries that take the place of a conversation: the words that ask for one, and its text.

Clients of the Responses API and of the Messages API can ask for one in place of a response. An
upstream of another API gets a message of the user for it, and no tools; its text is the summary.
"""

from typing import Final

from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    LLMEvent,
    StepFinish,
    StepStart,
    StreamStart,
    TextEnd,
)
from llmcore.schema.messages import Message

INSTRUCTION: Final = (
    "Do not continue the task now. Write a summary that will take the place of this whole "
    "conversation: what the user wants, in their own words where they matter; what was decided "
    "and done, with names of files, commands and results; what is still open, and what comes "
    "next. Answer with the summary only."
)
"""The message of the user that asks the upstream for a summary."""
_INTRODUCTION: Final = "This is a summary of the conversation before; go on from it.\n\n"


def summary_message(summary: str) -> Message:
    """Return the message that replaces the summarised part of a conversation."""
    return Message.user(_INTRODUCTION + summary)


def is_summary(message: Message) -> bool:
    """Return whether *message* is a result of `summary_message`."""
    return message.role == "user" and message.text.startswith(_INTRODUCTION)


class Summary:
    """Collects the text of a response that is to be a summary."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        """The text so far; empty if the model wrote none."""
        return "".join(self._texts).strip()

    def read(self, event: LLMEvent) -> LLMEvent | None:
        """Add the text of *event*; return it if it is to be shown besides."""
        if isinstance(event, TextEnd) and not event.refusal:
            self._texts.append(event.text)
        is_shown = isinstance(event, StreamStart | StepStart | StepFinish | Finish | ErrorEvent)
        return event if is_shown else None
