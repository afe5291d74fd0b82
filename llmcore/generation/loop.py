"""The loop of `generate` and `stream`: call the model, run its tools, call it again.

A run is read in batches of events. Between two batches it holds only an open connection, so that
the reader can stop anywhere. Each phase returns its events and sets the next phase:

    begin ─▶ ask ─▶ read ─▶ ... ─▶ read ─┬─▶ end                  no calls, or rounds used up
              ▲                          ├─▶ ask                  paused by the provider's tools
              │                          └─▶ run tools ─▶ tools done ─┬─▶ end
              │                                                       │   pending, stop_when
              └───────────────────────────────────────────────────────┘

`begin` runs the calls that were approved.
A step is one pass from `ask` to `tools done`. With `background`, tools run while their results are
read one by one.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from inspect import isawaitable
from typing import TypeAlias

import anyio
from attrs import evolve

from llmcore.client.event_stream import EventStream, broken_read, second_reader
from llmcore.generation.abort import AbortController
from llmcore.generation.execution import StepSettings, StepTools, unanswered
from llmcore.generation.limits import RunAccount, RunLimitError, RunLimits, RunTime
from llmcore.generation.model_call import ModelCall
from llmcore.generation.next_step import NextStep, checked_step, diagnostics_of
from llmcore.generation.rejected_reasoning import without_opaque_reasoning
from llmcore.generation.results import GenerateResult, StepResult, any_met, total_usage
from llmcore.generation.run_spans import RunSpans
from llmcore.generation.settings import RunPlan
from llmcore.protocols.protocol import MOST_PAUSES, is_paused
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.content import ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import AbortError, InvalidRequestError, LLMError
from llmcore.schema.event_base import with_fields
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent, StepFinish, StepStart, StreamStart
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.tools import ToolChoice

_Phase: TypeAlias = Callable[["Run"], Awaitable[Sequence[LLMEvent]]]
"""A function of the run and not its bound method, with which the run would refer to itself."""

ResponseCheck: TypeAlias = Callable[[LLMResponse], str | None]
"""Returns why a response is not valid, or None."""

StepKeeper: TypeAlias = Callable[["Run", Sequence[Message]], Awaitable[None]]
"""Awaited with the new messages whenever there are some, before the next step."""


class Run:
    """A run of a plan. With `live`, it delivers all events; otherwise only the last."""

    def __init__(
        self,
        plan: RunPlan,
        *,
        live: bool,
        check: ResponseCheck | None = None,
        keep: StepKeeper | None = None,
    ) -> None:
        self.steps: list[StepResult] = []
        """The completed steps."""
        self.error: LLMError | None = None
        """The error of a failed run."""
        self.ended = False
        self._reading = False
        self.background = False
        """Whether tools run in a task of their own while results are read, or else in one phase.

        A run with such a task must be closed."""
        self._plan = plan
        self._live = live
        self._check = check
        self._keep_steps = keep
        self._account = RunAccount(plan.limits or RunLimits())
        self._rounds = 0  # of tools
        self._corrections = 0  # times that the model was asked again
        self._pauses = 0  # of the provider's tools
        self._request = plan.first_request()
        self._policy = plan.policy()
        self._client = plan.ready_client()
        self._spans = RunSpans.of(self._client, self._request)
        self._timeouts = self._client.timeouts_for(self._request, plan.timeout)
        self.messages: tuple[Message, ...] = self._request.messages
        """The conversation so far, without an unfinished step."""
        self._kept = len(self.messages)
        self._controller = AbortController()  # tools get its signal if the caller gave none
        self._time = RunTime(plan.abort_signal, self._timeouts, self._account.limits)
        self._phase: _Phase = Run._begin
        self._step = self._next_step()
        self._sent = self._request
        self._active: ModelCall | StepTools | None = None  # to be closed by aclose()
        self._events = RunEvents()
        self.complete = False
        """Whether the run reached its end, with a response."""

    # -- state

    @property
    def partial(self) -> LLMResponse | None:
        """The current response so far, or the last response; None before the first."""
        if isinstance(self._active, ModelCall):
            return self._active.partial
        return self.steps[-1].response if self.steps else None

    def result(self) -> GenerateResult[None]:
        """Return the result of a run that ended; raise the error of one that failed."""
        if self.error is not None:
            raise self.error
        if not self.complete:
            raise AbortError("the run was closed before its end", partial=self.partial)
        return self._so_far()

    def _so_far(self) -> GenerateResult[None]:
        return GenerateResult(steps=tuple(self.steps), messages=self.messages)

    # -- reading

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; empty after the end.

        Errors are events, only cancellation raises, InvalidRequestError while another task is
        reading (a run has one reader), and AbortError if it was closed before anything was read.
        """
        if self._reading:
            raise second_reader()
        if self.ended:
            if self._phase is Run._begin and self.error is None:
                raise AbortError("the stream was closed before it was read: read it in its block")
            return ()
        self._reading = True
        try:
            return await self._time.within(self._advance)
        except LLMError as error:
            return await self._fail(error)
        except BaseException as error:  # cancelled, or an error of the caller's functions
            self.ended = True
            self.error = broken_read("run", error, self.partial)
            raise
        finally:
            self._reading = False
            if self.ended:
                self._spans.end(self.steps, self.error)

    async def aclose(self) -> None:
        """Close the connection and cancel running tools. Idempotent."""
        self.ended = True
        if self._active is not None:
            with anyio.CancelScope(shield=True):
                await self._active.aclose()
        self._spans.end(self.steps, self.error)

    async def _advance(self) -> Sequence[LLMEvent]:
        while not self.ended:
            with self._spans.current():
                batch = await self._phase(self)
            await self._keep_new_messages()
            if batch:
                return batch
        return ()

    async def _keep_new_messages(self) -> None:
        new = self.messages[self._kept :]
        if self._keep_steps is not None and new:
            self._kept = len(self.messages)
            await self._keep_steps(self, new)

    async def _fail(self, error: LLMError) -> Sequence[LLMEvent]:
        if error.partial is None:
            error.partial = self.partial
        self.error = error
        await self.aclose()
        if isinstance(error, RunLimitError):
            self._keep_finished_tools()
            error.result = self._so_far() if self.steps else None
            await self._keep_new_messages()
        return (ErrorEvent(error),)

    # -- phases

    async def _begin(self) -> Sequence[LLMEvent]:
        """Run the approved calls among those that the messages end with."""
        self._phase = Run._ask
        approvals = self._plan.approvals
        if approvals is None:
            return ()
        calls = unanswered(self.messages)
        unknown = set(approvals) - {call.id for call in calls}
        if unknown:
            raise InvalidRequestError(
                f"approvals decides about {', '.join(sorted(map(str, unknown)))}, "
                "which are not pending calls of the last assistant message"
            )
        _reject_pending(call for call in calls if call.id not in approvals)
        self._active = tools = StepTools(calls, evolve(self._step_settings(), approvals=approvals))
        await tools.run()
        tools.raise_error()
        self._active = None
        self._events.early = await tools.next_events()
        if tools.results:
            self.messages += (Message("tool", tools.results),)
        _reject_pending(tools.pending)
        return ()

    async def _ask(self) -> Sequence[LLMEvent]:
        """Start a step by calling the model."""
        self._account.check_request()
        step = self._next_step()
        if self._plan.prepare_step is not None:
            returned = self._plan.prepare_step(step)
            step = checked_step(await returned if isawaitable(returned) else returned, step)
        self._step = step
        request = evolve(self._request, **step.changes())
        self._sent = request
        self._spans.start_step(step.number)
        limits = evolve(self._timeouts, total=None)
        self._active = call = ModelCall(
            lambda: self._attempt(request, limits),
            self._account.policy(self._policy),
            live=self._live,
            deadline=self._time.deadline,
            without_opaque=lambda: self._attempt(without_opaque_reasoning(request), limits),
        )
        self._phase = partial(Run._read, call=call)
        return ()

    async def _read(self, call: ModelCall) -> Sequence[LLMEvent]:
        """Return the next events of the response. After its end, run the tools or end the run."""
        batch = await call.next_batch()
        last = batch[-1]
        if isinstance(last, ErrorEvent):
            self.error = last.error
            self.ended = True
            return self._events.renumbered(batch, len(self.steps))
        if isinstance(last, Finish):
            events = self._events.renumbered(batch[:-1], len(self.steps))
            return [*events, *await self._end_step(call, last)]
        return self._events.renumbered(batch, len(self.steps))

    async def _end_step(self, call: ModelCall, finish: Finish) -> Sequence[LLMEvent]:
        """Store a complete response. Return the terminal event if there are no tools to run."""
        response = (await call.result()).unwrap()
        self._active = None
        self._events.diagnostics.extend(finish.diagnostics)
        calls = response.tool_calls
        step = StepResult(response=response, pending_calls=calls, requests=call.requests)
        for note in diagnostics_of(self._plan.tools):
            if note not in self._events.diagnostics:
                step = self._events.noted(step, note)
        self._account.add(step, self._sent)
        if is_paused(response) and await self._may_continue(step):
            self._pauses += 1
            self._keep(step)
            self._phase = Run._ask
            return ()
        if not calls or response.finish_reason.reason != "tool_calls":
            return self._end_without_tools(step, finish)
        return self._start_tools(step, finish)

    async def _may_continue(self, step: StepResult) -> bool:
        """Return whether the turn that *step* paused is continued: its message is sent back."""
        if self._pauses >= MOST_PAUSES:
            return False
        return not await any_met(self._plan.stop_when, [*self.steps, step])

    def _end_without_tools(self, step: StepResult, finish: Finish) -> Sequence[LLMEvent]:
        """End the run with *step*, or ask for another response where it is invalid."""
        problem = self._check and self._check(step.response)
        if problem and self._may_correct:
            self._ask_again(step, problem)
            return ()
        self._keep(step)
        return self._end(finish)

    @property
    def _may_correct(self) -> bool:
        return self._corrections < self._plan.validation_retries

    def _ask_again(self, step: StepResult, problem: str) -> None:
        """Store a response that failed validation, and ask for another."""
        self._corrections += 1
        step = self._events.noted(step, _correction(f"the response is invalid: {problem}"))
        self._keep(evolve(step, correction=Message.user(_CORRECTION.format(problem))))
        self._phase = Run._ask

    def _start_tools(self, step: StepResult, finish: Finish) -> Sequence[LLMEvent]:
        """Let the tools that *step* calls run next, or end the run if the rounds are used up."""
        calls = step.pending_calls
        settings = self._step_settings(step.response.message)
        rounds = self._plan.max_tool_rounds
        if self._rounds >= rounds:
            if rounds and not all(map(settings.is_for_caller, calls)):
                step = self._events.noted(step, _rounds_used_up(rounds, self._sent.tool_choice))
            self._keep(step)
            return self._end(finish)
        self.steps.append(step)  # without results yet
        tools = StepTools(calls, settings)
        self._active = tools
        self._account.take_calls(sum(not settings.is_for_caller(call) for call in calls))
        phase = Run._watch_tools if self.background else Run._run_tools
        self._phase = partial(phase, tools=tools, finish=finish)
        if self.background:
            tools.start()
        return ()

    async def _run_tools(self, tools: StepTools, finish: Finish) -> Sequence[LLMEvent]:
        """Run the tools of a step to their end, and return their events."""
        await tools.run()
        self._phase = partial(Run._tools_done, tools=tools, finish=finish)
        return await tools.next_events()

    async def _watch_tools(self, tools: StepTools, finish: Finish) -> Sequence[LLMEvent]:
        """Return the events of a step's tools as each finishes."""
        events = await tools.next_events()
        if not events:
            self._phase = partial(Run._tools_done, tools=tools, finish=finish)
        return events

    async def _tools_done(self, tools: StepTools, finish: Finish) -> Sequence[LLMEvent]:
        """Store the results. Return the terminal event, or call the model again."""
        tools.raise_error()
        self._keep_finished_tools()
        if tools.invalid and self._may_correct:
            self._corrections += 1
            self.steps[-1] = self._events.noted(
                self.steps[-1], _correction("a tool call was invalid")
            )
        else:
            self._rounds += 1
        if tools.pending or await any_met(self._plan.stop_when, self.steps):
            return self._end(finish)
        self._phase = Run._ask
        return ()

    def _keep_finished_tools(self) -> None:
        """Store the step whose tools are running, with the results so far."""
        tools, self._active = self._active, None
        if self.steps and isinstance(tools, StepTools):
            step = evolve(
                self.steps.pop(),
                tool_results=tools.results,
                pending_calls=tools.pending,
                approval_tokens=tools.tokens,
            )
            self._keep(step)

    def _keep(self, step: StepResult) -> None:
        self._spans.end_step()
        self.steps.append(step)
        self.messages += step.messages

    def _end(self, finish: Finish) -> Sequence[LLMEvent]:
        """End the run and return its `Finish`."""
        self.ended = self.complete = True
        usage = total_usage(self.steps) if len(self.steps) > 1 else finish.usage
        response, diagnostics = self.steps[-1].response, tuple(self._events.diagnostics)
        return (with_fields(finish, usage=usage, diagnostics=diagnostics, response=response),)

    # -- values

    def _next_step(self) -> NextStep:
        request = evolve(self._request, messages=self.messages)
        return NextStep.of(request, self.steps, self._plan.offered_tools())

    def _attempt(self, request: LLMRequest, limits: Timeouts) -> EventStream:
        return self._client.stream(request, timeouts=limits, raw=self._plan.raw)

    def _step_settings(self, *response: Message) -> StepSettings:
        return StepSettings(
            spans=self._spans,
            tools=self._step.tools,
            messages=(*self.messages, *response),
            signal=self._plan.abort_signal or self._controller.signal,
            context=self._plan.tool_context,
            timeout=self._timeouts.tool,
            repair=self._plan.repair_tool_call,
            errors=self._plan.tool_errors,
            secret=self._plan.approval_secret,
        )


_CORRECTION = "The answer is not valid: {}. Answer again, with a valid answer alone."


def _correction(message: str) -> Diagnostic:
    return Diagnostic("asked-again", "output", action="noted", message=message)


def _rounds_used_up(rounds: int, choice: ToolChoice | None) -> Diagnostic:
    """Return the report of calls that are not run because *rounds* are used up."""
    message = (
        f"the model called tools again after the last round (max_tool_rounds={rounds}); "
        "the calls were not run and are in pending_calls"
    )
    if choice is not None and choice.mode in ("required", "named"):
        message += "; tool_choice requires calls in every step unless prepare_step changes it"
    return Diagnostic("tool-rounds-used-up", "tool_calls", action="noted", message=message)


def _reject_pending(calls: Iterable[ToolCallPart]) -> None:
    names = ", ".join(f"{call.name} ({call.id})" for call in calls)
    if names:
        raise InvalidRequestError(
            f"calls are still pending: {names}; add them to approvals, or their results to messages"
        )


# -- the events of a run


_FRAME = {StreamStart, StepStart, StepFinish}


class RunEvents:
    """Renumbers the events of steps, and collects what the run reports.

    The `StreamStart` of a later step becomes the field `start` of its `StepStart`.
    """

    def __init__(self) -> None:
        self.early: Sequence[LLMEvent] = ()
        """Events of approved calls, emitted after the `StreamStart`."""
        self.diagnostics: list[Diagnostic] = []
        """The diagnostics of the run, for its `Finish`."""
        self._started = False
        self._start: StreamStart | None = None  # of a later step

    def noted(self, step: StepResult, note: Diagnostic) -> StepResult:
        """Return *step* with *note*, which becomes one of the run's, too."""
        self.diagnostics.append(note)
        response = step.response
        return evolve(step, response=evolve(response, diagnostics=(*response.diagnostics, note)))

    def renumbered(self, events: Iterable[LLMEvent], number: int) -> list[LLMEvent]:
        """Return the *events* of the step *number* as events of the run."""
        changed_events: list[LLMEvent] = []
        for event in events:
            if type(event) not in _FRAME:  # nearly all events: checked first
                changed_events.append(event)
            elif isinstance(event, StepStart) and event.continues:
                start = event.start
                if start is not None:
                    self.diagnostics.extend(start.diagnostics)
                    start = evolve(start, diagnostics=())
                changed_events.append(with_fields(event, step=number, start=start))
            elif isinstance(event, StepStart):
                changed_events.append(with_fields(event, step=number, start=self._start))
            elif isinstance(event, StepFinish):
                changed_events.append(with_fields(event, step=number))
            elif isinstance(event, StreamStart) and self._started:
                self.diagnostics.extend(event.diagnostics)
                self._start = evolve(event, diagnostics=())
            else:
                self._started = True
                changed_events += [event, *self.early]
        return changed_events
