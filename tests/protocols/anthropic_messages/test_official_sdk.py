"""The official `anthropic` package reads the same bytes alike, and accepts every body we build."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming
from hypothesis import given
from pydantic import BaseModel, TypeAdapter

from llmcore.protocols.anthropic_messages import protocol
from llmcore.schema.content import (
    DocumentPart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    cached,
)
from llmcore.schema.messages import Message
from llmcore.schema.options import CachePolicy, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition
from tests.support.strategies.requests import requests
from tests.support.wire.anthropic import (
    ask,
    begin,
    body,
    delta,
    end,
    message,
    sse,
    start,
    stop,
    stream_of,
    streamed,
    text,
    thinking,
    tool_use,
    whole,
)
from tests.support.wire.protocol import response

# -- answers

PAGE = {
    "type": "web_search_result",
    "url": "https://a.example/",
    "title": "A",
    "encrypted_content": "xyz",
    "page_age": None,
}
CITATION = {
    "type": "web_search_result_location",
    "cited_text": "words",
    "encrypted_index": "e",
    "title": "A",
    "url": "https://a.example/",
}
SEARCH: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [PAGE]},
]
COUNTED = {
    "input_tokens": 6,
    "cache_read_input_tokens": 20,
    "cache_creation_input_tokens": 10,
    "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 6},
    "output_tokens": 30,
    "output_tokens_details": {"thinking_tokens": 9},
}

DOCUMENTS: list[Any] = [
    message(),
    message(text("Hello, wörld! 🤔")),
    message(thinking("Hm…", "sig"), text("So."), usage=COUNTED),
    message(thinking("", "sig"), {"type": "redacted_thinking", "data": "d"}, text("x")),
    message(
        tool_use("f", {"a": [1, {"b": None}]}, id="toolu_1"),
        tool_use("g", {}, id="toolu_2"),
        stop="tool_use",
    ),
    message(*SEARCH, text("A says words.", citations=[CITATION])),
    message(*SEARCH, stop="pause_turn"),
    message(text("Once upon"), stop="max_tokens"),
    message(stop="refusal", stop_details={"type": "refusal", "category": None}),
    message(text("x"), stop="stop_sequence", stop_sequence="END"),
]


def official(events: Iterable[Mapping[str, Any]]) -> Any:
    """Return what the official client makes of a stream."""
    client = anthropic.Anthropic(
        api_key="none",
        http_client=httpx2.Client(
            transport=httpx2.MockTransport(
                lambda _: httpx2.Response(
                    200, headers={"content-type": "text/event-stream"}, content=sse(events)
                )
            )
        ),
    )
    hello: Any = [{"role": "user", "content": "Hello"}]
    with (
        client,
        client.beta.messages.stream(model="claude-opus-5", max_tokens=9, messages=hello) as stream,
    ):
        return stream.get_final_message()


def _of_type(theirs: Any, kind: str) -> list[Any]:
    return [block for block in theirs.content if block.type == kind]


def assert_alike(ours: LLMResponse, theirs: Any) -> None:
    """Assert that text, calls, stop reason and usage agree."""
    assert ours.text == "".join(block.text for block in _of_type(theirs, "text"))
    assert (ours.reasoning or "") == "".join(
        block.thinking for block in _of_type(theirs, "thinking")
    )
    assert [(c.id, c.name, c.arguments) for c in ours.tool_calls] == [
        (block.id, block.name, block.input) for block in _of_type(theirs, "tool_use")
    ]
    assert ours.finish_reason.raw == theirs.stop_reason
    assert ours.usage is not None
    usage = theirs.usage
    read, write = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    assert ours.usage.input_tokens == usage.input_tokens + read + write
    assert ours.usage.output_tokens == usage.output_tokens
    assert (ours.id, ours.model) == (theirs.id, theirs.model)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document["content"])[:50])
def test_streams_are_read_alike(document: Any) -> None:
    """The official accumulator and ours agree, streamed and whole."""
    events = stream_of(document)

    theirs = official(events)

    assert_alike(response(streamed(events)), theirs)
    assert_alike(response(whole(document)), theirs)


def test_odd_streams_are_read_alike() -> None:
    """A repeated start, text at a block's start, a late count: the same answer."""
    events = [
        begin(),
        begin(),
        start(0, **text("He")),
        delta(0, "text_delta", text="llo"),
        stop(0),
        *end(usage={"input_tokens": 40, "output_tokens": 3}),
    ]

    assert_alike(response(streamed(events)), official(events))


# -- bodies

PARAMS = TypeAdapter(MessageCreateParamsNonStreaming)


def as_official(sent: dict[str, Any]) -> Any:
    """Return *sent* as the official types read it: what they do not know is gone."""
    return _plain(PARAMS.validate_python(sent))


def _plain(value: Any) -> Any:
    """Return *value* as JSON data; pydantic checks lists only when they are read."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return value
    return [_plain(item) for item in value]


def without_schemas(value: Any) -> Any:
    """Return *value* without JSON Schemas, which the official types read in two ways."""
    if isinstance(value, Mapping):
        return {
            name: without_schemas(item)
            for name, item in value.items()
            if name not in ("input_schema", "schema")
        }
    return [without_schemas(item) for item in value] if isinstance(value, list) else value


LOOK = ToolDefinition("look", "Looks.", {"type": "object", "properties": {"at": {}}}, cache="1h")
PNG = b"\x89PNG\r\n\x1a\n0000"
TALK = [
    Message.user(
        "Look:",
        ImagePart(data=PNG),
        ImagePart(url="https://a.example/b.png"),
        DocumentPart(data=b"%PDF-1.7", title="T", context="C", citations=True),
        DocumentPart(data=b"plain", media_type="text/plain"),
        DocumentPart(url="https://a.example/b.pdf"),
        DocumentPart(file_id="file_1"),
    ),
    Message.assistant(
        ReasoningPart("Hm", signature="sig"),
        ReasoningPart("", encrypted="data"),
        "Let me see.",
        ToolCallPart("toolu_1", "look", {"at": 1}),
    ),
    Message.tool("toolu_1", (TextPart("seen"), ImagePart(data=PNG)), is_error=True),
]
HOSTED = [
    HostedTool.web_search(max_uses=2, user_location={"city": "Rome"}),
    HostedTool.web_fetch(),
    HostedTool.code_execution(),
    HostedTool.computer_use(display_width=8, display_height=6),
    HostedTool.shell(),
    HostedTool.text_editor(),
    HostedTool.memory(),
    HostedTool.tool_search(),
    HostedTool.mcp(server_label="docs", server_url="https://mcp.example/"),
]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}

SAMPLING = {"temperature", "top_p", "top_k"}
"""Left out of the package's types since its models of today refuse them; older models do not."""

ASKS: list[LLMRequest] = [
    ask(),
    ask(system=["a", cached(TextPart("b"), ttl="1h")], messages=TALK, tools=[LOOK]),
    ask(tools=[LOOK, CustomTool("patch")], tool_choice=ToolChoice.none()),
    ask(tools=[LOOK], tool_choice=ToolChoice.named("look"), parallel_tool_calls=False),
    ask(tools=HOSTED, messages=[Message.user("x")]),
    ask("claude-opus-5-5", tools=HOSTED),
    ask(reasoning=ReasoningOptions(budget_tokens=2000)),
    ask("claude-opus-5", reasoning_effort="max", metadata={"user_id": "u"}),
    ask("claude-sonnet-5-5", reasoning_effort="none"),
    ask(temperature=0.5, stop=["END"], cache=CachePolicy(mode="off")),
    ask(response_format=ResponseFormat.json_schema(SCHEMA)),
    ask("claude-sonnet-4-0", response_format=ResponseFormat.json_schema(SCHEMA)),
    ask("claude-opus-4-8", messages=[Message.user("a"), Message.system("b")]),
    *(
        ask(messages=[Message.user("a"), response(whole(d)).message, Message.user("b")])
        for d in DOCUMENTS
    ),
    ask(
        provider_options={
            "anthropic": {
                "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
                "service_tier": "auto",
                "container": {"id": "c"},
            }
        }
    ),
]


@pytest.mark.parametrize("asked", ASKS, ids=lambda asked: f"{asked.model_id}-{len(asked.tools)}")
def test_bodies_are_accepted(asked: LLMRequest) -> None:
    """The official request types know every field of every body."""
    sent = json.loads(json.dumps(body(asked)))

    known = {name: value for name, value in sent.items() if name not in SAMPLING}
    assert without_schemas(as_official(sent)) == without_schemas(known)


@given(requests())
def test_any_body_is_accepted(asked: LLMRequest) -> None:
    """So it is for any request at all."""
    built = protocol.body.build(asked, False)
    if isinstance(built, Success):
        as_official(dict(protocol.body.to_json(built.unwrap().body)))
