r"""Parley: text, thoughts, and calls of tools.

{"thought": "Two and two."}
{"text": "Four"}
{"call": {"id": "c1", "name": "add", "input": {"a": 2}}}      whole
{"call": {"id": "c1", "name": "add"}}                         streamed:
{"input": "{\"a\":"}
{"input": "2}"}
"""

from typing import Any

from llmcore.protocols.tools import freeform_text, synthetic_call_id
from llmcore.schema.changed import changed
from llmcore.schema.events import (
    LLMEvent,
    ReasoningDelta,
    TextDelta,
    ToolInputDelta,
    ToolInputStart,
)
from llmcore.schema.json import json_or_text, object_or_empty, str_or_none, text_or_json
from tests.support.parley.state import ParleyState, close_segment, open_segment


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


# -- calls


def on_call(state: ParleyState, call: Any, events: list[LLMEvent]) -> ParleyState:
    """Open a call, and emit the input that came with it."""
    call = object_or_empty(call)
    state = end_call(state, events)
    name, call_id = str_or_none(call.get("name")) or "", str_or_none(call.get("id"))
    if not call_id or call_id in state.calls:
        call_id = synthetic_call_id(None, state.context.turn, len(state.calls))
    freeform = name in state.context.freeform
    events.append(ToolInputStart(call_id, name, kind="custom" if freeform else "function"))
    state = changed(
        state,
        mode="call",
        segment=call_id,
        calls=state.calls | {call_id},
        freeform=() if freeform else None,
    )
    return on_input(state, call.get("input"), events)


def on_input(state: ParleyState, given: Any, events: list[LLMEvent]) -> ParleyState:
    """Emit more of the open call's input; keep it where it must be unwrapped."""
    if state.mode != "call" or given is None:
        return state
    text = text_or_json(given)
    if state.freeform is not None:
        return changed(state, freeform=(*state.freeform, text))
    if text:
        events.append(ToolInputDelta(state.segment, text))
    return state


def end_call(state: ParleyState, events: list[LLMEvent]) -> ParleyState:
    """Close the open segment; the input of a freeform tool is emitted here, unwrapped."""
    if state.freeform:
        text = freeform_text(json_or_text("".join(state.freeform)))
        if text:
            events.append(ToolInputDelta(state.segment, text))
    return close_segment(state, events)
