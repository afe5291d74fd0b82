"""Limits of keys as time passes and as they are changed, at the gateway's HTTP interface."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import httpx
import pytest
from attrs import evolve

from llmcore.bridge.accounts import meters
from llmcore.bridge.accounts.issued_key import KeyLimits, period_name
from llmcore.bridge.accounts.issued_keys import KeyRegistry
from llmcore.bridge.configuration.settings import AccountSettings, GatewaySettings
from llmcore.bridge.state.ledger import Ledger
from llmcore.bridge.state.stores import ledger_for
from tests.support.servers.bridge_service import asked, settings_for, sqlite_state
from tests.support.servers.loopback import Answer, Loopback, Received, chat_whole, serve

pytestmark = pytest.mark.anyio


def answering(_received: Received) -> Answer:
    """Use 100 tokens for every request."""
    usage = {"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100}
    data = json.dumps({**json.loads(chat_whole("Hello.")), "usage": usage}).encode()
    return Answer([data], headers={"content-type": "application/json"}, length=len(data))


@pytest.fixture
def upstream() -> Iterator[Loopback]:
    with serve(answering) as running:
        yield running


@pytest.fixture
def settings(upstream: Loopback, tmp_path: Path) -> GatewaySettings:
    accounts = AccountSettings(issued_keys=True)
    return settings_for(upstream.url, state=sqlite_state(tmp_path), accounts=accounts)


@pytest.fixture
def ledger(settings: GatewaySettings) -> Iterator[Ledger]:
    made = ledger_for(settings)
    yield made
    made.close()


async def ask(client: httpx.AsyncClient, text: str, most: int) -> httpx.Response:
    """Ask with the key *text* for at most *most* tokens of output."""
    body: dict[str, Any] = {"model": "m-1", "input": "Hi", "max_output_tokens": most}
    headers = {"authorization": f"Bearer {text}"}
    return await client.post("/v1/responses", json={**body, "store": False}, headers=headers)


@pytest.mark.parametrize("period", ["day", "week", "month"])
async def test_a_budget_begins_anew_with_each_period(
    settings: GatewaySettings, ledger: Ledger, period: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a key that was at its end, and without anything that has to run at midnight."""
    at = 1767225599.0  # 2025-12-31 23:59:59 UTC, a Wednesday
    monkeypatch.setattr(meters, "period_name", lambda kind, _now, zone: period_name(kind, at, zone))
    _, text = KeyRegistry(ledger).create(KeyLimits(budget_tokens=500, period=period))
    async with asked(settings) as client:
        first = [(await ask(client, text, 250)).status_code for _ in range(4)]
        at += 7 * 86_400
        later = await ask(client, text, 250)

    assert first[0] == 200
    assert first[-1] == 429
    assert later.status_code == 200


async def test_periods_begin_at_midnight_of_the_configured_time_zone(
    settings: GatewaySettings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """23:30 UTC is the next day in Berlin; what a key used is shown for the same period."""
    at = 1767223800.0  # 2025-12-31 23:30 UTC
    monkeypatch.setattr(meters, "period_name", lambda kind, _now, zone: period_name(kind, at, zone))
    berlin = evolve(
        settings.accounts, time_zone=ZoneInfo("Europe/Berlin"), admin_key="an admin key 1234567"
    )
    key, text = KeyRegistry(ledger).create(KeyLimits(budget_tokens=500, period="month"))
    admin = {"authorization": "Bearer an admin key 1234567"}
    async with asked(evolve(settings, accounts=berlin)) as client:
        assert (await ask(client, text, 250)).status_code == 200
        at += 86_400
        later = await client.get(f"/admin/keys/{key.id}", headers=admin)
        at -= 2 * 86_400
        before = await client.get(f"/admin/keys/{key.id}", headers=admin)

    assert later.json()["used"]["tokens"] > 0, "both are in January"
    assert before.json()["used"] == {"tokens": 0}


@pytest.mark.slow
async def test_a_changed_budget_holds_within_a_second(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """Raised or lowered, with what was used before."""
    keys = KeyRegistry(ledger)
    key, text = keys.create(KeyLimits(budget_tokens=120))
    statuses = []
    async with asked(settings) as client:
        for budget in (120, 5000, 60):
            keys.update(key.id, {"budget_tokens": budget})
            await anyio.sleep(1.0)
            statuses.append((await ask(client, text, 250)).status_code)

    assert statuses == [429, 200, 429]


async def test_tokens_a_minute_add_up_and_are_not_a_number_of_requests(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """The refusal states when the next request fits."""
    _, text = KeyRegistry(ledger).create(KeyLimits(tokens_per_minute=500))
    granted = 0
    async with asked(settings) as client:
        while (answer := await ask(client, text, 20)).status_code == 200:
            granted += 1
            await anyio.sleep(0.2)

    assert 3 <= granted <= 9
    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"
    assert answer.json()["error"]["message"] == "this key allows 500 tokens a minute"
    assert 1 <= int(answer.headers["retry-after"]) <= 60
