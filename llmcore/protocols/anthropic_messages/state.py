"""Anthropic Messages: the state of a response.

    event                  before message_start   in the message                 at the end
    message_start          -> in the message      the same id: nothing;          -
                                                    another: an error
    content_block_start    an error               opens a block (closes one      -
                                                    of the same index)
    content_block_delta    an error               continues an open block, or    -
                                                    begins a text or a thought
    content_block_stop     an error               closes an open block           -
    message_delta          an error               usage; with a stop reason      usage
                                                    -> at the end
    message_stop           an error               after message_delta            -
                                                    -> at the end
    ping, an unknown one   kept / passed on       nothing / passed on            -
    error                  ends the stream        ends the stream                -
    the bytes end          an error               an error                       blocks end, Finish

The state changes on transitions only, never per token.
"""

from typing import Any, TypeAlias

import msgspec

from llmcore.protocols.blocks import BlockState
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.persistent import PersistentList

Event: TypeAlias = dict[str, Any]
"""A decoded stream event."""


class MessagesInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of the response as a whole. The last value counts."""

    response_id: str | None = None
    reason: str | None = None
    model: str | None = None
    """The model that took over where the first one declined."""
    usage: JsonObject | None = None
    metadata: JsonObject = {}
    raw: JsonValue = None


class MessagesState(BlockState, frozen=True, kw_only=True):
    """The state between two events of a stream."""

    early: PersistentList | None = None
    """Events that came before `message_start`."""
    counted: bool = False
    """Whether `message_delta` came."""
    stopped: bool = False
    """Whether `message_stop` came."""
    sources: int = 0
    """How many sources were reported."""
    info: MessagesInfo = MessagesInfo()
