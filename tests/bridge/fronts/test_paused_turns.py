"""Turns that Anthropic's own tools pause: the gateway continues them for clients that cannot.

Source: https://platform.claude.com/docs/build-with-claude/handling-stop-reasons, read November
2026.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from llmcore.bridge.accounts.issued_key import KeyLimits
from llmcore.bridge.accounts.issued_keys import KeyRegistry
from llmcore.bridge.configuration.settings import AccountSettings, GatewaySettings
from llmcore.bridge.state.stores import ledger_for
from llmcore.testing import scripted
from tests.bridge.accounts.test_charges import rows_soon, used_of
from tests.support.servers.bridge_service import asked, settings_for, sqlite_state

pytestmark = pytest.mark.anyio

ADMIN_KEY = "admin-key-of-the-tests"
MODEL = "claude-opus-4-5"
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
SAYS = {"type": "text", "text": "I search. "}
RAINS = {"type": "text", "text": "It rains."}
SAID = [{"role": "user", "content": "Weather?"}]
FRONTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"model": MODEL, "messages": SAID}),
    "responses": ("/v1/responses", {"model": MODEL, "input": "Weather?", "store": False}),
    "gemini": (
        f"/v1beta/models/{MODEL}:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]},
    ),
}


def answer(stop: str, *content: Any, streamed: bool) -> Any:
    """Return a response of Anthropic's, whole or as a stream."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL}
    usage = {"input_tokens": 10, "output_tokens": 5}
    if not streamed:
        return {**head, "content": list(content), "stop_reason": stop, "usage": usage}
    start: dict[str, Any] = {**head, "content": [], "stop_reason": None, "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(content):
        is_text = block["type"] == "text"
        begun = {**block, "text": ""} if is_text else block
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        if is_text:
            delta = {"type": "text_delta", "text": block["text"]}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    return (200, {"content-type": "text/event-stream"}, text)


@pytest.fixture
def settings(tmp_path: Path) -> GatewaySettings:
    made = settings_for(
        "http://127.0.0.1:9",
        accounts=AccountSettings(issued_keys=True, admin_key=ADMIN_KEY),
        state=sqlite_state(tmp_path),
        check_stream=True,
    )
    key = {"ANTHROPIC_API_KEY": "sk-1"}
    return evolve(made, upstream="anthropic", upstream_base_url=None, environ=key)


async def ask(
    settings: GatewaySettings,
    front: str,
    answers: list[Any],
    *,
    streamed: bool,
    budget: int = 10**9,
    limit: int | None = None,
) -> tuple[str, list[Any], Any, Any]:
    """Return the text of the response, the upstream's requests, the row, and what is used."""
    ledger = ledger_for(settings)
    key, text = KeyRegistry(ledger).create(KeyLimits(budget_tokens=budget))
    upstream = scripted(*answers)
    path, body = FRONTS[front]
    if streamed and front == "gemini":
        path = path.replace("generateContent", "streamGenerateContent?alt=sse")
    elif streamed:
        body = {**body, "stream": True}
    if limit is not None:
        body = {**body, "max_completion_tokens": limit, "max_output_tokens": limit}
    async with asked(settings, upstream, **{"x-api-key": text}) as client:
        got = await client.post(path, json=body)
        (row,) = await rows_soon(ledger, 1)
        admin = {"authorization": f"Bearer {ADMIN_KEY}"}
        metrics = (await client.get("/metrics", headers=admin)).text
    used = used_of(ledger, key.id)
    ledger.close()
    assert got.status_code == 200, got.text
    assert "openbridge_stream_violations_total 0.0" in metrics
    return got.text, upstream.bodies, row, used


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_paused_turn_is_continued_as_one_response(
    settings: GatewaySettings, front: str, streamed: bool
) -> None:
    """Its texts follow each other, and each call is charged."""
    paused = answer("pause_turn", SAYS, SEARCH, FOUND, streamed=streamed)
    ended = answer("end_turn", RAINS, streamed=streamed)
    text, (first, second), row, used = await ask(
        settings, front, [paused, ended], streamed=streamed
    )

    sent = second["messages"][len(first["messages"]) :]
    assert [message["role"] for message in sent] == ["assistant"]
    kinds = [block["type"] for block in sent[0]["content"]]
    assert kinds == ["text", "server_tool_use", "web_search_tool_result"]
    assert 0 < text.index("I search. ") < text.index("It rains.")
    assert (row.input_tokens, row.output_tokens, row.outcome) == (20, 10, "completed")
    assert used == {"tokens": 30}


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_that_pauses_without_end_is_continued_five_times(
    settings: GatewaySettings, streamed: bool
) -> None:
    paused = [answer("pause_turn", SEARCH, FOUND, streamed=streamed) for _ in range(9)]
    _, bodies, row, used = await ask(settings, "chat", paused, streamed=streamed)

    assert len(bodies) == 6
    assert (row.input_tokens, row.output_tokens) == (60, 30)
    assert used == {"tokens": 90}


REFUSED = (529, {"content-type": "application/json"}, '{"type": "error", "error": {}}')
CUT = {
    "chat": '"finish_reason":"length"',
    "responses": '"status":"incomplete"',
    "gemini": '"finishReason":"MAX_TOKENS"',
}


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_whose_continuation_is_refused_ends_with_what_there_is(
    settings: GatewaySettings, front: str, streamed: bool
) -> None:
    """It is paid, so its client gets it, as a response that was cut off."""
    paused = answer("pause_turn", SAYS, SEARCH, FOUND, streamed=streamed)
    refusing = evolve(settings, retries=1)
    text, bodies, row, used = await ask(
        refusing, front, [paused, REFUSED, REFUSED], streamed=streamed
    )

    assert len(bodies) == 3
    assert "I search. " in text
    assert CUT[front] in text.replace(" ", "")
    assert (row.input_tokens, row.output_tokens) == (10, 5)
    assert row.error is None
    assert used == {"tokens": 15}


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_is_not_continued_beyond_the_budget(
    settings: GatewaySettings, streamed: bool
) -> None:
    """Each call reserves its prompt and the output limit, beside what the first one has used."""
    paused = [answer("pause_turn", SAYS, SEARCH, FOUND, streamed=streamed) for _ in range(6)]
    text, bodies, row, used = await ask(
        settings, "chat", paused, streamed=streamed, budget=260, limit=100
    )

    assert 1 <= len(bodies) < 6
    assert CUT["chat"] in text.replace(" ", "")
    assert used == {"tokens": 15 * len(bodies)}
    assert row.outcome == "incomplete"


async def test_the_reason_why_a_turn_is_not_continued_is_reported(
    settings: GatewaySettings,
) -> None:
    upstream = scripted(answer("pause_turn", SAYS, SEARCH, FOUND, streamed=False), REFUSED)
    path, body = FRONTS["chat"]
    open_ = evolve(settings, accounts=AccountSettings(), retries=0)
    async with asked(open_, upstream) as client:
        got = await client.post(path, json=body)

    assert "noted turn-cut-short finish_reason" in got.headers["x-openbridge-diagnostics"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_whose_continuation_breaks_off_later_fails(
    settings: GatewaySettings, streamed: bool
) -> None:
    paused = answer("pause_turn", SAYS, SEARCH, FOUND, streamed=True)
    status, headers, text = answer("end_turn", RAINS, streamed=True)
    broken = (status, headers, text[: text.index("event: content_block_stop")])
    path, body = FRONTS["responses"]
    open_ = evolve(settings, accounts=AccountSettings())
    async with asked(open_, scripted(paused, broken)) as client:
        got = await client.post(path, json={**body, "stream": True})

    assert "It rains." in got.text
    assert "response.failed" in got.text


async def test_a_client_of_messages_continues_a_turn_itself(settings: GatewaySettings) -> None:
    body = {"model": MODEL, "max_tokens": 9, "messages": SAID}
    upstream = scripted(answer("pause_turn", SEARCH, FOUND, streamed=False))
    open_ = evolve(settings, accounts=AccountSettings(), relay=False)
    async with asked(open_, upstream) as client:
        got = await client.post("/v1/messages", json=body)

    assert (got.json()["stop_reason"], len(upstream.bodies)) == ("pause_turn", 1)
