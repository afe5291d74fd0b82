"""Bedrock Converse: what a later event needs to know.

State changes on transitions only: where a block begins or ends, where the service says
something of the answer as a whole.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from attrs import field, frozen

from llmcore.protocols.answer_context import PlannedContext
from llmcore.protocols.chain import Chain
from llmcore.schema.events import ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.json import JsonObject, JsonValue

Native: TypeAlias = dict[str, Any]
Event: TypeAlias = tuple[str, Native]
"""The frame's name, such as `contentBlockDelta`, and its payload."""

Kind = Literal["text", "reasoning", "tool", "freeform", "answer", "result", "media", "opaque"]
"""What a block becomes: `answer` is text that came as a tool's input, `result` what one of
the service's tools returned, `opaque` anything kept in its native form."""


@frozen(kw_only=True)
class Block:
    """An open content block."""

    kind: Kind
    segment: str
    """The id of the segment that it is; empty while it has said nothing."""
    hot: tuple[str, str] = ("", "")
    """Where a delta that only continues it has its text: the delta's field, and the field in
    that, empty if there is none. Nowhere for blocks whose deltas are kept: the per-token path."""
    emits: type[TextDelta | ReasoningDelta | ToolInputDelta] = TextDelta
    native: JsonObject = field(factory=dict)
    """What the block said at its beginning."""
    input: JsonValue = None
    """A tool's input that came with the block's start, while no delta has replaced it."""
    held: bool = False
    """Whether a tool's input is buffered until it is complete, because it must be unwrapped."""
    signature: str | None = None
    redacted: tuple[str, ...] = ()
    """Pieces of encrypted reasoning, each base64."""
    citations: tuple[Native, ...] = ()
    pieces: Chain | None = None
    """What is kept until the block is whole: deltas, or pieces of held input."""


@frozen(kw_only=True)
class Envelope:
    """What is said of the answer as a whole. The last word counts."""

    reason: str | None = None
    stopped: bool = False
    """Whether the message's documented end came."""
    counted: bool = False
    """Whether the stream's documented end came, which counts tokens."""
    usage: JsonObject | None = None
    metadata: JsonObject = field(factory=dict)
    raw: JsonValue = None


@frozen(kw_only=True)
class State:
    """What a later event needs to know."""

    context: PlannedContext
    open: Mapping[object, Block] = field(factory=dict)
    """Blocks under way, by the service's index."""
    started: bool = False
    blocks: int = 0
    """How many began; makes segments' ids."""
    names: Mapping[str, str] = field(factory=dict)
    """The tools of all calls so far, by the calls' ids."""
    called: bool = False
    """Whether the caller is to run a tool."""
    answered: bool = False
    """Whether the answer came as a tool's input."""
    urls: tuple[str, ...] = ()
    """Pages that were announced as sources."""
    envelope: Envelope = Envelope()
