"""The loop that `generate` and `stream` share: ask the model, run its tools, ask again.

A run is a source of events, read a batch at a time; between two batches it holds nothing
but an open connection, so that whoever reads it may stop anywhere. Its phases:

    begin -> ask -> read ... read -> (run tools) -> ask -> ... -> end
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup
from attrs import evolve

from llmcore.client.event_stream import EventStream
from llmcore.generation.abort import AbortController, cancelling
from llmcore.generation.conditions import any_holds
from llmcore.generation.execution import StepTools, ToolSetting, unanswered
from llmcore.generation.model_call import ModelCall
from llmcore.generation.rejected_reasoning import without_proofs
from llmcore.generation.results import GenerateResult, StepResult, total_usage
from llmcore.generation.settings import NextStep, Plan, definitions_of
from llmcore.routes.timeouts import Timeouts
from llmcore.schema.content import ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import AbortError, InvalidRequestError, LLMError, RequestTimeoutError
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    LLMEvent,
    StepFinish,
    StepStart,
    StreamStart,
)
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success

_Phase: TypeAlias = Callable[[], Awaitable[Sequence[LLMEvent]]]


class Run:
    """A run of a plan. With `live`, its events are the whole story; without, only its end is."""

    def __init__(self, plan: Plan, *, live: bool) -> None:
        self.steps: list[StepResult] = []
        """The steps that are done."""
        self.error: LLMError | None = None
        """Why it failed, once it did."""
        self.ended = False
        self.background: TaskGroup | None = None
        """Where tools run while their results are read one by one; None runs them in one go."""
        self._plan = plan
        self._live = live
        self._request = plan.request()
        self._policy = plan.policy()
        self._client = plan.ready_client()
        self._timeouts = plan.timeouts(self._client)
        self._messages: tuple[Message, ...] = self._request.messages
        self._controller = AbortController()  # tools get its signal if the caller gave none
        self._deadline = math.inf
        self._phase: _Phase = self._begin
        self._step = self._next_step()
        self._call: ModelCall | None = None
        self._tools: StepTools | None = None
        self._early: list[LLMEvent] = []  # what happened before StreamStart, to be told after it
        self._started = False
        self._answer: StreamStart | None = None  # of a later step, until its StepStart tells it
        self._finish: Finish | None = None
        self._complete = False
        self._diagnostics: list[Diagnostic] = []

    # -- what there is to see

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, without a step that is not done."""
        return self._messages

    @property
    def partial(self) -> LLMResponse | None:
        """What has arrived of the current answer, or else the last one; None before any."""
        if self._call is not None:
            return self._call.partial
        return self.steps[-1].response if self.steps else None

    def result(self) -> GenerateResult:
        """Return the result of a run that ended; raise the error of one that failed."""
        if self.error is not None:
            raise self.error
        if not self._complete:
            raise AbortError("the run was closed before its end", partial=self.partial)
        return GenerateResult(steps=tuple(self.steps), messages=self._messages)

    # -- reading

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events; empty once it has ended. Only cancellation is raised."""
        if self.ended:
            return ()
        try:
            return await self._within_limits()
        except LLMError as error:
            return await self._fail(error)
        except BaseException:  # cancelled, or a fault in the caller's functions: no way on
            self.ended = True
            raise

    async def aclose(self) -> None:
        """Close the connection and end the tools that run. Idempotent."""
        self.ended = True
        if self._tools is not None:
            await self._tools.stop()
        if self._call is not None:
            with anyio.CancelScope(shield=True):
                await self._call.aclose()

    async def _within_limits(self) -> Sequence[LLMEvent]:
        signal, total = self._plan.abort_signal, self._timeouts.total
        if signal is None and total is None:
            return await self._advance()
        if signal is not None:
            signal.throw_if_aborted()
        if total is not None and math.isinf(self._deadline):
            self._deadline = anyio.current_time() + total
        with anyio.CancelScope(deadline=self._deadline) as scope, cancelling(scope, signal):
            return await self._advance()
        if signal is not None:
            signal.throw_if_aborted()
        message = f"the time limit 'total' of {total:g} seconds ran out"
        raise RequestTimeoutError(message, error_code="total")

    async def _advance(self) -> Sequence[LLMEvent]:
        while not self.ended:
            batch = await self._phase()
            if batch:
                return batch
        return ()

    async def _fail(self, error: LLMError) -> Sequence[LLMEvent]:
        if error.partial is None:
            error.partial = self.partial
        self.error = error
        await self.aclose()
        return (ErrorEvent(error),)

    # -- phases

    async def _begin(self) -> Sequence[LLMEvent]:
        """Run what `approvals` decides of the calls that the messages end with."""
        self._phase = self._ask
        if self._plan.approvals is None:
            return ()
        calls = unanswered(self._messages)
        unknown = set(self._plan.approvals) - {call.id for call in calls}
        if unknown:
            raise InvalidRequestError(
                f"approvals decides about {', '.join(sorted(unknown))}, "
                "which is no pending call of the last assistant message"
            )
        _all_decided(call for call in calls if call.id not in self._plan.approvals)
        tools = StepTools(calls, evolve(self._setting(), approvals=self._plan.approvals))
        await tools.run()
        self._check(tools)
        self._early = list(await tools.next_events())
        if tools.results:
            self._messages += (Message("tool", tools.results),)
        _all_decided(tools.pending)
        return ()

    async def _ask(self) -> Sequence[LLMEvent]:
        """Begin a step."""
        step = self._next_step()
        if self._plan.prepare_step is not None:
            changed = self._plan.prepare_step(step)
            step = _prepared(await changed if isawaitable(changed) else changed, step)
        self._step = step
        request = self._request_of(step)
        limits = evolve(self._timeouts, total=None)
        self._call = ModelCall(
            lambda: self._attempt(request, limits),
            self._policy,
            live=self._live,
            deadline=self._deadline,
            without_proofs=lambda: self._attempt(without_proofs(request), limits),
        )
        self._phase = self._read
        return ()

    async def _read(self) -> Sequence[LLMEvent]:
        """Pass on what the model says."""
        assert self._call is not None  # noqa: S101  (set by _ask)
        batch = await self._call.next_batch()
        last = batch[-1]
        if isinstance(last, ErrorEvent):
            self.error = last.error
            self.ended = True
            return self._told(batch)
        if isinstance(last, Finish):
            told = self._told(batch[:-1])
            return [*told, *await self._step_done(last)]
        return self._told(batch)

    async def _run_tools(self) -> Sequence[LLMEvent]:
        """Run the tools of a step to the end."""
        assert self._tools is not None  # noqa: S101  (set by _step_done)
        await self._tools.run()
        self._phase = self._tools_done
        return await self._tools.next_events()

    async def _watch_tools(self) -> Sequence[LLMEvent]:
        """Pass on the results of a step's tools as they come."""
        assert self._tools is not None  # noqa: S101  (set by _step_done)
        events = await self._tools.next_events()
        if not events:
            self._phase = self._tools_done
        return events

    async def _tools_done(self) -> Sequence[LLMEvent]:
        """Decide how to go on after a step's tools."""
        tools, self._tools = self._tools, None
        assert tools is not None  # noqa: S101  (set by _step_done)
        self._check(tools)
        self._keep(
            evolve(self.steps.pop(), tool_results=tools.results, pending_calls=tools.pending)
        )
        if tools.pending or await any_holds(self._plan.stop_when, self.steps):
            return self._end()
        self._phase = self._ask
        return ()

    # -- steps

    async def _step_done(self, finish: Finish) -> Sequence[LLMEvent]:
        """Take in a whole answer, and return the terminal event if it is the last."""
        assert self._call is not None  # noqa: S101  (it was read)
        outcome = await self._call.result()
        if not isinstance(outcome, Success):
            raise outcome.failure()
        requests, self._call = self._call.requests, None
        self._finish = finish
        self._diagnostics.extend(finish.diagnostics)
        response = outcome.unwrap()
        calls = response.tool_calls
        step = StepResult(response=response, pending_calls=calls, requests=requests)
        runs_tools = (
            calls
            and response.finish_reason.reason == "tool_calls"
            and len(self.steps) < self._plan.max_tool_rounds
        )
        if not runs_tools:
            self._keep(step)
            return self._end()
        self.steps.append(step)
        self._start_tools(calls, response)
        return ()

    def _start_tools(self, calls: Sequence[ToolCallPart], response: LLMResponse) -> None:
        self._tools = StepTools(calls, self._setting(response.message))
        if self.background is None:
            self._phase = self._run_tools
        else:
            self._phase = self._watch_tools
            self.background.start_soon(self._tools.run)

    def _keep(self, step: StepResult) -> None:
        self.steps.append(step)
        self._messages += step.messages

    def _end(self) -> Sequence[LLMEvent]:
        """Return the one `Finish` of the run."""
        self.ended = self._complete = True
        assert self._finish is not None  # noqa: S101  (a step is done)
        if len(self.steps) > 1:
            self._finish = evolve(
                self._finish,
                usage=total_usage(self.steps),
                diagnostics=tuple(self._diagnostics),
            )
        return (self._finish,)

    def _check(self, tools: StepTools) -> None:
        if tools.error is not None:
            raise tools.error

    # -- values

    def _next_step(self) -> NextStep:
        return NextStep(
            number=len(self.steps),
            steps=tuple(self.steps),
            model=self._plan.model,
            messages=self._messages,
            tools=self._plan.tools,
            tool_choice=self._plan.tool_choice,
        )

    def _request_of(self, step: NextStep) -> LLMRequest:
        return evolve(
            self._request,
            model=step.model,
            messages=step.messages,
            tools=definitions_of(step.tools),
            tool_choice=step.tool_choice,
        )

    def _attempt(self, request: LLMRequest, limits: Timeouts) -> EventStream:
        return self._client.stream(request, timeouts=limits)

    def _setting(self, *answer: Message) -> ToolSetting:
        return ToolSetting(
            tools=self._step.tools,
            messages=(*self._messages, *answer),
            signal=self._plan.abort_signal or self._controller.signal,
            context=self._plan.tool_context,
            timeout=self._timeouts.tool,
            repair=self._plan.repair_tool_call,
            errors=self._plan.tool_errors,
        )

    def _told(self, events: Iterable[LLMEvent]) -> list[LLMEvent]:
        """Return a step's *events* as they stand in the run: numbered, and begun once.

        What the `StreamStart` of a later step says, its `StepStart` does.
        """
        number = len(self.steps)
        told: list[LLMEvent] = []
        for event in events:
            if type(event) not in _FRAME:  # nearly all of them: asked first, and quickly
                told.append(event)
            elif isinstance(event, StepStart):
                told.append(StepStart(number, answer=self._answer))
            elif isinstance(event, StepFinish):
                told.append(evolve(event, step=number))
            elif isinstance(event, StreamStart) and self._started:
                self._diagnostics.extend(event.diagnostics)
                self._answer = evolve(event, diagnostics=())
            else:
                self._started = True
                told += [event, *self._early]
        return told


_FRAME = {StreamStart, StepStart, StepFinish}


def _prepared(changed: NextStep | None, step: NextStep) -> NextStep:
    if changed is None:
        return step
    if not isinstance(changed, NextStep):
        message = f"prepare_step returns a NextStep or None, not a {type(changed).__name__}"
        raise InvalidRequestError(f"{message}: change it by evolve(step, ...)")
    return changed


def _all_decided(calls: Iterable[ToolCallPart]) -> None:
    names = ", ".join(f"{call.name} ({call.id})" for call in calls)
    if names:
        raise InvalidRequestError(f"calls are still pending: {names}; approve or answer them")
