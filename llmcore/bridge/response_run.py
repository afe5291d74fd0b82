"""The interface of a response on its way to a client, and the record of each call that it needs.

    http/responses, websocket/          send the bytes; app and accounts read the records
       │ next_bytes, whole
       ▼
    PooledRun ─▶ ChoicesRun ─┐          only where a model has several targets; only for `n` choices
       │                     ▼
       └─▶ TranslatedRun, RelayRun      write the bytes of one response
              │ next_batch
              ▼
           UpstreamCall ─▶ ModelCall    one call of an upstream, and its tries; it is a CallRecord

An `EmbeddingRun` is never streamed; a `ReplayRun`, which has no calls, always is. Each has the half
of the interface that it needs.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Protocol, TypeAlias, TypeVar

import msgspec
from attrs import evolve

from llmcore.bridge.model_map import UpstreamModel
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import FailureResponse
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.token_estimate import estimated_tokens

JSON_TYPE = "application/json"
CANCELLED = "cancelled"
"""The outcome of a response that has not ended."""

ErrorForm: TypeAlias = Callable[[FrontError], FailureResponse]
"""Returns the response of an error in the form of one API."""


AllowTry: TypeAlias = Callable[["CallRecord", LLMResponse], Awaitable[None]]
"""Allows another try after the one by which a call got a response, as far as it came. Raises
FrontError if it does not fit in a budget."""


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


class RequestSize(msgspec.Struct, frozen=True):
    """The values that usage is estimated from where the upstream has not counted tokens."""

    prompt_tokens: int
    output_limit: int | None


class CallRecord:
    """The facts of one call of an upstream, for accounts, headers and logs."""

    def __init__(
        self, info: RunLabels, request: Callable[[], LLMRequest], *, choices: int = 1
    ) -> None:
        self.info = info
        self.request = request
        """Returns the client's request as it was read for the upstream. Raises FrontError for a
        relayed request that cannot be read."""
        self._size: RequestSize | None = None
        self.choices = choices
        """How many responses the upstream gives."""
        self.allow: AllowTry | None = None
        """Asked before each try after the first; None allows all."""
        self.is_sent = False
        """Whether the upstream was asked."""
        self.outcome = CANCELLED
        """How the response ended, in a word for metrics; `cancelled` until it has ended."""
        self.dropped: list[str] = []
        """Parameters that were left out because the upstream rejected them."""
        self.repeated: list[LLMResponse] = []
        """Responses of tries that failed before any content, and were made again, and of calls
        that another one continues."""
        self.upstream_request_id: str | None = None
        """The upstream's id of the request."""
        self.first_event_s: float | None = None
        """Seconds from asking the upstream to its first event; None if none has arrived."""

    @property
    def response(self) -> LLMResponse:
        """The upstream's response, as far as it has arrived."""
        raise NotImplementedError

    def size(self) -> "RequestSize":
        """Return the size of the request, which is read once for it. Raises FrontError."""
        if self._size is None:
            request = self.request()
            self._size = RequestSize(estimated_tokens(request), request.generation.max_tokens)
        return self._size


class SentResponse(Protocol):
    """A response on its way to a client. The request is sent upstream once its bytes are read."""

    @property
    def info(self) -> RunLabels:
        """The facts of the response that headers and logs name."""
        ...

    @property
    def calls(self) -> Sequence[CallRecord]:
        """The calls that it is made of; none if the response exists already."""
        ...

    @property
    def failed_calls(self) -> Sequence[CallRecord]:
        """The calls of targets that failed, which those of another one took the place of."""
        ...

    @property
    def error(self) -> LLMError | None:
        """Why the response failed, if it did."""
        ...

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything dropped, changed or added so far, in the request and in the response."""
        ...

    def error_response(self, error: FrontError) -> FailureResponse | WholeBody:
        """Return the response of an *error* that comes before anything was sent."""
        ...

    async def aclose(self) -> None:
        """End the response; close the call of the upstream, if it has not ended."""
        ...


Run = TypeVar("Run", bound=SentResponse)


class WholeRun(SentResponse, Protocol):
    """A response in one piece."""

    async def whole(self) -> WholeBody:
        """Return the response in one piece; FrontError if there is none."""
        ...


class StreamedRun(SentResponse, Protocol):
    """A response as a stream."""

    @property
    def content_type(self) -> str:
        """The content type of the stream."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the upstream that clients of a stream can use."""
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


class ResponseRun(WholeRun, StreamedRun, Protocol):
    """A response that is sent in one piece or as a stream, by `info.streamed`."""


# -- facts of the calls of a response


def outcome_of(calls: Sequence[CallRecord]) -> str:
    """Return how a response of *calls* ended: the worst of their outcomes."""
    if len(calls) == 1:
        return calls[0].outcome
    outcomes = [call.outcome for call in calls]
    worst = (name for name in ("failed", CANCELLED) if name in outcomes)
    others = (name for name in outcomes if name != "completed")
    return next(worst, None) or next(others, "completed")


def has_ended(run: SentResponse) -> bool:
    """Return whether the upstream's response has ended, complete or failed."""
    return outcome_of(run.calls) != CANCELLED


def response_of(calls: Sequence[CallRecord]) -> LLMResponse:
    """Return the response of the first of *calls*, with the usage and the cost of all."""
    if len(calls) == 1:
        return calls[0].response
    responses = [call.response for call in calls]
    costs = [response.cost for response in responses if response.cost is not None]
    usage = reduce(add, (response.usage for response in responses))
    return evolve(responses[0], usage=usage, cost=sum(costs) if costs else None)


def dropped_of(calls: Sequence[CallRecord]) -> Sequence[str]:
    """Return the parameters that were left out of any of *calls*, each once."""
    return list(dict.fromkeys(name for call in calls for name in call.dropped))


def request_id_of(calls: Sequence[CallRecord]) -> str | None:
    """Return the upstream's id of the first of *calls*, if it has sent one."""
    return calls[0].upstream_request_id if calls else None
