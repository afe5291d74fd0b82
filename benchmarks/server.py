"""A server in a process of its own that streams made-up answers.

The path says what: `/text/1000/8` streams 1000 text events of Chat Completions, 8 to a write, and
`/text/1000/0` one to a write with a pause after each, so that no read brings more than one;
`/tools/...` puts them into the arguments of one tool call; `/responses/...`, `/messages/...` and
`/gemini/...` speak those protocols; `/plain/2000` is a whole Chat answer of 2000 characters.
What follows in the path is left to the client.
"""

import asyncio
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager


def chunk(delta: dict[str, object], reason: str | None = None) -> bytes:
    """Return one event as OpenAI sends it, with the fields that cost time to read."""
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
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"


def named(name: str, **fields: object) -> bytes:
    """Return one event of the protocols that name them."""
    data = json.dumps({"type": name, **fields}, separators=(",", ":"))
    return f"event: {name}\ndata: {data}\n\n".encode()


def responses(count: int) -> list[bytes]:
    """Return a stream of the Responses API."""
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress"}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    response = {"id": "resp_1", "object": "response", "model": "gpt-5.2", "output": []}
    usage = {"input_tokens": 1, "output_tokens": count, "total_tokens": count + 1}
    text = "words " * count
    return [
        named(
            "response.created", sequence_number=0, response={**response, "status": "in_progress"}
        ),
        named("response.output_item.added", sequence_number=1, output_index=0, item=item),
        named("response.content_part.added", sequence_number=2, **place, part=part),
        *(
            named(
                "response.output_text.delta",
                sequence_number=3 + number,
                **place,
                delta="words ",
                logprobs=[],
                obfuscation="Ab3xY9",
            )
            for number in range(count)
        ),
        named("response.output_text.done", sequence_number=count + 3, **place, text=text),
        named(
            "response.completed",
            sequence_number=count + 4,
            response={
                **response,
                "status": "completed",
                "output": [{**item, "status": "completed", "content": [{**part, "text": text}]}],
                "usage": usage,
            },
        ),
    ]


def messages(count: int) -> list[bytes]:
    """Return a stream of the Messages API."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    delta = {"type": "text_delta", "text": "words "}
    return [
        named("message_start", message={**message, "content": [], "usage": usage}),
        named("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *[named("content_block_delta", index=0, delta=delta)] * count,
        named("content_block_stop", index=0),
        named("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": count}),
        named("message_stop"),
    ]


def gemini(count: int) -> list[bytes]:
    """Return a stream of the Gemini API."""

    def piece(text: str, **more: object) -> bytes:
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **more}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}
        document = {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": "gemini-3-flash-preview",
            "responseId": "r-1",
        }
        return b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\r\n\r\n"

    return [*[piece("words ")] * count, piece("end", finishReason="STOP")]


def aws_frame(name: str, payload: dict[str, object]) -> bytes:
    """Return one message of an AWS event stream."""
    headers = b""
    for key, value in ((":event-type", name), (":message-type", "event")):
        headers += struct.pack(">B", len(key)) + key.encode()
        headers += b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload, separators=(",", ":")).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


def converse(count: int) -> list[bytes]:
    """Return a stream of Bedrock Converse."""
    delta = {"contentBlockIndex": 0, "delta": {"text": "words "}, "p": "abcdefgh"}
    usage = {"inputTokens": 1, "outputTokens": count, "totalTokens": count + 1}
    return [
        aws_frame("messageStart", {"role": "assistant"}),
        *[aws_frame("contentBlockDelta", delta)] * count,
        aws_frame("contentBlockStop", {"contentBlockIndex": 0}),
        aws_frame("messageStop", {"stopReason": "end_turn"}),
        aws_frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
    ]


def events(kind: str, count: int) -> list[bytes]:
    """Return a whole stream of *count* deltas."""
    others = {
        "responses": responses,
        "messages": messages,
        "gemini": gemini,
        "converse": converse,
    }
    if kind in others:
        return others[kind](count)
    if kind == "tools":
        call = {"id": "call_1", "type": "function", "function": {"name": "write", "arguments": ""}}
        first = [chunk({"role": "assistant", "tool_calls": [{"index": 0, **call}]})]
        pieces = ['{"text":"', *["words "] * count, '"}']
        deltas = [
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
            for piece in pieces
        ]
        return [*first, *deltas, chunk({}, "tool_calls"), b"data: [DONE]\n\n"]
    first = [chunk({"role": "assistant", "content": ""})]
    deltas = [chunk({"content": "words "})] * count
    return [*first, *deltas, chunk({}, "stop"), b"data: [DONE]\n\n"]


def whole(size: int) -> bytes:
    """Return a whole answer of *size* characters."""
    message = {"role": "assistant", "content": "x" * size}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
    ).encode()


AWS = b"application/vnd.amazon.eventstream"

_made: dict[str, list[bytes]] = {}


def writes(path: str) -> list[bytes]:
    """Return what is written for *path*, one item a write, in HTTP chunks."""
    if path not in _made:
        _, kind, count, *per_write = path.split("/")
        every = events(kind, int(count))
        size = int(per_write[0]) or 1 if per_write else 1
        groups = [b"".join(every[i : i + size]) for i in range(0, len(every), size)]
        _made[path] = [b"%x\r\n%b\r\n" % (len(group), group) for group in groups]
    return _made[path]


async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests on one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.decode().split("\r\n")
            path = "/".join(lines[0].split(" ")[1].split("/")[:4])
            headers = {k.lower(): v.strip() for k, _, v in (x.partition(":") for x in lines[1:])}
            await reader.readexactly(int(headers.get("content-length", "0")))
            if path.startswith("/plain/"):
                body = whole(int(path.split("/")[2]))
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    b"content-length: %d\r\n\r\n%b" % (len(body), body)
                )
                await writer.drain()
                continue
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n"
                b"transfer-encoding: chunked\r\n\r\n"
                % (AWS if path.startswith("/converse/") else b"text/event-stream")
            )
            pause = {"0": 0.0003, "1": 0}.get(path.rpartition("/")[2])
            for data in writes(path):
                writer.write(data)
                await writer.drain()
                if pause is not None:
                    await asyncio.sleep(pause)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()


async def main() -> None:
    """Serve until killed; print the port first."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def running() -> Iterator[str]:
    """Run the server in another process; yield its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.server"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    asyncio.run(main())
