"""Anthropic Messages: reading text, thinking and blocks that are kept as they came.

    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}
    {"type": "content_block_stop", "index": 0}

Source: https://platform.claude.com/docs/en/api/messages/create (`ContentBlock`), read November
2026. A block may be complete where it starts.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from llmcore.protocols.anthropic_messages.names import METADATA_KEY, READ_FIELDS
from llmcore.protocols.anthropic_messages.state import Event, MessagesState
from llmcore.protocols.blocks import Block, FastPath, open_block
from llmcore.protocols.history import ITEM_FIELDS
from llmcore.protocols.response_parts import Events
from llmcore.schema import json
from llmcore.schema.content import Citation
from llmcore.schema.events import (
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from llmcore.schema.json import JsonObject, ProviderMetadata, present, without
from llmcore.schema.native_json import object_or_empty, objects, str_or_none
from llmcore.schema.persistent import PersistentList, from_list, to_list

_TEXT: Final[FastPath] = ("text_delta", "text")
_THINKING: Final[FastPath] = ("thinking_delta", "thinking")

# -- text


def on_text_start(
    state: MessagesState, index: object, block: Event, events: Events
) -> MessagesState:
    """Open a text; emits its start and what it already holds."""
    segment = f"text_{state.blocks}"
    events.append(TextStart(segment))
    text = str_or_none(block.get("text"))
    if text:
        events.append(TextDelta(segment, text))
    citations = from_list(objects(block.get("citations")))
    opened = Block(kind="text", segment=segment, fast_path=_TEXT, citations=citations, native=block)
    return open_block(state, index, opened)


def on_citation(block: Block, delta: Event, events: Events) -> Block:
    """Return the text with one more citation."""
    native = object_or_empty(delta.get("citation"))
    if block.kind != "text" or not native:
        return keep_delta(block, delta, events)
    return replace(block, citations=PersistentList(native, block.citations))


def end_text(block: Block, events: Events) -> None:
    """Emit the end of a text, with its citations."""
    citations = tuple(map(read_citation, to_list(block.citations)))
    events.append(TextEnd(block.segment, citations=citations, provider_metadata=_metadata(block)))


def unread_fields(block: JsonObject) -> JsonObject:
    """Return the fields of a block that are not read, to go back with it."""
    unread: JsonObject = present(block, but=READ_FIELDS[str(block["type"])])
    return {ITEM_FIELDS: unread} if unread else {}


def _metadata(block: Block) -> ProviderMetadata:
    unread = unread_fields(block.native)
    return {METADATA_KEY: unread} if unread else {}


def read_citation(native: JsonObject) -> Citation:
    """Return a citation of any type. Its native form is kept, to be sent back."""
    source = str_or_none(native.get("source"))
    source_url = source if source is not None and "://" in source else None
    return Citation(
        url=str_or_none(native.get("url")) or source_url,
        title=str_or_none(native.get("title")) or str_or_none(native.get("document_title")),
        cited_text=str_or_none(native.get("cited_text")),
        document_id=str_or_none(native.get("file_id")) or (None if source_url else source),
        provider_metadata={METADATA_KEY: native},
    )


# -- thinking


def on_thinking_start(
    state: MessagesState, index: object, block: Event, events: Events
) -> MessagesState:
    """Open thinking, shown or redacted; emits its start and what it already holds."""
    segment = f"reasoning_{state.blocks}"
    events.append(ReasoningStart(segment))
    text = str_or_none(block.get("thinking"))
    if text:
        events.append(ReasoningDelta(segment, text))
    opened = Block(
        kind="reasoning",
        segment=segment,
        emits=ReasoningDelta,
        native=block,
        signature=from_list(filter(None, (str_or_none(block.get("signature")),))),
    )
    if block["type"] == "thinking":
        opened = replace(opened, fast_path=_THINKING)
    return open_block(state, index, opened)


def on_signature(block: Block, delta: Event, events: Events) -> Block:
    """Return the thinking with its signature; the last one counts."""
    if block.fast_path != _THINKING:
        return keep_delta(block, delta, events)
    signature = str_or_none(delta.get("signature"))
    return block if signature is None else replace(block, signature=PersistentList(signature, None))


def end_thinking(block: Block, events: Events) -> None:
    """Emit the end of thinking, with what its replay needs."""
    encrypted = str_or_none(block.native.get("data"))
    signature = "".join(to_list(block.signature)) or None
    events.append(
        ReasoningEnd(
            block.segment,
            signature=signature,
            encrypted=encrypted,
            provider_metadata=_metadata(block),
        )
    )


# -- blocks that are kept as they came


def on_opaque_start(
    state: MessagesState, index: object, block: Event, _events: Events
) -> MessagesState:
    """Open a block of a type that has no neutral form."""
    return open_block(state, index, Block(kind="opaque", native=block))


def keep_delta(block: Block, delta: Event, events: Events) -> Block:
    """Return a block with one more native delta; emits those that no block can keep."""
    if block.kind in ("opaque", "result"):
        return replace(block, pieces=PersistentList(delta, block.pieces))
    events.append(ProviderEvent(METADATA_KEY, {"type": "content_block_delta", "delta": delta}))
    return block


def end_opaque(block: Block, events: Events) -> None:
    """Emit the native block, to be sent back."""
    data = apply_deltas(block.native, to_list(block.pieces))
    events.append(ProviderEvent(METADATA_KEY, data, replay=True))


def apply_deltas(block: JsonObject, deltas: Iterable[Mapping[str, Any]]) -> JsonObject:
    """Return *block* with its *deltas* applied.

    Text, thinking and input grow; citations are added; the fields of any other delta (a
    compaction's content, a signature) replace those of the block.
    """
    native: dict[str, Any] = dict(block)
    grown: dict[str, list[str]] = {}
    cited: list[Any] = []
    for delta in deltas:
        match delta.get("type"):
            case "text_delta":
                grown.setdefault("text", []).append(str_or_none(delta.get("text")) or "")
            case "thinking_delta":
                grown.setdefault("thinking", []).append(str_or_none(delta.get("thinking")) or "")
            case "input_json_delta":
                grown.setdefault("input", []).append(str_or_none(delta.get("partial_json")) or "")
            case "citations_delta":
                cited.append(delta.get("citation"))
            case _:
                native.update(without(delta, "type"))
    if cited:
        native["citations"] = [*(native.get("citations") or ()), *cited]
    for name, pieces in grown.items():
        native[name] = _joined(name, native.get(name), "".join(pieces))
    return native


def _joined(name: str, before: object, text: str) -> object:
    if name != "input":
        return (before if isinstance(before, str) else "") + text
    try:
        parsed = object_or_empty(json.loads(text))
    except ValueError:
        return text or before
    return {**object_or_empty(before), **parsed}
