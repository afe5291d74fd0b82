"""JSON mode of OpenAI's APIs: a conversation that does not name JSON is given an instruction."""

from typing import Any

import pytest

from llmcore.schema.content import TextPart, ToolCallPart
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest, request
from tests.support.wire import chat, responses

WORDS = "Answer with one JSON document and nothing else."
ADDED = [("instructions-added", "response_format")]
CALL = ToolCallPart("call_1", "look", {"as": "json"})


def asked(form: ResponseFormat | None = None, **fields: Any) -> LLMRequest:
    """Return a request in JSON mode, or in another *form*."""
    model = Model("gpt-5.2", "openai")
    return request(model=model, response_format=form or ResponseFormat.json(), **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "Hello"},
        {"messages": [Message.user("Hi"), Message.assistant(CALL), Message.tool("call_1", "a")]},
    ],
    ids=["text", "arguments alone"],
)
def test_a_conversation_without_the_word_is_given_it(fields: Any) -> None:
    """Both APIs refuse it otherwise; the Responses API does not count its instructions."""
    sent = chat.body(asked(**fields))["messages"]
    assert sent[0] == {"role": "system", "content": WORDS}
    assert chat.codes(asked(**fields)) == ADDED

    items = responses.body(asked(**fields))["input"]
    assert items[0] == {"type": "message", "role": "system", "content": WORDS}
    assert responses.codes(asked(**fields)) == ADDED


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "Answer as JSON."},
        {"messages": [Message.user("In json?"), Message.assistant("Yes."), Message.user("Go.")]},
    ],
    ids=["the prompt", "an earlier message"],
)
def test_a_conversation_with_the_word_stays_as_it_is(fields: Any) -> None:
    """In whatever case, wherever the user or the model wrote it."""
    assert WORDS not in str(chat.body(asked(**fields))["messages"])
    assert WORDS not in str(responses.body(asked(**fields))["input"])
    assert chat.codes(asked(**fields)) == responses.codes(asked(**fields)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"system": "Write JSON.", "prompt": "Hello"},
        {"messages": [Message("system", (TextPart("Write JSON."),)), Message.user("Hello")]},
    ],
    ids=["system", "a message"],
)
def test_instructions_that_name_json_are_a_message(fields: Any) -> None:
    """As in Chat Completions: the Responses API does not count its `instructions`."""
    said = asked(**fields)

    for found in (chat.body(said)["messages"], responses.body(said)["input"]):
        assert (found[0]["role"], found[0]["content"]) == ("system", "Write JSON.")
        assert WORDS not in str(found)
    assert "instructions" not in responses.body(said)
    assert chat.codes(said) == responses.codes(said) == []


def test_instructions_of_a_stored_conversation_stay_so() -> None:
    """It would keep the message, where instructions are of one request only."""
    options = {"openai": {"previous_response_id": "resp_1"}}
    sent = responses.body(asked(system="Write JSON.", prompt="Hello", provider_options=options))

    assert sent["instructions"] == "Write JSON."
    assert sent["input"][0]["content"] == WORDS


def test_other_formats_need_no_words() -> None:
    """A schema, or text."""
    schema = ResponseFormat.json_schema({"type": "object", "properties": {}})
    for form in (schema, ResponseFormat.text()):
        assert WORDS not in str(chat.body(asked(form, prompt="Hello")))
        assert WORDS not in str(responses.body(asked(form, prompt="Hello")))
