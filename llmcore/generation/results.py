"""The results of a run: one for each step, one for the whole; conditions on them that end it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, Union

from attrs import field

from llmcore.client.cost import total_cost
from llmcore.schema.content import ToolCallPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import FinishReason
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import json_hints, shown_kind, with_hints
from llmcore.schema.messages import Message
from llmcore.schema.notebooks import as_markdown
from llmcore.schema.pydantic_hooks import for_pydantic
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers know it without its being installed

    _T_co = TypeVar("_T_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    _T_co = TypeVar("_T_co", covariant=True)


@for_pydantic
@frozen(kw_only=True)
class StepResult:
    """One call of the model, and the tools that ran after it."""

    response: LLMResponse
    """The model's response."""
    tool_results: tuple[ToolResultPart, ...] = ()
    """Results of the tools that were run, in the order of their calls."""
    pending_calls: tuple[ToolCallPart, ...] = ()
    """Calls without a result: of passive tools, not approved yet, or after the last round."""
    requests: int = 1
    """The number of requests of the call, including retries."""
    approval_tokens: Mapping[str, str] = field(factory=dict)
    """The tokens of the calls that wait for approval, by call id, if a secret was given."""
    correction: Message | None = None
    """The message that asks again for an object, after a response that failed validation."""

    @property
    def text(self) -> str:
        """The text of the response; empty if there is none."""
        return self.response.text

    @property
    def reasoning(self) -> str | None:
        """The reasoning text; None if none came."""
        return self.response.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The model's tool calls, without those that the provider ran."""
        return self.response.tool_calls

    @property
    def finish_reason(self) -> FinishReason:
        """Why the model stopped."""
        return self.response.finish_reason

    @property
    def usage(self) -> Usage:
        """The call's usage; counts that the provider did not report are None."""
        return self.response.usage

    @property
    def cost(self) -> float | None:
        """The call's cost in US dollars; None if unknown."""
        return self.response.cost

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Reports of what was lost, changed or added."""
        return self.response.diagnostics

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the step adds: the response, and tool results or a correction."""
        results = (Message("tool", self.tool_results),) if self.tool_results else ()
        correction = () if self.correction is None else (self.correction,)
        return (self.response.message, *results, *correction)


@for_pydantic
@with_hints(
    """
    choices -> the text is `.text`, the message `.response.message`
    content -> the text is `.text`, the parts are `.response.message.content`
    output_text candidates -> the text is `.text`
    final_output -> the text is `.text`, the value of a schema `.output`
    usage_metadata -> write `.usage`
    data object parsed -> the value is `.output`
    message -> it is `.response.message`
    parts -> they are `.response.message.content`
    all_messages new_messages -> they are `.messages`, without a call
    to_json -> its JSON is `to_json(result)`, from llmcore.schema.codec
    model model_id -> it is `.response.model`
    provider -> it is `.response.provider`
    request_id -> it is `.response.request_id`
    rate_limit -> it is `.response.rate_limit`
    sources citations -> they are `.response.sources`
    images files audio -> they are of `.response.message.content`
    total_cost cost_usd response_cost -> write `.cost`
    warnings -> write `.diagnostics`
    error ok success -> failures raise an error
    id -> it is `.response.id`
    raw -> it is `.response.raw`
    logprobs -> they are of each part: `.response.message.content[0].logprobs`
    stop_reason -> write `.finish_reason`
    function_call function_calls -> write `.tool_calls`
    chat_history history -> write `.messages`
    thinking reasoning_content -> write `.reasoning`
    total_tokens token_usage tokens input_tokens output_tokens
        -> write `.usage`, such as `.usage.total_tokens`
    unwrap value -> it is the result itself; failures raise an error
    text_stream -> the response is complete: call llmcore.stream, or llmcore.sync.stream
    """,
    **json_hints("result"),
)
@frozen(kw_only=True)
class GenerateResult(Generic[_T_co]):
    """The result of a run. Attributes are those of the last step unless stated otherwise."""

    steps: tuple[StepResult, ...]
    """All steps, at least one."""
    messages: tuple[Message, ...]
    """The conversation to continue from, without the system prompt."""
    output: _T_co = None  # type: ignore[assignment]  # None without a schema
    """The validated object of `generate_object`; None for `generate`."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"GenerateResult({shown})"

    def __rich_repr__(self) -> Iterator[tuple[str, object]]:
        """Yield what a terminal shows of the result; the fields have all of it."""
        usage = self.total_usage
        yield "text", self.text
        if self.output is not None:
            yield "output", self.output
        yield "model", self.response.model
        yield "finish_reason", str(self.finish_reason)
        yield "tokens", (usage.input_tokens, usage.output_tokens)
        yield "cost", self.cost
        yield "steps", len(self.steps)
        if self.pending_calls:
            yield "pending_calls", [call.name for call in self.pending_calls]

    def _repr_markdown_(self) -> str | None:
        """Return what a notebook renders: the response, an object as a block of JSON."""
        if self.output is not None:
            return as_markdown(f"```json\n{self.text}\n```")
        return self.response._repr_markdown_()

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
        """The text of the response; empty if there is none."""
        return self.last.text

    @property
    def reasoning(self) -> str | None:
        """The reasoning text; None if none came."""
        return self.last.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The tool calls of the last step."""
        return self.last.tool_calls

    @property
    def tool_results(self) -> tuple[ToolResultPart, ...]:
        """The tool results of the last step, in the order of the calls."""
        return self.last.tool_results

    @property
    def pending_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls without a result. To continue, send their results or approve them."""
        return self.last.pending_calls

    @property
    def approval_tokens(self) -> Mapping[str, str]:
        """The tokens of pending calls that wait for approval, if a secret was given."""
        return self.last.approval_tokens

    @property
    def finish_reason(self) -> FinishReason:
        """Why the model stopped."""
        return self.last.finish_reason

    @property
    def usage(self) -> Usage:
        """The usage of the last step."""
        return self.last.usage

    @property
    def total_usage(self) -> Usage:
        """The usage of all steps together."""
        return total_usage(self.steps)

    @property
    def cost(self) -> float | None:
        """The cost of all steps in US dollars; None if the cost of any step is unknown.

        Failed attempts are not included, though some providers bill them.
        """
        return total_cost(step.cost for step in self.steps)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of all steps."""
        return tuple(item for step in self.steps for item in step.diagnostics)


def total_usage(steps: Sequence[StepResult]) -> Usage:
    """Return the sum of the usages of *steps*; that of a single step unchanged."""
    first, *rest = [step.usage for step in steps] or [Usage()]
    for usage in rest:
        first += usage
    return first


# -- conditions that end a run

StopCondition: TypeAlias = Callable[[Sequence[StepResult]], Union[bool, Awaitable[bool]]]
"""Called after a step's tools have run, with all steps so far."""


def step_count_is(count: int) -> StopCondition:
    """Stop after *count* steps."""
    return lambda steps: len(steps) >= count


def has_tool_call(name: str) -> StopCondition:
    """Stop after a step that has called the tool *name*; its result is included."""
    return lambda steps: any(call.name == name for call in steps[-1].tool_calls)


async def any_met(conditions: Sequence[StopCondition], steps: Sequence[StepResult]) -> bool:
    """Return whether any of *conditions* returns True."""
    for condition in conditions:
        met = condition(tuple(steps))
        met = await met if isawaitable(met) else met
        if callable(met):  # step_count_is, in place of step_count_is(3)
            name = getattr(condition, "__name__", shown_kind(condition))
            raise InvalidRequestError(
                f"stop_when: {name} returned a function: call it, such as {name}(...)"
            )
        if met:
            return True
    return False
