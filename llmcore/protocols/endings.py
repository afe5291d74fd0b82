"""How the events of an answer end: well, too early, or with what cannot be read."""

from collections.abc import Mapping, Sequence

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
from llmcore.schema.usage import Usage


def finished(
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


def stated_reason(
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


def cut_short(sign: str) -> ErrorEvent:
    """Return the end of a stream in which *sign*, the mark of a complete answer, did not come."""
    message = f"the stream ended before the answer was complete (no {sign} came)"
    return ErrorEvent(StreamError(message))


def unreadable(error: InvalidRequestError, raw: JsonValue) -> ErrorEvent:
    """Return the end of an answer that says what no value can hold."""
    return ErrorEvent(StreamError(f"the answer cannot be read: {error.message}", raw=raw))


def no_answer(why: str, document: JsonValue) -> ErrorEvent:
    """Return what a whole body amounts to that is no answer; *why* completes "the response"."""
    return ErrorEvent(StreamError(f"the response {why}", raw=document))
