"""Nanoseconds of CPU per event that each framing takes, by how the body is sliced.

Run with `python -m benchmarks.framing`. The minimum of several rounds; the events are the
text deltas that the framing's providers send, so their sizes differ.
"""

import gc
import time
from collections.abc import Callable, Sequence
from struct import pack
from zlib import crc32

from llmcore.routes.framing import Framing

EVENTS = 2000
ROUNDS = 9

CHAT = (
    b'{"id":"chatcmpl-9qXYZ","object":"chat.completion.chunk","created":1767225600,'
    b'"model":"gpt-5.2","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}'
)
MESSAGES = (
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" a word"}}'
)
GEMINI = (
    b'{\n  "candidates": [\n    {\n      "content": {\n        "parts": [\n          {\n'
    b'            "text": "a few words of\\n text"\n          }\n        ],\n'
    b'        "role": "model"\n      },\n      "index": 0\n    }\n  ],\n'
    b'  "usageMetadata": {\n    "promptTokenCount": 12,\n    "totalTokenCount": 40,\n'
    b'    "promptTokensDetails": [\n      {\n        "modality": "TEXT",\n'
    b'        "tokenCount": 12\n      }\n    ]\n  },\n  "modelVersion": "gemini-3-pro"\n}'
)
OLLAMA = (
    b'{"model":"llama3","created_at":"2026-01-01T00:00:00.000000Z",'
    b'"message":{"role":"assistant","content":" word"},"done":false}'
)
CONVERSE = b'{"contentBlockIndex":0,"delta":{"text":" a word"},"p":"abcdefghijklmnopqrstuvwxyz"}'


def aws_message(payload: bytes) -> bytes:
    """Return a Bedrock event as it goes over the wire."""
    headers = b"".join(
        pack(">B", len(name)) + name + pack(">BH", 7, len(value)) + value
        for name, value in (
            (b":event-type", b"contentBlockDelta"),
            (b":content-type", b"application/json"),
            (b":message-type", b"event"),
        )
    )
    prelude = pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + pack(">I", crc32(prelude)) + headers + payload
    return message + pack(">I", crc32(message))


CASES: dict[str, tuple[Framing, list[bytes]]] = {
    "sse, data only": (Framing.sse(), [b"data: " + CHAT + b"\n\n"] * EVENTS),
    "sse, data only, CRLF": (Framing.sse(), [b"data: " + CHAT + b"\r\n\r\n"] * EVENTS),
    "sse, named": (
        Framing.sse(),
        [b"event: content_block_delta\ndata: " + MESSAGES + b"\n\n"] * EVENTS,
    ),
    "ndjson": (Framing.ndjson(), [OLLAMA + b"\n"] * EVENTS),
    "json array": (Framing.json_array(), [b"[" + GEMINI, *[b",\r\n" + GEMINI] * (EVENTS - 1)]),
    "aws event stream": (Framing.aws_event_stream(), [aws_message(CONVERSE)] * EVENTS),
}


def joined(events: list[bytes], count: int) -> list[bytes]:
    """Return chunks of *count* whole events."""
    return [b"".join(events[at : at + count]) for at in range(0, len(events), count)]


def sliced(events: list[bytes], size: int) -> list[bytes]:
    """Return chunks of *size* bytes, wherever that cuts."""
    body = b"".join(events)
    return [body[at : at + size] for at in range(0, len(body), size)]


SLICINGS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "1 event": lambda events: joined(events, 1),
    "8 events": lambda events: joined(events, 8),
    "100 bytes": lambda events: sliced(events, 100),
    "1 KiB": lambda events: sliced(events, 1024),
    "64 KiB": lambda events: sliced(events, 65536),
}


def ns_per_event(framing: Framing, chunks: Sequence[bytes]) -> float:
    """Return the least CPU time that one event took."""
    best = float("inf")
    for _ in range(ROUNDS):
        decoder = framing.new_decoder()
        start = time.thread_time_ns()
        count = sum(len(decoder.feed(chunk)) for chunk in chunks)
        best = min(best, (time.thread_time_ns() - start) / EVENTS)
        assert count == EVENTS
    return best


def main() -> None:
    """Print the table."""
    gc.disable()
    print(f"{'ns per event, chunks of':24}" + "".join(f"{name:>11}" for name in SLICINGS))
    for name, (framing, events) in CASES.items():
        cells = (ns_per_event(framing, slicing(events)) for slicing in SLICINGS.values())
        print(f"{name:24}" + "".join(f"{cell:11.0f}" for cell in cells))


if __name__ == "__main__":
    main()
