"""The steps of a repair in a row."""

from collections.abc import Sequence

from attrs import frozen

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.history.cleaning import clean, place_instructions
from llmcore.protocols.history.pairing import match, settle
from llmcore.protocols.history.policy import HistoryPolicy
from llmcore.protocols.history.turns import arrange, units_of
from llmcore.schema.content import TextPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.messages import Message


@frozen(kw_only=True)
class Repaired:
    """A conversation that keeps its policy's rules."""

    messages: tuple[Message, ...]
    paths: tuple[str, ...]
    """Where each message, or its first part, stood before: `messages[3]`, for Diagnostics."""
    system: tuple[TextPart, ...] = ()
    """Text of lifted system messages: it goes after the request's own system text."""
    diagnostics: tuple[Diagnostic, ...] = ()


def repair(messages: Sequence[Message], policy: HistoryPolicy) -> Repaired:
    """Return *messages* as the target of *policy* accepts them.

    Every tool call of an assistant message has exactly one result, directly after that
    message and in call order; every call id is unique and legal. InvalidRequestError for
    two results to one call: which of them is true, only the caller knows.
    """
    notes = Notes()
    drafts = [clean(message, index, policy, notes) for index, message in enumerate(messages)]
    system = place_instructions(drafts, policy, notes)
    drafts = [draft for draft in drafts if draft.parts or draft.role == "user"]
    answers = match(drafts, policy, notes)
    settle(drafts, answers, policy, notes)
    arranged = arrange(units_of(drafts, answers, policy), policy, notes)
    return Repaired(
        messages=tuple(message for _, message in arranged),
        paths=tuple(path for path, _ in arranged),
        system=tuple(system),
        diagnostics=tuple(notes.entries),
    )
