"""The official `anthropic` package reads the same bytes alike, and accepts every body we build."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from llmcore.protocols.anthropic_messages import protocol
from llmcore.schema.content import (
    DocumentPart,
    ImagePart,
    ProviderPart,
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
from tests.support.strategies.requests import json_objects, requests, texts
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
from tests.support.wire.protocol import pieces, response

# -- responses

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
    """A repeated start, text at a block's start, a late count: the same response."""
    events = [
        begin(),
        begin(),
        start(0, **text("He")),
        delta(0, "text_delta", text="llo"),
        stop(0),
        *end(usage={"input_tokens": 40, "output_tokens": 3}),
    ]

    assert_alike(response(streamed(events)), official(events))


@pytest.mark.parametrize("late", [True, False])
def test_blocks_stand_in_the_order_in_which_they_start(late: bool) -> None:
    """Also those that come whole, where their stops come late or not at all."""
    document = message(
        *SEARCH, text("A says"), {"type": "dream", "sheep": 1}, text("words."), *SEARCH[1:]
    )
    events = stream_of(document)
    begun = [event for event in events if event["type"] != "content_block_stop"]
    stops = [event for event in events if event["type"] == "content_block_stop"]

    got = response(streamed([*begun[:-2], *(stops if late else []), *begun[-2:]]))

    assert got.message == response(whole(document)).message


# -- streams by the grammar of the official accumulator


_TEXTS = texts()
_RESULTS: list[dict[str, Any]] = [
    {"type": "redacted_thinking", "data": "d"},
    SEARCH[1],
    {"type": "container_upload", "file_id": "file_1"},
    {"type": "compaction", "content": "c", "encrypted_content": "e"},
    {
        "type": "fallback",
        "from": {"model": "claude-opus-5"},
        "to": {"model": "claude-sonnet-5"},
        "trigger": {"type": "refusal"},
    },
]
"""Blocks that come whole."""


@st.composite
def started_blocks(draw: st.DrawFn, number: int) -> dict[str, Any]:
    """Draw a block at its beginning, which may hold any part of its content, or all."""
    match draw(st.sampled_from(["text", "thinking", "tool_use", "server_tool_use", "whole"])):
        case "text":
            cited: list[dict[str, Any]] = [{}, {"citations": None}, {"citations": [CITATION]}]
            return text(draw(_TEXTS), **draw(st.sampled_from(cited)))
        case "thinking":
            return thinking(draw(_TEXTS), draw(_TEXTS))
        case "whole":
            return dict(draw(st.sampled_from(_RESULTS)))
        case kind:
            caller = {"type": "code_execution_20260120", "tool_id": "srv_1"}
            more = draw(st.sampled_from([{}, {"caller": caller}]))
            name = "web_search" if kind == "server_tool_use" else f"f{number}"
            call = tool_use(name, draw(json_objects()), id=f"id_{number}", **more)
            return {**call, "type": kind}


@st.composite
def block_deltas(draw: st.DrawFn, index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Draw the deltas of a block, and now and then one that does not fit it."""
    stray = st.sampled_from(
        [("text_delta", {"text": "x"}), ("thinking_delta", {"thinking": "x"}),
         ("signature_delta", {"signature": "x"}), ("citations_delta", {"citation": CITATION})]
    )  # fmt: skip
    fitting: dict[str, list[st.SearchStrategy[Any]]] = {
        "text": [
            _TEXTS.map(lambda said: ("text_delta", {"text": said})),
            st.just(("citations_delta", {"citation": CITATION})),
        ],
        "thinking": [
            _TEXTS.map(lambda said: ("thinking_delta", {"thinking": said})),
            texts(1).map(lambda said: ("signature_delta", {"signature": said})),
        ],
    }
    kind = block["type"]
    if kind.endswith("tool_use"):
        written = draw(json_objects().map(json.dumps) | st.just(""))
        parts = ["", *pieces(written, draw(st.integers(1, 9)))]
        return [delta(index, "input_json_delta", partial_json=part) for part in parts]
    if kind not in fitting:
        return []
    drawn = draw(st.lists(st.one_of(*fitting[kind]), max_size=4))
    if draw(st.booleans()):
        drawn.append(draw(stray))
    return [delta(index, name, **fields) for name, fields in drawn]


_USAGES = st.fixed_dictionaries(
    {"output_tokens": st.integers(0, 99)},
    optional={
        "input_tokens": st.none() | st.integers(1, 99),
        "cache_read_input_tokens": st.none() | st.integers(1, 99),
        "cache_creation_input_tokens": st.none() | st.integers(1, 99),
        "output_tokens_details": st.none() | st.just({"thinking_tokens": 3}),
    },
)
_NEWS = st.fixed_dictionaries(
    {},
    optional={
        "container": st.just({"id": "c", "expires_at": "2026-01-01T00:00:00Z"}),
        "stop_sequence": st.sampled_from([None, "END"]),
        "stop_details": st.none(),
    },
)


@st.composite
def sdk_streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw a stream by the rules of `accumulate_event`, not only as documents show one.

    The message of `message_start` is taken as it is: it may hold blocks, complete or to be
    continued, and the stop reason; `message_delta` may then be missing. Blocks may be
    interleaved, and their stops may be missing.
    """
    reasons = st.sampled_from(["end_turn", "tool_use", "max_tokens", "stop_sequence"])
    given_blocks = [draw(started_blocks(n)) for n in range(draw(st.integers(0, 3)))]
    given_reason = draw(st.none() | reasons)
    first = begin(stop=given_reason, content=given_blocks, **draw(_NEWS))
    pending = [(n, draw(block_deltas(n, block))) for n, block in enumerate(given_blocks)]
    events = [first]
    for number in range(len(given_blocks), len(given_blocks) + draw(st.integers(0, 3))):
        block = draw(started_blocks(number))
        events.append(start(number, **block))
        if block["type"] in _STREAMED:
            pending.append((number, draw(block_deltas(number, block))))
        else:
            events.append(stop(number))
        if draw(st.booleans()):
            events += _closed(draw, pending)
            pending = []
    events += _closed(draw, pending)
    changes = draw(st.integers(0 if given_reason else 1, 2))
    for _ in range(changes):
        said = {"stop_reason": draw(reasons), **draw(_NEWS)}
        events.append({"type": "message_delta", "delta": said, "usage": draw(_USAGES)})
    return [*events, {"type": "message_stop"}]


_STREAMED = frozenset({"text", "thinking", "tool_use", "server_tool_use"})


def _closed(draw: st.DrawFn, pending: list[tuple[int, list[Any]]]) -> list[dict[str, Any]]:
    """Return the deltas of several blocks, interleaved but each in order, and most stops."""
    queues = [(index, list(deltas)) for index, deltas in pending]
    events: list[dict[str, Any]] = []
    while any(deltas for _, deltas in queues):
        _, deltas = draw(st.sampled_from([queue for queue in queues if queue[1]]))
        events.append(deltas.pop(0))
    return [*events, *(stop(index) for index, _ in queues if draw(st.booleans()))]


@given(sdk_streams())
def test_any_stream_of_the_accumulators_grammar_is_read_alike(events: list[Any]) -> None:
    """Whatever event brings content, ours and theirs make the same message of it."""
    theirs, ours = official(events), response(streamed(events))

    assert_alike(ours, theirs)
    parts = ours.message.content
    thoughts = [part for part in parts if isinstance(part, ReasoningPart)]
    assert [(part.signature or "", part.encrypted) for part in thoughts] == [
        (getattr(block, "signature", ""), getattr(block, "data", None))
        for block in theirs.content
        if block.type in ("thinking", "redacted_thinking")
    ]
    assert [(part.text, len(part.citations)) for part in parts if isinstance(part, TextPart)] == [
        (block.text, len(block.citations or ())) for block in _of_type(theirs, "text")
    ]
    hosted = [part for part in parts if isinstance(part, ToolCallPart) and part.provider_executed]
    assert [(part.id, part.arguments) for part in hosted] == [
        (block.id, block.input) for block in _of_type(theirs, "server_tool_use")
    ]
    said = ours.provider_metadata.get("anthropic", {})
    assert ("container" in said) == (theirs.container is not None)


def test_a_call_that_message_start_brings_complete_is_made() -> None:
    """Programmatic tool calling: a complete `tool_use` and its stop reason, and the end at once."""
    caller = {"type": "code_execution_20260120", "tool_id": "srv_1"}
    call = tool_use("query", {"sql": "select 1"}, id="toolu_9", caller=caller)
    events = [begin(content=[call], stop="tool_use"), {"type": "message_stop"}]

    got = response(streamed(events))

    assert_alike(got, official(events))
    assert (got.finish_reason.reason, got.finish_reason.raw) == ("tool_calls", "tool_use")
    [made] = got.tool_calls
    assert made.provider_metadata == {"anthropic": {"caller": caller}}


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
def test_bodies_have_only_fields_of_the_official_request_types(asked: LLMRequest) -> None:
    """The official request types know every field of every body."""
    sent = json.loads(json.dumps(body(asked)))

    known = {name: value for name, value in sent.items() if name not in SAMPLING}
    assert without_schemas(as_official(sent)) == without_schemas(known)


@given(requests())
def test_any_body_is_accepted(asked: LLMRequest) -> None:
    """So it is for any request at all, but for parts in native words."""
    parts = [part for message in asked.messages for part in message.content]
    assume(not any(isinstance(part, ProviderPart) for part in parts))
    built = protocol.body.build(asked, False)
    if isinstance(built, Success):
        as_official(dict(built.unwrap().body))
