"""Two gateways on one store, of which one is killed at random points: the accounts stay exact."""

import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC
from pathlib import Path

import httpx
import pytest
from attrs import evolve

from llmcore.bridge.accounts.issued_key import IssuedKey, KeyLimits
from llmcore.bridge.accounts.issued_keys import KeyRegistry
from llmcore.bridge.accounts.meters import budget_meters
from llmcore.bridge.spend.report import spend_rows
from llmcore.bridge.state.ledger import Ledger
from llmcore.bridge.state.ledger_redis import RedisLedger
from llmcore.bridge.state.ledger_sql import PostgresLedger, SqliteLedger
from tests.bridge.accounts.test_charges import answering
from tests.support.servers.bridge_process import Gateway, gateway
from tests.support.servers.bridge_service import streamed
from tests.support.servers.loopback import Answer, Loopback, Received, held, serve
from tests.support.servers.postgres_servers import running_postgres
from tests.support.servers.redis_servers import running_redis
from tests.support.waiting import wait_until

BUDGET = 3000
CLIENTS = 4
KILLS = 2
ANSWERS = 8
"""That clients get before a kill, which then comes within a moment."""
MOMENT_S = 0.3


def answering_after_a_while(received: Received) -> Answer:
    """Answer 50 tokens within a tenth of a second."""
    answer = answering(received)
    return evolve(answer, script=[random.random() / 10, *answer.script])


@pytest.fixture
def upstream() -> Iterator[Loopback]:
    with serve(answering_after_a_while) as running:
        yield running


@pytest.fixture(params=["sqlite", "redis", "postgres"])
def variables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Configure a store of each kind, which two gateways share."""
    with running_store(request.param, tmp_path) as given:
        yield given


@contextmanager
def running_store(kind: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Run a store; yield the variables of gateways that use it."""
    with ExitStack() as stack:
        given = {"OPENBRIDGE_STATE_BACKEND": kind}
        if kind == "redis":
            given["OPENBRIDGE_REDIS_URL"] = stack.enter_context(running_redis()).url
        elif kind == "postgres":
            given["OPENBRIDGE_POSTGRES_URL"] = stack.enter_context(running_postgres()).url
        else:
            given["OPENBRIDGE_STATE_PATH"] = str(tmp_path / "state.db")
        yield given


def ledger_of(variables: dict[str, str], ahead_s: float = 0.0) -> Ledger:
    """Return the ledger of the gateways, whose clock is *ahead_s* seconds ahead."""

    def clock() -> float:
        return time.time() + ahead_s

    match variables["OPENBRIDGE_STATE_BACKEND"]:
        case "redis":
            return RedisLedger(variables["OPENBRIDGE_REDIS_URL"], clock=clock)
        case "postgres":
            url = variables["OPENBRIDGE_POSTGRES_URL"]
            return PostgresLedger(url, setting="X", clock=clock)
        case _:
            path = Path(variables["OPENBRIDGE_STATE_PATH"])
            file = path.with_name("state-accounts.db")
            return SqliteLedger(file, setting="X", clock=clock)


class Clients:
    """Threads that send requests to two gateways until they are stopped."""

    def __init__(self, key: str) -> None:
        self.urls: list[str] = []
        self.answered: dict[str, list[str]] = {}
        self.refused = 0
        self._key = key
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(CLIENTS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def answers(self) -> set[str]:
        """The ids of all whole responses."""
        return {name for names in self.answered.values() for name in names}

    def wait_for(self, count: int) -> None:
        """Wait for so many responses of each gateway more, or a refusal, and then a moment."""
        deadline = time.monotonic() + 30
        wanted = {url: len(self.answered.get(url, ())) + count for url in self.urls}
        while any(len(self.answered.get(url, ())) < many for url, many in wanted.items()):
            assert time.monotonic() < deadline
            if self.refused:
                break
            time.sleep(0.01)
        time.sleep(random.random() * MOMENT_S)

    def _work(self, number: int) -> None:
        headers = {"authorization": f"Bearer {self._key}"}
        choice = random.Random(number)
        with httpx.Client(timeout=20, headers=headers) as client:
            while not self._stop.is_set():
                url = choice.choice(self.urls)
                body = {"model": "m-1", "input": "Hi", "max_output_tokens": 100, "store": False}
                body |= {"stream": True} if choice.random() < 0.5 else {}
                try:
                    answer = client.post(f"{url}/responses", json=body)
                    self._note(url, answer)
                except httpx.TransportError:  # its gateway was killed
                    time.sleep(0.05)

    def _note(self, url: str, answer: httpx.Response) -> None:
        if answer.status_code == 429:
            self.refused += 1
            time.sleep(0.05)
        elif answer.status_code == 200 and "response.completed" in answer.text:
            last = answer.text.strip().rsplit("data: ", 1)[1]
            self.answered.setdefault(url, []).append(json.loads(last)["response"]["id"])
        elif answer.status_code == 200 and answer.text.startswith("{"):
            self.answered.setdefault(url, []).append(answer.json()["id"])


def tokens(ledger: Ledger) -> dict[str, int]:
    """Return the tokens of each row, by the id of the response."""
    return {row.id: row.input_tokens + row.output_tokens for row in spend_rows(ledger, 0, 1e11)}


def level(ledger: Ledger, key: IssuedKey) -> float:
    """Return what is used and reserved of a key's budget."""
    return ledger.levels(budget_meters(key, time.time(), UTC))[0]


def wait_for_rows(ledger: Ledger, clients: Clients) -> None:
    """Wait for the rows of all responses, those of killed gateways included."""
    deadline = time.monotonic() + 20
    while not clients.answers <= set(tokens(ledger)) and time.monotonic() < deadline:
        time.sleep(0.05)


def environment(upstream: Loopback, variables: dict[str, str]) -> dict[str, str]:
    """Return the variables of a gateway with issued keys."""
    return {
        **variables,
        "OPENBRIDGE_KEYS_ISSUED": "true",
        "OPENBRIDGE_UPSTREAM": "openai-compatible",
        "OPENBRIDGE_UPSTREAM_BASE_URL": f"{upstream.url}/v1",
    }


@pytest.mark.slow
def test_accounts_are_exact_after_kills(
    upstream: Loopback, variables: dict[str, str], tmp_path: Path
) -> None:
    """The rows add up to what the budget has used, which is never more than it allows."""
    ledger = ledger_of(variables)
    limits = KeyLimits(budget_tokens=BUDGET, period="total")
    key, text = KeyRegistry(ledger).create(limits)
    given = environment(upstream, variables)
    clients = Clients(text)
    with ExitStack() as stack:

        def started() -> Gateway:
            return stack.enter_context(gateway(tmp_path, **given))

        steady, doomed = started(), started()
        clients.urls = [steady.url, doomed.url]
        clients.start()
        try:
            for _ in range(KILLS):
                clients.wait_for(ANSWERS)
                doomed.process.kill()
                assert level(ledger, key) <= BUDGET
                doomed = started()
                clients.urls = [steady.url, doomed.url]
        finally:
            clients.stop()
        wait_for_rows(ledger, clients)
    later = ledger_of(variables, ahead_s=3600.0)
    later.renew("checker", 1.0)
    found = tokens(later)

    assert sum(found.values()) == level(later, key)
    assert 0 < sum(found.values()) <= BUDGET
    assert len(found) > 10
    assert clients.answers <= set(found)
    for one in (ledger, later):
        one.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
@pytest.mark.parametrize("variables", ["sqlite"], indirect=True)
def test_accounts_are_exact_after_a_worker_was_killed(
    upstream: Loopback, variables: dict[str, str], tmp_path: Path
) -> None:
    """Of two workers behind one address: the other one and its successor go on."""
    ledger = ledger_of(variables)
    limits = KeyLimits(budget_tokens=BUDGET, period="total")
    key, text = KeyRegistry(ledger).create(limits)
    given = environment(upstream, variables) | {"OPENBRIDGE_WORKERS": "2"}
    clients = Clients(text)
    with gateway(tmp_path, **given) as running:
        clients.urls = [running.url]
        clients.start()
        try:
            clients.wait_for(ANSWERS)
            pid = running.process.pid
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            os.kill(int(children[0]), signal.SIGKILL)
            clients.wait_for(ANSWERS)
        finally:
            clients.stop()
        wait_for_rows(ledger, clients)
    later = ledger_of(variables, ahead_s=3600.0)
    later.renew("checker", 1.0)
    found = tokens(later)

    assert len(children) == 2
    assert clients.answers <= set(found)
    assert sum(found.values()) == level(later, key)
    assert 0 < sum(found.values()) <= BUDGET
    for one in (ledger, later):
        one.close()


@pytest.mark.slow
def test_streams_of_a_killed_gateway_are_charged_for_what_they_had_sent(
    variables: dict[str, str], tmp_path: Path
) -> None:
    """As if their clients had left, and one that ended just before by its own usage, each once."""
    ledger = ledger_of(variables)
    limits = KeyLimits(budget_tokens=BUDGET, period="total")
    key, text = KeyRegistry(ledger).create(limits)
    headers = {"authorization": f"Bearer {text}"}
    ends = threading.Event()

    def answer(received: Received) -> Answer:
        first, *rest = answering(received).script
        stays = b"stall" in received.body
        return streamed(itertools.chain([first], [600.0] if stays else held(ends, rest)))

    with serve(answer) as running, ExitStack() as stack:
        given = environment(running, variables)
        killed = stack.enter_context(gateway(tmp_path, **given))
        client = stack.enter_context(httpx.Client(timeout=None, headers=headers))

        def stream(prompt: str) -> Iterator[str]:
            body = {"model": "m-1", "input": prompt, "stream": True, "max_output_tokens": 100}
            opened = client.stream("POST", f"{killed.url}/responses", json=body)
            return stack.enter_context(opened).iter_lines()

        lost, whole = stream("stall"), stream("end")
        for lines in (lost, whole):
            assert any("Hello." in line for line in lines)
        wait_until(lambda: len(noted(tmp_path)) == 2)
        ends.set()
        assert any("response.completed" in line for line in whole)
        killed.process.kill()
        killed.process.wait()
        stack.enter_context(gateway(tmp_path, **given))
        wait_until(lambda: len(tokens(ledger)) == 2 and not noted(tmp_path))
        found = {row.outcome: row for row in spend_rows(ledger, 0, 1e11)}
    later = ledger_of(variables, ahead_s=3600.0)
    later.renew("checker", 1.0)

    assert set(found) == {"lost", "completed"}
    assert (found["lost"].estimated, found["completed"].estimated) == (True, False)
    assert 0 < found["lost"].output_tokens < found["completed"].output_tokens
    assert sum(tokens(later).values()) == level(later, key)
    for one in (ledger, later):
        one.close()


def noted(folder: Path) -> list[str]:
    """Return the ids of the responses that a gateway has noted as running."""
    lines = [line for path in folder.rglob("*.running") for line in path.read_text().splitlines()]
    return [json.loads(line)["id"] for line in lines if line.startswith('{"id"')]
