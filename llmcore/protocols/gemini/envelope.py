"""Gemini: what chunks say of the response as a whole.

Source: https://ai.google.dev/api/generate-content (FinishReason, BlockReason), read November
2026.
"""

from typing import Any, Final

from llmcore.protocols.gemini.content import without
from llmcore.protocols.gemini.names import PROTOCOL_ID
from llmcore.protocols.gemini.state import Chunk, State, change
from llmcore.protocols.gemini.usage import latest, map_usage
from llmcore.protocols.native_json import object_or_empty, str_or_none
from llmcore.schema.events import (
    FinishReason,
    FinishReasonKind,
    LLMEvent,
    StepStart,
    StreamStart,
)

_BEGINNINGS: Final = frozenset(
    {"candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"}
)


def on_start(state: State, chunk: Chunk, events: list[LLMEvent]) -> State:
    """Announce the stream at the first chunk that says something of the response."""
    if state.answer.started or _BEGINNINGS.isdisjoint(chunk):
        return state
    context = state.answer.context
    response_id = str_or_none(chunk.get("responseId"))
    usage = object_or_empty(chunk.get("usageMetadata"))
    events.append(
        StreamStart(
            provider=context.provider,
            model=str_or_none(chunk.get("modelVersion")) or context.model,
            id=response_id,
            protocol=PROTOCOL_ID,
            usage=map_usage(usage) if "promptTokenCount" in usage else None,
        )
    )
    events.append(StepStart())
    return change(state, started=True, response_id=response_id)


_NO_METADATA: Final = ("candidates", "usageMetadata", "modelVersion", "responseId", "error")
_NO_CANDIDATE_METADATA: Final = ("content", "index", "finishReason", "logprobsResult")


def on_envelope(state: State, chunk: Chunk) -> State:
    """Keep what the chunk says of the response as a whole; the last word counts."""
    state = with_usage(state, chunk)
    feedback = object_or_empty(chunk.get("promptFeedback"))
    blocked = str_or_none(feedback.get("blockReason"))
    if blocked is not None:
        state = change(state, blocked=blocked)
    return _with_metadata(state, without(chunk, *_NO_METADATA))


def on_candidate_envelope(state: State, candidate: Chunk, more: Chunk) -> State:
    """Keep why the candidate ended, and what else it says besides its content."""
    reason = str_or_none(candidate.get("finishReason"))
    if reason is not None:
        state = change(state, reason=reason)
    return _with_metadata(state, without(candidate, *_NO_CANDIDATE_METADATA) | more)


def with_usage(state: State, chunk: Chunk) -> State:
    """Return *state* with the usage that each chunk restates."""
    usage = chunk.get("usageMetadata")
    if not isinstance(usage, dict):
        return state
    return State(state.answer, latest(state.usage, usage), state.said)


def _with_metadata(state: State, found: Chunk) -> State:
    """Lay *found* over what is known; objects are merged, as grounding may come in pieces."""
    known = state.answer.metadata
    new: dict[str, Any] = {}
    for name, value in found.items():
        before = known.get(name)
        merged = (
            {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
        )
        if merged != before:
            new[name] = merged
    return change(state, metadata={**known, **new}) if new else state


_REASONS: Final[dict[str, FinishReasonKind]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "ESCALATION": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
}
"""What is not here (OTHER, NO_IMAGE, IMAGE_OTHER, CONTINUATION, those to come) is `other`."""


def map_reason(raw: str | None, blocked: str | None, *, called: bool) -> FinishReason:
    """Return why the model stopped; Gemini says STOP though functions were called."""
    if raw is None and blocked is not None:
        return FinishReason("content_filter", blocked)
    reason = _REASONS.get(raw or "", "other")
    if called and (reason == "stop" or not raw):
        reason = "tool_calls"
    return FinishReason(reason, raw or None)
