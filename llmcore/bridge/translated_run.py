"""Translates a response: from the request that was read to the bytes for the client.

Before the first byte is sent to the client, a failure is a FrontError, and the call may be tried
again; after it, a failure is the stream's last event. A response that is to be stored is
stored before the event that ends it is handed out, so that the next request finds it.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

import msgspec
from attrs import evolve

from llmcore.bridge.drop_rejected_parameters import rejected_parameter, without_parameter
from llmcore.bridge.http.logs import LOGGER, log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.rejected_betas import HEADER, without_rejected_betas
from llmcore.bridge.response_run import ErrorForm, RunLabels, WholeBody
from llmcore.bridge.savings import CachedResponse
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.bridge.upstream_call import Attempt, CallLimits, RunContext, UpstreamRun
from llmcore.catalog.lookup import get_model_info
from llmcore.client.event_stream import EventStream
from llmcore.client.large_requests import holds_much, run_in_thread_if
from llmcore.folds.grammar import has_content
from llmcore.fronts.errors import FrontError, from_llm_error, state_unavailable
from llmcore.fronts.front import Event, FailureResponse, FrontWriter, GrammarChecker, StreamEncoding
from llmcore.generation.rejected_reasoning import without_opaque_reasoning
from llmcore.protocols.protocol import MOST_PAUSES
from llmcore.routes.route import Route
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.event_base import with_fields
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    FinishReason,
    LLMEvent,
    StepFinish,
    StepStart,
    StreamStart,
)
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse

_MOST_DROPS = 3
"""How often one request is tried again without something that the upstream rejects."""


class StoredResponse(Protocol):
    """A response that is stored at its end, and continued by a later request."""

    async def keep(self) -> None:
        """Store the response, which has ended; StateUnavailableError if that fails."""
        ...

    def failed_instead(self, event: Event, message: str) -> Sequence[Event]:
        """Return the events of a failure in place of *event*, which ended the stream."""
        ...

    def continue_from(self, messages: tuple[Message, ...]) -> None:
        """Keep *messages*, which the upstream could read, as the conversation up to here."""
        ...


class ResponsePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was read: the upstream's request, and how its response is written."""

    info: RunLabels
    request: LLMRequest
    writer: FrontWriter
    encoding: StreamEncoding
    error: "ErrorForm"
    checker: GrammarChecker | None = None
    """Checks the stream, where streams are checked."""
    stored: StoredResponse | None = None
    """Stores the response at its end, if it is to be stored."""
    limits: CallLimits = CallLimits()
    is_large: bool = False
    """Whether events that repeat parts of the request take a while to serialize."""
    cached: CachedResponse | None = None
    """Where the response may come from instead of the upstream."""
    form: Callable[[json.JsonObject], json.JsonObject] | None = None
    """Returns the object that is sent in place of a response that is not streamed."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything changed in the request before it was read."""
    paused: str | None = None
    """The finish reason of turns that are continued, because their client cannot do so."""


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


class TranslatedRun(UpstreamRun):
    """A response that is read as events and written in the form of the client's API."""

    def __init__(self, context: RunContext, plan: ResponsePlan) -> None:
        self.plan = plan
        self.content_type = plan.encoding.content_type
        self._removed: list[Diagnostic] = []
        self._writer = plan.writer
        self._request = with_output_limit(plan.request)
        self._opened = False
        self._unsent: list[Event] = []
        """Events that were written and not handed out yet."""
        self._begun = False
        self._ended = False
        self._tail_sent = False
        self._paused: list[LLMResponse] = []
        """The responses of the turn that its upstream has paused."""
        self._ends: Sequence[StepFinish | Finish] = ()
        """The events that end the turn, until the call that continues it has content."""
        self._refusal: LLMError | None = None
        """Why the response failed before anything of it was sent."""
        super().__init__(context, plan.info, plan.limits)  # makes the first attempt

    def request(self) -> LLMRequest:
        """Return the request as it was read."""
        return self.plan.request

    @property
    def choices(self) -> int:
        """How many responses the upstream gives."""
        return 1

    @property
    def is_sent(self) -> bool:
        """Whether the upstream was asked."""
        return super().is_sent and not self._is_repeated

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
        return (*self.plan.diagnostics, *self._writer.diagnostics, *self._removed)

    def error_response(self, error: FrontError) -> FailureResponse:
        """Return the response of an *error* that comes before anything was sent."""
        return self.plan.error(error)

    async def next_bytes(self) -> bytes:
        """Return the next bytes of the stream; empty after the last.

        Raises FrontError for a failure before anything was handed out.
        """
        if events := await self._next_events():
            return await self._encoded(events)
        if self._tail_sent or self._writer.error is not None:
            return b""
        self._tail_sent = True
        return self.plan.encoding.tail

    async def keep_alive(self) -> bytes:
        """Return the events that open the stream, or else a heartbeat."""
        return await self._encoded(self._open_stream()) or self.plan.encoding.heartbeat

    async def failed_bytes(self, error: LLMError) -> bytes:
        """Return the bytes that end a stream with *error*; none if it has ended."""
        return await self._encoded(self._failed_events(error))

    async def _encoded(self, events: Iterable[Event]) -> bytes:
        step = partial(b"".join, map(self.plan.encoding.encode, events))
        return await run_in_thread_if(step, large=True) if self.plan.is_large else step()

    def _open_stream(self) -> Sequence[Event]:
        """Return the events that open the stream; none after the first call."""
        if self._opened:
            return ()
        self._opened = True
        return self._checked(self._writer.start())

    async def _next_events(self) -> Sequence[Event]:
        """Return the next events, at least one; empty after the last.

        Raises FrontError for a failure before anything was handed out.
        """
        while not self._ended:
            batch = await self._next_batch()
            if self.plan.paused is not None and not (batch := await self._in_turn(batch)):
                continue
            failure = None if self._begun else _plain_failure(batch)
            if failure is None:
                self._begun = True
            elif await self._tries_without(failure):
                continue
            elif not self._opened:
                self._ended = True
                self._refusal = failure
                self._count("failed")
                raise from_llm_error(failure) from failure
            if events := await self._folded(batch):
                return events
        return ()

    async def whole(self) -> WholeBody:
        """Return the response as one object; FrontError if there is none."""
        while await self._next_events():
            pass
        if self._writer.error is not None:
            raise from_llm_error(self._writer.error) from self._writer.error
        response = self._writer.whole()
        response = response if self.plan.form is None else self.plan.form(response)
        large = self.plan.is_large or holds_much(self.response.message)
        body = await run_in_thread_if(partial(json.dumps, response), large=large)
        return WholeBody(body=body, headers=self.headers)

    def _failed_events(self, error: LLMError) -> Sequence[Event]:
        """Return the events that end an announced stream with *error*; none if it has ended."""
        if self._ended:
            return ()
        self._ended = True
        self._count("failed")
        events = [*self._open_stream(), *self._unsent]
        if self._writer.ended and self.plan.stored is not None:
            events[-1:] = self.plan.stored.failed_instead(events[-1], error.message)
        return [*events, *self._checked(self._writer.close(error))]

    async def aclose(self) -> None:
        """Close the call of the upstream, if it has not ended."""
        await super().aclose()
        if not self._ended:
            self._ended = True
            self._count("cancelled")

    # -- Calls of the upstream

    def _attempt(self, timeouts: Timeouts) -> EventStream:
        attempt = partial(self._ask, self._request, timeouts=timeouts)
        cached = None if self._paused else self.plan.cached  # a part of a turn is not cached
        return attempt() if cached is None else cached.through(attempt)

    async def _in_turn(self, batch: Sequence[LLMEvent]) -> Sequence[LLMEvent]:
        """Return *batch* as a part of the whole turn, which may be none of it.

        After a pause the message is sent back, and the next call continues the turn. Its usage is
        that of all calls, each of which counts its prompt. A turn that cannot be continued ends
        with what there is of it.
        """
        last = batch[-1]
        if self._paused:
            if self._ends and (failure := _plain_failure(batch)):
                return _cut_short(self._ends, f"its continuation failed: {failure.message}")
            self._ends = ()
            within = (e for e in batch if not isinstance(e, StreamStart | StepStart))
            batch = list(map(self._with_all_usage, within))
        if not isinstance(last, Finish) or last.finish_reason.raw != self.plan.paused:
            return batch
        response = self.response
        if response.tool_calls:
            return batch
        ends = [event for event in batch if isinstance(event, StepFinish | Finish)]
        batch = [event for event in batch if not isinstance(event, StepFinish | Finish)]
        self._removed += last.diagnostics
        if len(self._paused) >= MOST_PAUSES:
            return [*batch, *_cut_short(ends, f"it has been continued {MOST_PAUSES} times")]
        if refusal := await self._refused(response):
            return [*batch, *_cut_short(ends, refusal.message)]
        self._paused.append(response)
        self.repeated.append(response)
        self._ends, self._elsewhere = ends, False  # another target has not begun the turn
        messages = (*self._request.messages, response.message)
        self._request = evolve(self._request, messages=messages)
        await self._renew_call()
        return batch

    def _with_all_usage(self, event: LLMEvent) -> LLMEvent:
        """Return *event*, an end with the usage of the paused responses too."""
        if not isinstance(event, StepFinish | Finish) or event.usage is None:
            return event
        paused = (response.usage for response in self._paused)
        return with_fields(event, usage=sum(paused, event.usage))

    def _without_reasoning(self) -> Attempt:
        return self._attempt_without_reasoning

    def _attempt_without_reasoning(self, timeouts: Timeouts) -> EventStream:
        self._drop_reasoning()
        return self._attempt(timeouts)

    def _drop_reasoning(self) -> None:
        """Remove the encrypted reasoning, which the upstream cannot read, from the request."""
        self._request = without_opaque_reasoning(self._request)
        if self.plan.stored is not None:
            self.plan.stored.continue_from(self._request.messages)
        why = "the upstream cannot read it: it is of another account, deployment or model"
        self._removed.append(
            Diagnostic("opaque-data-dropped", "input", action="dropped", message=why)
        )
        log(logging.WARNING, "encrypted_reasoning_dropped", provider=self._provider)

    async def _tries_without(self, error: LLMError) -> bool:
        """Renew the call without the field that the upstream rejects; False if it names none."""
        if len(self.dropped) >= _MOST_DROPS:
            return False
        name = rejected_parameter(error, self._context.policy, self._request)
        betas = without_rejected_betas(self._request, error)
        if betas is not None:
            name, (self._request, diagnostic) = HEADER, betas
        elif name is not None:
            self._request, diagnostic = without_parameter(self._request, name)
        else:
            return False
        self._removed.append(diagnostic)
        log(logging.WARNING, "parameter_dropped", provider=self._provider, parameter=name)
        await self._try_without(name, diagnostic.path)
        return True

    # -- Events

    async def _folded(self, batch: Sequence[LLMEvent]) -> Sequence[Event]:
        unsent, feed = self._unsent, self._writer.feed
        if not self._opened:
            unsent += self._open_stream()
        for event in batch:
            unsent += feed(event) if self.plan.checker is None else self._checked(feed(event))
        if not batch or isinstance(batch[-1], Finish | ErrorEvent):
            await self._end()
        self._unsent = []
        return unsent

    async def _end(self) -> None:
        """Store the response if that is planned, and count it; it fails if the write does."""
        if not self._is_repeated:
            self._context.metrics.count_tokens(self._provider, self._writer.usage)
        kept = await self._is_kept()
        self._ended = True
        self._count(self._writer.outcome if kept else "failed")
        if kept:
            return
        if not self.info.streamed:
            raise state_unavailable()
        if self._writer.error is None and self.plan.stored is not None:
            why = state_unavailable().message
            self._unsent[-1:] = self.plan.stored.failed_instead(self._unsent[-1], why)

    @property
    def _is_repeated(self) -> bool:
        return self.plan.cached is not None and self.plan.cached.state == "hit"

    async def _is_kept(self) -> bool:
        """Store the response if that is planned; return False if that failed."""
        unseen = self._writer.error is not None and not self.info.streamed
        if self.plan.stored is None or unseen:
            return True
        try:
            await self.plan.stored.keep()
        except StateUnavailableError as error:
            log(logging.ERROR, "state_write_failed", error=str(error))
        except Exception:  # noqa: BLE001  a fault of the gateway: the response counts as not stored
            LOGGER.exception("state_write_failed")
        else:
            return True
        self._context.metrics.state_errors.inc()
        return False

    def _checked(self, events: Sequence[Event]) -> Sequence[Event]:
        if self.plan.checker is not None:
            for event in events:
                for violation in self.plan.checker.feed(event):
                    report_violation(self._context.metrics, violation, self.info)
        return events


def report_violation(metrics: Metrics, violation: str, info: RunLabels) -> None:
    """Count and log that a stream broke the grammar of its API."""
    metrics.violations.inc()
    log(logging.ERROR, "stream_violation", violation=violation, response_id=info.id)


def _cut_short(ends: Sequence[StepFinish | Finish], why: str) -> Sequence[LLMEvent]:
    """Return *ends*, of a turn that its upstream has paused, as those of a response cut off."""
    message = f"the upstream paused, and the turn is not continued: {why}"
    note = Diagnostic("turn-cut-short", "finish_reason", action="noted", message=message)
    reason = FinishReason("length")  # without the upstream's word, by which the turn can go on
    return [
        with_fields(end, finish_reason=reason, diagnostics=(note,))
        if isinstance(end, Finish)
        else with_fields(end, finish_reason=reason)
        for end in ends
    ]


def _plain_failure(batch: Sequence[LLMEvent]) -> LLMError | None:
    """Return the error of a call that failed before any content; None for other batches."""
    if not batch or not isinstance(last := batch[-1], ErrorEvent):
        return None
    return None if has_content(batch) else last.error
