"""Protocol: builds native bodies and reads native responses.

A protocol is not a deployment: it has no URL, headers or keys, so a fix in it reaches all
providers that use it. It consists of pure functions: the same input gives the same output, and
the input is not changed.

The response's path is `Frame -> Event -> (State, LLMEvents)`: a framing cuts bytes into
frames, `decode` reads a frame as one of the protocol's own events, `step` translates
it. What a protocol emits is bare: end events without their text, tool inputs without
the `ToolCall`; `llmcore.folds.segments` completes them, for all protocols alike.
`protocol_by_id` finds a protocol by its id.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

import msgspec
from attrs import evolve, field

from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.tools import STRICTEST, ToolNameRule
from llmcore.schema.diagnostics import Diagnostic, Diagnostics
from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.events import DeltaEvent, Finish, LLMEvent
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, NativeObject, ProviderMetadata
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.tools import HostedToolKind
from llmcore.schema.usage import Usage

Body_co = TypeVar("Body_co", covariant=True)
"""The native request body: JSON, typed by a TypedDict."""
Event = TypeVar("Event")
"""The protocol's own stream event, decoded."""
State = TypeVar("State")
"""The state of a stream machine; it changes on transitions, not on deltas."""

_Body = TypeVar("_Body")

RestOfResponse: TypeAlias = Callable[[LLMRequest, Finish], LLMRequest | None]
"""Returns the request for the rest of a response to a request, by its last event; None if the
response is whole."""

FramingId = Literal["sse", "ndjson", "json-array", "aws-event-stream"]
"""The `id` of a framing."""

ApiFamily = Literal["openai", "anthropic", "google", "bedrock"]
"""The vendor whose unary calls the servers of an API have, other companies' too: lists of models,
embeddings, images, audio, files, batches."""

MOST_PAUSES: Final = 5
"""How often a run, or the gateway, continues a turn that the provider's own tools have paused."""

Frame: TypeAlias = tuple[str, bytes]
"""A frame of any framing: the event's name, or "" without one, and its payload."""


@frozen
class Built(Generic[Body_co]):
    """A native body, with reports of what building it lost, changed or added."""

    body: Body_co
    diagnostics: tuple[Diagnostic, ...] = ()
    headers: Mapping[str, str] = field(factory=dict, kw_only=True)
    """Headers that the body's features need, such as beta flags."""


def collect_diagnostics(lower: Callable[[Diagnostics], _Body]) -> Result[Built[_Body], LLMError]:
    """Return the body that *lower* makes with its diagnostics, or the LLMError that it raises."""
    diagnostics = Diagnostics()
    try:
        body = lower(diagnostics)
    except LLMError as error:
        return Failure(error)
    return Success(Built(body, tuple(diagnostics.entries)))


@frozen(kw_only=True)
class BodyBuilder(Generic[Body_co]):
    """Turns a request into a native body."""

    build: Callable[[LLMRequest, bool], Result[Built[Body_co], LLMError]]
    """Builds the body of a request, streamed or not. An invalid request is a Failure; values that
    the API cannot express are Diagnostics. The same request gives a body of the same bytes in
    every process."""
    optional: frozenset[str] = frozenset()
    """Fields of the body that no response depends on. A server that rejects the request and names
    one of them (`failures.errors.rejected_field`) can be asked again without it."""
    instead: Callable[[LLMRequest, LLMError], LLMRequest | None] | None = None
    """Returns the request to send once in place of one that the server rejected with an error
    before it began to answer, as where the server has lost what the request refers to."""


@frozen(kw_only=True)
class TokenCounting:
    """A POST request that counts the tokens of a request instead of answering it."""

    endpoint: str
    """The end of the path of the URL that generates."""
    target: str
    """The end of the path of the URL that counts tokens, which replaces that one."""
    fields: tuple[str, ...] | None = None
    """The fields of the body that it takes; None for all."""
    wrap: Callable[[JsonObject, str], JsonObject] | None = None
    """Returns the body that holds those fields and the model's id, where it is not those alone."""
    count: str = "input_tokens"
    """The field of the response that holds the number."""

    def request(self, url: str, body: JsonObject, model_id: str) -> tuple[str, JsonObject] | None:
        """Return the URL and the body that count *body* at *url*; None for another endpoint."""
        address, mark, query = url.partition("?")
        if not address.endswith(self.endpoint):
            return None
        counting = f"{address.removesuffix(self.endpoint)}{self.target}{mark}{query}"
        fields = self.fields
        taken = body if fields is None else {name: body[name] for name in fields if name in body}
        return counting, taken if self.wrap is None else self.wrap(taken, model_id)

    def read(self, response: JsonValue) -> int | None:
        """Return the number that *response* states; None if it states none."""
        count = response.get(self.count) if isinstance(response, dict) else None
        return count if isinstance(count, int) and not isinstance(count, bool) else None


@frozen
class CacheMark:
    """The field by which a request asks the server to cache its prompt."""

    kind: Literal["breakpoint", "key"]
    """Whether the field marks the end of what is cached, or names what shares a cache."""
    field: str
    """The name of the field."""


@frozen(kw_only=True)
class ResumeRequest:
    """A GET request for the rest of a response, relative to the API's base URL."""

    path: str
    query: Mapping[str, str] = field(factory=dict)


class FastReader(msgspec.Struct, frozen=True):
    """How to read the frames that only add text to the open segment, as nearly all do."""

    kind: type[DeltaEvent]
    """The event that such a frame gives."""
    segment: str
    """The id of the segment."""
    read: Callable[[Iterable[Frame]], list[str]]
    """Returns the text that each of the first frames adds, up to one that may do more. Empty for a
    frame that gives no event."""
    after: Callable[[], Any] | None = None
    """Returns the state after all that was read; None if it stays the same."""


class TextSoFar(msgspec.Struct):
    """The text of a stream that is one text so far."""

    chunks: list[str] = []
    """The text so far."""
    reader: FastReader | None = None
    """Reads the frames that only add to the text; None before it begins."""


TextFrames: TypeAlias = Generator[Sequence[LLMEvent], Frame | None, None]
"""Reads a stream that is one text. It is sent each frame before and after the deltas, and None at
the end of the bytes, and yields the complete events of each. It ends at any other frame, or raises
what `step` would. With the frame that begins the text, it sets the reader of the text."""


TextReader: TypeAlias = Callable[[bytes], str | None]
"""Returns the text that the event in a payload adds; None, or "", for any other event."""


@frozen(kw_only=True)
class DeltaForm:
    """How to recognise the events that only add text to what is open, as nearly all of a stream do.

    Such events in a row that continue the same mean what one of them with all their text means, so
    that a relay need not step through each.
    """

    reader: Callable[[bytes], TextReader | None]
    """Returns a reader of events that add to the same text as the event in this payload; None for
    an event that may do more, and for anything else."""
    with_text: Callable[[dict[str, Any], str], None]
    """Replaces the text of such an event, decoded."""


@frozen(kw_only=True)
class StreamMachine(Generic[Event, State]):
    """A streamed response as a state machine."""

    decode: Callable[[Frame], Event | None]
    """None for a frame without content (a ping). ValueError for an invalid frame."""
    initial: Callable[[LLMRequest], State]
    step: Callable[[State, Event], tuple[State, Sequence[LLMEvent]]]
    """Translate one event: an error of the server's becomes an `ErrorEvent`. This, `halt` and
    `whole` may raise LLMError or RecursionError of JSON that no value can hold."""
    halt: Callable[[State], Sequence[LLMEvent]]
    """The events at the end of the bytes: the last events of a complete response, or an
    `ErrorEvent`. Not called after a terminal event."""
    terminal: Callable[[Event], bool]
    """Whether the event is the last one, so that reading stops and the connection is freed."""
    fast_reader: Callable[[State], FastReader | None] | None = None
    """The per-token path: how to read the frames that only continue what is open in a state. Each
    gives the delta that `step` would give, without reading the whole event. None if that state
    has no such frames."""
    one_text: Callable[[LLMRequest, TextSoFar], TextFrames] | None = None
    """Reads a stream that is one text, as most are, without states: see `routes.one_text`."""
    deltas: DeltaForm | None = None
    """The events that need not be stepped through one by one; None: all are stepped through."""
    usage: Callable[[State], Usage | None] | None = None
    """The tokens that the server has counted, for a response that does not come to its end. They
    are `estimated` if the server counts on."""
    cursor: Callable[[State, Event], ProviderMetadata] | None = None
    """Where the response was at its last event, for servers that can stream the rest of it
    again; kept in the `provider_metadata` of what a cut stream leaves."""
    resume: Callable[[ProviderMetadata], ResumeRequest] | None = None
    """The request that continues from such a cursor, in the very same state. Raises
    InvalidRequestError if there is none."""


@frozen(kw_only=True, eq=False)
class Protocol(Generic[Body_co, Event, State]):
    """One provider API: builds requests, and reads responses, streamed or whole."""

    id: str
    """The id, such as `anthropic-messages`."""
    api: str
    """The API's name in messages, such as `the Messages API`."""
    path: str
    """A part of the path of its URLs, in lower case, by which recorded exchanges are recognised."""
    prompt: tuple[str, ...]
    """The fields of a body that the prompt is made of, the list of messages last."""
    is_own: Callable[[NativeObject], bool] = lambda _document: False
    """Whether a frame or a body is certainly one of this API, as `foreign_document` asks."""
    advice: str = ""
    """The words that tell users which facade servers of this API need."""
    usual_api: str | None = None
    """The id of the protocol that servers without this API usually have instead."""
    family: ApiFamily | None = None
    """Whose unary calls its servers have; None if the library knows none of them."""
    batch_path: str = ""
    """The path by which OpenAI's batches name the API of their requests."""
    reranks: bool = False
    """Whether some of its servers rank documents, too."""
    metadata_key: str
    """Under which key of `provider_metadata` and `provider_options` its own data is."""
    body: BodyBuilder[Body_co]
    stream: StreamMachine[Event, State]
    whole: Callable[[JsonValue, LLMRequest], Iterable[LLMEvent]]
    """Returns a body that was not streamed as the same events."""
    skim: Callable[[JsonValue, LLMRequest], Iterable[LLMEvent] | None] | None = None
    """Its first and last events alone, `StreamStart`, `StepFinish` and `Finish`; None for a body
    that is to be read as `whole` does. See `response_parts.skimmed`."""
    unwrap: Callable[[NativeObject], NativeObject] | None = None
    """Returns the response in a body that a few servers wrap in another object, and any other body
    as it is; None where no server does so."""
    framings: tuple[FramingId, ...] = ("sse", "ndjson", "aws-event-stream")
    """How its streams may be cut into frames: the first, if the content type does not state it."""
    operation: str = "chat"
    """`gen_ai.operation.name` of OpenTelemetry's conventions."""
    count_tokens: TokenCounting | None = None
    """How its servers count the tokens of a request, where they do."""
    cache_mark: CacheMark | None = None
    """How its requests ask for the cache of prompts, where they do."""
    reasoning_budgets: Literal["all", "some", "none"] = "all"
    """Which of its servers take a budget of tokens for reasoning. The others, or all if only some
    do, take an effort."""
    needs_output_limit: bool = False
    """Whether each request must state the most tokens that the model may write."""
    paused: str | None = None
    """The finish reason of a turn that continues where its message is sent back."""
    rest: RestOfResponse | None = None
    """The request for the rest of a response that has more than the server writes for one; None
    if the API has no such responses."""
    hides_reasoning: bool = False
    """Whether its servers return no reasoning unless a request asks for it."""
    hosted_kinds: frozenset[HostedToolKind] = frozenset()
    """Hosted tools that need no client and no configuration there."""
    native_tools: bool = True
    """Whether its servers have the tools of the API that clients run, such as freeform ones."""
    prefills: Callable[[str], bool] = lambda _model_id: False
    """Whether the model of an id continues an assistant message that ends the conversation."""
    tool_names: ToolNameRule = STRICTEST
    """Which tool names the API takes. Others never reach `body` or `stream`: the route fits them,
    and the decoder puts the caller's names back."""


def with_bodies(
    protocol: Protocol[_Body, Event, State], change: Callable[[Built[_Body]], Built[_Body]]
) -> Protocol[_Body, Event, State]:
    """Return *protocol* with a *change* to all bodies that it builds, as a platform requires."""
    usual = protocol.body

    def build(request: LLMRequest, streaming: bool) -> Result[Built[_Body], LLMError]:
        return usual.build(request, streaming).map(change)

    return evolve(protocol, body=evolve(usual, build=build))


# -- calls that one document answers


Request = TypeVar("Request")
"""The value of a request, such as an `EmbeddingRequest`."""
Response_co = TypeVar("Response_co", covariant=True)
"""The value that the response is read as."""


BodyKind: TypeAlias = Literal["json", "json-lines", "bytes"]
"""The form of a response: one JSON document, JSON lines, which are read as a list, or content."""


@frozen(kw_only=True)
class NativeRequest:
    """A native request, relative to the base URL of the API."""

    path: str
    """The path below the base URL, beginning with a slash."""
    method: str = "POST"
    body: JsonObject | None = None
    """The JSON body; None for a request without one, or with `content`."""
    content: bytes = b""
    """A body that is not JSON."""
    content_type: str = "application/json"
    query: Mapping[str, str] = field(factory=dict)
    headers: Mapping[str, str] = field(factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out or changed."""


@frozen(kw_only=True)
class NativeResponse:
    """A native response with a status of success."""

    document: JsonValue = None
    """The JSON body; None if there was none."""
    content: bytes = field(default=b"", repr=False)
    """The body of a response that is not JSON."""
    headers: Mapping[str, str] = field(factory=dict)
    """The headers by their names in lower case."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The diagnostics of the request."""


@frozen(kw_only=True)
class UnaryProtocol(Generic[Request, Response_co]):
    """Builds the requests of an operation other than generation, and reads its responses.

    Such as embedding and listing. It is pure as well: `Protocol` is its counterpart.
    """

    id: str
    """The id, such as `openai-embeddings`."""
    build: Callable[[Request], NativeRequest]
    """Raises InvalidRequestError for what the API cannot do."""
    read: Callable[[NativeResponse, Request], Response_co]
    """Raises StreamError for a document of another shape."""
    response_kind: BodyKind = "json"
    """The form of the responses."""


# -- lists in pages

Item = TypeVar("Item")


@frozen(kw_only=True)
class PageRequest:
    """The request for one page of a list."""

    after: str | None = None
    """The mark that the page before gave; None for the first page."""


@frozen(kw_only=True)
class Page(Generic[Item]):
    """One page of a list."""

    items: tuple[Item, ...]
    """The items, in the provider's order."""
    after: str | None = None
    """The mark of the next page; None after the last one."""


# -- the protocols by their ids, each imported when it is first asked for


def protocol_by_id(protocol_id: str) -> Protocol[Any, Any, Any]:
    """Return the protocol called *protocol_id*, in its provider's own dialect.

    Raises ConfigurationError for an id that none has.
    """
    if protocol_id not in PROTOCOL_IDS:
        known = ", ".join(PROTOCOL_IDS)
        raise ConfigurationError(f"no protocol is called {protocol_id!r}; there are {known}")
    module = import_module(f"llmcore.protocols.{protocol_id.replace('-', '_')}")
    protocol: Protocol[Any, Any, Any] = module.protocol
    return protocol


def is_paused(response: LLMResponse) -> bool:
    """Return whether *response* is a turn that the provider's own tools have paused.

    One with calls continues when the caller has run them.
    """
    origin, raw = response.message.origin, response.finish_reason.raw
    if raw is None or response.tool_calls or origin is None or origin.protocol not in PROTOCOL_IDS:
        return False
    return raw == protocol_by_id(origin.protocol).paused
