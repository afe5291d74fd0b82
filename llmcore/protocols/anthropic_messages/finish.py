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

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from llmcore.protocols.anthropic_messages import names
from llmcore.protocols.anthropic_messages.content import on_text_start, unread_fields
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.anthropic_messages.state import Event, MessagesState
from llmcore.protocols.protocol import FastReader, Frame, TextFrames, TextSoFar
from llmcore.protocols.response_parts import (
    CompleteEvents,
    Ends,
    Events,
    StreamContext,
    finish_events,
    map_finish_reason,
    only_object,
    served_tier,
    skimmed,
    start_events,
    text_end,
    text_response,
)
from llmcore.schema import json
from llmcore.schema.events import LLMEvent, TextDelta, TextEnd, TextStart
from llmcore.schema.json import JsonObject, JsonValue, present, without
from llmcore.schema.native_json import (
    all_objects,
    count_or_none,
    has_only,
    object_or_empty,
    str_or_none,
)
from llmcore.schema.persistent import with_entries
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage

# -- token counts

_INPUTS: Final = (names.INPUT_TOKENS, names.CACHE_READ_TOKENS, names.CACHE_WRITE_TOKENS)


def map_usage(usage: Mapping[str, Any]) -> Usage:
    """Return a native usage object by the inclusive contract."""
    uncached, read, write = [count_or_none(usage.get(name)) for name in _INPUTS]
    creation = object_or_empty(usage.get("cache_creation"))
    long_lived = count_or_none(creation.get("ephemeral_1h_input_tokens"))
    if write is None and creation:
        write = (count_or_none(creation.get("ephemeral_5m_input_tokens")) or 0) + (long_lived or 0)
    stated = not (uncached is None and read is None and write is None)
    details = object_or_empty(usage.get("output_tokens_details"))
    return Usage.make(
        input_tokens=(uncached or 0) + (read or 0) + (write or 0) if stated else None,
        output_tokens=count_or_none(usage.get(names.OUTPUT_TOKENS)),
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
    stated = present(after)
    if before is None:
        return stated
    repeated = not stated.keys().isdisjoint(_INPUTS)
    if repeated and not any(count_or_none(stated.get(name)) for name in _INPUTS):
        stated = without(stated, *_INPUTS)
    return {**before, **stated}


def stated_usage(state: MessagesState) -> Usage | None:
    """Return the tokens that `message_delta` has counted; None before it, as nothing has."""
    usage = state.info.usage
    return map_usage(usage) if state.counted and usage is not None else None


# -- facts of the whole response

NOT_OF_MESSAGE: Final = frozenset(
    {"id", "type", "role", "model", "content", "stop_reason", "usage"}
)
NOT_OF_DELTA: Final = frozenset({"stop_reason"})
NOT_OF_EVENT: Final = frozenset({"type", "delta", "usage", "message", "index"})
_OF_USAGE: Final = ("service_tier", "inference_geo", "speed")
_OF_TURN: Final = ("container",)
"""Facts that the next request of the turn needs."""


def with_facts(
    state: MessagesState, holder: Mapping[str, Any], excluded: frozenset[str], usage: JsonObject
) -> MessagesState:
    """Return *state* with the facts in *holder* (but *excluded*) and in *usage*."""
    facts = {} if excluded.issuperset(holder) else present(holder, but=excluded)
    info = state.info
    if usage:
        facts.update({name: usage[name] for name in _OF_USAGE if usage.get(name) is not None})
        info = replace(info, usage=merge_usage(info.usage, usage))
    if facts:
        info = replace(info, metadata=with_entries(info.metadata, facts))
    return state if info is state.info else replace(state, info=info)


# -- the end


def on_message_delta(state: MessagesState, event: Event, _events: Events) -> MessagesState:
    """Keep why the response ends, and its counts."""
    delta = object_or_empty(event.get("delta"))
    state = with_facts(state, delta, NOT_OF_DELTA, object_or_empty(event.get("usage")))
    state = with_facts(state, event, NOT_OF_EVENT, {})
    reason = str_or_none(delta.get("stop_reason")) or state.info.reason
    return replace(state, info=replace(state.info, reason=reason), counted=True)


def closing_events(state: MessagesState) -> Sequence[LLMEvent]:
    """Return the end of a complete response."""
    info = state.info
    events: Events = []
    _explain_refusal(state, events)
    reason = map_finish_reason(
        info.reason, names.FINISH_REASONS, called=state.called, format_called=state.format_called
    )
    usage = None if info.usage is None else map_usage(info.usage)
    metadata = {METADATA_KEY: dict(info.metadata)} if info.metadata else {}
    needed = {name: info.metadata[name] for name in _OF_TURN if name in info.metadata}
    end = finish_events(
        reason,
        usage,
        metadata,
        info.raw,
        model=info.model,
        message_metadata={METADATA_KEY: needed} if needed else None,
    )
    return (*events, *end)


def _explain_refusal(state: MessagesState, events: Events) -> None:
    """Emit the provider's explanation of why it stopped the response, if there is one."""
    details = object_or_empty(state.info.metadata.get("stop_details"))
    explanation = str_or_none(details.get("explanation"))
    if state.info.reason != "refusal" or explanation is None:
        return
    segment = f"text_{state.blocks}"
    metadata = {METADATA_KEY: {"stop_details": details}}
    events.append(TextStart(segment, refusal=True, provider_metadata=metadata))
    events.append(TextDelta(segment, explanation))
    events.append(TextEnd(segment, refusal=True, provider_metadata=metadata))


# -- a whole body without its content

_PLAIN_BLOCKS: Final = {"text": "text", "thinking": "thinking", "tool_use": "id"}
"""Types of plain blocks, and a field of each that is a text."""


def skim(document: JsonValue, request: LLMRequest) -> Ends | None:
    """Return the beginning and the end of a plain message; None for any other body."""
    if not isinstance(document, dict) or document.get("type") != "message":
        return None
    content, native = all_objects(document.get("content")), document.get("usage")
    reason = str_or_none(document.get("stop_reason"))
    if document.get("error") or reason in (None, "refusal") or not isinstance(native, dict):
        return None
    if content is None or not all(map(_is_plain, content)):
        return None
    facts = present(document, but=NOT_OF_MESSAGE)
    facts |= {name: native[name] for name in _OF_USAGE if native.get(name) is not None}
    kinds = {block["type"] for block in content}
    stated = merge_usage(None, native)
    usage = map_usage(stated)
    return skimmed(
        PROTOCOL_ID,
        request,
        document,
        model=document.get("model"),
        response_id=document.get("id"),
        reason=map_finish_reason(
            reason, names.FINISH_REASONS, called="tool_use" in kinds, format_called=False
        ),
        usage=usage,
        metadata={METADATA_KEY: facts} if facts else {},
        reasoned="thinking" in kinds,
        begun=usage if len(stated) == len(native) else map_usage(native),
    )


def only_text(document: JsonObject, request: LLMRequest) -> CompleteEvents | None:
    """Return the events of a message that is one text; None for any other body."""
    block = only_object(document.get("content"))
    if block is None:
        return None
    text = block.get("text")
    if block.get("type") != "text" or type(text) is not str or not text or block.get("citations"):
        return None
    if unread_fields(block):
        return None
    if any(document.get(name) is not None for name in _OF_TURN):
        return None
    return text_response(skim(document, request), "text_0", text)


def _is_plain(block: Mapping[str, Any]) -> bool:
    """Return whether a block is text, thinking, or a call with flat input."""
    text = _PLAIN_BLOCKS.get(str(block.get("type")))
    if text is None or type(block.get(text)) is not str or not has_only(block, ("input",)):
        return False
    if block["type"] != "tool_use":
        return "input" not in block
    given = block.get("input")
    named = str_or_none(block["id"]) and str_or_none(block.get("name"))
    return bool(named) and isinstance(given, dict) and has_only(given)


# -- a stream that is one text: see `routes.one_text`


def one_text(
    request: LLMRequest,
    text: TextSoFar,
    fast_reader: Callable[[MessagesState], FastReader | None],
) -> TextFrames:
    """Read a stream that is one text; *fast_reader* reads its deltas."""
    message = object_or_empty(_plain((yield ()), "message_start").get("message"))
    if not message or message.get("content") or message.get("stop_reason") is not None:
        return
    context = StreamContext(provider=request.provider_id, model=request.model_id, turn=0)
    counts = object_or_empty(message.get("usage"))
    state = with_facts(MessagesState(context=context), message, NOT_OF_MESSAGE, counts)
    usage = map_usage(counts) if counts else None
    begun = start_events(PROTOCOL_ID, request, message.get("model"), message.get("id"), usage)
    event = _plain((yield begun), "content_block_start")
    block, index = object_or_empty(event.get("content_block")), event.get("index")
    if block.get("type") != "text" or block.get("text") or block.get("citations"):
        return
    if unread_fields(block):
        return
    if type(index) is not int:
        return
    events: Events = []
    text.reader = fast_reader(on_text_start(state, index, block, events))
    if _plain((yield events), "content_block_stop").get("index") != index:
        return
    end = text_end("text_0", "".join(text.chunks))
    event = _plain((yield (end,)), "message_delta")
    if object_or_empty(event.get("delta")).get("stop_reason") in (None, "refusal"):
        return
    state = on_message_delta(state, event, [])
    event = _plain((yield ()), "message_stop")
    if event:
        yield closing_events(with_facts(state, event, NOT_OF_EVENT, {}))


def _plain(frame: Frame | None, kind: str) -> Event:
    """Return the event in *frame*, which has the name of its *kind*; empty for any other one."""
    if frame is None or frame[0] != kind:
        return {}
    event = json.loads(frame[1])
    return event if isinstance(event, dict) and event.get("type") == kind else {}
