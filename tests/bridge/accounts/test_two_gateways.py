"""Two gateways on one store: the limits of keys hold over both, and no key displaces another."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
import redis
from attrs import frozen

from tests.bridge.accounts.test_charges import answering
from tests.bridge.accounts.test_killed_gateways import environment, running_store
from tests.support.servers.bridge_process import gateway
from tests.support.servers.loopback import serve

ADMIN_KEY = "admin-key-of-the-tests"
STORES = ("sqlite", "redis", "postgres")
MEMORY = 12 * 1024 * 1024
"""Of a small Redis, in bytes."""

pytestmark = pytest.mark.slow


@frozen
class Pair:
    """The addresses of two gateways, and how to ask them."""

    urls: tuple[str, str]
    client: httpx.Client
    store: dict[str, str]

    def issued(self, **limits: Any) -> tuple[str, str]:
        """Return the id and the text of a new key, from the first gateway."""
        url = self.urls[0].removesuffix("/v1") + "/admin/keys"
        made = self.client.post(url, json=limits, headers=_bearer(ADMIN_KEY)).json()
        return made["id"], made["key"]

    def ask(self, number: int, key: str, **fields: Any) -> httpx.Response:
        """Send a request with *key* to the gateway whose turn it is."""
        body = {"model": "m-1", "input": "Hi", "max_output_tokens": 100, "store": False, **fields}
        url = f"{self.urls[number % 2]}/responses"
        return self.client.post(url, json=body, headers=_bearer(key))

    def get(self, number: int, path: str, key: str) -> httpx.Response:
        return self.client.get(f"{self.urls[number % 2]}{path}", headers=_bearer(key))


def _bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture(params=STORES)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        upstream = stack.enter_context(serve(answering))
        store = stack.enter_context(running_store(request.param, tmp_path))
        variables = {**environment(upstream, store), "OPENBRIDGE_ADMIN_KEY": ADMIN_KEY}
        urls = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            urls.append(stack.enter_context(gateway(folder, **variables)).url)
        client = stack.enter_context(httpx.Client(timeout=30))
        yield Pair((urls[0], urls[1]), client, store)


def test_a_keys_requests_a_minute_count_over_both_and_leave_others_alone(pair: Pair) -> None:
    _, mine = pair.issued(requests_per_minute=6)
    _, other = pair.issued(requests_per_minute=6)
    statuses = [pair.ask(number, mine).status_code for number in range(12)]
    others = [pair.ask(number, other).status_code for number in range(4)]

    assert statuses[:6] == [200] * 6
    assert statuses.count(429) >= 4  # the minute goes on meanwhile
    assert others == [200] * 4


def test_a_keys_tokens_a_minute_and_budget_count_over_both(pair: Pair) -> None:
    """A response reserves some 130 tokens, and uses 50."""
    _, rated = pair.issued(tokens_per_minute=400)
    id_, budgeted = pair.issued(budget_tokens=400)
    of_rate = [pair.ask(number, rated).status_code for number in range(12)]
    of_budget = [pair.ask(number, budgeted).status_code for number in range(12)]
    used = pair.get(1, "/key", budgeted).json()["used"]

    assert 429 in of_rate
    assert of_rate.count(200) < 9
    assert 5 <= of_budget.count(200) <= 8
    assert used == {"tokens": 50 * of_budget.count(200)}
    assert id_


def test_many_large_responses_of_a_key_cost_another_neither_its_budget_nor_its_validity(
    pair: Pair,
) -> None:
    """A full Redis deletes responses; PostgreSQL deletes none, and SQLite those of the flood."""
    _, flooding = pair.issued()
    _, other = pair.issued(budget_tokens=10_000)
    first = pair.ask(0, other, store=True).json()
    if "OPENBRIDGE_REDIS_URL" in pair.store:
        with redis.Redis.from_url(pair.store["OPENBRIDGE_REDIS_URL"]) as client:
            client.config_set("maxmemory", MEMORY)
            client.config_set("maxmemory-policy", "volatile-ttl")
    texts = [Random(number).randbytes(100_000).hex() for number in range(60)]
    made = [pair.ask(n, flooding, store=True, input=text) for n, text in enumerate(texts)]
    kept = pair.get(1, f"/responses/{first['id']}", other).status_code
    last = pair.get(0, f"/responses/{made[-1].json()['id']}", flooding).status_code

    assert [answer.status_code for answer in made] == [200] * 60
    assert last == 200
    if "OPENBRIDGE_REDIS_URL" in pair.store:
        with redis.Redis.from_url(pair.store["OPENBRIDGE_REDIS_URL"]) as client:
            assert client.info("stats")["evicted_keys"] > 0
    else:
        assert kept == 200
    assert pair.get(1, "/key", other).json()["used"] == {"tokens": 50}
    assert pair.ask(1, other).status_code == 200
