"""The head of a response and its first bytes of body go out together."""

import asyncio
from typing import cast

import pytest

from llmcore.bridge.http.http1 import CoalescingTransport

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

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


async def test_head_whose_body_comes_later_is_written_in_the_next_turn() -> None:
    transport = response(written := Written())
    transport.write(HEAD)
    await asyncio.sleep(0)
    assert written.writes == [HEAD]
    transport.write(BODY)
    assert written.writes == [HEAD, BODY]


async def test_closing_writes_a_held_head_first() -> None:
    transport = response(written := Written())
    transport.write(HEAD)
    transport.close()
    assert written.writes == [HEAD, b"closed"]
    assert transport.is_closing()
