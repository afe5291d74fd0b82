"""Made-up responses in the wire formats of the five protocols, with the fields that cost time.

`stream(protocol, kind, count)` is a streamed response of *count* deltas, one item an event; the
kinds are `text`, `reasoning` and `tools` (the arguments of five calls). `whole(protocol, size)` is
a response in one piece, with a text of *size* characters.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from itertools import count as counting
from typing import Any, Final

PROTOCOLS: Final = ("chat", "responses", "messages", "gemini", "converse")
KINDS: Final = ("text", "reasoning", "tools")
CALLS: Final = 5
"""Tool calls of a stream of the kind `tools`."""

WORD: Final = "words "


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _pieces(count: int) -> list[str]:
    """Return the JSON arguments of one call, in *count* pieces."""
    return ['{"text":"', *[WORD] * (count - 2), '"}']


# -- Chat Completions -----------------------------------------------------------------------


def _chunk(delta: dict[str, object], reason: str | None = None) -> bytes:
    event = {
        "id": "chatcmpl-9xYzAbCdEfGhIjKlMnOpQrStUvWx",
        "object": "chat.completion.chunk",
        "created": 1767225600,
        "model": "gpt-5.2-2026-01-01",
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
        "usage": None,
        "obfuscation": "Ab3xY9",
    }
    return b"data: " + _json(event) + b"\n\n"


def _chat_call(index: int, count: int) -> Iterable[bytes]:
    function = {"name": "write", "arguments": ""}
    call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
    yield _chunk({"tool_calls": [call]})
    for piece in _pieces(count):
        yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _chat(kind: str, count: int) -> list[bytes]:
    first = _chunk({"role": "assistant", "content": ""})
    if kind == "tools":
        deltas = [one for index in range(CALLS) for one in _chat_call(index, count // CALLS)]
        reason = "tool_calls"
    else:
        field = "content" if kind == "text" else "reasoning_content"
        deltas, reason = [_chunk({field: WORD})] * count, "stop"
    return [first, *deltas, _chunk({}, reason), b"data: [DONE]\n\n"]


def _whole_chat(text: str) -> dict[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-9xYzAbCdEfGhIjKlMnOpQrStUvWx",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "gpt-5.2-2026-01-01",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 400, "total_tokens": 410},
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
    }


# -- named events: Responses, Messages ------------------------------------------------------


def _named(name: str, **fields: object) -> bytes:
    return f"event: {name}\ndata: ".encode() + _json({"type": name, **fields}) + b"\n\n"


_RESPONSE: Final[dict[str, object]] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1767225600,
    "model": "gpt-5.2",
    "output": [],
}


def _output(kind: str, index: int, text: str) -> dict[str, object]:
    """Return a finished output item."""
    if kind == "tools":
        call = {"call_id": f"call_{index}", "name": "write", "arguments": text}
        return {"id": f"fc_{index}", "type": "function_call", "status": "completed", **call}
    if kind == "reasoning":
        summary = [{"type": "summary_text", "text": text}]
        return {"id": f"rs_{index}", "type": "reasoning", "summary": summary}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    message = {"role": "assistant", "status": "completed", "content": [part]}
    return {"id": f"msg_{index}", "type": "message", **message}


_RESPONSE_DELTAS: Final[Mapping[str, tuple[str, dict[str, object], dict[str, object]]]] = {
    "text": ("output_text", {"content_index": 0}, {"logprobs": [], "obfuscation": "Ab3xY9"}),
    "reasoning": ("reasoning_summary_text", {"summary_index": 0}, {"obfuscation": "Ab3xY9"}),
    "tools": ("function_call_arguments", {}, {"obfuscation": "Ab3xY9"}),
}
_PARTS: Final[Mapping[str, tuple[str, dict[str, object]]]] = {
    "text": (
        "content_part",
        {"type": "output_text", "annotations": [], "logprobs": [], "text": ""},
    ),
    "reasoning": ("reasoning_summary_part", {"type": "summary_text", "text": ""}),
}


def _response_item(
    kind: str, index: int, pieces: list[str]
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the events of one output item."""
    text = "".join(pieces)
    item = _output(kind, index, text)
    stem, part_place, more = _RESPONSE_DELTAS[kind]
    place = {"item_id": item["id"], "output_index": index, **part_place}
    empty = {**_output(kind, index, ""), "status": "in_progress"}
    empty |= {name: [] for name in ("content", "summary") if name in empty}
    yield "output_item.added", {"output_index": index, "item": empty}
    if kind in _PARTS:
        name, part = _PARTS[kind]
        yield f"{name}.added", {**place, "part": part}
    for piece in pieces:
        yield f"{stem}.delta", {**place, "delta": piece, **more}
    yield f"{stem}.done", {**place, "arguments" if kind == "tools" else "text": text}
    if kind in _PARTS:
        name, part = _PARTS[kind]
        yield f"{name}.done", {**place, "part": {**part, "text": text}}
    yield "output_item.done", {"output_index": index, "item": item}


def _responses(kind: str, count: int) -> list[bytes]:
    each = [_pieces(count // CALLS)] * CALLS if kind == "tools" else [[WORD] * count]
    output = [_output(kind, index, "".join(pieces)) for index, pieces in enumerate(each)]
    usage = {"input_tokens": 1, "output_tokens": count, "total_tokens": count + 1}
    whole = {**_RESPONSE, "status": "completed", "output": output, "usage": usage}
    events: list[tuple[str, dict[str, Any]]] = [
        ("created", {"response": {**_RESPONSE, "status": "in_progress"}}),
        *(one for index, pieces in enumerate(each) for one in _response_item(kind, index, pieces)),
        ("completed", {"response": whole}),
    ]
    return [
        _named(f"response.{name}", sequence_number=number, **fields)
        for number, (name, fields) in zip(counting(), events, strict=False)
    ]


def _whole_response(text: str) -> dict[str, object]:
    usage = {"input_tokens": 10, "output_tokens": 400, "total_tokens": 410}
    output = [_output("text", 0, text)]
    return {**_RESPONSE, "status": "completed", "output": output, "usage": usage, "error": None}


_MESSAGE: Final = {
    "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-6",
}
_BLOCKS: Final[Mapping[str, tuple[dict[str, object], str, str]]] = {
    "text": ({"type": "text", "text": ""}, "text_delta", "text"),
    "reasoning": (
        {"type": "thinking", "thinking": "", "signature": ""},
        "thinking_delta",
        "thinking",
    ),
    "tools": (
        {"type": "tool_use", "name": "write", "input": {}},
        "input_json_delta",
        "partial_json",
    ),
}


def _messages(kind: str, count: int) -> list[bytes]:
    each = [_pieces(count // CALLS)] * CALLS if kind == "tools" else [[WORD] * count]
    start, delta, field = _BLOCKS[kind]
    usage = {"input_tokens": 1, "output_tokens": 1}
    events = [_named("message_start", message={**_MESSAGE, "content": [], "usage": usage})]
    for index, pieces in enumerate(each):
        block = {**start, "id": f"toolu_{index}"} if kind == "tools" else start
        events.append(_named("content_block_start", index=index, content_block=block))
        for piece in pieces:
            change = {"type": delta, field: piece}
            events.append(_named("content_block_delta", index=index, delta=change))
        events.append(_named("content_block_stop", index=index))
    reason = {"stop_reason": "tool_use" if kind == "tools" else "end_turn", "stop_sequence": None}
    events.append(_named("message_delta", delta=reason, usage={"output_tokens": count}))
    return [*events, _named("message_stop")]


def _whole_message(text: str) -> dict[str, object]:
    return {
        **_MESSAGE,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 400},
    }


# -- Gemini ---------------------------------------------------------------------------------


def _candidates(part: Mapping[str, object], **more: object) -> dict[str, object]:
    content = {"parts": [part], "role": "model"}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}
    return {
        "candidates": [{"content": content, "index": 0, **more}],
        "usageMetadata": usage,
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "mZ2uabc123",
    }


def _gemini_call(count: int) -> Iterable[dict[str, object]]:
    """Yield a call whose arguments are streamed (`streamFunctionCallArguments`)."""
    yield {"functionCall": {"name": "write", "willContinue": True}}
    for index in range(count - 2):
        piece = {"jsonPath": "$.text", "stringValue": WORD, "willContinue": index < count - 3}
        yield {"functionCall": {"partialArgs": [piece], "willContinue": True}}
    yield {"functionCall": {}}


def _gemini(kind: str, count: int) -> list[bytes]:
    parts: list[Mapping[str, object]]
    if kind == "tools":
        parts = [part for _ in range(CALLS) for part in _gemini_call(count // CALLS)]
    else:
        parts = [{"text": WORD, "thought": True} if kind == "reasoning" else {"text": WORD}] * count
    documents = [*map(_candidates, parts), _candidates({"text": ""}, finishReason="STOP")]
    return [b"data: " + _json(document) + b"\r\n\r\n" for document in documents]


def _whole_gemini(text: str) -> dict[str, object]:
    return _candidates({"text": text}, finishReason="STOP")


# -- Bedrock Converse -----------------------------------------------------------------------


def _aws_frame(name: str, payload: Mapping[str, object]) -> bytes:
    """Return one message of an AWS event stream."""
    headers = b""
    for key, value in (
        (":event-type", name),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ):
        headers += struct.pack(">B", len(key)) + key.encode()
        headers += b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = _json(payload)
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


def _converse_delta(kind: str, text: str) -> dict[str, object]:
    match kind:
        case "tools":
            return {"toolUse": {"input": text}}
        case "reasoning":
            return {"reasoningContent": {"text": text}}
        case _:
            return {"text": text}


def _converse(kind: str, count: int) -> list[bytes]:
    each = [_pieces(count // CALLS)] * CALLS if kind == "tools" else [[WORD] * count]
    events = [_aws_frame("messageStart", {"role": "assistant", "p": "abcdefgh"})]
    for index, pieces in enumerate(each):
        place = {"contentBlockIndex": index}
        if kind == "tools":
            call = {"toolUse": {"toolUseId": f"tooluse_{index}", "name": "write"}}
            events.append(_aws_frame("contentBlockStart", {**place, "start": call}))
        for piece in pieces:
            delta = {**place, "delta": _converse_delta(kind, piece), "p": "abcdefghijklmnop"}
            events.append(_aws_frame("contentBlockDelta", delta))
        events.append(_aws_frame("contentBlockStop", {**place, "p": "abcd"}))
    reason = "tool_use" if kind == "tools" else "end_turn"
    usage = {"inputTokens": 1, "outputTokens": count, "totalTokens": count + 1}
    return [
        *events,
        _aws_frame("messageStop", {"stopReason": reason}),
        _aws_frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
    ]


def _whole_converse(text: str) -> dict[str, object]:
    return {
        "metrics": {"latencyMs": 1},
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 10, "outputTokens": 400, "totalTokens": 410},
    }


# -- all five -------------------------------------------------------------------------------

_STREAMS: Final[Mapping[str, Callable[[str, int], list[bytes]]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
    "converse": _converse,
}
_WHOLE: Final[Mapping[str, Callable[[str], dict[str, object]]]] = {
    "chat": _whole_chat,
    "responses": _whole_response,
    "messages": _whole_message,
    "gemini": _whole_gemini,
    "converse": _whole_converse,
}


def stream(protocol: str, kind: str, count: int) -> list[bytes]:
    """Return the events of a streamed response."""
    return _STREAMS[protocol](kind, count)


def whole(protocol: str, size: int) -> bytes:
    """Return a response in one piece."""
    return _json(_WHOLE[protocol]("x" * size))
