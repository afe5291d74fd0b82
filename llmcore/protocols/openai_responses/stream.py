"""OpenAI Responses: reading the answer.

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events, read
November 2026.

What an item amounts to is always read from its last whole form: the one that ends it, or the
one in the final response. Deltas come on top, so that servers that send only deltas, only
ends, or only the final response give the same. A body that was not streamed is read as such a
final response.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from llmcore.protocols.answering import empty_response, truncated
from llmcore.protocols.errors import error_from_body
from llmcore.protocols.foreign_document import foreign_document
from llmcore.protocols.native_json import int_or_none, object_or_empty, objects, str_or_none
from llmcore.protocols.openai_responses.calls import (
    CALLS,
    OUTPUTS,
    begin_call,
    begin_input,
    is_ours,
    on_arguments_delta,
    on_arguments_done,
    on_bare_delta,
    on_bare_done,
    on_command_added,
    on_shell_output,
    settle_call,
    settle_hosted,
    settle_output,
    settle_unknown,
)
from llmcore.protocols.openai_responses.content import (
    begin_message,
    begin_reasoning,
    on_annotation,
    on_part_added,
    on_part_done,
    on_reasoning_delta,
    on_reasoning_done,
    on_reasoning_part,
    on_refusal_delta,
    on_refusal_done,
    on_sound,
    on_text_delta,
    on_text_done,
    settle_message,
    settle_reasoning,
)
from llmcore.protocols.openai_responses.finish import (
    fail,
    failed,
    finish,
    note_difference,
    on_notification,
    on_response,
    on_start,
)
from llmcore.protocols.openai_responses.items import begin, find_announced, find_whole, paired
from llmcore.protocols.openai_responses.names import PROTOCOL_ID, NativeObject
from llmcore.protocols.openai_responses.state import Context, Item, State, put
from llmcore.protocols.protocol import Frame
from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------


def decode(frame: Frame) -> NativeObject | None:
    """Read one frame; None for pings and sentinels. ValueError if it is not JSON."""
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
        return {**event, "type": name} if name else event
    return event


def _error_frame(data: bytes) -> NativeObject:
    """Return a frame that is named an error, whatever it holds."""
    try:
        event = json.loads(data)
    except ValueError:
        event = data.decode("utf-8", "replace")
    if isinstance(event, dict) and event:
        return {**event, "type": "error"}
    return {"type": "error", "message": event or "the server sent an error event without a word"}


_ENDS: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"}
)


def terminal(event: NativeObject) -> bool:
    """Return whether nothing may follow."""
    return event.get("type") in _ENDS


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[State, Sequence[LLMEvent]]
Handler: TypeAlias = Callable[[State, NativeObject, list[LLMEvent]], State]


def initial(request: LLMRequest) -> State:
    """Return the state before the first event."""
    return State(
        context=Context(
            provider=request.provider_id, model=request.model_id, turn=len(request.messages)
        )
    )


# -- stepping -----------------------------------------------------------------------------


def step(state: State, event: NativeObject) -> Step:
    """Translate one event."""
    try:
        return _step(state, event)
    except (LLMError, RecursionError) as error:
        return state, (ErrorEvent(_unreadable(error)),)


def _unreadable(error: Exception) -> StreamError:
    """Return the error that JSON is which no value of ours can hold, such as too deep a nest."""
    return StreamError(f"the server sent what cannot be kept: {error}", cause=error)


def _step(state: State, event: NativeObject) -> Step:
    if state.envelope.ended:
        return state, ()
    events: list[LLMEvent] = []
    kind = event.get("type")
    if kind == "error" or (kind is None and _is_error(event)):
        error = error_from_body(provider=state.context.provider or None, body=event)
        return fail(state, error, events), events
    handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
    if handler is None and not state.envelope.started:
        foreign = foreign_document(event, PROTOCOL_ID)
        if foreign is not None:
            return fail(state, foreign, events), events
    if handler is not None:
        state = handler(on_start(state, event, events), event, events)
    elif kind not in _SILENT:
        state = on_notification(state, event, events)
    return state, _until_error(events)


def _until_error(events: list[LLMEvent]) -> list[LLMEvent]:
    """Return *events* up to the error that ends them, if there is one."""
    for index, event in enumerate(events):
        if type(event) is ErrorEvent:
            return events[: index + 1]
    return events


def _is_error(event: NativeObject) -> bool:
    """Return whether *event* is a bare error body: OpenAI's, or FastAPI's."""
    return bool(event.get("error") or event.get("detail") or event.get("message"))


# -- items


def _on_item_added(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    native = object_or_empty(event.get("item"))
    kind, number = str_or_none(native.get("type")), int_or_none(event.get("output_index"))
    if kind is None:
        return state
    return _announce(state, find_announced(state, native, number), native, number, events)


def _announce(
    state: State,
    item: Item | None,
    native: NativeObject,
    number: int | None,
    events: list[LLMEvent],
) -> State:
    """Begin an item, or add to what is known of one, and emit what it has already."""
    begun = item is not None and bool(item.call_id)
    if item is None:
        state, item = begin(state, str(native.get("type")), native, number)
    elif item.done:
        return state
    else:
        item = changed(item, native={**item.native, **native})
        state = put(state, item)
    match item.kind:
        case "message":
            return begin_message(state, item, events)
        case "reasoning":
            return begin_reasoning(state, item, events)
        case kind if kind in CALLS:
            state = begin_call(state, item, events)
            return begin_input(state, item.place, begun, events)
        case _:
            return state


def _on_item_done(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    native = object_or_empty(event.get("item"))
    if str_or_none(native.get("type")) is None:
        return state
    number = int_or_none(event.get("output_index"))
    return _on_whole(state, find_whole(state, native, number), native, number, events)


def _on_whole(
    state: State,
    item: Item | None,
    native: NativeObject,
    number: int | None,
    events: list[LLMEvent],
) -> State:
    """Take the last word on an item, unless it was said."""
    if item is None:
        state, item = begin(state, str(native.get("type")), native, number)
    item = state.items[item.place]
    if item.done:
        return note_difference(state, item, native)
    return _settle(state, changed(item, native=native), events)


def _settle(state: State, item: Item, events: list[LLMEvent]) -> State:
    """End an item by its native form."""
    match item.kind:
        case "message":
            return settle_message(state, item, events)
        case "reasoning":
            return settle_reasoning(state, item, events)
        case kind if kind in CALLS:
            settle = settle_call if is_ours(item.native) else settle_hosted
            return settle(state, item, events)
        case kind if kind in OUTPUTS:
            return settle_output(state, item, events)
        case _:
            return settle_unknown(state, item, events)


def _on_part(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Take a part's beginning or end: of a message, or of reasoning that is shown."""
    if object_or_empty(event.get("part")).get("type") in ("reasoning_text", "summary_text"):
        return on_reasoning_part(state, event, events)
    added = event.get("type") == "response.content_part.added"
    return (on_part_added if added else on_part_done)(state, event, events)


# -- the end


def _on_end(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    response = object_or_empty(event.get("response"))
    status = str(event.get("type")).rpartition(".")[2]
    return _end(state, {**response, "status": response.get("status") or status}, events)


def _end(state: State, response: NativeObject, events: list[LLMEvent]) -> State:
    """End everything with the final response. Of one that failed, only what was said counts."""
    state = on_response(state, response, events)
    broken = response.get("status") in ("failed", "cancelled")
    output = [
        native for native in objects(response.get("output")) if str_or_none(native.get("type"))
    ]
    for number, (native, item) in enumerate(zip(output, paired(state, output), strict=True)):
        if not broken or native["type"] in ("message", "reasoning"):
            state = _on_whole(state, item, native, number, events)
    if broken:
        return failed(state, response, events)
    for place in sorted(state.items):
        item = state.items[place]
        if not item.done:
            state = _settle(state, item, events)
    return finish(state, response, events)


def _on_begun(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Announce the response, and the items that it has already."""
    response = object_or_empty(event.get("response"))
    state = on_response(state, response, events)
    for number, native in enumerate(objects(response.get("output"))):
        if str_or_none(native.get("type")) is not None:
            item = find_whole(state, native, number)
            state = _announce(state, item, native, number, events)
    return state


_HANDLERS: Final[dict[str, Handler]] = {
    "response.output_text.delta": on_text_delta,
    "response.function_call_arguments.delta": on_arguments_delta,
    "response.reasoning_summary_text.delta": on_reasoning_delta,
    "response.reasoning_text.delta": on_reasoning_delta,
    "response.refusal.delta": on_refusal_delta,
    "response.custom_tool_call_input.delta": on_arguments_delta,
    "response.mcp_call_arguments.delta": on_arguments_delta,
    "response.code_interpreter_call_code.delta": on_bare_delta,
    "response.shell_call_command.delta": on_bare_delta,
    "response.apply_patch_call_operation_diff.delta": on_bare_delta,
    "response.code_interpreter_call_code.done": on_bare_done,
    "response.shell_call_command.done": on_bare_done,
    "response.apply_patch_call_operation_diff.done": on_bare_done,
    "response.shell_call_output_content.done": on_shell_output,
    "response.audio.delta": on_sound,
    "response.audio.transcript.delta": on_sound,
    "response.output_text.done": on_text_done,
    "response.refusal.done": on_refusal_done,
    "response.function_call_arguments.done": on_arguments_done,
    "response.custom_tool_call_input.done": on_arguments_done,
    "response.mcp_call_arguments.done": on_arguments_done,
    "response.shell_call_command.added": on_command_added,
    "response.reasoning_summary_text.done": on_reasoning_done,
    "response.reasoning_text.done": on_reasoning_done,
    "response.reasoning_summary_part.added": on_reasoning_part,
    "response.reasoning_summary_part.done": on_reasoning_part,
    "response.content_part.added": _on_part,
    "response.content_part.done": _on_part,
    "response.output_text.annotation.added": on_annotation,
    "response.output_item.added": _on_item_added,
    "response.output_item.done": _on_item_done,
    "response.created": _on_begun,
    "response.queued": _on_begun,
    "response.in_progress": _on_begun,
    "response.completed": _on_end,
    "response.incomplete": _on_end,
    "response.failed": _on_end,
    "response.cancelled": _on_end,
}
_SILENT: Final = frozenset(
    {
        None,
        "keepalive",
        "response.audio.done",
        "response.audio.transcript.done",
    }
)
"""Events that say nothing that others do not. All remaining ones are told as they are."""


def halt(state: State) -> Sequence[LLMEvent]:
    """Say that the answer was cut, unless it had ended."""
    if state.envelope.ended:
        return ()
    return (truncated("response.completed"),)


# -- a whole body -------------------------------------------------------------------------


def whole(document: JsonValue, request: LLMRequest) -> Iterable[LLMEvent]:
    """Return the events of a `response`, also of one that is still running in the background."""
    state = initial(request)
    if not isinstance(document, dict):
        return (empty_response("is not an object", document),)
    if not isinstance(document.get("output"), list):
        if document.get("error") or _is_error(document):
            error = error_from_body(provider=request.provider_id or None, body=document)
        else:
            no_output = StreamError("the response has no output", raw=document)
            error = foreign_document(document, PROTOCOL_ID) or no_output
        return (ErrorEvent(error),)
    events: list[LLMEvent] = []
    try:
        _end(state, document, events)
    except (LLMError, RecursionError) as error:
        events.append(ErrorEvent(_unreadable(error)))
    return _until_error(events)


# -- the per-token path


class _Delta(msgspec.Struct):
    type: str
    delta: str
    item_id: Any = None
    output_index: Any = None
    content_index: Any = None
    summary_index: Any = None
    logprobs: Any = None


_read: Final = msgspec.json.Decoder(_Delta).decode


def continued(state: State, frame: Frame) -> LLMEvent | None:
    """Return the delta of an event that only continues what is open; None for any other."""
    hot = state.hot
    name, data = frame
    if hot is None or name == "error":
        return None
    try:
        event = _read(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if (
        event.type != hot.event_type
        or event.item_id != hot.item_id
        or event.output_index != hot.output_index
        or getattr(event, hot.part_field) != hot.part_index
        or event.logprobs
        or not event.delta
    ):
        return None
    return hot.delta(hot.segment, event.delta)
