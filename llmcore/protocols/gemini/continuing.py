"""Gemini: the per-token path.

Most chunks of an answer only bring more of the open text or thought. Those are decoded into a
type of their own, which has no place for what could say more, and a step with one makes no new
`Answer`. `as_chunk` gives the chunk back, for states in which it says more than that.

`StreamMachine.continued` cannot do this: each chunk restates the usage, and citations count in
the text so far, so that the state changes.
"""

from typing import Any, Final, Literal

import msgspec

from llmcore.protocols.answering import PersistentList
from llmcore.protocols.gemini.state import Answer, Chunk, State
from llmcore.protocols.gemini.usage import latest
from llmcore.schema.events import LLMEvent, ReasoningDelta, TextDelta


class _Part(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    text: str
    thought: bool = False


class _Content(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    parts: list[_Part]
    role: str | None = None


class _Candidate(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    content: _Content
    index: Literal[0] | None = None


class Continuation(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A chunk that holds text, the usage, and what every chunk repeats."""

    candidates: list[_Candidate]
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None
    response_id: str | None = None
    create_time: str | None = None


_read: Final = msgspec.json.Decoder(Continuation).decode


def read_continuation(data: bytes) -> Continuation | None:
    """Return the chunk that *data* is; None if it says more, or is no JSON."""
    try:
        return _read(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def as_chunk(event: Continuation) -> Chunk:
    """Return what was decoded as the chunk that it is."""
    chunk: Chunk = msgspec.to_builtins(event)
    return chunk


def continued(state: State, event: Continuation) -> tuple[State, tuple[LLMEvent]] | None:
    """Return the step of a chunk that only continues the open segment; None for any other."""
    answer, usage = state.answer, event.usage_metadata
    candidates = event.candidates
    parts = candidates[0].content.parts if len(candidates) == 1 else ()
    if len(parts) != 1 or not parts[0].text or not _repeats(event, answer):
        return None
    text, usage = parts[0].text, state.usage if usage is None else latest(state.usage, usage)
    if not parts[0].thought and answer.mode == "text":
        return State(answer, usage, PersistentList(text, state.said)), (
            TextDelta(answer.segment, text),
        )
    if parts[0].thought and answer.mode == "reasoning":
        return State(answer, usage, state.said), (ReasoningDelta(answer.segment, text),)
    return None


def _repeats(event: Continuation, answer: Answer) -> bool:
    """Return whether *event* says nothing new of the answer as a whole."""
    return event.create_time is None or event.create_time == answer.metadata.get("createTime")
