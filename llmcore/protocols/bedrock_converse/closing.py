"""Bedrock Converse: content blocks that are whole.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html, read
November 2026.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from llmcore.protocols.answer_format import unwrapped
from llmcore.protocols.bedrock_converse import citations
from llmcore.protocols.bedrock_converse.names import METADATA_KEY
from llmcore.protocols.bedrock_converse.state import Block, Native, State
from llmcore.protocols.chain import unchain
from llmcore.protocols.freeform import freeform_text
from llmcore.protocols.json_text import parsed, written
from llmcore.protocols.loose_json import mapping, string
from llmcore.schema.changed import changed
from llmcore.schema.events import (
    File,
    LLMEvent,
    ProviderEvent,
    ReasoningEnd,
    Source,
    TextDelta,
    TextEnd,
    ToolInputDelta,
    ToolInputEnd,
    ToolResult,
)


def on_block_stop(state: State, index: object, events: list[LLMEvent]) -> State:
    """Close the block at *index*."""
    rest = dict(state.open)
    block = rest.pop(index)
    state = changed(state, open=rest)
    match block.kind:
        case "text":
            return _end_text(state, block, events)
        case "reasoning":
            encrypted = _joined(block.redacted)
            events.append(
                ReasoningEnd(block.segment, signature=block.signature, encrypted=encrypted)
            )
        case "tool" | "freeform":
            _end_tool(block, events)
        case "answer":
            _end_answer(block, events)
        case "result":
            _end_result(state, block, events)
        case "media":
            _end_media(state, block, events)
        case "opaque":
            data = merged(block.native, unchain(block.pieces))
            events.append(ProviderEvent(METADATA_KEY, data, replay=True))
    return state


# -- text, and what it rests on


def _end_text(state: State, block: Block, events: list[LLMEvent]) -> State:
    """End text with its citations; citations without text are kept as they came."""
    if block.segment:
        read = partial(citations.read, metadata_key=METADATA_KEY)
        events.append(TextEnd(block.segment, citations=tuple(map(read, block.citations))))
    elif block.citations:
        data = {"citationsContent": {"citations": list(block.citations)}}
        events.append(ProviderEvent(METADATA_KEY, data, replay=True))
    return _announce(state, block.citations, events)


def _announce(state: State, cited: tuple[Native, ...], events: list[LLMEvent]) -> State:
    """Report the pages that the answer cites, each once."""
    urls = state.urls
    for native in cited:
        url = citations.web_url(native)
        if url is None or url in urls:
            continue
        title = string(native.get("title"))
        events.append(Source(id=f"source_{len(urls)}", url=url, title=title))
        urls = (*urls, url)
    return state if urls is state.urls else changed(state, urls=urls)


def _joined(pieces: tuple[str, ...]) -> str | None:
    """Return base64 pieces of one blob as one; None if there are none."""
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    try:
        return base64.b64encode(b"".join(map(base64.b64decode, pieces))).decode()
    except (binascii.Error, ValueError):
        return "".join(pieces)


# -- tools


_NOT_METADATA: Final = frozenset({"toolUseId", "name", "input"})


def _end_tool(block: Block, events: list[LLMEvent]) -> None:
    text = _held_input(block)
    if block.kind == "freeform":
        text = freeform_text(parsed(text))
    if text:
        events.append(ToolInputDelta(block.segment, text))
    own = {k: v for k, v in block.native.items() if k not in _NOT_METADATA and v is not None}
    if own.get("type") == "tool_use":
        del own["type"]
    metadata = {METADATA_KEY: own} if own else {}
    events.append(ToolInputEnd(block.segment, provider_metadata=metadata))


def _end_answer(block: Block, events: list[LLMEvent]) -> None:
    text = _held_input(block)
    if block.held and text:
        text = unwrapped(parsed(text))
    if text:
        events.append(TextDelta(block.segment, text))
    events.append(TextEnd(block.segment))


def _held_input(block: Block) -> str:
    """Return the input that was not passed on as it came."""
    if block.input is not None:
        return written(block.input)
    return "".join(unchain(block.pieces))


def _end_result(state: State, block: Block, events: list[LLMEvent]) -> None:
    """Give what one of the service's tools returned, its pieces of text in a row joined."""
    call_id = string(block.native.get("toolUseId")) or ""
    own = {k: v for k, v in block.native.items() if k != "toolUseId" and v is not None}
    events.append(
        ToolResult(
            call_id,
            _result_content(unchain(block.pieces)),
            name=state.names.get(call_id),
            is_error=own.get("status") == "error",
            provider_executed=True,
            provider_metadata={METADATA_KEY: own} if own else {},
        )
    )


def _result_content(items: Iterable[Native]) -> list[Native]:
    content: list[Native] = []
    for item in items:
        text = item.get("text") if item.keys() == {"text"} else None
        if isinstance(text, str) and content and content[-1].keys() == {"text"}:
            content[-1] = {"text": content[-1]["text"] + text}
        else:
            content.append(item)
    return content


# -- pictures, and anything else


def _end_media(state: State, block: Block, events: list[LLMEvent]) -> None:
    native = merged(block.native, unchain(block.pieces))
    [(kind, media)] = native.items()
    pieces = [mapping(one.get(kind)) for one in (block.native, *unchain(block.pieces))]
    sources = [mapping(piece.get("source")) for piece in pieces]
    data = _joined(tuple(filter(None, (string(source.get("bytes")) for source in sources))))
    url = string(mapping(mapping(mapping(media).get("source")).get("s3Location")).get("uri"))
    name = string(mapping(media).get("format"))
    decoded = _decoded(data)
    if decoded is None and url is None:
        events.append(ProviderEvent(METADATA_KEY, native, replay=False))
        return
    events.append(
        File(
            id=f"file_{state.blocks}",
            media_type=f"{kind}/{name}" if name else None,
            data=decoded,
            url=None if decoded is not None else url,
        )
    )


def _decoded(data: str | None) -> bytes | None:
    try:
        return None if data is None else base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def merged(block: Mapping[str, Any], deltas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a block of an unknown kind with what its deltas said, so that nothing is lost.

    Text grows, lists are added to, objects are filled; anything else is replaced.
    """
    native = dict(block)
    for delta in deltas:
        for name, value in delta.items():
            native[name] = _grown(native.get(name), value)
    return native


def _grown(before: Any, value: Any) -> Any:
    if isinstance(before, str) and isinstance(value, str):
        return before + value
    if isinstance(before, list) and isinstance(value, list):
        return [*before, *value]
    if isinstance(before, Mapping) and isinstance(value, Mapping):
        return merged(before, [value])
    return value
