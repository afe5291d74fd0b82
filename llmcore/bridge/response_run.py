"""One answer being made: from translated request to the events that a client reads.

Until a client was sent something, a failure is a BridgeError, and what has not begun may be
tried again; after that a failure is the stream's last event. A response is stored before the
event that ends it is handed out, so that the next request finds it.
"""

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import anyio
from attrs import evolve, field, frozen

from llmcore.bridge.config import Settings
from llmcore.bridge.drop_rejected_parameters import rejected_parameter, without_parameter
from llmcore.bridge.errors import SERVER_ERROR, BridgeError, from_llm_error
from llmcore.bridge.http.logs import LOGGER, log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.policy import TranslationPolicy
from llmcore.bridge.responses.answer import ResponsesFold
from llmcore.bridge.responses.events import Event
from llmcore.bridge.responses.grammar import Checker
from llmcore.bridge.responses.request import Translation
from llmcore.bridge.state.store import Record, StateUnavailableError, Store
from llmcore.client.client import Client
from llmcore.client.event_stream import EventStream
from llmcore.client.large_requests import holds_much, is_large, off_the_loop
from llmcore.folds.beginnings import says_something
from llmcore.generation.model_call import ModelCall
from llmcore.generation.rejected_reasoning import without_opaque_reasoning
from llmcore.generation.retry import RetryPolicy
from llmcore.routes.timeouts import Timeouts
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    LLMEvent,
    StreamStart,
)
from llmcore.schema.json import JsonObject
from llmcore.schema.request import LLMRequest

_FIRST_DELAY_S = 0.5
_MAX_DELAY_S = 20.0
_LEAST_S = 0.001
"""Left of the time for an answer, at least: a limit of 0 is none."""


@frozen(kw_only=True)
class Parts:
    """What every turn works with."""

    settings: Settings
    client: Client
    store: Store
    metrics: Metrics
    policy: TranslationPolicy
    new_id: Callable[[str], str] = field(repr=False)


class Turn:
    """An answer under way. Nothing is sent upstream before the first events are asked for."""

    form: Callable[[JsonObject], JsonObject] | None = None
    """What a whole answer is made into, where it is no response object."""

    def __init__(
        self, parts: Parts, translation: Translation, *, response_id: str, owner: str, provider: str
    ) -> None:
        self.id = response_id
        self.provider = provider
        self.streamed = translation.stream
        self.is_large = holds_much(translation.echo)
        """Whether what the response repeats of the request takes a while to serialize."""
        self.upstream_request_id: str | None = None
        self.dropped: list[str] = []
        """Parameters that were left out because the upstream rejected them."""
        self._removed: list[Diagnostic] = []
        self._parts = parts
        self._translation = translation
        self._owner = owner
        self._fold = ResponsesFold(
            translation,
            response_id=response_id,
            created_at=int(time.time()),
            new_id=parts.new_id,
        )
        self._checker = Checker() if parts.settings.check_stream else None
        self._request: LLMRequest = translation.request
        total_s = parts.settings.limits.total_s
        self._deadline = math.inf if total_s is None else anyio.current_time() + total_s
        self._call = self._new_call()
        self._announced = False
        self._unsent: list[Event] = []
        """Events that were written and not handed out yet."""
        self._begun = False
        self._ended = False
        self._asked_at = 0.0

    @property
    def response(self) -> JsonObject:
        """The response object, once the last events were handed out."""
        return self._fold.response

    @property
    def error(self) -> LLMError | None:
        """Why the answer failed, if it did."""
        return self._fold.error

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """What was lost, changed or invented so far, on the way up and on the way back."""
        return (*self._fold.diagnostics, *self._removed)

    def announce(self) -> Sequence[Event]:
        """Return the events that open the stream, the first time; from then on it is one."""
        if self._announced:
            return ()
        self._announced = True
        return self._checked(self._fold.start())

    async def next_events(self) -> Sequence[Event]:
        """Return the next events, at least one; empty after the last.

        Raises BridgeError for a failure before anything was handed out.
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
            elif not self._announced:
                self._ended = True
                self._count("failed")
                raise from_llm_error(failure)
            if events := await self._folded(batch):
                return events
        return ()

    async def whole(self) -> JsonObject:
        """Return the response object; BridgeError if there is none."""
        while await self.next_events():
            pass
        if self._fold.error is not None:
            raise from_llm_error(self._fold.error)
        return self.response if self.form is None else self.form(self.response)

    def failed_events(self, error: LLMError) -> Sequence[Event]:
        """Return the events that end an announced stream with *error*; none if it has ended."""
        if self._ended:
            return ()
        self._ended = True
        self._count("failed")
        events = [*self.announce(), *self._unsent]
        if self._fold.ended:
            events[-1] = _failed_instead(events[-1], error)
        return [*events, *self._checked(self._fold.close(error))]

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
            return self._parts.client.stream(self._request, timeouts=self._timeouts())

        def without_reasoning() -> EventStream:
            self._drop_reasoning()
            return attempt()

        settings = self._parts.settings
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
        limits = self._parts.client.timeouts
        if self._deadline == math.inf:
            return limits
        return evolve(limits, total=max(self._deadline - anyio.current_time(), _LEAST_S))

    def _drop_reasoning(self) -> None:
        """Go on without the encrypted reasoning that the upstream cannot read."""
        self._request = without_opaque_reasoning(self._request)
        self._fold.continue_from(self._request.messages)
        why = "the upstream cannot read it: it is of another account, deployment or model"
        self._removed.append(
            Diagnostic("opaque-data-dropped", "input", action="dropped", message=why)
        )
        log(logging.WARNING, "encrypted_reasoning_dropped", provider=self.provider)

    def _on_retry(self, error: LLMError, attempt: int, delay: float) -> None:
        self._parts.metrics.retries.labels(self.provider).inc()
        log(
            logging.WARNING,
            "upstream_retry",
            provider=self.provider,
            attempt=attempt + 1,
            delay_s=round(delay, 3),
            error=str(error),
            upstream_request_id=error.request_id,
        )

    async def _tries_without(self, error: LLMError) -> bool:
        """Make way for one more try without the parameter that the upstream rejects."""
        name = rejected_parameter(error, self._parts.policy, self._request)
        if name is None or self.dropped:
            return False
        self._request, diagnostic = without_parameter(self._request, name)
        self.dropped.append(name)
        self._removed.append(diagnostic)
        self._parts.metrics.dropped.labels(name).inc()
        log(logging.WARNING, "parameter_dropped", provider=self.provider, parameter=name)
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
                    seconds = self._parts.metrics.first_event_seconds
                    seconds.labels(self.provider).observe(waited)
                    self.upstream_request_id = request_id or self.upstream_request_id
                case ErrorEvent(error):
                    self.upstream_request_id = error.request_id or self.upstream_request_id
                case _:
                    pass

    async def _folded(self, batch: Sequence[LLMEvent]) -> Sequence[Event]:
        unsent = self._unsent
        unsent += self.announce()
        for event in batch:
            unsent += self._checked(self._fold.step(event))
        if not batch or isinstance(batch[-1], Finish | ErrorEvent):
            await self._end()
        self._unsent = []
        return unsent

    async def _end(self) -> None:
        """Store the response if it is to be; if that fails, so does the response."""
        self._parts.metrics.count_tokens(self.provider, self._fold.response.get("usage"))
        kept = await self._is_kept()
        self._ended = True
        self._count(str(self._fold.response.get("status")) if kept else "failed")
        if kept:
            return
        if not self._translation.stream:
            raise state_unavailable()
        if self._fold.error is None:
            self._unsent[-1] = _failed_instead(self._unsent[-1], state_unavailable())

    async def _is_kept(self) -> bool:
        """Store the response if it is to be; whether all is well."""
        unseen = self._fold.error is not None and not self._translation.stream
        if not self._translation.store or unseen:
            return True
        try:
            record = await off_the_loop(self._record, large=is_large(self._request))
            await self._parts.store.put(record)
        except StateUnavailableError as error:
            log(logging.ERROR, "state_write_failed", error=str(error))
        except Exception:  # noqa: BLE001  a fault of ours: not stored is not stored
            LOGGER.exception("state_write_failed")
        else:
            return True
        self._parts.metrics.state_errors.inc()
        return False

    def _record(self) -> Record:
        failed = self._fold.error is not None
        return Record(
            id=self.id,
            owner=self._owner,
            response=self._fold.response,
            input_items=self._translation.input_items,
            conversation=None if failed else self._fold.conversation().to_json(),
            items={} if failed else {str(item["id"]): item for item in self._fold.stored_items},
        )

    def _checked(self, events: Sequence[Event]) -> Sequence[Event]:
        if self._checker is None:
            return events
        for event in events:
            for violation in self._checker.check(event):
                self._parts.metrics.violations.inc()
                log(logging.ERROR, "stream_violation", violation=violation, response_id=self.id)
        return events

    def _count(self, outcome: str) -> None:
        self._parts.metrics.answers.labels(self.provider, outcome).inc()


def state_unavailable() -> BridgeError:
    """Return the error of a request that needs the store while it cannot be reached, 503."""
    return BridgeError(
        status=503,
        message="the response store cannot be reached; try again, or send store: false",
        type=SERVER_ERROR,
        code="state_unavailable",
        retry_after=1,
    )


def _plain_failure(batch: Sequence[LLMEvent]) -> LLMError | None:
    """Return the error of a call that failed before it said anything."""
    if not batch or not isinstance(last := batch[-1], ErrorEvent):
        return None
    return None if says_something(batch) else last.error


def _failed_instead(event: Event, why: BridgeError | LLMError) -> Event:
    """Return the event that ends a stream in place of *event*, which did so."""
    response: Any = event.get("response")
    error = {"code": SERVER_ERROR, "message": why.message}
    failed = {**response, "status": "failed", "error": error, "incomplete_details": None}
    return {**event, "type": "response.failed", "response": failed}
