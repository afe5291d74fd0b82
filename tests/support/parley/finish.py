"""Parley: response info, usage, and why the model stopped.

{"close": {"why": "done", "tokens": {"in": 3, "out": 5, "saved": 1}}}
"""

from collections.abc import Mapping
from typing import Any

from llmcore.protocols.response_parts import finish_events, map_finish_reason
from llmcore.schema.changed import changed
from llmcore.schema.events import LLMEvent, StepStart, StreamStart
from llmcore.schema.json import count_or_none, object_or_empty, str_or_none
from llmcore.schema.usage import Usage
from tests.support.parley.content import end_call
from tests.support.parley.names import FINISH_REASONS, PROTOCOL_ID
from tests.support.parley.state import ParleyState


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
