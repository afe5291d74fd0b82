"""Anthropic Messages: what a later event needs to know.

State changes on transitions only: where a block begins or ends, where the provider says
something of the answer as a whole.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from attrs import field, frozen

from llmcore.protocols.answer_context import PlannedContext
from llmcore.protocols.chain import Chain
from llmcore.schema.content import Citation
from llmcore.schema.events import LLMEvent, ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.json import JsonObject, JsonValue

Event: TypeAlias = dict[str, Any]
"""A decoded stream event. The typed form (`types.StreamEvent`) is not built per token."""

Kind = Literal["text", "reasoning", "tool", "freeform", "answer", "result", "opaque"]
"""What a block becomes: `answer` is text that came as a tool's input, `result` what one of
the provider's tools returned, `opaque` anything kept in its native form."""


@frozen(kw_only=True)
class Block:
    """An open content block."""

    kind: Kind
    segment: str
    """The id of the segment that it is."""
    hot: str = ""
    """The type of delta that only continues it; empty if none does: the per-token path."""
    text_field: str = ""
    """Under which name such a delta has its text."""
    emits: type[TextDelta | ReasoningDelta | ToolInputDelta] = TextDelta
    native: JsonObject = field(factory=dict)
    """The block as it began."""
    input: JsonValue = None
    """A tool's input that came with the block's beginning, while no delta has replaced it."""
    signature: str | None = None
    citations: tuple[Citation, ...] = ()
    held: bool = False
    """Whether a tool's input is kept until it is whole, because it must be unwrapped."""
    pieces: Chain | None = None
    """What is kept until the block is whole: deltas, or pieces of held input."""


@frozen(kw_only=True)
class Envelope:
    """What is said of the answer as a whole. The last word counts."""

    response_id: str | None = None
    reason: str | None = None
    model: str | None = None
    """The model that went on where the first one declined."""
    usage: JsonObject | None = None
    metadata: JsonObject = field(factory=dict)
    raw: JsonValue = None


@frozen(kw_only=True)
class State:
    """What a later event needs to know."""

    context: PlannedContext
    open: Mapping[object, Block] = field(factory=dict)
    """Blocks under way, by the provider's index."""
    started: bool = False
    early: tuple[LLMEvent, ...] = ()
    """What came before the answer began."""
    stopped: bool = False
    """Whether the documented end came."""
    blocks: int = 0
    """How many began; makes segments' ids."""
    names: Mapping[str, str] = field(factory=dict)
    """The tools of all calls so far, by the calls' ids."""
    called: bool = False
    """Whether the caller is to run a tool."""
    answered: bool = False
    """Whether the answer came as a tool's input."""
    sources: int = 0
    envelope: Envelope = Envelope()
