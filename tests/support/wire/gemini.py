"""Gemini as bytes, and what our code makes of them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from llmcore.folds.grammar import violations
from llmcore.protocols import gemini
from llmcore.protocols.gemini import GEMINI_API, GeminiDialect
from llmcore.protocols.protocol import Built
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.content import DocumentPart, ImagePart, ReasoningPart, TextPart, ToolCallPart
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.options import GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.result import Success
from llmcore.schema.tools import HostedTool, ToolChoice, ToolDefinition

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
    """Return a whole answer of text, its end in the last piece."""
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


def streamed(
    chunks: Iterable[Any] | bytes,
    *,
    asked: LLMRequest = ASKED,
    framing: Framing | None = None,
    pieces: Sequence[bytes] | None = None,
) -> list[LLMEvent]:
    """Return the events of a stream; they always obey the grammar."""
    framing = framing or Framing.sse()
    body = chunks if isinstance(chunks, bytes) else sse(chunks)
    return _checked(
        decode_response(
            gemini.protocol,
            framing,
            asked,
            status=200,
            headers={"content-type": next(iter(framing.content_types))},
            chunks=[body] if pieces is None else pieces,
            streaming=True,
        )
    )


def whole(document: Any, *, asked: LLMRequest = ASKED) -> list[LLMEvent]:
    """Return the events of a body that was not streamed; they always obey the grammar."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return _checked(
        decode_response(
            gemini.protocol,
            Framing.sse(),
            asked,
            status=200,
            headers={"content-type": "application/json"},
            chunks=[body],
            streaming=False,
        )
    )


def _checked(events: list[LLMEvent]) -> list[LLMEvent]:
    problems = violations(events)
    assert not problems, problems
    return events


def built(asked: LLMRequest, dialect: GeminiDialect = GEMINI_API) -> Any:
    """Return the body of *asked* and its diagnostics."""
    result = gemini.make(dialect).body.build(asked, False)
    assert isinstance(result, Success), result
    value: Built[Any] = result.unwrap()
    return value


def body(asked: LLMRequest, dialect: GeminiDialect = GEMINI_API) -> Any:
    """Return the body of *asked*."""
    return built(asked, dialect).body


def refused(asked: LLMRequest, dialect: GeminiDialect = GEMINI_API) -> LLMError:
    """Return why no body can be built of *asked*."""
    return gemini.make(dialect).body.build(asked, False).failure()


def codes(asked: LLMRequest, dialect: GeminiDialect = GEMINI_API) -> list[tuple[str, str]]:
    """Return code and path of each diagnostic of *asked*."""
    return [(note.code, note.path) for note in built(asked, dialect).diagnostics]


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
