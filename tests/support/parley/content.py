"""Parley: text and thoughts.

{"thought": "Two and two."}
{"text": "Four"}
"""

from typing import Any

from llmcore.schema.events import LLMEvent, ReasoningDelta, TextDelta
from tests.support.parley.state import ParleyState, open_segment


def on_text(state: ParleyState, text: Any, events: list[LLMEvent]) -> ParleyState:
    """Emit more of the text."""
    if not isinstance(text, str) or not text:
        return state
    state = open_segment(state, "text", events)
    events.append(TextDelta(state.segment, text))
    return state


def on_thought(state: ParleyState, text: Any, events: list[LLMEvent]) -> ParleyState:
    """Emit more of the reasoning."""
    if not isinstance(text, str) or not text:
        return state
    state = open_segment(state, "reasoning", events)
    events.append(ReasoningDelta(state.segment, text))
    return state
