"""Compaction: a long conversation made short, at its client's wish.

A request whose input ends with a `compaction_trigger` wants one `compaction` item and no answer.
OpenAI's server makes them itself. Other upstreams are asked for a summary, which the item carries
sealed; where the item comes back, the summary takes its place. Source:
https://developers.openai.com/api/reference/resources/responses, read November 2026.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.bridge.state.signer import Sealer
from llmcore.protocols.loose_json import mapping, string
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

TRIGGER: Final = "compaction_trigger"
ITEM: Final = "compaction"

_VERSION: Final = 1
_ASK: Final = (
    "Do not go on with the task now. Write a summary that will take the place of this whole "
    "conversation: what the user wants, in their own words where they matter; what was decided "
    "and done, with names of files, commands and results; what is still open, and what comes "
    "next. Answer with the summary only."
)
_INTRODUCTION: Final = "This is a summary of the conversation before; go on from it.\n\n"


def wants_compaction(items: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the input ends with a wish to be made short."""
    return bool(items) and items[-1].get("type") == TRIGGER


def summary_wish() -> Message:
    """Return what asks the upstream for a summary."""
    return Message.user(_ASK)


def summary_message(summary: str) -> Message:
    """Return what stands in a conversation for all that was summarised."""
    return Message.user(_INTRODUCTION + summary)


def is_summary(message: Message) -> bool:
    """Return whether *message* is such a stand-in."""
    return message.role == "user" and message.text.startswith(_INTRODUCTION)


def compaction_item(item_id: str, summary: str, sealer: Sealer) -> dict[str, Any]:
    """Return the item that carries *summary*."""
    sealed = sealer.seal({"v": _VERSION, ITEM: summary})
    return {"id": item_id, "type": ITEM, "encrypted_content": sealed}


def carried_summary(item: Mapping[str, Any], sealer: Sealer) -> str | None:
    """Return the summary in a `compaction` item; None if it is not of this bridge, or damaged."""
    try:
        state = mapping(sealer.unseal(string(item.get("encrypted_content")) or ""))
    except ValueError:
        return None
    return string(state.get(ITEM)) if state.get("v") == _VERSION else None


class Summary:
    """The text of an answer that is to be a summary, and nothing else of it."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        """What was written so far; empty if the model said nothing."""
        return "".join(self._texts).strip()

    def takes(self, event: LLMEvent) -> bool:
        """Take what *event* says; whether that was all there is to it."""
        if isinstance(event, TextEnd) and not event.refusal:
            self._texts.append(event.text)
        return not isinstance(event, StreamStart | StepStart | StepFinish | Finish | ErrorEvent)
