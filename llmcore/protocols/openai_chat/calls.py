r"""OpenAI Chat Completions: matching the fragments of streamed tool calls.

By the documents (https://platform.openai.com/docs/api-reference/chat-streaming) a call's first
fragment has index, id and name, later ones the index alone:

    {"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                     "function": {"name": "weather", "arguments": ""}}]}
    {"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":"}}]}

Servers number fragments in every other way too: not at all, all 0, or rising on continuations; ids
come once, always or never. The rules, by the fields that a fragment has:

    id       index    name     the fragment is of
    known    any      none     the call with that id
    known    same     same     the call with that id; of a new call if index or name differ
    new      any      given    a new call, unless its arguments are the rest of an object
    new      new      none     a new call, whose name comes later
    new      known    none     the call with that index (ids that change on every fragment)
    new      none     none     the current call; a new one if the fragment has no arguments
    none     known    none     the call with that index
    none     new      none     the current call (indexes that rise); without one, a new call
    none     known    same     the call with that index; a new one for a whole object that does
                               not repeat the arguments so far
    none     any      other    a new call
    none     none     none     the current call; one without index, if the current one has an index

Anything else is an error, for two calls must never be run as one.

A name may come in pieces too, or from its beginning in each fragment. The request's tools tell: a
name that is the beginning of a tool's, without arguments beside it, waits for the next fragment of
its call. Source: https://github.com/continuedev/continue/pull/5849.
"""

from collections import deque
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from llmcore.protocols.openai_chat.names import CALL_FIELDS, METADATA_KEY, cleaned, repeated
from llmcore.protocols.openai_chat.state import (
    MAX_PENDING,
    Arguments,
    Calls,
    ChatCall,
    ChatState,
    Pending,
    add_fragment,
    close_segment,
    end_arguments,
    is_object,
    open_segment,
    repeats,
)
from llmcore.protocols.response_parts import Events
from llmcore.protocols.tools import freeform_text, offered_name, synthetic_call_id
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    ErrorEvent,
    ProviderEvent,
    TextDelta,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from llmcore.schema.json import JsonObject, NativeObject, json_or_text, text_or_json_or_empty
from llmcore.schema.native_json import index_or_none, object_or_empty, objects_or_one, str_or_none
from llmcore.schema.persistent import PersistentList, to_list, with_entry


class Fragment(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a tool call, as the server sent it."""

    id: str | None
    index: int | None
    name: str | None
    text: str
    custom: bool
    """Whether it belongs to a freeform tool."""
    extra: JsonObject
    """The fields that must go back with the call."""
    whole: bool = False
    """Whether no more of the call follows."""


def read_fragment(native: NativeObject) -> Fragment:
    """Return *native* as a fragment.

    Some servers send both forms of a tool, one of them empty, or the name and the arguments without
    an object around them, as the models' own APIs do (Cloudflare, Oracle:
    https://github.com/oracle/langchain-oracle/issues/163). Mistral's schema writes a missing id as
    the string `null`.
    """
    id_ = str_or_none(native.get("id"))
    custom = object_or_empty(native.get("custom"))
    function = object_or_empty(native.get("function", native))
    is_custom = bool(custom.get("name") or custom.get("input"))
    return Fragment(
        id=None if id_ == "null" else id_,
        index=index_or_none(native.get("index")),
        name=str_or_none((custom if is_custom else function).get("name")),
        text=text_or_json_or_empty(custom.get("input") if is_custom else function.get("arguments")),
        custom=is_custom,
        extra=_extra(native, function),
    )


def _extra(native: NativeObject, function: NativeObject) -> JsonObject:
    """Return the fields that must go back with a call, which servers have beside or in it."""
    given = {name: native.get(name) or function.get(name) for name in CALL_FIELDS}
    return {name: value for name, value in given.items() if value and isinstance(value, dict)}


# -- fragments of calls


def on_tool_calls(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: Events
) -> ChatState:
    """Emit the calls and their inputs in *delta*."""
    fragments = delta.get("tool_calls")
    legacy = delta.get("function_call")
    if isinstance(legacy, dict) and not fragments:  # the API before tools
        fragments = [{"index": 0, "function": legacy}]
    for native in objects_or_one(fragments):
        if _is_of_other_tool(native):
            events.append(ProviderEvent(state.context.provider, {"tool_call": native}))
        else:
            state, fragment = _named(state, read_fragment(native))
            state = _on_fragment(state, fragment, events)
    return state


def _named(state: ChatState, fragment: Fragment) -> tuple[ChatState, Fragment]:
    """Return *fragment* with the name of the request's tool that it means."""
    if fragment.name is None:
        return state, fragment
    name = offered_name(fragment.name, state.context.tools)
    if name == fragment.name:
        return state, fragment
    calls = replace(state.calls, cleaned=with_entry(state.calls.cleaned, name, None))
    return replace(state, calls=calls), replace(fragment, name=name)


def _is_of_other_tool(native: NativeObject) -> bool:
    """Return whether *native* is of a tool that is neither a function nor freeform.

    Its own fields then are under its type, as with GLM's tools that the server runs
    (https://pkg.go.dev/gitee.com/jason_elva8325/zhipuai-sdk-go/glm4alltools).
    """
    type_ = native.get("type")
    own = isinstance(type_, str) and type_ not in ("function", "custom") and native.get(type_)
    return bool(own) and not native.get("function")


def on_whole_calls(state: ChatState, message: NativeObject, events: Events) -> ChatState:
    """Begin the new calls of a whole message, and keep the whole input of those that are known.

    A whole message after deltas repeats what they brought. Its calls are matched with those
    by id, else by position and name.
    """
    known: dict[object, deque[ChatCall]] = {}
    for call in state.calls.calls.values():
        for key in (call.wire_id, (call.index, call.name)):
            known.setdefault(key, deque()).append(call)
    matched: set[str] = set()
    for number, native in enumerate(objects_or_one(message.get("tool_calls"))):
        if _is_of_other_tool(native):
            if "tool_calls" not in state.fields:  # which deltas have brought
                events.append(ProviderEvent(state.context.provider, {"tool_call": native}))
            continue
        state, fragment = _named(state, read_fragment(native))
        same = known.get(fragment.id or (number, fragment.name), deque())
        while same and same[0].id in matched:
            same.popleft()
        if not same:
            state = _on_fragment(state, replace(fragment, index=number, whole=True), events)
            continue
        call = same[0]
        matched.add(call.id)
        if fragment.text and not call.freeform:
            texts = with_entry(state.calls.texts, call.id, fragment.text)
            state = replace(state, calls=replace(state.calls, texts=texts))
    return state


def _on_fragment(state: ChatState, fragment: Fragment, events: Events) -> ChatState:
    pending = _find_pending(state.calls.pending, fragment)
    if pending is not None:
        return _on_pending(state, pending, fragment, events)
    call = _find(state.calls, fragment)
    if call is None and fragment.name is None:
        return _on_nameless(state, fragment, events)
    if call is None:
        state = begin_named(state, events)
        if _may_go_on(state, fragment.name or "", fragment):
            pending = Pending(id=fragment.id, index=fragment.index, name=fragment.name or "")
            return _put_pending(state, state.calls.pending, pending, fragment)
        state = _start(state, fragment, events)
    elif _overflows(call, fragment):
        message = f"arguments arrived for {call.name} after its end, and match no other call"
        events.append(ErrorEvent(StreamError(message, raw=fragment.text)))
        return state
    else:
        if call is not state.calls.current:
            state = replace(
                state,
                calls=replace(state.calls, current=call),
                fast_field=_fast_field(state.calls, call),
            )
        if call.whole is None:
            state = _continue(state, call, fragment.text, events)
    return _keep_extra(state, fragment.extra)


def _start(state: ChatState, fragment: Fragment, events: Events) -> ChatState:
    state = close_segment(state, events)
    call = new_call(state, fragment.id, fragment.name or "", fragment.index)
    text = fragment.text
    if fragment.custom:
        call = replace(call, kind="custom", freeform=False)
    elif text.strip() == "{}" and not fragment.whole:
        text = ""  # some servers begin with an empty object
    elif is_object(text):
        call = replace(call, whole=text)
    return _continue(begin(state, call, events), call, text, events)


def new_call(state: ChatState, id_: str | None, name: str, index: int | None = None) -> ChatCall:
    """Return a call with an id that is unique in this response."""
    taken, executed = state.calls.calls, state.calls.executed
    unique_id = id_ if id_ is not None and id_ not in taken and id_ not in executed else None
    freeform = name in state.context.freeform
    return ChatCall(
        id=unique_id or synthetic_call_id(state.info.response_id, state.context.turn, len(taken)),
        wire_id=id_,
        index=index,
        name=name,
        kind="custom" if freeform else "function",
        freeform=freeform,
    )


def begin(state: ChatState, call: ChatCall, events: Events) -> ChatState:
    """Emit the start of *call*; its fragments then take the per-token path."""
    events.append(ToolInputStart(call.id, call.name, kind=call.kind))
    known, wire_id, index = state.calls, call.wire_id, call.index
    calls = replace(
        known,
        calls=with_entry(known.calls, call.id, call),
        current=call,
        by_wire_id=with_entry(known.by_wire_id, wire_id, call),
        by_index=with_entry(known.by_index, index, call),
    )
    return replace(state, calls=calls, fast_field=_fast_field(calls, call))


def _fast_field(calls: Calls, call: ChatCall) -> str:
    """Return the field whose fragments continue *call*; empty if `step` has to read them."""
    plain = call.kind == "function" and call.whole is None
    form = calls.arguments.get(call.id, Arguments()).form
    return "tool_calls" if plain and form in ("open", "deltas") else ""


def _continue(state: ChatState, call: ChatCall, text: str, events: Events) -> ChatState:
    if not text:
        return state
    if call.kind == "function" or call.freeform:
        state, text = _read_arguments(state, call, text)
    if not text:
        return state
    if call.freeform:
        chain = PersistentList((call.id, text), state.calls.freeform)
        return replace(state, calls=replace(state.calls, freeform=chain))
    events.append(ToolInputDelta(call.id, text))
    return state


def _read_arguments(state: ChatState, call: ChatCall, text: str) -> tuple[ChatState, str]:
    """Return what is new in a fragment of *call*; once it is certain, fragments pass unread."""
    known = state.calls.arguments.get(call.id, Arguments())
    arguments, text = add_fragment(known, text)
    return state if arguments is known else with_arguments(state, call, arguments), text


def with_arguments(state: ChatState, call: ChatCall, arguments: Arguments) -> ChatState:
    """Return *state* with the *arguments* of *call* so far."""
    all_arguments = with_entry(state.calls.arguments, call.id, arguments)
    calls = replace(state.calls, arguments=all_arguments)
    return replace(state, calls=calls, fast_field=_fast_field(calls, call))


def _on_nameless(state: ChatState, fragment: Fragment, events: Events) -> ChatState:
    """Keep a new call, known by its id or its index, until its name comes."""
    if fragment.id is None and fragment.text.strip() in ("", "{}"):
        return state  # an empty entry
    if fragment.id is None and fragment.index is None:
        message = "the arguments of a tool call arrived before its name and match no call"
        events.append(ErrorEvent(StreamError(message, raw=fragment.text)))
        return state
    if len(state.calls.pending) == MAX_PENDING:
        message = f"more than {MAX_PENDING} tool calls have no name"
        events.append(ErrorEvent(StreamError(message, raw=fragment.id)))
        return state
    pending = Pending(id=fragment.id, index=fragment.index)
    return _put_pending(state, state.calls.pending, pending, fragment)


def _on_pending(
    state: ChatState, pending: Pending, fragment: Fragment, events: Events
) -> ChatState:
    """Add to a call without a name, or begin it once the name has come."""
    name = _joined(pending.name, fragment.name, state.context.tools)
    if name is None:  # that of another call
        return _on_fragment(begin_named(state, events), fragment, events)
    others = tuple(call for call in state.calls.pending if call is not pending)
    if not name or (name != pending.name and _may_go_on(state, name, fragment)):
        return _put_pending(state, others, replace(pending, name=name), fragment)
    state = replace(state, calls=replace(state.calls, pending=others))
    fragment = replace(
        fragment,
        id=fragment.id or pending.id,
        name=name,
        index=pending.index if fragment.index is None else fragment.index,
        text="".join([*to_list(pending.pieces), fragment.text]),
        custom=pending.custom or fragment.custom,
        extra=fragment.extra or pending.extra,
    )
    return _keep_extra(_start(state, fragment, events), fragment.extra)


def _put_pending(
    state: ChatState, others: tuple[Pending, ...], pending: Pending, fragment: Fragment
) -> ChatState:
    text = "" if pending.name and fragment.text.strip() == "{}" else fragment.text
    pending = replace(
        pending,
        id=pending.id or fragment.id,
        custom=pending.custom or fragment.custom,
        extra=fragment.extra or pending.extra,
        pieces=PersistentList(text, pending.pieces) if text else pending.pieces,
    )
    calls = replace(state.calls, pending=(*others, pending))
    return replace(state, calls=calls, fast_field="")


# -- names in pieces


def _may_go_on(state: ChatState, name: str, fragment: Fragment) -> bool:
    """Return whether *name* may be the beginning of a tool's: arguments come after all of it."""
    if fragment.whole or fragment.text.strip() not in ("", "{}"):
        return False
    return any(tool != name and tool.startswith(name) for tool in state.context.tools)


def _joined(so_far: str, more: str | None, tools: frozenset[str]) -> str | None:
    """Return the name so far with *more* of it; None if that is the name of another call."""
    if more is None or more == so_far:
        return so_far
    if not so_far:
        return more
    for name in (so_far + more, more):
        if name.startswith(so_far) and any(tool.startswith(name) for tool in tools):
            return name
    return None


def begin_named(state: ChatState, events: Events) -> ChatState:
    """Begin the calls whose names might have been incomplete, and were not."""
    for call in state.calls.pending:
        if call.name:
            rest = Fragment(id=None, index=None, name=None, text="", custom=False, extra={})
            state = _on_pending(state, call, rest, events)
    return state


def _keep_extra(state: ChatState, extra: JsonObject) -> ChatState:
    """Keep the fields that must go back with the current call."""
    if not extra or (current := state.calls.current) is None:
        return state
    known = state.calls.extras.get(current.id, {})
    extras = with_entry(state.calls.extras, current.id, {**known, **extra})
    return replace(state, calls=replace(state.calls, extras=extras))


# -- matching


def _find_pending(pending: Sequence[Pending], fragment: Fragment) -> Pending | None:
    """Return the call without a name that *fragment* belongs to."""
    for call in reversed(pending):
        if fragment.id is not None and call.id is not None:
            if fragment.id == call.id:
                return call
        elif fragment.index in (None, call.index):
            return call
    return None


def _find(calls: Calls, fragment: Fragment) -> ChatCall | None:
    """Return the call that *fragment* belongs to; None if it begins a new one."""
    if fragment.id is not None:
        if (call := calls.by_wire_id.get(fragment.id)) is not None:
            return call if _agrees(call, fragment) else None
        if fragment.name is not None:
            return _continued(calls, fragment)
    numbered = None if fragment.index is None else calls.by_index.get(fragment.index)
    if fragment.name is None:
        placed = fragment.index is not None or not fragment.text.strip()
        begins = fragment.id is not None and numbered is None and placed
        return None if begins else numbered or calls.unnumbered
    found = calls.current if fragment.index is None else numbered
    if found is None or found.name != fragment.name:
        return None
    known = calls.arguments.get(found.id, Arguments())
    if is_object(fragment.text) and not repeats(known, fragment.text):
        return None
    return found  # the name comes with every fragment


def _continued(calls: Calls, fragment: Fragment) -> ChatCall | None:
    """Return the call that a fragment with a name and a new id has more of; None for a new one."""
    call = calls.current if fragment.index is None else calls.by_index.get(fragment.index)
    if call is None or call.name != fragment.name or call.whole or fragment.custom:
        return None
    return None if fragment.text.lstrip()[:1] in ("", "{") else call


def _agrees(call: ChatCall, fragment: Fragment) -> bool:
    """Return whether a fragment with the call's id can belong to it: some ids recur."""
    if fragment.name is None:
        return True
    same_place = None in (call.index, fragment.index) or call.index == fragment.index
    return fragment.name == call.name and same_place


def _overflows(call: ChatCall, fragment: Fragment) -> bool:
    """Return whether *fragment* adds to a call that was whole; a repetition does not."""
    return call.whole is not None and bool(fragment.text.strip()) and fragment.text != call.whole


# -- the end


def end_calls(calls: Calls, events: Events) -> tuple[Diagnostic, ...]:
    """End all calls in the order they began; return reports of how their arguments came."""
    diagnostics = [cleaned(name) for name in calls.cleaned]
    for id_, arguments in calls.arguments.items():
        held, snapshots = end_arguments(arguments)
        if snapshots:
            diagnostics.append(repeated(calls.calls[id_].name))
        if not held:
            continue
        if calls.calls[id_].freeform:
            calls = replace(calls, freeform=PersistentList((id_, held), calls.freeform))
        else:
            events.append(ToolInputDelta(id_, held))
    _emit_freeform_inputs(calls, events)
    for call in calls.calls.values():
        extra = calls.extras.get(call.id)
        metadata = {METADATA_KEY: extra} if extra else {}
        text = calls.texts.get(call.id, "")
        events.append(ToolInputEnd(call.id, text, provider_metadata=metadata))
    return tuple(diagnostics)


def _emit_freeform_inputs(calls: Calls, events: Events) -> None:
    """Emit the inputs of freeform tools that were offered as functions, unwrapped."""
    pieces: dict[str, list[str]] = {}
    for call_id, text in to_list(calls.freeform):
        pieces.setdefault(call_id, []).append(text)
    for call_id, texts in pieces.items():
        events.append(ToolInputDelta(call_id, freeform_text(json_or_text("".join(texts)))))


def forced_call(state: ChatState, events: Events) -> ChatState:
    """Emit the tool call that the text of a schema-bound response represents; other text stays."""
    text = "".join(piece for piece in to_list(state.buffered) if isinstance(piece, str))
    native = object_or_empty(json_or_text(text))
    name = str_or_none(native.get("name"))
    if name is not None:
        call = new_call(state, None, name)
        state = begin(state, call, events)
        arguments = native.get("arguments")
        text = freeform_text(arguments) if call.freeform else json.dumps(arguments).decode()
        events.append(ToolInputDelta(call.id, text))
    elif text:
        state = open_segment(state, "text", events)
        events.append(TextDelta(state.segment, text))
    return close_segment(state, events)
