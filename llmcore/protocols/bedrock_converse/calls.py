r"""Bedrock Converse: reading calls of tools, and what the service's own tools returned.

    contentBlockStart  {"contentBlockIndex": 1, "start":
                        {"toolUse": {"toolUseId": "tooluse_1", "name": "look"}}}
    contentBlockDelta  {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{\"at\": 1}"}}}
    contentBlockStop   {"contentBlockIndex": 1}

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlockStart.html,
read November 2026.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from llmcore.protocols import blocks
from llmcore.protocols.bedrock_converse.names import METADATA_KEY
from llmcore.protocols.bedrock_converse.state import ConverseState, keep_delta
from llmcore.protocols.response_parts import Events
from llmcore.schema.errors import StreamError
from llmcore.schema.events import ErrorEvent, ToolResult
from llmcore.schema.json import NativeObject, text_or_json_or_empty, without
from llmcore.schema.native_json import object_or_empty, objects, str_or_empty
from llmcore.schema.persistent import PersistentList, to_list

_INPUT: Final[blocks.FastPath] = ("toolUse", "input")

# -- calls


def on_call_start(
    state: ConverseState, index: object, _member: str, call: NativeObject, events: Events
) -> ConverseState:
    """Open a call of the caller's tool, or of one that the service runs."""
    return blocks.start_call(
        state,
        index,
        call,
        events,
        id_=call.get("toolUseId"),
        given=call.get("input"),
        executed=call.get("type") not in (None, "tool_use"),
        fast_path=_INPUT,
    )


def on_input(
    state: ConverseState, index: object, delta: NativeObject, events: Events
) -> ConverseState:
    """Emit more of a call's input, or buffer it."""
    given = object_or_empty(delta["toolUse"]).get("input")
    block = state.open.get(index)
    if block is None or block.kind not in ("tool", "freeform", "format"):
        message = "input arrived for a tool that the stream did not name"
        events.append(ErrorEvent(StreamError(message, raw=delta)))
        return state
    after = blocks.continue_call(block, text_or_json_or_empty(given), events, _INPUT)
    return state if after is block else blocks.replace_block(state, index, after)


# -- results of the service's tools


def on_result_start(
    state: ConverseState, index: object, _member: str, result: NativeObject, events: Events
) -> ConverseState:
    """Open a result, which is emitted when it is complete."""
    native = without(result, "content")
    state = blocks.open_block(state, index, blocks.Block(kind="result", native=native))
    return on_result(state, index, {"toolResult": result.get("content")}, events)


def on_result(
    state: ConverseState, index: object, delta: NativeObject, events: Events
) -> ConverseState:
    """Keep more of a result."""
    block = state.open.get(index)
    if block is None or block.kind != "result":
        return keep_delta(state, index, delta, events)
    pieces = block.pieces
    for item in objects(delta["toolResult"]):
        pieces = PersistentList(item, pieces)
    return blocks.replace_block(state, index, replace(block, pieces=pieces))


def end_result(state: ConverseState, block: blocks.Block, events: Events) -> None:
    """Emit a result."""
    call_id = str_or_empty(block.native.get("toolUseId"))
    native = {k: v for k, v in block.native.items() if k != "toolUseId" and v is not None}
    events.append(
        ToolResult(
            call_id,
            _joined_texts(to_list(block.pieces)),
            name=state.names.get(call_id),
            is_error=native.get("status") == "error",
            provider_executed=True,
            provider_metadata={METADATA_KEY: native} if native else {},
        )
    )


def _joined_texts(items: Iterable[NativeObject]) -> list[NativeObject]:
    """Return the content of a result, neighbouring pieces of text as one."""
    content: list[NativeObject] = []
    for is_text, group in groupby(items, _is_text):
        if is_text:
            content.append({"text": "".join(item["text"] for item in group)})
        else:
            content += group
    return content


def _is_text(item: NativeObject) -> bool:
    return item.keys() == {"text"} and isinstance(item["text"], str)
