"""The text of a call's arguments, from a response into the next request."""

import json

import pytest

from llmcore import AmazonBedrock, Anthropic, Client, Google
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import parse_arguments
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import request
from tests.support.wire import chat, responses
from tests.support.wire.protocol import response

WRITTEN = '{"city" : "Paris",  "days": 1.50}'
"""Not as any encoder of ours writes it."""


def _chat(streaming: bool) -> list[LLMEvent]:
    call = chat.call(id="call_1", type="function", name="look", arguments=WRITTEN)
    if streaming:
        return chat.streamed(chat.calls_chunks({"index": 0, **call}))
    return chat.whole(chat.completion({"content": None, "tool_calls": [call]}, "tool_calls"))


def _responses(streaming: bool) -> list[LLMEvent]:
    output = [responses.function_call(WRITTEN)]
    if streaming:
        return responses.streamed(responses.events_of(output))
    return responses.whole(responses.document(output))


def _answered(answer: Message) -> list[Message]:
    (call,) = answer.tool_calls
    return [Message.user("Hello"), answer, Message.tool(call.id, "fine")]


@pytest.mark.parametrize("read", [_chat, _responses])
@pytest.mark.parametrize("streaming", [True, False])
def test_arguments_go_back_as_the_model_wrote_them(read: object, streaming: bool) -> None:
    """To the API that sent them and to the other one, also after they were stored as JSON."""
    assert callable(read)
    answer = from_json(Message, to_json(response(read(streaming)).message))

    asked = request(model=chat.ASKED.model, messages=_answered(answer))
    (call,) = chat.body(asked)["messages"][1]["tool_calls"]
    item = responses.items(*_answered(answer))[1]

    assert call["function"]["arguments"] == WRITTEN
    assert item["arguments"] == WRITTEN


@pytest.mark.parametrize(
    "model",
    [
        Anthropic(api_key="k").model("m"),
        AmazonBedrock(api_key="k", region="us-east-1").model("m"),
        Google(api_key="k").model("m"),
    ],
    ids=["anthropic-messages", "bedrock-converse", "gemini"],
)
def test_arguments_that_are_an_object_go_back_with_their_order_and_numbers(model: Model) -> None:
    """APIs that take an object get its keys in their order and its numbers without loss."""
    written = '{ "b": 1.0,  "a": {"d": 12345678901234567890, "c": [0.10, 2e3]},"é":"\\u00e9" }'
    call = ToolCallPart("call_1", "look", json.loads(written), raw_arguments=written)
    assert call.raw_arguments == written

    asked = request(model=model, messages=_answered(Message("assistant", (call,))))
    body = Client(environ={}).prepare(asked).unwrap().http.body

    compact = json.dumps(json.loads(written), ensure_ascii=False, separators=(",", ":"))
    assert compact.encode() in bytes(body or b"")


@pytest.mark.parametrize("stream", [True, False])
def test_line_breaks_in_strings_need_no_escape(stream: bool) -> None:
    """Models write code so; what goes back is JSON."""
    written = '{"code": "a\n\tb"}'
    call = chat.call(0, id="call_1", type="function", name="run", arguments=written)
    events = (
        chat.streamed(chat.calls_chunks(call))
        if stream
        else chat.whole(chat.completion({"content": None, "tool_calls": [call]}, "tool_calls"))
    )
    answer = response(events)

    assert answer.tool_calls[0].arguments == {"code": "a\n\tb"}
    assert answer.diagnostics == ()
    asked = request(model=chat.ASKED.model, messages=_answered(answer.message))
    (sent,) = chat.body(asked)["messages"][1]["tool_calls"]
    assert json.loads(sent["function"]["arguments"]) == {"code": "a\n\tb"}


@pytest.mark.parametrize(
    "text", ['{"a": "b', '{"a": 1} x', '{"a": "\n" 1}', '["\n"]', '{"a": NaN}']
)
def test_other_faults_stay_faults(text: str) -> None:
    """Such text is kept as it came."""
    arguments, problem = parse_arguments(text)

    assert arguments == text
    assert problem
