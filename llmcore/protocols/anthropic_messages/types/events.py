"""The events of a streamed answer.

Source: https://platform.claude.com/docs/en/build-with-claude/streaming, read November 2026.
"""

from typing import ClassVar, TypeAlias, Union

from attrs import field, frozen

from llmcore.protocols.anthropic_messages.types.blocks import ResponseBlock
from llmcore.protocols.anthropic_messages.types.citations import TextCitation
from llmcore.protocols.anthropic_messages.types.response import Response, Usage
from llmcore.protocols.anthropic_messages.types.shapes import always
from llmcore.schema.json import JsonObject

# -- deltas


@frozen
class TextDelta:
    """More text."""

    type: ClassVar[str] = "text_delta"
    text: str


@frozen
class InputJsonDelta:
    """More of a tool's input: a piece of JSON."""

    type: ClassVar[str] = "input_json_delta"
    partial_json: str


@frozen
class ThinkingDelta:
    """More thinking."""

    type: ClassVar[str] = "thinking_delta"
    thinking: str
    estimated_tokens: int | None = field(default=None, kw_only=True)


@frozen
class SignatureDelta:
    """The signature of a thinking block, whole."""

    type: ClassVar[str] = "signature_delta"
    signature: str


@frozen
class CitationsDelta:
    """One more citation of a text block."""

    type: ClassVar[str] = "citations_delta"
    citation: TextCitation


@frozen
class CompactionDelta:
    """The content of a compaction block, whole."""

    type: ClassVar[str] = "compaction_delta"
    content: str | None = None
    encrypted_content: str | None = None


BlockDelta: TypeAlias = Union[
    TextDelta, InputJsonDelta, ThinkingDelta, SignatureDelta, CitationsDelta, CompactionDelta
]
"""Exactly one of these."""

# -- events


@frozen
class MessageStart:
    """The answer begins."""

    type: ClassVar[str] = "message_start"
    message: Response


@frozen
class ContentBlockStart:
    """A block begins."""

    type: ClassVar[str] = "content_block_start"
    index: int
    content_block: ResponseBlock


@frozen
class ContentBlockDelta:
    """A block goes on."""

    type: ClassVar[str] = "content_block_delta"
    index: int
    delta: BlockDelta


@frozen
class ContentBlockStop:
    """A block is whole."""

    type: ClassVar[str] = "content_block_stop"
    index: int


@frozen(kw_only=True)
class MessageChange:
    """What the end of the answer says of it."""

    stop_reason: str | None = always(None)
    stop_sequence: str | None = always(None)
    stop_details: JsonObject | None = None
    container: JsonObject | None = None


@frozen(kw_only=True)
class MessageDelta:
    """The answer's end; `usage` counts from the beginning of the answer."""

    type: ClassVar[str] = "message_delta"
    delta: MessageChange
    usage: Usage | None = None
    context_management: JsonObject | None = None
    input_transformations: tuple[JsonObject, ...] | None = None


@frozen
class MessageStop:
    """Nothing more comes."""

    type: ClassVar[str] = "message_stop"


@frozen
class Ping:
    """Nothing is said."""

    type: ClassVar[str] = "ping"


@frozen
class ErrorDetail:
    """What went wrong, in the provider's words."""

    type: str
    message: str


@frozen(kw_only=True)
class ErrorResponse:
    """An error: the body of a refused request, and the event that ends a stream."""

    type: ClassVar[str] = "error"
    error: ErrorDetail
    request_id: str | None = None


StreamEvent: TypeAlias = Union[
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    ContentBlockStop,
    MessageDelta,
    MessageStop,
    Ping,
    ErrorResponse,
]
"""Exactly one of these."""
