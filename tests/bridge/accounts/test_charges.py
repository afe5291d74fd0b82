"""Keys, limits, budgets and spend at the gateway's HTTP interface."""

import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest
from attrs import evolve

from llmcore.bridge import service
from llmcore.bridge.accounts import charges
from llmcore.bridge.accounts.admin import used
from llmcore.bridge.accounts.issued_key import IssuedKey, KeyLimits
from llmcore.bridge.accounts.issued_keys import KEYS_ARE_OFF, KeyRegistry
from llmcore.bridge.accounts.meters import budget_meters
from llmcore.bridge.background.responses import BackgroundResponses
from llmcore.bridge.configuration.settings import AccountSettings, GatewaySettings
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.spend.report import spend_rows
from llmcore.bridge.spend.row import SpendRow
from llmcore.bridge.state.ledger import Ledger, Settlement
from llmcore.bridge.state.ledger_sql import SqliteLedger
from llmcore.bridge.state.stores import ledger_for
from llmcore.fronts.errors import overloaded
from llmcore.testing import scripted
from tests.bridge.pools.test_shared_limits import Late
from tests.bridge.service.test_websocket import connected, send, turn
from tests.support.servers.bridge_service import (
    JSON,
    asked,
    listening,
    refused,
    settings_for,
    sqlite_state,
    streamed,
)
from tests.support.servers.loopback import (
    DONE,
    Answer,
    Loopback,
    Received,
    chat_chunk,
    chat_whole,
    serve,
    sse,
)
from tests.support.waiting import PATIENCE_S, until, wait_until

PRICES = {"openai-compatible/m-1": {"input": 1.0, "output": 2.0}}
"""In dollars per million tokens: 1,000 and 2,000 nano-dollars a token."""
USAGE = {"prompt_tokens": 30, "completion_tokens": 20, "total_tokens": 50}
COST = 70_000
"""Of a response, in nano-dollars."""
ADMIN_KEY = "admin-key-of-the-tests"


def usage_chunk() -> bytes:
    return sse({"id": "c-1", "model": "m-1", "choices": [], "usage": USAGE})


def whole() -> Answer:
    message = {"role": "assistant", "content": "Hello."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = json.dumps({"id": "c-1", "model": "m-1", "choices": [choice], "usage": USAGE}).encode()
    return Answer([body], 200, JSON, length=len(body))


def answering(received: Received) -> Answer:
    """Answer 50 tokens to every request, streamed or whole; fail and stall on demand."""
    if received.method == "GET":
        return Answer([b'{"data": []}'], 200, JSON, length=12)
    body: Any = received.json
    text = json.dumps(body)
    if "fail" in text:
        return refused(500, "broken")
    if received.path.endswith("/embeddings"):
        vectors = {"data": [{"index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 30}}
        data = json.dumps(vectors).encode()
        return Answer([data], 200, JSON, length=len(data))
    if not body.get("stream"):
        return whole()
    if "break" in text:
        return streamed([chat_chunk(delta={"content": "Hello. " * 20})], cut=True)
    pause = 30.0 if "stall" in text else 0.3 if "slow" in text else 0.0
    parts = [chat_chunk(delta={"content": "Hello."}), pause, chat_chunk(finish_reason="stop")]
    return streamed([*parts, usage_chunk(), DONE])


@pytest.fixture
def upstream() -> Iterator[Loopback]:
    with serve(answering) as running:
        yield running


@pytest.fixture
def settings(upstream: Loopback, tmp_path: Path) -> GatewaySettings:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps(PRICES))
    accounts = AccountSettings(issued_keys=True, admin_key=ADMIN_KEY, prices_path=prices)
    return settings_for(upstream.url, state=sqlite_state(tmp_path), accounts=accounts)


@pytest.fixture
def ledger(settings: GatewaySettings) -> Iterator[Ledger]:
    made = ledger_for(settings)
    yield made
    made.close()


def key_for(ledger: Ledger, **limits: Any) -> tuple[str, dict[str, str]]:
    """Return the id of a new key, and the headers of a client with it."""
    key, text = KeyRegistry(ledger).create(KeyLimits(**limits))
    return key.id, {"authorization": f"Bearer {text}"}


def used_of(ledger: Ledger, id_: str) -> Any:
    """Return what a key has used of its budgets in this period."""
    key = KeyRegistry(ledger).get(id_)
    return used(ledger, budget_meters(key, time.time(), UTC))


def body(text: str = "Hi", **more: Any) -> dict[str, Any]:
    return {"model": "m-1", "input": text, "max_output_tokens": 100, "store": False, **more}


def rows(ledger: Ledger) -> list[SpendRow]:
    return list(spend_rows(ledger, 0.0, 1e11))


async def rows_soon(ledger: Ledger, count: int) -> list[SpendRow]:
    """Return the rows once there are *count*."""
    found: list[SpendRow] = []
    with anyio.move_on_after(PATIENCE_S):
        while len(found) < count:
            await anyio.sleep(0.02)
            found = await anyio.to_thread.run_sync(rows, ledger)
    assert len(found) >= count
    return found


async def budget(client: httpx.AsyncClient, id_: str) -> Any:
    """Return what is used of a key's budgets."""
    headers = {"authorization": f"Bearer {ADMIN_KEY}"}
    return (await client.get(f"/admin/keys/{id_}", headers=headers)).json()["used"]


# -- keys


@pytest.mark.anyio
async def test_only_issued_keys_are_admitted(settings: GatewaySettings, ledger: Ledger) -> None:
    """And only for their models, which lists of models show."""
    _, mine = key_for(ledger, models=("m-1", "other-*"))
    async with asked(settings) as client:
        ok = await client.post("/v1/responses", json=body(), headers=mine)
        none = await client.post("/v1/responses", json=body())
        wrong = {"x-api-key": "ob_0123456789_" + "x" * 43}
        unknown = await client.post("/v1/responses", json=body(), headers=wrong)
        other = await client.post("/v1/responses", json=body(model="m-2"), headers=mine)
        count = "/v1/responses/input_tokens"
        counted = await client.post(count, json={"model": "m-2", "input": "x"}, headers=mine)
        embedded = await client.post(
            "/v1/embeddings", json={"model": "m-2", "input": "x"}, headers=mine
        )
        shown = await client.get("/v1/models/m-2", headers=mine)
        own = await client.get("/v1/models/m-1", headers=mine)

    assert ok.status_code == own.status_code == 200
    assert (embedded.status_code, shown.status_code) == (403, 404)
    assert [none.status_code, unknown.status_code] == [401, 401]
    assert other.status_code == counted.status_code == 403
    assert other.json()["error"]["code"] == "model_not_allowed"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "fields",
    [
        {"models": ["m-1", "m-2"]},
        {"models": "m-2"},
        {"fallbacks": [{"model": "m-2", "max_tokens": 9}]},
        {"fallbacks": [{"m-1": ["m-2"]}]},
        {"context_window_fallbacks": [{"m-1": ["m-2"]}]},
        {"content_policy_fallbacks": [{"m-1": ["m-2"]}]},
        {"preset": "fast"},
        {"plugins": [{"id": "auto-router", "allowed_models": ["m-2"]}]},
        {"tools": [{"type": "image_generation", "model": "m-2"}]},
        {"tools": [{"type": "vendor:advisor", "parameters": {"model": "m-2"}}]},
    ],
)
async def test_a_key_must_allow_all_models_that_the_request_names(
    settings: GatewaySettings, ledger: Ledger, upstream: Loopback, fields: dict[str, Any]
) -> None:
    """An upstream may use them in place of the request's own, or besides it."""
    asking = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}], **fields}
    _, restricted = key_for(ledger, models=("m-1",))
    _, all_models = key_for(ledger)
    async with asked(settings) as client:
        refusal = await client.post("/v1/chat/completions", json=asking, headers=restricted)
        sent = len(upstream.received)
        passed = await client.post("/v1/chat/completions", json=asking, headers=all_models)

    assert (refusal.status_code, sent) == (403, 0)
    assert refusal.json()["error"]["code"] == "model_not_allowed"
    assert passed.status_code == 200, passed.text


@pytest.mark.anyio
async def test_a_key_sees_no_names_of_models_that_it_does_not_allow(
    settings: GatewaySettings, ledger: Ledger, tmp_path: Path
) -> None:
    path = tmp_path / "models.json"
    targets = {name: f"openai-compatible/{name}" for name in ("m-1", "m-2")}
    path.write_text(json.dumps({"models": targets}))
    _, restricted = key_for(ledger, models=("m-1",))
    _, all_models = key_for(ledger)
    async with asked(evolve(settings, model_map_path=path, ui="on")) as client:
        for url in ("/version", "/ui/api/status"):
            one = (await client.get(url, headers=restricted)).json()
            both = (await client.get(url, headers=all_models)).json()

            assert "m-2" not in json.dumps(one)
            assert "m-2" in json.dumps(both)


@pytest.mark.anyio
async def test_a_key_of_some_models_may_use_functions_of_any_parameters(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """Words of a function's schema are not models."""
    schema = {"type": "object", "properties": {"model": {"enum": ["m-2"]}}, "required": ["model"]}
    function = {"name": "choose", "parameters": schema}
    asking = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]}
    asking["tools"] = [{"type": "function", "function": function}]
    _, restricted = key_for(ledger, models=("m-1",))
    async with asked(settings) as client:
        answer = await client.post("/v1/chat/completions", json=asking, headers=restricted)

    assert answer.status_code == 200, answer.text


@pytest.mark.anyio
async def test_a_configured_key_is_valid_beside_issued_ones(settings: GatewaySettings) -> None:
    async with asked(evolve(settings, client_api_keys=("sk-mine",))) as client:
        ok = await client.post("/v1/responses", json=body(), headers={"x-api-key": "sk-mine"})

    assert ok.status_code == 200


def test_a_revocation_holds_at_another_gateway(settings: GatewaySettings, ledger: Ledger) -> None:
    """Two gateways on one store; the second has just used the key, and keeps it for a moment."""
    id_, mine = key_for(ledger)
    with listening(settings) as one, listening(settings) as two, httpx.Client() as client:

        def status(url: str) -> int:
            return client.get(f"{url}/models", headers=mine).status_code

        assert [status(one), status(two)] == [200, 200]
        admin = {"authorization": f"Bearer {ADMIN_KEY}"}
        gone = client.delete(f"{one.removesuffix('/v1')}/admin/keys/{id_}", headers=admin)
        wait_until(lambda: status(two) == 401)

    assert gone.json()["revoked_at"]


@pytest.mark.anyio
async def test_the_admin_creates_and_rotates_keys(settings: GatewaySettings) -> None:
    """The text of a key is in two responses and nowhere else; other keys are not admitted."""
    admin = {"authorization": f"Bearer {ADMIN_KEY}"}
    async with asked(settings) as client:
        given = {"name": "ci", "budget_usd": 2, "models": ["m-1"]}
        made = (await client.post("/admin/keys", json=given, headers=admin)).json()
        mine = {"x-api-key": made["key"]}
        ok = await client.post("/v1/responses", json=body(), headers=mine)
        turned = await client.post(f"/admin/keys/{made['id']}/rotate", json={}, headers=admin)
        changed = await client.post(f"/admin/keys/{made['id']}", json={"models": []}, headers=admin)
        listed = await client.get("/admin/keys", headers=admin)
        refused_ = [
            await client.get("/admin/keys", headers=mine),
            await client.get("/admin/keys"),
            await client.get("/v1/models", headers=admin),
            await client.post("/admin/keys", json={"budget": 2}, headers=admin),
            await client.post("/admin/keys", json={"budget_usd": -2}, headers=admin),
            await client.get("/admin/keys/0123456789", headers=admin),
            await client.get("/admin/usage?by=colour", headers=admin),
        ]
        report = await client.get("/admin/usage?by=key&since=1d", headers=admin)
    async with asked(evolve(settings, accounts=AccountSettings(issued_keys=True))) as client:
        off = await client.get("/admin/keys", headers=admin)

    assert ok.status_code == 200
    assert re.fullmatch(r"ob_[0-9a-f]{10}_[\w-]{43}", turned.json()["key"])
    assert turned.json()["key"] != made["key"]
    assert changed.json()["models"] == []
    assert [key["id"] for key in listed.json()["data"]] == [made["id"]]
    assert "ob_" not in listed.text
    assert [one.status_code for one in refused_] == [401, 401, 401, 400, 400, 404, 400]
    assert report.status_code == 200
    assert off.status_code == 404


@pytest.mark.anyio
async def test_a_list_of_keys_is_made_beside_the_event_loop(
    settings: GatewaySettings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have thousands of keys."""
    for name in ("one", "two"):
        key_for(ledger, name=name)
    threads: set[int] = set()
    shown = IssuedKey.shown

    def noted(key: IssuedKey) -> Any:
        threads.add(threading.get_ident())
        return shown(key)

    monkeypatch.setattr(IssuedKey, "shown", noted)
    async with asked(settings, authorization=f"Bearer {ADMIN_KEY}") as client:
        listed = (await client.get("/admin/keys")).json()

    assert [key["name"] for key in listed["data"]] == ["one", "two"]
    assert threading.get_ident() not in threads


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("method", "path", "sent", "said"),
    [
        ("POST", "/rotate", {"overlap_seconds": 10**400}, "from 0 to 1,000,000,000"),
        ("POST", "/rotate", {"overlap_seconds": 1e300}, "from 0 to 1,000,000,000"),
        ("POST", "/rotate", {"overlap_seconds": True}, "from 0 to 1,000,000,000"),
        ("POST", "", {"budget_usdd": None}, "unknown fields: budget_usdd"),
        ("GET", "/admin/usage?sinse=1d", None, "did you mean 'since'?"),
        ("GET", "/admin/usage?colour=1", None, "known: by, since, until"),
    ],
)
async def test_what_the_admin_did_not_mean_is_refused(
    settings: GatewaySettings, method: str, path: str, sent: Any, said: str
) -> None:
    """In place of other sums, of a limit that stays, or of a failure."""
    admin = {"authorization": f"Bearer {ADMIN_KEY}"}
    async with asked(settings, **admin) as client:
        made = (await client.post("/admin/keys", json={"name": "ci"})).json()
        url = path if path.startswith("/admin") else f"/admin/keys/{made['id']}{path}"
        answer = await client.request(method, url, json=sent)

    assert answer.status_code == 400, answer.text
    assert said in answer.json()["error"]["message"]


@pytest.mark.anyio
async def test_the_smallest_budget_is_one(settings: GatewaySettings, ledger: Ledger) -> None:
    """Of less than a billionth of a dollar, which is what amounts are counted in."""
    _, mine = key_for(ledger, budget_usd=1e-10)
    everyone = evolve(settings, accounts=evolve(settings.accounts, budget_usd=1e-10))
    async with asked(settings) as client:
        of_a_key = await client.post("/v1/responses", json=body(), headers=mine)
    _, other = key_for(ledger)
    async with asked(everyone) as client:
        of_all = await client.post("/v1/responses", json=body(), headers=other)

    assert (of_a_key.status_code, of_all.status_code) == (429, 429)


@pytest.mark.anyio
@pytest.mark.parametrize("issued", [False, True])
async def test_a_new_key_has_a_warning_where_issued_keys_are_off(
    settings: GatewaySettings, issued: bool
) -> None:
    """It would be refused, or would count for nothing."""
    admin = {"authorization": f"Bearer {ADMIN_KEY}"}
    accounts = evolve(settings.accounts, issued_keys=issued)
    async with asked(evolve(settings, accounts=accounts), **admin) as client:
        made = (await client.post("/admin/keys", json={"name": "ci"})).json()
        turned = (await client.post(f"/admin/keys/{made['id']}/rotate", json={})).json()
        shown = (await client.get(f"/admin/keys/{made['id']}")).json()

    assert [one.get("warning") == KEYS_ARE_OFF for one in (made, turned)] == [not issued] * 2
    assert "OPENBRIDGE_KEYS_ISSUED=true" in KEYS_ARE_OFF
    assert "warning" not in shown


@pytest.mark.anyio
@pytest.mark.parametrize("shown", [{}, {"client_api_keys": ("sk-client",)}])
@pytest.mark.parametrize(
    "path",
    [
        "//admin/keys",
        "//admin//keys/",
        "/%2Fadmin/keys",
        "/admin//keys",
        "//admin/usage",
        "//admin/ui/requests",
        "/%2fadmin%2fui%2fstatus",
    ],
)
async def test_no_spelling_of_an_admin_path_admits_another_key(
    settings: GatewaySettings, path: str, shown: dict[str, Any]
) -> None:
    """Slashes are joined before the caller is looked at, not only before the operation is."""
    gateway = evolve(settings, **shown)
    async with asked(gateway) as client:

        async def status(method: str, key: str) -> int:
            headers = {"authorization": f"Bearer {key}"}
            url = f"http://localhost{path}"
            answer = await client.request(method, url, json={"name": "mine"}, headers=headers)
            return answer.status_code

        of_client = [await status(method, "sk-client") for method in ("GET", "POST", "DELETE")]
        of_admin = await status("GET", ADMIN_KEY)

    assert 200 not in of_client
    assert of_client[0] == 401
    assert of_admin == 200


@pytest.mark.anyio
async def test_metrics_which_name_all_keys_are_not_shown_to_an_issued_key(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """They are read with the admin key, and where there is none with a configured one."""
    _, mine = key_for(ledger)
    configured = {"x-api-key": "sk-mine"}
    gateway = evolve(settings, client_api_keys=("sk-mine",))
    sent = (mine, configured, {"authorization": f"Bearer {ADMIN_KEY}"})
    async with asked(gateway) as client:
        with_admin = [(await client.get("/metrics", headers=one)).status_code for one in sent]
    async with asked(evolve(gateway, accounts=AccountSettings(issued_keys=True))) as client:
        without = [(await client.get("/metrics", headers=one)).status_code for one in sent]

    assert (with_admin, without) == ([401, 401, 200], [403, 200, 401])


# -- budgets


@pytest.mark.anyio
@pytest.mark.parametrize("relay", [False, True])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_is_charged_what_it_used(
    settings: GatewaySettings, ledger: Ledger, relay: bool, stream: bool
) -> None:
    """Translated and relayed, streamed and whole; the row and the budget agree."""
    id_, mine = key_for(ledger, budget_usd=1.0, budget_tokens=10_000, owner="tools")
    chat = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
    if stream:
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    path = "/v1/chat/completions" if relay else "/v1/responses"
    async with asked(evolve(settings, relay=relay)) as client:
        answer = await client.post(path, json=chat if relay else body(stream=stream), headers=mine)
        assert answer.status_code == 200, answer.text
        (row,) = await rows_soon(ledger, 1)
        spent = await budget(client, id_)

    assert spent == {"usd": COST / 1e9, "tokens": 50}
    assert (row.key, row.owner, row.model, row.provider) == (
        id_,
        "tools",
        "m-1",
        "openai-compatible",
    )
    assert (row.input_tokens, row.output_tokens, row.cost_nano) == (30, 20, COST)
    assert (row.outcome, row.streamed, row.estimated) == ("completed", stream, False)
    assert row.first_event_s is not None
    assert 0 < row.first_event_s <= row.seconds


@pytest.mark.anyio
async def test_embeddings_are_charged_and_held_to_a_budget(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    id_, mine = key_for(ledger, budget_tokens=150)
    asking = {"model": "m-1", "input": "Hi"}
    async with asked(settings) as client:
        answer = await client.post("/v1/embeddings", json=asking, headers=mine)
        assert answer.status_code == 200, answer.text
        (row,) = await rows_soon(ledger, 1)
        spent = await budget(client, id_)
        long = {"model": "m-1", "input": "word " * 1000}
        refusal = await client.post("/v1/embeddings", json=long, headers=mine)

    assert (row.input_tokens, row.output_tokens, row.cost_nano) == (30, 0, 30_000)
    assert (row.outcome, row.streamed, row.key) == ("completed", False, id_)
    assert spent == {"tokens": 30}
    assert refusal.status_code == 429


def failing_later(received: Received) -> Answer:
    """Answer a vector for each text, or refuse the request once that beside it was answered."""
    texts = json.loads(received.body)["input"]
    if "fail" in texts:
        refusal = refused(500, "broken")
        return evolve(refusal, script=[1.0, *refusal.script])
    vectors = [{"index": number, "embedding": [0.5]} for number in range(len(texts))]
    data = json.dumps({"data": vectors, "usage": {"prompt_tokens": 30}}).encode()
    return Answer([data], 200, JSON, length=len(data))


@pytest.mark.anyio
async def test_embeddings_that_fail_are_charged_for_the_requests_that_succeeded(
    settings: GatewaySettings, ledger: Ledger, upstream: Loopback
) -> None:
    """Their vectors are lost, but the provider bills them."""
    upstream.handler = failing_later
    id_, mine = key_for(ledger, budget_tokens=1_000_000)
    asking = {"model": "m-1", "input": ["Hi"] * 256 + ["fail"]}  # more than go into one request
    async with asked(settings) as client:
        answer = await client.post("/v1/embeddings", json=asking, headers=mine)
        (row,) = await rows_soon(ledger, 1)
        spent = await budget(client, id_)

    assert (answer.status_code, len(upstream.received)) == (502, 2)
    assert (row.outcome, row.input_tokens, row.cost_nano) == ("failed", 30, 30_000)
    assert spent == {"tokens": 30}


@pytest.mark.anyio
@pytest.mark.parametrize("relay", [False, True])
async def test_a_negative_output_limit_reserves_as_much_as_none(
    settings: GatewaySettings, ledger: Ledger, relay: bool
) -> None:
    """Some servers read -1 as unlimited; a reservation below 0 would lower what is used."""
    asking = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": -9}
    _, mine = key_for(ledger, budget_tokens=1000)
    async with asked(evolve(settings, relay=relay)) as client:
        refusal = await client.post("/v1/chat/completions", json=asking, headers=mine)

    assert refusal.status_code == 429
    assert refusal.json()["error"]["code"] == "insufficient_quota"


@pytest.mark.anyio
async def test_models_that_may_respond_instead_need_prices_for_a_budget_in_money(
    settings: GatewaySettings, ledger: Ledger, upstream: Loopback
) -> None:
    asking = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
    _, mine = key_for(ledger, budget_usd=1.0)
    async with asked(settings) as client:
        instead = {**asking, "models": ["m-unpriced"]}
        refusal = await client.post("/v1/chat/completions", json=instead, headers=mine)
        sent = len(upstream.received)
        answer = await client.post("/v1/chat/completions", json=asking, headers=mine)

    assert (refusal.status_code, sent) == (403, 0)
    assert refusal.json()["error"]["code"] == "model_not_priced"
    assert answer.status_code == 200


@pytest.mark.anyio
@pytest.mark.parametrize("relay", [False, True])
@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -30, "completion_tokens": -20},
        {"prompt_tokens": 10**400, "completion_tokens": 10**30},
        {"prompt_tokens": "30", "completion_tokens": True},
    ],
    ids=["negative", "huge", "not numbers"],
)
async def test_counts_that_no_response_has_are_replaced_by_an_estimate(
    settings: GatewaySettings, ledger: Ledger, usage: dict[str, Any], relay: bool
) -> None:
    """Neither is the response free, nor does its client lose it."""
    id_, mine = key_for(ledger, budget_tokens=1000, budget_usd=1.0)
    counted = json.loads(chat_whole("Hello."))
    upstream = scripted((200, JSON, {**counted, "usage": usage}))
    asking = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
    async with asked(evolve(settings, relay=relay), upstream) as client:
        answer = await client.post("/v1/chat/completions", json=asking, headers=mine)
        (row,) = await rows_soon(ledger, 1)

    assert (answer.status_code, row.outcome, row.estimated) == (200, "completed", True)
    assert 0 < row.input_tokens + row.output_tokens < 1000
    assert used_of(ledger, id_)["tokens"] == row.input_tokens + row.output_tokens


@pytest.mark.anyio
@pytest.mark.parametrize("cost", [-5, 1e300, 10**400], ids=str)
async def test_a_cost_that_no_response_has_gives_way_to_the_price(
    settings: GatewaySettings, ledger: Ledger, cost: float
) -> None:
    id_, mine = key_for(ledger, budget_usd=1.0)
    counted = json.loads(chat_whole("Hello."))
    upstream = scripted((200, JSON, {**counted, "usage": {**USAGE, "cost": cost}}))
    async with asked(settings, upstream) as client:
        answer = await client.post("/v1/responses", json=body(), headers=mine)
        (row,) = await rows_soon(ledger, 1)

    assert (answer.status_code, row.cost_nano) == (200, COST)
    assert used_of(ledger, id_) == {"usd": COST / 1e9}


@pytest.mark.anyio
async def test_a_response_that_failed_is_free(settings: GatewaySettings, ledger: Ledger) -> None:
    """Its row says why."""
    id_, mine = key_for(ledger, budget_usd=1.0)
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json=body("fail"), headers=mine)
        (row,) = await rows_soon(ledger, 1)
        spent = await budget(client, id_)

    assert answer.status_code == 502
    assert spent == {"usd": 0.0}
    assert (row.outcome, row.cost_nano, row.input_tokens) == ("failed", 0, 0)
    assert row.error


@pytest.mark.anyio
async def test_a_response_that_broke_off_is_charged_for_what_came(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """By an estimate, as the upstream has generated it."""
    id_, mine = key_for(ledger, budget_tokens=1000)
    async with asked(settings) as client:
        await client.post("/v1/responses", json=body("break", stream=True), headers=mine)
        (row,) = await rows_soon(ledger, 1)
        spent = await budget(client, id_)

    assert (row.outcome, row.estimated) == ("failed", True)
    assert 20 < row.output_tokens < 60
    assert spent == {"tokens": row.input_tokens + row.output_tokens}


@pytest.mark.anyio
async def test_answers_at_once_never_exceed_a_budget(
    settings: GatewaySettings, ledger: Ledger, upstream: Loopback
) -> None:
    """Each reserves what it may use, so that one too many is refused before it is sent."""
    id_, mine = key_for(ledger, budget_tokens=1000)
    statuses: list[int] = []
    async with asked(settings) as client:

        async def ask() -> None:
            sent = body("slow", stream=True, max_output_tokens=200)
            answer = await client.post("/v1/responses", json=sent, headers=mine)
            statuses.append(answer.status_code)
            if answer.status_code == 429:
                assert answer.json()["error"]["code"] == "insufficient_quota"
                assert answer.headers["x-should-retry"] == "false"

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(ask)
        await rows_soon(ledger, 3)
        spent = await budget(client, id_)

    granted = statuses.count(200)
    assert granted >= 3  # of 200 output and some 80 input tokens each
    assert statuses.count(429) == 8 - granted > 0
    assert len(upstream.received) == granted
    assert spent == {"tokens": 50 * granted}


@pytest.mark.anyio
async def test_a_client_with_a_small_budget_can_use_it_up_one_by_one(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """A reservation of the response before does not stand in the way of the next."""
    _, mine = key_for(ledger, budget_tokens=400)
    async with asked(settings) as client:
        statuses = [
            (await client.post("/v1/responses", json=body(), headers=mine)).status_code
            for _ in range(6)
        ]

    assert statuses[:4] == [200] * 4
    assert statuses[-1] == 429


def test_a_client_that_leaves_is_charged_for_what_it_got(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """By an estimate, as the upstream has not counted."""
    id_, mine = key_for(ledger, budget_tokens=1000)
    with listening(settings) as url, httpx.Client() as client:
        sent = body("stall", stream=True)
        with client.stream("POST", f"{url}/responses", json=sent, headers=mine) as answer:
            for line in answer.iter_lines():
                if "output_text.delta" in line:
                    break
        (row,) = anyio.run(rows_soon, ledger, 1)

    assert row.outcome == "cancelled"
    assert row.estimated
    assert row.input_tokens > 0
    assert row.output_tokens > 0
    assert used_of(ledger, id_) == {"tokens": row.input_tokens + row.output_tokens}


@pytest.mark.anyio
async def test_a_reservation_that_was_not_answered_in_time_is_given_back(
    settings: GatewaySettings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that hangs carries out what it was sent when it goes on."""
    late: Any = Late(ledger)
    monkeypatch.setattr(service, "ledger_for", lambda _: late)
    id_, headers = key_for(ledger, budget_tokens=5000)
    async with asked(settings) as client:
        response = await client.post("/v1/responses", json=body(), headers=headers)
        assert used_of(ledger, id_)["tokens"] > 0
        late.is_late = False
        await client.post("/v1/responses", json=body(), headers=headers)  # wakes the writer
        (row,) = await rows_soon(ledger, 1)
        charged = {"tokens": row.input_tokens + row.output_tokens}
        assert await until(lambda: used_of(ledger, id_) == charged)

    assert response.status_code == 503


@pytest.mark.anyio
async def test_a_budget_in_dollars_refuses_models_without_a_price(
    settings: GatewaySettings, ledger: Ledger, upstream: Loopback
) -> None:
    """A budget in tokens does not, and the row has no cost."""
    _, dollars = key_for(ledger, budget_usd=5.0)
    _, tokens = key_for(ledger, budget_tokens=5000)
    async with asked(settings) as client:
        no = await client.post("/v1/responses", json=body(model="m-2"), headers=dollars)
        assert not upstream.received
        yes = await client.post("/v1/responses", json=body(model="m-2"), headers=tokens)
        (row,) = await rows_soon(ledger, 1)

    assert (no.status_code, no.json()["error"]["code"]) == (403, "model_not_priced")
    assert "OPENBRIDGE_PRICES_PATH" in no.json()["error"]["message"]
    assert yes.status_code == 200
    assert row.target == "m-2"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tier", "is_sent"), [(None, True), ("default", True), ("flex", True), ("priority", False)]
)
async def test_the_requested_tier_sets_the_price_that_is_reserved(
    settings: GatewaySettings, ledger: Ledger, tier: str | None, is_sent: bool
) -> None:
    """1000 tokens of output cost 1.4 cents at list price, and 2.8 with priority."""
    _, mine = key_for(ledger, budget_usd=0.02)
    upstream = scripted((400, {}, {"error": {"message": "no"}}))
    priced = evolve(settings, upstream="openai", environ={"OPENAI_API_KEY": "sk-1"})
    async with asked(priced, upstream) as client:
        sent = body(model="gpt-5.2", max_output_tokens=1000, service_tier=tier)
        answer = await client.post("/v1/responses", json=sent, headers=mine)

    assert len(upstream.requests) == is_sent
    assert answer.status_code == (400 if is_sent else 429)


@pytest.mark.anyio
async def test_rates_of_a_key_are_kept(settings: GatewaySettings, ledger: Ledger) -> None:
    """Requests and tokens a minute; a request above the tokens of a minute never fits."""
    _, requests = key_for(ledger, requests_per_minute=2)
    _, tokens = key_for(ledger, tokens_per_minute=300)
    async with asked(settings) as client:
        answers = [
            await client.post("/v1/responses", json=body(), headers=requests) for _ in range(3)
        ]
        large = await client.post(
            "/v1/responses", json=body(max_output_tokens=1000), headers=tokens
        )

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].json()["error"]["code"] == "rate_limit_exceeded"
    assert 1 <= int(answers[2].headers["retry-after"]) <= 30
    assert large.status_code == 400
    assert large.json()["error"]["code"] == "request_too_large"


@pytest.mark.anyio
async def test_reads_of_a_key_with_its_own_rate_count_against_that_of_the_gateway(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """Its own rate is that of responses; no key may read without a limit."""
    _, mine = key_for(ledger, requests_per_minute=10)
    limited = evolve(settings, limits=evolve(settings.limits, rate_per_minute=2))
    async with asked(limited) as client:
        made = [
            await client.post("/v1/responses", json=body(store=True), headers=mine)
            for _ in range(3)
        ]
        path = f"/v1/responses/{made[0].json()['id']}"
        reads = [await client.get(path, headers=mine) for _ in range(2)]
        refused_ones = [
            await client.get(path, headers=mine),
            await client.get("/v1/models", headers=mine),
            await client.delete(path, headers=mine),
        ]
        again = await client.post("/v1/responses", json=body(), headers=mine)

    assert [answer.status_code for answer in made] == [200, 200, 200]
    assert [read.status_code for read in reads] == [200, 200]
    assert [refusal.status_code for refusal in refused_ones] == [429, 429, 429]
    assert 1 <= int(refused_ones[0].headers["retry-after"]) <= 30
    assert again.status_code == 200


@pytest.mark.anyio
async def test_the_budget_of_the_gateway_is_of_all_callers(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """Also of those without limits of their own."""
    accounts = evolve(settings.accounts, budget_tokens=200)
    _, one = key_for(ledger)
    _, two = key_for(ledger)
    async with asked(evolve(settings, accounts=accounts)) as client:
        first = await client.post("/v1/responses", json=body(), headers=one)
        second = await client.post("/v1/responses", json=body(max_output_tokens=190), headers=two)

    assert [first.status_code, second.status_code] == [200, 429]
    assert "this gateway" in second.json()["error"]["message"]


@pytest.mark.anyio
async def test_background_responses_are_charged_too(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    id_, mine = key_for(ledger, budget_tokens=1000)
    async with asked(settings) as client:
        sent = body(background=True, store=True)
        made = await client.post("/v1/responses", json=sent, headers=mine)
        (row,) = await rows_soon(ledger, 1)
        too_much = await client.post(
            "/v1/responses", json=sent | {"max_output_tokens": 990}, headers=mine
        )
        spent = await budget(client, id_)

    assert made.status_code == 200
    assert row.outcome == "completed"
    assert too_much.status_code == 429
    assert spent == {"tokens": 50}


# -- spend


@pytest.mark.anyio
async def test_a_background_response_for_which_there_is_no_room_reserves_nothing(
    settings: GatewaySettings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And leaves no row."""
    id_, mine = key_for(ledger, budget_tokens=1000)

    def full(_responses: BackgroundResponses, _group: object) -> None:
        raise overloaded("two background responses are under way or wait")

    monkeypatch.setattr(BackgroundResponses, "check_room", full)
    sent = {**body(), "background": True, "store": True}
    async with asked(settings) as client:
        answer = await client.post("/v1/responses", json=sent, headers=mine)

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "server_is_overloaded")
    assert rows(ledger) == []
    assert used_of(ledger, id_) == {"tokens": 0}


@pytest.mark.anyio
async def test_every_response_leaves_a_row_before_a_clean_stop_ends(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """Also without keys and budgets."""
    open_ = evolve(settings, accounts=AccountSettings())
    async with asked(open_) as client:
        for _ in range(20):
            assert (await client.post("/v1/responses", json=body())).status_code == 200
        metrics = (await client.get("/metrics")).text
    found = rows(ledger)

    assert len(found) == 20
    assert {row.key for row in found} == {"anybody"}
    assert (
        'openbridge_key_responses_total{key="anybody",model="m-1",outcome="completed"} 20'
        in metrics
    )
    assert 'openbridge_key_tokens_total{key="anybody",kind="output",model="m-1"} 400' in metrics


@pytest.mark.anyio
async def test_a_store_of_accounts_that_is_away_does_not_hold_answers_up(
    settings: GatewaySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responses without limits go on, rows wait, and those beyond the bound are counted as lost."""
    monkeypatch.setattr(charges, "_CLOSE_S", 0.1)
    (tmp_path / "state-accounts.db").write_bytes(b"not a database, but long enough" * 50)
    accounts = AccountSettings(spend_queue_rows=3)
    async with asked(evolve(settings, accounts=accounts)) as client:
        statuses = [(await client.post("/v1/responses", json=body())).status_code for _ in range(8)]
        metrics = (await client.get("/metrics")).text

    assert statuses == [200] * 8
    assert "openbridge_spend_dropped_total 5" in metrics
    assert "openbridge_spend_waiting 3.0" in metrics


@pytest.mark.anyio
async def test_a_store_of_accounts_that_hangs_does_not_hold_answers_up(
    settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for a moment each: the end of a response waits for no row."""
    released, settle = threading.Event(), SqliteLedger.settle

    def hanging(ledger: SqliteLedger, settlements: Sequence[Settlement]) -> None:
        released.wait(60)
        settle(ledger, settlements)

    monkeypatch.setattr(SqliteLedger, "settle", hanging)
    answers: list[httpx.Response] = []
    async with asked(evolve(settings, accounts=AccountSettings())) as client:
        with anyio.move_on_after(20):
            while len(answers) < 20:
                answers.append(await client.post("/v1/responses", json=body()))
        waiting = (await client.get("/metrics")).text
        released.set()

    assert [answer.status_code for answer in answers] == [200] * 20
    assert "openbridge_spend_waiting 20.0" in waiting


@pytest.mark.anyio
async def test_the_admin_sees_what_is_used_of_the_budget_of_all_requests(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    admin = {"authorization": f"Bearer {ADMIN_KEY}"}
    accounts = evolve(settings.accounts, budget_usd=2.0, budget_tokens=9000, budget_period="day")
    _, mine = key_for(ledger)
    shown = []
    for one in (settings, evolve(settings, accounts=accounts)):
        async with asked(one) as client:
            answer = await client.post("/v1/responses", json=body(), headers=mine)
            assert answer.status_code == 200
        async with asked(one) as client:
            shown.append((await client.get("/admin/usage", headers=admin)).json()["budget"])

    assert shown[0] is None
    assert (shown[1]["usd"], shown[1]["tokens"], shown[1]["period"]) == (2.0, 9000, "day")
    assert 0 < shown[1]["used"]["usd"] < 0.1
    assert 0 < shown[1]["used"]["tokens"] < 1000


@pytest.mark.anyio
async def test_a_key_or_a_budget_is_refused_while_its_store_is_away(
    settings: GatewaySettings, tmp_path: Path
) -> None:
    """No limit is lifted by a failure."""
    (tmp_path / "state-accounts.db").write_bytes(b"not a database, but long enough" * 50)
    budgeted = AccountSettings(budget_tokens=1000)
    async with asked(settings, **{"x-api-key": "ob_0123456789_" + "x" * 43}) as client:
        keyed = await client.post("/v1/responses", json=body())
    async with asked(evolve(settings, accounts=budgeted)) as client:
        limited = await client.post("/v1/responses", json=body())
        health = await client.get("/healthz")

    assert health.json()["status"] == "degraded"
    assert keyed.status_code == limited.status_code == 503
    assert keyed.json()["error"]["code"] == "state_unavailable"


def test_unreadable_prices_are_refused_at_the_start(settings: GatewaySettings) -> None:
    """With the entry that is at fault."""
    from llmcore.bridge.accounts.prices import read_prices
    from llmcore.schema.errors import ConfigurationError

    path = settings.accounts.prices_path
    assert path is not None
    for text in ("{", "[]", '{"m": {}}', '{"p/m": {"input": -1, "output": 1}}', '{"p/m": 3}'):
        path.write_text(text)
        with pytest.raises(ConfigurationError):
            read_prices(path)


def test_answers_on_a_websocket_are_charged_and_limited(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """Each by itself, and a revoked key at the next one."""
    id_, mine = key_for(ledger, budget_tokens=400)
    with listening(settings) as url, connected(url, additional_headers=mine) as socket:
        first = turn(socket, model="m-1", max_output_tokens=100)
        too_much = turn(socket, model="m-1", max_output_tokens=390)
        KeyRegistry(ledger).revoke(id_)
        wait_until(lambda: httpx.get(f"{url}/models", headers=mine).status_code == 401)
        revoked = turn(socket, model="m-1", max_output_tokens=100)
    (row,) = anyio.run(rows_soon, ledger, 1)

    assert first["type"] == "response.completed"
    assert row.id == first["response"]["id"]
    assert (row.input_tokens, row.output_tokens, row.streamed) == (30, 20, True)
    assert too_much["error"]["code"] == "insufficient_quota"
    assert revoked["error"]["code"] == "key_revoked"
    assert used_of(ledger, id_) == {"tokens": 50}


def test_a_client_that_closes_its_websocket_is_charged_as_one_that_leaves_a_stream(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """In all lanes."""
    _, mine = key_for(ledger, budget_tokens=1000)
    with listening(settings) as url:
        with connected(url, additional_headers=mine) as socket:
            for lane in "ab":
                send(socket, input="stall", max_output_tokens=100, stream_id=lane)
            lanes: set[str] = set()
            while len(lanes) < 2:
                event = json.loads(socket.recv(timeout=10))
                if event["type"] == "response.output_text.delta":
                    lanes.add(event["stream_id"])
        found = anyio.run(rows_soon, ledger, 2)

    assert [(row.outcome, row.error) for row in found] == [("cancelled", None)] * 2
    assert all(row.estimated and row.output_tokens for row in found)


@pytest.mark.anyio
@pytest.mark.parametrize(("workers", "total"), [(1, 4), (2, 2)])
async def test_the_general_rate_counts_over_all_workers(
    settings: GatewaySettings, ledger: Ledger, workers: int, total: int
) -> None:
    """A single process counts by itself, without asking the store."""
    _, mine = key_for(ledger)
    limits = evolve(settings.limits, rate_per_minute=2)
    shared = evolve(settings, limits=limits, workers=workers)
    async with asked(shared, **mine) as one, asked(shared, **mine) as two:
        statuses = [
            (await client.post("/v1/responses", json=body())).status_code
            for client in (one, two, one, two)
        ]

    assert statuses.count(200) == total
    assert statuses.count(429) == 4 - total


@pytest.mark.anyio
async def test_closing_is_not_cut_short_by_cancellation(
    settings: GatewaySettings, ledger: Ledger
) -> None:
    """A server that stops cancels its tasks; what is queued is written all the same."""
    accounts: Any = charges.Accounts(settings, ledger, Metrics())
    ended: list[str] = []
    accounts._writer = SimpleNamespace(close=lambda _seconds: ended.append("writer"))
    accounts.ledger = SimpleNamespace(close=lambda: ended.append("ledger"))

    with anyio.CancelScope() as scope:
        scope.cancel()
        await accounts.aclose()

    assert ended == ["writer", "ledger"]
