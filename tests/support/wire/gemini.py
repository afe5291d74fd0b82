"""Gemini as bytes, and what our code makes of them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve

from llmcore.protocols import gemini
from llmcore.protocols.gemini import GEMINI_API
from llmcore.routes.framing import Framing
from llmcore.schema.content import DocumentPart, ImagePart, ReasoningPart, TextPart, ToolCallPart
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.options import GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import HostedTool, ToolChoice, ToolDefinition
from tests.support.wire.protocol import DialectWire

MODEL = Model("gemini-3-flash-preview", "google")
OLDER = Model("gemini-2.5-flash", "google")
ASKED = request(model=MODEL, prompt="Hello")
OURS = Origin(provider="google", model="gemini-3-flash-preview", protocol="gemini")
"""The origin of what the asked model itself said before."""
USAGE = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}


def chunk(*parts: dict[str, Any], finish: str | None = None, **envelope: Any) -> dict[str, Any]:
    """Return a response, or a piece of one, with one candidate."""
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    candidate |= envelope.pop("candidate", {})
    return {
        "candidates": [candidate],
        "usageMetadata": USAGE,
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "resp1",
        **envelope,
    }


def decoded(chunk: Any) -> Any:
    """Return *chunk* as a frame of it is decoded."""
    return gemini.protocol.stream.decode(("", json.dumps(chunk).encode()))


def text_chunks(*texts: str, finish: str | None = "STOP") -> list[dict[str, Any]]:
    """Return a whole response of text, its end in the last piece."""
    *first, last = texts
    return [*(chunk({"text": text}) for text in first), chunk({"text": last}, finish=finish)]


def call(name: str = "get_weather", **fields: Any) -> dict[str, Any]:
    """Return a part that calls a function."""
    return {"functionCall": {"name": name, "args": {"city": "Rome"}, **fields}}


def piece(path: str, more: bool = False, **value: Any) -> dict[str, Any]:
    """Return one partial argument."""
    return {"jsonPath": path, **value, **({"willContinue": True} if more else {})}


def pieces(*partial: dict[str, Any], name: str = "f", **last: Any) -> list[dict[str, Any]]:
    """Return the chunks of a call whose arguments come one by one."""
    first: dict[str, Any] = {
        "functionCall": {"name": name, "willContinue": True},
        "thoughtSignature": "c2ln",
    }
    middle: list[dict[str, Any]] = [
        {"functionCall": {"partialArgs": [one], "willContinue": True}} for one in partial
    ]
    return [chunk(one) for one in (first, *middle, {"functionCall": last})]


def sse(chunks: Iterable[Any]) -> bytes:
    """Return *chunks* as server-sent events, with the line ends that Google writes."""
    return b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in chunks)


def array(chunks: Iterable[Any]) -> bytes:
    """Return *chunks* as the JSON array that comes without `alt=sse`."""
    return b"[" + b"\n,\r\n".join(json.dumps(one, indent=2).encode() for one in chunks) + b"]\n"


_WIRE = DialectWire(gemini.make, GEMINI_API, Framing.sse(), "text/event-stream")
built, body, codes, refused = _WIRE.built, _WIRE.body, _WIRE.codes, _WIRE.refused


def streamed(
    chunks: Iterable[Any] | bytes,
    *,
    asked: LLMRequest = ASKED,
    framing: Framing | None = None,
    pieces: Sequence[bytes] | None = None,
) -> list[LLMEvent]:
    """Return the events of a stream; they always obey the grammar."""
    body = chunks if isinstance(chunks, bytes) else sse(chunks)
    wire = _WIRE.of()
    if framing is not None:
        wire = evolve(wire, framing=framing, media_type=framing.content_types[0])
    return wire.streamed([body] if pieces is None else pieces, asked)


def whole(document: Any, *, asked: LLMRequest = ASKED) -> list[LLMEvent]:
    """Return the events of a body that was not streamed; they always obey the grammar."""
    return _WIRE.of().whole(document, asked)


SCHEMA: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOL = ToolDefinition("get_weather", "Weather by city", SCHEMA)


def everything() -> LLMRequest:
    """Return a request that uses most of what a body can say."""
    return request(
        model=MODEL,
        system="Be brief.",
        messages=[
            Message.user("What is on it?", ImagePart(data=b"\x89PNG\r\n\x1a\n", detail="low")),
            Message.assistant(
                ReasoningPart("Let me see.", signature="c2ln"),
                TextPart(
                    "I will look.", provider_metadata={"google": {"thoughtSignature": "dHh0"}}
                ),
                ToolCallPart(
                    "call-1",
                    "get_weather",
                    {"a": 1},
                    provider_metadata={
                        "google": {"thoughtSignature": "Zm4=", "functionCall": {"id": "call-1"}}
                    },
                ),
                origin=OURS,
            ),
            Message.tool("call-1", {"sky": "blue"}),
            Message.user(DocumentPart(url="https://example.com/a.pdf", title="Report")),
        ],
        tools=[TOOL, HostedTool.web_search()],
        tool_choice=ToolChoice.named("get_weather"),
        generation=GenerationOptions(temperature=0.5, top_p=0.9, top_k=40, max_tokens=9, seed=1),
        response_format=ResponseFormat.json_schema(SCHEMA, description="One number"),
        reasoning=ReasoningOptions(effort="low", summary="auto"),
        provider_options={"google": {"safetySettings": [], "responseModalities": ["TEXT"]}},
    )
