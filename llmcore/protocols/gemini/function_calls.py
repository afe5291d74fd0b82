"""Gemini: reading the calls of the caller's functions.

Sources, read November 2026: https://ai.google.dev/gemini-api/docs/function-calling and, for
arguments that come in pieces (`partialArgs`, told by JSON paths of RFC 9535),
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling (streaming).
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

from llmcore.protocols.answering import PersistentList, to_list
from llmcore.protocols.call_ids import synthetic_call_id
from llmcore.protocols.gemini.content import on_unknown, without
from llmcore.protocols.gemini.state import (
    Chunk,
    OpenCall,
    State,
    change,
    close_segment,
    metadata_of,
)
from llmcore.protocols.native_json import object_or_empty, objects, str_or_none
from llmcore.protocols.tools import freeform_text
from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import (
    LLMEvent,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)

# -- calls


def on_function_call(state: State, part: Chunk, events: list[LLMEvent]) -> State:
    """Take a whole call, or the beginning, more or the end of one that comes in pieces."""
    call = object_or_empty(part.get("functionCall"))
    name = str_or_none(call.get("name"))
    if name is None and state.answer.call is not None:
        return _on_more(state, call, events)
    state = end_call(close_segment(state, events), events)
    if name is None:
        return on_unknown(state, part, events)
    own = _own(part, call)
    state, id_ = take_id(state, str_or_none(call.get("id")))
    state = change(state, calls=state.answer.calls + 1)
    if call.get("willContinue") is True:
        return _begin(state, OpenCall(id=id_, name=name, own=own), call, events)
    arguments = _assembled([call])
    if name in state.answer.context.freeform:
        text = freeform_text(arguments)
        event = ToolCall(id_, name, text, kind="custom", provider_metadata=metadata_of(own))
    else:
        event = ToolCall(id_, name, arguments, provider_metadata=metadata_of(own))
    events.append(event)
    return state


def _own(part: Chunk, call: Chunk) -> Chunk:
    """Return what a call must carry home: its signature, and the id that the service gave it."""
    own = without(part, "functionCall")
    more = without(call, "name", "args", "partialArgs", "willContinue")
    return own | ({"functionCall": more} if more else {})


def take_id(state: State, given: str | None) -> tuple[State, str]:
    """Return an id that no other call of the answer has: the service's own if it will do."""
    answer = state.answer
    id_, index = given, len(answer.ids)
    while id_ is None or id_ in answer.ids:
        id_ = synthetic_call_id(answer.response_id, answer.context.turn, index)
        index += 1
    return change(state, ids=answer.ids | {id_}), id_


# -- calls in pieces


def _begin(state: State, opened: OpenCall, call: Chunk, events: list[LLMEvent]) -> State:
    kind = "custom" if opened.name in state.answer.context.freeform else "function"
    events.append(ToolInputStart(opened.id, opened.name, kind=kind))  # type: ignore[arg-type]
    return change(state, call=changed(opened, pieces=PersistentList(call, None)))


def _on_more(state: State, call: Chunk, events: list[LLMEvent]) -> State:
    opened = state.answer.call
    assert opened is not None  # noqa: S101  (the caller has looked)
    state = change(state, call=changed(opened, pieces=PersistentList(call, opened.pieces)))
    return state if call.get("willContinue") is True else end_call(state, events)


def end_call(state: State, events: list[LLMEvent], *, cut: bool = False) -> State:
    """Return *state* outside any call; arguments that were *cut* off are left without their end."""
    opened = state.answer.call
    if opened is None:
        return state
    arguments = _assembled(to_list(opened.pieces))
    if opened.name in state.answer.context.freeform:
        text = freeform_text(arguments)
    else:
        text = json.dumps(arguments).decode()
        text = text[:-1] if cut else text
    events.append(ToolInputDelta(opened.id, text))
    events.append(ToolInputEnd(opened.id, provider_metadata=metadata_of(opened.own)))
    return change(state, call=None)


def _assembled(calls: Iterable[Chunk]) -> Chunk:
    """Return the arguments that the pieces of a call make."""
    arguments: Chunk = {}
    texts: dict[tuple[str | int, ...], _Pieces] = {}
    for call in calls:
        arguments |= object_or_empty(call.get("args"))
        for piece in objects(call.get("partialArgs")):
            path = _path(str_or_none(piece.get("jsonPath")) or "$")
            text = piece.get("stringValue")
            if isinstance(text, str) and path in texts:
                texts[path].append(text)
            elif isinstance(text, str):
                texts[path] = _Pieces([text])
                _place(arguments, path, texts[path])
            else:
                _place(arguments, path, _scalar(piece))
            if piece.get("willContinue") is not True:
                texts.pop(path, None)
    return {name: _joined(value) for name, value in arguments.items()}


class _Pieces(list[str]):
    """A string under way."""


def _scalar(piece: Chunk) -> Any:
    for name in ("numberValue", "boolValue"):
        if piece.get(name) is not None:
            return _whole(piece[name])
    return None


def _whole(value: Any) -> Any:
    """Return a number as JSON writes it: a whole one without a fraction."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_STEPS: Final = re.compile(
    r"\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]"
)


def _path(text: str) -> tuple[str | int, ...]:
    """Return the steps of a JSON path: names and indexes."""
    steps: list[str | int] = []
    for dotted, index, single, double in _STEPS.findall(text):
        steps.append(int(index) if index else dotted or re.sub(r"\\(.)", r"\1", single or double))
    return tuple(steps)


def _place(arguments: Chunk, path: tuple[str | int, ...], value: Any) -> None:
    """Set *value* at *path*, making what is missing on the way.

    InvalidRequestError for a path that leads to no argument.
    """
    if not path or isinstance(path[0], int) or len(path) > json.MAX_DEPTH:
        raise InvalidRequestError("a piece of the arguments belongs nowhere in them")
    holder: Any = arguments
    for step, following in pairwise(path):
        kind = list if isinstance(following, int) else dict
        holder = _entered(holder, step, kind)
    _set(holder, path[-1], value)


def _entered(holder: Any, step: str | int, kind: type[Any]) -> Any:
    """Return what stands in *holder* at *step*, made one of *kind* if it is none."""
    if isinstance(holder, list):
        inner = holder[step] if isinstance(step, int) and step < len(holder) else None
    else:
        inner = holder.get(step)
    return inner if type(inner) is kind else _set(holder, step, kind())


def _set(holder: Any, step: Any, value: Any) -> Any:
    """Set *value* at *step*; in a list, a step past its end appends."""
    if isinstance(holder, list) and not (isinstance(step, int) and step < len(holder)):
        holder.append(value)
    else:
        holder[step] = value
    return value


def _joined(value: Any) -> Any:
    """Return *value* with the pieces of its strings joined."""
    if isinstance(value, _Pieces):
        return "".join(value)
    if isinstance(value, list):
        return [_joined(item) for item in value]
    if isinstance(value, dict):
        return {name: _joined(item) for name, item in value.items()}
    return value
