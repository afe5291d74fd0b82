"""A response that is requested from one target after another until one begins to respond.

Each target has its own run, whose request and response are built and read for that target. The next
target gets the request only while nothing was sent to the client.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, Generic, Self, TypeAlias, TypeVar

import anyio
from attrs import define, evolve, field
from msgspec.structs import replace

from llmcore.bridge.http.logs import log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.model_map import ModelPool, UpstreamModel
from llmcore.bridge.pools.choice import Choice, choose
from llmcore.bridge.pools.health import moves_on, reason_of
from llmcore.bridge.pools.shared_limits import Slot
from llmcore.bridge.pools.upstream_health import UpstreamHealth
from llmcore.bridge.response_run import (
    CallRecord,
    ResponseRun,
    Run,
    RunLabels,
    SentResponse,
    WholeBody,
    WholeRun,
)
from llmcore.bridge.upstream_call import CallLimits, refused_try
from llmcore.fronts.errors import FrontError, overloaded
from llmcore.fronts.front import FailureResponse
from llmcore.generation.retry import RetryPolicy
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import ContentFilterError, ContextLengthError, LLMError
from llmcore.schema.frozen import frozen

_T = TypeVar("_T")
_Run_co = TypeVar("_Run_co", bound=SentResponse, covariant=True)

_LONGEST_WAIT_S: Final = 20.0
"""The longest wait for a target to be free."""
_AGAIN_S: Final = 0.01
"""The shortest wait, if another request took the free target first."""

MakeRun: TypeAlias = Callable[[UpstreamModel, CallLimits], Awaitable[Run]]
"""Makes the response of one target. Raises FrontError for a request that it cannot take."""


@frozen(kw_only=True)
class PoolPlan:
    """The targets of a response, and the limits of trying them."""

    name: str
    pool: ModelPool
    conversation: str
    policy: RetryPolicy
    """Which errors are tried again, and how often."""
    deadline: float = math.inf
    others: tuple[UpstreamModel, ...] = ()
    """The other targets that may be asked."""
    find: Callable[[str], ModelPool | None] = field(default=lambda _name: None)
    """Returns the pool of a model's name."""
    is_patient: bool = False
    """Whether no client waits: a place at a target is then taken once the response is run, and
    waited for however long it takes."""


@define
class _Search:
    """The choice among the targets that may still be tried."""

    plan: PoolPlan
    health: UpstreamHealth
    pool: ModelPool
    asked: set[UpstreamModel] = field(init=False, factory=set)
    """Targets that have failed; the others are asked before them."""
    tries: int = field(init=False, default=1)
    """The tries of targets of the pool."""
    final: set[UpstreamModel] = field(init=False, factory=set)
    """Targets that are not tried again: their errors are permanent."""
    searched: list[ModelPool] = field(init=False, factory=list)
    """Pools that could not take the request."""

    def choice(self) -> Choice | None:
        """Return the target to ask, and how long to wait for it; None if none is left."""
        free_at = self.health.limited_until if self.is_alone else self.health.free_at
        choose_without = partial(
            choose,
            self.pool,
            free_at,
            now=self.health.now(),
            conversation=self.plan.conversation,
        )
        if self.asked:
            other = choose_without(without=self.final | self.asked)
            if other is not None and not other.wait_s:
                return other
        return choose_without(without=self.final)

    @property
    def is_alone(self) -> bool:
        """Whether there is one target, which gets every request whatever its health."""
        return len(self.pool.targets) == 1

    @property
    def limits(self) -> CallLimits:
        """The limits of a call to one of the targets."""
        return CallLimits(elsewhere=not self.is_alone, deadline=self.plan.deadline)

    @property
    def longest_wait_s(self) -> float:
        """How long the client may be kept waiting for a target to be free."""
        return min(_LONGEST_WAIT_S, self.plan.deadline - anyio.current_time())

    def goes_on(self, error: LLMError, target: UpstreamModel) -> bool:
        """Return whether another try may follow *error*, of *target*; rule out unsuitable ones."""
        policy = self.plan.policy
        if isinstance(error, ContextLengthError | ContentFilterError):
            if not self._find_other(error):
                return False
            self.tries = 0
        elif not policy.applies_to(error):
            if not moves_on(error):
                return False
            self.final.add(target)
        return self.tries < max(policy.max_retries + 1, len(self.pool.targets))

    def _find_other(self, error: LLMError) -> bool:
        """Change to the pool for requests that fail with *error*; return whether there is one.

        No pool is searched twice: two of them may name each other, for different errors.
        """
        overflows = isinstance(error, ContextLengthError)
        name = self.pool.on_context_overflow if overflows else self.pool.on_content_filter
        other = None if name is None else self.plan.find(name)
        if other is None or other in self.searched:
            return False
        self.searched.append(self.pool)
        self.pool = other
        return True


@define
class _Attempt(Generic[_Run_co]):
    """A target and its response, which has a place there while it is counted as running."""

    target: UpstreamModel
    run: _Run_co
    wait_s: float
    """How long to wait before the target is free."""
    place: Slot | None = None

    async def enter(self, health: UpstreamHealth) -> bool:
        """Count the response, unless it has to wait; return False if the target is full."""
        if self.wait_s:
            return True
        self.place = await health.enter(self.target)
        return self.place is not None

    async def leave(self, health: UpstreamHealth) -> None:
        """Stop counting the response."""
        if self.place is not None:
            place, self.place = self.place, None
            await health.leave(self.target, place)


class PooledRun(Generic[_Run_co]):
    """The response of the first target that begins one."""

    def __init__(
        self,
        search: _Search,
        metrics: Metrics,
        make: MakeRun[_Run_co],
        attempt: _Attempt[_Run_co],
    ) -> None:
        self._search = search
        self._health = search.health
        self._metrics = metrics
        self._make = make
        self._attempt = attempt
        self.failed_calls: list[CallRecord] = []
        """The calls of targets that failed."""
        self._failed: list[str] = []
        """Each failed target and why it failed, for the header."""
        self._sent = False
        self._moving = False

    @classmethod
    async def begin(
        cls, plan: PoolPlan, health: UpstreamHealth, metrics: Metrics, make: MakeRun[_Run_co]
    ) -> Self:
        """Make the response of the first target, which reads the request; FrontError if invalid.

        It has a place at its target, unless it waits for one when it is run.
        """
        search = _Search(plan, health, plan.pool)
        while True:
            choice = search.choice()
            target = plan.pool.first if choice is None else choice.target
            run = await make(target, search.limits)
            least_s = _AGAIN_S if plan.is_patient else 0.0
            attempt = _Attempt(target, run, max(health.wait_s(target), least_s))
            if await attempt.enter(health):
                return cls(search, metrics, make, attempt)
            await run.aclose()

    @property
    def _current(self) -> _Run_co:
        return self._attempt.run

    # -- the response

    async def next_bytes(self: "PooledRun[ResponseRun]") -> bytes:
        """Return the next bytes of the stream; empty after the last.

        Raises FrontError for a failure of the last target before anything was handed out.
        """
        if self._sent:
            return await self._current.next_bytes()
        data = await self._first(lambda run: run.next_bytes())
        self._sent = True
        return data

    async def whole(self: "PooledRun[WholeRun]") -> WholeBody:
        """Return the response in one piece; FrontError if no target gives one."""
        return await self._first(lambda run: run.whole())

    async def keep_alive(self: "PooledRun[ResponseRun]") -> bytes:
        """Return bytes for a silent stream, after which no other target follows."""
        if self._moving or self._attempt.wait_s:
            return b""
        data = await self._current.keep_alive()
        self._sent = self._sent or bool(data)
        return data

    async def failed_bytes(self: "PooledRun[ResponseRun]", error: LLMError) -> bytes:
        """Return the bytes that end a stream with *error*; none if it has ended."""
        return await self._current.failed_bytes(error)

    async def aclose(self) -> None:
        """Close the call, if it is still running."""
        try:
            await self._current.aclose()
        finally:
            await self._attempt.leave(self._health)

    # -- facts of the current response

    @property
    def info(self) -> RunLabels:
        """The facts of the response, with the targets that failed before it."""
        return replace(
            self._current.info,
            tried=tuple(self._failed),
            pooled=True,
            others=self._search.plan.others,
        )

    @property
    def calls(self) -> Sequence[CallRecord]:
        """The calls of the current target."""
        return self._current.calls

    @property
    def error(self) -> LLMError | None:
        """Why the response failed, if it did."""
        return self._current.error

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything dropped, changed or added so far, in the request and in the response."""
        return self._current.diagnostics

    @property
    def content_type(self: "PooledRun[ResponseRun]") -> str:
        """The content type of the stream."""
        return self._current.content_type

    @property
    def headers(self: "PooledRun[ResponseRun]") -> Mapping[str, str]:
        """Headers of the upstream that clients of a stream can use."""
        return self._current.headers

    def error_response(self, error: FrontError) -> FailureResponse | WholeBody:
        """Return the response of an *error* that comes before anything was sent."""
        return self._current.error_response(error)

    # -- from target to target

    async def _first(self, ask: Callable[[_Run_co], Awaitable[_T]]) -> _T:
        """Return the result of *ask* for the first target that does not fail."""
        while True:
            if self._attempt.wait_s:
                await self._wait()
            try:
                return await ask(self._current)
            except FrontError as error:
                cause = error.__cause__
                if self._sent or not isinstance(cause, LLMError):
                    raise
                if not await self._moves_on(cause):
                    raise

    async def _moves_on(self, error: LLMError) -> bool:
        """Begin the run of another target, if one is left after *error*; return whether it did."""
        target = self._attempt.target
        self._failed.append(f"{target.label} {_status(error)}")
        self._search.asked.add(target)
        if not self._search.goes_on(error, target):
            return False
        self._moving = True
        try:
            if refusal := await _refusal_of(self.calls):
                self._failed.append(f"no other target: {refusal.code}")
                return False
            if not await self._next_target():
                return False
        finally:
            self._moving = False
        self._report_move(target, self._current.info.upstream, error)
        return True

    def _report_move(
        self, failed: UpstreamModel, following: UpstreamModel, error: LLMError
    ) -> None:
        """Count and log the next try: a retry if it is of the same target, else a fallback."""
        if following == failed:
            self._metrics.retries.labels(failed.provider).inc()
        else:
            self._metrics.fallbacks.labels(failed.provider, following.provider).inc()
        log(
            logging.WARNING,
            "upstream_retry" if following == failed else "upstream_fallback",
            model=self._search.plan.name,
            failed=self._failed[-1],
            next=following.label,
            error=str(error),
        )

    async def _next_target(self) -> bool:
        """Begin the run of the next target; return whether there is one.

        A target that cannot take the request is passed over, unless it is the first of its pool,
        and one that lacks the model is not waited for.
        """
        search = self._search
        search.final.update(filter(self._health.refuses_model, search.pool.targets))
        await self._attempt.leave(self._health)
        while True:
            choice = search.choice()
            if choice is None or anyio.current_time() >= search.plan.deadline:
                return False
            target = choice.target
            wait_s = choice.wait_s if search.tries else self._health.wait_s(target)
            if search.tries and wait_s > search.longest_wait_s:
                return False
            try:
                run = await self._made(target)
            except FrontError:
                if not search.tries:
                    raise
                search.final.add(target)
                continue
            attempt = _Attempt(target, run, max(wait_s, 0.0))
            if not await attempt.enter(self._health):
                await run.aclose()
                continue
            failed, self._attempt = self._attempt.run, attempt
            self.failed_calls += failed.calls
            search.tries += 1
            await failed.aclose()
            return True

    async def _made(self, target: UpstreamModel) -> _Run_co:
        run = await self._make(target, self._search.limits)
        for call in run.calls:
            call.allow = self.calls[0].allow
        return run

    async def _wait(self) -> None:
        """Wait until a target is free; FrontError, 503, if that takes too long."""
        search = self._search
        longest_s = search.longest_wait_s
        until = anyio.current_time() + longest_s
        if search.plan.is_patient:
            until = search.plan.deadline
        while wait_s := self._attempt.wait_s:
            if wait_s > longest_s or anyio.current_time() + wait_s > until:
                count, name = len(search.pool.targets), search.plan.name
                message = f"all {count} upstreams of {name!r} are busy or cooling down"
                raise evolve(overloaded(message), retry_after=wait_s)
            await anyio.sleep(wait_s)
            choice = search.choice() or Choice(self._attempt.target)
            attempt = evolve(self._attempt, wait_s=max(choice.wait_s, 0.0))
            if not attempt.wait_s and choice.target != attempt.target:
                run = await self._made(choice.target)
                attempt = _Attempt(choice.target, run, 0.0)
            if not await attempt.enter(self._health):
                attempt = evolve(attempt, wait_s=max(self._health.wait_s(choice.target), _AGAIN_S))
            self._attempt = attempt


async def _refusal_of(calls: Sequence[CallRecord]) -> FrontError | None:
    """Return why the budgets allow no other try, after what those of *calls* that began used."""
    for call in calls:
        if call.response.provider and (refusal := await refused_try(call, call.response)):
            return refusal
    return None


def _status(error: LLMError) -> str:
    """Return the failure in a word for the header."""
    word = error.status_code or error.error_code or reason_of(error) or type(error).__name__
    return str(word)
