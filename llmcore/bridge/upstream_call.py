"""One call of an upstream: tried again until it begins, within its time limits.

`UpstreamCall` generates; `embedded` returns vectors. Both report to the upstream's health.
"""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final

import anyio
import msgspec
from attrs import evolve, field

from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.http.logs import log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.pools.health import is_of_the_model
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.bridge.response_run import CallRecord, RunLabels
from llmcore.bridge.savings import CachedResponse
from llmcore.client.call import OnResponse
from llmcore.client.client import Client
from llmcore.client.event_stream import EventStream
from llmcore.fronts.errors import FrontError
from llmcore.fronts.policy import TranslationPolicy
from llmcore.generation.model_call import ModelCall
from llmcore.generation.retrieval import embedded_in_batches
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.unary import UnarySettings
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.embeddings import EmbeddingRequest, EmbeddingResponse
from llmcore.schema.errors import LLMError, RequestTimeoutError
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent, StreamStart
from llmcore.schema.frozen import frozen
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse

_FIRST_DELAY_S = 0.5
_MAX_DELAY_S = 20.0
_LEAST_S = 0.001
"""The shortest time limit of a try: 0 would mean unlimited."""
_TOTAL: Final = "total"


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The retries and the time that a call has."""

    elsewhere: bool = False
    """Whether another target is tried after a failure, instead of this one again."""
    deadline: float | None = None
    """When all tries must have ended, by the event loop's clock; None uses the configured time."""


@frozen(kw_only=True)
class _OnlyWithoutReasoning(RetryPolicy):
    """Retries only a call whose encrypted reasoning was rejected, without that reasoning."""

    def applies_to(self, error: LLMError) -> bool:
        return False


@frozen(kw_only=True)
class RunContext:
    """Shared by all runs."""

    settings: GatewaySettings
    client: Client
    metrics: Metrics
    policy: TranslationPolicy
    health: UpstreamHealth
    timeouts: Mapping[str, Timeouts] = field(factory=dict)
    """The time limits of upstreams that have their own."""


def retry_policy(settings: GatewaySettings, *, elsewhere: bool = False) -> RetryPolicy:
    """Return which failures are tried again, and how often."""
    return _retry_policy(settings.retries, settings.retry_timeouts, elsewhere)


@lru_cache(maxsize=8)
def _retry_policy(retries: int, retry_timeouts: bool, elsewhere: bool) -> RetryPolicy:
    kind = _OnlyWithoutReasoning if elsewhere else RetryPolicy
    return kind(
        max_retries=retries,
        retry_timeouts=retry_timeouts,
        base_delay=_FIRST_DELAY_S,
        max_delay=_MAX_DELAY_S,
    )


def total_deadline(settings: GatewaySettings) -> float:
    """Return when all tries of a response that begins now must have ended."""
    total_s = settings.limits.total_s
    return math.inf if total_s is None else anyio.current_time() + total_s


class UpstreamCall(CallRecord):
    """One call of an upstream, as events: tried again until it begins.

    Nothing is sent before the first batch is requested.
    """

    def __init__(
        self,
        context: RunContext,
        info: RunLabels,
        limits: CallLimits,
        sent: LLMRequest,
        *,
        request: Callable[[], LLMRequest],
        choices: int = 1,
        on_response: OnResponse | None = None,
        cached: CachedResponse | None = None,
        without_reasoning: Callable[[LLMRequest], LLMRequest] | None = None,
    ) -> None:
        """Send *sent*; *cached* is where the events may come from instead.

        *without_reasoning* makes the request of a try without reasoning that the upstream cannot
        read. These functions must not refer to the owner of the call: a cycle would keep it.
        """
        super().__init__(info, request, choices=choices)
        self.sent = sent
        """The request of the next try."""
        self.removed: list[Diagnostic] = []
        """The parts of the request that were left out because the upstream rejected them."""
        self._context = context
        self._provider = info.upstream.provider
        self._limits = limits
        self._on_response = on_response
        self._cached = cached
        self._without_reasoning = without_reasoning
        self._began_at = context.health.now()
        self._has_begun = False
        self._has_ended = False
        self._deadline = _deadline(context, limits)
        self._sent_at: float | None = None
        self._elsewhere = limits.elsewhere
        """Whether another target is tried after a failure, instead of this one again."""
        self._call = self._new_call()

    # -- the response

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; the last batch ends with a terminal event."""
        if self._sent_at is None:
            self._sent_at = time.monotonic()
            self.is_sent = True
        batch = await self._call.next_batch()
        if not self._has_begun and not isinstance(batch[-1], ErrorEvent):
            self._has_begun = True
            self._context.health.succeeded(self.info.upstream, self._began_at)
        if self.first_event_s is None and isinstance(first := batch[0], StreamStart):
            self._begin(first, self._sent_at)
        last = batch[-1]
        if isinstance(last, ErrorEvent):
            self.upstream_request_id = last.error.request_id or self.upstream_request_id
            _failed(self._context, self.info.upstream, self._limits, last.error)
            self._has_ended = True
        elif isinstance(last, Finish):
            self._has_ended = True
        return batch

    def _begin(self, start: StreamStart, sent_at: float) -> None:
        self.first_event_s = time.monotonic() - sent_at
        seconds = self._context.metrics.first_event_seconds
        seconds.labels(self._provider).observe(self.first_event_s)
        self.upstream_request_id = start.request_id or self.upstream_request_id
        if self._cached is not None and self._cached.state == "hit":
            self.is_sent = False

    @property
    def response(self) -> LLMResponse:
        """The upstream's response, as far as it has arrived."""
        return self._call.partial

    def count(self, outcome: str) -> None:
        """Record how the response ended."""
        self.outcome = outcome
        self._context.metrics.responses.labels(self._provider, outcome).inc()

    async def aclose(self) -> None:
        """Close the call, if it has not ended."""
        if self._has_ended:  # which closes it
            return
        with anyio.CancelScope(shield=True):
            await self._call.aclose()

    # -- further tries

    async def try_without(
        self, name: str, place: str, request: LLMRequest, note: Diagnostic
    ) -> None:
        """Start again with *request*, which lacks *name* at *place*, with all retries available."""
        self.sent = request
        self.removed.append(note)
        self.dropped.append(place)
        self._context.metrics.dropped.labels(name).inc()
        await self._renew()

    async def go_on(self, response: LLMResponse) -> None:
        """Send the message of *response* back, so that the next events continue it."""
        self.repeated.append(response)
        self.sent = evolve(self.sent, messages=(*self.sent.messages, response.message))
        self._cached = None  # a part of a turn is not cached
        self._elsewhere = False  # another target has not begun the turn
        await self._renew()

    async def _renew(self) -> None:
        await self._call.aclose()
        self._call = self._new_call()
        self._has_ended = False

    def _new_call(self) -> ModelCall:
        without = self._attempt_without_reasoning if self._without_reasoning is not None else None
        return ModelCall(
            self._attempt,
            retry_policy(self._context.settings, elsewhere=self._elsewhere),
            live=True,
            deadline=self._deadline,
            on_retry=self._on_retry,
            may_repeat=self._may_repeat,
            without_opaque=without,
        )

    def _attempt(self) -> EventStream:
        client = self._context.client
        ask = client.stream if self.info.streamed else client.events
        limits = _timeouts(self._context, self._provider, self._deadline)
        attempt = partial(ask, self.sent, timeouts=limits, on_response=self._on_response)
        return attempt() if self._cached is None else self._cached.through(attempt)

    def _attempt_without_reasoning(self) -> EventStream:
        if self._without_reasoning is not None:
            self.sent = self._without_reasoning(self.sent)
        why = "the upstream cannot read it: it belongs to another account, deployment or model"
        self.removed.append(
            Diagnostic("opaque-data-dropped", "input", action="dropped", message=why)
        )
        log(logging.WARNING, "encrypted_reasoning_dropped", provider=self._provider)
        return self._attempt()

    async def _may_repeat(self, error: LLMError) -> bool:
        """Return whether the budgets allow another try; one that never began has used nothing."""
        return error.partial is None or await refused_try(self, error.partial) is None

    def _on_retry(self, error: LLMError, attempt: int, delay: float) -> None:
        if error.partial is not None:
            self.repeated.append(error.partial)
        self._context.health.failed(self.info.upstream, error)
        self._context.metrics.retries.labels(self._provider).inc()
        log(
            logging.WARNING,
            "upstream_retry",
            provider=self._provider,
            attempt=attempt + 1,
            delay_s=round(delay, 3),
            error=str(error),
            upstream_request_id=error.request_id,
        )


async def refused_try(call: CallRecord, used: LLMResponse) -> FrontError | None:
    """Return why the budgets allow no further try after *call* got *used*; None if they do."""
    try:
        if call.allow is not None:
            await call.allow(call, used)
    except FrontError as error:
        provider = call.info.upstream.provider
        log(logging.WARNING, "further_try_refused", provider=provider, error=error.message)
        return error
    return None


async def embedded(
    context: RunContext,
    target: UpstreamModel,
    limits: CallLimits,
    request: EmbeddingRequest,
    responses: dict[int, EmbeddingResponse],
) -> EmbeddingResponse:
    """Return the vectors of *request* from *target*, in as many requests as it needs.

    *responses* gets the response of each, also if another one fails. Raises LLMError.
    """
    began_at, deadline = context.health.now(), _deadline(context, limits)
    timeouts = _timeouts(context, target.provider, deadline)
    try:
        with anyio.CancelScope(deadline=deadline):
            settings = UnarySettings(
                max_retries=0 if limits.elsewhere else context.settings.retries,
                timeout=timeouts,
                client=context.client,
            )
            response = await embedded_in_batches(request, responses, settings)
            context.health.succeeded(target, began_at)
            return response
        raise timeouts.expired(_TOTAL, target.provider)
    except LLMError as error:
        _failed(context, target, limits, error)
        raise


def _deadline(context: RunContext, limits: CallLimits) -> float:
    return total_deadline(context.settings) if limits.deadline is None else limits.deadline


def _timeouts(context: RunContext, provider: str, deadline: float) -> Timeouts:
    """Return the time limits of the next try; its total is what earlier tries have left."""
    limits = context.timeouts.get(provider, context.client.timeouts)
    if deadline == math.inf:
        return limits
    return evolve(limits, total=max(deadline - anyio.current_time(), _LEAST_S))


def _failed(
    context: RunContext, target: UpstreamModel, limits: CallLimits, error: LLMError
) -> None:
    """Report *error* to the health of *target*, and let it state the whole limit of time.

    The total of the last try was what earlier ones had left.
    """
    total_s = context.settings.limits.total_s
    if isinstance(error, RequestTimeoutError) and error.error_code == _TOTAL and total_s:
        error.message = Timeouts(total=total_s).expired(_TOTAL).message
    # The only target is always asked; its names of models may be made up by clients.
    if limits.elsewhere or not is_of_the_model(error):
        context.health.failed(target, error)
