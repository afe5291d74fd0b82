"""Deltas: a response that is still coming, in the frozen form of the message contract.

A stream of deltas is `start`, then text, thinking and tool calls as they are written, then
`usage` where it is known, and at last exactly one of `done` and `error`. `seq` rises all the
way. `delta_fold` makes them from events, `assembly` an entry from them.
"""

from typing import ClassVar, TypeAlias, Union

from attrs import field
from attrs.converters import optional

from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, plain_object


@frozen
class DeltaStart:
    """The response begins."""

    kind: ClassVar[str] = "start"
    model_id: str
    """Empty where the call failed before any model answered."""
    request_id: str


@frozen
class DeltaText:
    """More text."""

    kind: ClassVar[str] = "text"
    text_delta: str


@frozen
class DeltaThinking:
    """More thinking."""

    kind: ClassVar[str] = "thinking"
    text_delta: str


@frozen
class DeltaToolCallStart:
    """The model begins to write a tool call."""

    kind: ClassVar[str] = "tool_call_start"
    tool_call_id: str
    tool_name: str


@frozen
class DeltaToolCallArgs:
    """More of a call's arguments, as text."""

    kind: ClassVar[str] = "tool_call_args"
    tool_call_id: str
    args_text_delta: str


@frozen
class DeltaToolCallEnd:
    """The arguments of a call are complete and can be parsed."""

    kind: ClassVar[str] = "tool_call_end"
    tool_call_id: str


@frozen(kw_only=True)
class DeltaUsage:
    """Tokens so far; a later `usage` replaces the counts that it has. None: not stated."""

    kind: ClassVar[str] = "usage"
    input_tokens: int | None = field(metadata={"required": True})
    output_tokens: int | None = field(metadata={"required": True})
    total_tokens: int | None = field(metadata={"required": True})
    cost: float | None = None
    """In US dollars, as the provider stated it."""


@frozen
class DeltaDone:
    """The response is complete."""

    kind: ClassVar[str] = "done"
    finish_reason: str


@frozen
class DeltaError:
    """The response failed; no message results."""

    kind: ClassVar[str] = "error"
    error_code: str
    message: str | None = None
    retryable: bool | None = None


DeltaPayload: TypeAlias = Union[
    DeltaStart,
    DeltaText,
    DeltaThinking,
    DeltaToolCallStart,
    DeltaToolCallArgs,
    DeltaToolCallEnd,
    DeltaUsage,
    DeltaDone,
    DeltaError,
]
"""The payload of a delta, named by its `kind` in JSON."""


@frozen(kw_only=True)
class MessageDelta:
    """One step of a response."""

    run_id: str
    """The conversation."""
    seq: int
    """Increases with each delta of the response."""
    payload: DeltaPayload
    """The change."""
    timestamp: str
    """When it arrived, as ISO 8601 text."""
    provider_raw: JsonObject | None = field(
        default=None, converter=optional(plain_object), repr=False
    )
    """The provider's native frame, if the call requested it; nothing depends on it."""

    @property
    def kind(self) -> str:
        """The contract's name for the payload."""
        return self.payload.kind
