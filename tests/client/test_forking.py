"""Forks in the middle of calls: locks of other threads do not block the child."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from llmcore import request, sync
from llmcore.client.credentials import AwsChain, GoogleTokens
from llmcore.client.github import copilot
from llmcore.client.github.copilot import CopilotTokens
from llmcore.client.http.options import HttpOptions
from llmcore.client.middleware.chain import Middleware
from llmcore.client.middleware.circuit_breaker import CircuitBreaker
from llmcore.client.middleware.concurrency_limit import ConcurrencyLimit
from llmcore.client.middleware.memory_cache import MemoryCache
from llmcore.client.middleware.rate_limiter import RateLimiter
from llmcore.client.middleware.response_cache import ResponseCache
from llmcore.client.middleware.serial import SerialExecutor
from llmcore.forking import ForkSafeLock
from llmcore.routes.auth import GoogleCredentials
from llmcore.routes.github_credentials import CopilotLogin
from llmcore.routes.sigv4 import AwsCredentialChain
from tests.support.programs.forked_child import in_child, needs_fork
from tests.support.servers.loopback import Answer, Loopback, chat_whole, serve
from tests.support.waiting import PATIENCE_S
from tests.support.wire.generation import model_at

pytestmark = needs_fork

JSON = {"content-type": "application/json"}


class Gate:
    """A server that answers once it is let, and fails while `fails` is set."""

    def __init__(self) -> None:
        self.asked, self.answer = threading.Event(), threading.Event()
        self.fails = False

    def __call__(self, _request: object) -> Answer:
        self.asked.set()
        self.answer.wait(20)
        return Answer([chat_whole("Hello")], status=500 if self.fails else 200, headers=JSON)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.answer.set()


@pytest.fixture
def server(gate: Gate) -> Iterator[Loopback]:
    with serve(gate) as running:
        yield running
    sync.shutdown()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ConcurrencyLimit(1),
        ResponseCache,
        lambda: RateLimiter(requests_per_minute=600),
        lambda: CircuitBreaker(failures=1, open_s=0.001),
    ],
)
def test_a_call_of_the_parent_holds_nothing_in_the_child(
    make: Callable[[], Middleware], gate: Gate, server: Loopback
) -> None:
    """No place, no probe, and no promise of the response to the same request."""
    client = sync.Client(middleware=[make()])
    asked = request(model=model_at(server.url), prompt="Hi")
    gate.fails = True
    gate.answer.set()
    client.generate(asked)  # the circuit is open now, and half-open at once
    time.sleep(0.01)
    gate.fails = False
    gate.answer.clear()
    gate.asked.clear()
    parents = threading.Thread(target=client.complete, args=(asked,))
    parents.start()
    assert gate.asked.wait(10)

    answering = threading.Timer(0.5, gate.answer.set)
    answering.start()
    try:
        assert in_child(lambda: client.complete(asked).text == "Hello") == 0
    finally:
        answering.join()
        parents.join()
        client.close()


def _held(lock: Any, held: threading.Event, leave: threading.Event) -> None:
    with lock:
        held.set()
        leave.wait(20)


@pytest.mark.parametrize(
    "make",
    [
        lambda _path: MemoryCache(),
        lambda _path: GoogleTokens(GoogleCredentials()),
        lambda _path: AwsChain(AwsCredentialChain()),
        lambda _path: SerialExecutor(),
    ],
)
def test_a_lock_that_another_thread_holds_is_free_in_the_child(
    make: Callable[[Any], Any], tmp_path: Any
) -> None:
    """Such as one that is held for as long as a token server takes to answer."""
    one = make(tmp_path / "answers.db")
    held, leave = threading.Event(), threading.Event()
    holder = threading.Thread(target=_held, args=(one._lock, held, leave))
    holder.start()
    assert held.wait(PATIENCE_S)
    try:
        assert one._lock.locked()
        assert in_child(lambda: one._lock.acquire(timeout=5)) == 0
        assert one._lock.locked()
    finally:
        leave.set()
        holder.join()


def test_an_exchange_of_the_parent_does_not_stop_the_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Copilot's tokens are had one at a time in each process."""
    monkeypatch.setattr(copilot, "_exchanging", ForkSafeLock())  # other tests may hold theirs still
    tokens = CopilotTokens(CopilotLogin(token="tid=1;exp=2"), {}, HttpOptions())
    held, leave = threading.Event(), threading.Event()
    holder = threading.Thread(target=_held, args=(copilot._exchanging.held(), held, leave))
    holder.start()
    assert held.wait(PATIENCE_S)
    try:
        assert in_child(lambda: bool(tokens.token())) == 0
    finally:
        leave.set()
        holder.join()
