"""The upstream request of one turn begins the next turn's, so that its cache is used."""

import json
import os
from typing import Any

import pytest
from attrs import evolve

from llmcore.client.client import Client
from llmcore.routes.anthropic import Anthropic
from llmcore.routes.google import Google
from llmcore.routes.openai import OpenAI
from llmcore.routes.openrouter import OpenRouter
from llmcore.schema.model import Model
from llmcore.schema.result import Success
from tests.fronts.openai_responses.client_requests import CODEX_TOOLS
from tests.fronts.openai_responses.responses_kit import codes, translated
from tests.support.programs.fresh_interpreter import run_fresh

BILLING = "x-anthropic-billing-header: cc_version=2.1.15.c5a; cch=%d;\n"
MODELS: dict[str, Model] = {
    "openai-chat": OpenAI.configure(api_key="k").chat("gpt-5.5"),
    "openai-responses": OpenAI.configure(api_key="k").responses("gpt-5.5"),
    "anthropic-messages": Anthropic.configure(api_key="k").model("claude-sonnet-5"),
    "gemini": Google.configure(api_key="k").model("gemini-3-pro"),
    "openrouter": OpenRouter.configure(api_key="k").model("z-ai/glm-5"),
}
HISTORY = {"openai-responses": "input", "gemini": "contents"}
CALL = {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"}
FIRST: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Look."},
    CALL,
]
LATER: list[dict[str, Any]] = [
    {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    {"role": "user", "content": "More."},
]


def body_of(upstream: str, items: list[dict[str, Any]], instructions: str) -> dict[str, Any]:
    """Return the native body for a request of Codex' kind."""
    protocol_id = "openai-chat" if upstream == "openrouter" else upstream
    asked = {
        "input": items,
        "instructions": instructions,
        "tools": CODEX_TOOLS,
        "prompt_cache_key": "session",
    }
    request = translated(asked, protocol_id=protocol_id).request
    prepared = Client(providers={}).prepare(evolve(request, model=MODELS[upstream]), streaming=True)
    assert isinstance(prepared, Success)
    body: dict[str, Any] = json.loads(prepared.unwrap().http.body)
    return body


def without_markers(value: Any) -> Any:
    """Return *value* without cache breakpoints, which move with the conversation."""
    if isinstance(value, dict):
        return {k: without_markers(v) for k, v in value.items() if k != "cache_control"}
    return [without_markers(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("upstream", MODELS)
def test_a_turn_begins_as_the_one_before(upstream: str) -> None:
    """All but the history is the same, and the history only grows."""
    instructions = "You are an agent."
    turn = without_markers(body_of(upstream, [*FIRST, *LATER[:1]], instructions))
    following = without_markers(body_of(upstream, [*FIRST, *LATER], instructions))

    name = HISTORY.get(upstream, "messages")
    before, after = turn.pop(name), following.pop(name)
    assert turn == following
    assert list(turn) == list(following)
    assert json.dumps(after[: len(before)]) == json.dumps(before)


@pytest.mark.parametrize("upstream", [name for name in MODELS if name != "anthropic-messages"])
def test_a_line_that_changes_each_time_is_left_out(upstream: str) -> None:
    """Claude Code's billing line would make each prompt a new one; a diagnostic reports it."""
    bodies = [
        body_of(
            upstream,
            [{"role": "developer", "content": BILLING % number}, *FIRST, *LATER],
            f"{BILLING % number}You are an agent.",
        )
        for number in (1, 2)
    ]

    assert bodies[0] == bodies[1]
    assert "billing" not in json.dumps(bodies[0])
    assert "You are an agent." in json.dumps(bodies[0])
    made = translated({"input": "x", "instructions": BILLING % 1})
    assert codes(made) == ["volatile-text-dropped"]
    assert made.request.system == ()


def test_anthropic_gets_the_billing_line() -> None:
    """It is who reads it."""
    body = body_of("anthropic-messages", FIRST + LATER, f"{BILLING % 1}You are an agent.")

    assert "cch=1" in json.dumps(body["system"])


PROGRAM = """
import json
from tests.fronts.openai_responses.test_prompt_prefix import FIRST, LATER, MODELS, body_of
print(json.dumps([body_of(name, FIRST + LATER, "You are an agent.") for name in MODELS]))
"""


@pytest.mark.slow
def test_two_processes_send_the_same_bytes() -> None:
    """The one that runs the tests, and another, whose hashes have another seed."""
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = run_fresh(PROGRAM, PYTHONHASHSEED=seed, PYTHONPATH=os.getcwd()).stdout

    own = json.dumps([body_of(name, FIRST + LATER, "You are an agent.") for name in MODELS])
    assert other.rstrip() == own
