"""Bedrock Converse as bytes, and what our code makes of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from struct import pack
from typing import Any
from zlib import crc32

from llmcore.protocols.bedrock_converse import protocol
from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.protocol import ProtocolWire, pieces

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
CLAUDE_46 = "us.anthropic.claude-sonnet-4-6"
CLAUDE_3 = "anthropic.claude-3-haiku-20240307-v1:0"
NEWEST = "global.anthropic.claude-opus-5"
NOVA = "amazon.nova-lite-v1:0"
NOVA_2 = "us.amazon.nova-2-lite-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
GPT_OSS = "openai.gpt-oss-120b-1:0"
GPT = "us.openai.gpt-5.6-sol"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123def456"


def ask(model: str = CLAUDE, **fields: Any) -> LLMRequest:
    """Return a request; without an argument for it, its prompt is a greeting."""
    if "messages" not in fields:
        fields.setdefault("prompt", "Hello")
    return request(model=Model(model, "bedrock"), **fields)


def answer(*content: Any, model: str = CLAUDE) -> Message:
    """Return an assistant's message that *model* made."""
    origin = Origin(provider="bedrock", model=model, protocol="bedrock-converse")
    return Message("assistant", content, origin=origin)


ASKED = ask()

# -- responses, streamed and whole

Event = tuple[str, Mapping[str, Any]]

USAGE = {"inputTokens": 12, "outputTokens": 7, "totalTokens": 19}


def document(*content: dict[str, Any], stop: str = "end_turn", **fields: Any) -> dict[str, Any]:
    """Return a body that was not streamed."""
    return {
        "metrics": {"latencyMs": 100},
        "output": {"message": {"content": list(content), "role": "assistant"}},
        "stopReason": stop,
        "usage": USAGE,
        **fields,
    }


def reasoning(text: str, signature: str | None = "sig") -> dict[str, Any]:
    """Return a block of thinking."""
    signed = {} if signature is None else {"signature": signature}
    return {"reasoningContent": {"reasoningText": {"text": text, **signed}}}


def tool_use(name: str, input: Any, id: str = "tooluse_1", **fields: Any) -> dict[str, Any]:
    """Return a tool call."""
    return {"toolUse": {"toolUseId": id, "name": name, "input": input, **fields}}


def delta(index: int, **said: Any) -> Event:
    """Return a `contentBlockDelta`."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": said, "p": "abcd"}


def start(index: int, **block: Any) -> Event:
    """Return a `contentBlockStart`."""
    return "contentBlockStart", {"contentBlockIndex": index, "start": block, "p": "ab"}


def stop(index: int) -> Event:
    """Return a `contentBlockStop`."""
    return "contentBlockStop", {"contentBlockIndex": index, "p": "abc"}


BEGIN: Event = ("messageStart", {"role": "assistant", "p": "abcdef"})


def end(reason: str = "end_turn", **fields: Any) -> list[Event]:
    """Return the two events that end a response."""
    metadata = {"usage": USAGE, "metrics": {"latencyMs": 100}, "p": "a", **fields}
    return [("messageStop", {"stopReason": reason, "p": "abc"}), ("metadata", metadata)]


def stream_of(whole_body: Mapping[str, Any], size: int = 4) -> list[Event]:
    """Return the events that would have brought *whole_body*, as the API sends them."""
    events = [BEGIN]
    for index, block in enumerate(whole_body["output"]["message"]["content"]):
        events += [*_block_events(index, block, size), stop(index)]
    at_stop = {n: v for n, v in whole_body.items() if n == "additionalModelResponseFields"}
    last = {
        name: value
        for name, value in whole_body.items()
        if name not in ("output", "stopReason", "additionalModelResponseFields")
    }
    said = {"stopReason": whole_body["stopReason"], **at_stop}
    return [*events, ("messageStop", said), ("metadata", last)]


def _block_events(index: int, block: Mapping[str, Any], size: int) -> list[Event]:
    match block:
        case {"text": said}:
            return [delta(index, text=piece) for piece in ["", *pieces(said, size)]]
        case {"reasoningContent": {"reasoningText": said}}:
            words = [{"text": piece} for piece in pieces(said["text"], size)]
            words += [{"signature": said["signature"]}] if "signature" in said else []
            return [delta(index, reasoningContent=word) for word in words]
        case {"reasoningContent": {"redactedContent": data}}:
            return [delta(index, reasoningContent={"redactedContent": data})]
        case {"toolUse": call}:
            opened = {name: value for name, value in call.items() if name != "input"}
            written = ["", *pieces(json.dumps(call["input"]), size)]
            return [
                start(index, toolUse=opened),
                *(delta(index, toolUse={"input": piece}) for piece in written),
            ]
        case {"toolResult": result}:
            opened = {name: value for name, value in result.items() if name != "content"}
            return [
                start(index, toolResult=opened),
                *(delta(index, toolResult=[item]) for item in result["content"]),
            ]
        case {"citationsContent": cited}:
            texts = [item["text"] for item in cited.get("content", [])]
            return [
                *(delta(index, text=piece) for text in texts for piece in pieces(text, size)),
                *(delta(index, citation=one) for one in cited["citations"]),
            ]
        case {"image": image}:
            return [
                start(index, image={"format": image["format"]}),
                delta(index, image={"source": image["source"]}),
            ]
    raise AssertionError(block)


# -- an encoder of event streams


def _header(name: str, value: str) -> bytes:
    data = value.encode()
    return pack(">B", len(name)) + name.encode() + b"\x07" + pack(">H", len(data)) + data


def message(payload: bytes, **headers: str) -> bytes:
    """Return one message; `_` in a header's name stands for `-`."""
    head = b"".join(_header(":" + n.replace("_", "-"), v) for n, v in headers.items())
    prelude = pack(">II", 16 + len(head) + len(payload), len(head))
    body = prelude + pack(">I", crc32(prelude)) + head + payload
    return body + pack(">I", crc32(body))


def frame(event: Event) -> bytes:
    """Return an event, or an exception or error by the prefix of its name, as the API sends it."""
    name, data = event
    payload = json.dumps(data).encode()
    kind, _, what = name.partition(":")
    json_type = "application/json"
    if kind == "exception":
        return message(
            payload, exception_type=what, content_type=json_type, message_type="exception"
        )
    if kind == "error":
        text = str(data.get("message", ""))
        return message(b"", message_type="error", error_code=what, error_message=text)
    return message(payload, event_type=name, content_type=json_type, message_type="event")


def frames(events: Iterable[Event]) -> bytes:
    """Return *events* as an event stream."""
    return b"".join(map(frame, events))


# -- what our code makes of them

_WIRE = ProtocolWire(protocol, Framing.aws_event_stream(), "application/vnd.amazon.eventstream")
built, body, codes, refused = _WIRE.built, _WIRE.body, _WIRE.codes, _WIRE.refused


def streamed(
    events: Iterable[Event] | bytes,
    asked: LLMRequest = ASKED,
    *,
    cut: Sequence[bytes] | None = None,
) -> list[LLMEvent]:
    """Return what a stream amounts to; it always obeys the grammar."""
    body = events if isinstance(events, bytes) else frames(events)
    return _WIRE.streamed([body] if cut is None else cut, asked)


def whole(given: Any, asked: LLMRequest = ASKED) -> list[LLMEvent]:
    """Return what a body amounts to that was not streamed; it always obeys the grammar."""
    return _WIRE.whole(given, asked)


# -- bodies


def unmarked(value: Any) -> Any:
    """Return *value* without cache points."""
    if isinstance(value, dict):
        return {name: unmarked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [unmarked(item) for item in value if not _is_point(item)]
    return value


def _is_point(item: Any) -> bool:
    return isinstance(item, dict) and "cachePoint" in item


def messages(asked: LLMRequest) -> list[dict[str, Any]]:
    """Return the body's messages without cache points."""
    found: list[dict[str, Any]] = unmarked(body(asked)["messages"])
    return found
