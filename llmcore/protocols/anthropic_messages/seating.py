"""Anthropic Messages: where instructions among the messages may stand.

Source: https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, read
November 2026: after a user's turn (or an answer that ends with the result of a tool of the
provider's), and before an answer or at the end; never first.
"""

from typing import Literal

from attrs import evolve, frozen

from llmcore.protocols.anthropic_messages.types import Message as NativeMessage
from llmcore.protocols.anthropic_messages.types import Raw, blocks
from llmcore.protocols.notes import Notes
from llmcore.protocols.substitutes import tagged_text


@frozen
class Turn:
    """What is to become a message."""

    role: Literal["user", "assistant", "system"]
    content: tuple[blocks.ContentBlock, ...]
    path: str


def seat(turns: list[Turn], notes: Notes) -> tuple[list[blocks.TextBlock], list[NativeMessage]]:
    """Return the instructions that come first, and *turns* as messages in a legal order.

    Instructions elsewhere become the user's text, in a tag that tells who speaks.
    """
    turns = _filled(turns)
    leading: list[blocks.TextBlock] = []
    while turns and turns[0].role == "system":
        leading += _texts(turns[0], notes)
        turns = turns[1:]
    seated: list[Turn] = []
    for turn in _joined(turns):
        seated.append(turn)
        _unseat(seated, notes)
    if seated and seated[-1].role == "system":
        _settle_last(seated, notes)
    messages = [NativeMessage(turn.role, turn.content) for turn in _joined(_filled(seated))]
    return leading, messages


def _filled(turns: list[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.content]


def _joined(turns: list[Turn]) -> list[Turn]:
    """Return *turns* with neighbours of one role as one."""
    joined: list[Turn] = []
    for turn in turns:
        if joined and joined[-1].role == turn.role:
            joined[-1] = evolve(joined[-1], content=(*joined[-1].content, *turn.content))
        else:
            joined.append(turn)
    return joined


def _unseat(seated: list[Turn], notes: Notes) -> None:
    """Make instructions before the last turn the user's, where they may not stand."""
    if len(seated) > 1 and seated[-2].role == "system":
        before = seated[-3] if len(seated) > 2 else None
        if seated[-1].role != "assistant" or not _may_follow(before):
            seated[-2] = _demoted(seated[-2], notes)


def _settle_last(seated: list[Turn], notes: Notes) -> None:
    if not _may_follow(seated[-2] if len(seated) > 1 else None):
        seated[-1] = _demoted(seated[-1], notes)


def _may_follow(before: Turn | None) -> bool:
    if before is None or before.role == "system":
        return False
    if before.role == "user":
        return True
    last = before.content[-1] if before.content else None
    return isinstance(last, Raw) and str(last.data.get("type")).endswith("_tool_result")


def _demoted(turn: Turn, notes: Notes) -> Turn:
    notes.changed(
        "system-message-demoted",
        turn.path,
        "the API takes no system message here; it became user text in a <system> tag",
    )
    texts = _texts(turn, notes)
    tagged = (evolve(block, text=tagged_text("system", block.text)) for block in texts)
    return Turn("user", tuple(tagged), turn.path)


def _texts(turn: Turn, notes: Notes) -> list[blocks.TextBlock]:
    texts = [block for block in turn.content if isinstance(block, blocks.TextBlock)]
    if len(texts) < len(turn.content):
        why = "only the text of a system message can stand elsewhere"
        notes.dropped("unsupported-content", turn.path, why)
    return texts
