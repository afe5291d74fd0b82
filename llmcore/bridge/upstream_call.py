"""One call of an upstream for a run: tried again until it begins, within its time limits.

`UpstreamRun` generates; `embedded` returns vectors. Both report to the upstream's health.
"""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias, cast

import anyio
import msgspec
from attrs import evolve, field

from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.http.logs import log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.pools.health import is_of_the_model
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.bridge.response_run import AllowTry, ResponseRun, RunLabels
from llmcore.client.client import Client
from llmcore.client.event_stream import EventStream
from llmcore.fronts.errors import FrontError
from llmcore.fronts.policy import TranslationPolicy
from llmcore.generation.model_call import ModelCall
from llmcore.generation.retrieval import embedded_in_batches
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.unary import UnarySettings
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.embeddings import EmbeddingRequest, EmbeddingResponse
from llmcore.schema.errors import LLMError, RequestTimeoutError
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent, StreamStart
from llmcore.schema.frozen import frozen
from llmcore.schema.response import LLMResponse

_FIRST_DELAY_S = 0.5
_MAX_DELAY_S = 20.0
_LEAST_S = 0.001
"""The shortest time limit of a try: 0 would mean unlimited."""
_TOTAL: Final = "total"

Attempt: TypeAlias = Callable[[Timeouts], EventStream]
"""Makes the stream of one try, within time limits."""


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


class UpstreamRun:
    """A response that is made of the events of one call. A subclass makes its bytes.

    Nothing is sent before the first batch is requested.
    """

    def __init__(self, context: RunContext, info: RunLabels, limits: CallLimits) -> None:
        self.info = info
        self.dropped: list[str] = []
        self.outcome = "cancelled"
        self.repeated: list[LLMResponse] = []
        """Responses of tries that failed before any content, and were made again, and of calls
        that another one continues."""
        self.upstream_request_id: str | None = None
        """The upstream's id of the request."""
        self.first_event_s: float | None = None
        """Seconds from the request to the first event of the response."""
        self._context = context
        self._target = info.upstream
        self._provider = info.upstream.provider
        self._limits = limits
        self._began_at = context.health.now()
        self._has_begun = False
        self._call_ended = False
        self._deadline = _deadline(context, limits)
        self._sent_at: float | None = None
        self._allow: AllowTry | None = None
        self._elsewhere = limits.elsewhere
        """Whether another target is tried after a failure, instead of this one again."""
        self._call = self._new_call()

    def _attempt(self, timeouts: Timeouts) -> EventStream:
        """Return the stream of one try."""
        raise NotImplementedError

    def _without_reasoning(self) -> Attempt | None:
        """Return what makes a try without reasoning that the upstream cannot read, if there is."""
        return None

    @property
    def _ask(self) -> Callable[..., EventStream]:
        client = self._context.client
        return client.stream if self.info.streamed else client.events

    def _count(self, outcome: str) -> None:
        self.outcome = outcome
        self._context.metrics.responses.labels(self._provider, outcome).inc()

    async def _next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; the last batch ends with a terminal event."""
        if self._sent_at is None:
            self._sent_at = time.monotonic()
        batch = await self._call.next_batch()
        if not self._has_begun and not isinstance(batch[-1], ErrorEvent):
            self._has_begun = True
            self._context.health.succeeded(self._target, self._began_at)
        first, last = batch[0], batch[-1]
        if isinstance(first, StreamStart) and self.first_event_s is None:
            self.first_event_s = time.monotonic() - self._sent_at
            seconds = self._context.metrics.first_event_seconds
            seconds.labels(self._provider).observe(self.first_event_s)
            self.upstream_request_id = first.request_id or self.upstream_request_id
        if isinstance(last, ErrorEvent):
            self.upstream_request_id = last.error.request_id or self.upstream_request_id
            _failed(self._context, self._target, self._limits, last.error)
        self._call_ended = isinstance(last, Finish | ErrorEvent)
        return batch

    @property
    def is_sent(self) -> bool:
        """Whether the upstream was asked."""
        return self._sent_at is not None

    @property
    def response(self) -> LLMResponse:
        """The upstream's response, as far as it has arrived."""
        return self._call.partial

    def limit_tries(self, allow: AllowTry | None) -> None:
        """Ask *allow* before each try after the first; None asks nothing more."""
        self._allow = allow

    async def _may_repeat(self, error: LLMError) -> bool:
        """Return whether the budgets allow another try; one that never began has used nothing."""
        if error.partial is None:
            return True
        return await self._refused(error.partial) is None

    async def _refused(self, used: LLMResponse) -> FrontError | None:
        """Return why no further try is allowed after one that got *used*; None if one is."""
        return await refused_try(self._allow, cast("ResponseRun", self), used)

    async def _try_without(self, name: str, place: str) -> None:
        """Start again without what is named *name*, at *place*, with all retries available."""
        self.dropped.append(place)
        self._context.metrics.dropped.labels(name).inc()
        await self._renew_call()

    async def _renew_call(self) -> None:
        await self._call.aclose()
        self._call = self._new_call()
        self._call_ended = False

    async def aclose(self) -> None:
        """Close the call, if it has not ended."""
        if self._call_ended:  # which closes it
            return
        with anyio.CancelScope(shield=True):
            await self._call.aclose()

    def _new_call(self) -> ModelCall:
        without = self._without_reasoning()
        return ModelCall(
            lambda: self._attempt(self._timeouts()),
            retry_policy(self._context.settings, elsewhere=self._elsewhere),
            live=True,
            deadline=self._deadline,
            on_retry=self._on_retry,
            may_repeat=self._may_repeat,
            without_opaque=None if without is None else lambda: without(self._timeouts()),
        )

    def _timeouts(self) -> Timeouts:
        return _timeouts(self._context, self._provider, self._deadline)

    def _on_retry(self, error: LLMError, attempt: int, delay: float) -> None:
        if error.partial is not None:
            self.repeated.append(error.partial)
        self._context.health.failed(self._target, error)
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


async def refused_try(
    allow: AllowTry | None, call: ResponseRun, used: LLMResponse
) -> FrontError | None:
    """Return why the budgets allow no further try after *call* got *used*; None if they do."""
    try:
        if allow is not None:
            await allow(call, used)
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
