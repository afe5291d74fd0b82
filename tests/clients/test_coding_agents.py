"""Coding agents against `openbridge serve`: a task of three tools, each over its own API."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from llmcore.bridge.model_map import model_map_from
from tests.support.programs.coding_agents import (
    AgentRun,
    aider,
    claude_code,
    copilot,
    gemini_cli,
    opencode,
    qwen,
)
from tests.support.servers.client_gateway import Bridge
from tests.support.servers.client_upstream import text_of
from tests.support.servers.front_gateways import gateway, served, service_for
from tests.support.servers.loopback import Answer, Received, serve
from tests.support.wire import anthropic, responses
from tests.support.wire.matrix import ANTHROPIC, GEMINI, OPENAI, Column, Said

AGENTS: dict[str, Callable[[Path, str, str], AgentRun]] = {
    "claude-code": claude_code,
    "gemini-cli": gemini_cli,
    "opencode-chat": partial(opencode, package="@ai-sdk/openai-compatible"),
    "opencode-messages": partial(opencode, package="@ai-sdk/anthropic"),
    "opencode-gemini": partial(opencode, package="@ai-sdk/google"),
    "copilot-chat": copilot,
    "copilot-responses": partial(copilot, PROVIDER_WIRE_API="responses"),
    "copilot-messages": partial(copilot, PROVIDER_TYPE="anthropic"),
    "qwen-chat": partial(qwen, api="openai"),
    "qwen-messages": partial(qwen, api="anthropic"),
    "qwen-gemini": partial(qwen, api="gemini"),
}


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_reads_writes_and_runs_a_command(
    bridge: Bridge, tmp_path: Path, name: str
) -> None:
    """Each result reaches the upstream, the file is there, and the last text is shown."""
    project, task = _project_and_task(tmp_path)

    run = AGENTS[name](tmp_path, bridge.url, task)

    results = _results(bridge)
    assert run.code == 0, run
    assert (project / "made.txt").read_text() == "from an agent", run
    assert "before the agent" in results[0]
    assert "from an agent" in results[-1]
    assert "That is:" in run.output
    assert _failed_requests(bridge) == []


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"PROVIDER_WIRE_API": "responses"},
        {"PROVIDER_WIRE_API": "responses", "PROVIDER_TRANSPORT": "websockets"},
    ],
    ids=["chat", "responses", "websocket"],
)
def test_copilot_edits_by_a_freeform_tool(
    bridge: Bridge, tmp_path: Path, variables: dict[str, str]
) -> None:
    """For models of OpenAI's it offers a freeform `apply_patch`, which the upstream lacks."""
    project, task = _project_and_task(tmp_path)
    named = {"PROVIDER_MODEL_ID": "gpt-5.4", "PROVIDER_WIRE_MODEL": "m-1"}

    run = copilot(tmp_path, bridge.url, task, **named, **variables)

    assert run.code == 0, run
    assert (project / "made.txt").read_text().strip() == "from an agent", run
    assert "from an agent" in _results(bridge)[-1]
    offered = [tool["type"] for body in _bodies(bridge) for tool in body.get("tools", ())]
    assert set(offered) == {"function"}
    assert _failed_requests(bridge) == []


@pytest.mark.parametrize("column", [OPENAI, GEMINI], ids=["responses", "gemini"])
def test_claude_code_prints_what_a_model_with_sealed_state_said(
    tmp_path: Path, column: Column
) -> None:
    """It takes the last block of a response for its result."""
    said = column.streamed(column.whole(Said(text="It rains.", thinking="Hm.")))
    headers = {"content-type": column.stream_type}

    with (
        serve(lambda _: Answer([said], headers=headers)) as upstream,
        gateway(column.model_at(upstream.url)) as url,
    ):
        run = claude_code(tmp_path, url, "Does it rain?")

    assert (run.code, run.output.strip()) == (0, "It rains."), run


def test_claude_code_prints_the_text_after_a_search_that_it_cannot_see(tmp_path: Path) -> None:
    """The state of the search is in a block before the text."""
    found = responses.HOSTED["file_search"][0]
    document = responses.document([found, responses.message("It rains.")])
    said = OPENAI.streamed(document)

    with (
        serve(lambda _: Answer([said], headers={"content-type": OPENAI.stream_type})) as upstream,
        gateway(OPENAI.model_at(upstream.url)) as url,
    ):
        run = claude_code(tmp_path, url, "Does it rain?")

    assert (run.code, run.output.strip()) == (0, "It rains."), run


def test_claude_code_sends_thinking_back_to_a_model_with_another_name(tmp_path: Path) -> None:
    """It drops that of a response whose model is not the one that it asked for."""
    project, _ = _project_and_task(tmp_path)
    reads = {"file_path": f"{project}/old.txt"}
    thinking = anthropic.thinking("A file, hm.", "c2lnbmVk")
    steps = [
        anthropic.message(thinking, anthropic.tool_use("Read", reads), stop="tool_use"),
        anthropic.message(anthropic.text("Read.")),
    ]

    def handler(received: Received) -> Answer:
        step = steps[b"tool_result" in received.body]
        stream = anthropic.sse(anthropic.stream_of(step))
        return Answer([stream], headers={"content-type": ANTHROPIC.stream_type})

    with serve(handler) as upstream:
        names = model_map_from({"models": {"m-1": "up/claude-opus-4-6"}}, "up")
        service = service_for(ANTHROPIC.model_at(upstream.url), names)
        with served(service) as url:
            run = claude_code(tmp_path, url, "Read the file.")

    assert (run.code, run.output.strip()) == (0, "Read."), run
    last: Any = upstream.received[-1].json
    turn = next(one for one in last["messages"] if one["role"] == "assistant")
    assert turn["content"][0] == thinking


def test_aider_writes_a_file_from_text_alone(bridge: Bridge, tmp_path: Path) -> None:
    """It sends no tools; the file is in the response."""
    run = aider(tmp_path, bridge.url, "Make the file in one block.")

    assert run.code == 0, run
    assert (run.project / "made.txt").read_text() == "from text alone\n", run
    assert _failed_requests(bridge) == []


def _project_and_task(folder: Path) -> tuple[Path, str]:
    """Return a project with a file below *folder*, and what the agent is to do in it."""
    project = folder / "project"
    project.mkdir()
    (project / "old.txt").write_text("before the agent")
    return project, f"Read {project}/old.txt, write {project}/made.txt and run the command."


def _results(bridge: Bridge) -> list[str]:
    """Return the results of tools that the upstream got with the request that has most."""
    found = [
        [text_of(one) for one in body.get("messages", ()) if one["role"] == "tool"]
        for body in _bodies(bridge)
    ]
    return max(found, key=len, default=[])


def _bodies(bridge: Bridge) -> list[Any]:
    return [one.json for one in bridge.upstream.received if one.json]


def _failed_requests(bridge: Bridge) -> list[Any]:
    asked = [line for line in bridge.lines() if line["event"] == "request"]
    return [line for line in asked if line["status"] >= 400]
