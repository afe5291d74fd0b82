"""The shape of the response: by the API, by a tool, in words, and back to text."""

from typing import Any

import pytest

from llmcore.protocols.forced_format import format_in_words
from llmcore.schema.content import TextPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import FinishReason, TextDelta
from llmcore.schema.options import CachePolicy, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import ToolChoice, ToolDefinition
from tests.support.wire.anthropic import (
    ask,
    begin,
    body,
    codes,
    delta,
    end,
    message,
    start,
    stop,
    stream_of,
    streamed,
    text,
    tool_use,
    whole,
)
from tests.support.wire.protocol import response

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
CLOSED = {**SCHEMA, "additionalProperties": False}
OLD = "claude-sonnet-4-0"
LOOK = ToolDefinition("look")


def shaped(model: str, schema: Any = None, **fields: Any) -> LLMRequest:
    """Return a request for a response of *schema*."""
    wanted = ResponseFormat.json_schema(schema or SCHEMA)
    return ask(model, response_format=wanted, cache=CachePolicy(mode="off"), **fields)


# -- asked for


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5", "claude-sonnet-5-5"])
def test_format_is_enforced_by_the_api_on_newer_models(model: str) -> None:
    """A model that can be held to a schema is."""
    sent = body(shaped(model))

    assert sent["output_config"] == {"format": {"type": "json_schema", "schema": CLOSED}}
    assert not {"tools", "tool_choice"} & sent.keys()
    assert not codes(shaped(model))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [(SCHEMA, "Who it is"), ({**SCHEMA, "description": "A person"}, "Who it is\nA person")],
)
@pytest.mark.parametrize("model", ["claude-opus-5", OLD])
def test_the_description_of_the_format_is_the_schemas(
    schema: Any, expected: str, model: str
) -> None:
    """The API has no field for it, and the description of a tool is the format's alone."""
    wanted = ResponseFormat.json_schema(schema, description="Who it is")
    sent = body(ask(model, response_format=wanted))

    if model == OLD:
        assert sent["tools"][0]["description"] == "Who it is"
        assert sent["tools"][0]["input_schema"].get("description") == schema.get("description")
    else:
        assert sent["output_config"]["format"]["schema"]["description"] == expected


def test_words_that_ask_for_a_format_have_its_description() -> None:
    wanted = ResponseFormat.json_schema(SCHEMA, description="Who it is")
    words = format_in_words(wanted, "nothing else can ask for it", Diagnostics())

    assert '"description":"Who it is"' in words


def test_by_the_api_beside_thinking() -> None:
    """Thinking and a schema go together where the API does both."""
    sent = body(shaped("claude-sonnet-4-5", reasoning=ReasoningOptions(budget_tokens=2000)))

    assert sent["thinking"]["type"] == "enabled"
    assert "format" in sent["output_config"]


def test_format_is_forced_by_a_tool_on_older_models() -> None:
    """An older model must call a tool whose input is the response."""
    sent = body(shaped(OLD))

    (tool,) = sent["tools"]
    assert (tool["name"], tool["input_schema"]) == ("structured_answer", SCHEMA)
    assert sent["tool_choice"] == {
        "type": "tool",
        "name": "structured_answer",
        "disable_parallel_tool_use": True,
    }
    assert codes(shaped(OLD)) == [("response-format-by-tool", "response_format")]


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        (None, None, {"type": "any"}),
        (ToolChoice.auto(), False, {"type": "any", "disable_parallel_tool_use": True}),
        (ToolChoice.required(), None, {"type": "any"}),
        (ToolChoice.named("look"), None, {"type": "tool", "name": "look"}),
        (
            ToolChoice.none(),
            None,
            {"type": "tool", "name": "structured_answer", "disable_parallel_tool_use": True},
        ),
    ],
)
def test_by_a_tool_beside_the_callers(choice: Any, parallel: Any, sent: Any) -> None:
    """The caller's tools can be called first; with none allowed, the response comes at once."""
    asked = shaped(OLD, tools=[LOOK], tool_choice=choice, parallel_tool_calls=parallel)

    assert [tool["name"] for tool in body(asked)["tools"]] == ["look", "structured_answer"]
    assert body(asked)["tool_choice"] == sent


def test_by_a_tool_beside_thinking() -> None:
    """A model that thinks cannot be forced to call a tool: the prompt demands it instead."""
    asked = shaped(OLD, reasoning=ReasoningOptions(budget_tokens=2000))
    sent = body(asked)

    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert "tool_choice" not in sent
    assert "structured_answer" in sent["system"][-1]["text"]
    assert codes(asked) == [("tool-choice-weakened", "response_format")]


def test_the_tools_name_is_free() -> None:
    """The response's tool gets out of the way of the caller's."""
    asked = shaped(OLD, tools=[ToolDefinition("structured_answer")])

    assert [t["name"] for t in body(asked)["tools"]] == ["structured_answer", "structured_answer_"]


def test_a_schema_that_the_api_cannot_hold_to() -> None:
    """A free-form object goes by a tool, or in words where none can be demanded."""
    free = {"type": "object", "properties": {"any": {"type": "object"}}}

    assert "structured_answer" in str(body(shaped("claude-sonnet-4-5", free)))
    asked = shaped("claude-sonnet-5-5", free)
    assert '"any":{"type":"object"}' in body(asked)["system"][-1]["text"]
    assert codes(asked) == [("response-format-in-words", "response_format")]


def test_any_json_is_asked_for_in_words() -> None:
    """Without a schema there is nothing to hold to."""
    asked = ask(response_format=ResponseFormat.json(), system="S")

    assert [block["text"] for block in body(asked)["system"]] == [
        "S",
        "Answer with one JSON document and nothing else.",
    ]
    assert codes(asked) == [("response-format-in-words", "response_format")]


def test_plain_text_needs_nothing() -> None:
    """Free text is the default."""
    assert body(ask(response_format=ResponseFormat.text())) == body(ask())


@pytest.mark.parametrize(
    ("model", "option", "key"),
    [("my-model", "native", "output_config"), ("claude-opus-5", "tool", "tools")],
)
def test_format_method_follows_the_callers_option(model: str, option: str, key: str) -> None:
    """An option says how, for models whose names do not tell."""
    asked = shaped(model, provider_options={"anthropic": {"structured_output": option}})

    assert key in body(asked)
    assert "structured_output" not in body(asked)


# -- read back


def test_the_tools_input_is_the_text() -> None:
    """The call comes as text, and the response ends as text does."""
    document = message(tool_use("structured_answer", {"city": "Rome"}), stop="tool_use")

    for events in (streamed(stream_of(document), shaped(OLD)), whole(document, shaped(OLD))):
        answer = response(events)
        assert answer.message.content in (
            (TextPart('{"city": "Rome"}'),),
            (TextPart('{"city":"Rome"}'),),
        )
        assert answer.finish_reason == FinishReason("stop", "tool_use")
        assert not answer.tool_calls


@pytest.mark.parametrize("pieces", [["{}"], [""], []])
def test_an_object_without_fields_is_a_response(pieces: list[str]) -> None:
    """It is the input, also where no delta brings it."""
    call = tool_use("structured_answer", {})
    deltas = [delta(0, "input_json_delta", partial_json=piece) for piece in pieces]
    events = [begin(), start(0, **call), *deltas, stop(0), *end("tool_use")]

    assert response(streamed(events, shaped(OLD))).text == "{}"
    assert response(whole(message(call, stop="tool_use"), shaped(OLD))).text == "{}"


def test_it_comes_piece_by_piece() -> None:
    """The text is passed on as it is written."""
    document = message(tool_use("structured_answer", {"city": "Rome"}), stop="tool_use")
    events = streamed(stream_of(document, size=6), shaped(OLD))

    assert [e.text for e in events if isinstance(e, TextDelta)] == ['{"city', '": "Ro', 'me"}']


def test_a_call_of_the_callers_is_a_call() -> None:
    """Beside the response's tool, other calls stay calls."""
    document = message(text("Wait."), tool_use("look", {}), stop="tool_use")
    answer = response(whole(document, shaped(OLD, tools=[LOOK])))

    assert [call.name for call in answer.tool_calls] == ["look"]
    assert answer.finish_reason == FinishReason("tool_calls", "tool_use")


@pytest.mark.parametrize(
    "schema", [{"type": "array", "items": {"$ref": "#/$defs/C"}, "$defs": {"C": SCHEMA}}]
)
def test_a_response_that_is_not_an_object(schema: Any) -> None:
    """A tool's input is an object; the response in its one property is unwrapped."""
    asked = shaped(OLD, schema)
    (tool,) = body(asked)["tools"]
    assert tool["input_schema"]["properties"] == {
        "answer": {"type": "array", "items": {"$ref": "#/$defs/C"}}
    }
    assert tool["input_schema"]["$defs"] == {"C": SCHEMA}

    document = message(
        tool_use("structured_answer", {"answer": [{"city": "Rome"}]}), stop="tool_use"
    )
    for events in (streamed(stream_of(document), asked), whole(document, asked)):
        assert response(events).text == '[{"city":"Rome"}]'


def test_a_response_cut_off() -> None:
    """Half a response is given as it is."""
    document = message(tool_use("structured_answer", {"answer": [1, 2]}), stop="max_tokens")
    events = [e for e in stream_of(document, size=10) if "2]" not in str(e)]
    asked = shaped(OLD, {"type": "array"})

    answer = response(streamed(events, asked))

    assert answer.finish_reason.reason == "length"
    assert answer.text == '{"answer":'
