"""Whether an answer has begun."""

from collections.abc import Iterable

from llmcore.schema.events import ErrorEvent, LLMEvent, StepStart, StreamStart


def says_something(events: Iterable[LLMEvent]) -> bool:
    """Return whether *events* say more than that there is an answer, or none."""
    return not all(isinstance(event, StreamStart | StepStart | ErrorEvent) for event in events)
