r"""Parley: the content of a response, its start and its end.

{"open": {"id": "t1", "model": "parley-2"}}
{"thought": "Two and two."}
{"text": "Four"}
{"call": {"id": "c1", "name": "add", "input": {"a": 2}}}      whole
{"call": {"id": "c1", "name": "add"}}                         streamed:
{"input": "{\"a\":"}
{"input": "2}"}
{"close": {"why": "done", "tokens": {"in": 3, "out": 5, "saved": 1}}}

mode        text            thought         call            close
""          open text       open thought    open call       end
text        delta           close, open     close, open     close, end
reasoning   close, open     delta           close, open     close, end
call        close, open     close, open     close, open     close, end
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from llmcore.protocols.response_parts import StreamContext, finish_events, map_finish_reason
from llmcore.protocols.tools import freeform_text, synthetic_call_id
from llmcore.schema.changed import changed
from llmcore.schema.events import (
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from llmcore.schema.frozen import frozen
from llmcore.schema.json import json_or_text, text_or_json
from llmcore.schema.native_json import count_or_none, object_or_empty, str_or_none
from llmcore.schema.persistent import PersistentList, to_list, with_entry
from llmcore.schema.usage import Usage
from tests.support.parley.names import FINISH_REASONS, PROTOCOL_ID

# -- state

Mode: TypeAlias = Literal["", "text", "reasoning", "call"]


@frozen(kw_only=True)
class ParleyState:
    """Which segment is open, and what its successors need to be told apart."""

    context: StreamContext
    mode: Mode = ""
    segment: str = ""
    """The id of the open segment."""
    segments: int = 0
    calls: Mapping[str, None] = {}
    """The ids of all calls so far."""
    freeform: bool = False
    """Whether the input of the open call must be unwrapped."""
    pieces: PersistentList | None = None
    """The pieces of that input."""
    started: bool = False
    ended: bool = False


def open_segment(
    state: ParleyState, mode: Literal["text", "reasoning"], events: list[LLMEvent]
) -> ParleyState:
    """Return *state* inside a segment of *mode*, which it may be in already."""
    if state.mode == mode:
        return state
    state = end_call(state, events)
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
    return changed(state, mode="", segment="", freeform=False, pieces=None)


# -- text


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
        calls=with_entry(state.calls, call_id, None),
        freeform=freeform,
    )
    return on_input(state, call.get("input"), events)


def on_input(state: ParleyState, given: Any, events: list[LLMEvent]) -> ParleyState:
    """Emit more of the open call's input; keep it where it must be unwrapped."""
    if state.mode != "call" or given is None:
        return state
    text = text_or_json(given)
    if state.freeform:
        return changed(state, pieces=PersistentList(text, state.pieces))
    if text:
        events.append(ToolInputDelta(state.segment, text))
    return state


def end_call(state: ParleyState, events: list[LLMEvent]) -> ParleyState:
    """Close the open segment; the input of a freeform tool is emitted here, unwrapped."""
    if state.pieces is not None:
        text = freeform_text(json_or_text("".join(to_list(state.pieces))))
        if text:
            events.append(ToolInputDelta(state.segment, text))
    return close_segment(state, events)


# -- the start and the end


def on_open(state: ParleyState, info: Any, events: list[LLMEvent]) -> ParleyState:
    """Emit the start of the stream, once."""
    if state.started:
        return state
    info, context = object_or_empty(info), state.context
    events += (
        StreamStart(
            provider=context.provider,
            model=str_or_none(info.get("model")) or context.model,
            protocol=PROTOCOL_ID,
            id=str_or_none(info.get("id")),
        ),
        StepStart(),
    )
    return changed(state, started=True)


def on_close(state: ParleyState, end: Any, events: list[LLMEvent]) -> ParleyState:
    """Emit the end of the response."""
    end = object_or_empty(end)
    state = end_call(state, events)
    reason = map_finish_reason(
        str_or_none(end.get("why")), FINISH_REASONS, called=bool(state.calls), format_called=False
    )
    usage = map_usage(object_or_empty(end.get("tokens")))
    events += finish_events(reason, usage, {}, end)
    return changed(state, ended=True)


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return the counts of tokens; `in` contains what the cache saved."""
    return Usage.make(
        input_tokens=count_or_none(usage.get("in")),
        output_tokens=count_or_none(usage.get("out")),
        cache_read_tokens=count_or_none(usage.get("saved")),
        raw=dict(usage),
    )
