"""The results of a run: one for each step, one for the whole; conditions on them that end it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic

from attrs import frozen

from llmcore.schema.content import ToolCallPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import FinishReason
from llmcore.schema.messages import Message
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers know it without its being installed

    _T_co = TypeVar("_T_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    _T_co = TypeVar("_T_co", covariant=True)
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TypeAlias, Union


@frozen(kw_only=True)
class StepResult:
    """One call of the model, and the tools that ran after it."""

    response: LLMResponse
    tool_results: tuple[ToolResultPart, ...] = ()
    """Of the tools that were run here, in the order of their calls."""
    pending_calls: tuple[ToolCallPart, ...] = ()
    """Calls without a result: of passive tools, waiting for approval, or beyond the last round."""
    requests: int = 1
    """How many requests the call took, retries included."""

    @property
    def text(self) -> str:
        """The text of the answer; empty if there is none."""
        return self.response.text

    @property
    def reasoning(self) -> str | None:
        """The reasoning text; None if none came."""
        return self.response.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """What the model called, without what its provider ran itself."""
        return self.response.tool_calls

    @property
    def finish_reason(self) -> FinishReason:
        """Why the model stopped."""
        return self.response.finish_reason

    @property
    def usage(self) -> Usage:
        """What the call consumed; its numbers are None where the provider did not say."""
        return self.response.usage or Usage()

    @property
    def cost(self) -> float | None:
        """What the call cost, in US dollars; None if that is unknown."""
        return self.response.cost

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was lost, changed or invented on the way."""
        return self.response.diagnostics

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the step adds to the conversation: the answer, and the results of its tools."""
        if not self.tool_results:
            return (self.response.message,)
        return (self.response.message, Message("tool", self.tool_results))


@frozen(kw_only=True)
class GenerateResult(Generic[_T_co]):
    """A whole run. What is not said to be of all steps is the last one's."""

    steps: tuple[StepResult, ...]
    """At least one."""
    messages: tuple[Message, ...]
    """The conversation so far, to go on from; the system prompt is not in it."""
    output: _T_co = None  # type: ignore[assignment]  # as it is where no object was asked for
    """The structured output, where one was asked for."""

    @property
    def last(self) -> StepResult:
        """The last step."""
        return self.steps[-1]

    @property
    def response(self) -> LLMResponse:
        """The last response."""
        return self.last.response

    @property
    def text(self) -> str:
        """The text of the answer; empty if there is none."""
        return self.last.text

    @property
    def reasoning(self) -> str | None:
        """The reasoning text; None if none came."""
        return self.last.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """What the model called last."""
        return self.last.tool_calls

    @property
    def tool_results(self) -> tuple[ToolResultPart, ...]:
        """Results of those calls, in their order."""
        return self.last.tool_results

    @property
    def pending_calls(self) -> tuple[ToolCallPart, ...]:
        """Calls that have no result yet. Answer them, or approve them, to go on."""
        return self.last.pending_calls

    @property
    def finish_reason(self) -> FinishReason:
        """Why the model stopped."""
        return self.last.finish_reason

    @property
    def usage(self) -> Usage:
        """What the last call consumed."""
        return self.last.usage

    @property
    def total_usage(self) -> Usage:
        """What all steps consumed together."""
        return total_usage(self.steps)

    @property
    def cost(self) -> float | None:
        """What all steps cost together, in US dollars; None if the cost of any is unknown.

        Attempts that failed are not in it, though some providers bill them.
        """
        costs = [step.cost for step in self.steps]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Those of all steps."""
        return tuple(one for step in self.steps for one in step.diagnostics)


def total_usage(steps: Sequence[StepResult]) -> Usage:
    """Return the usage of *steps* added up; that of a single step as it is."""
    first, *rest = [step.usage for step in steps] or [Usage()]
    for usage in rest:
        first += usage
    return first


# -- conditions that end a run

StopCondition: TypeAlias = Callable[[Sequence[StepResult]], Union[bool, Awaitable[bool]]]
"""Asked after a step's tools have run, with all steps so far."""


def step_count_is(count: int) -> StopCondition:
    """Stop once there are *count* steps."""
    return lambda steps: len(steps) >= count


def has_tool_call(name: str) -> StopCondition:
    """Stop once the last step has called the tool *name*; its result is kept."""
    return lambda steps: any(call.name == name for call in steps[-1].tool_calls)


async def any_met(conditions: Sequence[StopCondition], steps: Sequence[StepResult]) -> bool:
    """Return whether one of *conditions* says stop."""
    for condition in conditions:
        answer = condition(tuple(steps))
        if await answer if isawaitable(answer) else answer:
            return True
    return False
