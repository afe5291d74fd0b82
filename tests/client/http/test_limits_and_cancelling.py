"""Time limits, cancelling, and what happens to the connection."""

import gc
import socket
import threading
from collections.abc import Callable, Iterator

import anyio
import httpx
import pytest

from llmcore import (
    Client,
    ConfigurationError,
    OpenAICompatible,
    RequestTimeoutError,
    TextDelta,
    Timeouts,
    generate,
    request,
)
from llmcore.routes.defaults import RouteDefaults
from llmcore.schema.errors import AbortError
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    Script,
    chat_chunk,
    chat_stream,
    model_at,
    serve,
)
from tests.support.waiting import PATIENCE_S, pass_time, until

pytestmark = pytest.mark.anyio

HEADERS = {"content-type": "text/event-stream"}


def scripted(make: Callable[[], Script]) -> Callable[[Received], Answer]:
    return lambda _: Answer(make(), headers=HEADERS)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(scripted(chat_stream)) as running:
        yield running


async def failed(
    server: Loopback, timeouts: Timeouts, *, streaming: bool = True
) -> RequestTimeoutError:
    async with Client(timeouts=timeouts) as client:
        wanted = request(model=model_at(server.url), prompt="Hi")
        result = await (client.stream(wanted).result() if streaming else client.generate(wanted))
    error = result.failure()
    assert isinstance(error, RequestTimeoutError)
    return error


async def test_headers_and_then_silence_is_a_first_event_timeout(server: Loopback) -> None:
    """A server that accepts and then stays silent does not hang the caller."""
    server.handler = scripted(lambda: [b": hello\n\n", 600.0])
    error = await failed(server, Timeouts(first_event=1.0))

    assert error.error_code == "first_event"
    assert error.retryable
    assert await until(lambda: len(server.disconnects) == 1)


@pytest.mark.parametrize("streaming", [True, False])
async def test_no_headers_is_a_first_event_timeout(server: Loopback, streaming: bool) -> None:
    """Waiting for the status line counts too."""
    released = threading.Event()

    def slow(_: Received) -> Answer:
        released.wait(PATIENCE_S)
        return Answer([])

    server.handler = slow
    error = await failed(server, Timeouts(first_event=0.2), streaming=streaming)
    released.set()

    assert error.error_code == "first_event"


async def test_silence_after_an_event_is_an_idle_timeout(server: Loopback) -> None:
    """The error keeps what had arrived."""
    server.handler = scripted(lambda: [chat_chunk(delta={"content": "Half"}), 600.0])
    error = await failed(server, Timeouts(idle=0.2))

    assert error.error_code == "idle"
    assert error.partial is not None
    assert error.partial.text == "Half"


PINGS: list[bytes | float] = [b": ping\n\n", 0.05] * 1000


async def test_keep_alives_do_not_hide_a_stall(server: Loopback) -> None:
    """Idle counts events, not bytes."""
    server.handler = scripted(lambda: [chat_chunk(delta={"content": "a"}), *PINGS])
    error = await failed(server, Timeouts(idle=0.3))

    assert error.error_code == "idle"


async def test_slow_but_steady_is_fine(server: Loopback) -> None:
    """A stream may take longer than the idle limit as long as it moves."""
    server.handler = scripted(lambda: chat_stream(["a"] * 8, pause=0.01))
    async with Client(timeouts=Timeouts(idle=60)) as client:
        stream = client.stream(request(model=model_at(server.url), prompt="Hi"))
        async for event in stream:
            if isinstance(event, TextDelta):
                pass_time(40)
        result = await stream.result()

    assert result.unwrap().text == "a" * 8


@pytest.mark.parametrize("limit", ["total", "step"])
async def test_the_total_limit_ends_a_moving_stream(server: Loopback, limit: str) -> None:
    """It ends a stream whose events never stop."""
    server.handler = scripted(lambda: chat_stream(["a"] * 100, pause=0.05))
    error = await failed(server, Timeouts(**{limit: 0.3}))

    assert error.error_code == limit


@pytest.mark.parametrize("limit", ["total", "step"])
async def test_total_limit_ends_a_stream_that_never_pauses(server: Loopback, limit: str) -> None:
    """Each read finds data waiting, so that no read is ever waited for."""
    server.handler = scripted(lambda: [chat_chunk(delta={"content": "a"}) * 2000] * 1000)
    error = await failed(server, Timeouts(**{limit: 0.2}))

    assert error.error_code == limit


async def test_total_limit_of_a_run_ends_a_stream_that_never_pauses(server: Loopback) -> None:
    """The limit of `generate` as well, which is that of all its steps."""
    server.handler = scripted(lambda: [chat_chunk(delta={"content": "a"}) * 2000] * 1000)
    with pytest.raises(RequestTimeoutError) as caught:
        await generate(model_at(server.url), "Hi", timeout=0.2, max_retries=0, client=Client())

    assert caught.value.error_code == "total"


async def test_connect_has_a_limit_of_its_own() -> None:
    """A host that does not answer the handshake is a timeout of the name connect."""
    backlog = socket.create_server(("127.0.0.1", 0), backlog=0)
    fillers = []
    try:
        address = backlog.getsockname()
        for _ in range(3):  # the handshake queue is full, further ones wait
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(address)
            fillers.append(filler)
        model = OpenAICompatible.configure(
            name="full", base_url=f"http://127.0.0.1:{address[1]}", api_key="k"
        ).model("m")
        async with Client(timeouts=Timeouts(connect=0.2)) as client:
            error = (await client.generate(request(model=model, prompt="Hi"))).failure()
    finally:
        for filler in fillers:
            filler.close()
        backlog.close()

    assert isinstance(error, RequestTimeoutError)
    assert error.error_code == "connect"


def test_a_limit_of_zero_is_refused() -> None:
    """A limit that nothing can keep is a mistake."""
    with pytest.raises(ConfigurationError, match="idle"):
        Timeouts(idle=0)


async def test_done_ends_the_stream_though_the_connection_lingers(server: Loopback) -> None:
    """After the end sentinel nothing more is waited for."""
    server.handler = scripted(lambda: [*chat_stream(), 600.0])
    async with Client() as client:
        with anyio.fail_after(PATIENCE_S):
            result = await client.stream(request(model=model_at(server.url), prompt="Hi")).result()

        assert result.unwrap().text == "Hello"
        assert await until(lambda: len(server.disconnects) == 1)


def endless() -> Script:
    while True:
        yield chat_chunk(delta={"content": "x"})
        yield 0.02


async def test_leaving_the_loop_and_the_block_closes_the_connection(server: Loopback) -> None:
    """The server sees the client go within a second."""
    server.handler = scripted(endless)
    async with Client() as client:
        async with client.stream(request(model=model_at(server.url), prompt="Hi")) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
        assert await until(lambda: len(server.disconnects) == 1)
        error = (await stream.result()).failure()

    assert isinstance(error, AbortError)
    assert error.partial is not None
    assert error.partial.text.startswith("x")


async def test_cancelling_a_task_closes_the_connection(server: Loopback) -> None:
    """Cancellation passes through and leaves nothing open."""
    server.handler = scripted(endless)
    async with Client() as client:
        async with anyio.create_task_group() as group:
            stream = client.stream(request(model=model_at(server.url), prompt="Hi"))
            group.start_soon(stream.result)
            assert await until(lambda: stream.partial_response.text != "")
            group.cancel_scope.cancel()
        assert await until(lambda: len(server.disconnects) == 1)


async def test_closing_from_another_task_ends_the_read(server: Loopback) -> None:
    """aclose() frees a reader that waits."""
    server.handler = scripted(lambda: [chat_chunk(delta={"content": "a"}), 30.0])
    async with Client() as client:
        stream = client.stream(request(model=model_at(server.url), prompt="Hi"))
        outcome = []

        async def read() -> None:
            outcome.append(await stream.result())

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            assert await until(lambda: stream.partial_response.text == "a")
            await stream.aclose()

    assert isinstance(outcome[0].failure(), AbortError)


@pytest.mark.slow
async def test_many_cancels_do_not_use_up_the_pool(server: Loopback) -> None:
    """After 200 abandoned streams on 2 connections the next call works."""
    server.handler = scripted(endless)
    limits = httpx.Limits(max_connections=2)
    async with httpx.AsyncClient(limits=limits) as http, Client(http=http) as client:

        async def abandon() -> None:
            async with client.stream(request(model=model_at(server.url), prompt="Hi")) as stream:
                await anext(stream)

        for _ in range(100):
            async with anyio.create_task_group() as group:
                for _ in range(2):
                    group.start_soon(abandon)
        server.handler = scripted(chat_stream)
        result = await client.stream(request(model=model_at(server.url), prompt="Hi")).result()

    assert result.unwrap().text == "Hello"


async def test_a_stream_that_is_dropped_is_closed_by_the_loop(
    server: Loopback, anyio_backend_name: str
) -> None:
    """Garbage collection alone closes the connection, by the loop's own hook."""
    if anyio_backend_name == "trio":
        pytest.skip("trio warns about it, as it should, and the suite turns warnings into errors")
    server.handler = scripted(endless)
    async with Client() as client:
        stream = client.stream(request(model=model_at(server.url), prompt="Hi"))
        await anext(stream)
        del stream
        gc.collect()
        assert await until(lambda: len(server.disconnects) == 1)


async def test_a_stream_never_read_sends_nothing(server: Loopback) -> None:
    """Making a stream costs nothing."""
    async with Client() as client:
        stream = client.stream(request(model=model_at(server.url), prompt="Hi"))
        await stream.aclose()

    assert server.received == []


@pytest.mark.parametrize(
    ("of_route", "of_call", "named"),
    [
        (Timeouts(first_event=0.05), None, "first_event"),
        (None, None, "step"),
        (Timeouts(first_event=30.0), Timeouts(total=0.05), "total"),
    ],
)
async def test_time_limits_of_the_call_go_before_those_of_the_route_and_the_client(
    server: Loopback, of_route: Timeouts | None, of_call: Timeouts | None, named: str
) -> None:
    """So that a slow provider can have more time than the others."""
    server.handler = scripted(lambda: [5.0])
    provider = OpenAICompatible.configure(
        name="loop", base_url=server.url, api_key="k", defaults=RouteDefaults(timeouts=of_route)
    )
    async with Client(providers={"loop": provider}, timeouts=Timeouts(step=0.05)) as client:
        asked = request(model="m", provider="loop", prompt="Hi")
        error = (await client.generate(asked, timeouts=of_call)).failure()
        with pytest.raises(RequestTimeoutError) as caught:
            await generate(
                "m", "Hi", provider="loop", client=client, timeout=of_call, max_retries=0
            )

    assert (error.error_code, caught.value.error_code) == (named, named)
