"""asyncio's network, as httpcore asks for it: from a name to a connection.

`loop.create_connection` can race addresses itself, but loses a socket when it is cancelled at the
moment of success; here no attempt is ever left behind.
"""

import asyncio
import socket
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final, TypeAlias

import anyio
import httpcore

from llmcore.client.asyncio_stream import AsyncioStream, not_connected

HEAD_START: Final = 0.25
"""Seconds that an address has before the next one is tried beside it (RFC 8305, 5)."""

_Address: TypeAlias = tuple[int, str, int]
"""Family, number and port."""
_Attempt: TypeAlias = "asyncio.Task[AsyncioStream]"


class AsyncioBackend(httpcore.AsyncNetworkBackend):
    """Opens connections. Raises httpcore.ConnectError and httpcore.ConnectTimeout."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncioStream:
        """Connect to a host, over whichever of its addresses answers first."""
        try:
            async with asyncio.timeout(timeout):
                stream = await first_of(await _addresses(host, port), local_address)
            return _with_options(stream, socket_options)
        except OSError as error:  # TimeoutError is one
            raise not_connected(error) from error

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncioStream:
        """Connect to a socket of this machine."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                _, stream = await loop.create_unix_connection(AsyncioStream, path)
            return _with_options(stream, socket_options)
        except OSError as error:
            raise not_connected(error) from error

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


async def _addresses(host: str, port: int) -> list[_Address]:
    """Return the addresses of a host, its families taking turns, the preferred one first."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if not found:
        raise OSError(f"{host} has no address")
    families: dict[int, list[_Address]] = {}
    for family, _, _, _, place in found:
        families.setdefault(family, []).append((family, str(place[0]), int(place[1])))
    return [one for turn in zip_longest(*families.values()) for one in turn if one is not None]


async def first_of(addresses: Sequence[_Address], local: str | None = None) -> AsyncioStream:
    """Connect to the first of *addresses* that answers, and to no other.

    The next one is tried when one has failed, or has not answered in time to keep it from that.
    Raises the OSError of the first if all fail.
    """
    attempts: list[_Attempt] = []
    try:
        winner = await _race(iter(addresses), local, attempts)
        await _call_off([one for one in attempts if one is not winner])
    except BaseException:
        await _call_off(attempts)  # the winner too: nobody would have it
        raise
    return winner.result()


async def _race(
    addresses: Iterator[_Address], local: str | None, attempts: list[_Attempt]
) -> _Attempt:
    """Add *attempts* until one has connected, and return it."""
    running: set[_Attempt] = set()
    while True:
        address = next(addresses, None)
        if address is not None:
            attempts.append(asyncio.create_task(_connected(address, local)))
            running.add(attempts[-1])
        elif not running:
            raise attempts[0].exception() or ConnectionError("no attempt was made")
        limit = None if address is None else HEAD_START
        done, running = await asyncio.wait(
            running, timeout=limit, return_when=asyncio.FIRST_COMPLETED
        )
        for one in attempts:
            if one in done and one.exception() is None:
                return one


async def _connected(address: _Address, local: str | None) -> AsyncioStream:
    family, host, port = address
    _, stream = await asyncio.get_running_loop().create_connection(
        AsyncioStream,
        host,
        port,
        family=family,
        local_addr=None if local is None else (local, 0),
    )
    return stream


async def _call_off(attempts: Sequence[_Attempt]) -> None:
    """Leave nothing of *attempts* behind, also if this is cancelled in turn."""
    for attempt in attempts:
        attempt.cancel()
        attempt.add_done_callback(_discard)
    if any(not attempt.done() for attempt in attempts):
        with anyio.CancelScope(shield=True):
            await asyncio.wait(attempts)


def _discard(attempt: _Attempt) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().abort()


def _with_options(stream: AsyncioStream, options: Iterable[Any] | None) -> AsyncioStream:
    try:
        for option in options or ():
            stream.get_extra_info("socket").setsockopt(*option)
    except BaseException:
        stream.abort()
        raise
    return stream
