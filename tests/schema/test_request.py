"""Requests, and what is convenient to write for them."""

import re
from typing import Any, NoReturn

import pytest
from attrs import evolve
from hypothesis import given

from llmcore.schema.content import ImagePart, TextPart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import (
    CachePolicy,
    GenerationOptions,
    HttpOverlay,
    ReasoningOptions,
    ResponseFormat,
)
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition
from tests.support.strategies.values import requests

# -- request(...)


def test_a_prompt_is_one_user_message() -> None:
    """The shortest request there is."""
    assert request(model="m", prompt="hi") == LLMRequest(model="m", messages=(Message.user("hi"),))


def test_words_stand_for_the_commonest_values() -> None:
    """Each is the value that it names."""
    asked = request(
        prompt="hi", tool_choice="required", response_format="json", reasoning="high", cache="off"
    )

    assert asked.tool_choice == ToolChoice.required()
    assert asked.response_format == ResponseFormat.json()
    assert asked.reasoning == ReasoningOptions(effort="high")
    assert asked.cache == CachePolicy(mode="off")


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        ({"tool_choice": "get_weather"}, "ToolChoice.named('get_weather')"),
        ({"response_format": "json_schema"}, "'text', 'json'"),
        ({"cache": "never"}, "'auto', 'manual', 'off'"),
        ({"cache": False}, 'cache is a bool; give "auto", "manual", "off", or CachePolicy'),
        ({"reasoning": "off"}, "write 'none' in place of 'off'"),
        ({"reasoning_effort": "disabled"}, "write 'none' in place of 'disabled'"),
        ({"reasoning": {"effort": "low"}}, "or ReasoningOptions(effort=..., budget_tokens=..."),
        ({"generation": {}}, "generation is a dict; give GenerationOptions(...)"),
        ({"http": {}}, "http is a dict; give HttpOverlay(...)"),
        (
            {"system": [{"type": "text", "text": "Be brief."}]},
            "or for a cached prefix system=[cached('...')]; got a dict",
        ),
    ],
)
def test_other_words_are_refused_with_what_to_write(given: Any, instead: str) -> None:
    """A name of a tool is not taken for a mode."""
    with pytest.raises(InvalidRequestError, match=re.escape(instead)):
        request(prompt="hi", **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prompt": ""}, "the prompt is empty: give a text, or messages=[...]"),
        ({"prompt": []}, "the prompt is empty: give a text, or messages=[...]"),
        (
            {"prompt": Message.user("Hi")},
            "prompt is a Message: give text, or the whole as messages",
        ),
        (
            {"prompt": {"role": "user", "content": "Hi"}},
            "prompt is a dict: give text, or the whole",
        ),
        ({"messages": []}, "messages is empty: give at least one message, such as Message.user"),
        ({"messages": (), "cache": "off"}, "messages is empty"),
    ],
)
def test_a_request_without_input_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=re.escape(message)):
        request(model="m", **given)


@pytest.mark.parametrize(
    "given",
    [
        {"system": "Be brief."},
        {"provider_options": {"openai": {"previous_response_id": "resp_1"}}},
        {"http": HttpOverlay(body={"prompt": {"id": "pmpt_1"}})},
    ],
)
def test_messages_may_be_empty_where_the_input_is_elsewhere(given: dict[str, Any]) -> None:
    """With a stored conversation or prompt, or with a system text alone."""
    assert request(model="m", messages=[], **given).messages == ()


def test_request_takes_all_arguments_at_once() -> None:
    """Loose arguments land where they belong."""
    tool = ToolDefinition("f")
    made = request(
        model=Model("m", "acme"),
        messages=[Message.user("hi")],
        system="Be brief.",
        tools=[tool],
        tool_choice=ToolChoice.required(),
        parallel_tool_calls=False,
        temperature=0.0,
        top_p=0.5,
        max_tokens=10,
        stop="END",
        reasoning_effort="low",
        metadata={"trace": "1"},
        provider_options={"acme": {"x": 1}},
        http=HttpOverlay(query={"a": "b"}),
        strict=True,
    )

    assert made == LLMRequest(
        model=Model("m", "acme"),
        messages=(Message.user("hi"),),
        system=(TextPart("Be brief."),),
        tools=(tool,),
        tool_choice=ToolChoice.required(),
        parallel_tool_calls=False,
        generation=GenerationOptions(temperature=0.0, top_p=0.5, max_tokens=10, stop=("END",)),
        reasoning=ReasoningOptions(effort="low"),
        metadata={"trace": "1"},
        provider_options={"acme": {"x": 1}},
        http=HttpOverlay(query={"a": "b"}),
        strict=True,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "there is no input: give either prompt or messages"),
        ({"prompt": "hi", "messages": []}, "both are given: give either prompt or messages"),
        (
            {"prompt": "hi", "temperature": 0, "generation": GenerationOptions()},
            "temperature and generation",
        ),
        (
            {"prompt": "hi", "max_tokens": 1, "stop": "x", "generation": GenerationOptions()},
            "max_tokens, stop and generation",
        ),
        (
            {"prompt": "hi", "reasoning_effort": "low", "reasoning": ReasoningOptions()},
            "either reasoning_effort or reasoning",
        ),
    ],
)
def test_two_values_for_one_setting_are_refused(arguments: dict[str, Any], message: str) -> None:
    """Two values for one setting are an error, not a matter of chance."""
    with pytest.raises(InvalidRequestError, match=message):
        request(model="m", **arguments)


# -- LLMRequest


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("messages", ["hi"], "messages must be Message values, .* got a str"),
        (
            "messages",
            [Message.user("hi"), {"role": "nobody", "content": "hi"}],
            r"^messages\[1\]: role 'nobody' is not one of",
        ),
        ("system", {"role": "system"}, "system must be text; got a dict"),
        ("system", [ImagePart(path="a.png")], "system must be text; got an ImagePart"),
        ("tools", [{"name": "f"}], r"^tools\[0\]: a tool given as a dict must be"),
        ("tools", [print], "got a builtin_function_or_method"),
        ("metadata", {"a": 1}, "metadata must map strings to strings; got an int"),
        ("metadata", {1: "a"}, "metadata must map strings to strings; got an int"),
        ("provider_options", {"acme": 5}, r"provider_options\['acme'\] must be an object"),
        ("provider_options", {"acme": {"x": float("inf")}}, "x is inf"),
        ("model", None, "model is None; give a Model, or its id"),
        ("tool_choice", "auto", r"tool_choice is a str; give .* ToolChoice.auto\(\)"),
        ("response_format", {"type": "json"}, "response_format is a dict; give a ResponseFormat"),
        ("reasoning", "high", "reasoning is a str; give ReasoningOptions"),
        ("generation", None, "generation is None; give GenerationOptions"),
        ("http", {"headers": {}}, "http is a dict; give HttpOverlay"),
    ],
)
def test_what_is_not_a_value_is_refused(field: str, value: Any, message: str) -> None:
    """A dict in place of a Message is refused at once, not inside a protocol."""
    with pytest.raises(InvalidRequestError, match=message):
        LLMRequest(**{"model": "m", "messages": (), field: value})


def test_one_message_is_a_list_of_one() -> None:
    """Forgetting the brackets does no harm."""
    one: Any = Message.user("hi")

    assert LLMRequest(model="m", messages=one).messages == (one,)


@pytest.mark.parametrize(
    ("system", "parts"),
    [
        (None, ()),
        ("a", (TextPart("a"),)),
        (TextPart("a"), (TextPart("a"),)),
        (["a", TextPart("b")], (TextPart("a"), TextPart("b"))),
    ],
)
def test_system_text_may_be_text_a_part_or_a_list(system: Any, parts: tuple[TextPart, ...]) -> None:
    """System text comes as text, a part, or a list of both."""
    assert LLMRequest(model="m", messages=(), system=system).system == parts


@pytest.mark.parametrize(
    "tools",
    [
        [ToolDefinition("f"), ToolDefinition("f", "another")],
        [ToolDefinition("f"), CustomTool("f")],
    ],
)
def test_two_tools_of_one_name_are_refused(tools: Any) -> None:
    """Nobody could tell whose call it is."""
    with pytest.raises(InvalidRequestError, match="two tools have the same name: f"):
        LLMRequest(model="m", messages=(), tools=tools)


def test_one_tool_in_the_place_of_the_list_is_refused_with_what_to_write() -> None:
    tool: Any = ToolDefinition("f")

    with pytest.raises(InvalidRequestError, match=r"not a ToolDefinition: write tools=\[\.\.\.\]"):
        request(model="m", prompt="Hi", tools=tool)


def test_hosted_tools_have_no_names_to_clash() -> None:
    """Two of a kind are the provider's business."""
    tools = (HostedTool.web_search(), HostedTool.web_search(max_uses=1))

    assert LLMRequest(model="m", messages=(), tools=tools).tools == tools


@pytest.mark.parametrize(
    ("model", "provider", "ids"),
    [
        ("m", None, ("m", "")),
        ("m", "acme", ("m", "acme")),
        (Model("m", "acme"), None, ("m", "acme")),
        (Model("m", "acme"), "umbrella", ("m", "acme")),
    ],
)
def test_the_ids_of_a_model(model: Any, provider: str | None, ids: tuple[str, str]) -> None:
    """A configured model knows its provider; a string needs to be told."""
    made = LLMRequest(model=model, messages=(), provider=provider)

    assert (made.model_id, made.provider_id) == ids


def test_options_for_several_names_of_a_provider() -> None:
    """Later names win, and unknown ones are ignored."""
    made = LLMRequest(
        model="m",
        messages=(),
        provider_options={"chat": {"a": 1, "b": 1}, "acme": {"b": 2}},
    )

    assert made.options_for("chat", "acme") == {"a": 1, "b": 2}
    assert made.options_for("acme", "chat") == {"a": 1, "b": 1}
    assert made.options_for("umbrella") == {}


def test_a_request_shares_nothing_with_what_it_was_built_from() -> None:
    """Later changes of lists and dicts do not change the request."""
    messages, tools = [Message.user("hi")], [ToolDefinition("f")]
    metadata, stop = {"a": "b"}, ["END"]
    options: dict[str, Any] = {"acme": {"deep": [1]}}
    made = request(
        model="m",
        messages=messages,
        tools=tools,
        metadata=metadata,
        stop=stop,
        provider_options=options,
    )

    for mutable in (messages, tools, metadata, stop, options["acme"]["deep"], options):
        mutable.clear()

    assert made == request(
        model="m",
        messages=[Message.user("hi")],
        tools=[ToolDefinition("f")],
        metadata={"a": "b"},
        stop=["END"],
        provider_options={"acme": {"deep": [1]}},
    )


@given(requests())
def test_evolve_without_changes_returns_an_equal_request(made: LLMRequest) -> None:
    """`evolve` runs every field through its converter again."""
    assert evolve(made) == made


def test_evolved_request_is_checked_like_a_new_one() -> None:
    """A changed request is as sound as a new one."""
    made = request(model="m", prompt="hi", cache=CachePolicy(mode="off"))

    assert evolve(made, system="Be brief.").system == (TextPart("Be brief."),)
    with pytest.raises(InvalidRequestError):
        evolve(made, tools=[ToolDefinition("f"), ToolDefinition("f")])


class Unread(str):
    """A text that must not be read character by character."""

    __slots__ = ()

    def __iter__(self) -> NoReturn:
        raise AssertionError("the characters are iterated over")


def test_a_prompt_is_checked_without_a_look_at_each_character() -> None:
    made = request(model=Model("m", "acme"), prompt=Unread("Hi"))

    assert made.messages[0].text == "Hi"
