"""When to stop although the model would go on."""

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import TypeAlias, Union

from llmcore.generation.results import StepResult

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
