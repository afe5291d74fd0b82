"""Events of responses, as a client gets them: one response, and its segments."""

from collections.abc import Sequence
from typing import Any

from llmcore.folds.segments import complete_segments
from llmcore.schema.events import (
    Finish,
    FinishReason,
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StepStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)


def stream(
    *segments: Sequence[LLMEvent] | LLMEvent,
    reason: str = "stop",
    raw: str | None = None,
    protocol: str | None = "openai-chat",
    **finish: Any,
) -> list[LLMEvent]:
    """Return the events of one response, completed as the client completes them."""
    inner = [event for one in segments for event in (one if isinstance(one, Sequence) else (one,))]
    why = FinishReason(reason, raw)  # type: ignore[arg-type]
    return complete_segments(
        [
            StreamStart(provider="acme", model="test-model", id="up_1", protocol=protocol),
            StepStart(),
            *inner,
            StepFinish(finish_reason=why, usage=finish.get("usage")),
            Finish(finish_reason=why, **finish),
        ]
    )


def text(*pieces: str, id: str = "t", **end: Any) -> list[LLMEvent]:
    """Return a text segment."""
    start = TextStart(id, refusal=end.get("refusal", False))
    return [start, *(TextDelta(id, piece) for piece in pieces), TextEnd(id, **end)]


def thought(*pieces: str, id: str = "r", **end: Any) -> list[LLMEvent]:
    """Return a segment of thinking."""
    deltas = [ReasoningDelta(id, piece) for piece in pieces]
    return [ReasoningStart(id), *deltas, ReasoningEnd(id, **end)]


def call(
    name: str, *pieces: str, id: str = "call_1", kind: Any = "function", **end: Any
) -> list[LLMEvent]:
    """Return a call of a tool that the client runs."""
    hosted, own = end.pop("hosted", False), end.pop("begins_with", {})
    start = ToolInputStart(id, name, kind=kind, provider_executed=hosted, provider_metadata=own)
    return [start, *(ToolInputDelta(id, piece) for piece in pieces), ToolInputEnd(id, **end)]
