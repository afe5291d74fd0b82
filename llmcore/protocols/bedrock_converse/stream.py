"""Bedrock Converse: the stream as a state machine, and bodies that were not streamed.

Source:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html, read
November 2026.

    messageStart       {"role": "assistant", "p": "abcd"}
    contentBlockDelta  {"contentBlockIndex": 0, "delta": {"text": "Hello"}, "p": "ab"}

A message is complete with its `messageStop`; `metadata`, which counts tokens, comes after it. A
body that was not streamed is read as blocks that are complete where they start, so both give the
same events by construction.

Deltas that only continue a segment, which nearly all events are, take the per-token path at the end
of this module.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from llmcore.folds.grammar import has_content
from llmcore.protocols.bedrock_converse import calls, content, finish
from llmcore.protocols.bedrock_converse.models import is_claude, plan_format
from llmcore.protocols.bedrock_converse.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.bedrock_converse.state import ConverseState, Event, keep_delta
from llmcore.protocols.blocks import Block, last_opened, open_block
from llmcore.protocols.claude_tools import own_properties
from llmcore.protocols.protocol import FastReader, Frame
from llmcore.protocols.response_parts import (
    Events,
    empty_response,
    server_error,
    stream_context,
    truncated,
)
from llmcore.schema import json
from llmcore.schema.events import ErrorEvent, LLMEvent, ProviderEvent, StepStart, StreamStart
from llmcore.schema.json import JsonValue, NativeObject, json_or_text
from llmcore.schema.native_json import object_or_empty, objects, str_or_none
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------


def decode(frame: Frame) -> Event | None:
    """Read one frame; None for a frame without content. ValueError if it is not JSON."""
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


def _fault_payload(data: bytes) -> NativeObject:
    """Return the content of an error frame; errors of the connection may come as text."""
    payload = json_or_text(data)
    return payload if isinstance(payload, dict) else {"message": data.decode("utf-8", "replace")}


def _named(payload: NativeObject) -> Event | None:
    """Return an event whose name is in the payload, as other framings carry it."""
    for name, value in payload.items():
        if isinstance(value, dict):
            return f"exception:{name}" if name.endswith("Exception") else name, value
    return ("error:", payload) if "message" in payload else ("", payload)


_FAULTS: Final = ("exception:", "error:")


def terminal(_event: Event) -> bool:
    """Return False: `metadata` should be the last, but servers that imitate the API differ."""
    return False


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[ConverseState, Sequence[LLMEvent]]


def initial(request: LLMRequest) -> ConverseState:
    """Return the state before the first event."""
    plan = plan_format(request)
    properties = own_properties(request, plan) if is_claude(request) else {}
    return ConverseState(context=stream_context(request, plan, properties=properties))


# -- stepping -----------------------------------------------------------------------------


def step(state: ConverseState, event: Event) -> Step:
    """Translate one event."""
    name, data = event
    if name.startswith(_FAULTS):
        return state, (_fault(state, name, data),)
    events: Events = []
    if not state.started:
        state = _start(state, events)
    handler = _HANDLERS.get(name)
    if handler is None:
        events.append(ProviderEvent(METADATA_KEY, {name: data} if name else data))
        return state, events
    return handler(state, data, events), events


def _fault(state: ConverseState, name: str, data: NativeObject) -> ErrorEvent:
    kind = name.partition(":")[2]
    body = {"__type": kind, **data} if kind else data
    return server_error(state.context, body)


def _start(state: ConverseState, events: Events) -> ConverseState:
    """Emit the start of the response at the first event; the API gives no id and no model."""
    context = state.context
    start = StreamStart(provider=context.provider, model=context.model, protocol=PROTOCOL_ID)
    events.extend((start, StepStart()))
    return replace(state, started=True)


def _on_block_start(state: ConverseState, data: NativeObject, events: Events) -> ConverseState:
    return _open(state, _index(data), object_or_empty(data.get("start")), events)


def _open(
    state: ConverseState, index: object, block: NativeObject, events: Events
) -> ConverseState:
    """Open *block* with whatever of its content it holds; an empty start opens none.

    The API's own starts hold a tool's name, the id of a result or a format. A start may hold
    more, up to the complete block of a body that was not streamed. A block is a union, of which
    servers may write all members, most of them null; beside a known one, another is passed on.
    """
    if index in state.open:  # a server that does not end its blocks
        state = content.close(state, index, events)
    given = {name: value for name, value in block.items() if value is not None}
    others: NativeObject = {}
    for name, value in given.items():
        if name in ("text", "citation"):
            state = _DELTAS[name](state, index, {name: value}, events)
        elif name in _STARTS and isinstance(value, dict):
            if index in state.open:
                state = content.close(state, index, events)
            state = _STARTS[name](state, index, name, value, events)
        else:
            others[name] = value
    if others and len(others) == len(given):
        return open_block(state, index, Block(kind="opaque", native=others))
    if others:
        events.append(ProviderEvent(METADATA_KEY, {"contentBlock": others}))
    return state


_STARTS: Final[
    Mapping[str, Callable[[ConverseState, object, str, NativeObject, Events], ConverseState]]
] = {
    "toolUse": calls.on_call_start,
    "toolResult": calls.on_result_start,
    "image": content.on_media_start,
    "audio": content.on_media_start,
    "reasoningContent": lambda state, index, name, block, events: content.on_reasoning(
        state, index, {name: block}, events
    ),
    "citationsContent": content.on_cited_text,
}


def _on_block_delta(state: ConverseState, data: NativeObject, events: Events) -> ConverseState:
    index = _index(data)
    for name, value in object_or_empty(data.get("delta")).items():
        if value is not None:
            state = _DELTAS.get(name, keep_delta)(state, index, {name: value}, events)
    return state


_DELTAS: Final[
    Mapping[str, Callable[[ConverseState, object, NativeObject, Events], ConverseState]]
] = {
    "text": content.on_text,
    "toolUse": calls.on_input,
    "reasoningContent": content.on_reasoning,
    "citation": content.on_citation,
    "toolResult": calls.on_result,
    "image": content.on_image,
}


def _on_block_stop(state: ConverseState, data: NativeObject, events: Events) -> ConverseState:
    index = _index(data)
    return content.close(state, index, events) if index in state.open else state


def _index(data: NativeObject) -> object:
    """Return the block's index, in a form that can be looked up."""
    index = data.get("contentBlockIndex")
    return index if isinstance(index, int | str) else None


def _on_message_stop(state: ConverseState, data: NativeObject, _events: Events) -> ConverseState:
    info = replace(state.info, reason=str_or_none(data.get("stopReason")), stopped=True)
    return finish.with_facts(replace(state, info=info), data)


_HANDLERS: Final[dict[str, Callable[[ConverseState, NativeObject, Events], ConverseState]]] = {
    "contentBlockDelta": _on_block_delta,
    "contentBlockStart": _on_block_start,
    "contentBlockStop": _on_block_stop,
    "messageStart": lambda state, data, _events: finish.with_facts(state, data),
    "messageStop": _on_message_stop,
    "metadata": lambda state, data, _events: finish.with_usage(state, data),
}


# -- the end ------------------------------------------------------------------------------


def halt(state: ConverseState) -> Sequence[LLMEvent]:
    """Return the end of the response; an error if it did not state why it ended."""
    if not state.info.stopped:
        return (truncated("messageStop"),)
    events: Events = []
    for index in list(state.open):
        state = content.close(state, index, events)
    return (*events, *finish.closing_events(state))


# -- a whole body -------------------------------------------------------------------------


def whole(document: JsonValue, request: LLMRequest) -> Iterable[LLMEvent]:
    """Return the events of a `ConverseResponse`."""
    if not isinstance(document, dict):
        return (empty_response("is not an object", document),)
    text = finish.only_text(document, request)
    if text is not None:
        return text
    state = initial(request)
    message = object_or_empty(object_or_empty(document.get("output")).get("message"))
    if not message:
        if "output" not in document and _is_error(document):
            return (_fault(state, "error:", document),)
        return (empty_response("holds no message", document),)
    events: Events = []
    info = replace(state.info, raw=document)
    state = _start(replace(state, info=info), events)
    for index, block in enumerate(objects(message.get("content"))):
        state = _open(state, index, block, events)
        if index in state.open:
            state = content.close(state, index, events)
    state = finish.with_usage(state, document)
    info = replace(state.info, reason=str_or_none(document.get("stopReason")), stopped=True)
    if info.reason is None and not has_content(events):
        return (empty_response("has neither content nor a stopReason", document),)
    return (*events, *halt(replace(state, info=info)))


def _is_error(document: NativeObject) -> bool:
    names = {"message", "Message", "__type", "error"}
    return bool(names & document.keys()) or any(name.endswith("Exception") for name in document)


# -- the per-token path -------------------------------------------------------------------


class _Text(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    held: str = msgspec.field(name="text")


class _Input(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    text: str = msgspec.field(name="input")


class _Thought(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    text: str


class _ToolUse(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    held: _Input = msgspec.field(name="toolUse")


class _Reasoning(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    held: _Thought = msgspec.field(name="reasoningContent")


_Delta = TypeVar("_Delta", _Text, _ToolUse, _Reasoning)


class _DeltaEvent(msgspec.Struct, Generic[_Delta], gc=False, rename="camel"):
    content_block_index: int
    delta: _Delta


_READERS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    "text": msgspec.json.Decoder(_DeltaEvent[_Text]).decode,
    "toolUse": msgspec.json.Decoder(_DeltaEvent[_ToolUse]).decode,
    "reasoningContent": msgspec.json.Decoder(_DeltaEvent[_Reasoning]).decode,
}
"""The decoders of events whose delta has only this field."""


def fast_reader(state: ConverseState) -> FastReader | None:
    """Return how to read the events that only continue the block that was opened last."""
    index, block = last_opened(state)
    outer, inner = block.fast_path
    decode = _READERS.get(outer)
    if decode is None:
        return None

    def read(frames: Iterable[Frame]) -> list[str]:
        texts: list[str] = []
        for name, data in frames:
            try:
                event = decode(data)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                break
            held: Any = event.delta.held
            text: str = held.text if inner else held
            if not text or event.content_block_index != index or name != "contentBlockDelta":
                break
            texts.append(text)
        return texts

    return FastReader(block.emits, block.segment, read)
