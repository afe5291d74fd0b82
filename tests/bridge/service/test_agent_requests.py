"""Requests as coding agents send them, over the whole way and back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.servers.bridge_service import (
    asked,
    events_of,
    settings_for,
    streamed,
    text_of,
    tool_script,
)
from tests.support.servers.loopback import Loopback, Received, chat_handler, serve

pytestmark = pytest.mark.anyio

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+héllo \u2028 \\n\n*** End Patch"

TOOLS: Any = [
    {
        "type": "function",
        "name": "exec_command",
        "description": "Run a command.",
        "strict": False,
        "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}},
    },
    {
        "type": "custom",
        "name": "apply_patch",
        "description": "Edit files.",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
    },
    {
        "type": "namespace",
        "name": "mcp__files",
        "description": "Files.",
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Read.",
                "strict": False,
                "parameters": {"type": "object", "properties": {}},
            }
        ],
    },
    {"type": "web_search", "external_web_access": False, "search_content_types": ["text"]},
]


def message(role: str, text: str) -> Any:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return {"type": "message", "id": f"msg_{role}", "role": role, "content": content}


BODY: Any = {
    "model": "m-1",
    "stream": True,
    "store": False,
    "input": [message("developer", "You are an agent."), message("user", "Write a.txt.")],
    "tools": TOOLS,
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "thread-1",
    "client_metadata": {"x": "y"},
}


def name_of(received: Received, part: str) -> str:
    """Return the function's name that the upstream sees for a tool."""
    body: Any = received.json
    names: list[str] = [tool["function"]["name"] for tool in body["tools"]]
    return next(name for name in names if part in name)


@pytest.fixture
def upstream() -> Iterator[Loopback]:
    def handler(received: Received) -> Any:
        body: Any = received.json
        if not body.get("tools") or body["messages"][-1]["role"] == "tool":
            return chat_handler(received)
        patch = json.dumps({"input": PATCH})
        return streamed(
            tool_script(
                ("call_1", name_of(received, "apply_patch"), patch),
                ("call_2", name_of(received, "read"), "{}"),
            )
        )

    with serve(handler) as running:
        yield running


async def test_a_turn_with_a_patch_and_a_tool_of_a_namespace(upstream: Loopback) -> None:
    """The patch arrives raw, the call under its namespace; their results go back up."""
    async with asked(settings_for(upstream.url)) as client:
        first = await client.post("/v1/responses", json=BODY)
        events = events_of(first.content)
        items = [e["item"] for e in events if e["type"] == "response.output_item.done"]
        results: Any = [
            {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done"},
            {"type": "function_call_output", "call_id": "call_2", "output": "text"},
        ]
        again = {**BODY, "input": [*BODY["input"], *items, *results]}
        second = await client.post("/v1/responses", json=again)

    patch, read = [item for item in items if item["type"].endswith("_call")]
    deltas = [e["delta"] for e in events if e["type"] == "response.custom_tool_call_input.delta"]
    assert (patch["type"], patch["name"], patch["input"]) == (
        "custom_tool_call",
        "apply_patch",
        PATCH,
    )
    assert "".join(deltas) == PATCH
    assert (read["namespace"], read["name"]) == ("mcp__files", "read")
    assert len(first.content.decode().splitlines()) == first.content.count(b"\n")
    assert text_of(events_of(second.content)[-1]["response"]) == "Hello"
    sent: Any = upstream.received[1].json
    roles = [one["role"] for one in sent["messages"]]
    assert roles[-3:] == ["assistant", "tool", "tool"]
    assert "tools[3]" in first.headers["x-openbridge-diagnostics"]


async def test_compaction_request_without_tools_is_accepted(upstream: Loopback) -> None:
    """No tools, and `tool_choice: auto` all the same."""
    body = {**BODY, "tools": [], "parallel_tool_calls": False}
    async with asked(settings_for(upstream.url)) as client:
        answer = await client.post("/v1/responses", json=body)

    sent: Any = upstream.received[0].json
    assert events_of(answer.content)[-1]["type"] == "response.completed"
    assert "tools" not in sent
    assert "tool_choice" not in sent


async def test_tools_that_come_as_an_item(upstream: Loopback) -> None:
    """`additional_tools` in place of `tools`."""
    item = {"type": "additional_tools", "role": "developer", "tools": TOOLS}
    body = {name: value for name, value in BODY.items() if name != "tools"}
    body["input"] = [item, *BODY["input"]]
    async with asked(settings_for(upstream.url)) as client:
        answer = await client.post("/v1/responses", json=body)

    items = [
        event["item"]["type"]
        for event in events_of(answer.content)
        if event["type"] == "response.output_item.done"
    ]
    assert "custom_tool_call" in items
