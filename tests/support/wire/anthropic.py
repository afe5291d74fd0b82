"""Anthropic Messages as bytes, and what our code makes of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llmcore.protocols.anthropic_messages import protocol
from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.protocol import ProtocolWire, pieces

MODEL = "claude-sonnet-4-5"
NEWEST = "claude-opus-5"


def ask(model: str = MODEL, **fields: Any) -> LLMRequest:
    """Return a request; without an argument for it, its prompt is a greeting."""
    if "messages" not in fields:
        fields.setdefault("prompt", "Hello")
    return request(model=Model(model, "anthropic"), **fields)


ASKED = ask()

# -- responses, streamed and whole

USAGE = {"input_tokens": 12, "output_tokens": 7}


def message(*content: dict[str, Any], stop: str | None = "end_turn", **fields: Any) -> Any:
    """Return a body that was not streamed."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": USAGE,
        **fields,
    }


def text(said: str, **fields: Any) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": said, **fields}


def thinking(said: str, signature: str = "sig") -> dict[str, Any]:
    """Return a thinking block."""
    return {"type": "thinking", "thinking": said, "signature": signature}


def tool_use(name: str, input: Any, id: str = "toolu_1", **fields: Any) -> dict[str, Any]:
    """Return a call of the caller's tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": input, **fields}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    """Return a `content_block_delta`."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def start(index: int, **block: Any) -> dict[str, Any]:
    """Return a `content_block_start`."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def stop(index: int) -> dict[str, Any]:
    """Return a `content_block_stop`."""
    return {"type": "content_block_stop", "index": index}


def begin(**fields: Any) -> dict[str, Any]:
    """Return a `message_start`."""
    empty = message(**{"stop": None, "usage": {"input_tokens": 12, "output_tokens": 1}, **fields})
    return {"type": "message_start", "message": empty}


def end(reason: str | None = "end_turn", usage: Any = None, **fields: Any) -> list[dict[str, Any]]:
    """Return the two events that end a response."""
    said = {"stop_reason": reason, "stop_sequence": None, **fields}
    counted = {"output_tokens": 7} if usage is None else usage
    return [
        {"type": "message_delta", "delta": said, "usage": counted},
        {"type": "message_stop"},
    ]


def stream_of(document: Mapping[str, Any], size: int = 4) -> list[dict[str, Any]]:
    """Return the events that would have brought *document*, as the API sends them."""
    usage = document.get("usage")
    first = {
        **document,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": None if usage is None else {**usage, "output_tokens": 1},
    }
    late = {"container", "stop_details"}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {k: v for k, v in first.items() if k not in late}}
    ]
    for index, block in enumerate(document["content"]):
        events += _block_events(index, block, size)
    said = {name: document[name] for name in (*_ENDS, *late) if name in document}
    counted = {"output_tokens": usage["output_tokens"]} if usage else {}
    events.append({"type": "message_delta", "delta": said, "usage": counted})
    return [*events, {"type": "message_stop"}]


_ENDS = ("stop_reason", "stop_sequence")


def _block_events(index: int, block: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    match block["type"]:
        case "text":
            empty = {**block, "text": "", "citations": []} if "citations" in block else None
            middle = [delta(index, "text_delta", text=p) for p in pieces(block["text"], size)]
            middle += [
                delta(index, "citations_delta", citation=c) for c in block.get("citations", [])
            ]
            return [start(index, **(empty or {**block, "text": ""})), *middle, stop(index)]
        case "thinking":
            said = pieces(block["thinking"], size)
            middle = [delta(index, "thinking_delta", thinking=piece) for piece in said]
            signed = delta(index, "signature_delta", signature=block["signature"])
            empty = {**block, "thinking": "", "signature": ""}
            return [start(index, **empty), *middle, signed, stop(index)]
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            written = ["", *pieces(json.dumps(block["input"]), size)]
            middle = [delta(index, "input_json_delta", partial_json=piece) for piece in written]
            return [start(index, **{**block, "input": {}}), *middle, stop(index)]
        case _:
            return [start(index, **block), stop(index)]


# -- what our code makes of them

_WIRE = ProtocolWire(protocol, Framing.sse(), "text/event-stream")
built, body, codes, refused = _WIRE.built, _WIRE.body, _WIRE.codes, _WIRE.refused


def sse(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Return *events* as server-sent events."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (str(one.get("type")).encode(), json.dumps(one).encode())
        for one in events
    )


def streamed(
    events: Iterable[Mapping[str, Any]] | bytes,
    asked: LLMRequest = ASKED,
    *,
    cut: Sequence[bytes] | None = None,
) -> list[LLMEvent]:
    """Return what a stream amounts to; it always obeys the grammar."""
    body = events if isinstance(events, bytes) else sse(events)
    return _WIRE.streamed([body] if cut is None else cut, asked)


def whole(document: Any, asked: LLMRequest = ASKED) -> list[LLMEvent]:
    """Return what a body amounts to that was not streamed; it always obeys the grammar."""
    return _WIRE.whole(document, asked)


# -- bodies


def unmarked(value: Any) -> Any:
    """Return *value* without cache marks."""
    if isinstance(value, dict):
        return {name: unmarked(item) for name, item in value.items() if name != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value


def messages(asked: LLMRequest) -> list[dict[str, Any]]:
    """Return the body's messages without cache marks."""
    found: list[dict[str, Any]] = unmarked(body(asked)["messages"])
    return found
