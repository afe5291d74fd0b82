"""Names of properties that Claude's APIs refuse: another in the request, their own in the call."""

import json
from typing import Any

import pytest

from llmcore.protocols.claude_tools import replaced_properties
from llmcore.schema.content import ToolCallPart
from llmcore.schema.events import ToolInputDelta
from llmcore.schema.messages import Message
from llmcore.schema.options import CachePolicy, ResponseFormat
from llmcore.schema.tools import ToolDefinition
from tests.support.wire import anthropic, bedrock
from tests.support.wire.protocol import response

CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
OFF = CachePolicy(mode="off")
FIND = ToolDefinition(
    "find",
    "Finds.",
    {
        "type": "object",
        "properties": {"filter[id]": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["filter[id]"],
    },
)
OWN: dict[str, Any] = {"filter[id]": "a", "limit": 2}
SENT = {"filter_id_": "a", "limit": 2}


@pytest.mark.parametrize(
    ("names", "sent"),
    [
        (["a", "a.b-c_D", "x" * 64], {}),
        (["$top", "user name", "é"], {"$top": "_top", "user name": "user_name", "é": "_"}),
        ([""], {"": "_"}),
        (["a b", "a_b"], {"a b": "a_b_7faae47c"}),
        (["a b", "a$b"], {"a b": "a_b", "a$b": "a_b_4817c495"}),
        (["x" * 65], {"x" * 65: f"{'x' * 55}_dc05afb2"}),
    ],
    ids=["allowed", "characters", "empty", "taken", "the same", "long"],
)
def test_a_name_that_is_refused_has_one_that_is_not(names: list[str], sent: dict[str, str]) -> None:
    """Legal, unique within the tool, and the same in every process."""
    tool = ToolDefinition("f", "F.", {"type": "object", "properties": {name: {} for name in names}})

    assert replaced_properties(anthropic.ask(tools=[tool])).get("f", {}) == sent
    assert all(len(value) <= 64 for value in sent.values())


def test_schemas_and_calls_have_the_names_that_are_sent() -> None:
    """In the tool, and in the history; a Diagnostic reports each."""
    talk = [
        Message.user("Hi"),
        Message.assistant(ToolCallPart("toolu_1", "find", OWN)),
        Message.tool("toolu_1", "found"),
    ]
    asked = anthropic.ask(messages=talk, tools=[FIND], cache=OFF)

    sent = anthropic.body(asked)
    schema = sent["tools"][0]["input_schema"]
    assert list(schema["properties"]) == ["filter_id_", "limit"]
    assert schema["required"] == ["filter_id_"]
    assert sent["messages"][1]["content"][0]["input"] == SENT
    reported = ("property-name-changed", "tools[0].parameters.properties.filter[id]")
    assert anthropic.codes(asked) == [reported]

    native = bedrock.body(bedrock.ask(CLAUDE, messages=talk, tools=[FIND], cache=OFF))
    spec = native["toolConfig"]["tools"][0]["toolSpec"]
    assert list(spec["inputSchema"]["json"]["properties"]) == ["filter_id_", "limit"]
    assert native["messages"][1]["content"][0]["toolUse"]["input"] == SENT


def test_models_that_take_any_name_get_their_own() -> None:
    """Amazon's, on the same service."""
    native = bedrock.body(bedrock.ask("amazon.nova-pro-v1:0", tools=[FIND], cache=OFF))

    spec = native["toolConfig"]["tools"][0]["toolSpec"]
    assert list(spec["inputSchema"]["json"]["properties"]) == ["filter[id]", "limit"]


@pytest.mark.parametrize("size", [1, 4, 100])
def test_calls_come_back_with_the_own_names(size: int) -> None:
    """Streamed and whole; the input is passed on when it is complete."""
    asked = anthropic.ask(tools=[FIND])
    made = anthropic.message(anthropic.tool_use("find", SENT), stop="tool_use")

    events = anthropic.streamed(anthropic.stream_of(made, size), asked)
    assert response(events).tool_calls[0].arguments == OWN
    assert len([event for event in events if isinstance(event, ToolInputDelta)]) == 1
    assert response(anthropic.whole(made, asked)).tool_calls[0].arguments == OWN


@pytest.mark.parametrize(
    ("text", "arguments"),
    [("", {}), ('{"filter_id_": "a', '{"filter_id_": "a'), ("{}", {}), ('{"x": 1}', {"x": 1})],
    ids=["nothing", "cut off", "empty", "another name"],
)
def test_input_without_such_names_stays_as_it_is(text: str, arguments: Any) -> None:
    """Input that is not an object is passed on as it came."""
    events = [
        anthropic.begin(),
        anthropic.start(0, **anthropic.tool_use("find", {})),
        *([anthropic.delta(0, "input_json_delta", partial_json=text)] if text else []),
        anthropic.stop(0),
        *anthropic.end("tool_use"),
    ]
    got = response(anthropic.streamed(events, anthropic.ask(tools=[FIND])))

    assert got.tool_calls[0].arguments == arguments


@pytest.mark.parametrize(("model", "own"), [(CLAUDE, OWN), ("amazon.nova-pro-v1:0", SENT)])
def test_converse_puts_the_names_back(model: str, own: Any) -> None:
    """Of Claude's models, whose requests had the others."""
    asked = bedrock.ask(model, tools=[FIND])
    made = bedrock.document(bedrock.tool_use("find", SENT), stop="tool_use")

    for events in (
        bedrock.whole(made, asked),
        bedrock.streamed(bedrock.frames(bedrock.stream_of(made)), asked),
    ):
        assert response(events).tool_calls[0].arguments == own


# -- the tool that stands for the response

FORM = ResponseFormat.json_schema(FIND.parameters)
OLD_CLAUDE = "claude-sonnet-4-0"
OLD_BEDROCK_CLAUDE = "anthropic.claude-sonnet-4-20250514-v1:0"


def test_the_schema_of_a_forced_format_has_the_names_that_are_sent() -> None:
    """Its tool is one like all others; a Diagnostic reports each name."""
    asked = anthropic.ask(OLD_CLAUDE, response_format=FORM)

    (tool,) = anthropic.body(asked)["tools"]
    assert list(tool["input_schema"]["properties"]) == ["filter_id_", "limit"]
    assert tool["input_schema"]["required"] == ["filter_id_"]
    reported = ("property-name-changed", "response_format.schema.properties.filter[id]")
    assert reported in anthropic.codes(asked)

    native = bedrock.body(bedrock.ask(OLD_BEDROCK_CLAUDE, response_format=FORM))
    spec = native["toolConfig"]["tools"][0]["toolSpec"]
    assert list(spec["inputSchema"]["json"]["properties"]) == ["filter_id_", "limit"]


def test_a_wrapped_format_keeps_its_names() -> None:
    """Only the names of the outermost object are refused."""
    listed = ResponseFormat.json_schema({"type": "array", "items": FIND.parameters})
    asked = anthropic.ask(OLD_CLAUDE, response_format=listed)

    (tool,) = anthropic.body(asked)["tools"]
    inner = tool["input_schema"]["properties"]["answer"]["items"]["properties"]
    assert list(inner) == ["filter[id]", "limit"]


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_response_in_a_forced_format_has_its_own_names(size: int) -> None:
    """Streamed and whole, as the text of the response."""
    asked = anthropic.ask(OLD_CLAUDE, response_format=FORM)
    made = anthropic.message(anthropic.tool_use("structured_answer", SENT), stop="tool_use")

    for events in (
        anthropic.streamed(anthropic.stream_of(made, size), asked),
        anthropic.whole(made, asked),
    ):
        assert json.loads(response(events).text) == OWN


def test_converse_puts_the_names_of_a_format_back() -> None:
    """Of Claude's models, whose requests had the others."""
    asked = bedrock.ask(OLD_BEDROCK_CLAUDE, response_format=FORM)
    made = bedrock.document(bedrock.tool_use("structured_answer", SENT), stop="tool_use")

    for events in (
        bedrock.whole(made, asked),
        bedrock.streamed(bedrock.frames(bedrock.stream_of(made)), asked),
    ):
        assert json.loads(response(events).text) == OWN
