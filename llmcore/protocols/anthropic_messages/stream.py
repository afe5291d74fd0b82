"""Anthropic Messages: reading the answer.

Source: https://platform.claude.com/docs/en/build-with-claude/streaming, read November 2026.

A body that was not streamed is read as the events that would have brought it, each block
whole at its beginning, so both give the same events by construction.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from llmcore.protocols.answer_context import planned_context
from llmcore.protocols.anthropic_messages.answer_format import plan
from llmcore.protocols.anthropic_messages.content import (
    on_block_delta,
    on_block_start,
    on_block_stop,
    on_given_block,
)
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.anthropic_messages.state import Event, State
from llmcore.protocols.anthropic_messages.usage import map_usage, merged
from llmcore.protocols.endings import cut_short, finished, no_answer, stated_reason
from llmcore.protocols.errors import error_from_body
from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.protocols.protocol import Frame
from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    ErrorEvent,
    FinishReasonKind,
    LLMEvent,
    ProviderEvent,
    StepStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------


def decode(frame: Frame) -> Event | None:
    """Read one frame; None for pings. ValueError if it is not JSON."""
    name, data = frame
    if name == "ping" or not data.strip() or data.strip() == b"[DONE]":
        return None
    if name == "error":
        return _error_frame(data)
    event = json.loads(data)
    if not isinstance(event, dict):
        return {"type": "error", "error": {"message": f"an event is {event!r}"[:200]}}
    if "type" not in event and name:
        event["type"] = name
    return None if event.get("type") == "ping" else event


def _error_frame(data: bytes) -> Event:
    """Return a frame that is named an error as an event that holds one."""
    try:
        event = json.loads(data)
    except ValueError:
        event = data.decode("utf-8", "replace")
    return {"type": "error", **event} if isinstance(event, dict) else {"error": event}


def terminal(event: Event) -> bool:
    """Return whether this is the documented end."""
    return event.get("type") == "message_stop"


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[State, Sequence[LLMEvent]]


def initial(request: LLMRequest) -> State:
    """Return the state before the first event."""
    return State(context=planned_context(request, plan(request, METADATA_KEY)))


# -- stepping -----------------------------------------------------------------------------


def step(state: State, event: Event) -> Step:
    """Translate one event."""
    events: list[LLMEvent] = []
    kind = event.get("type")
    if kind == "error" or (event.get("error") and kind not in _HANDLERS):
        return state, (_error(state, event),)
    handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
    if handler is None:
        unknown = ProviderEvent(METADATA_KEY, event)
        if state.started:
            return state, (unknown,)
        return changed(state, early=(*state.early, unknown)), ()
    if not state.started and kind != "message_start":
        return state, (_fault(f"{kind} came before message_start", event),)
    return handler(state, event, events), events


def _error(state: State, event: Event) -> ErrorEvent:
    return ErrorEvent(error_from_body(provider=state.context.provider or None, body=event))


def _fault(message: str, event: Event) -> ErrorEvent:
    return ErrorEvent(StreamError(message, raw=event))


def _on_message_start(state: State, event: Event, events: list[LLMEvent]) -> State:
    message = mapping(event.get("message"))
    response_id = string(message.get("id"))
    if state.started:
        if response_id != state.envelope.response_id:
            events.append(_fault("a second message began in the stream", event))
        return state
    state = _begin(state, message, events)
    content = message.get("content")
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            state = on_given_block(state, index, block, events)
    return state


def _begin(state: State, message: Event, events: list[LLMEvent]) -> State:
    """Emit the start of the response and keep what *message* holds beside its content."""
    context = state.context
    usage = mapping(message.get("usage"))
    response_id = string(message.get("id"))
    events.append(
        StreamStart(
            provider=context.provider,
            model=string(message.get("model")) or context.model,
            id=response_id,
            protocol=PROTOCOL_ID,
            usage=map_usage(usage) if usage else None,
        )
    )
    events.extend((*state.early, StepStart()))
    reason = string(message.get("stop_reason"))
    envelope = changed(state.envelope, response_id=response_id, reason=reason)
    state = changed(state, started=True, early=(), envelope=envelope)
    return _note(state, message, _NOT_OF_MESSAGE, usage)


def _on_block_start(state: State, event: Event, events: list[LLMEvent]) -> State:
    index = _index(event, state.blocks)
    if index in state.open:  # a server that does not end its blocks
        state = on_block_stop(state, index, events)
    block = mapping(event.get("content_block"))
    if block.get("type") == "fallback":  # from here on another model answers
        model = string(mapping(block.get("to")).get("model")) or state.envelope.model
        state = changed(state, envelope=changed(state.envelope, model=model))
    return on_block_start(state, index, block, events)


def _on_block_delta(state: State, event: Event, events: list[LLMEvent]) -> State:
    index = _index(event, None)
    block = state.open.get(index)
    if block is None:
        events.append(_fault("a delta came for a block that is not open", event))
        return state
    return on_block_delta(state, index, block, mapping(event.get("delta")), events)


def _on_block_stop(state: State, event: Event, events: list[LLMEvent]) -> State:
    index = _index(event, None)
    return on_block_stop(state, index, events) if index in state.open else state


def _index(event: Event, default: int | None) -> object:
    """Return the block's index, in a form that can be looked up."""
    index = event.get("index")
    return index if isinstance(index, int | str) else default


def _on_message_delta(state: State, event: Event, _events: list[LLMEvent]) -> State:
    delta = mapping(event.get("delta"))
    state = _note(state, delta, _NOT_OF_DELTA, mapping(event.get("usage")))
    state = _note(state, event, _NOT_OF_EVENT, {})
    reason = string(delta.get("stop_reason"))
    if reason is None:
        return state
    return changed(state, envelope=changed(state.envelope, reason=reason))


def _on_message_stop(state: State, event: Event, _events: list[LLMEvent]) -> State:
    return changed(_note(state, event, _NOT_OF_EVENT, {}), stopped=True)


_HANDLERS: Final[dict[str, Any]] = {
    "content_block_delta": _on_block_delta,
    "content_block_start": _on_block_start,
    "content_block_stop": _on_block_stop,
    "message_start": _on_message_start,
    "message_delta": _on_message_delta,
    "message_stop": _on_message_stop,
}

# -- the answer as a whole

_NOT_OF_MESSAGE: Final = frozenset(
    {"id", "type", "role", "model", "content", "stop_reason", "usage"}
)
_NOT_OF_DELTA: Final = frozenset({"stop_reason"})
_NOT_OF_EVENT: Final = frozenset({"type", "delta", "usage", "message", "index"})
_OF_USAGE: Final = ("service_tier", "inference_geo", "speed")


def _note(
    state: State, holder: Mapping[str, Any], left_out: frozenset[str], usage: JsonObject
) -> State:
    """Keep what *holder* and *usage* say of the answer as a whole."""
    said = {k: v for k, v in holder.items() if k not in left_out and v is not None}
    said.update({name: usage[name] for name in _OF_USAGE if usage.get(name) is not None})
    envelope = state.envelope
    if usage:
        envelope = changed(envelope, usage=merged(envelope.usage, usage))
    if said:
        envelope = changed(envelope, metadata={**envelope.metadata, **said})
    return state if envelope is state.envelope else changed(state, envelope=envelope)


# -- the end


def halt(state: State) -> Sequence[LLMEvent]:
    """Finish the answer if its documented end came."""
    if not state.stopped:
        return (cut_short("message_stop"),)
    events: list[LLMEvent] = []
    for index in list(state.open):
        state = on_block_stop(state, index, events)
    _explain_refusal(state, events)
    envelope = state.envelope
    reason = stated_reason(envelope.reason, _REASONS, called=state.called, answered=state.answered)
    usage = None if envelope.usage is None else map_usage(envelope.usage)
    metadata = {METADATA_KEY: envelope.metadata} if envelope.metadata else {}
    end = finished(reason, usage, metadata, envelope.raw, model=envelope.model)
    return (*events, *end)


def _explain_refusal(state: State, events: list[LLMEvent]) -> None:
    """Say why the provider stopped the answer, where it tells; the model did not say it."""
    details = mapping(state.envelope.metadata.get("stop_details"))
    explanation = string(details.get("explanation"))
    if state.envelope.reason != "refusal" or explanation is None:
        return
    segment = f"text_{state.blocks}"
    metadata = {METADATA_KEY: {"stop_details": details}}
    events.append(TextStart(segment, refusal=True))
    events.append(TextDelta(segment, explanation))
    events.append(TextEnd(segment, refusal=True, provider_metadata=metadata))


_REASONS: Final[dict[str, FinishReasonKind]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "pause_turn": "other",  # the provider's tools need more time: send the answer back to go on
    "compaction": "other",  # only the summary came
}


# -- a whole body


def whole(document: JsonValue, request: LLMRequest) -> Iterable[LLMEvent]:
    """Return the events of a message."""
    start = initial(request)
    if not isinstance(document, dict):
        return (no_answer("is not an object", document),)
    if document.get("type") == "error" or document.get("error"):
        return (_error(start, document),)
    if "content" not in document:
        return (no_answer("holds no content", document),)
    events: list[LLMEvent] = []
    start = changed(start, envelope=changed(start.envelope, raw=document))
    state = _begin(start, document, events)
    for index, block in enumerate(dicts(document["content"])):
        state = on_block_stop(on_block_start(state, index, block, events), index, events)
    return (*events, *halt(changed(state, stopped=True)))
