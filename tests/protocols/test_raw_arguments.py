"""The text of a call's arguments, from an answer into the next request."""

import pytest

from llmcore.schema.codec import from_json, to_json
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message
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
