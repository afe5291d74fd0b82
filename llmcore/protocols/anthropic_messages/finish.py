"""Anthropic Messages: how a response ends: stop reason, token counts, explanations of refusals.

    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
     "usage": {"output_tokens": 15}}
    {"type": "message_stop"}

`input_tokens` counts what was neither read from nor written to the cache; `output_tokens` includes
thinking. The counts of `message_delta` are of the whole response so far and replace those of
`message_start`. Sources, read November 2026:
https://platform.claude.com/docs/en/build-with-claude/streaming,
https://platform.claude.com/docs/en/build-with-claude/prompt-caching#tracking-cache-performance.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.protocols.answering import finish_events as finish_response
from llmcore.protocols.answering import map_finish_reason
from llmcore.protocols.anthropic_messages.names import (
    CACHE_READ_TOKENS,
    CACHE_WRITE_TOKENS,
    FINISH_REASONS,
    INPUT_TOKENS,
    METADATA_KEY,
    OUTPUT_TOKENS,
)
from llmcore.protocols.anthropic_messages.state import MessagesState
from llmcore.protocols.lowering import served_tier
from llmcore.protocols.native_json import count_or_none, object_or_empty, str_or_none
from llmcore.protocols.persistent import with_entries
from llmcore.schema.changed import changed
from llmcore.schema.events import LLMEvent, TextDelta, TextEnd, TextStart
from llmcore.schema.json import JsonObject
from llmcore.schema.usage import Usage

# -- token counts

_INPUTS: Final = (INPUT_TOKENS, CACHE_READ_TOKENS, CACHE_WRITE_TOKENS)


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return a native usage object by the inclusive contract."""
    uncached, read, write = (count_or_none(usage.get(name)) for name in _INPUTS)
    creation = object_or_empty(usage.get("cache_creation"))
    long_lived = count_or_none(creation.get("ephemeral_1h_input_tokens"))
    if write is None and creation:
        write = (count_or_none(creation.get("ephemeral_5m_input_tokens")) or 0) + (long_lived or 0)
    stated = any(number is not None for number in (uncached, read, write))
    details = object_or_empty(usage.get("output_tokens_details"))
    return Usage.make(
        input_tokens=(uncached or 0) + (read or 0) + (write or 0) if stated else None,
        output_tokens=count_or_none(usage.get(OUTPUT_TOKENS)),
        cache_read_tokens=read,
        cache_write_tokens=write,
        cache_write_1h_tokens=long_lived,
        reasoning_tokens=count_or_none(details.get("thinking_tokens")),
        service_tier=served_tier(usage.get("service_tier")),
        raw=dict(usage),
    )


def merge_usage(before: JsonObject | None, after: Mapping[str, Any]) -> JsonObject:
    """Return *before* with the counts that *after* states.

    An input of no tokens at all is not a statement: some servers put zeros where they do not count.
    """
    stated = {name: value for name, value in after.items() if value is not None}
    if before is not None and not any(count_or_none(stated.get(name)) for name in _INPUTS):
        stated = {name: value for name, value in stated.items() if name not in _INPUTS}
    return {**(before or {}), **stated}


# -- facts of the whole response

NOT_OF_MESSAGE: Final = frozenset(
    {"id", "type", "role", "model", "content", "stop_reason", "usage"}
)
NOT_OF_DELTA: Final = frozenset({"stop_reason"})
NOT_OF_EVENT: Final = frozenset({"type", "delta", "usage", "message", "index"})
_OF_USAGE: Final = ("service_tier", "inference_geo", "speed")


def with_facts(
    state: MessagesState, holder: Mapping[str, Any], excluded: frozenset[str], usage: JsonObject
) -> MessagesState:
    """Return *state* with the facts in *holder* (but *excluded*) and in *usage*."""
    facts = {k: v for k, v in holder.items() if k not in excluded and v is not None}
    facts.update({name: usage[name] for name in _OF_USAGE if usage.get(name) is not None})
    info = state.info
    if usage:
        info = changed(info, usage=merge_usage(info.usage, usage))
    if facts:
        info = changed(info, metadata=with_entries(info.metadata, facts))
    return state if info is state.info else changed(state, info=info)


# -- the end


def finish_events(state: MessagesState) -> Sequence[LLMEvent]:
    """Return the end of a complete response."""
    info = state.info
    events: list[LLMEvent] = []
    _explain_refusal(state, events)
    reason = map_finish_reason(
        info.reason, FINISH_REASONS, called=state.called, answered=state.answered
    )
    usage = None if info.usage is None else map_usage(info.usage)
    metadata = {METADATA_KEY: dict(info.metadata)} if info.metadata else {}
    return (*events, *finish_response(reason, usage, metadata, info.raw, model=info.model))


def _explain_refusal(state: MessagesState, events: list[LLMEvent]) -> None:
    """Emit the provider's explanation of why it stopped the response, if there is one."""
    details = object_or_empty(state.info.metadata.get("stop_details"))
    explanation = str_or_none(details.get("explanation"))
    if state.info.reason != "refusal" or explanation is None:
        return
    segment = f"text_{state.blocks}"
    metadata = {METADATA_KEY: {"stop_details": details}}
    events.append(TextStart(segment, refusal=True))
    events.append(TextDelta(segment, explanation))
    events.append(TextEnd(segment, refusal=True, provider_metadata=metadata))
