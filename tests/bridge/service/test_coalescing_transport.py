"""The head of a response and its first bytes of body go out together."""

import asyncio
import socket
from typing import cast

import pytest

from llmcore.bridge.http.http1 import CoalescingTransport

HEAD, BODY, MORE = b"HTTP/1.1 200 OK\r\n\r\n", b"{}", b"more"


class Written:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def close(self) -> None:
        self.writes.append(b"closed")

    def is_closing(self) -> bool:
        return b"closed" in self.writes


def response(written: Written) -> CoalescingTransport:
    return CoalescingTransport(cast("asyncio.Transport", written), asyncio.get_running_loop())


on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@pytest.mark.anyio
@on_asyncio
@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ([BODY], [HEAD + BODY]),
        ([BODY, MORE], [HEAD + BODY, MORE]),
        ([b""], [HEAD]),
        ([], [HEAD]),
    ],
)
async def test_head_is_written_once_with_the_first_of_the_body(
    later: list[bytes], expected: list[bytes]
) -> None:
    transport = response(written := Written())
    for data in (HEAD, *later):
        transport.write(data)
    await asyncio.sleep(0)
    assert written.writes == expected


@pytest.mark.anyio
@on_asyncio
async def test_head_whose_body_comes_later_is_written_in_the_next_turn() -> None:
    transport = response(written := Written())
    transport.write(HEAD)
    await asyncio.sleep(0)
    assert written.writes == [HEAD]
    transport.write(BODY)
    assert written.writes == [HEAD, BODY]


@pytest.mark.anyio
@on_asyncio
async def test_closing_writes_a_held_head_first() -> None:
    transport = response(written := Written())
    transport.write(HEAD)
    transport.close()
    assert written.writes == [HEAD, b"closed"]
    assert transport.is_closing()


async def sent_within_a_turn() -> bytes:
    """Return what a client has of a response before the event loop's next turn."""
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    with theirs:
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=ours)
        response = CoalescingTransport(transport, loop)
        response.write(HEAD)
        response.write(BODY)
        theirs.setblocking(False)
        received = theirs.recv(1000)
        transport.close()
        return received


def test_the_first_of_the_body_does_not_wait_for_what_the_turn_does_after_it() -> None:
    """Reading the rest of a response can take long; uvloop before 0.23 waited for it."""
    uvloop = pytest.importorskip("uvloop")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(sent_within_a_turn()) == HEAD + BODY
