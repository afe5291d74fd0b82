"""Fields of items and of their parts that OpenAI may add: they go back to the server they are of.

"If you're managing context manually, pass back all output items": the server may need any of them.
https://developers.openai.com/api/docs/guides/conversation-state, read November 2026.
"""

from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.content import ToolCallPart, ToolResultPart
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.protocol import response
from tests.support.wire.responses import (
    ORIGIN,
    Native,
    body,
    codes,
    custom_call,
    document,
    events_of,
    function_call,
    message,
    reasoning,
    said,
    streamed,
    text_part,
    whole,
)

FUTURE: Native = {"tone": "calm", "proof": {"of": [1, 2]}}
OUTPUT: list[Native] = [
    {**reasoning("Hm.", id="rs_1"), **FUTURE},
    message(text_part("Hi.", script="latin"), id="msg_1", **FUTURE),
    {**reasoning(id="rs_2"), **FUTURE},
    function_call(**FUTURE),
    {**custom_call(), **FUTURE},
]


def _continued(answer: Message, model: Model[Any]) -> LLMRequest:
    results = [Message.tool(call.id, "ok") for call in answer.tool_calls]
    return request(model=model, messages=[Message.user("Hi"), answer, *results])


OWN = Model("gpt-5.2", "openai")


@pytest.mark.parametrize("form", ["whole", "stream"])
def test_fields_that_are_not_read_go_back_to_their_server(form: str) -> None:
    data = whole(document(OUTPUT)) if form == "whole" else streamed(events_of(OUTPUT))
    answer = evolve(response(data).message, origin=ORIGIN)
    asked = _continued(answer, OWN)
    sent = body(asked)["input"][1 : 1 + len(OUTPUT)]

    assert [{name: item.get(name) for name in FUTURE} for item in sent] == [FUTURE] * len(OUTPUT)
    assert sent[1]["content"][0]["script"] == "latin"
    assert codes(asked) == []


def test_a_text_alone_keeps_them_too() -> None:
    for native in (message("Hi.", **FUTURE), message(text_part("Hi.", script="latin"))):
        answer = evolve(response(whole(document([native]))).message, origin=ORIGIN)
        (sent,) = body(_continued(answer, OWN))["input"][1:]

        without_logprobs = [
            {name: part[name] for name in part if name != "logprobs"} for part in native["content"]
        ]
        assert sent == {**native, "content": without_logprobs}


@pytest.mark.parametrize(
    "model", [Model("gpt-4.1", "openai"), Model("gpt-5.2", "azure")], ids=["model", "provider"]
)
def test_they_do_not_go_to_another_model_or_provider_and_are_reported(model: Model[Any]) -> None:
    """Their meaning is unknown, and may be bound to the model, as that of a signature."""
    asked = _continued(evolve(said(*OUTPUT), origin=ORIGIN), model)
    sent = body(asked)["input"]

    assert not [item for item in sent if "tone" in item or "proof" in item]
    assert "latin" not in str(sent)
    assert "opaque-data-dropped" in [code for code, _ in codes(asked)]


@pytest.mark.parametrize("protocol_id", ["anthropic-messages", "gemini", "bedrock-converse"])
def test_another_api_gets_none_of_them_and_each_is_reported(protocol_id: str) -> None:
    answer = evolve(said(OUTPUT[1], function_call(**FUTURE)), origin=ORIGIN)
    asked = _continued(answer, Model("m-1", "other"))
    made = protocol_by_id(protocol_id).body.build(asked, False).unwrap()
    reported = [note.message for note in made.diagnostics if note.code == "opaque-data-dropped"]

    assert "calm" not in str(made.body)
    assert [("tone" in text, "script" in text) for text in reported] == [
        (True, True),
        (True, False),
    ]


def test_what_the_caller_sets_goes_with_messages_and_results() -> None:
    """As a front of the same API reads it."""
    fields: Any = {"openai": {"item_fields": FUTURE}}
    call = ToolCallPart("call_1", "weather", {})
    result = ToolResultPart("call_1", "19 C", provider_metadata=fields)
    asked = request(
        model=OWN,
        messages=[
            evolve(Message.user("Hi"), provider_metadata=fields),
            Message.assistant(call),
            Message("tool", (result,)),
        ],
    )
    first, _, last = body(asked)["input"]

    assert first == {"type": "message", "role": "user", "content": "Hi", **FUTURE}
    assert last == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": "19 C",
        **FUTURE,
    }
    assert codes(asked) == []
