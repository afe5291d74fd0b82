"""What every stream machine needs: its context, a list that grows, and the events of an end."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from attrs import frozen

from llmcore.protocols.answer_format import FormatPlan, answer_tool
from llmcore.protocols.tools import freeform_tools
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError, StreamError
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    FinishReason,
    FinishReasonKind,
    LLMEvent,
    StepFinish,
)
from llmcore.schema.json import JsonValue, ProviderMetadata
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage

# -- the context


@frozen(kw_only=True)
class StreamContext:
    """The request's facts that reading its answer needs. Never changes."""

    provider: str
    model: str
    turn: int
    """How many messages the request had: makes ids unique within a conversation."""
    freeform: frozenset[str] = frozenset()
    """Names of freeform tools that were offered as functions: their input is unwrapped."""
    answer_tool: str | None = None
    """The tool whose input is the answer's text."""
    wrapped: bool = False
    """Whether that input holds the answer in a property."""


def stream_context(request: LLMRequest, plan: FormatPlan | None = None) -> StreamContext:
    """Return the context of the answer to *request*, whose format was forced by *plan*."""
    by_tool = plan is not None and plan.by == "tool"
    return StreamContext(
        provider=request.provider_id,
        model=request.model_id,
        turn=len(request.messages),
        freeform=freeform_tools(request),
        answer_tool=answer_tool(request) if by_tool else None,
        wrapped=plan is not None and plan.wrapped,
    )


# -- a list that grows


class PersistentList(msgspec.Struct, frozen=True, eq=False):
    """A list that grows at its head, so that appending copies nothing.

    A Struct, which is made in a third of the time: there is one for each token.
    """

    value: Any
    rest: "PersistentList | None"

    def __repr__(self) -> str:
        """Return the last value only: lists are as long as answers."""
        return f"PersistentList({self.value!r}, ...)"


def to_list(chain: PersistentList | None) -> list[Any]:
    """Return the values of *chain*, oldest first."""
    values: list[Any] = []
    while chain is not None:
        values.append(chain.value)
        chain = chain.rest
    return values[::-1]


# -- the end


def finish_events(
    reason: FinishReason,
    usage: Usage | None,
    metadata: ProviderMetadata,
    raw: JsonValue,
    diagnostics: Sequence[Diagnostic] = (),
    *,
    model: str | None = None,
) -> tuple[LLMEvent, LLMEvent]:
    """Return the end of an answer that is complete and has one step."""
    return (
        StepFinish(finish_reason=reason, usage=usage),
        Finish(
            finish_reason=reason,
            usage=usage,
            model=model,
            diagnostics=tuple(diagnostics),
            provider_metadata=metadata,
            raw=raw,
        ),
    )


def map_finish_reason(
    raw: str | None, known: Mapping[str, FinishReasonKind], *, called: bool, answered: bool
) -> FinishReason:
    """Return why the model stopped, for an API that always states it.

    *called* says that the caller is to run a tool; *answered* that a call stood for the
    answer, which is none.
    """
    reason = known.get(raw or "", "other")
    if reason == "tool_calls" and answered and not called:
        reason = "stop"
    elif reason == "stop" and called:
        reason = "tool_calls"
    return FinishReason(reason, raw)


def truncated(sign: str) -> ErrorEvent:
    """Return the end of a stream in which *sign*, the mark of a complete answer, did not come."""
    message = f"the stream ended before the answer was complete (no {sign} came)"
    return ErrorEvent(StreamError(message))


def invalid_value_error(error: InvalidRequestError, raw: JsonValue) -> ErrorEvent:
    """Return the end of an answer that says what no value can hold."""
    return ErrorEvent(StreamError(f"the answer cannot be read: {error.message}", raw=raw))


def empty_response(why: str, document: JsonValue) -> ErrorEvent:
    """Return what a whole body amounts to that is no answer; *why* completes "the response"."""
    return ErrorEvent(StreamError(f"the response {why}", raw=document))
