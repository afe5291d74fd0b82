"""OpenAI Responses: reading the response.

    event: response.output_text.delta
    data: {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
           "content_index": 0, "delta": "Hel", "sequence_number": 4}

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events, read
November 2026.

An item is read from its last whole form: the one that ends it, or the one in the final response.
Deltas are added to it, so that servers that send only deltas, only ends, or only the final response
give the same response. A body that was not streamed is read as such a final response.

Deltas that only continue a segment, which nearly all events are, take the per-token path at the end
of this module.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from llmcore.protocols.failures.error_body import foreign_document, has_error_fields
from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.openai_responses import calls, content, finish, matching
from llmcore.protocols.openai_responses.names import (
    API_NAME,
    CALL_TYPES,
    OUTPUT_TOOLS,
    TERMINAL_EVENTS,
)
from llmcore.protocols.openai_responses.state import Item, ResponsesInfo, ResponsesState, with_item
from llmcore.protocols.protocol import DeltaForm, FastReader, Frame, TextReader
from llmcore.protocols.response_parts import (
    Events,
    StreamContext,
    empty_response,
    truncated,
    until_error,
)
from llmcore.protocols.tools import freeform_tools
from llmcore.schema import json
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.json import JsonValue, NativeObject, json_or_text
from llmcore.schema.native_json import int_or_none, object_or_empty, objects, str_or_none
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------


def decode(frame: Frame) -> NativeObject | None:
    """Return the event in a frame; None for pings and sentinels. ValueError if it is not JSON."""
    name, data = frame
    if data[:1] != b"{":
        data = data.strip()
        if not data or data == b"[DONE]":
            return None
    event = json.loads(data) if name != "error" else _error_frame(data)
    if not isinstance(event, dict):
        return None if event is None else {"error": {"message": f"an event is {event!r}"[:200]}}
    if type(event.get("type")) is not str:
        event.pop("type", None)
        if event.get("object") == "response":  # without an event around it
            return {"type": name or f"response.{event.get('status')}", "response": event}
        return {**event, "type": name} if name else event
    return event


def _error_frame(data: bytes) -> NativeObject:
    """Return a frame whose name is `error`, whatever it holds."""
    event = json_or_text(data)
    if isinstance(event, dict) and event:
        return {**event, "type": "error"}
    return {"type": "error", "message": event or "the server sent an error event without a message"}


def is_own(document: NativeObject) -> bool:
    """Return whether an event or a body is certainly one of this API."""
    kind = document.get("type")
    return document.get("object") == "response" or (
        isinstance(kind, str) and kind.startswith("response.")
    )


def terminal(event: NativeObject) -> bool:
    """Return whether no event may follow."""
    return event.get("type") in TERMINAL_EVENTS


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[ResponsesState, Sequence[LLMEvent]]
Handler: TypeAlias = Callable[[ResponsesState, NativeObject, Events], ResponsesState]


InputDigest: TypeAlias = Callable[[LLMRequest], bytes | None]
"""Returns the digest of the input of a request that continues stored responses."""


def _undigested(_request: LLMRequest) -> None:
    return None


def initial(
    request: LLMRequest, *, digest: InputDigest = _undigested, custom_tools: bool = True
) -> ResponsesState:
    """Return the state before the first event.

    Without *custom_tools* the freeform tools of *request* were offered as functions.
    """
    return ResponsesState(
        context=StreamContext(
            provider=request.provider_id,
            model=request.model_id,
            turn=len(request.messages),
            freeform=frozenset() if custom_tools else freeform_tools(request),
        ),
        info=ResponsesInfo(input_digest=digest(request)),
    )


# -- stepping -----------------------------------------------------------------------------


def step(state: ResponsesState, event: NativeObject) -> Step:
    """Return the state after *event*, and the events to emit."""
    if state.info.ended:
        return state, ()
    events: Events = []
    type_ = event.get("type")
    bare = type_ is None and _is_error(event)
    if type_ in _ERRORS or event.get("object") == "error" or bare:
        error = error_from_body(provider=state.context.provider, body=event)
        return finish.fail(state, error, events), events
    handler = _HANDLERS.get(type_) if isinstance(type_, str) else None
    if handler is None and not state.info.started and not is_own(event):
        foreign = foreign_document(event, API_NAME)
        if foreign is not None:
            return finish.fail(state, foreign, events), events
    if handler is not None:
        state = handler(finish.on_start(state, event, events), event, events)
    elif type_ not in _IGNORED:
        state = finish.on_notification(state, event, events)
    return state, until_error(events)


_ERRORS: Final = ("error", "response.error")
"""The types of events that are errors: the API's own, and one that gateways write."""


def _is_error(event: NativeObject) -> bool:
    """Return whether *event* is a bare error body, with or without an `error`."""
    return bool(event.get("error") or has_error_fields(event))


# -- items


def _on_begun(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Emit the start of the stream, and the items that the response has already."""
    response = object_or_empty(event.get("response"))
    state = finish.on_response(state, response, events)
    for number, native in enumerate(objects(response.get("output"))):
        if str_or_none(native.get("type")) is not None:
            item = matching.match_done(state, native, number)
            state = _begin_or_extend(state, item, native, number, events)
    return state


def _on_item_added(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    native, number = object_or_empty(event.get("item")), int_or_none(event.get("output_index"))
    if str_or_none(native.get("type")) is None:
        return state
    item = matching.match_added(state, native, number)
    if item is not None and item.done:
        return with_item(state, replace(item, repeated=True))
    return _begin_or_extend(state, item, native, number, events)


def _begin_or_extend(
    state: ResponsesState,
    item: Item | None,
    native: NativeObject,
    number: int | None,
    events: Events,
) -> ResponsesState:
    """Begin an item, or add to one that is known, and emit the content that it has already."""
    if item is None:
        state, item = matching.begin_item(state, native, number)
    elif item.done:
        return state
    else:
        item = replace(item, native={**item.native, **native})
        state = with_item(state, item)
    if item.type in ("message", "reasoning"):
        has_content = native.get("content") or native.get("summary")
        return content.begin_content(state, item, events) if has_content else state
    return calls.begin_call(state, item, events) if item.type in CALL_TYPES else state


def _on_item_done(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    native, number = object_or_empty(event.get("item")), int_or_none(event.get("output_index"))
    if str_or_none(native.get("type")) is None:
        return state
    item = matching.match_done(state, native, number)
    return _end_with_whole(state, item, native, number, events)


def _end_with_whole(
    state: ResponsesState,
    item: Item | None,
    native: NativeObject,
    number: int | None,
    events: Events,
) -> ResponsesState:
    """End an item with its whole form, unless it has ended."""
    if item is None:
        state, item = matching.begin_item(state, native, number)
    item = state.items[item.position]
    if item.done:
        return finish.note_difference(state, item, native)
    return _settle(state, replace(item, native=native, unknown_parts=None, listed={}), events)


def _settle(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """End an item by its native form."""
    item = calls.with_listed(item)
    match item.type:
        case "message":
            return content.settle_message(state, item, events)
        case "reasoning":
            return content.settle_reasoning(state, item, events)
        case type_ if type_ in CALL_TYPES:
            settle = calls.settle_call if calls.is_client_run(item.native) else calls.settle_hosted
            return settle(state, item, events)
        case type_ if type_ in OUTPUT_TOOLS:
            return calls.settle_output(state, item, events)
        case _:
            return calls.settle_unknown(state, item, events)


# -- the end ------------------------------------------------------------------------------


def _on_end(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    response = object_or_empty(event.get("response"))
    status = str(event.get("type")).rpartition(".")[2].replace("done", "completed")
    stated = {"status": response.get("status") or status}
    if event.get("error") and not response.get("error"):  # Perplexity's has no response
        stated["error"] = event["error"]
    return _end(state, {**response, **stated}, events)


def _end(state: ResponsesState, response: NativeObject, events: Events) -> ResponsesState:
    """End all items with the final response. Of one that failed, calls are not to be run."""
    state = finish.on_response(state, response, events)
    broken = response.get("status") in finish.FAILED
    output = [item for item in objects(response.get("output")) if str_or_none(item.get("type"))]
    if not broken and matching.repeats_items(state, output):  # as in most streams
        return finish.finish(state, response, events)
    matches = matching.match_final(state, output)
    for number, (native, item) in enumerate(zip(output, matches, strict=True)):
        if not broken or native["type"] in ("message", "reasoning"):
            state = _end_with_whole(state, item, native, number, events)
    if broken:
        return finish.fail_response(state, response, events)
    for position in sorted(state.items):
        item = state.items[position]
        if not item.done:
            state = _settle(state, item, events)
    return finish.finish(state, response, events)


_HANDLERS: Final[dict[str, Handler]] = {
    "response.output_text.delta": content.on_delta,
    "response.function_call_arguments.delta": calls.on_input_delta,
    "response.reasoning_summary_text.delta": content.on_delta,
    "response.reasoning_text.delta": content.on_delta,
    "response.reasoning.delta": content.on_delta,
    "response.refusal.delta": content.on_delta,
    "response.custom_tool_call_input.delta": calls.on_input_delta,
    "response.mcp_call_arguments.delta": calls.on_input_delta,
    "response.code_interpreter_call_code.delta": calls.on_plain_delta,
    "response.shell_call_command.delta": calls.on_plain_delta,
    "response.apply_patch_call_operation_diff.delta": calls.on_plain_delta,
    "response.audio.delta": content.on_audio,
    "response.audio.transcript.delta": content.on_audio,
    "response.output_text.done": content.on_text_done,
    "response.refusal.done": content.on_text_done,
    "response.reasoning_summary_text.done": content.on_text_done,
    "response.reasoning_text.done": content.on_text_done,
    "response.reasoning.done": content.on_text_done,
    "response.function_call_arguments.done": calls.on_input_done,
    "response.custom_tool_call_input.done": calls.on_input_done,
    "response.mcp_call_arguments.done": calls.on_input_done,
    "response.code_interpreter_call_code.done": calls.on_plain_done,
    "response.shell_call_command.added": calls.on_command_added,
    "response.shell_call_command.done": calls.on_plain_done,
    "response.apply_patch_call_operation_diff.done": calls.on_plain_done,
    "response.shell_call_output_content.done": calls.on_shell_output,
    "response.content_part.added": content.on_part_added,
    "response.content_part.done": content.on_part_done,
    "response.reasoning_part.added": content.on_part_added,  # vLLM's name of `content_part.added`
    "response.reasoning_part.done": content.on_part_done,
    "response.reasoning_summary_part.added": content.on_part_added,
    "response.reasoning_summary_part.done": content.on_part_done,
    "response.output_text.annotation.added": content.on_annotation,
    "response.output_item.added": _on_item_added,
    "response.output_item.done": _on_item_done,
    "response.created": _on_begun,
    "response.queued": _on_begun,
    "response.in_progress": _on_begun,
    "response.completed": _on_end,
    "response.done": _on_end,  # as ChatGPT's own backend ends
    "response.incomplete": _on_end,
    "response.failed": _on_end,
    "response.cancelled": _on_end,
}
_IGNORED: Final = frozenset(
    {None, "keepalive", "response.audio.done", "response.audio.transcript.done"}
)
"""Events that only repeat others. All that are not known are passed on as they are."""


def halt(state: ResponsesState) -> Sequence[LLMEvent]:
    """Return the error of a response that was cut, unless it had ended."""
    if state.info.ended:
        return ()
    return (truncated("response.completed"),)


# -- a whole body -------------------------------------------------------------------------


def whole(
    document: JsonValue,
    request: LLMRequest,
    *,
    initial: Callable[[LLMRequest], ResponsesState] = initial,
) -> Iterable[LLMEvent]:
    """Return the events of a `response`, also of one that is still running in the background."""
    state = initial(request)
    if not isinstance(document, dict):
        return (empty_response("is not an object", document),)
    if not isinstance(document.get("output"), list):
        return (ErrorEvent(_error_without_output(document, request)),)
    text = finish.only_text(document, request) if state.info.input_digest is None else None
    if text is not None:
        return text
    events: Events = []
    try:
        _end(state, document, events)
    except (LLMError, RecursionError) as error:  # what came before is kept
        message = f"the server sent an invalid value: {error}"
        events.append(ErrorEvent(StreamError(message, cause=error)))
    return until_error(events)


def _error_without_output(document: NativeObject, request: LLMRequest) -> LLMError:
    if document.get("error") or _is_error(document):
        return error_from_body(provider=request.provider_id, body=document)
    no_output = StreamError("the response has no output", raw=document)
    return foreign_document(document, API_NAME) or no_output


# -- the per-token path -------------------------------------------------------------------
# Most events of a response only continue the open segment. Those are read without building the
# whole event; `step` would give the same delta, at several times the cost.


_UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)


@lru_cache(maxsize=64)
def _reader_of(event_type: str, index_field: str) -> Callable[[bytes], Any]:
    """Return a decoder of deltas of one type, whose part is numbered by *index_field*."""
    fields: list[Any] = [
        ("type", Literal[event_type]),
        ("item_id", Any, None),
        ("output_index", Any, None),
        ("part", Any, msgspec.field(name=index_field, default=None)),
        ("delta", str),
        ("logprobs", tuple[()] | None, None),
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Delta", fields, kw_only=True, gc=False)).decode


def fast_reader(state: ResponsesState) -> FastReader | None:
    """Return how to read the events that only continue the open segment."""
    path = state.fast_path
    if path is None:
        return None
    item_id, output_index, part = path.item_id, path.output_index, path.part_index
    decode = _reader_of(path.event_type, path.index_field)

    def read(frames: Iterable[Frame]) -> list[str]:
        texts: list[str] = []
        for name, data in frames:
            try:
                event = decode(data)
            except _UNREADABLE:
                break
            text = event.delta
            if event.item_id != item_id or event.output_index != output_index or event.part != part:
                break
            if not text or name == "error":
                break
            texts.append(text)
        return texts

    return FastReader(path.delta, path.segment, read)


# -- events that only continue a segment, which a relay passes on unread

_ON_TEXTS: Final = (content.on_delta, calls.on_input_delta)
_TEXTS: Final = frozenset(name for name, handler in _HANDLERS.items() if handler in _ON_TEXTS)
"""The types of events whose `delta` is more of a text."""


class _Delta(msgspec.Struct, gc=False):
    type: str
    delta: str
    item_id: Any = None
    output_index: Any = None
    content_index: Any = None
    summary_index: Any = None
    logprobs: tuple[()] | None = None


_read: Final = msgspec.json.Decoder(_Delta).decode
_place: Final = operator.attrgetter(
    "type", "item_id", "output_index", "content_index", "summary_index"
)


def text_reader(data: bytes) -> TextReader | None:
    """Return a reader of deltas of the same segment as the one in *data*."""
    try:
        first = _read(data)
    except _UNREADABLE:
        return None
    if first.type not in _TEXTS:
        return None
    place = _place(first)

    def read(data: bytes) -> str | None:
        try:
            event = _read(data)
        except _UNREADABLE:
            return None
        return event.delta if _place(event) == place else None

    return read


def _with_text(event: NativeObject, text: str) -> None:
    event["delta"] = text


DELTAS: Final = DeltaForm(reader=text_reader, with_text=_with_text)
