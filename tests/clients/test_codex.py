"""The Codex CLI against `openbridge serve`: commands run, files change."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.programs.client_programs import Codex, CodexTurn
from tests.support.servers.bridge_process import Gateway
from tests.support.servers.client_gateway import Bridge
from tests.support.servers.client_upstream import text_of

MODELS = ["m-1", "gpt-5.5", "gpt-6.1-sol"]
"""Codex knows nothing of the first, has a tool for patches with the second, and with the third
sends its tools as an item and works by scripts."""


def outputs(bridge: Bridge) -> list[str]:
    """Return the results of tools that the upstream got with the last request."""
    body: Any = bridge.upstream.received[-1].json
    return [text_of(one) for one in body["messages"] if one["role"] == "tool"]


def kinds(turn: CodexTurn) -> list[str]:
    """Return the types of what Codex did."""
    return [item["type"] for item in turn.items if item["type"] != "error"]


def named(model: str) -> Any:
    return pytest.param(model, marks=pytest.mark.recorded_as(f"codex_{model}", "@openai/codex"))


@pytest.mark.parametrize("model", list(map(named, MODELS)))
def test_shell_command_runs_and_its_output_reaches_the_upstream(
    bridge: Bridge, tmp_path: Path, model: str
) -> None:
    """The shell tool runs, writes a file, and its output reaches the upstream."""
    turn = Codex(tmp_path, bridge.url, model=model).run("Run the command.")

    assert turn.code == 0, turn
    assert (turn.folder / "made.txt").read_text() == "from a command"
    assert "from a command" in turn.text
    assert "from a command" in outputs(bridge)[-1]
    assert kinds(turn)[-2:] == ["command_execution", "agent_message"]


@pytest.mark.recorded_as("codex_patch", "@openai/codex")
def test_apply_patch_receives_the_raw_patch(bridge: Bridge, tmp_path: Path) -> None:
    """`apply_patch` gets the raw patch: one file is new, another changed."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "old.txt").write_text("first\nbefore\nlast\n")

    turn = Codex(tmp_path, bridge.url, model="gpt-5.5").run("Apply the patch.")

    assert turn.code == 0, turn
    assert (project / "made.txt").read_text() == "héllo from a patch\n"
    assert (project / "old.txt").read_text() == "first\nafter\nlast\n"
    assert "file_change" in kinds(turn)
    assert "made.txt" in outputs(bridge)[-1]


def test_output_schema_is_enforced_by_the_upstream(bridge: Bridge, tmp_path: Path) -> None:
    """`--output-schema` is held to by the upstream."""
    schema = tmp_path / "schema.json"
    schema.write_text(
        '{"type":"object","properties":{"yes":{"type":"boolean"}},'
        '"required":["yes"],"additionalProperties":false}'
    )
    turn = Codex(tmp_path, bridge.url).run("Is water wet?", "--output-schema", str(schema))

    sent: Any = bridge.upstream.received[-1].json
    assert turn.text == '{"yes": true}'
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["yes"]


def test_attached_image_reaches_the_upstream(bridge: Bridge, tmp_path: Path) -> None:
    """An attached picture reaches the upstream."""
    picture = tmp_path / "picture.png"
    picture.write_bytes(PIXEL)
    turn = Codex(tmp_path, bridge.url, model="gpt-5.5").run("Say hello.", f"--image={picture}")

    sent: Any = bridge.upstream.received[-1].json
    parts = [
        part["type"]
        for one in sent["messages"]
        if isinstance(one["content"], list)
        for part in one["content"]
    ]
    assert turn.text == "Hello"
    assert "image_url" in parts


def test_resumed_session_sends_its_first_turn_again(bridge: Bridge, tmp_path: Path) -> None:
    """`codex exec resume` sends the first one again."""
    codex = Codex(tmp_path, bridge.url, model="gpt-5.5")
    codex.run("Run the command.")
    turn = codex.resume("Say hello.")

    sent: Any = bridge.upstream.received[-1].json
    assert turn.text == "Hello"
    assert [one["role"] for one in sent["messages"]].count("tool") == 1


@pytest.mark.recorded_as("codex_compaction", "@openai/codex")
def test_a_conversation_that_is_compacted(bridge: Bridge, tmp_path: Path) -> None:
    """When it is too long, Codex asks for a summary, without tools, and goes on from it."""
    codex = Codex(tmp_path, bridge.url, model="gpt-5.5", compact_at=4)
    codex.run("Say hello.")
    turn = codex.resume("Say hello again.")

    bodies: list[Any] = [one.json for one in bridge.upstream.received]
    assert turn.code == 0, turn
    assert turn.text == "Hello"
    assert ["tools" in body for body in bodies] == [True, False, True]


@pytest.mark.recorded_as("codex_remote_compaction", "@openai/codex")
def test_a_conversation_that_the_server_compacts(bridge: Bridge, tmp_path: Path) -> None:
    """With the provider's own URL Codex leaves the summary to the server, and sends it back."""
    codex = Codex(tmp_path, bridge.url, model="gpt-5.5", builtin=True, compact_at=4)
    codex.run("Say hello.")
    turn = codex.resume("Say hello again.")

    last: Any = bridge.upstream.received[-1].json
    assert turn.code == 0, turn
    assert turn.text == "Hello"
    assert "They said hello." in str(last["messages"])
    assert "assistant" not in [one["role"] for one in last["messages"]]


@pytest.mark.recorded_as("codex_unknown_tool", "@openai/codex")
def test_a_tool_that_does_not_exist(bridge: Bridge, tmp_path: Path) -> None:
    """Codex reports it to the model, and the turn continues."""
    turn = Codex(tmp_path, bridge.url).run("Call an unknown tool.")

    assert turn.code == 0, turn
    assert "unsupported call" in outputs(bridge)[-1]


@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_upstream_that_refuses(bridge: Bridge, tmp_path: Path, status: int) -> None:
    """The turn fails, and the user reads why."""
    turn = Codex(tmp_path, bridge.url).run(f"fail with {status}")
    failed = [event for event in turn.events if event["type"] == "turn.failed"]

    assert turn.code == 1
    assert len(failed) == 1
    assert "as you wish" in str(failed) or str({429: 429, 500: 502}.get(status)) in str(failed)


def test_a_stream_that_breaks_off(bridge: Bridge, tmp_path: Path) -> None:
    """It fails; half a response is not taken for a whole one."""
    turn = Codex(tmp_path, bridge.url).run("break off")

    assert turn.code == 1
    assert "turn.failed" in [event["type"] for event in turn.events]


def test_the_providers_own_url(bridge: Bridge, tmp_path: Path) -> None:
    """As OpenAI itself: over a WebSocket, which it tries first."""
    turn = Codex(tmp_path, bridge.url, model="gpt-5.5", builtin=True).run("Say hello.")

    asked = [line for line in bridge.lines() if line["event"] == "request"]
    assert turn.code == 0, turn
    assert turn.text == "Hello"
    assert [(line["method"], line["status"]) for line in asked if "responses" in line["path"]] == [
        ("GET", 101),
    ]
    assert "socket_request" in [line["event"] for line in bridge.lines()]


def test_the_local_model_talks(local: Gateway, tmp_path: Path) -> None:
    """A plain turn on the embedded model, with a prompt that it has room for.

    The model is tiny and its responses are sampled: one turn of three has to be a message.
    """
    codex = Codex(tmp_path, local.url, model="smollm2", small=True)
    turns: list[CodexTurn] = []
    while len(turns) < 3 and not any(turn.code == 0 and turn.has_message for turn in turns):
        turns.append(codex.run("Say hello."))

    assert turns[-1].code == 0, turns
    assert turns[-1].text


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
