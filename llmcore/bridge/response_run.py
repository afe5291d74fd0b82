"""One answer being made: from translated request to the events that a client reads.

Until a client was sent something, a failure is a FrontError, and what has not begun may be
tried again; after that a failure is the stream's last event. A response is stored before the
event that ends it is handed out, so that the next request finds it.
"""

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import anyio
from attrs import evolve, frozen

from llmcore.bridge.config import GatewaySettings
from llmcore.bridge.drop_rejected_parameters import rejected_parameter, without_parameter
from llmcore.bridge.http.logs import LOGGER, log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.client.client import Client
from llmcore.client.event_stream import EventStream
from llmcore.client.large_requests import is_large, off_the_loop
from llmcore.folds.grammar import has_content
from llmcore.fronts.errors import FrontError, from_llm_error, state_unavailable
from llmcore.fronts.front import AnswerWriter, Event
from llmcore.fronts.openai_responses.state import Record
from llmcore.fronts.policy import TranslationPolicy
from llmcore.generation.model_call import ModelCall
from llmcore.generation.rejected_reasoning import without_opaque_reasoning
from llmcore.generation.retry import RetryPolicy
from llmcore.routes.transport import Timeouts
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    LLMEvent,
    StreamStart,
)
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest

_FIRST_DELAY_S = 0.5
_MAX_DELAY_S = 20.0
_LEAST_S = 0.001
"""The shortest time limit of a try: 0 would mean unlimited."""


class StoredAnswerWriter(AnswerWriter, Protocol):
    """Writes an answer that can be stored, and continued by a later request."""

    def failed_instead(self, event: Event, message: str) -> Event:
        """Return the event of a failure in place of *event*, which ended the stream."""
        ...

    def continue_from(self, messages: tuple[Message, ...]) -> None:
        """Keep *messages*, which the upstream could read, as the conversation up to here."""
        ...

    def record(self) -> Record:
        """Return what is to be stored of the answer, once it has ended."""
        ...


@frozen(kw_only=True)
class AnswerPlan:
    """A request that was read: the upstream's request, and how its answer is written."""

    id: str
    model: str
    """The name by which the client called the model."""
    provider: str
    request: LLMRequest
    writer: StoredAnswerWriter
    streamed: bool
    stored: bool
    is_large: bool = False
    """Whether events that repeat parts of the request take a while to serialize."""
    encode: Callable[[Event], bytes]
    heartbeat: bytes
    """Sent while a stream is silent."""
    error_form: Callable[[FrontError], JsonObject]
    check: Callable[[Event], Sequence[str]] | None = None
    """Returns what of an event breaks the API's grammar, where streams are checked."""


@frozen(kw_only=True)
class RunContext:
    """Shared by all runs."""

    settings: GatewaySettings
    client: Client
    store: ResponseStore
    metrics: Metrics
    policy: TranslationPolicy


class ResponseRun:
    """An answer under way. Nothing is sent upstream before the first events are asked for."""

    def __init__(self, context: RunContext, plan: AnswerPlan) -> None:
        self.plan = plan
        self.upstream_request_id: str | None = None
        self.dropped: list[str] = []
        """Parameters that were left out because the upstream rejected them."""
        self._removed: list[Diagnostic] = []
        self._context = context
        self._writer = plan.writer
        self._request = plan.request
        total_s = context.settings.limits.total_s
        self._deadline = math.inf if total_s is None else anyio.current_time() + total_s
        self._call = self._new_call()
        self._opened = False
        self._unsent: list[Event] = []
        """Events that were written and not handed out yet."""
        self._begun = False
        self._ended = False
        self._asked_at = 0.0

    @property
    def error(self) -> LLMError | None:
        """Why the answer failed, if it did."""
        return self._writer.error

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything lost, changed or invented so far, on the way up and on the way back."""
        return (*self._writer.diagnostics, *self._removed)

    def open_stream(self) -> Sequence[Event]:
        """Return the events that open the stream, the first time; from then on it is one."""
        if self._opened:
            return ()
        self._opened = True
        return self._checked(self._writer.start())

    async def next_events(self) -> Sequence[Event]:
        """Return the next events, at least one; empty after the last.

        Raises FrontError for a failure before anything was handed out.
        """
        self._asked_at = self._asked_at or time.monotonic()
        while not self._ended:
            batch = await self._call.next_batch()
            self._note(batch)
            failure = None if self._begun else _plain_failure(batch)
            if failure is None:
                self._begun = True
            elif await self._tries_without(failure):
                continue
            elif not self._opened:
                self._ended = True
                self._count("failed")
                raise from_llm_error(failure)
            if events := await self._folded(batch):
                return events
        return ()

    async def collect(self) -> JsonObject:
        """Return the answer as one object; FrontError if there is none."""
        while await self.next_events():
            pass
        if self._writer.error is not None:
            raise from_llm_error(self._writer.error)
        return self._writer.whole()

    def failed_events(self, error: LLMError) -> Sequence[Event]:
        """Return the events that end an announced stream with *error*; none if it has ended."""
        if self._ended:
            return ()
        self._ended = True
        self._count("failed")
        events = [*self.open_stream(), *self._unsent]
        if self._writer.ended:
            events[-1] = self._writer.failed_instead(events[-1], error.message)
        return [*events, *self._checked(self._writer.close(error))]

    async def aclose(self) -> None:
        """Hang up on the upstream, if it is still at work."""
        with anyio.CancelScope(shield=True):
            await self._call.aclose()
        if not self._ended:
            self._ended = True
            self._count("cancelled")

    # -- Calls of the upstream

    def _new_call(self) -> ModelCall:
        def attempt() -> EventStream:
            return self._context.client.stream(self._request, timeouts=self._timeouts())

        def without_reasoning() -> EventStream:
            self._drop_reasoning()
            return attempt()

        settings = self._context.settings
        policy = RetryPolicy(
            max_retries=settings.retries,
            retry_timeouts=settings.retry_timeouts,
            base_delay=_FIRST_DELAY_S,
            max_delay=_MAX_DELAY_S,
            on_retry=self._on_retry,
        )
        return ModelCall(
            attempt,
            policy,
            live=True,
            deadline=self._deadline,
            without_opaque=without_reasoning,
        )

    def _timeouts(self) -> Timeouts:
        """Return the time limits of the next try: of the whole, what the tries before left."""
        limits = self._context.client.timeouts
        if self._deadline == math.inf:
            return limits
        return evolve(limits, total=max(self._deadline - anyio.current_time(), _LEAST_S))

    def _drop_reasoning(self) -> None:
        """Go on without the encrypted reasoning that the upstream cannot read."""
        self._request = without_opaque_reasoning(self._request)
        self._writer.continue_from(self._request.messages)
        why = "the upstream cannot read it: it is of another account, deployment or model"
        self._removed.append(
            Diagnostic("opaque-data-dropped", "input", action="dropped", message=why)
        )
        log(logging.WARNING, "encrypted_reasoning_dropped", provider=self.plan.provider)

    def _on_retry(self, error: LLMError, attempt: int, delay: float) -> None:
        self._context.metrics.retries.labels(self.plan.provider).inc()
        log(
            logging.WARNING,
            "upstream_retry",
            provider=self.plan.provider,
            attempt=attempt + 1,
            delay_s=round(delay, 3),
            error=str(error),
            upstream_request_id=error.request_id,
        )

    async def _tries_without(self, error: LLMError) -> bool:
        """Make way for one more try without the parameter that the upstream rejects."""
        name = rejected_parameter(error, self._context.policy, self._request)
        if name is None or self.dropped:
            return False
        self._request, diagnostic = without_parameter(self._request, name)
        self.dropped.append(name)
        self._removed.append(diagnostic)
        self._context.metrics.dropped.labels(name).inc()
        log(logging.WARNING, "parameter_dropped", provider=self.plan.provider, parameter=name)
        await self._call.aclose()
        self._call = self._new_call()
        return True

    # -- Events

    def _note(self, batch: Sequence[LLMEvent]) -> None:
        """Remember what headers and logs say of the upstream."""
        for event in batch:
            match event:
                case StreamStart(request_id=request_id):
                    waited = time.monotonic() - self._asked_at
                    seconds = self._context.metrics.first_event_seconds
                    seconds.labels(self.plan.provider).observe(waited)
                    self.upstream_request_id = request_id or self.upstream_request_id
                case ErrorEvent(error):
                    self.upstream_request_id = error.request_id or self.upstream_request_id
                case _:
                    pass

    async def _folded(self, batch: Sequence[LLMEvent]) -> Sequence[Event]:
        unsent = self._unsent
        unsent += self.open_stream()
        for event in batch:
            unsent += self._checked(self._writer.feed(event))
        if not batch or isinstance(batch[-1], Finish | ErrorEvent):
            await self._end()
        self._unsent = []
        return unsent

    async def _end(self) -> None:
        """Store the answer if it is to be; if that fails, so does the answer."""
        self._context.metrics.count_tokens(self.plan.provider, self._writer.usage)
        kept = await self._is_kept()
        self._ended = True
        self._count(self._writer.outcome if kept else "failed")
        if kept:
            return
        if not self.plan.streamed:
            raise state_unavailable()
        if self._writer.error is None:
            why = state_unavailable().message
            self._unsent[-1] = self._writer.failed_instead(self._unsent[-1], why)

    async def _is_kept(self) -> bool:
        """Store the answer if it is to be; return whether nothing went wrong."""
        unseen = self._writer.error is not None and not self.plan.streamed
        if not self.plan.stored or unseen:
            return True
        try:
            record = await off_the_loop(self._writer.record, large=is_large(self._request))
            await self._context.store.put(record)
        except StateUnavailableError as error:
            log(logging.ERROR, "state_write_failed", error=str(error))
        except Exception:  # noqa: BLE001  a fault of the gateway: the answer counts as not stored
            LOGGER.exception("state_write_failed")
        else:
            return True
        self._context.metrics.state_errors.inc()
        return False

    def _checked(self, events: Sequence[Event]) -> Sequence[Event]:
        if self.plan.check is None:
            return events
        for event in events:
            for violation in self.plan.check(event):
                self._context.metrics.violations.inc()
                log(
                    logging.ERROR, "stream_violation", violation=violation, response_id=self.plan.id
                )
        return events

    def _count(self, outcome: str) -> None:
        self._context.metrics.answers.labels(self.plan.provider, outcome).inc()


def _plain_failure(batch: Sequence[LLMEvent]) -> LLMError | None:
    """Return the error of a call that failed before it said anything."""
    if not batch or not isinstance(last := batch[-1], ErrorEvent):
        return None
    return None if has_content(batch) else last.error
