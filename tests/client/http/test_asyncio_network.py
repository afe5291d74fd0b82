"""From a name to a connection: `llmcore/client/asyncio_network.py`.

On asyncio only, and on uvloop where it is installed: on trio connections are httpcore's own.
"""

import asyncio
import contextlib
import gc
import socket
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpcore
import pytest

from llmcore.client import asyncio_network
from llmcore.client.asyncio_network import AsyncioBackend, first_of
from llmcore.client.asyncio_stream import AsyncioStream
from tests.support.programs.asyncio_loops import ASYNCIO_LOOPS

pytestmark = pytest.mark.anyio

V4 = int(socket.AF_INET)


@pytest.fixture(params=ASYNCIO_LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@contextlib.contextmanager
def listening() -> Iterator[int]:
    """Answer on a port of 127.0.0.1 (the kernel does)."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


@contextlib.contextmanager
def hanging() -> Iterator[int]:
    """Take no further connection on a port, and refuse none: Linux drops what asks for one."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as server,
        contextlib.ExitStack() as held,
    ):
        for _ in range(3):
            filler = held.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """Hold a port that nobody listens on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextlib.asynccontextmanager
async def closing(stream: AsyncioStream) -> AsyncIterator[AsyncioStream]:
    try:
        yield stream
    finally:
        await stream.aclose()


def port_of(stream: AsyncioStream) -> int:
    port: int = stream.get_extra_info("server_addr")[1]
    return port


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[asyncio_network._Address]:
    """Let every name mean what is put in here."""
    found: list[asyncio_network._Address] = []

    async def addresses(*_: object) -> list[asyncio_network._Address]:
        return found

    monkeypatch.setattr(asyncio_network, "_addresses", addresses)
    return found


# -- which address


async def test_an_address_that_hangs_holds_up_the_next_one_for_a_moment() -> None:
    """And nothing of it is left."""
    before = asyncio.all_tasks()
    with hanging() as first, listening() as second, anyio.fail_after(20):
        stream = await first_of([(V4, "127.0.0.1", first), (V4, "127.0.0.1", second)])
        async with closing(stream):
            assert port_of(stream) == second
        assert asyncio.all_tasks() == before


async def test_an_address_that_refuses_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head start is for those that have not failed yet."""
    monkeypatch.setattr(asyncio_network, "HEAD_START", 60.0)
    with refusing() as first, listening() as second, anyio.fail_after(20):
        stream = await first_of([(V4, "127.0.0.1", first), (V4, "127.0.0.1", second)])
        async with closing(stream):
            assert port_of(stream) == second


async def test_if_all_refuse_it_is_connect_error(
    resolved: list[asyncio_network._Address],
) -> None:
    """With the reason of the system."""
    with refusing() as first, refusing() as second:
        resolved += [(V4, "127.0.0.1", first), (V4, "127.0.0.1", second)]
        with pytest.raises(httpcore.ConnectError) as caught:
            await AsyncioBackend().connect_tcp("name", 1, timeout=20)
        assert isinstance(caught.value.__cause__, ConnectionRefusedError)


async def test_if_all_fail_the_error_of_the_first_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the preferred one, whichever fails first."""
    monkeypatch.setattr(asyncio_network, "HEAD_START", 0.0)

    async def fail(address: asyncio_network._Address, _: object) -> AsyncioStream:
        await asyncio.sleep(0.02 if address[1] == "first" else 0)
        raise OSError(address[1])

    monkeypatch.setattr(asyncio_network, "_connected", fail)
    with pytest.raises(OSError, match="first"):
        await first_of([(V4, name, 1) for name in ("first", "second", "third")])


async def test_if_all_hang_the_limit_counts(
    resolved: list[asyncio_network._Address], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ConnectTimeout, and no attempt goes on."""
    monkeypatch.setattr(asyncio_network, "HEAD_START", 0.01)
    before = asyncio.all_tasks()
    with hanging() as first, hanging() as second:
        resolved += [(V4, "127.0.0.1", first), (V4, "127.0.0.1", second)]
        with pytest.raises(httpcore.ConnectTimeout):
            await AsyncioBackend().connect_tcp("name", 1, timeout=0.1)
        assert asyncio.all_tasks() == before


@pytest.mark.parametrize("found", [[], None], ids=["nothing", "no such name"])
async def test_a_name_without_an_address(
    found: list[Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ConnectError."""

    async def getaddrinfo(*_: object, **__: object) -> list[Any]:
        if found is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return found

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    with pytest.raises(httpcore.ConnectError):
        await AsyncioBackend().connect_tcp("name", 80, timeout=20)


async def test_the_families_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The preferred one first; what is left of the longer list at the end."""
    v6 = [(socket.AF_INET6, 1, 6, "", (f"::{n}", 80, 0, 0)) for n in (1, 2, 3)]
    v4 = [(socket.AF_INET, 1, 6, "", ("192.0.2.1", 80))]

    async def getaddrinfo(*_: object, **__: object) -> list[Any]:
        return [*v6, *v4]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    found = await asyncio_network._addresses("name", 80)

    assert [host for _, host, _ in found] == ["::1", "192.0.2.1", "::2", "::3"]


# -- nothing is left behind


class _Attempts:
    """Connections that are made when the test says so, their streams and sockets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ready: dict[str, asyncio.Event] = {}
        self.streams: dict[str, AsyncioStream] = {}
        self.sockets: dict[str, Any] = {}
        self.made = asyncio.Event()
        self._connected = asyncio_network._connected
        monkeypatch.setattr(asyncio_network, "_connected", self.connected)

    async def connected(self, address: tuple[int, str, int], local: str | None) -> AsyncioStream:
        """Connect; one that is called off all the same has a connection: it was a moment late."""
        family, name, port = address
        event = self.ready.setdefault(name, asyncio.Event())
        with contextlib.suppress(asyncio.CancelledError):
            await event.wait()
        stream = await self._connected((family, "127.0.0.1", port), local)
        self.sockets[name] = stream.get_extra_info("socket")
        self.streams[name] = stream
        self.made.set()
        return stream


async def test_a_loser_that_connects_late_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was called off at the moment of its success."""
    attempts = _Attempts(monkeypatch)
    monkeypatch.setattr(asyncio_network, "HEAD_START", 0.0)
    with listening() as port:
        attempts.ready["second"] = asyncio.Event()
        attempts.ready["second"].set()
        winner = await first_of([(V4, "first", port), (V4, "second", port)])
        async with closing(winner):
            assert winner is attempts.streams["second"]
            await asyncio.sleep(0.01)
            assert attempts.sockets["first"].fileno() == -1
            assert attempts.sockets["second"].fileno() > 0


async def test_the_winner_is_closed_if_calling_off_the_others_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody gets it."""
    attempts = _Attempts(monkeypatch)
    monkeypatch.setattr(asyncio_network, "HEAD_START", 0.0)
    with listening() as port:
        attempts.ready["second"] = asyncio.Event()
        attempts.ready["second"].set()
        task = asyncio.ensure_future(first_of([(V4, "first", port), (V4, "second", port)]))
        await attempts.made.wait()
        for _ in range(4):
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.01)
        assert [one.fileno() for one in attempts.sockets.values()] == [-1, -1]


def after(rounds: int, act: Callable[[], object]) -> None:
    """Let *act* be called after so many rounds of the loop."""
    if rounds == 0:
        act()
    else:
        asyncio.get_running_loop().call_soon(after, rounds - 1, act)


@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
@pytest.mark.parametrize("native", [True, False], ids=["asyncio's", "anyio's"])
async def test_cancelled_at_any_moment_of_connecting(
    resolved: list[asyncio_network._Address],
    monkeypatch: pytest.MonkeyPatch,
    native: bool,
    times: int,
) -> None:
    """No socket and no task is left; one that was connected can be used."""
    monkeypatch.setattr(asyncio_network, "HEAD_START", 0.0)
    before = asyncio.all_tasks()
    with hanging() as first, listening() as second, warnings.catch_warnings():
        warnings.simplefilter("error")
        resolved += [(V4, "127.0.0.1", port) for port in (first, second, second)]

        async def connect() -> None:
            stream = await AsyncioBackend().connect_tcp("name", 1, timeout=20)
            await stream.aclose()

        for steps in range(1, 25):
            with anyio.CancelScope() as scope:
                task = asyncio.ensure_future(connect()) if native else None
                if task is not None:
                    for turn in range(times):
                        after(steps + turn, task.cancel)
                    await asyncio.wait([task])
                else:
                    after(steps, scope.cancel)
                    await connect()
            for _ in range(5):
                await asyncio.sleep(0)
            assert asyncio.all_tasks() == before
        gc.collect()


# -- settings


async def test_the_local_address() -> None:
    """It is where the connection comes from."""
    with listening() as port:
        stream = await AsyncioBackend().connect_tcp(
            "127.0.0.1", port, timeout=20, local_address="127.0.0.2"
        )
        async with closing(stream):
            assert stream.get_extra_info("client_addr")[0] == "127.0.0.2"


async def test_socket_options() -> None:
    """They are set."""
    with listening() as port:
        options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
        stream = await AsyncioBackend().connect_tcp("127.0.0.1", port, socket_options=options)
        async with closing(stream):
            file = stream.get_extra_info("socket")
            assert file.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


@pytest.mark.parametrize("kind", ["tcp", "unix"])
async def test_an_option_that_cannot_be_set_leaves_no_socket(kind: str, tmp_path: Path) -> None:
    """It is ConnectError."""
    options, path = [(socket.SOL_SOCKET, -1, 1)], str(tmp_path / "s")
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        port = tcp.getsockname()[1]
        unix.bind(path)
        unix.listen()
        backend = AsyncioBackend()
        connecting = {
            "tcp": lambda: backend.connect_tcp("127.0.0.1", port, socket_options=options),
            "unix": lambda: backend.connect_unix_socket(path, socket_options=options),
        }
        with pytest.raises(httpcore.ConnectError):
            await connecting[kind]()
        for _ in range(3):
            await asyncio.sleep(0)
        accepting = {"tcp": tcp, "unix": unix}[kind]
        with accepting.accept()[0] as connection:
            connection.settimeout(20)
            assert connection.recv(1) == b""


async def test_a_unix_socket(tmp_path: Path) -> None:
    """A server of this machine; without one it is ConnectError."""
    path = str(tmp_path / "s")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(10))
        writer.close()

    with pytest.raises(httpcore.ConnectError):
        await AsyncioBackend().connect_unix_socket(path, timeout=20)
    async with (
        await asyncio.start_unix_server(serve, path),
        closing(await AsyncioBackend().connect_unix_socket(path, timeout=20)) as stream,
    ):
        await stream.write(b"hello", 20)
        assert await stream.read(10, 20) == b"hello"
        assert await stream.read(10, 20) == b""
