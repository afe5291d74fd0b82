"""Parley: the state of a response that is being read.

mode        text            thought         call            close
""          open text       open thought    open call       end
text        delta           close, open     close, open     close, end
reasoning   close, open     delta           close, open     close, end
call        close, open     close, open     close, open     close, end
"""

from typing import Literal, TypeAlias

from attrs import frozen

from llmcore.protocols.response_parts import StreamContext
from llmcore.schema.changed import changed
from llmcore.schema.events import (
    LLMEvent,
    ReasoningEnd,
    ReasoningStart,
    TextEnd,
    TextStart,
    ToolInputEnd,
)

Mode: TypeAlias = Literal["", "text", "reasoning", "call"]


@frozen(kw_only=True)
class ParleyState:
    """Which segment is open, and what its successors need to be told apart."""

    context: StreamContext
    mode: Mode = ""
    segment: str = ""
    """The id of the open segment."""
    segments: int = 0
    calls: frozenset[str] = frozenset()
    """The ids of all calls so far."""
    freeform: tuple[str, ...] | None = None
    """The pieces of the open call's input, where it must be unwrapped."""
    started: bool = False
    ended: bool = False


def open_segment(
    state: ParleyState, mode: Literal["text", "reasoning"], events: list[LLMEvent]
) -> ParleyState:
    """Return *state* inside a segment of *mode*, which it may be in already."""
    if state.mode == mode:
        return state
    state = close_segment(state, events)
    segment = f"{mode}_{state.segments}"
    events.append(TextStart(segment) if mode == "text" else ReasoningStart(segment))
    return changed(state, mode=mode, segment=segment, segments=state.segments + 1)


def close_segment(state: ParleyState, events: list[LLMEvent]) -> ParleyState:
    """Return *state* outside of any segment."""
    if state.mode == "text":
        events.append(TextEnd(state.segment))
    elif state.mode == "reasoning":
        events.append(ReasoningEnd(state.segment))
    elif state.mode == "call":
        events.append(ToolInputEnd(state.segment))
    return changed(state, mode="", segment="", freeform=None)
