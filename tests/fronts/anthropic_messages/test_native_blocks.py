"""Every kind of block passes with every field between client and upstream of the same API.

The blocks are values of the `anthropic` package's own types, those of the beta API included.
"""

import json
from typing import Any, get_args

import pytest
import typing_extensions
from anthropic.types.beta import BetaContentBlock, BetaContentBlockParam
from attrs import evolve

from llmcore.fronts.anthropic_messages import front
from llmcore.protocols import anthropic_messages
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent
from llmcore.schema.model import Model
from llmcore.schema.request import request
from tests.fronts.anthropic_messages.messages_kit import (
    MESSAGES,
    PROVIDERS,
    SDK_ASK,
    built,
    sdk,
    written,
)
from tests.fronts.anthropic_messages.messages_kit import read as request_read
from tests.support.sdk_values import documents

SEALED = {"signature", "data"}
"""Fields of thinking in which the front carries its own state, the upstream's in it."""


def _alone(block: dict[str, Any]) -> dict[str, Any]:
    """Return *block* without citations of pages, which a search beside it would have found."""
    if not block.get("citations"):
        return block
    cited = [one for one in block["citations"] if one["type"] != "web_search_result_location"]
    return {**block, "citations": cited}


BLOCKS = [_alone(block) for block in documents(get_args(BetaContentBlock)[0])]


def read(block: dict[str, Any], *, stream: bool) -> list[LLMEvent]:
    """Return the events of an upstream's response that is *block*."""
    message: dict[str, Any] = {
        "id": "msg_up",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-6",
        "content": [block],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    frames: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    events = decode_response(
        anthropic_messages.protocol,
        Framing.sse(),
        request(model=Model(*PROVIDERS[MESSAGES]), prompt="Hello"),
        status=200,
        headers={"content-type": "text/event-stream" if stream else "application/json"},
        chunks=[f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in frames]
        if stream
        else [json.dumps(message).encode()],
        streaming=stream,
    )
    return list(events)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    "block", BLOCKS, ids=[f"{one['type']}-{number}" for number, one in enumerate(BLOCKS)]
)
def test_a_block_reaches_the_client_with_every_field(block: dict[str, Any], stream: bool) -> None:
    """Only blocks that carry sealed state may follow it."""
    made = written(read(block, stream=stream), checked=False)
    shown, *rest = made.whole["content"]

    assert {one["type"] for one in rest} <= {"redacted_thinking"}
    owned = SEALED if block["type"] in ("thinking", "redacted_thinking") else set()
    assert {k: v for k, v in shown.items() if k not in owned} == {
        k: v for k, v in block.items() if k not in owned
    }


# -- in requests


def _least(block: dict[str, Any], kind: Any) -> dict[str, Any]:
    """Return *block* with only the fields that its type requires."""
    hints = typing_extensions.get_type_hints(kind, include_extras=True)
    return {name: item for name, item in block.items() if "Required" in str(hints[name])[:40]}


def _blocks_of_requests() -> list[dict[str, Any]]:
    found = []
    for kind in filter(typing_extensions.is_typeddict, get_args(BetaContentBlockParam)):
        whole = documents(kind)
        found += [*whole, _least(whole[0], kind)]
    return [_accepted(block) for block in found]


def _accepted(block: dict[str, Any]) -> dict[str, Any]:
    """Return *block* without `is_error` where it has media, which a failed tool's may not have."""
    content = block.get("content", ()) if block["type"] == "tool_result" else ()
    media = any(isinstance(part, dict) and part["type"] != "text" for part in content)
    return {k: v for k, v in block.items() if k != "is_error"} if media else block


SENT_BLOCKS = _blocks_of_requests()
OF_THE_USER = {"container_upload", "document", "image", "search_result", "text"}
OF_THE_SYSTEM = {"tool_addition", "tool_removal"}
ASKED: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}


def _conversation(block: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Return messages in which *block* is legal, and the place of its message."""
    kind = block["type"]
    if kind in OF_THE_USER:
        return [{"role": "user", "content": [block]}], 0
    if kind in OF_THE_SYSTEM:
        return [ASKED, {"role": "system", "content": [block]}], 1
    if kind == "tool_result":
        name = block.get("toolset_name")
        family = {"toolset_name": name} if name else {}
        call = {"type": "tool_use", "id": block["tool_use_id"], "name": "look", "input": {}}
        turn = {"role": "assistant", "content": [{**call, **family}]}
        return [ASKED, turn, {"role": "user", "content": [block]}], 2
    turn = {"role": "assistant", "content": [block]}
    if kind == "tool_use":
        name = block.get("toolset_name")
        family = {"toolset_name": name} if name else {}
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": "Done", **family}
        return [ASKED, turn, {"role": "user", "content": [result]}], 1
    if kind in ("server_tool_use", "mcp_tool_use"):  # still at work: the turn goes on
        return [ASKED, turn], 1
    if kind in ("thinking", "redacted_thinking"):
        turn = {"role": "assistant", "content": [block, {"type": "text", "text": "So."}]}
    return [ASKED, turn, ASKED], 1


def _plain(value: Any) -> Any:
    """Return *value* without the lifetimes that are the default."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _plain(item) for name, item in value.items()}
    if kept.get("type") == "ephemeral" and kept.get("ttl") == "5m":
        del kept["ttl"]
    return kept


@pytest.mark.parametrize(
    "block", SENT_BLOCKS, ids=[f"{one['type']}-{number}" for number, one in enumerate(SENT_BLOCKS)]
)
def test_a_block_of_a_request_goes_up_as_it_came(block: dict[str, Any]) -> None:
    """With every field that its type declares, and with those alone that it requires."""
    messages, place = _conversation(block)
    made = request_read({"messages": messages}, MESSAGES)
    body = built(evolve(made.request, model=Model("claude-opus-5", "anthropic")), MESSAGES)

    assert _plain(body["messages"][place]["content"][0]) == _plain(block)
    assert made.diagnostics == ()


@pytest.mark.parametrize("stream", [True, False])
def test_a_response_that_another_model_completed_has_its_name_whole_and_streamed(
    stream: bool,
) -> None:
    """The name that the vendor's client takes from the stream, also where a gateway renames."""
    to = {"model": "claude-haiku-4-5"}
    why = {"type": "refusal", "category": None}
    began = {"model": "claude-opus-4-6"}
    block = {"type": "fallback", "from": began, "to": to, "trigger": why}
    made = written(read(block, stream=stream), checked=False)
    client = sdk(200, {"content-type": "text/event-stream"}, made.body)
    with client.beta.messages.stream(**SDK_ASK) as events:
        streamed = events.get_final_message().model

    assert front.renamed is not None
    renamed = front.renamed({"type": "message", "content": [block], "model": "m"}, "alias")
    assert renamed is not None
    assert streamed == made.whole["model"] == renamed["model"] == "claude-haiku-4-5"
