"""Requests of Anthropic's clients, read for every kind of upstream."""

import base64
from typing import Any

import pytest

from llmcore.fronts.anthropic_messages import front
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest, ListedModel
from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat import COMPATIBLE
from llmcore.schema.content import (
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolResultPart,
)
from llmcore.schema.json import without
from llmcore.schema.options import ReasoningOptions
from llmcore.schema.tools import HostedTool, ToolChoice, ToolDefinition
from tests.fronts.anthropic_messages.messages_kit import (
    BEDROCK,
    CHAT,
    GEMINI,
    HELLO,
    MESSAGES,
    RESPONSES,
    asked,
    built,
    codes,
    messages_of,
    read,
    read_asked,
    refused,
)

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
USE = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "import os"}
TOOL = {"name": "read", "input_schema": {"type": "object", "properties": {}}}
LATE = {**TOOL, "name": "late", "defer_loading": True}
WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}
CITING = {
    "type": "text",
    "text": "So it is.",
    "citations": [
        {
            "type": "char_location",
            "cited_text": "doc-1",
            "document_index": 0,
            "document_title": None,
            "start_char_index": 0,
            "end_char_index": 5,
        }
    ],
}
UPSTREAMS = (MESSAGES, CHAT, RESPONSES, GEMINI, BEDROCK)

CLAUDE_CODE: dict[str, Any] = {
    "model": "claude-opus-4-6",
    "max_tokens": 32000,
    "stream": True,
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "high"},
    "metadata": {"user_id": '{"device_id":"d","account_uuid":"a","session_id":"s-1"}'},
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=abc;"},
        {"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}},
    ],
    "tools": [
        {
            "name": "Bash",
            "description": "Runs a command.",
            "input_schema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
                "additionalProperties": False,
            },
            "eager_input_streaming": True,
            "input_examples": [{"command": "ls"}],
        }
    ],
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<system-reminder>Today.</system-reminder>"},
                {"type": "text", "text": "Fix it.", "cache_control": {"type": "ephemeral"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look.", "signature": "c2ln"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [{"type": "text", "text": "a.py"}, PICTURE],
                    "is_error": True,
                },
                {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ],
}


@pytest.mark.parametrize("protocol_id", UPSTREAMS)
def test_a_request_of_claude_code_is_built_for_every_upstream(protocol_id: str) -> None:
    """Its texts, calls and pictures arrive; nothing of its betas is refused."""
    request = asked(CLAUDE_CODE, anthropic_beta="interleaved-thinking-2025-05-14,new-2099-01-01")
    sent = str(built(read_asked(request, protocol_id).request, protocol_id))

    for said in ("You help.", "Fix it.", "Looking.", "a.py", "Go on.", "Runs a command."):
        assert said in sent
    assert PNG in sent or "PNG" in sent
    assert ("cch=abc" in sent) == (protocol_id == MESSAGES)
    assert ("c2ln" in sent) == (protocol_id == MESSAGES)


def test_a_messages_upstream_gets_what_only_anthropic_has() -> None:
    """Fields, betas, tool fields and thinking, all under their own names."""
    request = asked({**CLAUDE_CODE, "speed": "fast"}, anthropic_beta="a-2099, b-2099")
    made = read_asked(request, MESSAGES).request
    body = built(made, MESSAGES)

    assert body["context_management"] == CLAUDE_CODE["context_management"]
    assert body["speed"] == "fast"
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {"effort": "high"}
    assert body["tools"][0]["input_examples"] == [{"command": "ls"}]
    assert body["tools"][0]["eager_input_streaming"] is True
    assert body["messages"][1]["content"][0] == CLAUDE_CODE["messages"][1]["content"][0]
    assert made.options_for("anthropic")["betas"] == ["a-2099", "b-2099"]


def test_other_upstreams_report_what_only_anthropic_has() -> None:
    """Once for each field."""
    made = read({**CLAUDE_CODE, "container": "c"})
    lost = [one.path for one in made.diagnostics if one.code == "unsupported-parameter"]

    assert sorted(lost) == [
        "container",
        "context_management",
        "metadata.user_id",
        "tools[0].input_examples",
    ]


@pytest.mark.parametrize("protocol_id", [MESSAGES, BEDROCK])
def test_cache_marks_reach_upstreams_that_take_them(protocol_id: str) -> None:
    """On system, messages, results and tools; no others are added."""
    mark = {"cache_control": {"type": "ephemeral"}}
    body = built(
        read(
            {
                "system": [{"type": "text", "text": "You help.", **mark}],
                "tools": [{**TOOL, **mark}],
                "messages": [
                    HELLO,
                    {"role": "assistant", "content": [USE]},
                    {"role": "user", "content": [{**RESULT, **mark}]},
                    {"role": "assistant", "content": "So."},
                    HELLO,
                ],
            },
            protocol_id,
        ).request,
        protocol_id,
    )
    text = str(body)

    assert text.count("cache_control") + text.count("cachePoint") == 3


@pytest.mark.parametrize(
    ("system", "lead"),
    [
        ("You help.", ["You help."]),
        ([{"type": "text", "text": "You help."}], ["You help."]),
        (
            [
                {"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "Be brief."},
            ],
            ["You help.\n\nBe brief."],
        ),
        ([], []),
    ],
    ids=["text", "block", "blocks with a mark", "nothing"],
)
def test_instructions_are_one_text_for_servers_that_imitate_chat(
    system: Any, lead: list[str]
) -> None:
    """Many of them refuse a list there, and fields that OpenAI does not have."""
    made = openai_chat.make(COMPATIBLE).body.build(read({"system": system}).request, False)
    *before, _ = made.unwrap().body["messages"]

    assert before == [{"role": "system", "content": text} for text in lead]


def test_the_session_of_claude_code_is_the_cache_key() -> None:
    """Of upstreams that have one."""
    assert read(CLAUDE_CODE, RESPONSES).request.cache.key == "s-1"
    named = asked({}, x_claude_code_session_id="s-2")
    assert read_asked(named, CHAT).request.cache.key == "s-2"
    assert read(CLAUDE_CODE, GEMINI).request.cache.key is None


def test_requests_that_extend_each_other_are_read_as_such() -> None:
    """So that the upstream finds the prefix in its cache."""
    turns = CLAUDE_CODE["messages"]
    first = read({**CLAUDE_CODE, "messages": turns[:1]}).request
    again = read(CLAUDE_CODE).request

    assert again.system == first.system
    assert again.tools == first.tools
    assert again.messages[: len(first.messages)] == first.messages


# -- conversations


def test_results_and_words_of_one_turn_are_messages_in_order() -> None:
    """Also where the client puts a result after its text."""
    turn = {"role": "user", "content": [{"type": "text", "text": "See:"}, RESULT, PICTURE]}
    made = messages_of(HELLO, {"role": "assistant", "content": [USE]}, turn)

    assert [message.role for message in made[2:]] == ["user", "tool", "user"]
    body = built(
        read({"messages": [HELLO, {"role": "assistant", "content": [USE]}, turn]}).request, CHAT
    )
    assert [message["role"] for message in body["messages"]][1:4] == ["assistant", "tool", "user"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ""),
        ("seen", "seen"),
        ([], ()),
        ([{"type": "text", "text": "seen"}], (TextPart("seen"),)),
        (
            [{"type": "tool_reference", "tool_name": "read"}],
            (TextPart("The tool read is available now."),),
        ),
    ],
)
def test_what_a_tool_returned_is_text_or_parts(content: Any, expected: Any) -> None:
    """Missing content is an empty text."""
    turn = {"role": "user", "content": [{**RESULT, "content": content}]}
    made = messages_of(HELLO, {"role": "assistant", "content": [USE]}, turn)[-1].content[0]

    assert made == ToolResultPart("toolu_1", expected, name="read")


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ({"messages": [{"role": "user", "content": [CITING]}]}, "messages[0].content[0]"),
        ({"system": [CITING]}, "system[0]"),
        (
            {
                "messages": [
                    HELLO,
                    {"role": "assistant", "content": [USE]},
                    {"role": "user", "content": [{**RESULT, "content": [CITING]}]},
                ]
            },
            "messages[2].content[0].content[0]",
        ),
    ],
)
def test_citations_of_texts_that_are_not_the_models_reach_messages_upstreams(
    place: dict[str, Any], path: str
) -> None:
    """Such as a text that another model has written; others report them."""
    elsewhere = read(place)
    native = read(place, MESSAGES)

    assert [note.path for note in elsewhere.diagnostics] == [f"{path}.citations"]
    assert native.diagnostics == ()
    assert "doc-1" in str(built(native.request, MESSAGES))
    assert "doc-1" not in str(built(elsewhere.request, CHAT))


def test_what_is_to_be_done_to_a_picture_reaches_messages_upstreams() -> None:
    """`error` keeps an oversized picture from being scaled down silently."""
    block = {**PICTURE, "transformations": {"oversized_image": "error"}}
    native = {"messages": [{"role": "user", "content": [block]}]}

    assert built(read(native, MESSAGES).request, MESSAGES)["messages"][0]["content"] == [block]


def test_a_system_message_in_the_middle_stays_in_its_place() -> None:
    """And never becomes a part of the instructions, which would change the cached prefix."""
    turns = [HELLO, {"role": "system", "content": "Be brief."}]
    made = read({"system": "You help.", "messages": turns}).request

    assert [message.role for message in made.messages] == ["user", "system"]
    assert made.system == (TextPart("You help."),)
    for protocol_id in UPSTREAMS:
        body = built(made, protocol_id)
        assert "Be brief." in str(body.get("messages") or body.get("input") or body["contents"])


def test_unsealed_thinking_stays_with_messages_upstreams() -> None:
    """Another one gets its text, without a signature that it could not read."""
    turn = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "So."},
        ],
    }
    native = messages_of(HELLO, turn, protocol_id=MESSAGES)[1]
    other = read({"messages": [HELLO, turn]})

    assert native.content[:2] == (
        ReasoningPart("Hm.", signature="c2ln"),
        ReasoningPart("", encrypted="xyz"),
    )
    assert other.request.messages[1].content == (ReasoningPart("Hm."), TextPart("So."))
    assert codes(other) == ["opaque-data-dropped"] * 2


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (PICTURE, ImagePart(data=base64.b64decode(PNG), media_type="image/png")),
        (
            {"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}},
            ImagePart(url="https://a.example/a.png"),
        ),
        (
            {
                "type": "document",
                "title": "A",
                "citations": {"enabled": True},
                "source": {"type": "text", "media_type": "text/plain", "data": "Words"},
            },
            DocumentPart(data=b"Words", media_type="text/plain", title="A", citations=True),
        ),
        (
            {
                "type": "search_result",
                "title": "A",
                "source": "https://a.example/",
                "content": [{"type": "text", "text": "Words"}],
            },
            DocumentPart(
                data=b"Words", media_type="text/plain", title="A", context="https://a.example/"
            ),
        ),
    ],
)
def test_a_block_of_content_is_a_part(block: Any, expected: Any) -> None:
    """For an upstream of another API."""
    assert messages_of({"role": "user", "content": [block]})[0].content == (expected,)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages[0].content[0].type"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
            "messages[0].content[0].source.type",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "image", "source": {"type": "url", "url": "/etc/passwd"}}
                        ],
                    }
                ]
            },
            "messages[0].content[0].source.url",
        ),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"messages": [HELLO] * 100_001}, "messages"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
    ],
)
def test_an_invalid_field_is_refused_by_its_place(body: dict[str, Any], param: str) -> None:
    """With 400."""
    error = refused(body)

    assert (error.status, error.param) == (400, param)


# -- settings


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, None),
        ({"thinking": {"type": "disabled"}}, ReasoningOptions(effort="none")),
        ({"thinking": {"type": "adaptive"}}, ReasoningOptions()),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 500}},
            ReasoningOptions(effort="low", budget_tokens=500),
        ),
        (
            {
                "thinking": {"type": "adaptive", "display": "omitted"},
                "output_config": {"effort": "xhigh"},
            },
            ReasoningOptions(effort="xhigh", summary="none"),
        ),
        ({"output_config": {"effort": "low"}}, ReasoningOptions(effort="low")),
    ],
)
def test_thinking_and_effort_are_reasoning_options(body: Any, expected: Any) -> None:
    """The protocols decide which of them each model accepts."""
    assert read(body).request.reasoning == expected
    for protocol_id in UPSTREAMS:
        built(read(body, protocol_id).request, protocol_id)


@pytest.mark.parametrize(
    ("protocol_id", "display", "summary"),
    [
        ("openai-responses", None, "auto"),
        ("gemini", None, "auto"),
        ("gemini", "omitted", "none"),
        ("openai-chat", None, None),
        ("anthropic-messages", None, None),
    ],
)
def test_thinking_with_a_budget_is_shown_where_an_api_shows_none_by_itself(
    protocol_id: str, display: str | None, summary: str | None
) -> None:
    """As the models of Anthropic that take a budget do it."""
    thinking = {"type": "enabled", "budget_tokens": 2000}
    if display is not None:
        thinking["display"] = display
    reasoning = read({"thinking": thinking}, protocol_id).request.reasoning

    assert reasoning is not None
    assert reasoning.summary == summary


def test_effort_alone_does_not_turn_thinking_on() -> None:
    """At a Messages upstream, where the two are apart."""
    body = built(read({"output_config": {"effort": "low"}}, MESSAGES).request, MESSAGES)

    assert body["output_config"] == {"effort": "low"}
    assert "thinking" not in body


@pytest.mark.parametrize("field", ["output_config", "output_format"])
def test_a_schema_is_the_format_of_the_response(field: str) -> None:
    """Under its new name and its old one."""
    form = {"type": "json_schema", "schema": {"type": "object", "properties": {}}}
    body = {"output_config": {"format": form}} if field == "output_config" else {field: form}

    made = read(body).request.response_format
    assert made is not None
    assert made.schema == form["schema"]


@pytest.mark.parametrize(
    ("choice", "expected", "parallel"),
    [
        (None, None, None),
        ({"type": "auto"}, ToolChoice.auto(), None),
        ({"type": "any"}, ToolChoice.required(), None),
        ({"type": "none"}, ToolChoice.none(), None),
        ({"type": "tool", "name": "read"}, ToolChoice.named("read"), None),
        ({"type": "auto", "disable_parallel_tool_use": True}, ToolChoice.auto(), False),
        ({"type": "any", "disable_parallel_tool_use": True}, ToolChoice.required(), False),
    ],
)
def test_a_tool_choice_is_read_with_its_flag(choice: Any, expected: Any, parallel: Any) -> None:
    """And built again as it was."""
    body = {"tools": [TOOL], "tool_choice": choice}
    made = read(body).request

    assert (made.tool_choice, made.parallel_tool_calls) == (expected, parallel)
    assert built(read(body, MESSAGES).request, MESSAGES).get("tool_choice") == choice


def test_a_model_is_named_by_the_body_or_by_the_path() -> None:
    """Claude Code's suffix for a long context does not belong to the name."""
    assert front.routing(asked({"model": "claude-x[1m]", "stream": True})).model == "claude-x"
    path = "/model/eu.anthropic.claude-x-v1:0/invoke"
    assert front.routing(ClientRequest(body={}, path=path)).model == "eu.anthropic.claude-x-v1:0"


# -- tools


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("bash_20250124", "bash"),
        ("text_editor_20250728", "str_replace_based_edit_tool"),
        ("memory_20250818", "memory"),
        ("computer_20250124", "computer"),
    ],
)
def test_a_tool_that_the_client_runs_is_a_function_elsewhere(type_: str, name: str) -> None:
    """With a schema that says what Claude has learned."""
    native = {"type": type_, "name": name}
    (made,) = read({"tools": [native]}).request.tools
    (kept,) = read({"tools": [native]}, MESSAGES).request.tools

    assert isinstance(made, ToolDefinition)
    assert made.name == name
    assert made.parameters["properties"]
    assert kept == HostedTool.raw("anthropic", native)


def test_tools_that_were_not_found_yet_are_not_offered() -> None:
    """Each is added at the end once a search of the client's own found it."""
    late = [{**TOOL, "name": name, "defer_loading": True} for name in ("a", "b", "c")]
    search = {"type": "tool_reference", "tool_name": "b"}
    turns = [
        HELLO,
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": [{**RESULT, "content": [search]}]},
    ]

    def names(**body: Any) -> list[str]:
        tools = read(body).request.tools
        return [tool.name for tool in tools if isinstance(tool, ToolDefinition)]

    assert names(tools=[*late, TOOL]) == ["read"]
    assert names(tools=[*late, TOOL], messages=turns) == ["read", "b"]
    by_provider = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    assert names(tools=[by_provider, *late]) == ["a", "b", "c"]
    native = built(read({"tools": [*late, TOOL]}, MESSAGES).request, MESSAGES)["tools"]
    assert [tool.get("defer_loading") for tool in native] == [True, True, True, None]


@pytest.mark.parametrize(
    ("tools", "places"),
    [
        ([LATE], ["tools[0]"]),
        ([WEB_SEARCH, LATE, {**LATE, "name": "later"}], ["tools[1]", "tools[2]"]),
        ([{"type": "browser_toolset_20260801", "name": "browser"}, LATE], ["tools[1]"]),
        ([TOOL, LATE], []),
        ([{"type": "bash_20250124", "name": "bash"}, LATE], []),
        ([{"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}, LATE], []),
    ],
)
def test_deferred_tools_that_nothing_can_find_are_reported(
    tools: list[Any], places: list[str]
) -> None:
    made = read({"tools": tools}, GEMINI)

    notes = [note for note in made.diagnostics if note.code == "tool-not-offered"]
    assert [note.path for note in notes] == places
    assert not places or all(note.action == "dropped" for note in notes)
    assert read({"tools": tools}, MESSAGES).diagnostics == ()


def test_a_deferred_tool_that_was_found_or_withdrawn_is_not_reported() -> None:
    found = news("tool_addition", type="tool_reference", name="late")
    gone = news("tool_removal", type="tool_reference", name="late")

    for turns in ([HELLO, found], [HELLO, gone]):
        assert codes(read({"tools": [LATE], "messages": turns})) == []


@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"caller": {"type": "direct"}}, []),
        ({"caller": {"type": "code_execution_20260120", "tool_id": "s"}}, ["caller"]),
        ({"toolset_name": "browser"}, ["toolset_name"]),
    ],
)
def test_what_only_anthropic_reads_of_calls_and_results_is_reported(
    fields: Any, lost: list[str]
) -> None:
    """But for the default: the model made the call itself."""
    turns = [
        HELLO,
        {"role": "assistant", "content": [{**USE, **fields}]},
        {"role": "user", "content": [{**RESULT, **without(fields, "caller")}]},
    ]
    made = read({"tools": [TOOL], "messages": turns})

    assert [note.path for note in made.diagnostics] == [
        f"messages[{place}].content[0].{name}"
        for place in (1, 2)
        for name in lost
        if (place, name) != (2, "caller")
    ]
    assert read({"tools": [TOOL], "messages": turns}, MESSAGES).diagnostics == ()


@pytest.mark.parametrize("protocol_id", [RESPONSES, GEMINI])
@pytest.mark.parametrize(
    ("kind", "types"),
    [
        ("code_execution", ("code_execution_20250825", "code_execution_20260120")),
        ("web_search", ("web_search_20250305", "web_search_20260209")),
    ],
)
def test_of_two_versions_of_a_tool_another_provider_offers_one(
    kind: str, types: tuple[str, str], protocol_id: str
) -> None:
    tools = [{"type": type_, "name": kind} for type_ in types]
    made = read({"tools": tools}, protocol_id)

    (tool,) = made.request.tools
    assert isinstance(tool, HostedTool)
    assert tool.kind == kind
    assert [(n.code, n.path) for n in made.diagnostics] == [("hosted-tool-dropped", "tools[1]")]
    assert len(read({"tools": tools}, MESSAGES).request.tools) == 2


def test_a_missing_tool_of_two_versions_is_named_once() -> None:
    types = ("code_execution_20250825", "code_execution_20260120")
    made = read({"tools": [{"type": type_, "name": "code_execution"} for type_ in types]})

    (line,) = made.request.system
    assert isinstance(line, TextPart)
    assert line.text.startswith("These tools are not available: code_execution. ")


def news(kind: str, **tool: Any) -> dict[str, Any]:
    """Return a system message that adds or removes a tool."""
    return {"role": "system", "content": [{"type": kind, "tool": tool}]}


def test_tools_that_a_system_message_adds_are_offered_until_one_removes_them() -> None:
    """By reference or by value; a Messages upstream gets the blocks, and all tools."""
    late = [{**TOOL, "name": name, "defer_loading": True} for name in ("a", "b")]
    inline = {**TOOL, "name": "c", "description": "Inline."}
    turns = [
        HELLO,
        news("tool_addition", type="tool_reference", name="b"),
        news("tool_addition", type="tool_definition", definition=inline),
        news("tool_addition", type="mcp_tool_reference", name="m", server_name="s"),
    ]
    end = [
        news("tool_removal", type="tool_reference", name="b"),
        news("tool_removal", type="tool_reference", name="read"),
        news("tool_addition", type="tool_reference", name="b"),
        news("tool_removal", type="tool_reference", name="c"),
    ]

    def names(*messages: Any) -> list[str]:
        tools = read({"tools": [*late, TOOL], "messages": list(messages)}).request.tools
        return [tool.name for tool in tools if isinstance(tool, ToolDefinition)]

    made = read({"tools": [*late, TOOL], "messages": [*turns, *end]})
    kept = read({"tools": [*late, TOOL], "messages": turns}, MESSAGES).request

    assert names(*turns) == ["read", "b", "c"]
    assert names(*turns, *end) == ["b"]
    assert [message.text for message in made.request.messages[1:]] == [
        "The tool b is available now.",
        "The tool c is available now.",
        "The tool b is no longer available.",
        "The tool read is no longer available.",
        "The tool b is available now.",
        "The tool c is no longer available.",
    ]
    assert [(note.code, note.path) for note in made.diagnostics] == [
        ("unsupported-content", "messages[3].content[0]")
    ]
    assert len(kept.tools) == 3
    assert kept.messages[1].content == (ProviderPart("anthropic", turns[1]["content"][0]),)


def test_a_tool_that_a_message_defines_wrongly_is_refused_by_its_place() -> None:
    """Like one of `tools`."""
    turn = news("tool_addition", type="tool_definition", definition={"name": "c", "strict": 1})

    failure = refused({"tools": [TOOL], "messages": [HELLO, turn]})

    assert "messages[1].content[0].tool.definition" in failure.message


def test_a_search_of_the_web_is_the_upstreams_own_where_it_has_one() -> None:
    """Else the model is to say that it has none; a search that is demanded is refused."""
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
    (made,) = read({"tools": [search]}, GEMINI).request.tools
    without = read({"tools": [search]}).request

    assert isinstance(made, HostedTool)
    assert made.kind == "web_search"
    assert without.tools == ()
    assert "web_search" in without.system[-1].text
    demanded = {"tools": [search], "tool_choice": {"type": "tool", "name": "web_search"}}
    assert refused(demanded).code == "unsupported_tool"
    assert read(demanded, RESPONSES).request.tool_choice == ToolChoice.required()
    assert codes(read(demanded, GEMINI)) == ["tool-choice-changed"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("drop", 0), ("function", 1)],
)
def test_a_policy_decides_about_hosted_tools(policy: Any, expected: int) -> None:
    """As in the other fronts."""
    search = {"type": "web_search_20250305", "name": "web_search"}
    made = read({"tools": [search]}, hosted_tools=policy).request

    assert len(made.tools) == expected
    assert refused({"tools": [search]}, hosted_tools="error").code == "unsupported_tool"


def test_a_schema_without_a_type_is_one_of_an_object() -> None:
    """Schemas may lack their properties too."""
    (made,) = read({"tools": [{"name": "a", "input_schema": {"properties": {}}}]}).request.tools

    assert isinstance(made, ToolDefinition)
    assert made.parameters == {"type": "object", "properties": {}}


# -- models and counts


def test_models_come_in_pages() -> None:
    """By the ids after or before which they stand."""
    models = [ListedModel(id=name, owner="acme", max_input_tokens=10) for name in "abcde"]

    def ids(**query: str) -> tuple[list[str], bool]:
        page: Any = front.models(models, query)
        return [one["id"] for one in page["data"]], page["has_more"]

    assert ids() == (list("abcde"), False)
    assert ids(limit="2") == (["a", "b"], True)
    assert ids(limit="2", after_id="b") == (["c", "d"], True)
    assert ids(limit="9", after_id="b") == (["c", "d", "e"], False)
    assert ids(limit="2", before_id="d") == (["b", "c"], True)
    assert ids(limit="1000")[1] is False


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "1001"}, "limit"),
        ({"limit": "two"}, "limit"),
        ({"limit": "²"}, "limit"),
        ({"after_id": "x"}, "after_id"),
        ({"before_id": "x"}, "before_id"),
    ],
)
def test_a_page_of_models_that_does_not_exist_is_refused(query: dict[str, str], param: str) -> None:
    with pytest.raises(FrontError) as raised:
        front.models([ListedModel(id="a", owner="acme")], query)

    assert (raised.value.status, raised.value.param) == (400, param)


@pytest.mark.parametrize(("protocol_id", "limit"), [(MESSAGES, 0), (CHAT, 1)])
def test_a_limit_of_no_tokens_reaches_messages_upstreams_alone(
    protocol_id: str, limit: int
) -> None:
    """It warms the cache at Anthropic; others are asked for one token."""
    made = read({"max_tokens": 0}, protocol_id)

    assert made.request.generation.max_tokens == limit
    assert codes(made) == (["parameter-out-of-range"] if limit else [])


def test_tokens_are_counted_of_a_request_without_a_limit() -> None:
    """Bodies that count tokens have no `max_tokens`."""
    body: dict[str, Any] = {"model": "m", "messages": [HELLO]}
    made = read_asked(ClientRequest(body=body, path="/v1/messages/count_tokens"), MESSAGES)

    assert made.request.generation.max_tokens is None
    assert front.token_count is not None
    assert front.token_count(7) == {"input_tokens": 7}


WEATHER = {
    "name": "get_weather",
    "description": "Get the weather",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
SMALL: list[tuple[dict[str, Any], int]] = [
    ({}, 5),
    ({"system": "You are helpful."}, 9),
    ({"tools": [WEATHER]}, 41),
    ({"tools": [WEATHER], "tool_choice": {"type": "any"}}, 41),
]


@pytest.mark.parametrize(("fields", "counted"), SMALL, ids=range(len(SMALL)))
@pytest.mark.parametrize("protocol_id", UPSTREAMS)
def test_a_stream_of_a_small_prompt_begins_with_an_estimate_near_a_tokenizers_count(
    fields: dict[str, Any], counted: int, protocol_id: str
) -> None:
    """*counted* is what GPT-5's tokenizer makes of the texts and the definitions."""
    hello = {"role": "user", "content": "What is the weather?"}
    body = {"model": "m", "max_tokens": 9, "stream": True, "messages": [hello], **fields}
    estimate = read(body, protocol_id).estimated_input

    assert counted <= estimate <= 3 * counted + 30


@pytest.mark.parametrize(
    "message",
    [{"role": "system"}, {"role": "assistant", "content": [{"type": "compaction"}]}],
    ids=["a directive", "an empty summary"],
)
def test_messages_of_which_nothing_is_read_are_refused_with_the_reason(message: Any) -> None:
    """None of them was left out: there is no Diagnostic to name."""
    error = refused({"messages": [message]})

    assert error.message == "messages: nothing is left to answer: none of them has any content"
