"""What a request says about its answer: the part of a stream's state that never changes."""

from attrs import frozen

from llmcore.protocols.answer_format import Plan, answer_tool
from llmcore.protocols.freeform import freeform_tools
from llmcore.schema.request import LLMRequest


@frozen(kw_only=True)
class AnswerContext:
    """What the request says about its answer. Never changes."""

    provider: str
    model: str
    turn: int
    """How many messages the request had: makes ids unique within a conversation."""


@frozen(kw_only=True)
class FunctionsContext(AnswerContext):
    """For an API at which freeform tools are offered as functions."""

    freeform: frozenset[str] = frozenset()
    """Names of freeform tools that were offered as functions: their input is unwrapped."""


@frozen(kw_only=True)
class PlannedContext(FunctionsContext):
    """For an API at which a call may stand for the answer."""

    answer_tool: str | None = None
    """The tool whose input is the answer's text."""
    wrapped: bool = False
    """Whether that input holds the answer in a property."""


def planned_context(request: LLMRequest, plan: Plan) -> PlannedContext:
    """Return the context of the answer to *request*, had by *plan*."""
    return PlannedContext(
        provider=request.provider_id,
        model=request.model_id,
        turn=len(request.messages),
        answer_tool=answer_tool(request) if plan.by == "tool" else None,
        wrapped=plan.wrapped,
        freeform=freeform_tools(request),
    )
