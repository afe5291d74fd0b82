"""Every kind of block of an upstream of the same API reaches the client with every field.

The blocks are values of the `anthropic` package's own types, those of the beta API included.
"""

import json
from typing import Any, get_args

import pytest
from anthropic.types.beta import BetaContentBlock

from llmcore.protocols import anthropic_messages
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent
from llmcore.schema.model import Model
from llmcore.schema.request import request
from tests.fronts.anthropic_messages.messages_kit import MESSAGES, PROVIDERS, written
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
