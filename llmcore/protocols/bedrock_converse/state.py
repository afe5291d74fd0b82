"""Bedrock Converse: the state of a response.

    event               before messageStop                               after it
    messageStart        starts the response, as any first event does     -
    contentBlockStart   opens a block (closes one of the same index)     -
    contentBlockDelta   continues an open block; opens text, reasoning   -
                        and images, which need no start
    contentBlockStop    closes an open block                             -
    messageStop         stop reason                                      -
    metadata            usage                                            usage
    an unknown one      passed on                                        passed on
    an exception        ends the stream                                  ends the stream
    the bytes end       an error                                         blocks end, Finish

The state changes on transitions only, never per token.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from llmcore.protocols.bedrock_converse.names import METADATA_KEY
from llmcore.protocols.blocks import Block, BlockState, open_block, replace_block
from llmcore.protocols.response_parts import Events
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import ProviderEvent
from llmcore.schema.json import JsonObject, JsonValue, NativeObject
from llmcore.schema.persistent import PersistentList

Event: TypeAlias = tuple[str, NativeObject]
"""The frame's name, such as `contentBlockDelta`, and its payload."""


class ConverseInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of the response as a whole. The last value counts."""

    reason: str | None = None
    stopped: bool = False
    """Whether the message's documented end came."""
    counted: bool = False
    """Whether the stream's documented end came, which counts tokens."""
    usage: JsonObject | None = None
    metadata: JsonObject = {}
    notes: tuple[Diagnostic, ...] = ()
    """Reports of what the response announced and did not deliver."""
    raw: JsonValue = None


class ConverseState(BlockState, frozen=True, kw_only=True):
    """The state between two events of a stream."""

    urls: Mapping[str, None] = {}
    """Pages that were reported as sources."""
    info: ConverseInfo = ConverseInfo()


def keep_delta(
    state: ConverseState, index: object, delta: NativeObject, events: Events
) -> ConverseState:
    """Keep a delta for its block's native form; emit those that no block can keep."""
    block = state.open.get(index)
    if block is None:
        return open_block(state, index, Block(kind="opaque", pieces=PersistentList(delta, None)))
    if block.kind in ("opaque", "media"):
        return replace_block(
            state, index, replace(block, pieces=PersistentList(delta, block.pieces))
        )
    events.append(ProviderEvent(METADATA_KEY, {"contentBlockDelta": {"delta": delta}}))
    return state
