"""Runs the tool calls of one step concurrently; results are in the order of the calls."""

from collections.abc import Sequence
from inspect import isawaitable
from typing import Literal, TypeAlias, Union

import anyio
import anyio.to_thread
import sniffio
from attrs import evolve, field

from llmcore.client.loop_task import LoopTask
from llmcore.generation.abort import AbortController, AbortSignal
from llmcore.generation.approvals import Approvals, ToolChangedError, approval_token, check_approval
from llmcore.generation.arguments import (
    RepairToolCall,
    checked_arguments,
    checked_repair,
    keywords_for,
    repaired,
)
from llmcore.generation.handler import Handler
from llmcore.generation.plain_values import to_plain
from llmcore.generation.run_spans import RunSpans
from llmcore.generation.tool import NeedsApproval, Tool, ToolDeferred, ToolFailure
from llmcore.schema import json
from llmcore.schema.content import ToolCallPart, ToolOutputPart, ToolResultPart, tool_output
from llmcore.schema.errors import InvalidRequestError, InvalidToolCallError, LLMError
from llmcore.schema.events import LLMEvent, ToolError, ToolResult
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.tools import HostedTool, ToolSpec

AnyTool: TypeAlias = Union[Tool, ToolSpec]
"""A tool of a run: with a function, as a definition only, or hosted."""

ToolErrors: TypeAlias = Literal["send", "raise"]
"""Whether a tool's exception is sent to the model as its result, or raised."""

_RUN_BY_CALLERS = {"computer_use", "shell", "text_editor", "memory", "raw"}
"""Hosted tools that the caller runs; their calls have names that the provider defines."""


@frozen(kw_only=True)
class StepSettings:
    """The settings shared by all calls of a step."""

    tools: tuple[AnyTool, ...] = ()
    messages: tuple[Message, ...] = ()
    """The conversation, up to the calls."""
    spans: RunSpans = field(factory=RunSpans, repr=False)
    signal: AbortSignal = field(factory=lambda: AbortController().signal)
    context: object = None
    timeout: float | None = None
    repair: RepairToolCall | None = None
    errors: ToolErrors = "send"
    approvals: Approvals = field(factory=dict)
    """By call id, whether a call that needed approval was approved."""
    secret: bytes | None = field(default=None, repr=False)
    """The key of approval tokens; None for approvals that are not signed."""

    def find(self, name: str) -> AnyTool | None:
        """Return the tool called *name*."""
        return next((tool for tool in self.tools if getattr(tool, "name", None) == name), None)

    def is_for_caller(self, call: ToolCallPart) -> bool:
        """Return whether the caller must run *call*."""
        tool = self.find(call.name)
        if isinstance(tool, Tool):
            return tool.handler is None
        return tool is not None or self._callers_run_some

    @property
    def _callers_run_some(self) -> bool:
        """Whether a call of an unknown name may be of a hosted tool that the caller runs."""
        return any(isinstance(t, HostedTool) and t.kind in _RUN_BY_CALLERS for t in self.tools)


@frozen
class ToolOutcome:
    """The outcome of a call: its result (None if pending) and an error message, if any."""

    call: ToolCallPart
    result: ToolResultPart | None = None
    problem: str | None = None
    token: str | None = None
    """The token that approves a pending call."""
    invalid: bool = False
    """Whether the call was invalid, so that nothing was run."""

    @property
    def events(self) -> Sequence[LLMEvent]:
        """The events of the outcome."""
        result, call = self.result, self.call
        if result is None:
            return ()
        event = ToolResult(
            result.tool_call_id,
            result.content,
            name=result.name,
            is_error=result.is_error,
            kind=result.kind,
        )
        if self.problem is None:
            return (event,)
        return ToolError(tool_call_id=call.id, name=call.name, message=self.problem), event


class StepTools:
    """Runs the calls of one step and collects their outcomes."""

    def __init__(self, calls: Sequence[ToolCallPart], settings: StepSettings) -> None:
        self.error: BaseException | None = None
        self._calls = calls
        self._settings = settings
        self._outcomes: list[ToolOutcome | None] = [None] * len(calls)
        self._finished: list[LLMEvent] = []
        self._progress = anyio.Event()
        self._started = False
        self._done = anyio.Event()
        self._scope = anyio.CancelScope()
        self._task: LoopTask | None = None

    @property
    def results(self) -> tuple[ToolResultPart, ...]:
        """The results so far, in the order of the calls."""
        results = (outcome.result for outcome in self._outcomes if outcome is not None)
        return tuple(result for result in results if result is not None)

    @property
    def pending(self) -> tuple[ToolCallPart, ...]:
        """The calls without a result, in order."""
        pairs = zip(self._calls, self._outcomes, strict=True)
        return tuple(call for call, outcome in pairs if outcome is None or outcome.result is None)

    @property
    def tokens(self) -> dict[str, str]:
        """The tokens of the calls that wait for approval, by call id."""
        outcomes = (outcome for outcome in self._outcomes if outcome is not None)
        return {item.call.id: item.token for item in outcomes if item.token is not None}

    @property
    def invalid(self) -> bool:
        """Whether a call was invalid."""
        return any(outcome.invalid for outcome in self._outcomes if outcome is not None)

    def raise_error(self) -> None:
        """Raise the error that ends the run, if there is one."""
        if self.error is not None:
            raise self.error

    def start(self) -> None:
        """Run all calls in a task of their own, which `aclose` ends.

        A task group around the caller's block would be left in another task where an async
        generator that holds it is dropped, and would then cancel the task that entered it.
        """
        self._task = LoopTask(self.run)

    async def run(self) -> None:
        """Run all calls; returns when all are done."""
        self._started = True
        threads = anyio.CapacityLimiter(max(1, len(self._calls)))
        try:
            with self._scope:
                async with anyio.create_task_group() as group:
                    for index in range(len(self._calls)):
                        group.start_soon(self._settle, index, threads)
        finally:
            self._task = None  # or each would keep the other
            self._done.set()
            self._progress.set()

    async def next_events(self) -> Sequence[LLMEvent]:
        """Return the events of calls finished since the last time.

        Waits until there are some; empty when all are done.
        """
        while not self._finished and not self._done.is_set():
            await self._progress.wait()
            self._progress = anyio.Event()
        events, self._finished = self._finished, []
        return events

    async def aclose(self) -> None:
        """Cancel running tools, and wait until they have ended."""
        self._scope.cancel()
        if self._task is not None:
            await self._task.stop()
        elif self._started:
            with anyio.CancelScope(shield=True):
                await self._done.wait()

    async def _settle(self, index: int, threads: anyio.CapacityLimiter) -> None:
        try:
            outcome = await _Run(self._settings, threads).outcome(self._calls[index])
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001  (also of the caller's functions, SystemExit)
            is_usual = isinstance(error, Exception)
            fatal = _fatal(self._calls[index].name, error) if is_usual else error
            self.error = self.error or fatal
            self._scope.cancel()
            return
        self._outcomes[index] = outcome
        self._finished.extend(outcome.events)
        self._progress.set()


@frozen
class _ValidCall:
    """A call that can be run: after one repair, if its arguments were invalid."""

    tool: Tool
    handler: Handler
    call: ToolCallPart
    arguments: JsonObject
    keywords: dict[str, object]


@frozen
class _Run:
    """Runs one call. Its methods raise an LLMError that ends the whole step."""

    settings: StepSettings
    threads: anyio.CapacityLimiter

    async def outcome(self, call: ToolCallPart) -> ToolOutcome:
        """Check and run *call*, and return its outcome."""
        settings = self.settings
        decision = settings.approvals.get(call.id)
        if decision is False:
            return _failed(call, "the user did not approve this call")
        if settings.is_for_caller(call):
            return ToolOutcome(call)
        try:
            valid = await self._checked(call)
        except InvalidToolCallError as error:
            return evolve(_failed(call, error.message), invalid=True)
        tool, arguments = valid.tool, valid.arguments
        if decision is not None:
            check_approval(decision, settings.secret, tool, call, arguments)
        elif await _needs_approval(tool.needs_approval, arguments):
            signed = settings.secret and approval_token(settings.secret, tool, call, arguments)
            return ToolOutcome(call, token=signed or None)
        with settings.spans.tool(tool, valid.call) as set_outcome:
            outcome = await self._executed(valid, call)
            set_outcome(outcome.result, outcome.problem)
        return outcome

    async def _checked(self, call: ToolCallPart) -> _ValidCall:
        """Return *call* with its tool and arguments, after one repair if they are invalid."""
        try:
            return self._valid(call)
        except InvalidToolCallError as error:
            problem = error
        try:
            returned = await repaired(self.settings.repair, call, problem)
        except InvalidToolCallError:
            raise problem from None
        except Exception as error:
            if self.settings.errors == "raise":
                raise _fatal(call.name, error) from error
            raise problem from error
        return self._valid(checked_repair(returned, call))

    def _valid(self, call: ToolCallPart) -> _ValidCall:
        tool = self.settings.find(call.name)
        if not isinstance(tool, Tool) or tool.handler is None:
            own = {tool.name for tool in self.settings.tools if not isinstance(tool, HostedTool)}
            names = ", ".join(sorted(own)) or "none"
            message = f"there is no tool {call.name!r} (available: {names})"
            raise InvalidToolCallError(message, raw=call.arguments)
        arguments = checked_arguments(tool, call)
        keywords = keywords_for(tool, call, arguments)
        return _ValidCall(tool, tool.handler, call, arguments, keywords)

    async def _executed(self, valid: _ValidCall, call: ToolCallPart) -> ToolOutcome:
        tool = valid.tool
        limit = tool.timeout or self.settings.timeout
        try:
            with anyio.move_on_after(limit):  # after it, the time is over: the block returns
                value = await self._called(valid.handler, call, valid.keywords)
                return _succeeded(tool, call, value)
        except ToolFailure as failure:
            return _failed(call, _message_of(failure), failure.content)
        except ToolDeferred:
            return ToolOutcome(call)
        except ToolChangedError:
            raise
        except Exception as error:  # noqa: BLE001  (sent to the model, or raised)
            return self._raised(call, error)
        except anyio.get_cancelled_exc_class() as error:
            if _is_cancelled_here():
                raise
            return self._raised(call, error)
        return _failed(call, f"the tool took longer than {limit:g} seconds")

    def _raised(self, call: ToolCallPart, error: BaseException) -> ToolOutcome:
        self.settings.signal.throw_if_aborted()
        if self.settings.errors == "raise":
            raise _fatal(call.name, error) from error
        return _failed(call, f"{type(error).__name__}: {_message_of(error)}")

    async def _called(
        self, handler: Handler, call: ToolCallPart, keywords: dict[str, object]
    ) -> object:
        controller = AbortController()  # aborted with this call, or with the run
        signal = self.settings.signal
        forget = signal.add_listener(lambda: controller.abort(signal.reason))
        given = {**keywords, **self._injected(handler, call, controller.signal)}
        try:
            return await self._awaited(handler, given)
        except anyio.get_cancelled_exc_class():
            controller.abort("the tool was cancelled")
            raise
        finally:
            forget()

    async def _awaited(self, handler: Handler, given: dict[str, object]) -> object:
        if handler.is_async:
            value = handler.function(**given)
        else:  # in a tuple, since trio refuses a coroutine from a thread
            (value,) = await anyio.to_thread.run_sync(
                lambda: (handler.function(**given),), abandon_on_cancel=True, limiter=self.threads
            )
        return await value if isawaitable(value) else value

    def _injected(
        self, handler: Handler, call: ToolCallPart, signal: AbortSignal
    ) -> dict[str, object]:
        values = {
            "messages": self.settings.messages,
            "abort_signal": signal,
            "tool_call_id": call.id,
            "context": self.settings.context,
        }
        return {name: values[name] for name in handler.injected}


async def _needs_approval(needs: NeedsApproval, arguments: JsonObject) -> bool:
    verdict = needs(arguments) if callable(needs) else needs
    return await verdict if isawaitable(verdict) else verdict


def _succeeded(tool: Tool, call: ToolCallPart, value: object) -> ToolOutcome:
    """Return *value* as a result; ValueError or TypeError if it is not valid for the tool."""
    try:
        content = tool_output(value)
    except InvalidRequestError:
        content = tool_output(to_plain(value))
    output = tool.handler.output if tool.handler is not None else None
    if not isinstance(content, tuple):  # parts, such as images, have no JSON Schema
        json.dumps(content)  # ValueError for integers that cannot be written
        if output is not None:
            output.check(value, content)
    return ToolOutcome(call, ToolResultPart(call.id, content, name=call.name, kind=call.kind))


def _failed(
    call: ToolCallPart, problem: str, content: tuple[ToolOutputPart, ...] = ()
) -> ToolOutcome:
    shown = content or problem
    result = ToolResultPart(call.id, shown, name=call.name, is_error=True, kind=call.kind)
    return ToolOutcome(call, result, problem)


def _is_cancelled_here() -> bool:
    """Return whether this task is cancelled, and not another task that the tool awaited."""
    if sniffio.current_async_library() == "trio":
        return True
    import asyncio

    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _fatal(name: str, error: BaseException) -> LLMError:
    if isinstance(error, LLMError):
        return error
    message = f"the tool {name!r} raised {type(error).__name__}: {_message_of(error)}"
    return LLMError(message, cause=error)


def _message_of(error: BaseException) -> str:
    """Return the message of a foreign exception, whose `__str__` may itself raise."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  (`__str__` may raise anything)
        return "(no readable message)"


def unanswered(messages: Sequence[Message]) -> tuple[ToolCallPart, ...]:
    """Return the calls of the last assistant message that have no result after it."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return tuple(call for call in message.tool_calls if call.id not in answered)
        if message.role != "tool":
            break
        parts = (part for part in message.content if isinstance(part, ToolResultPart))
        answered.update(part.tool_call_id for part in parts)
    return ()
