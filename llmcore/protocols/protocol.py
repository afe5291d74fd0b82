"""Protocol: what is said. It builds the body and steps through the answer.

A protocol is no deployment: it knows no URL, header or key, so a fix in it reaches every
provider that speaks it. It is made of pure functions only: same input, same output,
input unchanged.

The answer's path is `Frame -> Event -> (State, LLMEvents)`: a framing cuts bytes into
frames, `decode` reads a frame as one of the protocol's own events, `step` translates
it. What a protocol emits is bare: end events without their text, tool inputs without
the `ToolCall`; `llmcore.folds.segments` completes them, for all protocols alike.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Literal, TypeAlias, TypeVar

from attrs import field, frozen

from llmcore.protocols import tool_names
from llmcore.protocols.tool_names import ToolNameRule
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import JsonObject, JsonValue, ProviderMetadata
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result
from llmcore.schema.tools import HostedToolKind

Body_co = TypeVar("Body_co", covariant=True)
"""The native request body: JSON, typed by a TypedDict."""
Event = TypeVar("Event")
"""The protocol's own stream event, decoded."""
State = TypeVar("State")
"""What a later event needs to know; changes on transitions, not on deltas."""

FramingId = Literal["sse", "ndjson", "json-array", "aws-event-stream"]
"""The `id` of a framing."""

Frame: TypeAlias = tuple[str, bytes]
"""What every framing yields: the event's name, or "" where it has none, and its payload."""


@frozen
class Built(Generic[Body_co]):
    """A native body, and what building it lost, changed or invented."""

    body: Body_co
    diagnostics: tuple[Diagnostic, ...] = ()
    headers: Mapping[str, str] = field(factory=dict, kw_only=True)
    """Headers that the body's features need, such as beta flags."""


@frozen(kw_only=True)
class BodyBuilder(Generic[Body_co]):
    """Turns a request into a native body."""

    build: Callable[[LLMRequest, bool], Result[Built[Body_co], LLMError]]
    """The request, and whether the answer is to be streamed. A request the protocol can
    make no sense of is a Failure; what it merely cannot carry is a Diagnostic. The same
    request gives a body of the same bytes, in any process."""
    optional: frozenset[str] = frozenset()
    """Fields of the body that no answer depends on. A server that rejects the request and names
    one of them (`rejected_fields.rejected_field`) can be asked again without it."""


@frozen(kw_only=True)
class TokenCounting:
    """A POST request that counts the tokens of a request instead of answering it."""

    endpoint: str
    """How the URL's path ends that answers,"""
    target: str
    """and what stands there in the URL that counts."""
    fields: tuple[str, ...] | None = None
    """The fields of the body that it takes; None for all."""
    envelope: str | None = None
    """The field that holds the whole request, for an API that takes it with its model's name."""

    def request(self, url: str, body: JsonObject, model_id: str) -> tuple[str, JsonObject] | None:
        """Return the URL and the body that count *body* at *url*; None for another endpoint."""
        address, mark, query = url.partition("?")
        if not address.endswith(self.endpoint):
            return None
        counting = f"{address.removesuffix(self.endpoint)}{self.target}{mark}{query}"
        if self.envelope is not None:
            return counting, {self.envelope: {"model": f"models/{model_id}", **body}}
        if self.fields is None:
            return counting, body
        return counting, {name: body[name] for name in self.fields if name in body}


@frozen(kw_only=True)
class ResumeRequest:
    """A GET request for the rest of an answer, relative to the API's base URL."""

    path: str
    query: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True)
class StreamMachine(Generic[Event, State]):
    """A streamed answer as a state machine."""

    decode: Callable[[Frame], Event | None]
    """None for a frame that says nothing (a ping). ValueError for one that is broken."""
    initial: Callable[[LLMRequest], State]
    step: Callable[[State, Event], tuple[State, Sequence[LLMEvent]]]
    """Translate one event. Total: what makes no sense becomes an `ErrorEvent`."""
    halt: Callable[[State], Sequence[LLMEvent]]
    """What the end of bytes means: the last events if the answer is whole, else an
    `ErrorEvent`. Not called after a terminal event."""
    terminal: Callable[[Event], bool]
    """Whether nothing may follow, so that reading stops and the connection is free."""
    fast_delta: Callable[[State, Frame], LLMEvent | None] | None = None
    """The per-token path: the delta of a frame that only continues what is open, and changes
    no state; None for any other frame. What `step` would give, without reading the whole event."""
    cursor: Callable[[State, Event], ProviderMetadata] | None = None
    """Where the answer stood at its last event, for servers that can stream the rest of it
    again; kept in the `provider_metadata` of what a cut stream leaves."""
    resume: Callable[[ProviderMetadata], ResumeRequest] | None = None
    """The request that goes on from such a cursor, in the very same state. Raises
    InvalidRequestError if there is none."""


@frozen(kw_only=True)
class Protocol(Generic[Body_co, Event, State]):
    """One provider API: how to ask, and how to read the answer, streamed or whole."""

    id: str
    """Such as `anthropic-messages`."""
    metadata_key: str
    """Under which key of `provider_metadata` and `provider_options` its own data stands."""
    body: BodyBuilder[Body_co]
    stream: StreamMachine[Event, State]
    whole: Callable[[JsonValue, LLMRequest], Iterable[LLMEvent]]
    """A body that was not streamed, as the same events."""
    framings: tuple[FramingId, ...] = ("sse", "ndjson", "aws-event-stream")
    """How its streams may be cut into frames: the first where no content type tells."""
    operation: str = "chat"
    """`gen_ai.operation.name` of OpenTelemetry's conventions."""
    count_tokens: TokenCounting | None = None
    """How its servers count the tokens of a request, where they do."""
    hosted_kinds: frozenset[HostedToolKind] = frozenset()
    """Hosted tools that need no client and no configuration there."""
    tool_names: ToolNameRule = tool_names.STRICTEST
    """Which tool names the API takes. Others never reach `body` or `stream`: the route fits them,
    and the decoder puts the caller's names back."""
