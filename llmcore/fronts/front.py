"""Front: one API that clients speak, as a value. It mirrors `Protocol`, and is as pure.

    Protocol                                     Front
    body.build    LLMRequest -> native body      read            native body -> LLMRequest
    stream.step   native event -> LLMEvents      writer.feed     LLMEvent -> native events
    whole         native body -> LLMEvents       writer.whole    LLMEvents -> native body
    framing       bytes -> frames                encoding        native events -> bytes

A front is independent of HTTP servers, stores and upstreams; identifiers, times and keys come in as
arguments. An application can serve one from its own web framework.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar

import msgspec
from attrs import field

from llmcore.fronts.errors import FrontError, retry_headers
from llmcore.fronts.finishing import report_unshown, unshown_counts, words_of_end
from llmcore.fronts.grammar import GrammarChecker
from llmcore.fronts.opaque_state import KeptState
from llmcore.fronts.output import OutputWriter
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.quoted_arguments import CALL_EVENTS, QuotedArguments
from llmcore.fronts.sealer import Sealer
from llmcore.protocols.response_parts import CommentaryAsReasoning
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.embeddings import EmbeddingRequest, EmbeddingResponse
from llmcore.schema.errors import ConfigurationError, LLMError, StreamError
from llmcore.schema.events import (
    SEGMENT_DELTAS,
    ErrorEvent,
    Finish,
    FinishReason,
    LLMEvent,
    StepFinish,
    StreamStart,
    ToolInputDelta,
)
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result
from llmcore.schema.usage import Usage

Event: TypeAlias = dict[str, Any]
"""One event of a stream, in the form of the client's API."""

KeepAlive = Literal["comment", "blank", "none"]
"""A heartbeat of silent streams: a comment of server-sent events, an empty line, or nothing."""

NewId: TypeAlias = Callable[[str], str]
"""Returns a new identifier that begins with the given prefix and an underscore."""

# -- requests


class ClientRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as a client sent it."""

    body: JsonObject
    path: str = ""
    """The URL's path, percent-decoded: in Gemini's API, it names the model and the method."""
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The headers, by names in lower case."""


class Routing(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a request known before it is read: its model, and whether it streams."""

    model: str
    """The model's name as the client writes it."""
    streaming: bool


@frozen(kw_only=True)
class Upstream:
    """The upstream that a request is read for, and what reading and writing need besides."""

    model: Model | str
    provider: str | None = None
    host: str | None = None
    """The host of its address, if that is known."""
    protocol_id: str | None = None
    """The upstream's protocol, which decides the native tools and parameters that can be sent."""
    native_tools: bool = True
    """Whether the upstream has the tools of its API that clients run, such as freeform ones."""
    policy: TranslationPolicy
    sealer: Sealer
    new_id: NewId
    kept_state: KeptState | None = None
    """Looks up the state of calls that the server kept, if it keeps any."""


@frozen(kw_only=True)
class ReadRequest:
    """A client's request as it was read. Each front adds what writing its response needs.

    Without a request, the defaults are those of a response in which all optional fields are.
    """

    request: LLMRequest = LLMRequest(model="", messages=())
    streaming: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that reading it lost, changed or invented."""

    @property
    def answers_in_json(self) -> bool:
        """Whether the response is to be a document."""
        form = self.request.response_format
        return form is not None and form.type != "text"


@frozen(kw_only=True)
class ReadEmbeddings:
    """A client's request for embeddings, as it was read."""

    request: EmbeddingRequest
    """The request, for the upstream's model."""
    write: Callable[[EmbeddingResponse, str], JsonObject]
    """Returns the body of a response, for the model's name that the client asked for."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out."""


Read = TypeVar("Read", bound=ReadRequest)


# -- responses


class ResponseIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a response that are not in any event."""

    id: str
    created_at: int
    """The time of creation, in seconds since 1970."""
    model: str
    """The model's name as the client wrote it; empty for the one that the events name."""
    request_id: str | None = None
    """The server's own id of the request, for APIs whose errors name it."""


_AROUND_CONTENT: Final = frozenset({StreamStart, StepFinish, Finish, ErrorEvent})


class FrontWriter:
    """Writes one response: as events, and as the object that they add up to.

    It lives as long as one response. It writes the beginning of the response, its end or its
    failure; the content between them is written by its `OutputWriter`.
    """

    _marks_commentary: ClassVar[bool] = False
    """Whether the API tells commentary from the response. Clients of the others would take both
    for one document."""

    _protocol_id: ClassVar[str]
    """The protocol of the same API."""
    _facts: ClassVar[frozenset[str]] = frozenset()
    """The names of the facts of a response, as providers state them, that the front writes."""
    _tiers: ClassVar[Container[str]] = ()
    """The service tiers, by `Usage`, that it writes."""
    _own_facts: ClassVar[frozenset[str] | None] = frozenset()
    """Those that it writes if the upstream speaks the same API; None is all of them."""

    def __init__(self, read: ReadRequest, output: OutputWriter) -> None:
        self._content = output
        self._order = output.order if output.has_one_order else None
        self._events: list[Event] = output.events
        self._diagnostics = output.diagnostics
        self._arguments = QuotedArguments()
        self._reported = list(read.diagnostics)
        self.usage: Usage | None = None
        """The tokens that the upstream counted, once the response has ended."""
        self._first_usage: Usage | None = None
        self.error: LLMError | None = None
        """Why the response failed, if it did."""
        self.ended = False
        """Whether the terminal event was written: nothing comes after it."""
        self._cut = False
        is_one_text = read.answers_in_json and not self._marks_commentary
        self._before: Callable[[LLMEvent], LLMEvent | None] | None = (
            CommentaryAsReasoning().read if is_one_text else None
        )
        """Returns what is written in place of each event; None writes nothing."""

    @property
    def sealed_calls(self) -> Mapping[str, str]:
        """The sealed state of the response by a key of each call, for a server to keep.

        It is empty if the calls and texts that the client sends back are all of the response.
        `Upstream.kept_state` looks it up where a client sends calls back without the state, or
        with a part of it.
        """
        return {} if self.error is not None else self._content.sealed_calls()

    def start(self) -> Sequence[Event]:
        """Return the events that open the stream, if it can be opened before the upstream's.

        Most fronts have none: the first one states the model, which the upstream's start names.
        """
        return ()

    def feed(self, event: LLMEvent) -> Sequence[Event]:
        """Return the native events for *event*; none after a terminal one."""
        if self.ended:
            return ()
        if self._before is not None:
            read = self._before(event)
            if read is None:
                return ()
            event = read
        delta: Any = event
        kind = type(event)
        if kind in SEGMENT_DELTAS and (
            kind is not ToolInputDelta or delta.id in self._arguments.plain
        ):
            made = self._content.delta_of_live(SEGMENT_DELTAS[kind], event)
            if made is not None:
                return made
        for shown in self._arguments.read(event) if kind in CALL_EVENTS else (event,):
            if type(shown) in _AROUND_CONTENT:
                self._write_around(shown)
                continue
            for ordered in (shown,) if self._order is None else self._order.add(shown):
                self._content.handle(ordered)
        return self._take()

    def _write_around(self, event: LLMEvent) -> None:
        match event:
            case StreamStart():
                self._first_usage = event.usage
                self._reported += event.diagnostics
                self._content.record.origin = Origin(
                    provider=event.provider, model=event.model, protocol=event.protocol
                )
                self._begin_response(event)
            case StepFinish():
                self._content.end_step()
                self.usage = event.usage
                self._end_step(event)
            case Finish():
                self._reported += event.diagnostics
                self.usage = self.usage or event.usage or self._first_usage
                self._end_response(event)
                self._report_facts(event)
            case ErrorEvent():
                self._fail(event.error)

    def _report_facts(self, event: Finish) -> None:
        """Report what the provider states of the response, and the API has no field for."""
        if self._content.record.origin.protocol != self._protocol_id:
            counts = unshown_counts(self.usage, self._tiers)
            report_unshown(event, self._facts, self._diagnostics, counts)
        elif self._own_facts is not None:
            report_unshown(event, self._facts | self._own_facts, self._diagnostics)

    def close(self, error: LLMError | None = None) -> Sequence[Event]:
        """Return the terminal events of a response whose events stopped before their end."""
        if not self.ended:
            self._fail(error or StreamError("the upstream's response ended before it was complete"))
        return self._take()

    def failed_instead(self, event: Event, message: str) -> Sequence[Event]:
        """Return the events of a failure in place of *event*, which ended the stream.

        It is *event* where the API keeps no responses, so that a failure to keep one does not show.
        """
        return [event]

    def continue_from(self, messages: tuple[Message, ...]) -> None:
        """Keep *messages*, which the upstream could read, as the conversation up to here.

        Nothing is kept where the conversation is the client's.
        """

    def whole(self) -> JsonObject:
        """Return the response as one object, once it has ended without an error."""
        raise NotImplementedError

    @property
    def outcome(self) -> str:
        """How the response ended, in a word for metrics: completed, incomplete or failed."""
        if self.error is not None or not self.ended:
            return "failed"
        return "incomplete" if self._cut else "completed"

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything lost, changed or invented, from the request to the last event."""
        return (*self._reported, *self._diagnostics.entries)

    def _take(self) -> list[Event]:
        """Return the events that were written since the last call."""
        if not self._events:
            return []
        events = self._events.copy()
        self._events.clear()
        return events

    # -- what a front writes

    def _begin_response(self, event: StreamStart) -> None:
        """Write the beginning of a response."""
        raise NotImplementedError

    def _end_step(self, event: StepFinish) -> None:
        """Write what follows the last segment; nothing, unless a front does."""

    def _end_response(self, event: Finish) -> None:
        """Write the end of a response, or its failure where that is the reason to stop."""
        raise NotImplementedError

    def _write_failure(self, error: LLMError) -> None:
        """Write the events of a response that failed."""
        raise NotImplementedError

    # -- what fronts have in common

    def _note_reason(self, place: str, reason: FinishReason) -> None:
        """Report a finish reason of the upstream for which the API has no word at *place*."""
        why = f"the upstream's finish reason ({reason.raw}) has no equivalent here"
        self._diagnostics.at(place).noted("finish-reason", why)

    def _fail_by_reason(self, event: Finish) -> None:
        """End a response whose upstream gives an error as its reason to stop."""
        raw, words = event.finish_reason.raw or "no reason", words_of_end(event)
        message = f"the upstream ended the response with an error ({raw})"
        self._fail(StreamError(message if words is None else f"{message}: {words}"))

    def _fail(self, error: LLMError) -> None:
        self.error = error
        counted = error.partial.usage if error.partial else None
        if counted is not None and not counted.estimated:
            self.usage = counted
        self._write_failure(error)
        self.ended = True


@frozen(kw_only=True)
class StreamEncoding:
    """How the events of a stream become bytes."""

    content_type: str
    encode: Callable[[Event], bytes]
    heartbeat: bytes
    """The bytes that are sent between events while a stream is silent."""
    tail: bytes = b""
    """The bytes that are sent after the last event of a response that did not fail."""
    error_alone: bool = False
    """Whether clients read an error only where no event arrives together with it."""


# -- errors and models


@frozen(kw_only=True)
class FailureResponse:
    """An error in the form of the API, sent instead of a response."""

    status: int
    body: JsonObject
    headers: Mapping[str, str] = field(factory=dict)
    in_list: bool = False
    """Whether the body is sent as the only element of a list."""

    @property
    def content(self) -> JsonValue:
        """The JSON that is sent."""
        return [self.body] if self.in_list else self.body


@frozen(kw_only=True)
class ListedModel:
    """A model as the lists of models name it."""

    id: str
    """The name that requests use."""
    owner: str
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None


def _no_token_count(_tokens: int) -> JsonObject:
    raise FrontError(status=404, message="this API does not count tokens", code="not_found")


@frozen(kw_only=True)
class Front(Generic[Read]):
    """One API that clients speak."""

    id: str
    """The id of the protocol that it mirrors, such as `anthropic-messages`."""
    id_prefix: str
    """The prefix of its responses' ids, such as `msg`."""
    routing: Callable[[ClientRequest], Routing]
    """Raises FrontError for a request that names no model."""
    read: Callable[[ClientRequest, Upstream], Result[Read, FrontError]]
    """An invalid request is a Failure; what the upstream does not support is a
    Diagnostic. The same request is read the same way, so that prompt caches stay warm."""
    no_request: Read
    """The stand-in for the request of a response that has none."""
    writer: Callable[[ResponseIdentity, Read, Upstream], FrontWriter]
    encoding: Callable[[ClientRequest], StreamEncoding]
    envelope: Callable[[FrontError], JsonObject]
    """The body of an error response, which is also the error inside a stream."""
    checker: Callable[[], GrammarChecker]
    models: Callable[[Sequence[ListedModel], Mapping[str, str]], JsonObject]
    """A list of models, or the page of it that the query asks for."""
    model: Callable[[ListedModel], JsonObject]
    status: Callable[[FrontError], int] = attrgetter("status")
    """The status of an error response."""
    token_count: Callable[[int], JsonObject] = _no_token_count
    """The response to a request that counts tokens, where the API has one."""
    renamed: Callable[[Event, str], Event | None] | None = None
    """Returns an event or a whole response of an upstream of the same API with another name of its
    model, None if it has none; None as a whole where no client compares it with its own name."""
    keep_alives: tuple[KeepAlive, ...] = ("none",)
    """The heartbeats that its clients can read, besides its own."""
    lists_claude_names: bool = False
    """Whether its clients show only models whose names are like Claude's."""
    shows_pauses: bool = False
    """Whether its responses state that a turn has paused, which clients then continue."""
    has_native_tools: Callable[[JsonObject], bool] = lambda _body: False
    """Whether a body has tools that clients run, or calls of them, and that only some servers of
    the API have, such as freeform ones."""
    can_relay: Callable[[ClientRequest, str], bool] = lambda _request, _provider: True
    """Whether the client of a request reads responses of the API as a provider's server sends them,
    so that they can be relayed."""
    error_change: Callable[[ClientRequest], Callable[[FailureResponse], FailureResponse] | None] = (
        lambda _request: None
    )
    """Returns a function that adapts error responses to the client of a request, or None."""

    def error(self, error: FrontError) -> FailureResponse:
        """Return the error response to a request of which nothing is known: see `error_form`."""
        return FailureResponse(
            status=self.status(error), body=self.envelope(error), headers=retry_headers(error)
        )

    def error_form(self, request: ClientRequest) -> Callable[[FrontError], FailureResponse]:
        """Return a function that makes the error responses to *request*."""
        change = self.error_change(request)
        return self.error if change is None else lambda error: change(self.error(error))


# -- the fronts that there are

FRONT_IDS: Final[tuple[str, ...]] = (
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
)
"""The ids of all fronts, which are those of the protocols that they mirror."""


def front_by_id(front_id: str) -> Front[Any]:
    """Return the front of an API, which is imported on first use.

    Raises ConfigurationError, which lists the ids, for an unknown one.
    """
    if front_id not in FRONT_IDS:
        known = ", ".join(FRONT_IDS)
        raise ConfigurationError(f"there is no front {front_id!r}; the fronts are {known}")
    front: Front[Any] = import_module(f"llmcore.fronts.{front_id.replace('-', '_')}").front
    return front
