"""The interface of a response on its way to a client, for servers.

`translated_run` and `relay` make responses, `choices` and `pools` combine those of others.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from llmcore.bridge.model_map import UpstreamModel
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import FailureResponse
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse

JSON_TYPE = "application/json"

ErrorForm: TypeAlias = Callable[[FrontError], FailureResponse]
"""Returns the response of an error in the form of one API."""


AllowTry: TypeAlias = Callable[["ResponseRun", LLMResponse], Awaitable[None]]
"""Allows another try after the one by which a run of a single upstream got a response, as far as it
came. Raises FrontError if it does not fit in a budget."""


class WholeBody(msgspec.Struct, frozen=True, kw_only=True):
    """A response in one piece."""

    body: bytes
    status: int = 200
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class RunLabels(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a response that headers and logs name."""

    id: str
    model: str
    """The name by which the client called the model."""
    provider: str
    upstream: UpstreamModel
    """The target that answers."""
    streamed: bool
    tried: tuple[str, ...] = ()
    """Targets that failed before this one, each with the reason."""
    pooled: bool = False
    """Whether others could have answered."""
    others: tuple[UpstreamModel, ...] = ()
    """Every target that may answer."""


class SentResponse(Protocol):
    """A response on its way to a client."""

    @property
    def info(self) -> RunLabels:
        """The facts of the response that headers and logs name."""
        ...

    @property
    def dropped(self) -> Sequence[str]:
        """Parameters that were left out because the upstream rejected them."""
        ...

    @property
    def upstream_request_id(self) -> str | None:
        """The upstream's id of the request."""
        ...

    @property
    def error(self) -> LLMError | None:
        """Why the response failed, if it did."""
        ...

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything dropped, changed or added so far, in the request and in the response."""
        ...

    @property
    def content_type(self) -> str:
        """The content type of the stream."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the upstream that clients of a stream can use."""
        ...

    def error_response(self, error: FrontError) -> FailureResponse | WholeBody:
        """Return the response of an *error* that comes before anything was sent."""
        ...

    async def next_bytes(self) -> bytes:
        """Return the next bytes of the stream; empty after the last.

        Raises FrontError for a failure before anything was handed out.
        """
        ...

    async def keep_alive(self) -> bytes:
        """Return bytes for a silent stream; empty where none would be safe."""
        ...

    async def failed_bytes(self, error: LLMError) -> bytes:
        """Return the bytes that end a stream with *error*; none if it has ended."""
        ...

    async def whole(self) -> WholeBody:
        """Return the response in one piece; FrontError if there is none."""
        ...

    async def aclose(self) -> None:
        """Close the call of the upstream, if it has not ended."""
        ...


class ResponseRun(SentResponse, Protocol):
    """A response under way. Nothing is sent upstream before its first bytes are requested."""

    @property
    def outcome(self) -> str:
        """How the response ended, in a word for metrics; `cancelled` until it has ended."""
        ...

    def request(self) -> LLMRequest:
        """Return the client's request as it was read for the upstream.

        Raises FrontError for a relayed request that cannot be read.
        """
        ...

    def limit_tries(self, allow: AllowTry | None) -> None:
        """Ask *allow* before each try after the first; None asks nothing more."""
        ...

    @property
    def response(self) -> LLMResponse:
        """The upstream's response, as far as it has arrived."""
        ...

    @property
    def repeated(self) -> Sequence[LLMResponse]:
        """Responses of tries that failed before any content, and were made again."""
        ...

    @property
    def choices(self) -> int:
        """How many responses the upstream gives."""
        ...

    @property
    def is_sent(self) -> bool:
        """Whether the upstream was asked."""
        ...

    @property
    def first_event_s(self) -> float | None:
        """Seconds from asking the upstream to its first event; None if none has arrived."""
        ...


class DelegatedRun:
    """A response whose facts are those of another one, which is current."""

    @property
    def _current(self) -> ResponseRun:
        raise NotImplementedError

    @property
    def parts(self) -> Sequence[ResponseRun]:
        """Every response that this one is made of, and those that it was to be made of."""
        return (self._current,)

    @property
    def info(self) -> RunLabels:
        """The facts of the response that headers and logs name."""
        return self._current.info

    @property
    def dropped(self) -> Sequence[str]:
        """Parameters that were left out because the upstream rejected them."""
        return self._current.dropped

    @property
    def outcome(self) -> str:
        """How the response ended, in a word for metrics."""
        return self._current.outcome

    def request(self) -> LLMRequest:
        """Return the client's request as it was read for the upstream."""
        return self._current.request()

    def limit_tries(self, allow: AllowTry | None) -> None:
        """Ask *allow* before each try of any part after the first; None asks nothing more."""
        for part in self.parts:
            part.limit_tries(allow)

    @property
    def response(self) -> LLMResponse:
        """The upstream's response, as far as it has arrived."""
        return self._current.response

    @property
    def repeated(self) -> Sequence[LLMResponse]:
        """Responses of tries that failed before any content, and were made again."""
        return self._current.repeated

    @property
    def choices(self) -> int:
        """How many responses the upstream gives."""
        return self._current.choices

    @property
    def is_sent(self) -> bool:
        """Whether the upstream was asked."""
        return self._current.is_sent

    @property
    def first_event_s(self) -> float | None:
        """Seconds from asking the upstream to its first event; None if none has arrived."""
        return self._current.first_event_s

    @property
    def upstream_request_id(self) -> str | None:
        """The upstream's id of the request."""
        return self._current.upstream_request_id

    @property
    def error(self) -> LLMError | None:
        """Why the response failed, if it did."""
        return self._current.error

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything dropped, changed or added so far, in the request and in the response."""
        return self._current.diagnostics

    @property
    def content_type(self) -> str:
        """The content type of the stream."""
        return self._current.content_type

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the upstream that clients of a stream can use."""
        return self._current.headers

    def error_response(self, error: FrontError) -> FailureResponse | WholeBody:
        """Return the response of an *error* that comes before anything was sent."""
        return self._current.error_response(error)


def calls_of(run: ResponseRun) -> Iterator[ResponseRun]:
    """Yield the responses of single upstreams that *run* is made of, failed ones too."""
    if not isinstance(run, DelegatedRun):
        yield run
        return
    for part in run.parts:
        yield from calls_of(part)


def has_ended(run: ResponseRun) -> bool:
    """Return whether the upstream's response has ended, complete or failed."""
    return run.outcome != "cancelled"
