"""OpenAI Responses: reading the calls that the caller answers.

Functions and freeform tools, and the built-in tools that the caller runs: computer, local
shell, shell, patches, searches for tools, and the question whether an MCP tool may be called. The
latter keep their item, for it goes back as it came, and their results have a form of their own
(see `results`). Source: https://developers.openai.com/api/reference/resources/responses/
streaming-events, read November 2026.
"""

from typing import Any, Final

from llmcore.protocols.call_ids import synthetic_call_id
from llmcore.protocols.native_json import int_or_none, object_or_empty, objects, str_or_none
from llmcore.protocols.openai_responses.call_inputs import (
    CLOSINGS,
    bare_texts,
    escaped,
    input_text,
    is_said,
    opening,
    with_bare_texts,
    written,
)
from llmcore.protocols.openai_responses.content import announce, announce_file, decoded
from llmcore.protocols.openai_responses.finish import on_notification
from llmcore.protocols.openai_responses.items import find, found_or_begun
from llmcore.protocols.openai_responses.models import CALL_FIELDS
from llmcore.protocols.openai_responses.names import METADATA_KEY, NativeObject
from llmcore.protocols.openai_responses.state import Item, State, heat, put
from llmcore.schema.changed import changed
from llmcore.schema.content import ToolCallKind
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    ErrorEvent,
    File,
    LLMEvent,
    ProviderEvent,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.json import JsonValue

NAMES: Final = {
    "apply_patch_call": "apply_patch",
    "code_interpreter_call": "code_interpreter",
    "computer_call": "computer",
    "file_search_call": "file_search",
    "image_generation_call": "image_generation",
    "local_shell_call": "local_shell",
    "mcp_approval_request": "mcp_approval",
    "mcp_list_tools": "mcp_list_tools",
    "program": "program",
    "shell_call": "shell",
    "tool_search_call": "tool_search",
    "web_search_call": "web_search",
    "x_search_call": "x_search",
}
"""What calls of the built-in tools are called here."""
NAMED: Final = frozenset({"function_call", "custom_tool_call", "mcp_call"})
"""Calls that say the tool's name themselves."""
CALLS: Final = NAMED | NAMES.keys()
_ALWAYS_OURS: Final = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "apply_patch_call"}
    | {"mcp_approval_request"}
)


def is_ours(native: NativeObject) -> bool:
    """Return whether the caller is to run the call that *native* is."""
    match native.get("type"):
        case "shell_call":
            where = str_or_none(object_or_empty(native.get("environment")).get("type")) or "local"
            return not where.startswith("container")
        case "tool_search_call":
            return native.get("execution") == "client"
        case kind:
            return kind in _ALWAYS_OURS


def tool_name(native: NativeObject) -> str | None:
    """Return the name of the tool that is called."""
    kind = str(native.get("type"))
    return str_or_none(native.get("name")) if kind in NAMED else NAMES.get(kind)


# -- beginning


def begin_call(state: State, item: Item, events: list[LLMEvent]) -> State:
    """Announce a call, once its name is known."""
    name = tool_name(item.native)
    if item.call_id or name is None:
        return put(state, item)
    call_id = _call_id(state, item)
    kind: ToolCallKind = "custom" if item.kind == "custom_tool_call" else "function"
    hosted = not is_ours(item.native)
    events.append(ToolInputStart(call_id, name, kind=kind, provider_executed=hosted))
    envelope = changed(state.envelope, call_ids=state.envelope.call_ids | {call_id})
    return put(changed(state, envelope=envelope), changed(item, call_id=call_id))


def _call_id(state: State, item: Item) -> str:
    """Return an id that is unique in this response: the server's, or ours."""
    taken = state.envelope.call_ids
    names = ("call_id", "id")
    for name in names:
        id_ = str_or_none(item.native.get(name))
        if id_ is not None and id_ not in taken:
            return id_
    return synthetic_call_id(state.envelope.response_id, state.context.turn, item.place)


def begin_input(state: State, place: int, begun: bool, events: list[LLMEvent]) -> State:
    """Emit the input that a call is announced with, unless it had *begun*; deltas may follow."""
    item = state.items[place]
    field = "input" if item.kind == "custom_tool_call" else "arguments"
    text = written(item.native.get(field))
    if item.kind not in NAMED or not item.call_id or not text:
        return state
    if not begun:
        events.append(ToolInputDelta(item.call_id, text))
    return put(state, changed(item, native={**item.native, field: ""}))


# -- input


def on_arguments_delta(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Take more of the input of a function, a freeform or an MCP tool."""
    text = event.get("delta")
    kind = _kind(event)
    if not isinstance(text, str) or not text:
        return state
    state, item = found_or_begun(state, event, kind)
    if item.done:
        return state
    if not item.call_id:
        return state if item.skipped else put(state, changed(item, skipped=True))
    events.append(ToolInputDelta(item.call_id, text))
    if state.hot is not None and state.hot.segment == item.call_id:
        return state
    return changed(state, hot=heat(event, "content_index", item.call_id, ToolInputDelta))


def on_arguments_done(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Keep the whole input, which the end of the item may not say again."""
    kind = _kind(event)
    text = written(event.get("input" if kind == "custom_tool_call" else "arguments"))
    state, item = found_or_begun(state, event, kind)
    if item.done:
        return state
    name = str_or_none(event.get("name"))
    if name is not None and not item.call_id:
        state = begin_call(state, changed(item, native={**item.native, "name": name}), events)
        item = state.items[item.place]
    return put(state, changed(item, text=text or item.text))


def _kind(event: NativeObject) -> str:
    """Return the kind of item that *event*, by its name, speaks of."""
    name = str(event.get("type"))
    if "custom_tool_call" in name:
        return "custom_tool_call"
    return "mcp_call" if "mcp_call" in name else "function_call"


# -- input that is streamed bare


def on_bare_delta(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Take more code, more of a command, or more of a diff, and write it as JSON."""
    text = event.get("delta")
    item = find(state, event, *CLOSINGS)
    if item is None or item.done or not item.call_id or not isinstance(text, str):
        return state
    state = _begin_bare(state, item, events)
    if text:
        events.append(ToolInputDelta(item.call_id, escaped(text)))
    return state


def _begin_bare(state: State, item: Item, events: list[LLMEvent]) -> State:
    """Emit the JSON before the text that is streamed bare, and the text that is there already."""
    if item.closing:
        return state
    texts = map(escaped, bare_texts(item.native))
    events.append(ToolInputDelta(item.call_id, opening(item.native) + '","'.join(texts)))
    native = with_bare_texts(item.native, ())
    return put(state, changed(item, native=native, closing=CLOSINGS[item.kind]))


def on_command_added(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Begin the next command of a shell call."""
    item = find(state, event, "shell_call")
    number, text = int_or_none(event.get("command_index")), str_or_none(event.get("command"))
    if item is None or item.done or not item.call_id or not (item.closing or text):
        return state
    state = _begin_bare(state, item, events)
    words = ('","' if number else "") + escaped(text or "")
    if words:
        events.append(ToolInputDelta(item.call_id, words))
    return state


def on_bare_done(state: State, event: NativeObject, _events: list[LLMEvent]) -> State:
    """Keep the whole code, command or diff, which the end of the item may not repeat."""
    item = find(state, event, *CLOSINGS)
    texts = [event.get(name) for name in ("code", "command", "diff") if name in event]
    if item is None or item.done or not texts or not isinstance(texts[0], str):
        return state
    before = bare_texts(item.native) if item.kind == "shell_call" else []
    number = int_or_none(event.get("command_index"))
    if number is not None and number != len(before):
        return state
    native = with_bare_texts(item.native, (*before, texts[0]))
    return put(state, changed(item, native=native))


# -- the whole call


def settle_call(state: State, item: Item, events: list[LLMEvent]) -> State:
    """End a call that the caller is to run."""
    state = begin_call(state, item, events)
    item = state.items[item.place]
    if not item.call_id:
        message = "a tool call came without a name"
        events.append(ErrorEvent(StreamError(message, raw=item.native)))
        return put(state, changed(item, done=True))
    text = last_word(item, events)
    if item.skipped and not text:
        message = "the arguments of a tool call came before its name, and only then"
        events.append(ErrorEvent(StreamError(message, raw=item.native)))
    events.append(ToolInputEnd(item.call_id, text, provider_metadata={METADATA_KEY: _own(item)}))
    if is_ours(item.native) and not state.envelope.called:
        state = changed(state, envelope=changed(state.envelope, called=True))
    return put(state, changed(item, done=True))


def last_word(item: Item, events: list[LLMEvent]) -> str:
    """Return the whole input as the server said it last; empty if only its deltas did."""
    if item.kind in NAMED:
        return input_text(item.native) or item.text
    if item.closing and not is_said(item.native):
        events.append(ToolInputDelta(item.call_id, item.closing))
        return ""
    return input_text(item.native)


def _own(item: Item) -> NativeObject:
    """Return what a replay must know of the call."""
    if item.kind in NAMED:
        extra = {name: item.native[name] for name in CALL_FIELDS if item.native.get(name)}
        return {**item.metadata, **extra}
    return {**item.metadata, "item": item.native}


# -- calls that the provider runs


OUTPUTS: Final = {
    "program_output": "program",
    "shell_call_output": "shell",
    "tool_search_output": "tool_search",
}
"""Items that are the result of a call before them, and the tool's name."""
_SEPARATE: Final = frozenset({"program", "shell_call", "tool_search_call"})
"""Calls whose result is another item."""

# -- calls


def settle_hosted(state: State, item: Item, events: list[LLMEvent]) -> State:
    """End a call that the provider ran, with its result where the item has it."""
    native = item.native
    state = begin_call(state, item, events)
    item = state.items[item.place]
    if not item.call_id:  # an MCP call that lost its name
        return settle_unknown(state, item, events)
    own = {METADATA_KEY: {**item.metadata, "item": _kept(native)}}
    events.append(ToolInputEnd(item.call_id, last_word(item, events), provider_metadata=own))
    state = put(state, changed(item, done=True))
    if item.kind == "tool_search_call":
        return changed(state, envelope=changed(state.envelope, search=item.call_id))
    if item.kind in _SEPARATE:
        return state
    _draw(item, events)
    state = _announce_found(state, native, events)
    events.append(
        ToolResult(
            item.call_id,
            _result(native),
            name=tool_name(native),
            is_error=_failed(native),
            provider_executed=True,
            provider_metadata={METADATA_KEY: {"index": item.place}},
        )
    )
    return state


def _kept(native: NativeObject) -> NativeObject:
    """Return what is kept of the item: all but a picture, which is a part of its own."""
    if native.get("type") == "image_generation_call" and isinstance(native.get("result"), str):
        return {name: value for name, value in native.items() if name != "result"}
    return native


_IMAGE_TYPES: Final = {"svg": "image/svg+xml"}


def _draw(item: Item, events: list[LLMEvent]) -> None:
    """Give a picture that was drawn as a file."""
    native = item.native
    if item.kind != "image_generation_call" or not isinstance(native.get("result"), str):
        return
    form = str_or_none(native.get("output_format")) or "png"
    events.append(
        File(
            id=f"image_{item.place}",
            media_type=_IMAGE_TYPES.get(form, f"image/{form}"),
            data=decoded(native["result"]),
            provider_metadata={METADATA_KEY: {"index": item.place}},
        )
    )


def _announce_found(state: State, native: NativeObject, events: list[LLMEvent]) -> State:
    """Announce what a search found."""
    for source in objects(object_or_empty(native.get("action")).get("sources")):
        state = announce(state, source.get("url"), source.get("title"), events)
    if native.get("type") == "file_search_call":
        for result in objects(native.get("results")):
            state = announce_file(state, result.get("file_id"), result.get("filename"), events)
    return state


# -- results


_RESULTS: Final = {
    "code_interpreter_call": ("status", "container_id", "outputs"),
    "file_search_call": ("status", "results"),
    "image_generation_call": ("status", "revised_prompt", "size", "quality", "error"),
    "mcp_list_tools": ("server_label", "tools", "error"),
}
"""Which fields of an item are its result."""


def _result(native: NativeObject) -> JsonValue:
    kind = str(native.get("type"))
    if kind == "mcp_call":
        output: Any = native.get("output")
        return native.get("error") if output is None else output
    if kind == "web_search_call":
        sources = objects(object_or_empty(native.get("action")).get("sources"))
        return {"status": native.get("status"), **({"sources": sources} if sources else {})}
    names = _RESULTS.get(kind, ("status",))
    return {name: native[name] for name in names if native.get(name) is not None}


def _failed(native: NativeObject) -> bool:
    return native.get("status") == "failed" or bool(native.get("error"))


def settle_output(state: State, item: Item, events: list[LLMEvent]) -> State:
    """Give the result of a call that was an item before."""
    native = item.native
    call_id = str_or_none(native.get("call_id")) or state.envelope.search
    if call_id is None:
        return settle_unknown(state, item, events)
    events.append(
        ToolResult(
            call_id,
            _output(native),
            name=OUTPUTS[item.kind],
            is_error=_failed(native),
            provider_executed=True,
            provider_metadata={METADATA_KEY: {**item.metadata, "item": native}},
        )
    )
    return put(state, changed(item, done=True))


def on_shell_output(state: State, event: NativeObject, events: list[LLMEvent]) -> State:
    """Pass on what a command wrote, and keep it, for the end of its item may not repeat it."""
    item = find(state, event, "shell_call_output")
    written = objects(event.get("output"))
    if item is not None and not item.done and written:
        before = objects(item.native.get("output"))
        number = int_or_none(event.get("command_index"))
        at = len(before) if number is None else min(max(number, 0), len(before))
        output = [*before[:at], *written[:1], *before[at + 1 :]]
        state = put(state, changed(item, native={**item.native, "output": output}))
    return on_notification(state, event, events)


def _output(native: NativeObject) -> JsonValue:
    match native.get("type"):
        case "program_output":
            return native.get("result")
        case "tool_search_output":
            return {"tools": native.get("tools") or []}
        case _:
            return {"output": native.get("output") or []}


# -- what is none of these


def settle_unknown(state: State, item: Item, events: list[LLMEvent]) -> State:
    """Keep an item of another kind as it is; compaction items are such."""
    metadata = {METADATA_KEY: item.metadata}
    events.append(
        ProviderEvent(state.context.owner, item.native, replay=True, provider_metadata=metadata)
    )
    return put(state, changed(item, done=True))
