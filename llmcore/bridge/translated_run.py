"""Translates a response: from the request that was read to the bytes for the client.

Before the first byte is sent to the client, a failure is a FrontError, and the call may be tried
again; after it, a failure is the stream's last event. A response that is to be stored is
stored before the event that ends it is handed out, so that the next request finds it.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import anyio
import msgspec
from attrs import evolve

from llmcore.bridge.drop_rejected_parameters import without_rejected
from llmcore.bridge.http.logs import LOGGER, log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.paused_turn import ContinuedTurn, plain_failure
from llmcore.bridge.response_run import CANCELLED, CallRecord, ErrorForm, RunLabels, WholeBody
from llmcore.bridge.savings import CachedResponse
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.bridge.upstream_call import CallLimits, RunContext, UpstreamCall
from llmcore.catalog.lookup import get_model_info
from llmcore.client.large_requests import holds_much, run_in_thread_if
from llmcore.fronts.errors import FrontError, from_llm_error, state_unavailable
from llmcore.fronts.front import Event, FailureResponse, FrontWriter, StreamEncoding
from llmcore.fronts.grammar import GrammarChecker
from llmcore.generation.rejected_reasoning import without_opaque_reasoning
from llmcore.routes.route import Route
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest

_ENDING: Final = (Finish, ErrorEvent)
_MOST_DROPS = 3
"""How often one request is tried again without something that the upstream rejects."""


Keep: TypeAlias = Callable[[], Awaitable[None]]
"""Stores a response that has ended; StateUnavailableError if that fails."""


class ResponsePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was read: the upstream's request, and how its response is written."""

    info: RunLabels
    request: LLMRequest
    writer: FrontWriter
    encoding: StreamEncoding
    error: "ErrorForm"
    checker: GrammarChecker | None = None
    """Checks the stream, where streams are checked."""
    keep: Keep | None = None
    """Called at the end of the response, if anything of it is to be stored."""
    limits: CallLimits = CallLimits()
    is_large: bool = False
    """Whether events that repeat parts of the request take a while to serialize."""
    cached: CachedResponse | None = None
    """Where the response may come from instead of the upstream."""
    form: Callable[[json.JsonObject], json.JsonObject] | None = None
    """Returns the object that is sent in place of a response that is not streamed."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything changed in the request before it was read."""
    continues: bool = False
    """Whether turns that the upstream pauses are continued, because their client cannot do so."""


def with_output_limit(request: LLMRequest) -> LLMRequest:
    """Return *request* with a limit of tokens, if the API of its upstream requires one.

    Without a limit of the client, it is the most that the model can write.
    """
    model, generation = request.model, request.generation
    if generation.max_tokens is not None or not isinstance(model, Model):
        return request
    if not isinstance(model.route, Route) or not model.route.protocol.needs_output_limit:
        return request
    known = get_model_info(model.id, model.provider)
    if known is None or known.max_output is None:
        return request
    return evolve(request, generation=evolve(generation, max_tokens=known.max_output))


_ALONE_S: Final = 0.05
"""How long a client has to read what comes before an error that must arrive alone."""


class TranslatedRun:
    """A response that is read as events and written in the form of the client's API."""

    failed_calls: Sequence[CallRecord] = ()

    def __init__(self, context: RunContext, plan: ResponsePlan) -> None:
        self.plan = plan
        self.info = plan.info
        self.content_type = plan.encoding.content_type
        self._call = call = UpstreamCall(
            context,
            plan.info,
            plan.limits,
            with_output_limit(plan.request),
            request=lambda: plan.request,
            cached=plan.cached,
            without_reasoning=partial(_without_reasoning, plan.writer),
        )
        self.calls: Sequence[CallRecord] = (call,)
        self._next_batch = ContinuedTurn(call).next_batch if plan.continues else call.next_batch
        self._metrics = context.metrics
        self._policy = context.policy
        self._writer = plan.writer
        self._opened = False
        self._unsent: list[Event] = []
        """Events that were written and not handed out yet."""
        self._error_events: Sequence[Event] = ()
        """The error that ends the stream, until the client has read what is before it."""
        self._begun = False
        self._ended = False
        self._tail_sent = False
        self._refusal: LLMError | None = None
        """Why the response failed before anything of it was sent."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The header that shows whether the response came from the response cache, if it is on."""
        return {} if self.plan.cached is None else self.plan.cached.headers

    @property
    def error(self) -> LLMError | None:
        """Why the response failed, if it did."""
        return self._refusal or self._writer.error

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything dropped, changed or added so far, in the request and in the response."""
        return (*self.plan.diagnostics, *self._writer.diagnostics, *self._call.removed)

    def error_response(self, error: FrontError) -> FailureResponse:
        """Return the response of an *error* that comes before anything was sent."""
        return self.plan.error(error)

    async def next_bytes(self) -> bytes:
        """Return the next bytes of the stream; empty after the last.

        Raises FrontError for a failure before anything was handed out.
        """
        if not self._error_events and (events := await self._next_events()):
            if self._writer.error is None or not self.plan.encoding.error_alone:
                data = await self._encoded(events)
                return data + self._take_tail() if self._ended else data
            self._error_events = events[-1:]
            if before := events[:-1]:
                return await self._encoded(before)
        if self._error_events:
            await anyio.sleep(_ALONE_S)
            return await self._encoded(self._take_error())
        return self._take_tail()

    async def keep_alive(self) -> bytes:
        """Return the events that open the stream, or else a heartbeat."""
        return await self._encoded(self._open_stream()) or self.plan.encoding.heartbeat

    async def failed_bytes(self, error: LLMError) -> bytes:
        """Return the bytes that end a stream with *error*; none if it has ended."""
        if error_events := self._take_error():
            return await self._encoded(error_events)
        if self._ended:
            return b""
        self._end("failed")
        events = [*self._open_stream(), *self._unsent]
        if self._writer.ended:  # and its end, which is stored now, waits to be sent
            events[-1:] = self._writer.failed_instead(events[-1], error.message)
        return await self._encoded([*events, *self._checked(self._writer.close(error))])

    def _take_tail(self) -> bytes:
        """Return the bytes after the last event; empty after the first call, and after an error."""
        if self._tail_sent or self._writer.error is not None:
            return b""
        self._tail_sent = True
        return self.plan.encoding.tail

    def _take_error(self) -> Sequence[Event]:
        events, self._error_events = self._error_events, ()
        return events

    async def whole(self) -> WholeBody:
        """Return the response as one object; FrontError if there is none."""
        while await self._next_events():
            pass
        if self._writer.error is not None:
            raise from_llm_error(self._writer.error) from self._writer.error
        response = self._writer.whole()
        response = response if self.plan.form is None else self.plan.form(response)
        large = self.plan.is_large or holds_much(self._call.response.message)
        body = await run_in_thread_if(partial(json.dumps, response), large=large)
        return WholeBody(body=body, headers=self.headers)

    async def aclose(self) -> None:
        """Close the call of the upstream, if it has not ended."""
        await self._call.aclose()
        if not self._ended:
            self._end(CANCELLED)

    async def _encoded(self, events: Iterable[Event]) -> bytes:
        step = partial(b"".join, map(self.plan.encoding.encode, events))
        return await run_in_thread_if(step, large=True) if self.plan.is_large else step()

    # -- Events

    async def _next_events(self) -> Sequence[Event]:
        """Return the next events, at least one; empty after the last.

        Raises FrontError for a failure before anything was handed out.
        """
        while not self._ended:
            batch = await self._next_batch()
            failure = None if self._begun else plain_failure(batch)
            if failure is None:
                self._begun = True
            elif await self._tries_without(failure):
                continue
            elif not self._opened:
                self._refusal = failure
                self._end("failed")
                raise from_llm_error(failure) from failure
            if events := await self._folded(batch):
                return events
        return ()

    async def _tries_without(self, error: LLMError) -> bool:
        """Renew the call without the field that the upstream rejects; False if it names none."""
        call = self._call
        if len(call.dropped) >= _MOST_DROPS:
            return False
        rejected = without_rejected(call.sent, error, self._policy)
        if rejected is None:
            return False
        name, reduced, note = rejected
        provider = self.info.upstream.provider
        log(logging.WARNING, "parameter_dropped", provider=provider, parameter=name)
        await call.try_without(name, note.path, reduced, note)
        return True

    def _open_stream(self) -> Sequence[Event]:
        """Return the events that open the stream; none after the first call."""
        if self._opened:
            return ()
        self._opened = True
        return self._checked(self._writer.start())

    async def _folded(self, batch: Sequence[LLMEvent]) -> Sequence[Event]:
        unsent, feed = self._unsent, self._writer.feed
        if not self._opened:
            unsent += self._open_stream()
        for event in batch:
            unsent += feed(event) if self.plan.checker is None else self._checked(feed(event))
        if isinstance(batch[-1], _ENDING):
            await self._finish()
        self._unsent = []
        return unsent

    def _checked(self, events: Sequence[Event]) -> Sequence[Event]:
        if self.plan.checker is not None:
            for event in events:
                for violation in self.plan.checker.feed(event):
                    report_violation(self._metrics, violation, self.info)
        return events

    # -- The end

    def _end(self, outcome: str) -> None:
        self._ended = True
        self._call.count(outcome)

    async def _finish(self) -> None:
        """Store the response if that is planned, and count it; it fails if the write does."""
        if self._call.is_sent:
            self._metrics.count_tokens(self.info.upstream.provider, self._writer.usage)
        kept = await self._is_kept()
        self._end(self._writer.outcome if kept else "failed")
        if kept:
            return
        if not self.info.streamed:
            raise state_unavailable()
        if self._writer.error is None:
            why = state_unavailable().message
            self._unsent[-1:] = self._writer.failed_instead(self._unsent[-1], why)

    async def _is_kept(self) -> bool:
        """Store the response if that is planned; return False if that failed."""
        unseen = self._writer.error is not None and not self.info.streamed
        if self.plan.keep is None or unseen:
            return True
        try:
            await self.plan.keep()
        except StateUnavailableError as error:
            log(logging.ERROR, "state_write_failed", error=str(error))
        except Exception:  # noqa: BLE001  a fault of the gateway: the response counts as not stored
            LOGGER.exception("state_write_failed")
        else:
            return True
        self._metrics.state_errors.inc()
        return False


def _without_reasoning(writer: FrontWriter, request: LLMRequest) -> LLMRequest:
    """Return *request* without reasoning that its upstream cannot read; *writer* keeps it so."""
    readable = without_opaque_reasoning(request)
    writer.continue_from(readable.messages)
    return readable


def report_violation(metrics: Metrics, violation: str, info: RunLabels) -> None:
    """Count and log that a stream broke the grammar of its API."""
    metrics.violations.inc()
    log(logging.ERROR, "stream_violation", violation=violation, response_id=info.id)
