"""Freeform tools at servers of the Responses API that have only functions."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from llmcore import OpenAICompatible
from llmcore.protocols import openai_responses
from llmcore.protocols.openai_responses import COMPATIBLE
from llmcore.routes import github_copilot, xai
from llmcore.routes.framing import Framing
from llmcore.schema.content import ToolResultPart
from llmcore.schema.events import LLMEvent, ToolInputDelta, ToolInputStart
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import CustomTool, Grammar, ToolChoice
from tests.support.wire.prepared import prepare
from tests.support.wire.protocol import ProtocolWire, response
from tests.support.wire.responses import (
    Native,
    body,
    codes,
    document,
    events_of,
    function_call,
    sse,
)

PATCH = "*** Begin Patch\n*** Add File: a\n+é\n*** End Patch"
APPLY = CustomTool("patch", "Edits.", grammar=Grammar(syntax="lark", definition="start: /.+/s"))
WIRE = ProtocolWire(openai_responses.make(COMPATIBLE), Framing.sse(), "text/event-stream")
ORIGIN = Origin(provider="acme", model="m", protocol="openai-responses")


def ask(*messages: Message, **fields: Any) -> LLMRequest:
    """Return a request that offers the freeform tool."""
    said = messages or (Message.user("Edit a."),)
    return request(model=Model("m", "acme"), messages=said, tools=[APPLY], **fields)


def called(native: Native, *, stream: bool, pieces: int = 3) -> list[LLMEvent]:
    """Return the events of a response that is the call *native*."""
    if stream:
        return WIRE.streamed([sse(events_of([native], size=pieces))], ask())
    return WIRE.whole(document([native]), ask())


def test_a_freeform_tool_is_a_function_of_one_string() -> None:
    made = body(ask(tool_choice=ToolChoice.named("patch")), COMPATIBLE)
    (tool,) = made["tools"]

    assert (tool["type"], tool["name"]) == ("function", "patch")
    assert "start: /.+/s" in tool["description"]
    assert tool["parameters"]["required"] == ["input"]
    assert made["tool_choice"] == {"type": "function", "name": "patch"}
    assert codes(ask(), COMPATIBLE) == [("custom-tool-as-function", "tools[0]")]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    "arguments",
    [json.dumps({"input": PATCH}), json.dumps({"patch": PATCH}, ensure_ascii=False), PATCH],
    ids=["as offered", "field renamed", "not wrapped"],
)
def test_its_call_is_freeform_again(arguments: str, stream: bool) -> None:
    events = called(function_call(arguments, name="patch"), stream=stream)
    (call,) = response(events).tool_calls
    starts = [event for event in events if isinstance(event, ToolInputStart)]
    pieces = [event for event in events if isinstance(event, ToolInputDelta)]

    assert (call.kind, call.arguments) == ("custom", PATCH)
    assert [start.kind for start in starts] == ["custom"]
    assert "input" not in "".join(piece.text for piece in pieces)


def test_input_that_came_in_deltas_alone_is_unwrapped() -> None:
    native = function_call(json.dumps({"input": PATCH}), name="patch")
    events = [
        event
        for event in events_of([native])
        if event["type"].endswith((".added", "arguments.delta", ".created"))
    ]
    end: Sequence[Native] = [{"type": "response.completed", "response": document([])}]
    (call,) = response(WIRE.streamed([sse([*events, *end])], ask())).tool_calls

    assert (call.kind, call.arguments) == ("custom", PATCH)


def test_input_that_its_announcement_has_is_unwrapped() -> None:
    native = function_call(json.dumps({"input": PATCH}), name="patch")
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": native},
        {"type": "response.completed", "response": document([])},
    ]
    (call,) = response(WIRE.streamed([sse(events)], ask())).tool_calls

    assert (call.kind, call.arguments) == ("custom", PATCH)


def test_the_history_has_functions_too() -> None:
    """With the ids that the server gave the call."""
    native = function_call(json.dumps({"input": PATCH}), name="patch")
    answer = response(WIRE.whole(document([native], model="m"), ask()))
    result = Message("tool", (ToolResultPart("call_1", "Done.", kind="custom"),))
    sent = body(ask(Message.user("Edit a."), answer.message, result), COMPATIBLE)["input"]

    assert sent[1:] == [
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "patch",
            "arguments": json.dumps({"input": PATCH}, ensure_ascii=False, separators=(",", ":")),
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "Done."},
    ]


def test_functions_are_read_as_they_are() -> None:
    events = called(function_call('{"input":"x"}'), stream=True)
    (call,) = response(events).tool_calls

    assert (call.kind, call.arguments) == ("function", {"input": "x"})


@pytest.mark.parametrize(
    ("model", "type_"),
    [
        (xai.XAI(api_key="k").responses("grok-4.6"), "function"),
        (github_copilot.GithubCopilot(token="t").responses("gpt-5.5"), "function"),
        (OpenAICompatible(name="a", base_url="http://a.example/v1").responses("m"), "function"),
        (
            OpenAICompatible(name="a", base_url="https://api.openai.com/v1").responses("gpt-5.5"),
            "custom",
        ),
    ],
    ids=["xai", "copilot", "another", "openai"],
)
def test_servers_get_the_tool_as_they_take_it(model: Model[Any], type_: str) -> None:
    made = prepare(request(model=model, prompt="Hi", tools=[APPLY]))

    assert [tool["type"] for tool in made.body["tools"]] == [type_]
