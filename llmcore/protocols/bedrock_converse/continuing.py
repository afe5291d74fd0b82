"""Bedrock Converse: the per-token path.

Most events of an answer only continue an open block. Those are read without building the whole
event; `step` would give the same delta, at several times the cost.
"""

from typing import Any, Final

import msgspec

from llmcore.protocols.bedrock_converse.state import State
from llmcore.protocols.protocol import Frame
from llmcore.schema.events import LLMEvent


class _Event(msgspec.Struct, rename="camel"):
    content_block_index: int
    delta: dict[str, Any]


_read: Final = msgspec.json.Decoder(_Event).decode


def continued(state: State, frame: Frame) -> LLMEvent | None:
    """Return the delta of an event that only continues its block; None for any other."""
    name, data = frame
    if name != "contentBlockDelta" or not state.open:
        return None
    try:
        event = _read(data)
        block = state.open[event.content_block_index]
        outer, inner = block.hot
        delta = event.delta
        if not outer or len(delta) != 1:
            return None
        text = delta[outer]
        if inner:
            if len(text) != 1:
                return None
            text = text[inner]
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, RecursionError):
        return None
    return block.emits(block.segment, text) if type(text) is str and text else None
