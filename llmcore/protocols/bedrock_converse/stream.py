"""Bedrock Converse: reading the answer.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html,
read November 2026.

A message is whole with its `messageStop`; `metadata`, which counts tokens, comes after it. A
body that was not streamed is read as the deltas that would have brought it, so both give the
same events by construction.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from llmcore.protocols.answer_context import planned_context
from llmcore.protocols.bedrock_converse.answer_format import plan
from llmcore.protocols.bedrock_converse.closing import on_block_stop
from llmcore.protocols.bedrock_converse.content import (
    on_block_delta,
    on_block_start,
    on_whole_block,
)
from llmcore.protocols.bedrock_converse.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.bedrock_converse.state import Event, Native, State
from llmcore.protocols.bedrock_converse.usage import map_usage
from llmcore.protocols.endings import cut_short, finished, no_answer, stated_reason, unreadable
from llmcore.protocols.errors import error_from_body
from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.protocols.protocol import Frame
from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import (
    ErrorEvent,
    FinishReasonKind,
    LLMEvent,
    ProviderEvent,
    StepStart,
    StreamStart,
)
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------


def decode(frame: Frame) -> Event | None:
    """Read one frame; None for one that says nothing. ValueError if it is not JSON."""
    name, data = frame
    if name.startswith(_FAULTS):
        return name, _fault_payload(data)
    if name == "initial-response" or not data.strip():
        return None
    payload = json.loads(data)
    if not isinstance(payload, dict):
        return "error:", {"message": f"an event is {payload!r}"[:200]}
    if name:
        return name, payload
    return _named(payload)


def _fault_payload(data: bytes) -> Native:
    """Return what an error frame says; errors of the connection may come as text."""
    try:
        payload = json.loads(data)
    except ValueError:
        payload = None
    if isinstance(payload, dict):
        return payload
    return {"message": data.decode("utf-8", "replace")}


def _named(payload: Native) -> Event | None:
    """Return an event whose name stands in the payload, as other framings carry it."""
    for name, value in payload.items():
        if isinstance(value, dict):
            return f"exception:{name}" if name.endswith("Exception") else name, value
    return ("error:", payload) if "message" in payload else ("", payload)


_FAULTS: Final = ("exception:", "error:")


def terminal(_event: Event) -> bool:
    """Return False: `metadata` should be the last, but servers that imitate the API differ."""
    return False


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[State, Sequence[LLMEvent]]


def initial(request: LLMRequest) -> State:
    """Return the state before the first event."""
    return State(context=planned_context(request, plan(request, METADATA_KEY)))


# -- stepping -----------------------------------------------------------------------------


def step(state: State, event: Event) -> Step:
    """Translate one event."""
    name, data = event
    try:
        return _step(state, name, data)
    except InvalidRequestError as error:  # values refuse what is nested too deeply
        return state, (unreadable(error, data),)


def _step(state: State, name: str, data: Native) -> Step:
    if name.startswith(_FAULTS):
        return state, (_fault(state, name, data),)
    events: list[LLMEvent] = []
    if not state.started:
        state = _start(state, events)
    handler = _HANDLERS.get(name)
    if handler is None:
        events.append(ProviderEvent(METADATA_KEY, {name: data} if name else data))
        return state, events
    return handler(state, data, events), events


def _fault(state: State, name: str, data: Native) -> ErrorEvent:
    kind = name.partition(":")[2]
    body = {"__type": kind, **data} if kind else data
    return ErrorEvent(error_from_body(provider=state.context.provider or None, body=body))


def _start(state: State, events: list[LLMEvent]) -> State:
    """Begin the answer, with whatever comes first: the API names neither it nor its model."""
    context = state.context
    start = StreamStart(provider=context.provider, model=context.model, protocol=PROTOCOL_ID)
    events.extend((start, StepStart()))
    return changed(state, started=True)


def _on_message_start(state: State, data: Native, _events: list[LLMEvent]) -> State:
    return _note(state, data)


def _on_block_start(state: State, data: Native, events: list[LLMEvent]) -> State:
    return on_block_start(state, _index(data), mapping(data.get("start")), events)


def _on_block_delta(state: State, data: Native, events: list[LLMEvent]) -> State:
    return on_block_delta(state, _index(data), mapping(data.get("delta")), events)


def _on_block_stop(state: State, data: Native, events: list[LLMEvent]) -> State:
    index = _index(data)
    return on_block_stop(state, index, events) if index in state.open else state


def _index(data: Native) -> object:
    """Return the block's index, in a form that can be looked up."""
    index = data.get("contentBlockIndex")
    return index if isinstance(index, int | str) else None


def _on_message_stop(state: State, data: Native, _events: list[LLMEvent]) -> State:
    reason = string(data.get("stopReason"))
    envelope = changed(state.envelope, reason=reason, stopped=True)
    return _note(changed(state, envelope=envelope), data)


def _on_metadata(state: State, data: Native, _events: list[LLMEvent]) -> State:
    usage = mapping(data.get("usage"))
    envelope = changed(state.envelope, counted=True, usage=usage or state.envelope.usage)
    return _note(changed(state, envelope=envelope), data)


_HANDLERS: Final[dict[str, Callable[[State, Native, list[LLMEvent]], State]]] = {
    "contentBlockDelta": _on_block_delta,
    "contentBlockStart": _on_block_start,
    "contentBlockStop": _on_block_stop,
    "messageStart": _on_message_start,
    "messageStop": _on_message_stop,
    "metadata": _on_metadata,
}

# -- the answer as a whole

_NOT_METADATA: Final = frozenset({"output", "stopReason", "usage", "role", "p"})
"""`p` is padding, which hides the length of what is said."""


def _note(state: State, holder: Mapping[str, Any]) -> State:
    """Keep what *holder* says of the answer as a whole: metrics, trace, service tier, ..."""
    said = {k: v for k, v in holder.items() if k not in _NOT_METADATA and v is not None}
    if not said:
        return state
    envelope = changed(state.envelope, metadata={**state.envelope.metadata, **said})
    return changed(state, envelope=envelope)


# -- the end


def halt(state: State) -> Sequence[LLMEvent]:
    """Finish the answer if it said why it ended."""
    if not state.envelope.stopped:
        return (cut_short("messageStop"),)
    try:
        return _finish(state)
    except InvalidRequestError as error:
        return (unreadable(error, None),)


def _finish(state: State) -> Sequence[LLMEvent]:
    events: list[LLMEvent] = []
    for index in list(state.open):
        state = on_block_stop(state, index, events)
    envelope = state.envelope
    reason = stated_reason(envelope.reason, _REASONS, called=state.called, answered=state.answered)
    usage = None if envelope.usage is None else map_usage(envelope.usage)
    metadata = {METADATA_KEY: envelope.metadata} if envelope.metadata else {}
    notes = () if envelope.counted else (_UNCOUNTED,)
    return (*events, *finished(reason, usage, metadata, envelope.raw, notes))


_UNCOUNTED: Final = Diagnostic(
    "usage-missing",
    "usage",
    action="noted",
    message="the stream ended after the answer, but before the event that counts its tokens",
)

_REASONS: Final[dict[str, FinishReasonKind]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}


# -- a whole body


def whole(document: JsonValue, request: LLMRequest) -> Iterable[LLMEvent]:
    """Return the events of a `ConverseResponse`."""
    start = initial(request)
    if not isinstance(document, dict):
        return (no_answer("is not an object", document),)
    message = mapping(mapping(document.get("output")).get("message"))
    if not message:
        if "output" not in document and _is_error(document):
            return (_fault(start, "error:", document),)
        return (no_answer("holds no message", document),)
    try:
        return _whole(start, document, message)
    except InvalidRequestError as error:
        return (unreadable(error, None),)


def _is_error(document: Native) -> bool:
    names = {"message", "Message", "__type", "error"}
    return bool(names & document.keys()) or any(name.endswith("Exception") for name in document)


def _whole(state: State, document: Native, message: Native) -> Iterable[LLMEvent]:
    events: list[LLMEvent] = []
    state = _start(changed(state, envelope=changed(state.envelope, raw=document)), events)
    for index, block in enumerate(dicts(message.get("content"))):
        state = on_whole_block(state, index, block, events)
    state = _on_metadata(state, document, events)
    reason = string(document.get("stopReason"))
    state = changed(state, envelope=changed(state.envelope, reason=reason, stopped=True))
    return (*events, *halt(state))
