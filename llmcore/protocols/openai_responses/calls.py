r"""OpenAI Responses: reading calls: those that the client runs, and those that the provider ran.

A function's call comes in these frames, and whole again in `output_item.done`:

    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call",
     "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": ""}}
    {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0,
     "delta": "{\"city\":"}
    {"type": "response.function_call_arguments.done", ..., "arguments": "{\"city\":\"Riga\"}"}

The client also runs some built-in tools: computer, local shell, shell, patches, searches for tools,
and the approval of an MCP tool. Their calls keep their item, for it goes back as it came, and their
results have a form of their own (`parts`). A call that the provider ran comes with its result, in
one item or in two. Sources, read November 2026: https://developers.openai.com/api/reference/
resources/responses/streaming-events, https://developers.openai.com/api/docs/guides/tools and its
pages, https://docs.x.ai/developers/tools/overview (`x_search_call`; `names` has its other form).
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from llmcore.protocols.history import ITEM_FIELDS
from llmcore.protocols.media import decode_leniently
from llmcore.protocols.openai_responses import names
from llmcore.protocols.openai_responses.call_inputs import (
    CLOSINGS,
    escaped,
    input_field,
    input_text,
    opening,
    plain_texts,
    with_plain_texts,
)
from llmcore.protocols.openai_responses.content import announce_file, announce_page
from llmcore.protocols.openai_responses.finish import on_notification
from llmcore.protocols.openai_responses.matching import match_inside, match_or_begin
from llmcore.protocols.openai_responses.state import Item, ResponsesState, with_fast_path, with_item
from llmcore.protocols.response_parts import Events
from llmcore.protocols.tools import freeform_text, synthetic_call_id
from llmcore.schema.content import ToolCallKind
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    ErrorEvent,
    File,
    ProviderEvent,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.json import (
    JsonValue,
    NativeObject,
    ProviderMetadata,
    json_or_text,
    text_or_json_or_empty,
    without,
)
from llmcore.schema.native_json import (
    int_or_none,
    object_or_empty,
    objects,
    objects_or_one,
    str_or_none,
)
from llmcore.schema.persistent import PersistentList, to_list, with_entry


def is_client_run(native: NativeObject) -> bool:
    """Return whether the client is to run the call *native*."""
    match native.get("type"):
        case "shell_call":
            where = str_or_none(object_or_empty(native.get("environment")).get("type")) or "local"
            return not where.startswith("container")
        case "tool_search_call":
            return native.get("execution") == "client"
        case "custom_tool_call":
            return not str(native.get("call_id")).startswith(names.X_SEARCH_IDS)
        case type_:
            return type_ in names.CLIENT_CALLS


def _tool_name(native: NativeObject) -> str | None:
    type_ = str(native.get("type"))
    if type_ == "custom_tool_call" and not is_client_run(native):
        return "x_search"
    return (
        str_or_none(native.get("name"))
        if type_ in names.NAMED_CALLS
        else names.CALL_TOOLS.get(type_)
    )


# -- the beginning


def begin_call(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """Emit the start of a call, once its name is known, and the input that it has already."""
    begun = bool(item.call_id)
    state, item = _start_call(state, item, events)
    field = input_field(item.type)
    text = text_or_json_or_empty(item.native.get(field))
    if item.type not in names.NAMED_CALLS or not item.call_id or not text:
        return state
    item = replace(item, native={**item.native, field: ""})
    if _is_wrapped(state, item):
        return with_item(state, replace(item, held=PersistentList(text, item.held)))
    if not begun:
        events.append(ToolInputDelta(item.call_id, text))
    return with_item(state, item)


def _is_wrapped(state: ResponsesState, item: Item) -> bool:
    """Return whether *item* calls a freeform tool that was offered as a function."""
    name = str_or_none(item.native.get("name"))
    return item.type == "function_call" and name in state.context.freeform


def _start_call(state: ResponsesState, item: Item, events: Events) -> tuple[ResponsesState, Item]:
    """Return the state and the item after the start of a call, once its name is known."""
    name = _tool_name(item.native)
    if item.call_id or name is None:
        return with_item(state, item), item
    call_id = _call_id(state, item)
    hosted = not is_client_run(item.native)
    freeform = (item.type == "custom_tool_call" and not hosted) or _is_wrapped(state, item)
    kind: ToolCallKind = "custom" if freeform else "function"
    events.append(
        ToolInputStart(
            call_id,
            name,
            kind=kind,
            provider_executed=hosted,
            provider_metadata=_begins_with(item.native),
        )
    )
    call_ids = with_entry(state.info.call_ids, call_id, None)
    state = replace(state, info=replace(state.info, call_ids=call_ids))
    item = replace(item, call_id=call_id)
    return with_item(state, item), item


def _begins_with(native: NativeObject) -> ProviderMetadata:
    """Return what is known of a call besides its name: further fields, or a built-in's item."""
    type_ = str(native.get("type"))
    if type_ in names.NAMED_CALLS:
        fields = _call_fields(native)
    else:
        fields = {"type": type_} if is_client_run(native) else {}
    return {names.METADATA_KEY: fields} if fields else {}


def _call_fields(native: NativeObject) -> NativeObject:
    fields = {name: native[name] for name in names.CALL_FIELDS if native.get(name)}
    unread = names.unread_fields(native)
    return {**fields, ITEM_FIELDS: unread} if unread else fields


def _call_id(state: ResponsesState, item: Item) -> str:
    """Return an id that is unique in this response: the server's, or a generated one."""
    for name in ("call_id", "id"):
        id_ = str_or_none(item.native.get(name))
        if id_ is not None and id_ not in state.info.call_ids:
            return id_
    return synthetic_call_id(state.info.response_id, state.context.turn, item.position)


# -- input


def on_input_delta(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Emit more of the input of a function, a freeform or an MCP tool."""
    text = event.get("delta")
    if not isinstance(text, str) or not text:
        return state
    state, item = match_or_begin(state, event, _type_of(event))
    if item.done:
        return state
    if not item.call_id:
        return state if item.skipped else with_item(state, replace(item, skipped=True))
    if _is_wrapped(state, item):
        return with_item(state, replace(item, held=PersistentList(text, item.held)))
    events.append(ToolInputDelta(item.call_id, text))
    return with_fast_path(state, event, "content_index", item.call_id, ToolInputDelta)


def on_input_done(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Keep the whole input, which the end of the item may not repeat."""
    type_ = _type_of(event)
    state, item = match_or_begin(state, event, type_)
    if item.done:
        return state
    name = str_or_none(event.get("name"))
    if name is not None and not item.call_id:
        item = replace(item, native={**item.native, "name": name})
        state, item = _start_call(state, item, events)
    return with_item(
        state, replace(item, text=text_or_json_or_empty(event.get(input_field(type_))) or item.text)
    )


def _type_of(event: NativeObject) -> str:
    """Return the type of item that *event* is about, by its name."""
    name = str(event.get("type"))
    if "custom_tool_call" in name:
        return "custom_tool_call"
    return "mcp_call" if "mcp_call" in name else "function_call"


# -- input that is streamed as plain text


def on_plain_delta(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Emit more code, more of a command, or more of a diff as JSON."""
    text = event.get("delta")
    item = match_inside(state, event, *CLOSINGS)
    if item is None or item.done or not item.call_id or not isinstance(text, str):
        return state
    state = _begin_plain(state, item, events)
    if text:
        events.append(ToolInputDelta(item.call_id, escaped(text)))
    return state


def _begin_plain(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """Emit the JSON before the plain text, and the text that has arrived already."""
    if item.closing:
        return state
    item = with_listed(item)
    texts = '","'.join(map(escaped, plain_texts(item.native)))
    events.append(ToolInputDelta(item.call_id, opening(item.native) + texts))
    native = with_plain_texts(item.native, ())
    return with_item(state, replace(item, native=native, closing=CLOSINGS[item.type]))


def on_command_added(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Emit the beginning of the next command of a shell call."""
    item = match_inside(state, event, "shell_call")
    number, text = int_or_none(event.get("command_index")), str_or_none(event.get("command"))
    if item is None or item.done or not item.call_id or not (item.closing or text):
        return state
    state = _begin_plain(state, item, events)
    separated = ('","' if number else "") + escaped(text or "")
    if separated:
        events.append(ToolInputDelta(item.call_id, separated))
    return state


def on_plain_done(state: ResponsesState, event: NativeObject, _events: Events) -> ResponsesState:
    """Keep the whole code, command or diff, which the end of the item may not repeat."""
    item = match_inside(state, event, *CLOSINGS)
    text = next((event[name] for name in ("code", "command", "diff") if name in event), None)
    if item is None or item.done or not isinstance(text, str):
        return state
    listed: Mapping[int, Any] = {}
    if item.type == "shell_call":
        listed = item.listed or dict(enumerate(plain_texts(item.native)))
    if int_or_none(event.get("command_index")) not in (None, len(listed)):
        return state
    return with_item(state, replace(item, listed=with_entry(listed, len(listed), text)))


def with_listed(item: Item) -> Item:
    """Return *item* with the commands or outputs in its native form that came one by one."""
    if not item.listed:
        return item
    values = list(item.listed.values())
    if item.type == "shell_call_output":
        native = {**item.native, "output": values}
    else:
        native = with_plain_texts(item.native, values)
    return replace(item, native=native, listed={})


# -- the end


def settle_call(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """End a call that the client is to run."""
    state, item = _start_call(state, item, events)
    if not item.call_id:
        events.append(ErrorEvent(StreamError("a tool call has no name", raw=item.native)))
        return with_item(state, replace(item, done=True))
    text = _whole_input(item, events)
    if _is_wrapped(state, item):
        text = text or "".join(to_list(item.held))
        text = freeform_text(json_or_text(text)) if text else ""
    if item.skipped and not text:
        message = "the arguments of a tool call arrived before its name and were not repeated"
        events.append(ErrorEvent(StreamError(message, raw=item.native)))
    metadata = {names.METADATA_KEY: _replayed(item)}
    events.append(ToolInputEnd(item.call_id, text, provider_metadata=metadata))
    if is_client_run(item.native) and not state.info.called:
        state = replace(state, info=replace(state.info, called=True))
    return with_item(state, replace(item, done=True))


def _whole_input(item: Item, events: Events) -> str:
    """Return the whole input as the server sent it; empty if only its deltas came."""
    if item.type in names.NAMED_CALLS:
        return input_text(item.native) or item.text
    if item.closing and not plain_texts(item.native):
        events.append(ToolInputDelta(item.call_id, item.closing))
        return ""
    return input_text(item.native)


def _replayed(item: Item) -> NativeObject:
    """Return the metadata that replaying the call needs."""
    if item.type in names.NAMED_CALLS:
        return {**item.metadata, **_call_fields(item.native)}
    return {**item.metadata, "item": item.native}


# -- calls that the provider ran

_SEPARATE: Final = frozenset({"program", "shell_call", "tool_search_call"})
"""Calls whose result is another item."""


def settle_hosted(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """End a call that the provider ran, with its result where the item has it."""
    native = item.native
    state, item = _start_call(state, item, events)
    if not item.call_id:  # an MCP call that lost its name
        return settle_unknown(state, item, events)
    metadata = {names.METADATA_KEY: {**item.metadata, "item": _without_image(native)}}
    text = _whole_input(item, events)
    events.append(ToolInputEnd(item.call_id, text, provider_metadata=metadata))
    state = with_item(state, replace(item, done=True))
    if item.type == "tool_search_call":
        return replace(state, info=replace(state.info, search=item.call_id))
    if item.type in _SEPARATE:
        return state
    _emit_image(item, events)
    state = _announce_found(state, native, events)
    events.append(
        ToolResult(
            item.call_id,
            _result(native),
            name=_tool_name(native),
            is_error=_failed(native),
            provider_executed=True,
            provider_metadata={names.METADATA_KEY: {"index": item.position}},
        )
    )
    return state


def _without_image(native: NativeObject) -> NativeObject:
    """Return the item without its image, which is a part of its own."""
    if native.get("type") == "image_generation_call" and isinstance(native.get("result"), str):
        return without(native, "result")
    return native


_IMAGE_TYPES: Final = {"svg": "image/svg+xml"}


def _emit_image(item: Item, events: Events) -> None:
    native = item.native
    if item.type != "image_generation_call" or str_or_none(native.get("result")) is None:
        return
    form = str_or_none(native.get("output_format")) or "png"
    events.append(
        File(
            id=f"image_{item.position}",
            media_type=_IMAGE_TYPES.get(form, f"image/{form}"),
            data=decode_leniently(native["result"]),
            provider_metadata={names.METADATA_KEY: {"index": item.position}},
        )
    )


def _announce_found(state: ResponsesState, native: NativeObject, events: Events) -> ResponsesState:
    for source in objects(object_or_empty(native.get("action")).get("sources")):
        state = announce_page(state, source.get("url"), source.get("title"), events)
    if native.get("type") == "file_search_call":
        for result in objects(native.get("results")):
            state = announce_file(state, result.get("file_id"), result.get("filename"), events)
    return state


_RESULTS: Final = {
    "code_interpreter_call": ("status", "container_id", "outputs"),
    "file_search_call": ("status", "results"),
    "image_generation_call": ("status", "revised_prompt", "size", "quality", "error"),
    "mcp_list_tools": ("server_label", "tools", "error"),
}
"""Which fields of an item are its result."""


def _result(native: NativeObject) -> JsonValue:
    type_ = str(native.get("type"))
    if type_ == "mcp_call":
        output: JsonValue = native.get("output")
        return output or native.get("error") or output
    if type_ == "web_search_call":
        sources = objects(object_or_empty(native.get("action")).get("sources"))
        return {"status": native.get("status"), **({"sources": sources} if sources else {})}
    names = _RESULTS.get(type_, ("status",))
    return {name: native[name] for name in names if native.get(name) is not None}


def _failed(native: NativeObject) -> bool:
    return native.get("status") == "failed" or bool(native.get("error"))


# -- results that are items


def settle_output(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """Emit the result of a call that was an item before."""
    native = item.native
    call_id = str_or_none(native.get("call_id")) or state.info.search
    if call_id is None:
        return settle_unknown(state, item, events)
    events.append(
        ToolResult(
            call_id,
            _output(native),
            name=names.OUTPUT_TOOLS[item.type],
            is_error=_failed(native),
            provider_executed=True,
            provider_metadata={names.METADATA_KEY: {**item.metadata, "item": native}},
        )
    )
    return with_item(state, replace(item, done=True))


def on_shell_output(state: ResponsesState, event: NativeObject, events: Events) -> ResponsesState:
    """Pass on the output of a command, and keep it: the end of its item may not repeat it."""
    item = match_inside(state, event, "shell_call_output")
    output = objects(event.get("output"))
    if item is not None and not item.done and output:
        listed = item.listed or dict(enumerate(objects(item.native.get("output"))))
        number = int_or_none(event.get("command_index"))
        at = len(listed) if number is None else min(max(number, 0), len(listed))
        state = with_item(state, replace(item, listed=with_entry(listed, at, output[0])))
    return on_notification(state, event, events)


def _output(native: NativeObject) -> JsonValue:
    match native.get("type"):
        case "program_output":
            return native.get("result")
        case "tool_search_output":
            return {"tools": native.get("tools") or []}
        case _:
            return {"output": native.get("output") or []}


# -- items of other types


def settle_unknown(state: ResponsesState, item: Item, events: Events) -> ResponsesState:
    """Emit an item of another type as it is, to be sent back; compaction items are such."""
    pages: Any = item.native if item.type in names.PAGES_OF_ITEMS else None
    for step in names.PAGES_OF_ITEMS.get(item.type, ()):
        pages = object_or_empty(pages).get(step)
    for page in objects_or_one(pages):
        state = announce_page(state, page.get("url"), page.get("title"), events)
    metadata = {names.METADATA_KEY: item.metadata}
    replay = item.type not in names.OUTPUT_ONLY_ITEMS
    events.append(
        ProviderEvent(state.owner, item.native, replay=replay, provider_metadata=metadata)
    )
    return with_item(state, replace(item, done=True))
