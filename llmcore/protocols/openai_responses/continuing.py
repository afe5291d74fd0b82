"""OpenAI Responses: the per-token path.

Most events of an answer only continue what is open. Those are read without building the whole
event; `step` would give the same delta, at several times the cost.
"""

from typing import Any, Final

import msgspec

from llmcore.protocols.openai_responses.state import State
from llmcore.protocols.protocol import Frame
from llmcore.schema.events import LLMEvent


class _Delta(msgspec.Struct):
    type: str
    delta: str
    item_id: Any = None
    output_index: Any = None
    content_index: Any = None
    summary_index: Any = None
    logprobs: Any = None


_read: Final = msgspec.json.Decoder(_Delta).decode


def continued(state: State, frame: Frame) -> LLMEvent | None:
    """Return the delta of an event that only continues what is open; None for any other."""
    hot = state.hot
    name, data = frame
    if hot is None or name == "error":
        return None
    try:
        event = _read(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if (
        event.type != hot.event_type
        or event.item_id != hot.item_id
        or event.output_index != hot.output_index
        or getattr(event, hot.part_field) != hot.part_index
        or event.logprobs
        or not event.delta
    ):
        return None
    return hot.delta(hot.segment, event.delta)
