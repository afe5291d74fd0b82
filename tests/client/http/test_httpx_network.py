"""The connections of the httpx engine: what they report, and the errors that they raise."""

import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import httpcore
import httpx
import pytest

from llmcore.client.http.httpx_engine import HttpxEngine
from llmcore.client.http.httpx_network import TrackedNetwork, TrackedStream
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import NetworkError
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

RESET = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which closing a socket resets its connection."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
async def ends() -> AsyncIterator[tuple[TrackedStream, socket.socket]]:
    """Return both ends of a connection: the engine's and the server's."""
    network = TrackedNetwork()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        stream = await network.connect_tcp(*listening.getsockname()[:2])
        served, _ = listening.accept()
    with served:
        yield stream, served
    await network.aclose()


async def test_a_connection_is_readable_while_there_is_something_to_read(
    ends: tuple[TrackedStream, socket.socket],
) -> None:
    """By this an idle connection is reused or closed."""
    stream, served = ends
    seen = [stream.get_extra_info("is_readable")]
    served.sendall(b"x")
    await until(lambda: stream.get_extra_info("is_readable"))
    read = await stream.read(10)
    seen.append(stream.get_extra_info("is_readable"))
    served.close()

    assert seen == [False, False]
    assert read == b"x"
    assert await until(lambda: stream.get_extra_info("is_readable"))
    assert await stream.read(10) == b""


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio's cannot be asked any more
async def test_a_connection_that_was_closed_is_readable(
    ends: tuple[TrackedStream, socket.socket],
) -> None:
    """Its number may be that of another file by then."""
    stream, _ = ends
    assert not stream.get_extra_info("is_readable")
    await stream.aclose()

    assert stream.get_extra_info("is_readable")


@pytest.mark.parametrize("limit", [None, 30.0])
async def test_faults_of_a_connection_are_httpcores_with_and_without_a_limit(
    ends: tuple[TrackedStream, socket.socket], limit: float | None
) -> None:
    """By their classes httpcore decides whether a response may still be read."""
    stream, served = ends
    served.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    served.close()
    with pytest.raises(httpcore.ReadError):
        await stream.read(10, limit)
    await stream.aclose()
    with pytest.raises(httpcore.ReadError):
        await stream.read(10, limit)
    with pytest.raises(httpcore.WriteError):
        await stream.write(b"x", limit)


@pytest.mark.parametrize("of_reads", [False, True], ids=["httpcore's", "of all reads"])
async def test_a_read_that_takes_longer_than_its_limit_is_a_read_timeout(
    ends: tuple[TrackedStream, socket.socket], of_reads: bool
) -> None:
    stream, served = ends
    stream.read_limit = 0.01 if of_reads else None
    with pytest.raises(httpcore.ReadTimeout):
        await stream.read(10, None if of_reads else 0.01)
    served.sendall(b"x")
    stream.read_limit = 30.0

    assert await stream.read(10) == b"x"


async def test_the_cause_of_a_failed_connection_is_httpxs() -> None:
    """As of a transport of httpx, whose errors those of httpcore cause."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    engine = HttpxEngine(tls=httpx.create_ssl_context)
    with pytest.raises(NetworkError) as caught:
        await engine.send(HttpRequest(method="GET", url=url), Timeouts())
    await engine.aclose()

    assert type(caught.value.cause) is httpx.ConnectError
    assert type(caught.value.cause.__cause__) is httpcore.ConnectError


class _Opening(httpcore.AsyncNetworkBackend):
    """Opens a connection, and cancels *scope* before it is returned."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self.scope = scope
        self.is_open = False

    async def connect_tcp(self, *_args: Any, **_settings: Any) -> Any:
        self.is_open = True
        self.scope.cancel()
        return self

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.is_open = False


async def test_a_connection_that_opens_after_the_end_is_closed_though_its_task_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = TrackedNetwork()
    await network.aclose()
    with anyio.CancelScope() as scope:
        opening = _Opening(scope)
        monkeypatch.setattr(network, "_inner", opening)
        with pytest.raises(httpcore.ConnectError, match="the client was closed"):
            await network.connect_tcp("host", 80)

    assert not opening.is_open
