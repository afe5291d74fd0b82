"""Tool names that an API does not take: replaced in its requests, put back in its responses."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore import AmazonBedrock, Anthropic, Google, OpenAI
from llmcore.folds.response import collect
from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.protocol import protocol_by_id
from llmcore.protocols.tools import STRICTEST, ToolNameRule, fit_tool_names
from llmcore.routes.auth import Auth
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.content import ToolCallPart
from llmcore.schema.events import ToolCall, ToolInputStart
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import ToolChoice, ToolDefinition
from tests.support.wire import chat, gemini
from tests.support.wire.prepared import prepare

TOOL_NAMES = {id_: protocol_by_id(id_).tool_names for id_ in PROTOCOL_IDS}

DOCUMENTED = {
    "openai-chat": r"[a-zA-Z0-9_-]{1,64}",
    "openai-responses": r"[a-zA-Z0-9_-]{1,64}",
    "anthropic-messages": r"[a-zA-Z0-9_-]{1,64}",
    "gemini": r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
    "bedrock-converse": r"[a-zA-Z0-9_-]{1,64}",
    "any": r"[a-zA-Z][a-zA-Z0-9_]{0,63}",
}
RULES = {
    name: (rule, DOCUMENTED.get(name, f"[{rule.first}][{rule.rest}]*"))
    for name, rule in {**TOOL_NAMES, "any": STRICTEST}.items()
}
"""The library's rules, and the expressions that documents state."""

NAMES = [
    "a.b",
    "a/b",
    "a_b",
    "a b",
    "ümlaut",
    "9lives",
    "x" * 200,
    "x" * 201,
    "functions",
    "-",
]

rules = pytest.mark.parametrize(("rule", "pattern"), RULES.values(), ids=RULES)


def asking(*names: str, **fields: Any) -> LLMRequest:
    """Return a request that offers tools called *names*."""
    tools = [ToolDefinition(name) for name in names]
    return request(model=Model("m", "p"), prompt="Hello", tools=tools, **fields)


def sent_names(asked: LLMRequest, rule: ToolNameRule) -> list[str]:
    """Return the names of the tools as an API of *rule* gets them."""
    return [getattr(tool, "name", "") for tool in fit_tool_names(asked, rule).request.tools]


@rules
def test_every_name_becomes_one_that_the_api_takes(rule: ToolNameRule, pattern: str) -> None:
    """No two become one, whatever their order, and each has its way back."""
    asked = asking(*NAMES)
    fitted = fit_tool_names(asked, rule)
    sent = sent_names(asked, rule)

    assert all(re.fullmatch(pattern, name) for name in sent)
    assert len(set(sent)) == len(NAMES)
    assert [fitted.originals.get(name, name) for name in sent] == NAMES
    assert sent_names(asking(*reversed(NAMES)), rule) == sent[::-1]


@rules
@given(names=st.lists(st.text(min_size=1, max_size=80).filter(str.strip), max_size=6, unique=True))
def test_any_names_are_replaced_without_collisions(
    rule: ToolNameRule, pattern: str, names: list[str]
) -> None:
    """Twice with the same result, and each changed name is reported once."""
    asked = asking(*names)
    fitted = fit_tool_names(asked, rule)
    sent = sent_names(asked, rule)

    assert fitted == fit_tool_names(asked, rule)
    assert all(re.fullmatch(pattern, name) for name in sent)
    assert len(set(sent)) == len(names)
    changed = {new: old for old, new in zip(names, sent, strict=True) if old != new}
    assert fitted.originals == changed
    assert [note.code for note in fitted.diagnostics] == ["tool-name-changed"] * len(changed)


def test_good_names_leave_the_request_as_it_is() -> None:
    """The very same value: nothing is copied."""
    asked = asking("get_weather", "search", tool_choice=ToolChoice.named("search"))

    for rule, _ in RULES.values():
        assert fit_tool_names(asked, rule).request is asked


def test_a_replacement_depends_on_the_name_alone_unless_two_would_become_one() -> None:
    """So that another tool does not change what caches hold."""
    assert sent_names(asking("a.b"), TOOL_NAMES["openai-chat"]) == ["a_b"]
    assert sent_names(asking("a.b", "c"), TOOL_NAMES["openai-chat"]) == ["a_b", "c"]
    one, other = sent_names(asking("a.b", "a_b"), TOOL_NAMES["openai-chat"])
    assert one.startswith("a_b_")
    assert other == "a_b"


def test_choice_and_history_name_tools_alike() -> None:
    """Calls and results of a tool that is not offered any more have a legal name too."""
    asked = request(
        model=Model("m", "p"),
        messages=[
            Message.user("Hello"),
            Message.assistant(ToolCallPart("c1", "a.b"), ToolCallPart("c2", "old.one")),
            Message.tool("c1", "x", name="a.b"),
            Message.tool("c2", "x", name="old.one"),
            Message.assistant(ToolCallPart("c3", "web.search", provider_executed=True)),
        ],
        tools=[ToolDefinition("a.b")],
        tool_choice=ToolChoice.named("a.b"),
    )
    fitted = fit_tool_names(asked, TOOL_NAMES["openai-chat"])
    names = [getattr(part, "name", "") for m in fitted.request.messages for part in m.content]

    assert names == ["", "a_b", "old_one", "a_b", "old_one", "web.search"]
    assert fitted.request.tool_choice == ToolChoice.named("a_b")
    assert [note.path for note in fitted.diagnostics] == [
        "tools[0].name",
        "messages[1].content[1].name",
    ]


MODELS = {
    "openai-chat": lambda: OpenAI.configure(auth=Auth.none()).chat("gpt-5.2"),
    "openai-responses": lambda: OpenAI.configure(auth=Auth.none()).responses("gpt-5.2"),
    "anthropic": lambda: Anthropic.configure(auth=Auth.none()).model("claude-sonnet-4-5"),
    "gemini": lambda: Google.configure(auth=Auth.none()).model("gemini-3-flash-preview"),
    "bedrock": lambda: AmazonBedrock.configure(auth=Auth.none(), region="us-east-1").model("m"),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_replaced_tool_names_are_sent_and_reported(model: Any) -> None:
    """Also with `strict`, since nothing is lost."""
    asked = request(model=model(), prompt="Hi", tools=[ToolDefinition("get/weather")], strict=True)

    prepared = prepare(asked)

    assert b'"name":"get_weather"' in prepared.http.body
    assert b"get/weather" not in prepared.http.body
    assert [note.code for note in prepared.diagnostics] == ["tool-name-changed"]


@pytest.mark.parametrize("streaming", [True, False])
def test_answers_name_the_tool_as_the_caller_does(streaming: bool) -> None:
    """In every event and in the response, from an API that sends pieces of a call."""
    call = chat.call(id="c1", type="function", name="get_weather", arguments="{}")
    body = (
        chat.sse(chat.calls_chunks({"index": 0, **call}))
        if streaming
        else json.dumps(chat.completion({"tool_calls": [call]}, "tool_calls")).encode()
    )
    events = decode_response(
        OpenAI.configure(auth=Auth.none()).chat_route.protocol,
        Framing.sse(),
        asking("get/weather"),
        status=200,
        headers={"content-type": "text/event-stream" if streaming else "application/json"},
        chunks=[body],
        streaming=streaming,
    )

    names = {event.name for event in events if isinstance(event, ToolInputStart | ToolCall)}
    assert names == {"get/weather"}
    assert collect(events).unwrap().tool_calls[0].name == "get/weather"


def test_whole_calls_are_named_as_the_caller_does() -> None:
    """From an API that sends a call in one piece."""
    asked = asking("get/weather")
    (call,) = [
        event
        for event in gemini.streamed([gemini.chunk(gemini.call("get_weather"))], asked=asked)
        if isinstance(event, ToolCall)
    ]

    assert call.name == "get/weather"
