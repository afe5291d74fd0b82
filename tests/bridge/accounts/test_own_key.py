"""`GET /v1/key`: what the key that is sent may do, and what is left of its budgets."""

from pathlib import Path

import anyio
import pytest

from llmcore.bridge.configuration.settings import AccountSettings
from tests.support.servers.bridge_service import asked, settings_for, sqlite_state
from tests.support.servers.loopback import chat_handler, serve
from tests.support.waiting import PATIENCE_S

ADMIN = {"authorization": "Bearer the admin's key"}
ACCOUNTS = AccountSettings(issued_keys=True, admin_key="the admin's key")
ASK = {"model": "m-1", "input": "Hi", "max_output_tokens": 100, "store": False}


@pytest.mark.anyio
async def test_an_issued_key_reads_its_limits_and_what_is_used(tmp_path: Path) -> None:
    with serve(chat_handler) as upstream:
        settings = settings_for(upstream.url, accounts=ACCOUNTS, state=sqlite_state(tmp_path))
        async with asked(settings) as client:
            limits = {"name": "ci", "models": ["m-*"], "budget_tokens": 1000, "period": "day"}
            made = (await client.post("/admin/keys", json=limits, headers=ADMIN)).json()
            mine = {"authorization": f"Bearer {made.pop('key')}"}
            new = (await client.get("/v1/key", headers=mine)).json()
            await client.post("/v1/responses", json=ASK, headers=mine)
            used: dict[str, int] = {}
            with anyio.fail_after(PATIENCE_S):
                while used != {"tokens": 5}:
                    used = (await client.get("/v1/key", headers=mine)).json()["used"]
            shown = (await client.get(f"/admin/keys/{made['id']}", headers=ADMIN)).json()
            last = (await client.get("/key", headers=mine)).json()

    assert new == {**made, "used": {"tokens": 0}, "resets_at": new["resets_at"]}
    assert new["resets_at"] > made["created_at"]
    assert last == shown == {**new, "used": {"tokens": 5}}
    assert len(upstream.received) == 1  # reading the key asks no model


@pytest.mark.anyio
async def test_a_key_without_limits_of_its_own_has_none() -> None:
    settings = settings_for("http://127.0.0.1:9", client_api_keys=("a key of the file",))
    async with asked(settings) as client:
        refused = await client.get("/v1/key")
        mine = {"x-api-key": "a key of the file"}
        shown = (await client.get("/v1/key", headers=mine)).json()

    assert refused.status_code == 401
    assert (shown["id"], shown["used"], shown["models"]) == (None, {}, [])
    assert {shown[name] for name in shown if name.startswith(("budget", "requests"))} == {None}
