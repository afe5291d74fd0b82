"""Bytes on their way to a client: joined where they come together, kept where a write fails."""

from typing import Any

import anyio
import pytest

from llmcore.bridge.http.stream_writer import StreamWriter

pytestmark = pytest.mark.anyio


class Wire:
    """What a server was told to send; the first body may get stuck."""

    def __init__(self, *, stuck: bool = False) -> None:
        self.messages: list[Any] = []
        self.stuck = stuck

    async def send(self, message: Any) -> None:
        if self.stuck and message["type"] == "http.response.body":
            self.stuck = False
            await anyio.sleep_forever()
        self.messages.append(message)

    @property
    def bodies(self) -> list[bytes]:
        return [one["body"] for one in self.messages if one["type"] == "http.response.body"]


def body_for(wire: Wire) -> StreamWriter:
    return StreamWriter(wire.send, lambda: [(b"a", b"b")])


async def test_what_is_said_at_once_is_one_write() -> None:
    """And the head comes once, before it."""
    wire = Wire()
    body = body_for(wire)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(body.write)
        for text in (b"a", b"b", b"c"):
            body.send(text)
        await anyio.wait_all_tasks_blocked()
        body.send(b"d")
        await anyio.wait_all_tasks_blocked()
        body.send(b"e")
        await body.end()
        await body.end()
        tasks.cancel_scope.cancel()

    assert wire.messages[0]["headers"] == [(b"a", b"b")]
    assert [one["type"] for one in wire.messages].count("http.response.start") == 1
    assert wire.bodies == [b"abc", b"d", b"e", b""]
    assert [one["more_body"] for one in wire.messages[1:]] == [True, True, True, False]


async def test_a_write_that_was_cancelled_is_made_again() -> None:
    """The last words come after all that was said before them."""
    wire = Wire(stuck=True)
    body = body_for(wire)
    body.send(b"a")
    with anyio.move_on_after(0.05):
        await body.flush()
    body.send(b"b")
    await body.end()

    assert wire.bodies == [b"ab", b""]


async def test_much_waits_for_the_client() -> None:
    """What is said and not written is bounded by who says it."""
    body = body_for(Wire())
    body.send(b"x" * 70_000)
    assert body.is_full
    await body.flush()
    assert not body.is_full


async def test_a_stalled_client_is_noticed() -> None:
    """Only one that takes nothing: silence is none of its faults."""
    silent = body_for(Wire())
    with anyio.move_on_after(0.2) as scope:
        await silent.watch_for_stall(0.05)
    assert scope.cancelled_caught

    stuck = body_for(Wire(stuck=True))
    stuck.send(b"a")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stuck.write)
        with pytest.raises(ConnectionAbortedError):
            await stuck.watch_for_stall(0.05)
        tasks.cancel_scope.cancel()
