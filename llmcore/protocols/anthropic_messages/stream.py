"""Anthropic Messages: the stream as a state machine, and bodies that were not streamed.

Source: https://platform.claude.com/docs/en/build-with-claude/streaming, read November 2026.

    {"type": "message_start", "message": {"id": "msg_1", "model": "claude-opus-5", "content": [],
     "stop_reason": null, "usage": {"input_tokens": 25, "output_tokens": 1}, ...}}

Bedrock's InvokeModelWithResponseStream has each event in a message of an AWS event stream, in
base64 and beside padding
(https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html):

    chunk {"bytes": "eyJ0eXBlIjoibWVzc2FnZV9zdG9wIn0=", "p": "abcd"}

A new event is read by a row of `_HANDLERS`, a new delta of `_DELTAS`, a new block of `_STARTS` and
`_ENDS`. A body that was not streamed is read as the events that would have brought it, each block
complete at its start, so both give the same events by construction.

Deltas that only continue a segment, which nearly all events are, take the per-token path at the end
of this module.
"""

from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from llmcore.folds.grammar import has_content
from llmcore.protocols.anthropic_messages import calls, content, finish, names
from llmcore.protocols.anthropic_messages.models import RulesOf, plan_format, rules_of
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.anthropic_messages.state import Event, MessagesState
from llmcore.protocols.blocks import Block, close_block, end_format_call, last_opened, replace_block
from llmcore.protocols.claude_tools import own_properties
from llmcore.protocols.failures.error_body import has_error_fields, states_failure
from llmcore.protocols.protocol import DeltaForm, FastReader, Frame, TextReader
from llmcore.protocols.response_parts import (
    Events,
    empty_response,
    server_error,
    stream_context,
    truncated,
)
from llmcore.schema import json
from llmcore.schema.errors import StreamError
from llmcore.schema.events import ErrorEvent, LLMEvent, ProviderEvent, StepStart, StreamStart
from llmcore.schema.json import JsonValue, json_or_text
from llmcore.schema.native_json import object_or_empty, objects, str_or_none
from llmcore.schema.persistent import PersistentList, to_list
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------


def decode(frame: Frame) -> Event | None:
    """Return the event of a frame; None for pings. ValueError if it is not JSON."""
    name, data = frame
    if name == "chunk":
        name, data = "", _chunk_bytes(data)
    elif name.startswith(_FAULTS):
        fault = object_or_empty(json.loads(data))
        return {"type": "error", "error": {"type": name.partition(":")[2], **fault}}
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


_FAULTS: Final = ("exception:", "error:")
"""How the names of frames begin that are exceptions and errors of an AWS event stream."""


def _chunk_bytes(data: bytes) -> bytes:
    within = str_or_none(object_or_empty(json.loads(data)).get("bytes"))
    if within is None:
        raise ValueError("a chunk without bytes")
    return b64decode(within, validate=True)


def _error_frame(data: bytes) -> Event:
    """Return the event of a frame that is named an error, whatever it holds."""
    event = json_or_text(data)
    return {"type": "error", **event} if isinstance(event, dict) else {"error": event}


def is_own(document: Event) -> bool:
    """Return whether an event or a body is certainly one of this API."""
    kind = document.get("type")
    if kind == "message":
        return isinstance(document.get("content"), list)
    return kind in ("message_start", "content_block_start", "content_block_delta")


def terminal(event: Event) -> bool:
    """Return whether this is the documented end."""
    return event.get("type") == "message_stop"


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[MessagesState, Sequence[LLMEvent]]


def initial(request: LLMRequest, *, rules_of: RulesOf = rules_of) -> MessagesState:
    """Return the state before the first event."""
    plan = plan_format(request, rules_of(request.model_id))
    properties = own_properties(request, plan)
    return MessagesState(context=stream_context(request, plan, properties=properties))


# -- stepping -----------------------------------------------------------------------------


def step(state: MessagesState, event: Event) -> Step:
    """Translate one event."""
    events: Events = []
    kind = event.get("type")
    handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
    if handler is None and _is_error(event):
        return state, (server_error(state.context, event),)
    if handler is None:
        unknown = ProviderEvent(METADATA_KEY, event)
        if state.started:
            return state, (unknown,)
        return replace(state, early=PersistentList(unknown, state.early)), ()
    if not state.started and kind != "message_start":
        return state, (_fault(f"{kind} arrived before message_start", event),)
    return handler(state, event, events), events


def _is_error(event: Event) -> bool:
    """Return whether *event*, none of the API's own, is an error, in the form of any server."""
    if event.get("error") or "error" in (event.get("type"), event.get("object")):
        return True
    return event.get("type") is None and has_error_fields(event)


def _fault(message: str, event: Event) -> ErrorEvent:
    return ErrorEvent(StreamError(message, raw=event))


def _on_message_start(state: MessagesState, event: Event, events: Events) -> MessagesState:
    """Emit the start of the response, and open the blocks that the message already holds."""
    message = object_or_empty(event.get("message"))
    if state.started:
        if str_or_none(message.get("id")) != state.info.response_id:
            events.append(_fault("a second message began in the stream", event))
        return state
    state = _begin(state, message, events)
    blocks = message.get("content")
    for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
        if isinstance(block, dict):
            state = _open(_without_whole(state, events), index, block, events)
    return _without_whole(state, events)


def _without_whole(state: MessagesState, events: Events) -> MessagesState:
    """Close the last block if it came whole: it is emitted at its end, before the next one."""
    index, block = last_opened(state)
    whole = block.kind in ("result", "opaque") and index in state.open
    return _close(state, index, events) if whole else state


def _begin(state: MessagesState, message: Event, events: Events) -> MessagesState:
    """Emit the start of the response and keep what *message* holds beside its content."""
    context, usage = state.context, object_or_empty(message.get("usage"))
    response_id = str_or_none(message.get("id"))
    events.append(
        StreamStart(
            provider=context.provider,
            model=str_or_none(message.get("model")) or context.model,
            id=response_id,
            protocol=PROTOCOL_ID,
            usage=finish.map_usage(usage) if usage else None,
        )
    )
    events += (*to_list(state.early), StepStart())
    reason = str_or_none(message.get("stop_reason"))
    info = replace(state.info, response_id=response_id, reason=reason)
    state = replace(state, started=True, early=None, info=info)
    return finish.with_facts(state, message, finish.NOT_OF_MESSAGE, usage)


def _on_block_start(state: MessagesState, event: Event, events: Events) -> MessagesState:
    index = _index(event, state.blocks)
    state = _without_whole(state, events)
    if index in state.open:  # a server that does not end its blocks
        state = _close(state, index, events)
    block = object_or_empty(event.get("content_block"))
    if block.get("type") == names.FALLBACK:  # from here on another model answers
        model = str_or_none(object_or_empty(block.get("to")).get("model")) or state.info.model
        state = replace(state, info=replace(state.info, model=model))
    return _open(state, index, block, events)


def _open(state: MessagesState, index: object, block: Event, events: Events) -> MessagesState:
    """Open *block*, which may be complete already."""
    kind = block.get("type")
    if not isinstance(kind, str):
        return content.on_opaque_start(state, index, block, events)
    if kind.endswith(names.RESULT_SUFFIX) and str_or_none(block.get("tool_use_id")):
        return calls.on_result_start(state, index, block, events)
    return _STARTS.get(kind, content.on_opaque_start)(state, index, block, events)


_STARTS: Final[dict[str, Callable[[MessagesState, object, Event, Events], MessagesState]]] = {
    "text": content.on_text_start,
    "thinking": content.on_thinking_start,
    "redacted_thinking": content.on_thinking_start,
    **dict.fromkeys(names.TOOL_CALL_TYPES, calls.on_call_start),
}


def _on_block_delta(state: MessagesState, event: Event, events: Events) -> MessagesState:
    index, delta = _open_index(event, state), object_or_empty(event.get("delta"))
    kind = str(delta.get("type"))
    if index not in state.open:
        if kind not in _BEGUN_BY or not isinstance(index, int):
            events.append(_fault("a delta arrived for a block that is not open", event))
            return state
        state = _open(state, index, {"type": _BEGUN_BY[kind]}, events)
    events += (
        ProviderEvent(METADATA_KEY, {name: holder[name]})
        for holder in (event, delta)
        for name in names.OF_TOKENS
        if holder.get(name)
    )
    block = state.open[index]
    fast, field = block.fast_path
    if kind == fast:
        text = delta.get(field)
        if isinstance(text, str) and text:
            events.append(block.emits(block.segment, text))
        return state
    after = _DELTAS.get(kind, content.keep_delta)(block, delta, events)
    return state if after is block else replace_block(state, index, after)


_BEGUN_BY: Final = {"text_delta": "text", "thinking_delta": "thinking"}
"""The blocks that a delta begins by itself: gateways have left out their starts, which are empty.

What comes after the stop of such a block is another one.

Source: https://github.com/BerriAI/litellm/pull/30115.
"""
_DELTAS: Final[dict[str, Callable[[Block, Event, Events], Block]]] = {
    "input_json_delta": calls.on_input,
    "signature_delta": content.on_signature,
    "citations_delta": content.on_citation,
}


def _on_block_stop(state: MessagesState, event: Event, events: Events) -> MessagesState:
    index = _open_index(event, state)
    return _close(state, index, events) if index in state.open else state


def _close(state: MessagesState, index: object, events: Events) -> MessagesState:
    """Close the block at *index*; emits its end."""
    state, block = close_block(state, index)
    if block.kind == "result":
        return calls.end_result(state, block, events)
    _ENDS[block.kind](block, events)
    return state


_ENDS: Final[dict[str, Callable[[Block, Events], None]]] = {
    "text": content.end_text,
    "reasoning": content.end_thinking,
    "tool": calls.end_tool,
    "freeform": calls.end_tool,
    "format": end_format_call,
    "opaque": content.end_opaque,
}


def _index(event: Event, default: int | None) -> object:
    """Return the block's index, in a form that can be looked up."""
    index = event.get("index")
    return index if isinstance(index, int | str) else default


def _open_index(event: Event, state: MessagesState) -> object:
    """Return the index of the block that *event* is of.

    Without one it is of the last: servers in Go may leave out a number that is 0, such as that of
    https://github.com/looplj/axonhub/pull/251.
    """
    index = _index(event, None)
    return last_opened(state)[0] if index is None else index


def _on_message_stop(state: MessagesState, event: Event, _events: Events) -> MessagesState:
    return replace(finish.with_facts(state, event, finish.NOT_OF_EVENT, {}), stopped=True)


_HANDLERS: Final[dict[str, Callable[[MessagesState, Event, Events], MessagesState]]] = {
    "content_block_delta": _on_block_delta,
    "content_block_start": _on_block_start,
    "content_block_stop": _on_block_stop,
    "message_start": _on_message_start,
    "message_delta": finish.on_message_delta,
    "message_stop": _on_message_stop,
}


# -- the end ------------------------------------------------------------------------------


def halt(state: MessagesState) -> Sequence[LLMEvent]:
    """Return the end of the response; an error if its documented end did not come.

    Two of its three signs are enough. Gateways may leave out `message_stop`, which the accumulators
    of Anthropic's SDKs do without, or write it alone where they lost their server; a stop reason
    may be in `message_start`.
    """
    if sum((state.info.reason is not None, state.counted, state.stopped)) < 2:
        return (truncated("stop_reason"),)
    events: Events = []
    for index in list(state.open):
        state = _close(state, index, events)
    return (*events, *finish.closing_events(state))


# -- a whole body -------------------------------------------------------------------------


def whole(
    document: JsonValue, request: LLMRequest, *, rules_of: RulesOf = rules_of
) -> Iterable[LLMEvent]:
    """Return the events of a message."""
    if not isinstance(document, dict):
        return (empty_response("is not an object", document),)
    text = finish.only_text(document, request)
    if text is not None:
        return text
    start = initial(request, rules_of=rules_of)
    failed = document.get("error") or states_failure(document)
    if failed or ("content" not in document and _is_error(document)):
        return (server_error(start.context, document),)
    if "content" not in document:
        return (empty_response("holds no content", document),)
    events: Events = []
    state = _begin(replace(start, info=replace(start.info, raw=document)), document, events)
    given = document["content"]
    # other servers may write the text alone, as in requests
    blocks = [{"type": "text", "text": given}] if isinstance(given, str) else objects(given)
    for index, block in enumerate(blocks):
        state = _close(_open(state, index, block, events), index, events)
    if str_or_none(document.get("stop_reason")) is None and not has_content(events):
        return (empty_response("has neither content nor a stop_reason", document),)
    return (*events, *halt(replace(state, counted=True, stopped=True)))


# -- the per-token path -------------------------------------------------------------------


class _Text(msgspec.Struct, gc=False, tag_field="type", tag="text_delta"):
    text: str


class _Thinking(msgspec.Struct, gc=False, tag_field="type", tag="thinking_delta"):
    text: str = msgspec.field(name="thinking")
    estimated_tokens: None = None


class _Input(msgspec.Struct, gc=False, tag_field="type", tag="input_json_delta"):
    text: str = msgspec.field(name="partial_json")


class _DeltaEvent(msgspec.Struct, gc=False):
    type: Literal["content_block_delta"]
    index: int
    delta: _Text | _Thinking | _Input
    output_ids: None = None
    output_token_logprobs: None = None


_TYPES: Final = {"text_delta": _Text, "thinking_delta": _Thinking, "input_json_delta": _Input}
_read_delta: Final = msgspec.json.Decoder(_DeltaEvent).decode
_UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)
_NAMES: Final = ("content_block_delta", "")


def fast_reader(state: MessagesState) -> FastReader | None:
    """Return how to read the events that only continue the block that was opened last."""
    index, block = last_opened(state)
    type_ = _TYPES.get(block.fast_path[0])
    if type_ is None:
        return None

    def read(frames: Iterable[Frame]) -> list[str]:
        texts: list[str] = []
        for name, data in frames:
            try:
                event = _read_delta(data)
            except _UNREADABLE:
                break
            delta = event.delta
            text = delta.text
            other = type(delta) is not type_ or event.index != index
            if other or not text or name not in _NAMES:
                break
            texts.append(text)
        return texts

    return FastReader(block.emits, block.segment, read)


# -- events that only continue a block, which a relay passes on unread


def text_reader(data: bytes) -> TextReader | None:
    """Return a reader of deltas of the same block and type as the one in *data*."""
    try:
        first = _read_delta(data)
    except _UNREADABLE:
        return None
    index, type_ = first.index, type(first.delta)

    def read(data: bytes) -> str | None:
        try:
            event = _read_delta(data)
        except _UNREADABLE:
            return None
        same = type(event.delta) is type_ and event.index == index
        return event.delta.text if same else None

    return read


def _with_text(event: Event, text: str) -> None:
    delta = event["delta"]
    delta[_TYPES[delta["type"]].__struct_encode_fields__[0]] = text


DELTAS: Final = DeltaForm(reader=text_reader, with_text=_with_text)
