"""OpenAI Responses: reading the calls that the caller answers.

Functions and freeform tools, and the built-in tools that the caller runs: computer, local
shell, shell, patches, searches for tools, and the question whether an MCP tool may be called. The
latter keep their item, for it goes back as it came, and their results have a form of their own
(see `results`). Source: https://developers.openai.com/api/reference/resources/responses/
streaming-events, read November 2026.
"""

from typing import Final

from llmcore.protocols.call_ids import synthetic_call_id
from llmcore.protocols.loose_json import integer, mapping, string
from llmcore.protocols.openai_responses.dialect import CALL_FIELDS
from llmcore.protocols.openai_responses.inputs import (
    CLOSINGS,
    bare_texts,
    escaped,
    input_text,
    is_said,
    opening,
    with_bare_texts,
    written,
)
from llmcore.protocols.openai_responses.items import find, found_or_begun
from llmcore.protocols.openai_responses.names import METADATA_KEY
from llmcore.protocols.openai_responses.state import Chunk, Item, State, heat, put
from llmcore.schema.changed import changed
from llmcore.schema.content import ToolCallKind
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    ErrorEvent,
    LLMEvent,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)

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


def is_ours(native: Chunk) -> bool:
    """Return whether the caller is to run the call that *native* is."""
    match native.get("type"):
        case "shell_call":
            where = string(mapping(native.get("environment")).get("type")) or "local"
            return not where.startswith("container")
        case "tool_search_call":
            return native.get("execution") == "client"
        case kind:
            return kind in _ALWAYS_OURS


def tool_name(native: Chunk) -> str | None:
    """Return the name of the tool that is called."""
    kind = str(native.get("type"))
    return string(native.get("name")) if kind in NAMED else NAMES.get(kind)


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
        id_ = string(item.native.get(name))
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


def on_arguments_delta(state: State, event: Chunk, events: list[LLMEvent]) -> State:
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


def on_arguments_done(state: State, event: Chunk, events: list[LLMEvent]) -> State:
    """Keep the whole input, which the end of the item may not say again."""
    kind = _kind(event)
    text = written(event.get("input" if kind == "custom_tool_call" else "arguments"))
    state, item = found_or_begun(state, event, kind)
    if item.done:
        return state
    name = string(event.get("name"))
    if name is not None and not item.call_id:
        state = begin_call(state, changed(item, native={**item.native, "name": name}), events)
        item = state.items[item.place]
    return put(state, changed(item, text=text or item.text))


def _kind(event: Chunk) -> str:
    """Return the kind of item that *event*, by its name, speaks of."""
    name = str(event.get("type"))
    if "custom_tool_call" in name:
        return "custom_tool_call"
    return "mcp_call" if "mcp_call" in name else "function_call"


# -- input that is streamed bare


def on_bare_delta(state: State, event: Chunk, events: list[LLMEvent]) -> State:
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


def on_command_added(state: State, event: Chunk, events: list[LLMEvent]) -> State:
    """Begin the next command of a shell call."""
    item = find(state, event, "shell_call")
    number, text = integer(event.get("command_index")), string(event.get("command"))
    if item is None or item.done or not item.call_id or not (item.closing or text):
        return state
    state = _begin_bare(state, item, events)
    words = ('","' if number else "") + escaped(text or "")
    if words:
        events.append(ToolInputDelta(item.call_id, words))
    return state


def on_bare_done(state: State, event: Chunk, _events: list[LLMEvent]) -> State:
    """Keep the whole code, command or diff, which the end of the item may not repeat."""
    item = find(state, event, *CLOSINGS)
    texts = [event.get(name) for name in ("code", "command", "diff") if name in event]
    if item is None or item.done or not texts or not isinstance(texts[0], str):
        return state
    before = bare_texts(item.native) if item.kind == "shell_call" else []
    number = integer(event.get("command_index"))
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


def _own(item: Item) -> Chunk:
    """Return what a replay must know of the call."""
    if item.kind in NAMED:
        extra = {name: item.native[name] for name in CALL_FIELDS if item.native.get(name)}
        return {**item.metadata, **extra}
    return {**item.metadata, "item": item.native}
