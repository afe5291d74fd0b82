"""Lowering tools and the choice among them."""

from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols.openai_chat import COMPATIBLE, OPENAI
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import InvalidRequestError, UnsupportedToolChoiceError
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import (
    CustomTool,
    Grammar,
    HostedTool,
    ToolChoice,
    ToolDefinition,
    ToolSpec,
)
from tests.support.wire.chat import body, codes, refused

MODEL = Model("gpt-4.1", "openai")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolDefinition("weather", "Tells the weather.", SCHEMA)
CLOCK = ToolDefinition("clock")
NATIVE_WEATHER = {
    "type": "function",
    "function": {"name": "weather", "description": "Tells the weather.", "parameters": SCHEMA},
}
NATIVE_CLOCK = {
    "type": "function",
    "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}},
}


def _asked(*tools: ToolSpec, **fields: Any) -> LLMRequest:
    return request(model=MODEL, prompt="Hi", tools=tools, **fields)


# -- functions


def test_functions_keep_their_order_and_schema() -> None:
    """Tools are sent as they were given: caches depend on the order."""
    sent = body(_asked(WEATHER, CLOCK))

    assert sent["tools"] == [NATIVE_WEATHER, NATIVE_CLOCK]
    assert "tool_choice" not in sent
    assert "parallel_tool_calls" not in sent


@pytest.mark.parametrize("strict", [True, False])
def test_strict_is_sent_where_it_is_set(strict: bool) -> None:
    """Strict schemas are closed; False is sent too, since it differs from an absent field."""
    function = body(_asked(evolve(WEATHER, strict=strict)))["tools"][0]["function"]

    assert function["strict"] is strict
    assert function["parameters"].get("additionalProperties") == (False if strict else None)


def test_a_schema_that_cannot_be_strict_is_sent_loose() -> None:
    """A free-form object would be a 400: `strict` is left out, with a diagnostic."""
    schema = {"type": "object", "properties": {"any": {"type": "object"}}}
    asked = _asked(ToolDefinition("free", parameters=schema, strict=True))

    function = body(asked)["tools"][0]["function"]

    assert function["strict"] is False
    assert "schema-not-strict" in [code for code, _ in codes(asked)]


def test_a_server_without_strict_functions_is_not_sent_it() -> None:
    """The loss is reported."""
    asked = _asked(evolve(WEATHER, strict=True))
    dialect = evolve(COMPATIBLE, strict_tools=False)

    assert body(asked, dialect)["tools"] == [NATIVE_WEATHER]
    assert codes(asked, dialect) == [("unsupported-parameter", "tools[0].strict")]


# -- other tools


def test_freeform_tools_have_their_own_form() -> None:
    """With their grammar, where there is one."""
    grammar = Grammar(syntax="lark", definition='start: "a"')
    sent = body(_asked(CustomTool("sh", "Runs a command."), CustomTool("a", grammar=grammar)))

    assert sent["tools"] == [
        {"type": "custom", "custom": {"name": "sh", "description": "Runs a command."}},
        {
            "type": "custom",
            "custom": {
                "name": "a",
                "format": {
                    "type": "grammar",
                    "grammar": {"syntax": "lark", "definition": 'start: "a"'},
                },
            },
        },
    ]


def test_freeform_tools_are_functions_on_servers_without_them() -> None:
    """One string, the grammar in words, and a diagnostic."""
    grammar = Grammar(syntax="regex", definition="a+")
    asked = _asked(CustomTool("a", "Says a.", grammar=grammar))

    function = body(asked, COMPATIBLE)["tools"][0]["function"]

    assert function["parameters"]["required"] == ["input"]
    assert "Says a." in function["description"]
    assert "a+" in function["description"]
    assert codes(asked, COMPATIBLE) == [("custom-tool-as-function", "tools[0]")]


def test_hosted_tools_are_left_out_loudly() -> None:
    """Chat has none; the others are still sent."""
    asked = _asked(WEATHER, HostedTool.web_search())

    assert body(asked)["tools"] == [NATIVE_WEATHER]
    assert codes(asked) == [("unsupported-tool", "tools[1]")]


def test_raw_tools_pass_through_to_their_provider() -> None:
    """The escape hatch: a native definition, as it is; another provider's is left out."""
    own: JsonObject = {"type": "web_search_2030", "size": 3}
    asked = _asked(HostedTool.raw("openai", own), HostedTool.raw("anthropic", {"type": "x"}))

    assert body(asked)["tools"] == [own]
    assert codes(asked) == [("unsupported-tool", "tools[1]")]


# -- the choice


@pytest.mark.parametrize(
    ("choice", "native"),
    [
        (ToolChoice.auto(), "auto"),
        (ToolChoice.none(), "none"),
        (ToolChoice.required(), "required"),
        (ToolChoice.named("clock"), {"type": "function", "function": {"name": "clock"}}),
    ],
)
def test_tool_choice_is_sent_and_none_keeps_the_tools(choice: ToolChoice, native: object) -> None:
    """`none` keeps the tools, since the history may hold calls of them."""
    sent = body(_asked(WEATHER, CLOCK, tool_choice=choice))

    assert sent["tool_choice"] == native
    assert len(sent["tools"]) == 2


def test_a_freeform_tool_is_named_by_its_kind() -> None:
    """Custom where it is custom, function where it is offered as one."""
    asked = _asked(CustomTool("sh"), tool_choice=ToolChoice.named("sh"))

    assert body(asked)["tool_choice"] == {"type": "custom", "custom": {"name": "sh"}}
    assert body(asked, COMPATIBLE)["tool_choice"] == {
        "type": "function",
        "function": {"name": "sh"},
    }


def test_a_named_tool_may_be_offered_alone() -> None:
    """Servers that ignore a name are offered nothing else, and must call."""
    dialect = evolve(COMPATIBLE, named_tool_choice="required")
    asked = _asked(WEATHER, CLOCK, tool_choice=ToolChoice.named("weather"))

    sent = body(asked, dialect)

    assert (sent["tools"], sent["tool_choice"]) == ([NATIVE_WEATHER], "required")
    assert codes(asked, dialect) == [("tool-choice-emulated", "tool_choice")]


@pytest.mark.parametrize("choice", [ToolChoice.auto(), ToolChoice.none()])
def test_choices_without_tools_are_not_sent(choice: ToolChoice) -> None:
    """OpenAI refuses them, and they mean nothing."""
    assert "tool_choice" not in body(_asked(tool_choice=choice))


@pytest.mark.parametrize(
    ("tools", "choice", "kind"),
    [
        ((), ToolChoice.required(), InvalidRequestError),
        ((WEATHER,), ToolChoice.named("clock"), InvalidRequestError),
        ((HostedTool.web_search(),), ToolChoice.required(), UnsupportedToolChoiceError),
    ],
)
def test_choices_that_the_server_lacks_are_refused(
    tools: tuple[ToolSpec, ...], choice: ToolChoice, kind: type[Exception]
) -> None:
    """Before anything is sent."""
    assert isinstance(refused(_asked(*tools, tool_choice=choice)), kind)


def test_modes_that_the_server_lacks_are_refused() -> None:
    """The error says which it has."""
    dialect = evolve(COMPATIBLE, tool_choice_modes=frozenset({"auto", "none"}))

    failed = refused(_asked(WEATHER, tool_choice=ToolChoice.required()), dialect)

    assert isinstance(failed, UnsupportedToolChoiceError)
    assert "auto, none" in failed.message


def test_tools_are_left_out_where_the_server_cannot_forbid_calls() -> None:
    dialect = evolve(COMPATIBLE, tool_choice_modes=frozenset({"auto"}))
    asked = _asked(WEATHER, tool_choice=ToolChoice.none())

    assert body(asked, dialect).keys().isdisjoint({"tools", "tool_choice"})
    assert codes(asked, dialect) == [("tool-choice-emulated", "tool_choice")]


@pytest.mark.parametrize("wanted", [True, False])
def test_parallel_calls_are_sent_beside_tools(wanted: bool) -> None:
    """Without tools the parameter is an error at OpenAI, and has no effect."""
    assert body(_asked(WEATHER, parallel_tool_calls=wanted))["parallel_tool_calls"] is wanted
    assert "parallel_tool_calls" not in body(_asked(parallel_tool_calls=wanted))


def test_parallel_calls_that_cannot_be_chosen_are_reported() -> None:
    """Some servers decide by themselves."""
    dialect = evolve(COMPATIBLE, parallel_tool_calls=False)
    asked = _asked(WEATHER, parallel_tool_calls=False)

    assert "parallel_tool_calls" not in body(asked, dialect)
    assert codes(asked, dialect) == [("unsupported-parameter", "parallel_tool_calls")]


# -- constrained calls

CONSTRAINED = evolve(COMPATIBLE, constrained_tools=True)


def test_call_is_forced_by_a_response_schema() -> None:
    """No tools, a schema that only a call fits, and the functions in words."""
    asked = _asked(WEATHER, CLOCK, tool_choice=ToolChoice.required(), system="Be brief.")

    sent = body(asked, CONSTRAINED)

    assert "tools" not in sent
    assert "tool_choice" not in sent
    schema = sent["response_format"]["json_schema"]["schema"]
    assert [option["properties"]["name"] for option in schema["anyOf"]] == [
        {"const": "weather"},
        {"const": "clock"},
    ]
    assert schema["$defs"]["weather"] == SCHEMA
    system = sent["messages"][0]["content"]
    assert system.startswith("Be brief.\n\nCall one of these functions.")
    assert "- weather: Tells the weather." in system
    assert codes(asked, CONSTRAINED) == [("tool-choice-emulated", "tool_choice")]


def test_a_named_call_offers_one_function() -> None:
    """The schema then has a single name."""
    asked = _asked(WEATHER, CLOCK, tool_choice=ToolChoice.named("clock"))

    schema = body(asked, CONSTRAINED)["response_format"]["json_schema"]["schema"]

    assert list(schema["$defs"]) == ["clock"]


def test_references_of_a_schema_move_with_it() -> None:
    """A definition inside the parameters is still found."""
    parameters = {
        "type": "object",
        "properties": {"$ref": {"type": "string"}, "tree": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }
    asked = _asked(ToolDefinition("walk", parameters=parameters), tool_choice=ToolChoice.required())

    schema = body(asked, CONSTRAINED)["response_format"]["json_schema"]["schema"]

    moved = schema["$defs"]["walk"]
    assert moved["properties"]["tree"] == {"$ref": "#/$defs/walk/$defs/Node"}
    assert moved["properties"]["$ref"] == {"type": "string"}


@pytest.mark.parametrize("choice", [None, ToolChoice.auto(), ToolChoice.none()])
def test_calls_that_need_not_happen_are_left_to_the_server(choice: ToolChoice | None) -> None:
    """Then its own tool calling is used, such as it is."""
    assert body(_asked(WEATHER, tool_choice=choice), CONSTRAINED)["tools"] == [NATIVE_WEATHER]


def test_a_forced_call_takes_the_place_of_a_format() -> None:
    """One text cannot be both; the loss is reported."""
    asked = _asked(
        WEATHER, tool_choice=ToolChoice.required(), response_format=ResponseFormat.json()
    )

    assert ("unsupported-parameter", "response_format") in codes(asked, CONSTRAINED)


def test_tools_of_the_history_need_no_definition() -> None:
    """A turn without tools may still show the calls of earlier ones."""
    asked = request(
        model=MODEL,
        messages=[
            Message.user("Go"),
            Message.assistant(ToolCallPart("a", "gone")),
            Message.tool("a", "ok"),
        ],
    )

    sent = body(asked, OPENAI)

    assert "tools" not in sent
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "tool"]
