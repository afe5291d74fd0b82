"""The contract's response, and the events of a streamed one.

Sources, read November 2026: https://platform.claude.com/docs/en/api/messages/create (`Message`),
https://platform.claude.com/docs/en/build-with-claude/streaming.

The sequence of a stream:

    message_start                                                       once, or the same again
      content_block_start  content_block_delta*  content_block_stop     any number of blocks
    message_delta+
    message_stop                                                        or error, anywhere

The tolerant check admits what SDKs accumulate beyond that: blocks in `message_start`, whose
stops may be missing, and a stop reason in it, after which `message_delta` may be missing.
"""

from collections.abc import Iterable
from typing import ClassVar, TypeAlias, Union

from attrs import field

from llmcore.protocols.anthropic_messages.contract.blocks import ResponseBlock
from llmcore.protocols.anthropic_messages.contract.sources import TextCitation, always
from llmcore.protocols.anthropic_messages.names import BLOCK_DELTAS
from llmcore.schema.errors import StreamError
from llmcore.schema.frozen import frozen
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
    """The breakdown of the output tokens."""

    thinking_tokens: int | None = None


@frozen(kw_only=True)
class MessagesUsage:
    """Token counts; None for a count that was not sent, which is not 0.

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
    fallback_credit: JsonObject | None = None


@frozen(kw_only=True)
class MessagesResponse:
    """A whole response, or (in `message_start`) its beginning."""

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
    """The response begins."""

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
    """A block continues."""

    type: ClassVar[str] = "content_block_delta"
    index: int
    delta: BlockDelta


@frozen
class ContentBlockStopEvent:
    """A block is complete."""

    type: ClassVar[str] = "content_block_stop"
    index: int


@frozen(kw_only=True)
class MessageChange:
    """The fields of the message that are known at its end."""

    stop_reason: str | None = always(None)
    stop_sequence: str | None = always(None)
    stop_details: JsonObject | None = None
    container: JsonObject | None = None


@frozen(kw_only=True)
class MessageDeltaEvent:
    """The end; `usage` counts from the beginning of the response."""

    type: ClassVar[str] = "message_delta"
    delta: MessageChange
    usage: MessagesUsage | None = None
    context_management: JsonObject | None = None
    input_transformations: tuple[JsonObject, ...] | None = None


@frozen
class MessageStopEvent:
    """The end of the stream."""

    type: ClassVar[str] = "message_stop"


@frozen
class PingEvent:
    """A keep-alive without content."""

    type: ClassVar[str] = "ping"


@frozen
class ErrorDetail:
    """The type and message of an error."""

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

# -- the sequence of a stream


def check_sequence(stream: Iterable[StreamEvent], *, tolerant: bool = False) -> None:
    """Raise StreamError at the first event that breaks the rules, or if the end is missing."""
    checker = SequenceChecker(tolerant=tolerant)
    for event in stream:
        checker.check(event)
    checker.end()


class SequenceChecker:
    """Follows one stream, event by event."""

    def __init__(self, *, tolerant: bool) -> None:
        self._tolerant = tolerant
        self._message: MessagesResponse | None = None
        self._open: dict[int, str] = {}
        self._given: set[int] = set()
        """Open blocks that `message_start` brought."""
        self._seen: set[int] = set()
        self._output = 0
        self._finished = False
        self._stated = False
        """Whether `message_start` had a stop reason."""
        self._ended = False
        self._position = 0

    def check(self, event: StreamEvent) -> None:
        """Check the next event of the stream; StreamError if it is out of order."""
        if self._ended:
            raise self._fault(event, "nothing may follow the end of the stream")
        if self._message is None and not isinstance(
            event, MessageStartEvent | PingEvent | ErrorResponse
        ):
            raise self._fault(event, "message_start must come first")
        self._take(event)
        self._position += 1

    def end(self) -> None:
        """End the stream; raises StreamError if the response was not complete."""
        if not self._ended:
            raise StreamError("the stream ended before message_stop")

    def _take(self, event: StreamEvent) -> None:
        match event:
            case ContentBlockDeltaEvent():
                self._delta(event)
            case ContentBlockStartEvent():
                self._start(event)
            case ContentBlockStopEvent():
                if self._open.pop(event.index, None) is None:
                    raise self._fault(event, f"block {event.index} is not open")
            case MessageStartEvent():
                self._begin(event)
            case MessageDeltaEvent():
                self._finish(event)
            case MessageStopEvent():
                if not (self._finished or self._stated):
                    raise self._fault(event, "message_delta comes before it")
                self._ended = True
            case ErrorResponse():
                self._ended = True
            case PingEvent():
                pass

    def _begin(self, event: MessageStartEvent) -> None:
        message = self._message
        if message is not None and (message.id, message.model) != (
            event.message.id,
            event.message.model,
        ):
            raise self._fault(event, f"message {message.id} of {message.model} has started already")
        if message is None:
            self._take_given(event)
        self._message = event.message
        self._count(event, event.message.usage)

    def _take_given(self, event: MessageStartEvent) -> None:
        content = event.message.content
        if content and not self._tolerant:
            raise self._fault(event, "content must come in content blocks")
        for index, block in enumerate(content):
            self._seen.add(index)
            self._given.add(index)
            self._open[index] = getattr(block, "type", "")
        self._stated = self._tolerant and event.message.stop_reason is not None

    def _start(self, event: ContentBlockStartEvent) -> None:
        if self._finished:
            raise self._fault(event, "no block may follow message_delta")
        if event.index in self._seen:
            raise self._fault(event, f"block {event.index} has started already")
        self._seen.add(event.index)
        self._open[event.index] = getattr(event.content_block, "type", "")

    def _delta(self, event: ContentBlockDeltaEvent) -> None:
        kind = self._open.get(event.index)
        if kind is None:
            raise self._fault(event, f"block {event.index} is not open")
        if event.delta.type not in BLOCK_DELTAS.get(kind, (event.delta.type,)):  # unknown: any
            raise self._fault(event, f"a {kind} block takes no {event.delta.type}")

    def _finish(self, event: MessageDeltaEvent) -> None:
        if unfinished := sorted(self._open.keys() - self._given):
            raise self._fault(event, f"blocks are still open: {unfinished}")
        self._finished = True
        self._count(event, event.usage)

    def _count(self, event: StreamEvent, usage: MessagesUsage | None) -> None:
        """Check that the output only grows: each count is of the whole response so far.

        Input counts may fall, where the provider shortened the conversation on the way.
        """
        output = usage.output_tokens if usage is not None else None
        if output is None:
            return
        if output < self._output:
            raise self._fault(event, f"output_tokens fell to {output}; counts are cumulative")
        self._output = output

    def _fault(self, event: StreamEvent, why: str) -> StreamError:
        return StreamError(f"event {self._position} ({event.type}) is out of place: {why}")
