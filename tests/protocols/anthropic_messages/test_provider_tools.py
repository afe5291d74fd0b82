"""The provider's own tools: offered, read from responses, and sent back unchanged."""

from typing import Any

import pytest

from llmcore.schema.content import Citation, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.events import Source, ToolCall, ToolResult
from llmcore.schema.json import JsonObject, without
from llmcore.schema.messages import Message, Origin
from llmcore.schema.tools import HostedTool
from tests.support.wire.anthropic import (
    MODEL,
    ask,
    body,
    built,
    codes,
    message,
    messages,
    stream_of,
    streamed,
    text,
    unmarked,
    whole,
)
from tests.support.wire.protocol import response


def use(name: str, input: Any, **fields: Any) -> dict[str, Any]:
    """Return a call of one of the provider's tools."""
    return {"type": "server_tool_use", "id": "srv_1", "name": name, "input": input, **fields}


def result(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    """Return what one of the provider's tools returned."""
    return {"type": kind, "tool_use_id": "srv_1", "content": content, **fields}


DIRECT = {"caller": {"type": "direct"}}
PAGE = {
    "type": "web_search_result",
    "url": "https://a.example/",
    "title": "A",
    "encrypted_content": "xyz",
    "page_age": "2 days",
}
FETCHED = {
    "type": "web_fetch_result",
    "url": "https://b.example/",
    "retrieved_at": "2026-11-01",
    "content": {
        "type": "document",
        "title": "B",
        "source": {"type": "text", "media_type": "text/plain", "data": "words"},
    },
}
RAN = {"type": "bash_code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0}

PAIRS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (use("web_search", {"query": "x"}, **DIRECT), result("web_search_tool_result", [PAGE])),
    (use("web_fetch", {"url": "u"}), result("web_fetch_tool_result", FETCHED, **DIRECT)),
    (use("code_execution", {"code": "1"}), result("code_execution_tool_result", RAN)),
    (use("bash_code_execution", {}), result("bash_code_execution_tool_result", RAN)),
    (
        use("text_editor_code_execution", {"command": "create"}),
        result(
            "text_editor_code_execution_tool_result",
            {"type": "text_editor_code_execution_create_result", "is_file_update": False},
        ),
    ),
    (
        use("tool_search_tool_bm25", {"query": "q"}),
        result(
            "tool_search_tool_result",
            {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "f"}],
            },
        ),
    ),
    (
        use("advisor", {}),
        result("advisor_tool_result", {"type": "advisor_result", "text": "Do it."}),
    ),
    (
        {"type": "mcp_tool_use", "id": "srv_1", "name": "echo", "server_name": "s", "input": {}},
        result("mcp_tool_result", [{"type": "text", "text": "hi"}], is_error=False),
    ),
    (use("tool_of_2031", {}), result("novelty_tool_result", {"new": [None]}, extra=1)),
]


@pytest.mark.parametrize(("call", "answer"), PAIRS, ids=lambda block: block["type"])
def test_a_tool_at_work(call: dict[str, Any], answer: dict[str, Any]) -> None:
    """Call and result are events of a tool that the provider runs."""
    for events in (streamed(stream_of(message(call, answer))), whole(message(call, answer))):
        (called,) = [event for event in events if isinstance(event, ToolCall)]
        (returned,) = [event for event in events if isinstance(event, ToolResult)]
        assert called.provider_executed
        assert (called.id, called.name, called.arguments) == ("srv_1", call["name"], call["input"])
        assert returned.provider_executed
        assert (returned.tool_call_id, returned.name) == ("srv_1", call["name"])
        assert returned.content == answer["content"]
        assert not returned.is_error


@pytest.mark.parametrize(("call", "answer"), PAIRS, ids=lambda block: block["type"])
def test_a_tool_is_sent_back_exactly(call: dict[str, Any], answer: dict[str, Any]) -> None:
    """The next request repeats call and result as they came, in their order."""
    said = response(streamed(stream_of(message(call, answer, text("So.")))))

    sent = messages(ask(messages=[Message.user("Hi"), said.message, Message.user("Go on")]))

    assert sent[1] == {"role": "assistant", "content": [call, answer, text("So.")]}


def test_a_null_of_a_result_is_not_sent_back() -> None:
    """Responses have `caller: null`; requests take an object or nothing."""
    call, found = PAIRS[0]
    said = response(whole(message(call, {**found, "caller": None})))

    sent = messages(ask(messages=[Message.user("Hi"), said.message, Message.user("Go on")]))

    assert sent[1]["content"] == [call, without(found, "caller")]


@pytest.mark.parametrize(
    "content",
    [
        {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        {"type": "code_execution_tool_result_error", "error_code": "unavailable"},
    ],
)
def test_a_tool_that_failed(content: dict[str, Any]) -> None:
    """An error object is an error."""
    events = whole(message(use("web_search", {}), result("web_search_tool_result", content)))

    (returned,) = [event for event in events if isinstance(event, ToolResult)]
    assert returned.is_error


def test_an_mcp_tool_that_failed() -> None:
    """An MCP server says it with a flag."""
    answer = result("mcp_tool_result", [], is_error=True)

    (returned,) = [e for e in whole(message(answer)) if isinstance(e, ToolResult)]
    assert returned.is_error


def test_pages_of_search_and_fetch_are_announced_once() -> None:
    """Pages that a search found and a fetch read are announced once each."""
    document = message(
        use("web_search", {}),
        result("web_search_tool_result", [PAGE, {**PAGE, "url": "https://c.example/"}]),
        use("web_fetch", {}, id="srv_2"),
        result("web_fetch_tool_result", FETCHED),
    )

    sources = [event for event in whole(document) if isinstance(event, Source)]

    assert [(s.id, s.url, s.title) for s in sources] == [
        ("source_0", "https://a.example/", "A"),
        ("source_1", "https://c.example/", "A"),
        ("source_2", "https://b.example/", "B"),
    ]
    assert sources[0].provider_metadata == {"anthropic": {"page_age": "2 days"}}


def test_a_pause_goes_on_where_it_stopped() -> None:
    """A paused answer is sent back as it is, and ends the conversation."""
    call, answer = PAIRS[0]
    said = response(whole(message(call, answer, stop="pause_turn")))

    sent = messages(ask(messages=[Message.user("Hi"), said.message]))

    assert sent[-1] == {"role": "assistant", "content": [call, answer]}


def test_tools_of_another_provider_are_left_out() -> None:
    """Calls that another API ran are not sent; a Diagnostic reports them."""
    other = Message.assistant(
        ToolCallPart("ws_1", "web_search", {}, provider_executed=True),
        ToolResultPart("ws_1", "found", provider_executed=True),
        TextPart("So."),
        origin=Origin(provider="openai", model="gpt-5.2", protocol="openai-responses"),
    )
    asked = ask(messages=[Message.user("Hi"), other, Message.user("Go on")])

    assert messages(asked)[1] == {"role": "assistant", "content": [text("So.")]}
    assert {code for code, _ in codes(asked)} == {"hosted-tool-dropped"}


# -- citations

CITED = {"cited_text": "words", "document_index": 0, "document_title": "Doc"}
CITATIONS: list[tuple[dict[str, Any], Citation]] = [
    (
        {"type": "char_location", **CITED, "start_char_index": 0, "end_char_index": 5},
        Citation(title="Doc", cited_text="words"),
    ),
    (
        {
            "type": "page_location",
            **CITED,
            "start_page_number": 1,
            "end_page_number": 2,
            "file_id": "file_1",
        },
        Citation(title="Doc", cited_text="words", document_id="file_1"),
    ),
    (
        {
            "type": "content_block_location",
            **CITED,
            "document_title": None,
            "start_block_index": 0,
            "end_block_index": 1,
        },
        Citation(cited_text="words"),
    ),
    (
        {
            "type": "web_search_result_location",
            "cited_text": "words",
            "encrypted_index": "e",
            "title": "A",
            "url": "https://a.example/",
        },
        Citation(url="https://a.example/", title="A", cited_text="words"),
    ),
    (
        {
            "type": "search_result_location",
            "cited_text": "words",
            "search_result_index": 0,
            "source": "kb:7",
            "title": "T",
            "start_block_index": 0,
            "end_block_index": 1,
        },
        Citation(title="T", cited_text="words", document_id="kb:7"),
    ),
    (
        {
            "type": "search_result_location",
            "cited_text": "words",
            "search_result_index": 0,
            "source": "https://kb.example/7",
            "title": None,
            "start_block_index": 0,
            "end_block_index": 1,
        },
        Citation(url="https://kb.example/7", cited_text="words"),
    ),
    ({"type": "location_of_2031", "anything": [1]}, Citation()),
]


@pytest.mark.parametrize(("native", "expected"), CITATIONS, ids=lambda value: str(value)[:40])
def test_citations_of_each_kind_are_read_and_sent_back(
    native: JsonObject, expected: Citation
) -> None:
    """Each kind says what it can in common words, and goes back in its own.

    The id of a cited file is a field of responses alone.
    """
    document = message(text("So.", citations=[native]))

    for events in (streamed(stream_of(document)), whole(document)):
        said = response(events)
        (part,) = said.message.content
        assert isinstance(part, TextPart)
        (citation,) = part.citations
        assert citation.provider_metadata == {"anthropic": native}
        for name in ("url", "title", "cited_text", "document_id"):
            assert getattr(citation, name) == getattr(expected, name)
        sent = messages(ask(messages=[Message.user("Hi"), said.message, Message.user("Go on")]))
        assert sent[1]["content"] == [text("So.", citations=[without(native, "file_id")])]


def test_citations_of_others_are_left_out() -> None:
    """Only citations in the API's own form can be sent back."""
    said = Message.assistant(TextPart("So.", citations=(Citation(url="https://a.example/"),)))
    asked = ask(messages=[Message.user("Hi"), said, Message.user("Go on")])

    assert messages(asked)[1]["content"] == [text("So.")]
    assert codes(asked) == [("unsupported-content", "messages[1].content[0].citations[0]")]


# -- definitions


def offered(*tools: HostedTool, model: str = MODEL) -> list[dict[str, Any]]:
    """Return the body's tools without cache marks."""
    found: list[dict[str, Any]] = unmarked(body(ask(model, tools=tools))["tools"])
    return found


@pytest.mark.parametrize(
    ("tool", "native"),
    [
        (
            HostedTool.web_search(
                max_uses=3, allowed_domains=("a.b",), user_location={"city": "Rome"}
            ),
            {
                "type": "web_search_20250305",
                "name": "web_search",
                "max_uses": 3,
                "allowed_domains": ["a.b"],
                "user_location": {"type": "approximate", "city": "Rome"},
            },
        ),
        (
            HostedTool.web_search(type="web_search_20260318", response_inclusion="excluded"),
            {
                "type": "web_search_20260318",
                "name": "web_search",
                "response_inclusion": "excluded",
            },
        ),
        (
            HostedTool.web_fetch(max_uses=1, citations={"enabled": True}),
            {
                "type": "web_fetch_20250910",
                "name": "web_fetch",
                "max_uses": 1,
                "citations": {"enabled": True},
            },
        ),
        (
            HostedTool.code_execution(),
            {"type": "code_execution_20250825", "name": "code_execution"},
        ),
        (HostedTool.shell(), {"type": "bash_20250124", "name": "bash"}),
        (
            HostedTool.text_editor(max_characters=9),
            {
                "type": "text_editor_20250728",
                "name": "str_replace_based_edit_tool",
                "max_characters": 9,
            },
        ),
        (
            HostedTool.text_editor(type="text_editor_20250124"),
            {"type": "text_editor_20250124", "name": "str_replace_editor"},
        ),
        (HostedTool.memory(), {"type": "memory_20250818", "name": "memory"}),
        (
            HostedTool.tool_search(),
            {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        ),
        (
            HostedTool.tool_search(variant="regex"),
            {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
        ),
        (
            HostedTool.raw("anthropic", {"type": "browser_toolset_20260801"}),
            {"type": "browser_toolset_20260801"},
        ),
        (
            HostedTool.raw("anthropic", {"type": "tool_of_2031", "name": "x", "depth": [1]}),
            {"type": "tool_of_2031", "name": "x", "depth": [1]},
        ),
        (
            HostedTool.raw("anthropic", {"type": "bash_20250124", "name": "bash", "new": 1}),
            {"type": "bash_20250124", "name": "bash", "new": 1},
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_hosted_tools_are_sent_with_their_versions(
    tool: HostedTool, native: dict[str, Any]
) -> None:
    """Each kind is sent in its version, with the name that goes with it."""
    assert offered(tool) == [native]


@pytest.mark.parametrize(
    ("model", "native", "beta"),
    [
        (
            "claude-sonnet-4-5",
            {
                "type": "computer_20250124",
                "name": "computer",
                "display_width_px": 800,
                "display_height_px": 600,
            },
            "computer-use-2025-01-24",
        ),
        (
            "claude-opus-4-6",
            {
                "type": "computer_20251124",
                "name": "computer",
                "display_width_px": 800,
                "display_height_px": 600,
            },
            "computer-use-2025-11-24",
        ),
        ("claude-opus-5-5", {"type": "computer_toolset_20260801"}, None),
    ],
)
def test_the_computer_by_model(model: str, native: dict[str, Any], beta: str | None) -> None:
    """Each model has its own version of the computer tool, and its beta header."""
    tool = HostedTool.computer_use(display_width=800, display_height=600)
    header = built(ask(model, tools=[tool], cache=None)).headers["anthropic-beta"]

    assert offered(tool, model=model) == [native]
    assert header.split(",")[1:] == ([beta] if beta else [])


def test_remote_mcp_server_is_sent_as_toolset_and_server() -> None:
    """A server is a toolset and an entry beside the tools, with only the allowed ones on."""
    tool = HostedTool.mcp(
        server_label="docs",
        server_url="https://mcp.example/",
        authorization="token",
        allowed_tools=("ask",),
    )
    sent = body(ask(tools=[tool]))

    assert offered(tool) == [
        {
            "type": "mcp_toolset",
            "mcp_server_name": "docs",
            "default_config": {"enabled": False},
            "configs": {"ask": {"enabled": True}},
        }
    ]
    assert sent["mcp_servers"] == [
        {
            "type": "url",
            "name": "docs",
            "url": "https://mcp.example/",
            "authorization_token": "token",
        }
    ]
    assert "mcp-client-2025-11-20" in built(ask(tools=[tool])).headers["anthropic-beta"]


@pytest.mark.parametrize(
    "tool",
    [
        HostedTool.image_generation(),
        HostedTool.file_search(vector_store_ids=("vs",)),
        HostedTool.mcp(server_label="x"),
        HostedTool.raw("openai", {"type": "web_search"}),
    ],
)
def test_tools_that_are_not_here(tool: HostedTool) -> None:
    """A tool that the API does not have is left out, and said so."""
    asked = ask(tools=[tool])

    assert "tools" not in body(asked)
    assert codes(asked) == [("unsupported-tool", "tools[0]")]


def test_options_that_have_no_place() -> None:
    """A container belongs to the request; a size to the older computer tools."""
    computer = HostedTool.computer_use(display_width=1, display_height=1, environment="linux")
    asked = ask(
        "claude-opus-5-5", tools=[HostedTool.code_execution(container={"id": "c"}), computer]
    )

    assert [path for _, path in codes(asked)] == [
        "tools[0].container",
        "tools[1].environment",
        "tools[1].display_width",
    ]
