r"""Anthropic Messages: reading calls of tools, and what the provider's own tools returned.

    {"type": "content_block_start", "index": 1, "content_block":
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}}
    {"type": "content_block_delta", "index": 1, "delta":
        {"type": "input_json_delta", "partial_json": "{\"at\": 1}"}}
    {"type": "content_block_stop", "index": 1}

Source: https://platform.claude.com/docs/en/build-with-claude/streaming#input-json-delta, read
November 2026.
"""

from typing import Final

from msgspec.structs import replace

from llmcore.protocols import blocks
from llmcore.protocols.anthropic_messages.content import apply_deltas, keep_delta, unread_fields
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, TOOL_CALL_TYPES
from llmcore.protocols.anthropic_messages.state import Event, MessagesState
from llmcore.protocols.response_parts import Events
from llmcore.schema.events import Source, ToolResult
from llmcore.schema.json import JsonObject, JsonValue, present
from llmcore.schema.native_json import object_or_empty, objects, str_or_empty, str_or_none
from llmcore.schema.persistent import to_list

_INPUT: Final[blocks.FastPath] = ("input_json_delta", "partial_json")

# -- calls


def on_call_start(
    state: MessagesState, index: object, block: Event, events: Events
) -> MessagesState:
    """Open a call of the caller's tool, or of one that the provider runs."""
    metadata = {name: block[name] for name in _BESIDE if block.get(name)}
    return blocks.start_call(
        state,
        index,
        block,
        events,
        id_=block.get("id"),
        given=block.get("input") or None,  # `{}` where deltas bring it
        executed=block["type"] != TOOL_CALL_TYPES[0],
        fast_path=_INPUT,
        response_id=state.info.response_id,
        metadata={METADATA_KEY: metadata} if metadata else None,
    )


_BESIDE: Final = ("caller", "toolset_name")
"""Further fields of a call: the code that makes it, and the family of its tool."""


def on_input(block: blocks.Block, delta: Event, events: Events) -> blocks.Block:
    """Return the call with more of its input."""
    if block.kind not in ("tool", "freeform", "format"):
        return keep_delta(block, delta, events)
    return blocks.continue_call(block, str_or_empty(delta.get("partial_json")), events, _INPUT)


def end_tool(block: blocks.Block, events: Events) -> None:
    """Emit the end of a call."""
    if block.native["type"] == TOOL_CALL_TYPES[0]:
        read = {name: block.native[name] for name in _BESIDE if name in block.native}
        block = replace(block, native={**read, **unread_fields(block.native)})
    blocks.end_call(block, events, METADATA_KEY, _NOT_METADATA)


_NOT_METADATA: Final = frozenset({"id", "name", "input"})


# -- results of the provider's tools


def on_result_start(
    state: MessagesState, index: object, block: Event, _events: Events
) -> MessagesState:
    """Open a result, which is emitted when it is complete."""
    return blocks.open_block(state, index, blocks.Block(kind="result", native=block))


def end_result(state: MessagesState, block: blocks.Block, events: Events) -> MessagesState:
    """Emit a result, and the pages in it as sources."""
    native = apply_deltas(block.native, to_list(block.pieces))
    call_id = str_or_empty(native.get("tool_use_id"))
    content = native.get("content")
    failed = str(object_or_empty(content).get("type", "")).endswith("_error")
    # requests take no null where responses have one (`caller`)
    rest: JsonObject = present(native, but=_NOT_RESULT_METADATA)
    events.append(
        ToolResult(
            call_id,
            content,
            name=state.names.get(call_id),
            is_error=native.get("is_error") is True or failed,
            provider_executed=True,
            provider_metadata={METADATA_KEY: rest},
        )
    )
    return _report_sources(state, content, events)


_NOT_RESULT_METADATA: Final = frozenset({"tool_use_id", "content"})


def _report_sources(state: MessagesState, content: JsonValue, events: Events) -> MessagesState:
    """Emit the pages that a search found or a fetch read."""
    number = state.sources
    for page in (*objects(content), object_or_empty(content)):
        url = str_or_none(page.get("url"))
        if page.get("type") not in ("web_search_result", "web_fetch_result") or url is None:
            continue
        inner = object_or_empty(page.get("content"))
        title = str_or_none(page.get("title")) or str_or_none(inner.get("title"))
        facts = {k: page[k] for k in ("page_age", "retrieved_at") if str_or_none(page.get(k))}
        metadata = {METADATA_KEY: facts} if facts else {}
        events.append(
            Source(id=f"source_{number}", url=url, title=title, provider_metadata=metadata)
        )
        number += 1
    return state if number == state.sources else replace(state, sources=number)
