"""Claude Code in front of servers of the Messages API that lack its beta features."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import httpx
import pytest

from tests.support.programs.request_recorder import load
from tests.support.servers.front_gateways import gateway
from tests.support.servers.loopback import Answer, Received, serve
from tests.support.wire.matrix import ANTHROPIC, BEDROCK, OPENAI, Said, playing

RECORDED = load("claude_code").requests[0]["body"]
HEADERS = {
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14,"
    "context-management-2025-06-27,advanced-tool-use-2025-11-20,"
    "prompt-caching-scope-2026-01-05,invented-2099-01-01"
}
TOOL: dict[str, Any] = {
    "name": "look",
    "input_schema": {"type": "object", "properties": {"scope": {"type": "string"}}},
    "input_examples": [{"scope": "all"}],
    "eager_input_streaming": True,
    "cache_control": {"type": "ephemeral", "scope": "global"},
}
BODY: dict[str, Any] = {
    **RECORDED,
    "stream": False,
    "tools": [*RECORDED["tools"], TOOL, {**TOOL, "name": "later", "defer_loading": True}],
}
SAID = Said(text="It rains.")
relaying = pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])


def refusal(message: str) -> Answer:
    """Return a 400 as Anthropic has it."""
    error = {"type": "invalid_request_error", "message": message}
    data = json.dumps({"type": "error", "error": error}).encode()
    return Answer([data], 400, {"content-type": "application/json"}, len(data))


def serving(refuse: Callable[[Received], str | None]) -> Callable[[Received], Answer]:
    """Return a server of the Messages API that refuses what *refuse* has a message for."""

    def handler(received: Received) -> Answer:
        message = refuse(received)
        if message is not None:
            return refusal(message)
        data = json.dumps(ANTHROPIC.whole(SAID)).encode()
        return Answer([data], headers={"content-type": "application/json"}, length=len(data))

    return handler


def betas(received: Received) -> list[str]:
    """Return the features that a request names."""
    return [name for name in received.headers.get("anthropic-beta", "").split(",") if name]


def fields(received: Received) -> Iterable[str]:
    """Yield the paths of fields that came with beta features, as the server names them."""
    body = json.loads(received.body)
    if "context_management" in body:
        yield "context_management"
    for number, tool in enumerate(body["tools"]):
        for name in ("input_examples", "eager_input_streaming", "defer_loading"):
            if name in tool:
                yield f"tools.{number}.custom.{name}"
        if "scope" in tool.get("cache_control", {}):
            yield f"tools.{number}.custom.cache_control.scope"


def old_server(received: Received) -> str | None:
    """Refuse the first field that came with a beta feature."""
    path = next(iter(fields(received)), None)
    return None if path is None else f"{path}: Extra inputs are not permitted"


def vertex(received: Received) -> str | None:
    """Refuse features by their names, and fields whose feature is not named."""
    known = ("claude-code-20250219", "interleaved-thinking-2025-05-14")
    unknown = [f"`{name}`" for name in betas(received) if name not in known]
    if unknown:
        return f"Unexpected value(s) {', '.join(unknown)} for the `anthropic-beta` header."
    lost = [path for path in fields(received) if "eager" not in path]
    return f"{lost[0]}: Extra inputs are not permitted" if lost else None


def bedrock(received: Received) -> str | None:
    """Refuse every feature without a name."""
    return "invalid beta flag" if betas(received) else None


@relaying
@pytest.mark.parametrize("refuse", [old_server, vertex, bedrock])
def test_a_server_without_the_features_answers_all_the_same(
    refuse: Callable[[Received], str | None], relay: bool
) -> None:
    """The features are reported, with the fields that they brought; the rest is sent as before."""
    with (
        serve(serving(refuse)) as server,
        gateway(ANTHROPIC.model_at(server.url), relay=relay) as url,
    ):
        answer = httpx.post(f"{url}/v1/messages?beta=true", json=BODY, headers=HEADERS)
        first, *_, last = (json.loads(one.body) for one in server.received)

    assert answer.status_code == 200, answer.text
    assert answer.json()["content"][0]["text"] == "It rains."
    assert answer.headers["x-openbridge-dropped"]
    assert "parameter-removed" in answer.headers["x-openbridge-diagnostics"]
    assert last["messages"] == first["messages"]
    assert [tool["name"] for tool in last["tools"]] == [tool["name"] for tool in first["tools"]]
    assert last["tools"][-1]["input_schema"]["properties"] == {"scope": {"type": "string"}}


@relaying
def test_a_field_that_changes_the_response_is_not_left_out(relay: bool) -> None:
    """The refusal reaches the client with the server's words."""
    message = "messages.0.content.0.text.mood: Extra inputs are not permitted"
    with (
        serve(lambda _: refusal(message)) as server,
        gateway(ANTHROPIC.model_at(server.url), relay=relay) as url,
    ):
        answer = httpx.post(f"{url}/v1/messages?beta=true", json=BODY, headers=HEADERS)

    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]
    assert len(server.received) == 1


def test_bedrock_gets_no_feature_of_the_client() -> None:
    """Converse refuses those that it does not know: the features' fields are reported."""
    with playing(BEDROCK, SAID) as scene, gateway(scene.model) as url:
        answer = httpx.post(f"{url}/v1/messages?beta=true", json=BODY, headers=HEADERS)

    assert answer.status_code == 200, answer.text
    sent = json.dumps(scene.bodies)
    assert "anthropic_beta" not in sent
    assert not any(name in sent for name in ("context_management", "eager_input", "2099"))
    assert "context_management" in answer.headers["x-openbridge-diagnostics"]


def test_a_tool_that_a_search_found_is_offered_to_another_upstream() -> None:
    """The client's own search names it; tools that were not found yet are not sent."""
    deferred = [{**TOOL, "name": name, "defer_loading": True} for name in ("found", "hidden")]
    search = {"name": "ToolSearch", "input_schema": {"type": "object"}}
    turn: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "ToolSearch", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "tool_reference", "tool_name": "found"}],
                }
            ],
        },
    ]
    body = {"model": "m", "max_tokens": 90, "messages": turn, "tools": [search, *deferred]}
    with playing(OPENAI, Said(cities=("Oslo",))) as scene, gateway(scene.model) as url:
        answer = httpx.post(f"{url}/v1/messages", json=body)

    assert answer.status_code == 200, answer.text
    assert {tool["name"] for tool in scene.bodies[0]["tools"]} == {"ToolSearch", "found"}
    assert "found" in json.dumps(scene.bodies[0]["input"][-1])
