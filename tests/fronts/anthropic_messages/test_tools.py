"""Tools of Anthropic's clients, and the choice among them, for upstreams that have them or not."""

from typing import Any

import pytest

from llmcore.schema.content import TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.tools import HostedTool, ToolDefinition
from tests.fronts.anthropic_messages.messages_kit import (
    CHAT,
    GEMINI,
    HELLO,
    MESSAGES,
    RESPONSES,
    codes,
    messages_of,
    read,
    refused,
)

TOOL = {"name": "read", "input_schema": {"type": "object", "properties": {}}}
FETCH = {"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 2}
CODE = {"type": "code_execution_20250825", "name": "code_execution"}
MCP = {
    "type": "mcp_toolset",
    "mcp_server_name": "tickets",
    "configs": {"search": {"enabled": True}, "delete": {"enabled": False}},
}
SERVER = {
    "name": "tickets",
    "type": "url",
    "url": "https://mcp.example/sse",
    "authorization_token": "t",
}


@pytest.mark.parametrize(
    ("native", "protocol_id", "expected"),
    [
        (FETCH, GEMINI, HostedTool.web_fetch(max_uses=2)),
        (CODE, GEMINI, HostedTool.code_execution()),
        (CODE, RESPONSES, HostedTool.code_execution()),
        (
            MCP,
            RESPONSES,
            HostedTool.mcp(
                server_label="tickets",
                server_url="https://mcp.example/sse",
                authorization="t",
                allowed_tools=("search",),
            ),
        ),
        (CODE, MESSAGES, HostedTool.raw("anthropic", CODE)),
        (
            {
                "type": "web_search_20250305",
                "name": "web_search",
                "user_location": {"type": "approximate", "city": "Riga", "region": None},
            },
            RESPONSES,
            HostedTool.web_search(user_location={"city": "Riga"}),
        ),
    ],
)
def test_a_hosted_tool_is_the_upstreams_own(native: Any, protocol_id: str, expected: Any) -> None:
    made = read({"tools": [native], "mcp_servers": [SERVER]}, protocol_id)

    assert made.request.tools == (expected,)


@pytest.mark.parametrize(
    ("native", "protocol_id"),
    [
        (FETCH, CHAT),
        (CODE, CHAT),
        (MCP, CHAT),
        ({**MCP, "mcp_server_name": "unknown"}, RESPONSES),
        ({"type": "advisor_20260301", "name": "advisor"}, RESPONSES),
    ],
)
def test_a_hosted_tool_that_the_upstream_lacks_is_left_out(native: Any, protocol_id: str) -> None:
    """With a report, or refused if the policy demands it."""
    body = {"tools": [TOOL, native], "mcp_servers": [SERVER]}
    made = read(body, protocol_id)

    assert [tool.name for tool in made.request.tools] == ["read"]  # type: ignore[union-attr]
    assert "hosted-tool-dropped" in codes(made)
    error = refused(body, protocol_id, hosted_tools="error")
    assert (error.status, error.code, error.param) == (400, "unsupported_tool", "tools[1]")


@pytest.mark.parametrize(
    ("choice", "param", "message"),
    [
        ({"type": "sometimes"}, "tool_choice.type", "'sometimes', not"),
        ({"type": "tool"}, "tool_choice.name", "Field required"),
        ({"type": "tool", "name": "write"}, "tool_choice", "not among the tools"),
        ({"name": "read"}, "tool_choice.type", "Field required"),
    ],
)
def test_an_invalid_choice_is_refused_by_its_place(choice: Any, param: str, message: str) -> None:
    error = refused({"tools": [TOOL], "tool_choice": choice})

    assert error.param == param
    assert message in error.message


@pytest.mark.parametrize("choice", [{"type": "tool", "name": "web_fetch"}, {"type": "any"}])
def test_a_choice_that_only_a_missing_tool_could_meet_is_refused_by_its_name(choice: Any) -> None:
    error = refused({"tools": [FETCH], "tool_choice": choice}, CHAT)

    assert (error.param, error.code) == ("tool_choice", "unsupported_tool")
    assert error.message.startswith("tool_choice demands web_fetch, which")


def test_a_choice_of_a_hosted_tool_is_left_to_the_model() -> None:
    body = {"tools": [CODE], "tool_choice": {"type": "tool", "name": "code_execution"}}
    made = read(body, GEMINI)

    assert made.request.tool_choice is None
    assert "tool-choice-changed" in codes(made)


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "read"}])
def test_a_choice_that_demands_a_call_without_tools_is_refused(choice: Any) -> None:
    error = refused({"tool_choice": choice})

    assert (error.status, error.param) == (400, "tool_choice")
    assert error.message == "tool_choice demands a call, but there are no tools to call."


def test_a_choice_without_tools_is_left_out() -> None:
    made = read({"tools": [], "tool_choice": {"type": "auto"}}).request

    assert (made.tool_choice, made.parallel_tool_calls) == (None, None)


def test_more_tools_than_allowed_are_refused() -> None:
    error = refused({"tools": [TOOL, {**TOOL, "name": "write"}]}, max_tools=1)

    assert error.param == "tools"
    assert "At most 1" in error.message


def test_a_tool_with_an_invalid_name_is_refused_by_its_place() -> None:
    error = refused({"tools": [TOOL, {**TOOL, "name": ""}]})

    assert error.param == "tools[1]"


# -- what hosted tools returned

PAGE = {"type": "web_search_result", "url": "https://a.example", "title": "A"}


def _hosted_turn(name: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": {}}
    done = {"tool_use_id": "srvtoolu_1", **result}
    return [HELLO, {"role": "assistant", "content": [call, done]}, HELLO]


@pytest.mark.parametrize(
    ("name", "result", "text"),
    [
        (
            "web_search",
            {"type": "web_search_tool_result", "content": [PAGE]},
            "Found on the web:\n- A: https://a.example\n\n",
        ),
        (
            "code_execution",
            {
                "type": "code_execution_tool_result",
                "content": {"type": "code_execution_result", "stdout": "4", "stderr": "slow"},
            },
            "code_execution returned:\n4\nslow\n\n",
        ),
        (
            "tickets",
            {"type": "mcp_tool_result", "content": [{"type": "text", "text": "None open."}]},
            "tickets returned:\nNone open.\n\n",
        ),
        (
            "web_fetch",
            {
                "type": "web_fetch_tool_result",
                "content": {"content": {"source": {"type": "text", "data": "A page."}}},
            },
            "web_fetch returned:\nA page.\n\n",
        ),
        ("tickets", {"type": "mcp_tool_result", "content": []}, None),
    ],
)
def test_results_of_hosted_tools_are_text_for_other_upstreams(
    name: str, result: dict[str, Any], text: str | None
) -> None:
    """An upstream of the same API gets the blocks themselves."""
    turn = _hosted_turn(name, result)
    texts = [
        part.text
        for message in messages_of(*turn)
        if message.role == "assistant"
        for part in message.content
        if isinstance(part, TextPart)
    ]
    kept = messages_of(*turn, protocol_id=MESSAGES)[1].content

    assert texts == ([] if text is None else [text])
    assert [type(part) for part in kept] == [ToolCallPart, ToolResultPart]


@pytest.mark.parametrize("protocol_id", [MESSAGES, RESPONSES, CHAT])
@pytest.mark.parametrize(
    ("native", "argument"),
    [(CODE, "code"), ({"type": "web_fetch_20250910", "name": "web_fetch"}, "url")],
)
def test_a_hosted_tool_is_a_function_everywhere_where_the_policy_has_it_so(
    protocol_id: str, native: dict[str, Any], argument: str
) -> None:
    """Its calls are the client's to run, also in front of an upstream that has the tool."""
    made = read({"tools": [native]}, protocol_id, hosted_tools="function")

    (tool,) = made.request.tools
    assert isinstance(tool, ToolDefinition)
    assert tool.name == native["name"]
    assert tool.parameters["required"] == [argument]
    assert "hosted-tool-as-function" in codes(made)
