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
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.bedrock_converse import protocol
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import GenerationOptions
from llmcore.schema.request import LLMRequest
from tests.support.strategies.examples import costly
from tests.support.strategies.requests import requests
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
    frames,
    reasoning,
    stream_of,
    streamed,
    tool_use,
)
from tests.support.wire.protocol import error, response

SERVICE: Any = botocore.session.get_session().get_service_model("bedrock-runtime")
SHAPES = {
    False: SERVICE.operation_model("Converse").input_shape,
    True: SERVICE.operation_model("ConverseStream").input_shape,
}
STREAM = SERVICE.operation_model("ConverseStream").output_shape.members["stream"]


def complaints(native: dict[str, Any], *, stream: bool, model: str = CLAUDE) -> str:
    """Return what botocore's validator says of a body; empty if it takes it."""
    report = ParamValidator().validate({"modelId": model, **native}, SHAPES[stream])
    return str(report.generate_report())


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
    native = built.map(lambda one: dict(protocol.body.to_json(one.body))).value_or(None)
    if native is not None:
        assert complaints(native, stream=stream, model=model) == ""


def _native(part: Any) -> bool:
    """Return whether *part* holds data of the caller's own making, which goes as it is."""
    names = {"bedrock", "bedrock-converse"}
    return getattr(part, "provider", None) in names or "bedrock" in part.provider_metadata


# -- streams


class _Body:
    """What botocore reads a stream from."""

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


def told(events: list[Event]) -> dict[str, Any]:
    """Return what botocore's events amount to, put together as its documents say."""
    texts, thoughts, calls, found = [], [], {}, {}
    for event in parsed(events):
        match event:
            case {"contentBlockStart": {"start": {"toolUse": call}, "contentBlockIndex": index}}:
                calls[index] = {"id": call["toolUseId"], "name": call["name"], "input": ""}
            case {"contentBlockDelta": {"delta": {"text": text}}}:
                texts.append(text)
            case {"contentBlockDelta": {"delta": {"toolUse": more}, "contentBlockIndex": index}}:
                calls[index]["input"] += more["input"]
            case {"contentBlockDelta": {"delta": {"reasoningContent": {"text": text}}}}:
                thoughts.append(text)
            case {"contentBlockDelta": {"delta": {"reasoningContent": {"redactedContent": data}}}}:
                found["encrypted"] = base64.b64encode(data).decode()
            case {"messageStop": {"stopReason": reason}}:
                found["reason"] = reason
            case {"metadata": {"usage": usage}}:
                found["usage"] = usage
    return {
        **found,
        "text": "".join(texts),
        "thought": "".join(thoughts),
        "calls": list(calls.values()),
    }


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


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_the_same_frames_say_the_same(answer: dict[str, Any]) -> None:
    """Text, reasoning, calls, reason and usage agree."""
    events = stream_of(answer, 3)
    theirs, ours = told(events), response(streamed(events))

    assert ours.text == theirs["text"]
    assert (ours.reasoning or "") == theirs["thought"]
    assert [(c.id, c.name, c.arguments) for c in ours.tool_calls] == [
        (c["id"], c["name"], json.loads(c["input"] or "{}")) for c in theirs["calls"]
    ]
    assert ours.finish_reason.raw == theirs["reason"]
    assert ours.usage is not None
    assert ours.usage.raw == theirs["usage"]
    assert ours.usage.total_tokens == theirs["usage"]["totalTokens"]
    encrypted = [getattr(part, "encrypted", None) for part in ours.message.content]
    assert theirs.get("encrypted") in (*encrypted, None)


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
    """What the service sent, sent back, passes its own model."""
    for answer in ANSWERS.values():
        got = response(streamed(stream_of(answer))).message
        results = [Message.tool(call.id, "ok") for call in got.tool_calls]
        talk = [Message.user("x"), got, *results, Message.user("more")]
        assert complaints(body(ask(messages=talk)), stream=True) == ""
