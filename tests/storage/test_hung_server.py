"""Servers that hang are tried again by one caller at a time."""

from types import SimpleNamespace

import pytest

from llmcore.storage import hung_server
from llmcore.storage.hung_server import HungServer


class Clock:
    now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    Clock.now = 100.0
    monkeypatch.setattr(hung_server, "time", SimpleNamespace(monotonic=lambda: Clock.now))
    return Clock


def call(server: HungServer, error: Exception | None = None) -> str:
    """Return what happens to a call for which the server has *error*."""
    if server.is_avoided():
        return "avoided"
    try:
        with server.watching(TimeoutError):
            if error is not None:
                raise error
    except (TimeoutError, OSError) as raised:
        return type(raised).__name__
    return "done"


@pytest.mark.parametrize(
    ("error", "then"),
    [(None, "done"), (TimeoutError(), "avoided"), (ConnectionResetError(), "done")],
    ids=["answered", "hung", "refused"],
)
def test_only_a_server_that_does_not_answer_is_avoided(
    clock: type[Clock], error: Exception | None, then: str
) -> None:
    server = HungServer()
    call(server, error)

    assert call(server) == then
    clock.now += 6
    assert call(server) == "done"


def test_one_caller_tries_a_hung_server_again_and_the_others_do_not_wait_for_it(
    clock: type[Clock],
) -> None:
    server = HungServer()
    call(server, TimeoutError())
    clock.now += 6

    assert server.is_avoided() is False  # the call is under way
    assert call(server) == "avoided"


@pytest.mark.parametrize(
    ("second", "then"), [(TimeoutError(), "avoided"), (None, "done"), (OSError(), "done")]
)
def test_the_second_try_decides_for_all(
    clock: type[Clock], second: Exception | None, then: str
) -> None:
    server = HungServer()
    call(server, TimeoutError())
    clock.now += 6
    call(server, second)

    assert [call(server), call(server)] == [then, then]
