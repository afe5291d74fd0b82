"""OpenAI Chat Completions: what chunks say of the response as a whole.

Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat-streaming; usage in
odd places: https://console.groq.com/docs/api-reference (`x_groq`), https://platform.moonshot.ai/docs
(in the choice); finish reasons of others: https://docs.mistral.ai/api, https://docs.z.ai/api-reference,
https://api-docs.deepseek.com/api/create-chat-completion.
"""

from typing import Final

from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.protocols.openai_chat.names import PROTOCOL_ID
from llmcore.protocols.openai_chat.state import Chunk, State
from llmcore.schema.changed import changed
from llmcore.schema.events import (
    FinishReason,
    FinishReasonKind,
    LLMEvent,
    StepStart,
    StreamStart,
)
from llmcore.schema.json import JsonObject

_BEGINNINGS: Final = ("choices", "usage", "id", "citations", "search_results")


def on_start(state: State, chunk: Chunk, events: list[LLMEvent]) -> State:
    """Announce the stream at the first chunk that says which response it is.

    Azure's first chunk holds only filter results, with an empty id and no choices.
    """
    envelope = state.envelope
    if envelope.started or not any(chunk.get(name) for name in _BEGINNINGS):
        return state
    context = state.context
    response_id = string(chunk.get("id"))
    model = string(chunk.get("model")) or context.model
    events.append(
        StreamStart(provider=context.provider, model=model, id=response_id, protocol=PROTOCOL_ID)
    )
    events.append(StepStart())
    return changed(state, envelope=changed(envelope, started=True, response_id=response_id))


_NO_METADATA: Final = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "obfuscation"}
    | {"citations", "search_results", "error"}
)
_NO_CHOICE_METADATA: Final = frozenset(
    {"index", "delta", "message", "finish_reason", "logprobs", "usage", "text"}
)


def on_envelope(state: State, chunk: Chunk) -> State:
    """Keep what the chunk says of the response as a whole; the last word counts."""
    envelope = state.envelope
    usage = _usage_in(chunk)
    if usage is not None:
        said = {name: value for name, value in usage.items() if value is not None}
        envelope = changed(
            envelope,
            usage={**(envelope.usage or {}), **said},
            accounted=envelope.accounted or chunk.get("choices") == [],
        )
    known = envelope.metadata
    found = _metadata_in(chunk, _NO_METADATA, known)
    for choice in dicts(chunk.get("choices"))[:1]:
        found |= _metadata_in(choice, _NO_CHOICE_METADATA, known)
    if found:
        envelope = changed(envelope, metadata={**known, **found})
    return state if envelope is state.envelope else changed(state, envelope=envelope)


def _usage_in(chunk: Chunk) -> Chunk | None:
    """Return the chunk's usage: beside the choices, in `x_groq`, or in the choice (Moonshot)."""
    usage = chunk.get("usage")
    if not isinstance(usage, dict):
        usage = mapping(chunk.get("x_groq")).get("usage")
    for choice in dicts(chunk.get("choices")):
        if not isinstance(usage, dict):
            usage = choice.get("usage")
    return usage if isinstance(usage, dict) else None


def _metadata_in(holder: Chunk, others: frozenset[str], known: JsonObject) -> Chunk:
    """Return what is new of fields that are neither content nor counted.

    Such as service tier, fingerprint, filter results.
    """
    return {
        name: holder[name]
        for name in holder
        if name not in others and holder[name] is not None and known.get(name) != holder[name]
    }


_REASONS: Final[dict[str, FinishReasonKind]] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",  # Together
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",  # Mistral
    "model_context_window_exceeded": "length",  # Z.ai
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "sensitive": "content_filter",  # Z.ai
    "error": "error",
    "network_error": "error",  # Z.ai
    "insufficient_system_resource": "error",  # DeepSeek
}


def map_reason(raw: str, *, called: bool, refused: bool) -> FinishReason:
    """Return why the model stopped; many servers say `stop` though tools were called."""
    reason = _REASONS.get(raw.lower(), "other")
    if called and (reason == "stop" or not raw):
        reason = "tool_calls"
    if reason == "stop" and refused:
        reason = "content_filter"
    return FinishReason(reason, raw or None)
