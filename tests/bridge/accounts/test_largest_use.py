"""Reservations for requests that state in several ways how much they may use."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from llmcore.bridge.accounts.issued_key import KeyLimits
from llmcore.bridge.accounts.issued_keys import KeyRegistry
from llmcore.bridge.configuration.settings import AccountSettings, GatewaySettings
from llmcore.bridge.state.ledger import Ledger
from llmcore.bridge.state.stores import ledger_for
from llmcore.testing import scripted
from tests.support.servers.bridge_service import asked, settings_for, sqlite_state

pytestmark = pytest.mark.anyio

REFUSED: Any = (400, {}, {"error": {"message": "no"}})
"""The answer of the upstream to every request."""


@pytest.fixture
def settings(tmp_path: Path) -> GatewaySettings:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"openai-compatible/m-1": {"input": 1.0, "output": 2.0}}))
    accounts = AccountSettings(issued_keys=True, prices_path=prices)
    return settings_for("http://127.0.0.1:1", state=sqlite_state(tmp_path), accounts=accounts)


@pytest.fixture
def ledger(settings: GatewaySettings) -> Iterator[Ledger]:
    made = ledger_for(settings)
    yield made
    made.close()


def key_for(ledger: Ledger, **limits: Any) -> dict[str, str]:
    """Return the headers of a client with a new key."""
    _, text = KeyRegistry(ledger).create(KeyLimits(**limits))
    return {"authorization": f"Bearer {text}"}


def chat(**more: Any) -> dict[str, Any]:
    return {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}], **more}


@pytest.mark.parametrize("relay", [False, True])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_tokens": 0},
        {"max_tokens": -9},
        {"max_completion_tokens": 9, "max_tokens": 5000},
        {"max_completion_tokens": 5000, "max_tokens": 9},
        {"max_tokens": 9, "n_predict": 5000},
        {"max_tokens": 9, "n_predict": -1},
        {"max_tokens": 9, "max_new_tokens": 5000},
        {"max_tokens": 9, "best_of": 500},
    ],
    ids=str,
)
async def test_the_highest_of_all_output_limits_is_reserved(
    settings: GatewaySettings, ledger: Ledger, limits: dict[str, int], relay: bool
) -> None:
    """Servers differ in which one they take, and some read 0 or less as none."""
    upstream, mine = scripted(REFUSED), key_for(ledger, budget_tokens=1000)
    async with asked(evolve(settings, relay=relay), upstream) as client:
        answer = await client.post("/v1/chat/completions", json=chat(**limits), headers=mine)

    assert (answer.status_code, len(upstream.requests)) == (429, 0)
    assert answer.json()["error"]["code"] == "insufficient_quota"


@pytest.mark.parametrize("relay", [False, True])
@pytest.mark.parametrize("budget", [{"budget_tokens": 10**15}, {"budget_usd": 1e6}], ids=str)
async def test_an_output_limit_that_no_store_can_hold_is_refused(
    settings: GatewaySettings, ledger: Ledger, budget: dict[str, Any], relay: bool
) -> None:
    upstream, mine = scripted(REFUSED), key_for(ledger, **budget)
    async with asked(evolve(settings, relay=relay), upstream) as client:
        asking = json.dumps(chat(max_tokens=10**400))
        headers = {**mine, "content-type": "application/json"}
        answer = await client.post("/v1/chat/completions", content=asking, headers=headers)

    assert (answer.status_code, len(upstream.requests)) == (429, 0)


@pytest.mark.parametrize("relay", [False, True])
async def test_the_speed_of_messages_sets_the_price_that_is_reserved(
    settings: GatewaySettings, ledger: Ledger, relay: bool
) -> None:
    """1000 tokens of output cost 2.5 cents, and 5 in the fast mode."""
    environ = {"ANTHROPIC_API_KEY": "sk-1"}
    configured = evolve(settings, upstream="anthropic", environ=environ, relay=relay)
    upstream, mine = scripted(REFUSED), key_for(ledger, budget_usd=0.04)
    async with asked(configured, upstream) as client:
        asking = chat(model="claude-opus-4-8", max_tokens=1000)
        fast = await client.post("/v1/messages", json={**asking, "speed": "fast"}, headers=mine)
        standard = await client.post("/v1/messages", json=asking, headers=mine)

    assert (fast.status_code, standard.status_code) == (402, 400)
    assert len(upstream.requests) == 1
