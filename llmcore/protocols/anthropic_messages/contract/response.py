"""The contract's response, and the events of a streamed one.

Sources, read November 2026: https://platform.claude.com/docs/en/api/messages/create (`Message`),
https://platform.claude.com/docs/en/build-with-claude/streaming.
"""

from typing import ClassVar, TypeAlias, Union

from attrs import field, frozen

from llmcore.protocols.anthropic_messages.contract.blocks import (
    ResponseBlock,
    TextCitation,
    always,
)
from llmcore.schema.json import JsonObject

# -- the response


@frozen(kw_only=True)
class CacheCreation:
    """Tokens written to the cache, by how long they are kept."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


@frozen(kw_only=True)
class ServerToolUsage:
    """How often the provider's tools were used."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


@frozen
class OutputTokensDetails:
    """What the output was for."""

    thinking_tokens: int | None = None


@frozen(kw_only=True)
class MessagesUsage:
    """Token counts; None is what was not said, which is not 0.

    `input_tokens` counts only what was neither read from nor written to the cache.
    """

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    output_tokens: int | None = None
    output_tokens_details: OutputTokensDetails | None = None
    server_tool_use: ServerToolUsage | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    speed: str | None = None
    iterations: tuple[JsonObject, ...] | None = None


@frozen(kw_only=True)
class MessagesResponse:
    """A whole answer, or (in `message_start`) its beginning."""

    type: ClassVar[str] = "message"
    id: str
    role: str = always("assistant")
    model: str
    content: tuple[ResponseBlock, ...]
    stop_reason: str | None = always(None)
    stop_sequence: str | None = always(None)
    stop_details: JsonObject | None = None
    usage: MessagesUsage | None = None
    container: JsonObject | None = None
    context_management: JsonObject | None = None
    diagnostics: JsonObject | None = field(default=None)
    input_transformations: tuple[JsonObject, ...] | None = None


# -- deltas


@frozen
class TextBlockDelta:
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
    TextBlockDelta, InputJsonDelta, ThinkingDelta, SignatureDelta, CitationsDelta, CompactionDelta
]
"""Exactly one of these."""

# -- events


@frozen
class MessageStartEvent:
    """The answer begins."""

    type: ClassVar[str] = "message_start"
    message: MessagesResponse


@frozen
class ContentBlockStartEvent:
    """A block begins."""

    type: ClassVar[str] = "content_block_start"
    index: int
    content_block: ResponseBlock


@frozen
class ContentBlockDeltaEvent:
    """A block goes on."""

    type: ClassVar[str] = "content_block_delta"
    index: int
    delta: BlockDelta


@frozen
class ContentBlockStopEvent:
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
class MessageDeltaEvent:
    """The answer's end; `usage` counts from the beginning of the answer."""

    type: ClassVar[str] = "message_delta"
    delta: MessageChange
    usage: MessagesUsage | None = None
    context_management: JsonObject | None = None
    input_transformations: tuple[JsonObject, ...] | None = None


@frozen
class MessageStopEvent:
    """Nothing more comes."""

    type: ClassVar[str] = "message_stop"


@frozen
class PingEvent:
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
    MessageStartEvent,
    ContentBlockStartEvent,
    ContentBlockDeltaEvent,
    ContentBlockStopEvent,
    MessageDeltaEvent,
    MessageStopEvent,
    PingEvent,
    ErrorResponse,
]
"""Exactly one of these."""
