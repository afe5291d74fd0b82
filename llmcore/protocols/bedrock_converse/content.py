"""Bedrock Converse: reading content blocks, from their beginning to their last delta.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlockDelta.html,
read November 2026. Only tools, their results and pictures announce themselves by a
`contentBlockStart`; text and reasoning begin with their first delta.
"""

from collections.abc import Callable, Mapping
from typing import Final

from llmcore.protocols.bedrock_converse.closing import on_block_stop
from llmcore.protocols.bedrock_converse.names import METADATA_KEY
from llmcore.protocols.bedrock_converse.state import Block, Kind, Native, State
from llmcore.protocols.call_ids import synthetic_call_id
from llmcore.protocols.chain import Chain
from llmcore.protocols.json_text import written
from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.schema.changed import changed
from llmcore.schema.content import ToolCallKind
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    ErrorEvent,
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    ReasoningStart,
    TextDelta,
    TextStart,
    ToolInputDelta,
    ToolInputStart,
)

# -- a block begins


def on_block_start(state: State, index: object, start: Native, events: list[LLMEvent]) -> State:
    """Open a block with whatever of its content *start* holds; an empty start opens none.

    The API's own starts hold a tool's name, the id of a result or a format. A start may hold
    more, up to the complete block of a body that was not streamed.
    """
    if index in state.open:  # a server that does not end its blocks
        state = on_block_stop(state, index, events)
    for name, value in start.items():
        if value is not None:
            handler = _STARTS.get(name)
            if handler is not None and isinstance(value, dict):
                state = handler(state, index, name, value, events)
            elif name in ("text", "citation"):
                state = _DELTAS[name](state, index, {name: value}, events)
            else:
                state = _open(state, index, _kept("opaque", {name: value}))
    return state


def _kept(kind: Kind, native: Native) -> Block:
    return Block(kind=kind, segment="", native=native)


def _open(state: State, index: object, block: Block) -> State:
    return changed(state, open={**state.open, index: block}, blocks=state.blocks + 1)


def _start_tool(
    state: State, index: object, _member: str, call: Native, events: list[LLMEvent]
) -> State:
    name = string(call.get("name")) or ""
    context = state.context
    executed = call.get("type") not in (None, "tool_use")
    if not executed and name == context.answer_tool:
        return _start_answer(state, index, call, events)
    call_id = _call_id(state, call)
    freeform = not executed and name in context.freeform
    kind: ToolCallKind = "custom" if freeform else "function"
    events.append(ToolInputStart(call_id, name, kind=kind, provider_executed=executed))
    block = _tool_block("freeform" if freeform else "tool", call_id, call, held=freeform)
    state = changed(
        state, names={**state.names, call_id: name}, called=state.called or not executed
    )
    return _open(state, index, block)


def _call_id(state: State, call: Native) -> str:
    """Return the call's id, or one of ours where the server's is missing or was given twice."""
    call_id = string(call.get("toolUseId"))
    if call_id is not None and call_id not in state.names:
        return call_id
    return synthetic_call_id(None, state.context.turn, state.blocks)


def _start_answer(state: State, index: object, call: Native, events: list[LLMEvent]) -> State:
    segment = f"text_{state.blocks}"
    events.append(TextStart(segment))
    block = _tool_block("answer", segment, call, held=state.context.wrapped)
    return _open(changed(state, answered=True), index, changed(block, emits=TextDelta))


def _tool_block(kind: Kind, segment: str, call: Native, *, held: bool) -> Block:
    """Return an open tool call; input that came with it waits for deltas to replace it."""
    given = call.get("input")
    return Block(
        kind=kind,
        segment=segment,
        hot=("", "") if held or given is not None else _INPUT,
        emits=ToolInputDelta,
        native=call,
        input=given,
        held=held,
    )


_INPUT: Final = ("toolUse", "input")


def _start_result(
    state: State, index: object, _member: str, result: Native, _events: list[LLMEvent]
) -> State:
    native = {name: value for name, value in result.items() if name != "content"}
    return _on_result(
        _open(state, index, _kept("result", native)),
        index,
        {"toolResult": result.get("content")},
        [],
    )


def _start_media(
    state: State, index: object, member: str, media: Native, _events: list[LLMEvent]
) -> State:
    return _open(state, index, _kept("media", {member: media}))


def _start_reasoning(
    state: State, index: object, member: str, said: Native, events: list[LLMEvent]
) -> State:
    return _on_reasoning(state, index, {member: said}, events)


def _start_cited(
    state: State, index: object, _member: str, cited: Native, events: list[LLMEvent]
) -> State:
    for item in dicts(cited.get("content")):
        if item.get("text"):
            state = _on_text(state, index, {"text": item["text"]}, events)
    for citation in dicts(cited.get("citations")):
        state = _on_citation(state, index, {"citation": citation}, events)
    return state


_STARTS: Final[Mapping[str, Callable[[State, object, str, Native, list[LLMEvent]], State]]] = {
    "toolUse": _start_tool,
    "toolResult": _start_result,
    "image": _start_media,
    "audio": _start_media,
    "reasoningContent": _start_reasoning,
    "citationsContent": _start_cited,
}


# -- a block goes on


def on_block_delta(state: State, index: object, delta: Native, events: list[LLMEvent]) -> State:
    """Take a delta that is more than a continuation."""
    for name, value in delta.items():
        if value is not None:
            handler = _DELTAS.get(name, _on_other)
            state = handler(state, index, {name: value}, events)
    return state


def _on_text(state: State, index: object, delta: Native, events: list[LLMEvent]) -> State:
    text = delta["text"]
    if not isinstance(text, str):
        return _on_other(state, index, delta, events)
    if not text:
        return state
    state, block = _speaking(state, index, "text", events)
    events.append(TextDelta(block.segment, text))
    return state


def _on_citation(state: State, index: object, delta: Native, events: list[LLMEvent]) -> State:
    block = state.open.get(index)
    if block is None or block.kind != "text":
        state = on_block_stop(state, index, events) if block is not None else state
        block = Block(kind="text", segment="", hot=("", ""))
        state = _open(state, index, block)
    cited = changed(block, citations=(*block.citations, mapping(delta["citation"])))
    return changed(state, open={**state.open, index: cited})


def _on_reasoning(state: State, index: object, delta: Native, events: list[LLMEvent]) -> State:
    said = mapping(delta["reasoningContent"])
    said = {**mapping(said.get("reasoningText")), **said}
    if not said.keys() & _OF_REASONING:
        return _on_other(state, index, delta, events) if said else state
    text, signature = string(said.get("text")), string(said.get("signature"))
    redacted = string(said.get("redactedContent"))
    if text is None and signature is None and redacted is None:
        return state
    state, block = _speaking(state, index, "reasoning", events)
    if text is not None:
        events.append(ReasoningDelta(block.segment, text))
    if signature is None and redacted is None:
        return state
    block = changed(
        block,
        signature=(block.signature or "") + signature if signature else block.signature,
        redacted=(*block.redacted, redacted) if redacted else block.redacted,
    )
    return changed(state, open={**state.open, index: block})


_OF_REASONING: Final = frozenset({"text", "signature", "redactedContent"})


def _speaking(
    state: State, index: object, kind: Kind, events: list[LLMEvent]
) -> tuple[State, Block]:
    """Return *state* with a block of *kind* at *index* that has a segment."""
    block = state.open.get(index)
    if block is not None and block.kind == kind and block.segment:
        return state, block
    cited = block.citations if block is not None and block.kind == kind else ()
    if block is not None and block.kind != kind:
        state = on_block_stop(state, index, events)
    opened = _spoken(kind, f"{kind}_{state.blocks}", cited)
    start = TextStart if kind == "text" else ReasoningStart
    events.append(start(opened.segment))
    return _open(state, index, opened), opened


def _spoken(kind: Kind, segment: str, cited: tuple[Native, ...]) -> Block:
    if kind == "text":
        return Block(kind=kind, segment=segment, hot=("text", ""), citations=cited)
    return Block(kind=kind, segment=segment, hot=("reasoningContent", "text"), emits=ReasoningDelta)


def _on_tool(state: State, index: object, delta: Native, events: list[LLMEvent]) -> State:
    given = mapping(delta["toolUse"]).get("input")
    block = state.open.get(index)
    if block is None or block.kind not in ("tool", "freeform", "answer"):
        message = "input came for a tool that the stream did not name"
        events.append(ErrorEvent(StreamError(message, raw=delta)))
        return state
    if given is None:
        return state
    text = written(given)
    if block.hot[0] or not text:
        if text:
            events.append(block.emits(block.segment, text))
        return state
    if block.held:
        block = changed(block, input=None, pieces=Chain(text, block.pieces))
    else:
        events.append(block.emits(block.segment, text))
        block = changed(block, input=None, hot=_INPUT)
    return changed(state, open={**state.open, index: block})


def _on_result(state: State, index: object, delta: Native, events: list[LLMEvent]) -> State:
    block = state.open.get(index)
    if block is None or block.kind != "result":
        return _on_other(state, index, delta, events)
    pieces = block.pieces
    for item in dicts(delta["toolResult"]):
        pieces = Chain(item, pieces)
    return changed(state, open={**state.open, index: changed(block, pieces=pieces)})


def _on_media(state: State, index: object, delta: Native, events: list[LLMEvent]) -> State:
    if index not in state.open:
        state = _open(state, index, _kept("media", {}))
    return _on_other(state, index, delta, events)


def _on_other(state: State, index: object, delta: Native, events: list[LLMEvent]) -> State:
    """Keep a delta for the block's native form, or pass on what has no place in ours."""
    block = state.open.get(index)
    if block is not None and block.kind in ("opaque", "media"):
        kept = changed(block, pieces=Chain(delta, block.pieces))
        return changed(state, open={**state.open, index: kept})
    if block is None:
        return _open(state, index, changed(_kept("opaque", {}), pieces=Chain(delta, None)))
    events.append(ProviderEvent(METADATA_KEY, {"contentBlockDelta": {"delta": delta}}))
    return state


Handler = Callable[[State, object, Native, list[LLMEvent]], State]

_DELTAS: Final[Mapping[str, Handler]] = {
    "text": _on_text,
    "toolUse": _on_tool,
    "reasoningContent": _on_reasoning,
    "citation": _on_citation,
    "toolResult": _on_result,
    "image": _on_media,
}


# -- a block of a body that was not streamed


def on_whole_block(state: State, index: int, block: Native, events: list[LLMEvent]) -> State:
    """Open a complete block and close it."""
    state = on_block_start(state, index, block, events)
    return on_block_stop(state, index, events) if index in state.open else state
