"""Parley: reading the response, streamed or whole."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from llmcore.protocols.failures.error_body import foreign_document
from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.protocol import Frame
from llmcore.protocols.response_parts import empty_response, stream_context, truncated
from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.events import ErrorEvent, LLMEvent, ProviderEvent
from llmcore.schema.json import JsonValue, NativeObject
from llmcore.schema.native_json import objects
from llmcore.schema.request import LLMRequest
from tests.support.parley.content import (
    ParleyState,
    on_call,
    on_close,
    on_input,
    on_open,
    on_text,
    on_thought,
)
from tests.support.parley.names import API_NAME, METADATA_KEY

# -- frames -------------------------------------------------------------------------------


def decode(frame: Frame) -> NativeObject | None:
    """Return the event of a frame; None for a ping. Raises ValueError if it is not JSON."""
    data = frame[1].strip()
    if not data:
        return None
    event = json.loads(data)
    return event if isinstance(event, dict) else {"error": {"message": f"an event is {event!r}"}}


def terminal(event: NativeObject) -> bool:
    """Return whether nothing follows *event*."""
    return "close" in event


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[ParleyState, Sequence[LLMEvent]]


def initial(request: LLMRequest) -> ParleyState:
    """Return the state before the first event."""
    return ParleyState(context=stream_context(request))


# -- stepping -----------------------------------------------------------------------------


def step(state: ParleyState, event: NativeObject) -> Step:
    """Return the state after *event*, and the events that it gives."""
    events: list[LLMEvent] = []
    if "error" in event:
        error = error_from_body(provider=state.context.provider or None, body=event)
        return changed(state, ended=True), (ErrorEvent(error),)
    if not state.started:
        state = on_open(state, event.get("open"), events)
    for name, value in event.items():
        if state.ended:
            break
        handler = _HANDLERS.get(name)
        if handler is None:
            events.append(ProviderEvent(METADATA_KEY, {name: value}))
        else:
            state = handler(state, value, events)
    return state, events


_HANDLERS: Final[Mapping[str, Callable[[ParleyState, Any, list[LLMEvent]], ParleyState]]] = {
    "open": on_open,
    "text": on_text,
    "thought": on_thought,
    "call": on_call,
    "input": on_input,
    "close": on_close,
}


# -- the end ------------------------------------------------------------------------------


def halt(state: ParleyState) -> Sequence[LLMEvent]:
    """Return the end of a stream that stopped before `close`."""
    return () if state.ended else (truncated("close"),)


# -- a whole body -------------------------------------------------------------------------


def whole(document: JsonValue, request: LLMRequest) -> Iterable[LLMEvent]:
    """Return the events of a body that was not streamed.

    {"id": "t1", "model": "parley-2", "say": [{"text": "Four"}], "why": "done", "tokens": {...}}
    """
    if not isinstance(document, dict):
        return (empty_response("is not a JSON object", document),)
    if "error" not in document and not isinstance(document.get("say"), list):
        foreign = foreign_document(document, API_NAME)
        return (ErrorEvent(foreign) if foreign else empty_response("has no `say`", document),)
    parts = objects(document.get("say"))
    end = {name: document[name] for name in ("why", "tokens") if name in document}
    native = [{"open": document}, *parts, {"close": end}]
    if "error" in document:
        native = [document]
    state = initial(request)
    events: list[LLMEvent] = []
    for event in native:
        state, more = step(state, event)
        events += more
        if state.ended:
            break
    return events
