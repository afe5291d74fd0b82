"""Forwards requests and responses unchanged where the upstream has the API that the client uses.

The body of the request is sent as it came, except for the name of the model; the bytes of the
response are forwarded as they arrive. Where clients compare the name of the model in the response
with their own, they get their own. A copy of the bytes is read as events, for metrics, logs and
retries, and to know how the response ended. Fields that this library does not know are kept.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio
import msgspec

from llmcore.bridge.rejected_betas import HEADER, without_rejected_betas
from llmcore.bridge.relayed_bytes import RelayedBytes, Renamed, object_in
from llmcore.bridge.relayed_request import RelayedRequest
from llmcore.bridge.response_run import CANCELLED, CallRecord, ErrorForm, RunLabels, WholeBody
from llmcore.bridge.upstream_call import CallLimits, RunContext, UpstreamCall
from llmcore.folds.grammar import has_content
from llmcore.fronts.errors import FrontError, from_llm_error
from llmcore.fronts.front import FailureResponse, FrontWriter, StreamEncoding
from llmcore.routes.route import Route
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError, NetworkError, RequestTimeoutError, StreamError
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent, StepFinish
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage

_OF_THE_KEY: Final = frozenset({401, 403})
"""Errors that may be about the gateway's own key: they are written as where they are translated."""
_COUNTED: Final = (StepFinish, Finish)
"""Events with the usage of a response."""
_JSON_BEGINS: Final = (b"{", b"[")
"""The first bytes of an API's errors. Others are a web server's: pages, or texts."""


class RelayPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is forwarded unchanged, and how errors of the gateway itself are written."""

    info: RunLabels
    request: RelayedRequest
    route: Route[Any]
    """The route of the request's model."""
    writer: Callable[[], FrontWriter]
    """Returns a writer for an error that occurs after the response began."""
    encoding: StreamEncoding
    error: ErrorForm
    read: Callable[[], LLMRequest]
    """Parses the client's request, which forwarding does not need. Raises FrontError."""
    choices: int = 1
    """The number of responses that the request asks for."""
    limits: CallLimits = CallLimits()
    diagnostics: tuple[Diagnostic, ...] = ()
    renamed: Renamed | None = None
    """None if the upstream got the client's name of the model, or no client looks at it."""


class RelayRun:
    """A response whose bytes are forwarded as they arrive."""

    failed_calls: Sequence[CallRecord] = ()

    def __init__(self, context: RunContext, plan: RelayPlan) -> None:
        self.info = plan.info
        self.error: LLMError | None = None
        self._plan = plan
        self._metrics = context.metrics
        self._copy = RelayedBytes(
            plan.route,
            streamed=plan.info.streamed,
            hides_usage=plan.request.hides_usage,
            renamed=plan.renamed,
            encode=plan.encoding.encode,
        )
        self._call = UpstreamCall(
            context,
            plan.info,
            plan.limits,
            plan.request,
            request=plan.read,
            choices=plan.choices,
            on_response=self._copy.of,
        )
        self.calls: Sequence[CallRecord] = (self._call,)
        self._usage: Usage | None = None
        self._refusal: WholeBody | None = None
        self._opened = False
        """Whether any bytes were sent, such as a heartbeat."""
        self._begun = False
        """Whether bytes of the upstream were sent."""
        self._ended = False

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything lost, changed or added; the body itself is not converted."""
        return (*self._plan.diagnostics, *self._call.removed)

    @property
    def content_type(self) -> str:
        """The content type of the stream."""
        return self._copy.content_type if self._begun else self._plan.encoding.content_type

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the upstream that clients of its API can use."""
        return self._copy.shown_headers

    def error_response(self, error: FrontError) -> FailureResponse | WholeBody:
        """Return the upstream's error response if the client may see it, else that of *error*."""
        return self._refusal or self._plan.error(error)

    async def next_bytes(self) -> bytes:
        """Return the next bytes of the stream; empty after the last.

        Raises FrontError for a failure before anything was handed out.
        """
        while not self._ended:
            if data := await self._copy.pass_on():
                return data
            batch = await self._call.next_batch()
            last = batch[-1]
            self._note(batch)
            if isinstance(last, ErrorEvent):
                if not self._opened and await self._tries_without_betas(last.error):
                    continue
                return self._failed(last.error, in_band=has_content(batch) or self._begun)
            if isinstance(last, Finish):
                self._end("completed")
                data = self._copy.take_last()
                return self._sent(data + self._missing_tail(data))
            if data := self._copy.take():
                self._copy.follow(data, last)
                return self._sent(data)
        return b""

    async def keep_alive(self) -> bytes:
        """Return a heartbeat. Only whole frames were sent, so that it comes between two."""
        self._opened = True
        return self._plan.encoding.heartbeat

    async def failed_bytes(self, error: LLMError) -> bytes:
        """Return the bytes that end a stream with *error*; none if it has ended."""
        if self._ended:
            return b""
        self.error = error
        self._end("failed")
        return self._copy.take() + self._error_frames(error)

    async def whole(self) -> WholeBody:
        """Return the whole response; FrontError if the call failed.

        It is unchanged, except that clients get what a server has wrapped without the wrapper, and
        their own name of the model where they compare it.
        """
        unwrap = self._plan.route.protocol.unwrap
        document: JsonValue = None
        while not self._ended:
            batch = await self._call.next_batch()
            self._note(batch)
            last = batch[-1]
            if isinstance(last, ErrorEvent):
                if await self._tries_without_betas(last.error):
                    continue
                self._failed(last.error, in_band=False)
            elif isinstance(last, Finish):
                self._end("completed")
                document = last.raw
        body = self._copy.take_last()
        if unwrap and isinstance(document, dict) and (inner := unwrap(document)) is not document:
            body = json.dumps(inner)
        elif (renamed := self._plan.renamed) and (named := renamed(object_in(body))):
            body = json.dumps(named)
        return self._as_it_came(body)

    async def aclose(self) -> None:
        """Close the call, if it is still running."""
        if self._copy.flush_run():  # does not wait: the text was received
            with anyio.CancelScope(shield=True):
                await self._call.next_batch()
        await self._call.aclose()
        self._copy.discard()
        if not self._ended:
            self._end(CANCELLED)

    # -- parts

    async def _tries_without_betas(self, error: LLMError) -> bool:
        """Prepare a second try without the beta features that were rejected, if there are any."""
        call = self._call
        reduced = None if call.dropped else without_rejected_betas(call.sent, error)
        if reduced is None:
            return False
        await call.try_without(HEADER, HEADER, *reduced)
        return True

    def _note(self, batch: Sequence[LLMEvent]) -> None:
        for event in batch:
            if isinstance(event, _COUNTED) and event.usage is not None:
                self._usage = event.usage

    def _sent(self, data: bytes) -> bytes:
        self._opened = self._begun = True
        return data

    def _missing_tail(self, data: bytes) -> bytes:
        """Return the end of the stream if the upstream has left it out, as some do."""
        tail = self._plan.encoding.tail
        return b"" if tail.strip() in data else tail

    def _failed(self, error: LLMError, *, in_band: bool) -> bytes:
        """Return the last bytes of a response that failed; FrontError before its first byte."""
        self.error = error
        self._end("failed")
        status = self._copy.status
        if not self._opened and not in_band:
            failure = from_llm_error(error)
            is_shown = status >= 400 and status not in _OF_THE_KEY
            body = self._copy.take_error() if is_shown else b""
            if body.lstrip().startswith(_JSON_BEGINS):
                self._refusal = self._as_it_came(body)
            raise failure from error
        data = self._copy.take() if in_band else b""
        cut = not data or self._copy.exhausted or _is_of_the_connection(error)
        return self._sent(data + (self._error_frames(error) if cut else b""))

    def _as_it_came(self, body: bytes) -> WholeBody:
        """Return *body* with the upstream's status, and its headers that the client can use."""
        copy = self._copy
        return WholeBody(
            body=body,
            status=copy.status,
            content_type=copy.content_type,
            headers=copy.shown_headers,
        )

    def _error_frames(self, error: LLMError) -> bytes:
        events = self._plan.writer().feed(ErrorEvent(error))
        return b"".join(map(self._plan.encoding.encode, events))

    def _end(self, outcome: str) -> None:
        self._ended = True
        self._metrics.count_tokens(self.info.upstream.provider, self._usage)
        self._call.count(outcome)


def _is_of_the_connection(error: LLMError) -> bool:
    """Return whether *error* arose on the connection, rather than being sent by the upstream."""
    late = isinstance(error, RequestTimeoutError) and error.raw is None
    return late or isinstance(error, StreamError | NetworkError)
