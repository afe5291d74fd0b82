"""Bytes on their way to a client: in order, and kept where a write fails."""

from typing import Any

import anyio
import pytest

from llmcore.bridge.http.app import make_app
from llmcore.bridge.http.responses import StreamWriter
from llmcore.bridge.service import Service
from llmcore.testing.script import scripted
from tests.support.servers.bridge_service import settings_for
from tests.support.servers.loopback import DONE, chat_stream

pytestmark = pytest.mark.anyio


class Wire:
    """Records the messages sent to the server; the first body may block."""

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


async def test_the_head_comes_once_and_the_end_once() -> None:
    """Each write is one message, made before `write` returns."""
    wire = Wire()
    body = body_for(wire)
    for text in (b"abc", b"d"):
        await body.write(text)
        assert wire.bodies[-1] == text
    await body.end()
    await body.end()

    assert wire.messages[0]["headers"] == [(b"a", b"b")]
    assert [one["type"] for one in wire.messages].count("http.response.start") == 1
    assert wire.bodies == [b"abc", b"d", b""]
    assert [one["more_body"] for one in wire.messages[1:]] == [True, True, False]


async def test_a_write_that_was_cancelled_is_made_again() -> None:
    """The last words come after all that was said before them."""
    wire = Wire(stuck=True)
    body = body_for(wire)
    with anyio.move_on_after(0.05):
        await body.write(b"a")
    await body.write(b"b")
    await body.end()

    assert wire.bodies == [b"ab", b""]


async def test_what_is_held_is_sent_with_the_end_even_if_a_first_try_was_cancelled() -> None:
    wire = Wire(stuck=True)
    body = body_for(wire)
    body.hold(b"a")
    assert (body.begun, wire.messages) == (True, [])
    with anyio.move_on_after(0.05):
        await body.end()
    assert not body.ended
    await body.end()

    assert [(one["body"], one["more_body"]) for one in wire.messages[1:]] == [(b"a", False)]


async def test_writes_of_two_tasks_are_one_after_the_other() -> None:
    """The second waits while the client takes the first."""
    wire = Wire()
    taken = anyio.Event()
    transmit = wire.send

    async def send(message: Any) -> None:
        if message.get("body") == b"a":
            await taken.wait()
        await transmit(message)

    body = StreamWriter(send, lambda: [(b"a", b"b")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(body.write, b"a")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(body.write, b"b")
        await anyio.wait_all_tasks_blocked()
        assert wire.bodies == []
        taken.set()

    assert b"".join(wire.bodies) == b"ab"


async def test_a_stalled_client_is_noticed() -> None:
    """Only one that takes nothing: silence is none of its faults."""
    silent = body_for(Wire())
    await anyio.sleep(0.06)
    silent.check_stall(0.05)

    stuck = body_for(Wire(stuck=True))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stuck.write, b"a")
        await anyio.sleep(0.06)
        with pytest.raises(ConnectionAbortedError):
            stuck.check_stall(0.05)
        tasks.cancel_scope.cancel()


async def test_the_last_events_of_a_chat_are_written_together_with_its_end() -> None:
    """A second write would wake the client once more."""
    events = [data for data in chat_stream() if isinstance(data, bytes)]
    service = Service.from_settings(
        settings_for("http://127.0.0.1:9"), transport=scripted([b"".join(events)])
    )
    body = b'{"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]}'
    request = {"type": "http.request", "body": body}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/chat/completions",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }
    arrived, wire = iter([request]), Wire()

    async def receive() -> Any:
        for message in arrived:
            return message
        return await anyio.sleep_forever()

    await make_app(service)(scope, receive, wire.send)
    await service.aclose()

    last = wire.messages[-1]
    assert (last["body"].count(b"data: ") > 1, last["body"].endswith(DONE)) == (True, True)
    assert not last["more_body"]
