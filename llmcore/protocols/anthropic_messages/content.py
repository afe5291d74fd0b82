"""Anthropic Messages: reading content blocks, from their beginning to their end.

Source: https://platform.claude.com/docs/en/api/messages/create (`ContentBlock`), read November
2026.
"""

from collections.abc import Callable
from typing import Final

from llmcore.protocols.answer_format import unwrapped
from llmcore.protocols.anthropic_messages import citations
from llmcore.protocols.anthropic_messages.names import METADATA_KEY
from llmcore.protocols.anthropic_messages.native_blocks import merged
from llmcore.protocols.anthropic_messages.state import Block, Event, Kind, State
from llmcore.protocols.call_ids import synthetic_call_id
from llmcore.protocols.chain import Chain, unchain
from llmcore.protocols.freeform import freeform_text
from llmcore.protocols.json_text import parsed, written
from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.schema.changed import changed
from llmcore.schema.content import ToolCallKind
from llmcore.schema.events import (
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Source,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.json import JsonValue

# -- a block begins


def on_block_start(state: State, index: object, block: Event, events: list[LLMEvent]) -> State:
    """Open *block*, which may be whole already."""
    kind = block.get("type")
    if kind == "text":
        return _start_text(state, index, block, events)
    if kind in ("thinking", "redacted_thinking"):
        return _start_reasoning(state, index, block, events)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        return _start_tool(state, index, block, events)
    if isinstance(kind, str) and kind.endswith("_tool_result") and string(block.get("tool_use_id")):
        return _open(state, index, Block(kind="result", segment="", native=block))
    return _open(state, index, Block(kind="opaque", segment="", native=block))


def on_given_block(state: State, index: object, block: Event, events: list[LLMEvent]) -> State:
    """Open a block that `message_start` brings, which later deltas may continue.

    Results and opaque blocks are emitted at once: their place among the parts is where they end.
    """
    state = on_block_start(state, index, block, events)
    return on_block_stop(state, index, events) if state.open[index].kind in _ATOMIC else state


_ATOMIC: Final = frozenset({"result", "opaque"})


def _open(state: State, index: object, block: Block) -> State:
    return changed(state, open={**state.open, index: block}, blocks=state.blocks + 1)


def _start_text(state: State, index: object, block: Event, events: list[LLMEvent]) -> State:
    segment = f"text_{state.blocks}"
    events.append(TextStart(segment))
    text = string(block.get("text"))
    if text:
        events.append(TextDelta(segment, text))
    found = tuple(citations.read(one, METADATA_KEY) for one in dicts(block.get("citations")))
    opened = Block(
        kind="text", segment=segment, hot="text_delta", text_field="text", citations=found
    )
    return _open(state, index, opened)


def _start_reasoning(state: State, index: object, block: Event, events: list[LLMEvent]) -> State:
    segment = f"reasoning_{state.blocks}"
    events.append(ReasoningStart(segment))
    text = string(block.get("thinking"))
    if text:
        events.append(ReasoningDelta(segment, text))
    opened = Block(
        kind="reasoning",
        segment=segment,
        hot="thinking_delta" if block["type"] == "thinking" else "",
        text_field="thinking",
        emits=ReasoningDelta,
        native=block,
        signature=string(block.get("signature")),
    )
    return _open(state, index, opened)


def _start_tool(state: State, index: object, block: Event, events: list[LLMEvent]) -> State:
    name = string(block.get("name")) or ""
    context = state.context
    executed = block["type"] != "tool_use"
    if not executed and name == context.answer_tool:
        return _start_answer(state, index, block, events)
    call_id = _call_id(state, block)
    freeform = not executed and name in context.freeform
    kind: ToolCallKind = "custom" if freeform else "function"
    events.append(ToolInputStart(call_id, name, kind=kind, provider_executed=executed))
    opened = _tool_block("freeform" if freeform else "tool", call_id, block, held=freeform)
    state = changed(
        state,
        names={**state.names, call_id: name},
        called=state.called or not executed,
    )
    return _open(state, index, opened)


def _call_id(state: State, block: Event) -> str:
    """Return the call's id, or one of ours where the server's is missing or was given twice."""
    call_id = string(block.get("id"))
    if call_id is not None and call_id not in state.names:
        return call_id
    return synthetic_call_id(state.envelope.response_id, state.context.turn, state.blocks)


def _start_answer(state: State, index: object, block: Event, events: list[LLMEvent]) -> State:
    segment = f"text_{state.blocks}"
    events.append(TextStart(segment))
    opened = _tool_block("answer", segment, block, held=state.context.wrapped)
    return _open(changed(state, answered=True), index, changed(opened, emits=TextDelta))


def _tool_block(kind: Kind, segment: str, block: Event, *, held: bool) -> Block:
    """Return an open tool call; input that came at once waits for deltas to replace it."""
    given = block.get("input") or None
    return Block(
        kind=kind,
        segment=segment,
        hot="" if given is not None or held else "input_json_delta",
        text_field="partial_json",
        emits=ToolInputDelta,
        native=block,
        input=given,
        held=held,
    )


# -- a block goes on


def on_block_delta(
    state: State, index: object, block: Block, delta: Event, events: list[LLMEvent]
) -> State:
    """Take a delta that is more than a continuation."""
    kind = str(delta.get("type"))
    if kind == block.hot:
        text = delta.get(block.text_field)
        if isinstance(text, str) and text:
            events.append(block.emits(block.segment, text))
        return state
    after = _DELTAS.get(kind, _keep)(block, delta, events)
    if after is block:
        return state
    return changed(state, open={**state.open, index: after})


def _on_signature(block: Block, delta: Event, events: list[LLMEvent]) -> Block:
    if block.hot != "thinking_delta":
        return _keep(block, delta, events)
    signature = string(delta.get("signature"))
    return block if signature is None else changed(block, signature=signature)


def _on_input(block: Block, delta: Event, events: list[LLMEvent]) -> Block:
    text = string(delta.get("partial_json"))
    if block.kind not in ("tool", "freeform", "answer"):
        return _keep(block, delta, events)
    if text is None:
        return block
    if block.held:
        return changed(block, input=None, pieces=Chain(text, block.pieces))
    events.append(block.emits(block.segment, text))
    return block if block.hot else changed(block, input=None, hot="input_json_delta")


def _on_citation(block: Block, delta: Event, events: list[LLMEvent]) -> Block:
    native = mapping(delta.get("citation"))
    if block.kind != "text" or not native:
        return _keep(block, delta, events)
    citation = citations.read(native, METADATA_KEY)
    return changed(block, citations=(*block.citations, citation))


def _keep(block: Block, delta: Event, events: list[LLMEvent]) -> Block:
    """Keep a delta for the block's native form, or pass on what has no place in ours."""
    if block.kind in ("opaque", "result"):
        return changed(block, pieces=Chain(delta, block.pieces))
    events.append(ProviderEvent(METADATA_KEY, {"type": "content_block_delta", "delta": delta}))
    return block


_DELTAS: Final[dict[str, Callable[[Block, Event, list[LLMEvent]], Block]]] = {
    "input_json_delta": _on_input,
    "signature_delta": _on_signature,
    "citations_delta": _on_citation,
}


# -- a block is whole


def on_block_stop(state: State, index: object, events: list[LLMEvent]) -> State:
    """Close the block at *index*."""
    rest = dict(state.open)
    block = rest.pop(index)
    state = changed(state, open=rest)
    match block.kind:
        case "text":
            events.append(TextEnd(block.segment, citations=block.citations))
        case "reasoning":
            encrypted = string(block.native.get("data"))
            end = ReasoningEnd(block.segment, signature=block.signature, encrypted=encrypted)
            events.append(end)
        case "tool" | "freeform":
            _end_tool(block, events)
        case "answer":
            _end_answer(block, events)
        case "result":
            return _end_result(state, block, events)
        case "opaque":
            data = merged(block.native, unchain(block.pieces))
            events.append(ProviderEvent(METADATA_KEY, data, replay=True))
    return state


_NOT_METADATA: Final = frozenset({"id", "name", "input"})


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
    if block.held:
        text = unwrapped(parsed(text))
    if text:
        events.append(TextDelta(block.segment, text))
    events.append(TextEnd(block.segment))


def _held_input(block: Block) -> str:
    """Return the input that was not passed on as it came."""
    if block.input is not None:
        return written(block.input)
    return "".join(unchain(block.pieces))


# -- what the provider's tools returned


_NOT_RESULT_METADATA: Final = frozenset({"tool_use_id", "content"})


def _end_result(state: State, block: Block, events: list[LLMEvent]) -> State:
    native = merged(block.native, unchain(block.pieces))
    call_id = string(native.get("tool_use_id")) or ""
    content = native.get("content")
    own = {name: value for name, value in native.items() if name not in _NOT_RESULT_METADATA}
    events.append(
        ToolResult(
            call_id,
            content,
            name=state.names.get(call_id),
            is_error=native.get("is_error") is True or _is_error(content),
            provider_executed=True,
            provider_metadata={METADATA_KEY: own},
        )
    )
    return _announce(state, content, events)


def _is_error(content: JsonValue) -> bool:
    return str(mapping(content).get("type", "")).endswith("_error")


def _announce(state: State, content: JsonValue, events: list[LLMEvent]) -> State:
    """Report the pages that a search found or a fetch read."""
    number = state.sources
    for page in (*dicts(content), mapping(content)):
        url = string(page.get("url"))
        if page.get("type") not in ("web_search_result", "web_fetch_result") or url is None:
            continue
        title = string(page.get("title")) or string(mapping(page.get("content")).get("title"))
        facts = {k: page[k] for k in ("page_age", "retrieved_at") if string(page.get(k))}
        metadata = {METADATA_KEY: facts} if facts else {}
        events.append(
            Source(id=f"source_{number}", url=url, title=title, provider_metadata=metadata)
        )
        number += 1
    return state if number == state.sources else changed(state, sources=number)
