"""OpenAI Responses: reading the tools that the provider ran by itself.

A call and its result, made from one item or from two; the items stay with them, for they go
back as they came. Sources, read November 2026: https://developers.openai.com/api/docs/guides/tools
and its pages, https://docs.x.ai/developers/tools/overview (`x_search_call`).
"""

from typing import Any, Final

from llmcore.protocols.loose_json import dicts, integer, mapping, string
from llmcore.protocols.openai_responses.citations import announce, announce_file
from llmcore.protocols.openai_responses.content import decoded
from llmcore.protocols.openai_responses.envelope import on_notification
from llmcore.protocols.openai_responses.items import find
from llmcore.protocols.openai_responses.names import METADATA_KEY
from llmcore.protocols.openai_responses.state import Chunk, Item, State, put
from llmcore.protocols.openai_responses.tool_calls import begin_call, last_word, tool_name
from llmcore.schema.changed import changed
from llmcore.schema.events import File, LLMEvent, ProviderEvent, ToolInputEnd, ToolResult
from llmcore.schema.json import JsonValue

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


def _kept(native: Chunk) -> Chunk:
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
    form = string(native.get("output_format")) or "png"
    events.append(
        File(
            id=f"image_{item.place}",
            media_type=_IMAGE_TYPES.get(form, f"image/{form}"),
            data=decoded(native["result"]),
            provider_metadata={METADATA_KEY: {"index": item.place}},
        )
    )


def _announce_found(state: State, native: Chunk, events: list[LLMEvent]) -> State:
    """Announce what a search found."""
    for source in dicts(mapping(native.get("action")).get("sources")):
        state = announce(state, source.get("url"), source.get("title"), events)
    if native.get("type") == "file_search_call":
        for result in dicts(native.get("results")):
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


def _result(native: Chunk) -> JsonValue:
    kind = str(native.get("type"))
    if kind == "mcp_call":
        output: Any = native.get("output")
        return native.get("error") if output is None else output
    if kind == "web_search_call":
        sources = dicts(mapping(native.get("action")).get("sources"))
        return {"status": native.get("status"), **({"sources": sources} if sources else {})}
    names = _RESULTS.get(kind, ("status",))
    return {name: native[name] for name in names if native.get(name) is not None}


def _failed(native: Chunk) -> bool:
    return native.get("status") == "failed" or bool(native.get("error"))


def settle_output(state: State, item: Item, events: list[LLMEvent]) -> State:
    """Give the result of a call that was an item before."""
    native = item.native
    call_id = string(native.get("call_id")) or state.envelope.search
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


def on_shell_output(state: State, event: Chunk, events: list[LLMEvent]) -> State:
    """Pass on what a command wrote, and keep it, for the end of its item may not repeat it."""
    item = find(state, event, "shell_call_output")
    written = dicts(event.get("output"))
    if item is not None and not item.done and written:
        before = dicts(item.native.get("output"))
        number = integer(event.get("command_index"))
        at = len(before) if number is None else min(max(number, 0), len(before))
        output = [*before[:at], *written[:1], *before[at + 1 :]]
        state = put(state, changed(item, native={**item.native, "output": output}))
    return on_notification(state, event, events)


def _output(native: Chunk) -> JsonValue:
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
