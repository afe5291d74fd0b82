"""Against AWS's own code: botocore's service model takes our bodies, its parser reads the same."""

import base64
import json
from typing import Any

import botocore.session
import pytest
from attrs import evolve
from botocore.eventstream import EventStream
from botocore.exceptions import EventStreamError
from botocore.parsers import EventStreamJSONParser
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.bedrock_converse import protocol
from llmcore.schema.content import ImagePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import GenerationOptions
from llmcore.schema.request import LLMRequest
from tests.support.strategies.examples import costly
from tests.support.strategies.requests import json_objects, requests, texts
from tests.support.wire.bedrock import (
    BEGIN,
    CLAUDE,
    CLAUDE_3,
    CLAUDE_46,
    GPT_OSS,
    LLAMA,
    NOVA,
    NOVA_2,
    PROFILE,
    Event,
    ask,
    body,
    delta,
    document,
    end,
    frames,
    reasoning,
    start,
    stop,
    stream_of,
    streamed,
    tool_use,
)
from tests.support.wire.protocol import error, pieces, response
from tests.support.wire.vendor_types import bedrock_misfits

SERVICE: Any = botocore.session.get_session().get_service_model("bedrock-runtime")
STREAM = SERVICE.operation_model("ConverseStream").output_shape.members["stream"]


def complaints(native: dict[str, Any], *, stream: bool, model: str = CLAUDE) -> str:
    """Return what botocore's validator says of a body; empty if it takes it."""
    return bedrock_misfits(native, stream=stream, model=model)


# -- bodies


def test_the_validator_sees_faults() -> None:
    """A control: a body that is wrong does not pass."""
    assert "Unknown parameter" in complaints({"massages": []}, stream=True)
    wrong = {"messages": [{"role": "user", "content": [{"image": {"format": "png"}}]}]}
    assert "Missing required parameter" in complaints(wrong, stream=False)


@costly
@given(
    requests(),
    st.sampled_from([CLAUDE, CLAUDE_3, CLAUDE_46, NOVA, NOVA_2, LLAMA, GPT_OSS, PROFILE]),
    st.booleans(),
)
def test_every_body_passes_the_service_model(asked: LLMRequest, model: str, stream: bool) -> None:
    """Whatever can be asked, the body has the shape that AWS's own SDK would send."""
    asked = evolve(
        asked,
        model=Model(model, "bedrock"),
        provider_options={},
        generation=GenerationOptions(temperature=0.5, max_tokens=7, stop=("a", "")),
        messages=tuple(
            evolve(one, content=tuple(part for part in one.content if not _native(part)))
            for one in asked.messages
        ),
    )
    built = protocol.body.build(asked, stream)
    native = built.map(lambda one: dict(one.body)).value_or(None)
    if native is not None:
        assert complaints(native, stream=stream, model=model) == ""


def _native(part: Any) -> bool:
    """Return whether *part* holds data of the caller's own making, which goes as it is."""
    names = {"bedrock", "bedrock-converse"}
    return getattr(part, "provider", None) in names or "bedrock" in part.provider_metadata


# -- streams


class _Body:
    """The body that botocore reads a stream from."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self) -> list[bytes]:
        return [self._data[at : at + 11] for at in range(0, len(self._data), 11)]

    def close(self) -> None:
        """Do nothing: there is no connection."""


def parsed(events: list[Event]) -> list[dict[str, Any]]:
    """Return *events* as botocore's parser reads their bytes."""
    source = EventStream(_Body(frames(events)), STREAM, EventStreamJSONParser(), "ConverseStream")
    return list(source)


def accumulated(events: list[Event]) -> dict[str, Any]:
    """Return what botocore's events amount to, put together as the service model says.

    A block is what its start, if it has one, and its deltas say, at its index.
    """
    blocks: dict[int, dict[str, Any]] = {}
    found: dict[str, Any] = {"reason": None, "usage": None}

    def block(index: int) -> dict[str, Any]:
        return blocks.setdefault(index, {"text": "", "thought": "", "signature": "", "input": ""})

    for event in parsed(events):
        match event:
            case {"contentBlockStart": {"start": start, "contentBlockIndex": index}}:
                block(index).update(start)
            case {"contentBlockDelta": {"delta": delta, "contentBlockIndex": index}}:
                _add(block(index), delta)
            case {"messageStop": {"stopReason": reason}}:
                found["reason"] = reason
            case {"metadata": {"usage": usage}}:
                found["usage"] = usage
    return {**found, "blocks": [blocks[index] for index in blocks]}


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    match delta:
        case {"text": text}:
            block["text"] += text
        case {"toolUse": {"input": text}}:
            block["input"] += text
        case {"toolResult": items}:
            block.setdefault("content", []).extend(items)
        case {"reasoningContent": {"text": text}}:
            block["thought"] += text
        case {"reasoningContent": {"signature": text}}:
            block["signature"] += text
        case {"reasoningContent": {"redactedContent": data}}:
            block["redacted"] = block.get("redacted", b"") + data
        case {"citation": citation}:
            block.setdefault("citations", []).append(citation)
        case {"image": {"source": {"bytes": data}}}:
            block["data"] = block.get("data", b"") + data


ANSWERS = {
    "text": document({"text": "Hällo 👋"}, {"text": " there"}),
    "calls": document(
        reasoning("Hm, so.", "c2ln"),
        {"text": "Two."},
        tool_use("look", {"q": "a", "n": [1, 2.5]}, id="a"),
        tool_use("look", {}, id="b"),
        stop="tool_use",
        usage={
            "inputTokens": 3,
            "outputTokens": 121,
            "totalTokens": 2072,
            "cacheReadInputTokens": 1712,
            "cacheWriteInputTokens": 236,
            "cacheDetails": [{"ttl": "5m", "inputTokens": 236}],
        },
    ),
    "redacted": document({"reasoningContent": {"redactedContent": "ZW5j"}}, stop="max_tokens"),
}


def assert_alike(events: list[Event]) -> None:
    """Assert that ours and botocore's reading of *events* are one response."""
    theirs, ours = accumulated(events), response(streamed(events))
    blocks = theirs["blocks"]
    parts = ours.message.content

    assert ours.text == "".join(block["text"] for block in blocks)
    thoughts = [part for part in parts if isinstance(part, ReasoningPart)]
    assert [(p.text, p.signature or "", p.encrypted) for p in thoughts] == [
        (block["thought"], block["signature"], _base64(block.get("redacted")))
        for block in blocks
        if block["thought"] or block["signature"] or "redacted" in block
    ]
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    assert [(c.id, c.name, c.provider_executed, c.arguments) for c in calls] == [
        (
            block["toolUse"]["toolUseId"],
            block["toolUse"]["name"],
            block["toolUse"].get("type") == "server_tool_use",
            json.loads(block["input"] or "{}"),
        )
        for block in blocks
        if "toolUse" in block
    ]
    results = [part for part in parts if isinstance(part, ToolResultPart)]
    assert [(r.tool_call_id, r.is_error, _joined(r.content)) for r in results] == [
        (
            block["toolResult"]["toolUseId"],
            block["toolResult"].get("status") == "error",
            _joined(block.get("content", [])),
        )
        for block in blocks
        if "toolResult" in block
    ]
    pictures = [(p.media_type, p.data) for p in parts if isinstance(p, ImagePart)]
    assert pictures == [
        (f"image/{block['image']['format']}", block["data"]) for block in blocks if "data" in block
    ]
    cited = [len(part.citations) for part in parts if isinstance(part, TextPart)]
    assert cited == [len(block.get("citations", ())) for block in blocks if block["text"]]
    assert ours.finish_reason.raw == theirs["reason"]
    assert ours.usage is not None
    assert ours.usage.raw == theirs["usage"]
    assert ours.usage.total_tokens == theirs["usage"]["totalTokens"]


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _joined(items: Any) -> tuple[str, list[Any]]:
    """Return the text of a result and its JSON, however the text was cut."""
    texts = "".join(item["text"] for item in items if "text" in item)
    return texts, [item["json"] for item in items if "json" in item]


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_the_same_frames_say_the_same(answer: dict[str, Any]) -> None:
    """Text, reasoning, calls, reason and usage agree."""
    assert_alike(stream_of(answer, 3))


# -- streams by the grammar of the service model

CITATION = {"title": "T", "location": {"web": {"url": "https://a.example/", "domain": "a.example"}}}


@st.composite
def block_events(draw: st.DrawFn, index: int) -> list[Event]:
    """Draw a block: a start with any member that the model has, and deltas of one member."""
    kinds = ["text", "reasoning", "redacted", "toolUse", "server", "toolResult", "image"]
    kind = draw(st.sampled_from(kinds))
    id_ = {"toolUseId": f"id_{index}"}
    said = texts(1)
    starts: dict[str, dict[str, Any]] = {
        "toolUse": {"toolUse": {**id_, "name": f"f{index}"}},
        "server": {"toolUse": {**id_, "name": f"f{index}", "type": "server_tool_use"}},
        "toolResult": {
            "toolResult": {**id_, "status": draw(st.sampled_from(["success", "error"]))}
        },
        "image": {"image": {"format": "png"}},
    }
    deltas: dict[str, st.SearchStrategy[dict[str, Any]]] = {
        "reasoning": said.map(lambda t: {"reasoningContent": {"text": t}})
        | said.map(lambda t: {"reasoningContent": {"signature": t}}),
        "redacted": st.binary(min_size=1).map(
            lambda data: {"reasoningContent": {"redactedContent": _base64(data)}}
        ),
        "toolResult": st.lists(
            said.map(lambda t: {"text": t}) | json_objects().map(lambda v: {"json": v}),
            min_size=1,
            max_size=2,
        ).map(lambda items: {"toolResult": items}),
        "image": st.binary(min_size=1).map(
            lambda data: {"image": {"source": {"bytes": _base64(data)}}}
        ),
    }
    drawn: list[dict[str, Any]]
    if kind == "text":
        first = draw(said)
        more = said.map(lambda t: {"text": t}) | st.just({"citation": CITATION})
        drawn = [{"text": first}, *draw(st.lists(more, max_size=3))]
    elif kind in ("toolUse", "server"):
        written = json.dumps(draw(json_objects()))
        drawn = [{"toolUse": {"input": piece}} for piece in ["", *pieces(written, 5)]]
    else:
        drawn = draw(st.lists(deltas[kind], min_size=1, max_size=3))
    opened = [start(index, **starts[kind])] if kind in starts else []
    closed = [stop(index)] if draw(st.booleans()) or kind in ("toolResult", "image") else []
    return [*opened, *(delta(index, **one) for one in drawn), *closed]


@st.composite
def service_streams(draw: st.DrawFn) -> list[Event]:
    """Draw a stream of any members of the service model's unions."""
    count = draw(st.integers(0, 4))
    events = [event for index in range(count) for event in draw(block_events(index))]
    reason = draw(st.sampled_from(sorted(STOP_REASONS)))
    usage = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}
    return [BEGIN, *events, ("messageStop", {"stopReason": reason}), ("metadata", {"usage": usage})]


STOP_REASONS = STREAM.members["messageStop"].members["stopReason"].enum


@given(service_streams())
def test_any_stream_of_the_service_model_is_read_alike(events: list[Event]) -> None:
    """Whatever members the events have, ours and botocore's reading are one response."""
    assert_alike(events)


def test_every_stop_reason_of_the_service_model_has_a_meaning() -> None:
    """No documented reason ends as `other`."""
    for reason in STOP_REASONS:
        events: list[Event] = [BEGIN, delta(0, text="x"), *end(reason)]
        assert response(streamed(events)).finish_reason.reason != "other", reason


@pytest.mark.parametrize(
    "name",
    [
        "internalServerException",
        "modelStreamErrorException",
        "serviceUnavailableException",
        "throttlingException",
        "validationException",
    ],
)
def test_the_same_frames_fail_the_same(name: str) -> None:
    """Both report the exception, by its name and with its message."""
    events: list[Event] = [BEGIN, delta(0, text="a"), (f"exception:{name}", {"message": "No."})]

    with pytest.raises(EventStreamError) as raised:
        parsed(events)
    ours = error(streamed(events))

    assert raised.value.response["Error"] == {"Code": ours.error_code, "Message": ours.message}


def test_answers_come_back_in_the_shape_of_the_service() -> None:
    """A response of the service, written as one again, passes its own model."""
    for answer in ANSWERS.values():
        got = response(streamed(stream_of(answer))).message
        results = [Message.tool(call.id, "ok") for call in got.tool_calls]
        talk = [Message.user("x"), got, *results, Message.user("more")]
        assert complaints(body(ask(messages=talk)), stream=True) == ""
