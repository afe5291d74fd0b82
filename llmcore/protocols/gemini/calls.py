"""Gemini: reading calls, of the caller's functions and of the service's own tools.

Sources, read November 2026: https://ai.google.dev/gemini-api/docs/function-calling,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling (arguments
that are streamed), https://ai.google.dev/gemini-api/docs/code-execution and
https://ai.google.dev/gemini-api/docs/tool-combination (`toolCall`, `toolResponse`).

A call comes whole, or in pieces whose places in the arguments are JSON paths (RFC 9535):

    {"functionCall": {"name": "f", "args": {"city": "Paris"}}}

    {"functionCall": {"name": "f", "willContinue": true}}
    {"functionCall": {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Par",
                                       "willContinue": true}], "willContinue": true}}
    {"functionCall": {"partialArgs": [{"jsonPath": "$.city", "stringValue": "is"}],
                      "willContinue": true}}
    {"functionCall": {}}                                           -> {"city": "Paris"}

The `willContinue` of a partial argument is that of its string: after the last piece of one, another
with the same path replaces it. A piece without a value ends a string or a list, whose path then
ends with `[]`; where nothing came before it, the list or the object is empty
(https://github.com/vercel/ai, `google-json-accumulator`, read November 2026). A call ends at a
piece whose `willContinue` is not true, at the name of another call, and at the end of the response;
text and other parts do not end it.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

from msgspec.structs import replace

from llmcore.protocols.gemini.content import on_unknown
from llmcore.protocols.gemini.names import METADATA_KEY, PIECE_FIELDS
from llmcore.protocols.gemini.state import GeminiState, OpenCall, change, close_segment, metadata_of
from llmcore.protocols.response_parts import Events
from llmcore.protocols.tools import freeform_text, synthetic_call_id
from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import ToolCall, ToolInputDelta, ToolInputEnd, ToolInputStart, ToolResult
from llmcore.schema.json import NativeObject, json_or_text, present
from llmcore.schema.native_json import object_or_empty, objects, str_or_empty, str_or_none
from llmcore.schema.persistent import PersistentList, to_list, with_entry

# -- calls

_LAST_PIECES: Final = tuple(
    {"functionCall": last} for last in ({}, {"willContinue": False}, {"willContinue": None})
)


def on_function_call(state: GeminiState, part: NativeObject, events: Events) -> GeminiState:
    """Emit a whole call; or open, continue or end a call that comes in pieces."""
    call = object_or_empty(part.get("functionCall"))
    name = str_or_none(call.get("name"))
    going_on, opened = call.get("willContinue") is True, state.info.call
    if name is None and opened is not None:
        state = change(state, call=replace(opened, pieces=PersistentList(call, opened.pieces)))
        return state if going_on else end_call(state, events)
    if part in _LAST_PIECES:  # of a call that has ended
        return state
    state = end_call(close_segment(state, events), events)
    if name is None:
        return on_unknown(state, part, events)
    native = _native_fields(part, call)
    state, id_ = unique_call_id(state, str_or_none(call.get("id")))
    state = change(state, calls=state.info.calls + 1)
    freeform = name in state.info.context.freeform
    if going_on:
        events.append(ToolInputStart(id_, name, kind="custom" if freeform else "function"))
        pieces = PersistentList(call, None)
        return change(state, call=OpenCall(id=id_, name=name, native=native, pieces=pieces))
    arguments = _assembled([call])
    if freeform:
        text = freeform_text(arguments)
        event = ToolCall(id_, name, text, kind="custom", provider_metadata=metadata_of(native))
    else:
        event = ToolCall(id_, name, arguments, provider_metadata=metadata_of(native))
    events.append(event)
    return state


def _native_fields(part: NativeObject, call: NativeObject) -> NativeObject:
    """Return the native fields that go back with a call, such as its signature and its own id."""
    native = present(part, but=("functionCall",))
    more = present(call, but=("name", "args", *PIECE_FIELDS))
    return native | ({"functionCall": more} if more else {})


def unique_call_id(state: GeminiState, given: str | None) -> tuple[GeminiState, str]:
    """Return an id unique in the response: *given*, unless it is missing or repeated."""
    info = state.info
    id_, index = given, len(info.ids)
    while id_ is None or id_ in info.ids:
        id_ = synthetic_call_id(info.response_id, info.context.turn, index)
        index += 1
    return change(state, ids=with_entry(info.ids, id_, None)), id_


# -- calls in pieces


def end_call(state: GeminiState, events: Events, *, cut: bool = False) -> GeminiState:
    """End the open call, if there is one, and emit its input.

    If the stream was *cut* within the call, the closing brace is omitted, so that incomplete
    arguments do not parse as complete ones.
    """
    opened = state.info.call
    if opened is None:
        return state
    arguments = _assembled(to_list(opened.pieces))
    if opened.name in state.info.context.freeform:
        text = freeform_text(arguments)
    else:
        text = json.dumps(arguments).decode()
        text = text[:-1] if cut else text
    events.append(ToolInputDelta(opened.id, text))
    events.append(ToolInputEnd(opened.id, provider_metadata=metadata_of(opened.native)))
    return change(state, call=None)


def _assembled(calls: Iterable[NativeObject]) -> NativeObject:
    """Return the arguments assembled from the pieces of a call."""
    arguments: NativeObject = {}
    texts: dict[tuple[str | int, ...], _StringBuffer] = {}  # the incomplete ones
    paths: dict[str, tuple[str | int, ...]] = {}
    for call in calls:
        args = call.get("args")  # text where a proxy passes on another API's arguments
        arguments |= object_or_empty(json_or_text(args) if isinstance(args, str) else args)
        for piece in objects(call.get("partialArgs")):
            path_text = str_or_none(piece.get("jsonPath")) or "$"
            path = paths.get(path_text)
            if path is None:
                path = paths[path_text] = _path(path_text)
            text = piece.get("stringValue")
            if isinstance(text, str) and path in texts:
                texts[path].append(text)
            elif isinstance(text, str):
                texts[path] = _StringBuffer([text])
                _set_at_path(arguments, path, texts[path])
            elif not piece.keys().isdisjoint(_SCALARS):
                _set_at_path(arguments, path, _scalar(piece))
            elif path and piece.get("willContinue") is not True and not _has(arguments, path):
                _set_at_path(arguments, path, [] if path_text.endswith("[]") else {})
            if piece.get("willContinue") is not True:
                texts.pop(path, None)
    return {name: _join_buffers(value) for name, value in arguments.items()}


class _StringBuffer(list[str]):
    """The pieces of a string that is not complete yet."""


_SCALARS: Final = ("numberValue", "boolValue", "nullValue")
"""The values of a piece but for strings."""


def _scalar(piece: NativeObject) -> Any:
    """Return a number, an integral one as an int, or a boolean; None without either."""
    value = piece.get("numberValue")
    value = piece.get("boolValue") if value is None else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


_PATH_STEP: Final = re.compile(
    r"\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]"
)


def _path(text: str) -> tuple[str | int, ...]:
    """Return the steps of a JSON path: names and indexes."""
    steps: list[str | int] = []
    for dotted, index, single, double in _PATH_STEP.findall(text):
        steps.append(int(index) if index else dotted or re.sub(r"\\(.)", r"\1", single or double))
    return tuple(steps)


def _set_at_path(arguments: NativeObject, path: tuple[str | int, ...], value: Any) -> None:
    """Set *value* at *path*, creating the containers on the way.

    Raises InvalidRequestError for a path that does not lead to an argument.
    """
    if not path or isinstance(path[0], int) or len(path) > json.MAX_DEPTH:
        raise InvalidRequestError("a piece of the arguments has a path that leads to no argument")
    holder: Any = arguments
    for step, following in pairwise(path):
        kind = list if isinstance(following, int) else dict
        holder = _child(holder, step, kind)
    _set(holder, path[-1], value)


def _has(holder: Any, path: tuple[str | int, ...]) -> bool:
    """Return whether there is a value in *holder* at *path*."""
    try:
        for step in path:
            holder = holder[step]
    except (LookupError, TypeError):
        return False
    return True


def _child(holder: Any, step: str | int, kind: type[Any]) -> Any:
    """Return the container in *holder* at *step*, a new one of *kind* if there is no such."""
    if isinstance(holder, list):
        inner = holder[step] if isinstance(step, int) and step < len(holder) else None
    else:
        inner = holder.get(step)
    return inner if type(inner) is kind else _set(holder, step, kind())


def _set(holder: Any, step: Any, value: Any) -> Any:
    """Set *value* at *step*, and return it; in a list, a step past its end appends."""
    if isinstance(holder, list) and not (isinstance(step, int) and step < len(holder)):
        holder.append(value)
    else:
        holder[step] = value
    return value


def _join_buffers(value: Any) -> Any:
    """Return *value* with each string buffer joined to a string."""
    if isinstance(value, _StringBuffer):
        return "".join(value)
    if isinstance(value, list):
        return [_join_buffers(item) for item in value]
    if isinstance(value, dict):
        return {name: _join_buffers(item) for name, item in value.items()}
    return value


# -- tools that the service ran itself: each part is kept, since it must go back unchanged


CODE_EXECUTION: Final = "code_execution"


def on_code(state: GeminiState, part: NativeObject, events: Events) -> GeminiState:
    """Emit the call of the code that the model wrote."""
    code = object_or_empty(part.get("executableCode"))
    call = ToolCall(str_or_empty(code.get("id")), CODE_EXECUTION, present(code, but=("id",)))
    return _on_call(state, part, call, events)


def on_code_result(state: GeminiState, part: NativeObject, events: Events) -> GeminiState:
    """Emit the result of running that code."""
    given = object_or_empty(part.get("codeExecutionResult"))
    failed = given.get("outcome") not in ("OUTCOME_OK", None)
    id_ = str_or_empty(given.get("id"))
    result = ToolResult(id_, present(given, but=("id",)), name=CODE_EXECUTION, is_error=failed)
    return _on_result(state, part, result, events)


def on_tool_call(state: GeminiState, part: NativeObject, events: Events) -> GeminiState:
    """Emit a call of one of the service's other tools."""
    given = object_or_empty(part.get("toolCall"))
    id_ = str_or_empty(given.get("id"))
    call = ToolCall(id_, _name(given), object_or_empty(given.get("args")))
    return _on_call(state, part, call, events)


def on_tool_response(state: GeminiState, part: NativeObject, events: Events) -> GeminiState:
    """Emit the result of such a tool."""
    given = object_or_empty(part.get("toolResponse"))
    id_ = str_or_empty(given.get("id"))
    result = ToolResult(id_, object_or_empty(given.get("response")), name=_name(given))
    return _on_result(state, part, result, events)


def _name(tool: NativeObject) -> str:
    """Return the tool's type in lower case, such as `google_search_web`."""
    return (str_or_none(tool.get("toolType")) or "tool").lower()


def _on_call(state: GeminiState, part: NativeObject, call: ToolCall, events: Events) -> GeminiState:
    """Emit *call* under a unique id."""
    state, id_ = unique_call_id(close_segment(state, events), call.id or None)
    metadata = {METADATA_KEY: {"part": part}}
    events.append(changed(call, id=id_, provider_executed=True, provider_metadata=metadata))
    return change(state, running=id_)


def _on_result(
    state: GeminiState, part: NativeObject, result: ToolResult, events: Events
) -> GeminiState:
    """Emit *result* under the id of its call: the one it names, else the one without a result."""
    state = close_segment(state, events)
    id_ = result.tool_call_id
    if id_ not in state.info.ids:
        id_ = state.info.running or id_
    if not id_:
        state, id_ = unique_call_id(state, None)
    metadata = {METADATA_KEY: {"part": part}}
    events.append(
        changed(result, tool_call_id=id_, provider_executed=True, provider_metadata=metadata)
    )
    return change(state, running=None)
