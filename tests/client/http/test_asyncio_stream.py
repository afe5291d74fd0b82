"""Bytes, ends, limits and TLS of a connection: `llmcore/client/asyncio_stream.py`.

On asyncio only, and on uvloop where it is installed: on trio connections are httpcore's own.
"""

import asyncio
import contextlib
import select
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any
from unittest import mock

import anyio
import httpcore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.client import asyncio_stream
from llmcore.client.asyncio_network import AsyncioBackend
from llmcore.client.asyncio_stream import MAX_WAITING, AsyncioStream
from tests.support.programs.asyncio_loops import ASYNCIO_LOOPS
from tests.support.servers.tls_loopback import Authority, new_authority

pytestmark = pytest.mark.anyio

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

MUCH = bytes(range(256)) * (20 * 4096)
"""20 MB."""


@pytest.fixture(params=ASYNCIO_LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return new_authority(tmp_path_factory.mktemp("ca"))


@contextlib.asynccontextmanager
async def peer(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve every connection by *serve* for the block; the port."""
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with contextlib.suppress(OSError):  # who breaks off is no fault of the server
            await serve(reader, writer)

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def tunnel(
    port: int, tls: ssl.SSLContext | None = None, greeting: bytes = b""
) -> AsyncIterator[int]:
    """Pass on what comes to *port*, as a proxy does; its own port."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))
        finally:
            far_writer.transport.abort()

    async with peer(serve, tls) as outer:
        yield outer


@contextlib.asynccontextmanager
async def connected(port: int, *contexts: ssl.SSLContext) -> AsyncIterator[AsyncioStream]:
    """Connect to *port*, with as many layers of TLS as contexts are given."""
    stream = await AsyncioBackend().connect_tcp("127.0.0.1", port, timeout=10)
    try:
        for context in contexts:
            stream = await stream.start_tls(context, "localhost", timeout=10)
        yield stream
    finally:
        await stream.aclose()


@contextlib.asynccontextmanager
async def layered(serve: Serve, authority: Authority, layers: int) -> AsyncIterator[AsyncioStream]:
    """Connect to a server that is *serve*, over none, one or two layers of TLS."""
    server, client = authority.server_context(), authority.client_context()
    async with contextlib.AsyncExitStack() as stack:
        port = await stack.enter_async_context(peer(serve, server if layers else None))
        if layers == 2:
            port = await stack.enter_async_context(tunnel(port, server))
        yield await stack.enter_async_context(connected(port, *[client] * layers))


async def read_all(stream: AsyncioStream, max_bytes: int = 65536) -> bytes:
    """Read to the end."""
    pieces = []
    while data := await stream.read(max_bytes, 20):
        pieces.append(data)
    return b"".join(pieces)


async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Read, say nothing, and stay."""
    await reader.read()


async def until(happened: Callable[[], object]) -> None:
    """Wait until it has *happened*."""
    with anyio.fail_after(20):
        while not happened():  # noqa: ASYNC110  (nobody could set an event)
            await asyncio.sleep(0.001)


def reset(writer: asyncio.StreamWriter) -> None:
    """Break a connection off, as a crashed server does."""
    connection: Any = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


# -- what comes


class _Transport(asyncio.Transport):
    """Counts on whether it may read."""

    reading = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        """Be closed."""


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=12),
    st.lists(st.integers(1, 50), min_size=1, max_size=5),
)
def test_bytes_come_out_as_they_came_in(arrivals: list[bytes], sizes: list[int]) -> None:
    """Whatever pieces they come in and are asked for in, and what waits is bounded."""

    async def use() -> None:
        stream, transport = AsyncioStream(), _Transport()
        stream.connection_made(transport)
        coming, taken, turn = list(arrivals), b"", 0
        while coming or stream.get_extra_info("is_readable"):
            if coming and transport.reading:
                stream.data_received(coming.pop(0))
                continue
            assert stream._size <= 64 + 40
            piece = await stream.read(sizes[turn % len(sizes)], 1)
            assert 0 < len(piece) <= sizes[turn % len(sizes)]
            taken, turn = taken + piece, turn + 1
        stream.eof_received()
        assert (taken, await stream.read(1)) == (b"".join(arrivals), b"")

    with mock.patch.object(asyncio_stream, "MAX_WAITING", 64):
        asyncio.run(use())


@pytest.mark.parametrize("layers", [0, 1, 2])
async def test_what_nobody_reads_waits_at_the_server(authority: Authority, layers: int) -> None:
    """And all of it comes to who reads late, though the server has hung up by then."""

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(MUCH)
        await writer.drain()
        writer.close()

    async with layered(serve, authority, layers) as stream:
        await until(lambda: stream._paused)
        await asyncio.sleep(0.03)  # time for more to come, if it could
        assert MAX_WAITING < stream._size < 4 * MAX_WAITING

        assert await read_all(stream) == MUCH


@pytest.mark.parametrize("layers", [0, 1, 2])
async def test_nothing_is_lost_if_the_end_comes_while_reading_rests(
    authority: Authority, layers: int
) -> None:
    """The end may be here before what precedes it was taken."""
    answer = MUCH[: 2 * MAX_WAITING + 4711]

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    async with layered(serve, authority, layers) as stream:
        await until(lambda: stream._paused)
        await asyncio.sleep(0.03)

        assert await read_all(stream, 1000) == answer


# -- ends


@pytest.mark.parametrize("layers", [0, 1, 2])
async def test_the_end_is_empty_and_stays(authority: Authority, layers: int) -> None:
    """As httpcore wants it."""

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"all")
        writer.close()

    async with layered(serve, authority, layers) as stream:
        assert [await stream.read(10, 10) for _ in range(3)] == [b"all", b"", b""]
        assert stream.get_extra_info("is_readable")


@pytest.mark.parametrize("layers", [0, 1, 2])
async def test_a_reset_is_no_end(authority: Authority, layers: int) -> None:
    """A body that is cut off must not look whole."""
    written = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"half")
        await reader.read(1)
        reset(writer)
        written.set()

    server, client = authority.server_context(), authority.client_context()
    async with contextlib.AsyncExitStack() as stack:
        port = await stack.enter_async_context(peer(serve, server if layers == 1 else None))
        if layers == 2:  # the outer layer is what breaks
            port = await stack.enter_async_context(peer(serve, server))
        stream = await stack.enter_async_context(connected(port, *[client] * (layers > 0)))
        assert await stream.read(10, 10) == b"half"
        await stream.write(b"go on", 10)
        for _ in range(2):
            with pytest.raises(httpcore.ReadError):
                await stream.read(10, 10)
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"more")


@pytest.mark.parametrize("layers", [0, 1, 2])
async def test_closing_ends_who_reads_and_who_comes_later(
    authority: Authority, layers: int
) -> None:
    """With an error, and not with what looks like the server's end."""
    async with layered(silent, authority, layers) as stream:
        reading = asyncio.ensure_future(stream.read(10, 20))
        await asyncio.sleep(0)
        await stream.aclose()
        with pytest.raises(httpcore.ReadError):
            await reading
        with pytest.raises(httpcore.ReadError):
            await stream.read(10)
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"late")
        assert stream._timer is None
        await stream.aclose()


async def test_after_closing_the_end_of_the_server_is_none() -> None:
    """What it had sent is dropped as well."""

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"all")
        writer.close()

    async with peer(serve) as port, connected(port) as stream:
        await until(lambda: stream._ended)
        await stream.aclose()
        with pytest.raises(httpcore.ReadError):
            await stream.read(10)
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"late")


@pytest.mark.parametrize("layers", [0, 1])
@pytest.mark.parametrize("late", [b"", b"SETTINGS, acknowledged"])
async def test_writing_to_who_has_ended_spoils_no_answer(
    authority: Authority, late: bytes, layers: int
) -> None:
    """HTTP/2 and WebSockets answer what they read, before they hand it out."""

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"all")
        writer.close()

    async with layered(serve, authority, layers) as stream:
        await until(lambda: stream._ended)
        await stream.write(late, 10)
        assert await read_all(stream) == b"all"


@pytest.mark.parametrize("seen", [True, False], ids=["seen by the loop", "not yet seen"])
async def test_a_server_that_hung_up_makes_an_idle_connection_readable(seen: bool) -> None:
    """httpcore asks so whether it is still of use, also after the program has blocked the loop."""
    served = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        served.set()
        connection: Any = writer.get_extra_info("socket")
        connection = socket.socket(fileno=socket.dup(connection.fileno()))
        with connection:
            connection.shutdown(socket.SHUT_WR)

    async with peer(serve) as port, connected(port) as stream:
        assert not stream.get_extra_info("is_readable")
        await stream.write(b"?")
        await served.wait()
        if seen:
            assert await stream.read(10, 10) == b""
        else:
            waiting = select.poll()
            waiting.register(stream.get_extra_info("socket").fileno(), select.POLLIN)
            assert waiting.poll(5000)
        assert stream.get_extra_info("is_readable")


# -- limits of reading


async def test_a_read_that_waits_too_long() -> None:
    """It is ReadTimeout, and the connection can be read further."""
    go_on = asyncio.Event()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go_on.wait()
        writer.write(b"late")
        await writer.drain()
        await go_on.wait()

    async with peer(serve) as port, connected(port) as stream:
        with anyio.move_on_after(0.01):
            await stream.read(10, 60)
        for limit in (0.05, 0.02, 0):  # each is over before the timer of the one before
            with anyio.fail_after(20), pytest.raises(httpcore.ReadTimeout):
                await stream.read(10, limit)
        go_on.set()
        assert await stream.read(10, 20) == b"late"


@pytest.mark.parametrize("later", [None, 20])
async def test_a_timer_ends_no_later_read(later: float | None) -> None:
    """One of an earlier read goes off in the middle of it."""
    go_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"first")
        await go_on.wait()
        writer.write(b"second")
        await reader.read()

    async with peer(serve) as port, connected(port) as stream:
        assert await stream.read(10, 0.05) == b"first"
        reading = asyncio.ensure_future(stream.read(10, later))
        await asyncio.sleep(0.1)
        go_on.set()
        assert await reading == b"second"
        if later is None:
            with pytest.raises(httpcore.ReadTimeout):
                await stream.read(10, 0.02)


@pytest.mark.parametrize("ending", ["closed here", "ended there", "in a handshake"])
async def test_no_timer_is_left_behind(authority: Authority, ending: str) -> None:
    """It would hold the connection for as long as the limit was."""
    go_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"?")
        await go_on.wait()
        if ending == "ended there":
            writer.close()
        await reader.read()

    async with peer(serve) as port, connected(port) as stream:
        await stream.read(1, 60)
        reading = asyncio.ensure_future(stream.read(1, 60))
        await asyncio.sleep(0)
        timer = stream._timer
        assert timer is not None
        reading.cancel()
        go_on.set()
        if ending == "closed here":
            await stream.aclose()
        elif ending == "in a handshake":
            with pytest.raises(httpcore.ConnectTimeout):
                await stream.start_tls(authority.client_context(), "localhost", timeout=0.02)
        await until(lambda: stream._timer is None)
        assert timer.cancelled()


# -- writing


@pytest.mark.parametrize("layers", [0, 1])
async def test_a_large_body_to_a_slow_reader_arrives(authority: Authority, layers: int) -> None:
    """Whole, in order."""
    received = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while len(received) < len(MUCH):
            received.extend(await reader.read(1 << 20))
            await asyncio.sleep(0.001)
        writer.write(b"thanks")
        await reader.read()

    async with layered(serve, authority, layers) as stream:
        await stream.write(MUCH, 20)
        assert await stream.read(10, 20) == b"thanks"
        assert received == MUCH


@pytest.mark.parametrize("layers", [0, 1, 2])
async def test_writing_to_who_stops_reading(authority: Authority, layers: int) -> None:
    """It is WriteTimeout, over TLS too, and also if some was read before."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2_000_000)
        transport: Any = writer.transport
        transport.pause_reading()
        await asyncio.Event().wait()

    async with layered(serve, authority, layers) as stream:
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(MUCH * 2, 0.15)


@pytest.mark.parametrize("cancelled", [True, False])
async def test_a_writer_that_waits_is_not_cut_in_two(cancelled: bool) -> None:
    """What others write next follows upon the whole of it, also if it was cancelled."""
    go_on, received = asyncio.Event(), bytearray()

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await go_on.wait()
        while data := await reader.read(1 << 20):
            received.extend(data)

    async with peer(serve) as port, connected(port) as stream:
        writing = asyncio.ensure_future(stream.write(MUCH))
        await asyncio.sleep(0.05)
        assert not writing.done()
        if cancelled:
            writing.cancel()
            await asyncio.wait([writing])
        asyncio.get_running_loop().call_later(0.02, go_on.set)
        await stream.write(b"next", 20)
        await until(lambda: len(received) >= len(MUCH) + 4)
        assert received == MUCH + b"next"
        await asyncio.wait([writing])


@pytest.mark.parametrize("layers", [0, 1])
async def test_a_server_that_breaks_off_ends_who_writes(authority: Authority, layers: int) -> None:
    """At once, not when the limit is over."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        reset(writer)

    async with layered(serve, authority, layers) as stream:
        with anyio.fail_after(15), pytest.raises(httpcore.WriteError):
            await stream.write(MUCH, 60)
        with pytest.raises(httpcore.ReadError):
            await stream.read(10, 10)


async def test_an_early_answer_ends_who_writes_and_can_be_read() -> None:
    """A server may refuse a body in the middle of it: it answers, and reads no further."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        transport: Any = writer.transport
        await reader.read(1)
        transport.pause_reading()
        writer.write(b"413")
        writer.write_eof()
        await asyncio.Event().wait()

    async with peer(serve) as port, connected(port) as stream:
        with anyio.fail_after(15):
            await stream.write(MUCH, 60)
            assert await read_all(stream) == b"413"


# -- TLS


@pytest.mark.parametrize("layers", [1, 2])
async def test_tls(authority: Authority, layers: int) -> None:
    """And TLS inside of it, as through a proxy."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)

    async with layered(echo, authority, layers) as stream:
        await stream.write(b"hello", 10)
        assert await stream.read(10, 10) == b"hello"
        assert isinstance(stream.get_extra_info("ssl_object"), ssl.SSLObject)
        assert stream.get_extra_info("server_addr")[0] == "127.0.0.1"


@pytest.mark.parametrize("layers", [1, 2])
async def test_a_certificate_for_somebody_else(authority: Authority, layers: int) -> None:
    """It is ConnectError, with Python's reason for a cause."""
    server, client = authority.server_context(), authority.client_context()
    async with contextlib.AsyncExitStack() as stack:
        port = await stack.enter_async_context(peer(silent, server))
        if layers == 2:
            port = await stack.enter_async_context(tunnel(port, server))
        stream = await stack.enter_async_context(connected(port, *[client] * (layers - 1)))
        with pytest.raises(httpcore.ConnectError, match="certificate") as caught:
            await stream.start_tls(client, "example.org", timeout=10)
        assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"secret")


async def test_a_handshake_that_is_not_answered(authority: Authority) -> None:
    """It is ConnectTimeout: the limit is ours, and asyncio's own does not count."""
    with mock.patch("asyncio.constants.SSL_HANDSHAKE_TIMEOUT", 0.02):
        async with peer(silent) as port, connected(port) as stream:
            with pytest.raises(httpcore.ConnectTimeout):
                await stream.start_tls(authority.client_context(), "localhost", timeout=0.1)


@pytest.mark.parametrize("step", ["before", "at once", "after our hello", "garbage"])
async def test_a_server_that_hangs_up_instead_of_a_handshake(
    authority: Authority, step: str
) -> None:
    """It is ConnectError, at once."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if step in ("after our hello", "garbage"):
            await reader.read(10)
        if step == "garbage":
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with peer(serve) as port, connected(port) as stream:
        if step == "before":
            await until(lambda: stream._ended)
            await asyncio.sleep(0.01)
        with anyio.fail_after(15), pytest.raises(httpcore.ConnectError) as caught:
            await stream.start_tls(authority.client_context(), "localhost", timeout=60)
        assert str(caught.value)


async def test_bytes_from_before_tls_are_never_taken_for_the_server_s(authority: Authority) -> None:
    """A proxy could slip an answer in."""
    async with contextlib.AsyncExitStack() as stack:
        port = await stack.enter_async_context(peer(silent, authority.server_context()))
        port = await stack.enter_async_context(tunnel(port, greeting=b"HTTP/1.1 200 OK"))
        stream = await stack.enter_async_context(connected(port))
        await until(lambda: stream._size)
        with pytest.raises(httpcore.ConnectError):
            await stream.start_tls(authority.client_context(), "localhost", timeout=10)


async def test_closing_in_the_middle_of_a_handshake_ends_it(authority: Authority) -> None:
    """A pool may be closed while it connects."""
    async with peer(silent) as port, connected(port) as stream:
        shaking = asyncio.ensure_future(
            stream.start_tls(authority.client_context(), "localhost", timeout=60)
        )
        await asyncio.sleep(0.02)
        await stream.aclose()
        with anyio.fail_after(15), pytest.raises(httpcore.ConnectError):
            await shaking
        with pytest.raises(httpcore.ReadError):
            await stream.read(10, 10)


def after(rounds: int, act: Callable[[], object]) -> None:
    """Let *act* be called after so many rounds of the loop."""
    if rounds == 0:
        act()
    else:
        asyncio.get_running_loop().call_soon(after, rounds - 1, act)


async def _native(shaking: Coroutine[Any, Any, AsyncioStream], steps: int) -> bool:
    """Cancel *shaking* after some rounds of the loop, as asyncio does; whether it came to that."""
    task = asyncio.ensure_future(shaking)
    after(steps, task.cancel)
    await asyncio.wait([task])
    return task.cancelled()


async def _scoped(shaking: Coroutine[Any, Any, AsyncioStream], steps: int) -> bool:
    """Cancel *shaking* after some rounds of the loop, as anyio does; whether it came to that."""
    with anyio.CancelScope() as scope:
        after(steps, scope.cancel)
        await shaking
    return scope.cancelled_caught


@pytest.mark.parametrize("cancelled", [_native, _scoped])
@pytest.mark.parametrize("layers", [1, 2])
async def test_a_handshake_cancelled_at_any_moment_closes_the_socket(
    authority: Authority,
    layers: int,
    cancelled: Callable[[Coroutine[Any, Any, AsyncioStream], int], Awaitable[bool]],
) -> None:
    """Nobody has the connection then but this module."""
    server, client = authority.server_context(), authority.client_context()
    async with contextlib.AsyncExitStack() as stack:
        port = await stack.enter_async_context(peer(silent, server))
        if layers == 2:
            port = await stack.enter_async_context(tunnel(port, server))
        outcomes = []
        for steps in range(1, 26, 3):
            stream = await stack.enter_async_context(connected(port, *[client] * (layers - 1)))
            file = stream.get_extra_info("socket")
            shaking = stream.start_tls(client, "localhost", timeout=10)
            outcomes.append(await cancelled(shaking, steps))
            for _ in range(3):
                await asyncio.sleep(0)
            assert (file.fileno() == -1) == outcomes[-1]
        assert True in outcomes
