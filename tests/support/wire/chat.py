"""Chat Completions as bytes, and what our code makes of them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from llmcore.fronts.policy import ChatReasoning
from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat import OPENAI, ChatDialect
from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.protocol import DialectWire

ASKED = request(model=Model("gpt-4.1", "openai"), prompt="Hello")

REASONING_FIELDS: dict[ChatReasoning, set[str]] = {
    "reasoning_content": {"reasoning_content"},
    "reasoning": {"reasoning"},
    "both": {"reasoning_content", "reasoning"},
    "none": set(),
}
"""The fields in which the gateway shows reasoning, by how it is configured."""


def chunk(
    delta: dict[str, Any] | None = None, finish: str | None = None, **envelope: Any
) -> dict[str, Any]:
    """Return a chunk with one choice, as OpenAI sends them."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4.1",
        "choices": [choice],
        **envelope,
    }


def usage_chunk(**usage: Any) -> dict[str, Any]:
    """Return the last chunk of a stream with `include_usage`."""
    return {**chunk(), "choices": [], "usage": usage or USAGE}


USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def text_chunks(*texts: str, finish: str | None = "stop") -> list[dict[str, Any]]:
    """Return a whole response of text."""
    pieces = [chunk({"content": text}) for text in texts]
    return [chunk({"role": "assistant", "content": ""}), *pieces, chunk({}, finish)]


def call(index: float | str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a fragment of a tool call; `name` and `arguments` go into its function."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    place = {} if index is None else {"index": index}
    return {**place, **fields, **({"function": function} if function else {})}


def calls_chunks(*fragments: dict[str, Any] | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a response of tool calls: a chunk for each fragment, or list of them."""
    deltas = [f if isinstance(f, list) else [f] for f in fragments]
    return [*(chunk({"tool_calls": d}) for d in deltas), chunk({}, "tool_calls")]


def completion(message: dict[str, Any], finish: str | None = "stop", **envelope: Any) -> Any:
    """Return a body that was not streamed."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4.1",
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        ],
        **envelope,
    }


def sse(chunks: Iterable[Any], *, done: bool = True) -> bytes:
    """Return *chunks* as server-sent events."""
    lines = [b"data: " + json.dumps(one).encode() for one in chunks]
    return b"".join(line + b"\n\n" for line in [*lines, *([b"data: [DONE]"] if done else [])])


_WIRE = DialectWire(openai_chat.make, OPENAI, Framing.sse(), "text/event-stream")
built, body, codes, refused = _WIRE.built, _WIRE.body, _WIRE.codes, _WIRE.refused


def streamed(
    chunks: Iterable[Any] | bytes,
    *,
    dialect: ChatDialect = OPENAI,
    asked: LLMRequest = ASKED,
    pieces: Sequence[bytes] | None = None,
    done: bool = True,
) -> list[LLMEvent]:
    """Return the events of a stream; they always obey the grammar."""
    body = chunks if isinstance(chunks, bytes) else sse(chunks, done=done)
    return _WIRE.of(dialect).streamed([body] if pieces is None else pieces, asked)


def whole(
    document: Any, *, dialect: ChatDialect = OPENAI, asked: LLMRequest = ASKED
) -> list[LLMEvent]:
    """Return the events of a body that was not streamed; they always obey the grammar."""
    return _WIRE.of(dialect).whole(document, asked)
