"""The admission of callers: every route of the gateway, with every kind of key."""

import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from attrs import evolve

from llmcore.bridge.accounts.issued_key import KeyLimits
from llmcore.bridge.accounts.issued_keys import KeyRegistry
from llmcore.bridge.configuration.settings import AccountSettings, GatewaySettings
from llmcore.bridge.http.app import make_app
from llmcore.bridge.http.asgi import ASGIApp
from llmcore.bridge.http.router import Router
from llmcore.bridge.service import Service
from llmcore.bridge.state.stores import ledger_for
from tests.support.servers.bridge_service import asked, settings_for, sqlite_state

ADMIN_KEY = "admin-key-of-the-tests"
OPEN = frozenset({"/", "/api/hello", "/healthz", "/ui"})
"""Paths that need no key: none of them shows anything."""


@pytest.fixture
def settings(tmp_path: Path) -> GatewaySettings:
    accounts = AccountSettings(issued_keys=True, admin_key=ADMIN_KEY)
    return settings_for(
        "http://127.0.0.1:9", accounts=accounts, state=sqlite_state(tmp_path), ui="on"
    )


@pytest.fixture
def issued(settings: GatewaySettings) -> Iterator[str]:
    """Return the text of an issued key."""
    ledger = ledger_for(settings)
    yield KeyRegistry(ledger).create(KeyLimits(name="ci"))[1]
    ledger.close()


@pytest.fixture
def routes(settings: GatewaySettings, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the method and path of every route, with a value in place of each parameter."""
    found: list[tuple[str, str]] = []

    class Noting(Router[ASGIApp]):
        def __init__(self, given: Iterator[tuple[str, str, ASGIApp]]) -> None:
            given_routes = list(given)
            found.extend((method, path) for method, path, _ in given_routes)
            super().__init__(given_routes)

    monkeypatch.setattr("llmcore.bridge.http.app.Router", Noting)
    service = Service.from_settings(settings)
    make_app(service)
    anyio.run(service.aclose)
    monkeypatch.undo()
    return [(method, re.sub(r"\{\w+(:path)?\}", "x", path)) for method, path in found]


def admits(path: str, kind: str) -> bool:
    """Return whether a route admits a kind of key."""
    if path in OPEN:
        return True
    if path.startswith("/admin/") or path == "/metrics":
        return kind == "admin"
    return kind == "issued"


@pytest.mark.parametrize("kind", ["none", "wrong", "issued", "admin"])
def test_each_route_admits_the_keys_that_it_is_for_and_no_others(
    settings: GatewaySettings, routes: list[tuple[str, str]], issued: str, kind: str
) -> None:
    keys = {"wrong": "ob_0123456789_" + "x" * 43, "issued": issued, "admin": ADMIN_KEY}
    headers = {"authorization": f"Bearer {keys[kind]}"} if kind in keys else {}
    wrong: list[tuple[str, str, int]] = []

    async def ask_all() -> None:
        async with asked(settings, **headers) as client:
            for method, path in routes:
                answer = await client.request(method, path, json={} if method == "POST" else None)
                if (answer.status_code not in (401, 403)) != admits(path, kind):
                    wrong.append((method, path, answer.status_code))

    anyio.run(ask_all)

    assert len(routes) > 60
    assert wrong == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8787", 415),
        ("[::1]:8787", 415),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.nip.io", 403),
        ("127.0.0.1@evil.example", 403),
        ("", 403),
    ],
)
@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/responses/x/cancel", "/v1beta/models/m:generateContent"]
)
async def test_pages_of_other_sites_cannot_post_to_a_gateway_without_keys(
    settings: GatewaySettings, path: str, host: str, status: int
) -> None:
    """By a form, which needs no preflight, or by a name that was made to lead here."""
    keyless = evolve(settings, accounts=AccountSettings())
    form = {"content-type": "text/plain", "origin": "https://evil.example", "host": host}
    async with asked(keyless) as client:
        answer = await client.post(path, content=b'{"model": "m"}', headers=form)

    expected = 404 if path.endswith("/cancel") and status == 415 else status
    assert answer.status_code == expected
