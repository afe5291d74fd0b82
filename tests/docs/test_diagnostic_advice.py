"""The advice of the pages of diagnostic codes: a request that follows it has no such diagnostic."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import field, frozen

from llmcore import Client, DocumentPart, Message, ToolChoice, ToolDefinition, request
from llmcore.client.middleware.context import trimmed
from llmcore.schema.content import ToolCallPart, ToolResultPart, cached
from llmcore.schema.options import ReasoningOptions, ResponseFormat
from llmcore.schema.tools import CustomTool, HostedTool

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY")
CLIENT = Client.from_env(
    environ={**dict.fromkeys(KEYS, "k"), "AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_REGION": "us-east-1"}
)
CLAUDE = "anthropic:claude-sonnet-4-5"
GPT = "openai:gpt-5.2"
GEMINI = "google:gemini-3-flash-preview"
NOVA = "bedrock:amazon.nova-pro-v1:0"
MISTRAL = "mistral:mistral-large-latest"
TEXT = {"type": "string"}


@frozen
class Advice:
    """A request that has a diagnostic, and what its page says to change."""

    code: str
    model: str
    reported: Mapping[str, Any]
    advised: Mapping[str, Any]
    other_model: str = field(default="", kw_only=True)


def _asked(*messages: Message, **settings: Any) -> Mapping[str, Any]:
    return {"messages": messages, **settings}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _with_tool(schema: Any) -> Mapping[str, Any]:
    return {"prompt": "Hi", "tools": [ToolDefinition("look", "Look.", schema)]}


def _with_format(schema: Any) -> Mapping[str, Any]:
    return {"prompt": "Hi", "response_format": ResponseFormat.json_schema(schema)}


def _with(**settings: Any) -> Mapping[str, Any]:
    return {"prompt": "Hi", **settings}


def _kind(name: str) -> dict[str, Any]:
    return {**_object(kind={"const": name}), "required": ["kind"]}


_PDF = DocumentPart(data=b"%PDF-1.7", media_type="application/pdf")
_CALLED = Message.assistant(ToolCallPart("c1", "look", {}))
_Q = Message.user("Hi")
_LOOK = ToolDefinition("look", "Look.", _object())
_EITHER = {"oneOf": [_kind("a"), _kind("b")]}
_NESTED = _object(child={"$ref": "#/$defs/node"})
_WIDE = {
    f"n{level}": _object(**{f"p{i}": {"$ref": f"#/$defs/n{level + 1}"} for i in range(8)})
    for level in range(8)
}

ADVICE = [
    Advice(
        "cache-breakpoint-dropped",
        CLAUDE,
        _asked(Message.user(*map(cached, "abcdef"))),
        _asked(Message.user(*map(cached, "abcd"))),
    ),
    Advice(
        "cache-breakpoint-moved",
        NOVA,
        _asked(Message.user("Read.", cached(_PDF))),
        _asked(Message.user(cached("Read."), _PDF)),
    ),
    Advice(
        "cache-ttl-shortened",
        CLAUDE,
        _asked(Message.user(cached("a"), cached("b", ttl="1h"))),
        _asked(Message.user(cached("a", ttl="1h"), cached("b"))),
    ),
    Advice(
        "cached-content",
        GEMINI,
        _with(system="Be brief.", provider_options={"google": {"cachedContent": "c/1"}}),
        _with(provider_options={"google": {"cachedContent": "c/1"}}),
    ),
    Advice(
        "context-window-exceeded",
        GPT,
        _asked(*[Message.user("word " * 100_000)] * 6),
        {"messages": trimmed([Message.user("word " * 100_000)] * 6, max_tokens=300_000)},
    ),
    Advice(
        "custom-tool-as-function",
        CLAUDE,
        _with(tools=[CustomTool("look")]),
        _with(tools=[CustomTool("look")]),
        other_model=GPT,
    ),
    Advice(
        "document-text-added",
        NOVA,
        _asked(Message.user(_PDF)),
        _asked(Message.user("Read.", _PDF)),
    ),
    Advice("empty-message", GPT, _asked(_Q, Message.assistant(""), _Q), _asked(_Q, _Q)),
    Advice("empty-text", GPT, _asked(Message.user("Hi", "")), _asked(_Q)),
    Advice("first-message-added", GEMINI, _asked(Message.assistant("Hi"), _Q), _asked(_Q)),
    Advice(
        "last-message-added",
        "anthropic:claude-opus-4-6",
        _asked(_Q, Message.assistant("Once")),
        _asked(_Q, Message.assistant("Once"), Message.user("Go on.")),
    ),
    Advice("lone-surrogates-replaced", GPT, _with(system="\ud83d"), _with(system="🙂")),
    Advice("parameter-out-of-range", NOVA, _with(temperature=1.7), _with(temperature=1)),
    Advice(
        "reasoning-budget-changed",
        CLAUDE,
        _with(reasoning=ReasoningOptions(budget_tokens=5000), max_tokens=4000),
        _with(reasoning=ReasoningOptions(budget_tokens=5000), max_tokens=9000),
    ),
    Advice(
        "reasoning-effort-changed",
        GPT,
        _with(reasoning="minimal"),
        _with(reasoning="low"),
    ),
    Advice(
        "reasoning-effort-changed",
        CLAUDE,
        _with(reasoning="high"),
        _with(reasoning=ReasoningOptions(budget_tokens=16_384)),
    ),
    Advice(
        "reasoning-not-off",
        GEMINI,
        _with(reasoning="none"),
        _with(reasoning="none"),
        other_model="google:gemini-2.5-flash",
    ),
    Advice(
        "schema-keyword-described",
        GPT,
        _with_format(_object(a={**TEXT, "minLength": 3})),
        _with_format(_object(a=TEXT)),
    ),
    Advice(
        "schema-keyword-dropped",
        GPT,
        _with_format({**_object(a=TEXT), "required": ["a"], "$comment": "x"}),
        _with_format({**_object(a=TEXT), "required": ["a"]}),
    ),
    Advice(
        "schema-not-strict",
        GPT,
        _with_format(_object(a={"type": "object", "additionalProperties": TEXT})),
        _with_format(_object(a={"type": "array", "items": _object(key=TEXT, value=TEXT)})),
    ),
    Advice(
        "schema-one-of-loosened",
        GPT,
        _with_format(_object(a=_EITHER)),
        _with_format(_object(a={**_EITHER, "discriminator": {"propertyName": "kind"}})),
    ),
    Advice(
        "schema-optional-as-null",
        GPT,
        _with_format(_object(a=TEXT)),
        _with_format({**_object(a=TEXT), "required": ["a"]}),
    ),
    Advice(
        "schema-recursion-cut",
        NOVA,
        _with_tool({**_NESTED, "$defs": {"node": _NESTED}}),
        _with_tool({**_NESTED, "$defs": {"node": _object(child=_object())}}),
    ),
    Advice(
        "schema-reference-unresolved",
        NOVA,
        _with_tool(_NESTED),
        _with_tool({**_NESTED, "$defs": {"node": TEXT}}),
    ),
    Advice(
        "schema-root-union-merged",
        GPT,
        _with_tool({"type": "object", "anyOf": [_kind("a"), _kind("b")]}),
        _with_tool(_object(it={"anyOf": [_kind("a"), _kind("b")]})),
    ),
    Advice(
        "schema-too-large",
        NOVA,
        _with_tool({**_object(a={"$ref": "#/$defs/n0"}), "$defs": {**_WIDE, "n8": TEXT}}),
        _with_tool({**_object(a={"$ref": "#/$defs/n6"}), "$defs": {**_WIDE, "n8": TEXT}}),
    ),
    Advice(
        "speaker-names-dropped",
        CLAUDE,
        _asked(*(Message("user", "Hi", name=name) for name in ("Ann", "Bo"))),
        _asked(*(Message.user(f"{name}: Hi") for name in ("Ann", "Bo"))),
    ),
    Advice(
        "system-message-demoted",
        CLAUDE,
        _asked(_Q, Message.assistant("Hi"), Message.system("Be brief."), _Q),
        _asked(_Q, Message.assistant("Hi"), _Q, system="Be brief."),
    ),
    Advice(
        "tool-result-missing",
        GPT,
        _asked(_Q, _CALLED, _Q, tools=[_LOOK]),
        _asked(_Q, _CALLED, Message.tool("c1", "x"), _Q, tools=[_LOOK]),
    ),
    Advice(
        "tool-result-moved",
        GPT,
        _asked(_Q, _CALLED, _Q, Message.tool("c1", "x"), tools=[_LOOK]),
        _asked(_Q, _CALLED, Message.tool("c1", "x"), _Q, tools=[_LOOK]),
    ),
    Advice(
        "tool-result-renamed",
        GPT,
        _asked(_Q, _CALLED, Message("tool", [ToolResultPart("c1", "x", name="find")])),
        _asked(_Q, _CALLED, Message("tool", [ToolResultPart("c1", "x")])),
    ),
    Advice(
        "tool-result-stray",
        GPT,
        _asked(Message.tool("c1", "x"), _Q),
        _asked(_Q, _CALLED, Message.tool("c1", "x"), _Q),
    ),
    Advice(
        "tool-stub-added",
        NOVA,
        _asked(_Q, _CALLED, Message.tool("c1", "x")),
        _asked(_Q, _CALLED, Message.tool("c1", "x"), tools=[_LOOK]),
    ),
    Advice(
        "unknown-provider",
        GPT,
        _with(provider_options={"opnai": {"a": 1}}),
        _with(provider_options={"openai": {"a": 1}}),
    ),
    Advice(
        "unsupported-tool",
        MISTRAL,
        _with(tools=[HostedTool.web_search()]),
        _with(tools=[ToolDefinition("web_search", "Search.", _object(query=TEXT))]),
    ),
    Advice(
        "unsupported-parameter",
        CLAUDE,
        _with(tools=[_LOOK], tool_choice=ToolChoice.required(), reasoning="high"),
        _with(tools=[_LOOK], tool_choice=ToolChoice.required()),
    ),
]


def _codes(model: str, settings: Mapping[str, Any]) -> set[str]:
    prepared = CLIENT.prepare(request(model=model, **settings)).unwrap()
    return {diagnostic.code for diagnostic in prepared.diagnostics}


@pytest.mark.parametrize("advice", ADVICE, ids=lambda advice: f"{advice.code}-{advice.model}")
def test_a_request_that_follows_the_page_does_not_have_the_diagnostic(advice: Advice) -> None:
    assert advice.code in _codes(advice.model, advice.reported)
    assert advice.code not in _codes(advice.other_model or advice.model, advice.advised)
