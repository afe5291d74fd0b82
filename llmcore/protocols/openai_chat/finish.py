"""OpenAI Chat Completions: what chunks say of the response as a whole.

Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat-streaming; usage in
odd places: https://console.groq.com/docs/api-reference (`x_groq`), https://platform.moonshot.ai/docs
(in the choice); finish reasons of others: https://docs.mistral.ai/api, https://docs.z.ai/api-reference,
https://api-docs.deepseek.com/api/create-chat-completion.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.native_json import count_or_none, object_or_empty, objects, str_or_none
from llmcore.protocols.openai_chat.names import PROTOCOL_ID, NativeObject
from llmcore.protocols.openai_chat.state import State
from llmcore.schema.changed import changed
from llmcore.schema.events import (
    FinishReason,
    FinishReasonKind,
    LLMEvent,
    StepStart,
    StreamStart,
)
from llmcore.schema.json import JsonObject
from llmcore.schema.usage import Usage

_BEGINNINGS: Final = ("choices", "usage", "id", "citations", "search_results")


def on_start(state: State, chunk: NativeObject, events: list[LLMEvent]) -> State:
    """Announce the stream at the first chunk that says which response it is.

    Azure's first chunk holds only filter results, with an empty id and no choices.
    """
    envelope = state.envelope
    if envelope.started or not any(chunk.get(name) for name in _BEGINNINGS):
        return state
    context = state.context
    response_id = str_or_none(chunk.get("id"))
    model = str_or_none(chunk.get("model")) or context.model
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


def on_envelope(state: State, chunk: NativeObject) -> State:
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
    for choice in objects(chunk.get("choices"))[:1]:
        found |= _metadata_in(choice, _NO_CHOICE_METADATA, known)
    if found:
        envelope = changed(envelope, metadata={**known, **found})
    return state if envelope is state.envelope else changed(state, envelope=envelope)


def _usage_in(chunk: NativeObject) -> NativeObject | None:
    """Return the chunk's usage: beside the choices, in `x_groq`, or in the choice (Moonshot)."""
    usage = chunk.get("usage")
    if not isinstance(usage, dict):
        usage = object_or_empty(chunk.get("x_groq")).get("usage")
    for choice in objects(chunk.get("choices")):
        if not isinstance(usage, dict):
            usage = choice.get("usage")
    return usage if isinstance(usage, dict) else None


def _metadata_in(holder: NativeObject, others: frozenset[str], known: JsonObject) -> NativeObject:
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


# -- usage


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return a server's usage object by the inclusive contract."""
    prompt = object_or_empty(usage.get("prompt_tokens_details"))
    completion = object_or_empty(usage.get("completion_tokens_details"))
    input_tokens = count_or_none(usage.get("prompt_tokens"))
    output_tokens = count_or_none(usage.get("completion_tokens"))
    total_tokens = count_or_none(usage.get("total_tokens"))
    reasoning = _first(completion.get("reasoning_tokens"), usage.get("reasoning_tokens"))
    if _beside(input_tokens, output_tokens, reasoning, total_tokens):
        output_tokens = (output_tokens or 0) + (reasoning or 0)
    read = _first(
        prompt.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),  # DeepSeek
        usage.get("cached_tokens"),  # Moonshot
        usage.get("num_cached_tokens"),  # Mistral
        usage.get("cache_read_input_tokens"),
    )
    written = _first(
        prompt.get("cache_write_tokens"),  # OpenAI, OpenRouter
        usage.get("cache_creation_input_tokens"),
    )
    # Details are parts of the prompt. Where they exceed it, as where a token counts as read
    # and as written, the split is unknown.
    known = not prompt or (read or 0) + (written or 0) <= (input_tokens or 0)
    mapped = Usage.make(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=total_tokens,
        cache_read_tokens=read if known else None,
        cache_write_tokens=written if known else None,
        reasoning_tokens=reasoning,
        cost_usd=_cost(usage),
        raw=dict(usage),
    )
    if known:
        return mapped
    return changed(
        mapped, uncached_input_tokens=None, cache_read_tokens=read, cache_write_tokens=written
    )


def _beside(
    prompt: int | None, completion: int | None, reasoning: int | None, total: int | None
) -> bool:
    """Return whether reasoning is counted beside the completion, as xAI does.

    The total tells: it then exceeds prompt and completion by just the reasoning.
    """
    if not reasoning or prompt is None or completion is None or total is None:
        return False
    return total == prompt + completion + reasoning


def _cost(usage: Mapping[str, Any]) -> float | None:
    """Return the US dollars that a server states, each in its own way.

    OpenRouter: `cost` (https://openrouter.ai/docs/use-cases/usage-accounting); Perplexity:
    `total_cost` in it (https://docs.perplexity.ai/api-reference); xAI: ticks of 1e-10 dollars
    (https://docs.x.ai/developers/cost-tracking); DeepInfra: `estimated_cost`.
    """
    cost = usage.get("cost")
    if isinstance(cost, dict):
        cost = cost.get("total_cost")
    dollars = _number(cost)
    if dollars is not None:
        return dollars
    ticks = _number(usage.get("cost_in_usd_ticks"))
    return _number(usage.get("estimated_cost")) if ticks is None else ticks / 1e10


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _first(*values: Any) -> int | None:
    return next((found for value in values if (found := count_or_none(value)) is not None), None)
