"""Responses of one of several upstreams: the highest cost is reserved, the actual one charged."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.servers.loopback import Handler
from tests.support.servers.pooled_gateway import BOTH, Scene, fails, pooled_gateway, says
from tests.support.waiting import wait_until

ADMIN = {"authorization": "Bearer admin-key-of-the-tests"}
SETTINGS = """
[keys]
issued = true
admin_key = "admin-key-of-the-tests"
"""
BY_PROVIDER = {
    "openai-compatible/up-a": {"input": 1.0, "output": 1.0},
    "openai-compatible/up-b": {"input": 1.0, "output": 1000.0},
}
"""In dollars per million tokens: the second target costs a tenth of a cent per token of output."""
FILE = json.dumps(BY_PROVIDER)
PRICES = {
    "file": '[budgets]\nprices_path = "prices.json"\n',
    "table": """[prices]
"openai-compatible/up-a" = { input = 1, output = 1 }
"openai-compatible/up-b" = { input = 1, output = 1000 }
""",
    "by upstream": """[prices]
"a/up-a" = { input = 1, output = 1 }
"b/up-b" = { input = 1, output = 1000 }
"openai-compatible/up-b" = { input = 0, output = 0 }
""",
}
"""The same prices in every way; those of an upstream go before those of its provider."""

Starting = Callable[..., AbstractContextManager[Scene]]


@pytest.fixture(params=PRICES)
def starting(tmp_path: Path, request: pytest.FixtureRequest) -> Starting:
    """Return a function that runs a gateway of two upstreams with prices."""
    (tmp_path / "prices.json").write_text(FILE)
    settings = SETTINGS + PRICES[request.param]

    @contextmanager
    def start(**handlers: Handler) -> Iterator[Scene]:
        with pooled_gateway(BOTH, tmp_path, settings, None, **handlers) as scene:
            yield scene

    return start


def admin(scene: Scene, path: str, **body: Any) -> Any:
    """Return what the admin's operation at *path* responses."""
    url = scene.url.removesuffix("/v1") + path
    if body:
        return httpx.post(url, json=body, headers=ADMIN).json()
    return httpx.get(url, headers=ADMIN).json()


def rows(scene: Scene, by: str) -> Any:
    """Return the report once there is a row."""
    path = f"/admin/usage?by={by}"
    wait_until(lambda: bool(admin(scene, path)["data"]))
    return admin(scene, path)["data"]


def test_the_upstream_that_answers_is_paid(starting: Starting) -> None:
    """After the fallback its own price counts, and its name is in the row."""
    with starting(a=fails(500), b=says("Hello.")) as scene:
        key = admin(scene, "/admin/keys", budget_usd=1.0)
        answer = scene.ask(max_tokens=10, headers={"x-api-key": key["key"]})
        (row,) = rows(scene, "upstream,target")
        used = admin(scene, f"/admin/keys/{key['id']}")["used"]

    assert answer.status_code == 200
    assert (row["upstream"], row["target"]) == ("b", "b/up-b")
    assert row["cost_usd"] == pytest.approx(3 * 1e-6 + 2 * 1e-3)
    assert used["usd"] == row["cost_usd"]


def test_a_refused_request_leaves_its_place_at_the_upstream(tmp_path: Path) -> None:
    """Which takes one request at once."""
    own = {"a": 'key = "k"\nmax_running = 1'}
    config = '[models.m]\ntargets = ["a/up-a"]\n' + PRICES["table"]
    with pooled_gateway(config, tmp_path, SETTINGS, own, a=says("Hello.")) as scene:
        key = admin(scene, "/admin/keys", budget_tokens=100)
        mine = {"x-api-key": key["key"]}
        refused = [scene.ask(max_tokens=1000, headers=mine).status_code for _ in range(2)]
        answered = scene.ask(max_tokens=10, headers=mine)

    assert (refused, answered.status_code) == ([429, 429], 200)


def test_the_dearest_upstream_is_reserved(starting: Starting) -> None:
    """A request is refused that would fit if the cheap one answered."""
    with starting(a=says("Hello."), b=says("Hello.")) as scene:
        key = admin(scene, "/admin/keys", budget_usd=0.05)
        mine = {"x-api-key": key["key"]}
        refused = scene.ask(max_tokens=60, headers=mine)
        answered = scene.ask(max_tokens=40, headers=mine)
        counts = scene.counts

    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "insufficient_quota")
    assert answered.status_code == 200
    assert counts == {"a": 1, "b": 0}
