"""The events of a stream, and their order.

    StreamStart
      StepStart                         one call of the model
        TextStart  TextDelta*  TextEnd
        ReasoningStart  ReasoningDelta*  ReasoningEnd
        ToolInputStart  ToolInputDelta*  ToolInputEnd  ToolCall
        ToolResult | ToolError | Source | File | ProviderEvent
      StepFinish
    Finish | ErrorEvent                 exactly one, and nothing after it

A delta has the id of its segment; the end event carries the segment's complete value, which is
the text of its deltas joined. Ids of segments are unique within a step. A `ToolError` is followed
by a `ToolResult`. A run with tools has several steps and one `StreamStart`; the `StepStart` of a
later step has the ids of its response. If another model continues a response that was cut, there is
a second `StepStart` of the same step, with `continues`; no segment is open there. So it is, without
a `start`, where the same model gives its response in parts.
`llmcore.folds.grammar` checks these rules.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, Union, get_args

from attrs import field

from llmcore.schema.content import (
    Citation,
    TokenLogprob,
    ToolCallKind,
    ToolOutputPart,
    native_metadata,
    size_of,
    tool_output,
)
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.event_base import EventBase
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_names_of_others
from llmcore.schema.json import JsonValue, ProviderMetadata, plain_json, tool_arguments
from llmcore.schema.usage import RateLimitInfo, Usage

if TYPE_CHECKING:  # it is made of events
    from llmcore.schema.response import LLMResponse


EventType: TypeAlias = Literal[
    "stream-start",
    "step-start",
    "text-start",
    "text-delta",
    "text-end",
    "reasoning-start",
    "reasoning-delta",
    "reasoning-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-end",
    "tool-call",
    "tool-result",
    "tool-error",
    "source",
    "file",
    "step-finish",
    "finish",
    "error",
    "provider-event",
]
"""The `type` of an event, also in JSON: comparing it tells a type checker the event's class."""

FinishReasonKind = Literal["stop", "length", "tool_calls", "content_filter", "error", "other"]
NEUTRAL_REASONS: Final[dict[str, FinishReasonKind]] = {k: k for k in get_args(FinishReasonKind)}
"""The neutral reasons, which are words of OpenAI's that other servers use, too."""


@frozen(eq=False)
class FinishReason:
    """Why the model stopped: the neutral reason, and the provider's own word in `raw`.

    It equals the neutral word, which is also its text: `finish_reason == "stop"`.
    """

    reason: FinishReasonKind
    """The neutral reason."""
    raw: str | None = None
    """The provider's own word."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.reason == other
        if not isinstance(other, FinishReason):
            return NotImplemented
        return (self.reason, self.raw) == (other.reason, other.raw)

    def __hash__(self) -> int:
        return hash(self.reason)  # that of the word, which it equals

    def __str__(self) -> str:
        return self.reason


@with_names_of_others(
    **dict.fromkeys(
        ("choices", "delta", "content", "text", "message", "candidates", "output_text"),
        "a stream yields typed events: iterate over its `.text_stream` for the text alone, or "
        "look for events of the class TextDelta, which have `.text`",
    )
)
@frozen(kw_only=True)
class StreamStart(EventBase):
    """The provider accepted the request."""

    type: ClassVar[Literal["stream-start"]] = "stream-start"
    provider: str
    """The id of the provider that answers."""
    model: str
    """The model that answers, which may differ from the requested one."""
    id: str | None = None
    """The provider's id of the response."""
    protocol: str | None = None
    """The protocol that the response is read with."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Reports of what preparing the request lost or changed."""
    rate_limit: RateLimitInfo | None = None
    """The remaining rate limits, if the provider states them."""
    request_id: str | None = None
    """The provider's id of the request."""
    usage: Usage | None = None
    """Token counts that the provider sent before the response, such as the input's."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


@frozen
class StepStart(EventBase):
    """A call of the model begins; `step` counts from 0."""

    type: ClassVar[Literal["step-start"]] = "step-start"
    step: int = 0
    """The number of the step, from 0."""
    start: StreamStart | None = field(default=None, kw_only=True)
    """The model and ids of this step's response, set for later steps; those of the first step are
    in the stream's `StreamStart`. Its diagnostics are in `Finish`."""
    continues: bool = field(default=False, kw_only=True)
    """Whether the model of `start` continues the response of the same step where it was cut; or,
    without a `start`, the same model one that it gives in parts."""


@frozen
class TextStart(EventBase):
    """A text segment begins."""

    type: ClassVar[Literal["text-start"]] = "text-start"
    id: str
    """The id of the segment; starts, deltas and end of one segment share it."""
    refusal: bool = field(default=False, kw_only=True)
    """True if the text is a refusal to answer."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Data about the segment, such as the `phase` of the message of OpenAI's that it is in."""


@frozen
class TextDelta(EventBase):
    """More text of segment `id`."""

    type: ClassVar[Literal["text-delta"]] = "text-delta"
    id: str
    """The id of the segment; starts, deltas and end of one segment share it."""
    text: str
    """The next piece of the text."""
    logprobs: tuple[TokenLogprob, ...] = ()
    """The log probabilities of its tokens, if requested."""


@frozen
class TextEnd(EventBase):
    """A text segment is complete."""

    type: ClassVar[Literal["text-end"]] = "text-end"
    id: str
    """The id of the segment; starts, deltas and end of one segment share it."""
    text: str = ""
    """The complete text."""
    citations: tuple[Citation, ...] = field(default=(), kw_only=True)
    """The sources of the text."""
    logprobs: tuple[TokenLogprob, ...] = field(default=(), kw_only=True)
    """The log probabilities of all tokens, if requested."""
    refusal: bool = field(default=False, kw_only=True)
    """Whether the text explains why the model refuses."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


@frozen
class ReasoningStart(EventBase):
    """A reasoning segment begins."""

    type: ClassVar[Literal["reasoning-start"]] = "reasoning-start"
    id: str
    """The id of the segment; starts, deltas and end of one segment share it."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Data about the segment, such as whether OpenAI sends it as a summary."""


@frozen
class ReasoningDelta(EventBase):
    """More reasoning of segment `id`."""

    type: ClassVar[Literal["reasoning-delta"]] = "reasoning-delta"
    id: str
    """The id of the segment; starts, deltas and end of one segment share it."""
    text: str
    """The next piece of the reasoning."""


@frozen
class ReasoningEnd(EventBase):
    """A reasoning segment is complete, with the data that its replay needs."""

    type: ClassVar[Literal["reasoning-end"]] = "reasoning-end"
    id: str
    """The id of the segment; starts, deltas and end of one segment share it."""
    text: str = ""
    """The complete reasoning."""
    signature: str | None = field(default=None, kw_only=True)
    """The provider's signature of it."""
    encrypted: str | None = field(default=None, kw_only=True)
    """The reasoning in encrypted form."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


@frozen
class ToolInputStart(EventBase):
    """The model begins to write the input of a tool; `id` is the call's id."""

    type: ClassVar[Literal["tool-input-start"]] = "tool-input-start"
    id: str
    """The id of the segment; starts, deltas and end of one segment share it."""
    name: str
    """The tool's name."""
    kind: ToolCallKind = field(default="function", kw_only=True)
    """Whether the arguments are a JSON object or text."""
    provider_executed: bool = field(default=False, kw_only=True)
    """Whether the provider runs the tool itself."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Data that belongs to the name, such as the `namespace` of OpenAI's tools."""


@frozen
class ToolInputDelta(EventBase):
    """More of the input's text: JSON, or the raw text of a custom tool."""

    type: ClassVar[Literal["tool-input-delta"]] = "tool-input-delta"
    id: str
    """The id of the segment; starts, deltas and end of one segment share it."""
    text: str
    """The next piece of the arguments' text."""


@frozen
class ToolInputEnd(EventBase):
    """The input's text is complete."""

    type: ClassVar[Literal["tool-input-end"]] = "tool-input-end"
    id: str
    """The id of the segment; starts, deltas and end of one segment share it."""
    text: str = ""
    """The complete text of the arguments."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


@frozen
class ToolCall(EventBase):
    """A complete tool call with parsed arguments."""

    type: ClassVar[Literal["tool-call"]] = "tool-call"
    id: str
    """The id that the result refers to."""
    name: str
    """The tool's name."""
    arguments: JsonValue = field(converter=tool_arguments)
    """The parsed arguments; the text of a `custom` tool's input, and of invalid JSON."""
    kind: ToolCallKind = field(default="function", kw_only=True)
    """Whether the arguments are a JSON object or text."""
    provider_executed: bool = field(default=False, kw_only=True)
    """Whether the provider runs the tool itself."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""
    raw_arguments: str | None = field(default=None, eq=False, repr=False, kw_only=True)
    """The text that `arguments` were parsed from; None where the provider sent no text."""


@frozen
class ToolResult(EventBase):
    """A tool's result, run by the provider or by the tool loop."""

    type: ClassVar[Literal["tool-result"]] = "tool-result"
    tool_call_id: str
    """The id of the call."""
    content: JsonValue | tuple[ToolOutputPart, ...] = field(converter=tool_output)
    """The result: text, parts or JSON."""
    name: str | None = field(default=None, kw_only=True)
    """The tool's name."""
    is_error: bool = field(default=False, kw_only=True)
    """Whether the tool failed."""
    kind: ToolCallKind = field(default="function", kw_only=True)
    """The kind of the call."""
    provider_executed: bool = field(default=False, kw_only=True)
    """Whether the provider ran the tool itself."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


@frozen(kw_only=True)
class ToolError(EventBase):
    """A tool could not be run or failed; a `ToolResult` with `is_error` follows."""

    type: ClassVar[Literal["tool-error"]] = "tool-error"
    tool_call_id: str
    """The id of the call."""
    name: str
    """The tool's name."""
    message: str
    """A sentence about the failure."""


@frozen(kw_only=True)
class Source(EventBase):
    """A source that the response is based on."""

    type: ClassVar[Literal["source"]] = "source"
    id: str
    """The source's id in this response."""
    url: str | None = None
    """The web page."""
    title: str | None = None
    """The title of the page or document."""
    kind: Literal["url", "document"] = "url"
    """Whether it is a web page or a document."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


@frozen(kw_only=True)
class File(EventBase):
    """A file that the model generated: an image, audio, a document."""

    type: ClassVar[Literal["file"]] = "file"
    id: str
    """The file's id in this response."""
    media_type: str | None = None
    """The media type, such as `image/png`."""
    data: bytes | None = field(default=None, repr=size_of)
    """The content."""
    url: str | None = None
    """Where the content can be fetched."""
    file_id: str | None = None
    """The id of the file that the provider stores."""
    name: str | None = None
    """The file name."""
    transcript: str | None = None
    """The spoken text, if it is speech."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


@frozen(kw_only=True)
class StepFinish(EventBase):
    """A call of the model ended."""

    type: ClassVar[Literal["step-finish"]] = "step-finish"
    finish_reason: FinishReason
    """Why the model stopped in this step."""
    step: int = 0
    """The number of the step, from 0."""
    usage: Usage | None = None
    """The tokens of the step."""


@frozen(kw_only=True)
class Finish(EventBase):
    """The last event of a response that is complete."""

    type: ClassVar[Literal["finish"]] = "finish"
    finish_reason: FinishReason
    """Why the model stopped."""
    usage: Usage | None = None
    """Of all steps together."""
    model: str | None = None
    """The model that completed the response, if it is not the one in `StreamStart`."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out or changed in the response."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Of the response as a whole: service tier, fingerprint, grounding, safety ratings."""
    message_metadata: ProviderMetadata = native_metadata()
    """Of the message, which later requests of the conversation need."""
    raw: JsonValue = field(default=None, eq=False, repr=False)
    """The native response if it was not streamed; with `raw=True`, the list of a stream's native
    frames."""
    response: "LLMResponse | None" = field(default=None, eq=False, repr=False)
    """The response of the last step; set by `llmcore.stream`, not by a client's streams."""


@frozen
class ErrorEvent(EventBase):
    """The response failed; `error.partial` is the part that arrived."""

    type: ClassVar[Literal["error"]] = "error"
    error: LLMError
    """The error; its `partial` is the response so far."""


@frozen
class ProviderEvent(EventBase):
    """A native event or item without a neutral form.

    With `replay`, its data must be sent back in later requests, so the response's
    message keeps it as a `ProviderPart` in its place.
    """

    type: ClassVar[Literal["provider-event"]] = "provider-event"
    provider: str
    """The provider that sent it."""
    data: JsonValue = field(converter=plain_json)
    """The native event."""
    replay: bool = field(default=False, kw_only=True)
    """Whether it belongs into the message, so that later requests send it back."""
    provider_metadata: ProviderMetadata = native_metadata()
    """Native data of the provider that is kept for later requests, by provider."""


DeltaEvent: TypeAlias = TextDelta | ReasoningDelta | ToolInputDelta
"""An event that adds to the text of an open segment."""

SEGMENT_STARTS: Final[Mapping[type, str]] = {
    TextStart: "text",
    ReasoningStart: "reasoning",
    ToolInputStart: "tool",
}
SEGMENT_DELTAS: Final[Mapping[type, str]] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    ToolInputDelta: "tool",
}
SEGMENT_ENDS: Final[Mapping[type, str]] = {
    TextEnd: "text",
    ReasoningEnd: "reasoning",
    ToolInputEnd: "tool",
}
"""The kinds of segments by the events that start, continue and end one."""

LLMEvent: TypeAlias = Union[
    StreamStart,
    StepStart,
    TextStart,
    TextDelta,
    TextEnd,
    ReasoningStart,
    ReasoningDelta,
    ReasoningEnd,
    ToolInputStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolCall,
    ToolResult,
    ToolError,
    Source,
    File,
    StepFinish,
    Finish,
    ErrorEvent,
    ProviderEvent,
]
"""Any event."""

TERMINAL_EVENTS = (Finish, ErrorEvent)
"""Every stream ends with exactly one of these."""
