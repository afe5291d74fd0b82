"""Responses of Gemini, drawn."""

import base64
from functools import cache
from typing import Any

from hypothesis import strategies as st

from llmcore.protocols.gemini import protocol
from tests.support.strategies.native.drawn import PINGS, Answer, DrawnResponses, sse_of
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.gemini import ASKED, chunk, sse

_DATA = st.binary(max_size=6).map(lambda data: base64.b64encode(data).decode())
_CONTENTS: list[st.SearchStrategy[dict[str, Any]]] = [
    st.fixed_dictionaries({"text": texts()}),
    st.fixed_dictionaries({"text": texts(), "thought": st.just(True)}),
    json_objects().map(lambda args: {"functionCall": {"name": "f", "args": args}}),
    st.sampled_from("ab").map(lambda id_: {"functionCall": {"name": "g", "id": id_}}),
    texts().map(lambda code: {"executableCode": {"language": "PYTHON", "code": code}}),
    texts().map(lambda out: {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": out}}),
    json_objects().map(
        lambda args: {"toolCall": {"toolType": "URL_CONTEXT", "args": args, "id": "t"}}
    ),
    json_objects().map(
        lambda got: {"toolResponse": {"toolType": "URL_CONTEXT", "response": got, "id": "t"}}
    ),
    _DATA.map(lambda data: {"inlineData": {"mimeType": "image/png", "data": data}}),
    _DATA.map(lambda data: {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": data}}),
    json_objects().map(lambda value: {"hologram": value}),
]
_SIGNATURES = st.sampled_from([{}, {}, {"thoughtSignature": "c2ln"}, {"thoughtSignature": "b3Ro"}])


@cache
def parts() -> st.SearchStrategy[dict[str, Any]]:
    """Draw one part of a response."""
    return st.tuples(st.one_of(_CONTENTS), _SIGNATURES).map(lambda pair: {**pair[0], **pair[1]})


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Draw one response in both forms: its chunks, and its document."""
    said = draw(st.lists(parts(), max_size=6))
    finish = draw(st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL"]))
    chunks: list[dict[str, Any]] = []
    batch: list[dict[str, Any]] = []
    for part, following in zip(said, [*said[1:], {}], strict=False):
        batch.append(part)
        # A signed text at the start of a chunk may be the end of the text before it.
        if not {"text", "thoughtSignature"} <= following.keys() and draw(st.booleans()):
            chunks.append(chunk(*batch))
            batch = []
    chunks.append(chunk(*batch, finish=finish))
    if draw(st.booleans()):
        chunks.append({"usageMetadata": {"promptTokenCount": 9}})
        late = chunks[-1]["usageMetadata"]
        return chunks, chunk(*said, finish=finish, usageMetadata=late)
    return chunks, chunk(*said, finish=finish)


def _messy_chunks() -> st.SearchStrategy[Any]:
    anything = json_values()
    part_names = ["text", "thought", "thoughtSignature", "functionCall", "executableCode"]
    part_names += ["codeExecutionResult", "toolCall", "toolResponse", "inlineData", "fileData"]
    inner_names = ["name", "args", "id", "partialArgs", "willContinue", "mimeType", "data"]
    inner = st.dictionaries(st.sampled_from(inner_names), anything, max_size=4) | anything
    part = st.dictionaries(st.sampled_from(part_names), inner, max_size=3) | anything
    content = st.fixed_dictionaries({}, optional={"parts": st.lists(part, max_size=3) | anything})
    names = ["index", "finishReason", "groundingMetadata", "citationMetadata", "logprobsResult"]
    candidate = st.fixed_dictionaries(
        {}, optional={"content": content | anything, **dict.fromkeys(names, anything)}
    )
    fields = ["usageMetadata", "promptFeedback", "modelVersion", "responseId", "error"]
    return st.fixed_dictionaries(
        {},
        optional={
            "candidates": st.lists(candidate | anything, max_size=2) | anything,
            **dict.fromkeys(fields, anything),
        },
    )


GEMINI = DrawnResponses(
    wire=sse_of(protocol),
    asked=ASKED,
    answers=answers(),
    frame=lambda one: sse([one]),
    pings=(*PINGS, b"\r\n", b"data: null\n\n"),
    messy_events=_messy_chunks() | json_values(),
    messy_documents=_messy_chunks() | json_values(),
)
