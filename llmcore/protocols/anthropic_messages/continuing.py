"""Anthropic Messages: the per-token path.

Most events of an answer only continue an open block. Those are read without building the whole
event; `step` would give the same delta, at several times the cost.
"""

from typing import Final

import msgspec

from llmcore.protocols.anthropic_messages.state import State
from llmcore.protocols.protocol import Frame
from llmcore.schema.events import LLMEvent


class _Delta(msgspec.Struct):
    type: str
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class _Event(msgspec.Struct):
    type: str
    index: int
    delta: _Delta


_read: Final = msgspec.json.Decoder(_Event).decode


def continued(state: State, frame: Frame) -> LLMEvent | None:
    """Return the delta of an event that only continues its block; None for any other."""
    name, data = frame
    if not state.open or name not in ("content_block_delta", ""):
        return None
    try:
        event = _read(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    block = state.open.get(event.index)
    delta = event.delta
    if (
        block is None
        or not block.hot
        or delta.type != block.hot
        or event.type != "content_block_delta"
    ):
        return None
    text = getattr(delta, block.text_field)
    return block.emits(block.segment, text) if text else None
