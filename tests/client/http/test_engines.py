"""Requests and responses over the engines: headers, compression, limits, HTTP/2, cancelling."""

import asyncio
import gc
import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import anyio
import httpcore
import httpx
import pytest

from llmcore.client.client import Client
from llmcore.client.http.aiohttp_connections import _Connection
from llmcore.client.http.errors import translate
from llmcore.client.http.http_transport import HttpTransport
from llmcore.client.http.options import HttpOptions
from llmcore.routes.defaults import RouteDefaults
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.transport_spec import Http, Timeouts
from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    LLMError,
    NetworkError,
    RateLimitError,
    RequestTimeoutError,
    StreamError,
)
from llmcore.schema.model import Model
from llmcore.schema.request import request
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.programs.open_sockets import is_open_to, needs_proc, open_sockets, port_of
from tests.support.programs.packages import without
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    Script,
    chat_chunk,
    chat_handler,
    chat_stream,
    chat_whole,
    model_at,
    serve,
)
from tests.support.servers.tls_loopback import (
    Authority,
    Http2Loopback,
    new_authority,
    serve_http2,
    serve_tls,
)
from tests.support.waiting import PATIENCE_S, until, wait_until

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream"}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return new_authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def http2_server(authority: Authority) -> Iterator[Http2Loopback]:
    with serve_http2(chat_handler, authority) as running:
        yield running


async def failure(url: str, *, timeouts: Timeouts | None = None, **settings: Any) -> LLMError:
    async with Client(timeouts=timeouts) as client:
        wanted = request(model=model_at(url, **settings), prompt="Hi")
        return (await client.generate(wanted)).failure()


# -- headers


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("x-a", "hidden\r\nx-b: c", "line ends"),
        ("x-a", "hidden\n", "line ends"),
        ("x-a", "hid\x00den", "control characters"),
        ("x-a", "\ud800hidden", "control characters"),
        ("x-a", " hidden", "white space"),
        ("x-a", 5, "type int"),
        ("x a", "hidden", "its name"),
        ("", "hidden", "its name"),
        ("x-\u00e4", "hidden", "its name"),
        ("Content-Length", "5", "leave it out"),
        ("Transfer-Encoding", "chunked", "leave it out"),
    ],
)
async def test_headers_that_cannot_be_sent(
    server: Loopback, name: str, value: Any, said: str
) -> None:
    """Nothing is sent; the error says which header, and not what was in it."""
    error = await failure(server.url, headers={name: value})

    assert isinstance(error, InvalidRequestError)
    assert said in error.message
    assert "hidden" not in repr(error)
    assert server.received == []


async def test_headers_beyond_ascii_are_utf_8(server: Loopback) -> None:
    """As servers read them nowadays; the loopback reads bytes as Latin-1."""
    async with Client() as client:
        model = model_at(server.url, headers={"x-title": "Łódź"})
        await client.complete(request(model=model, prompt="Hi"))

    assert server.received[0].headers["x-title"].encode("latin-1").decode() == "Łódź"


async def test_the_host_can_be_another(server: Loopback) -> None:
    """For servers behind a gateway; there is one such header."""
    async with Client() as client:
        model = model_at(server.url, headers={"Host": "inner.example"})
        await client.complete(request(model=model, prompt="Hi"))

    assert server.received[0].headers["host"] == "inner.example"


async def test_requests_with_the_same_headers_have_their_own_bodies(server: Loopback) -> None:
    """A head that is kept states the length of each body, and the headers of this moment."""
    server.handler = lambda _: Answer([chat_whole()])
    headers = {"x-run": "1"}
    bodies = [b"{}", b'{"a":1}', b"", b"{}"]
    transport = HttpTransport()
    for number, body in enumerate(bodies):
        headers["x-run"] = str(number // 2)
        sent = HttpRequest(method="POST", url=f"{server.url}/v1", headers=headers, body=body)
        sent.headers["x-late"] = str(number)  # type: ignore[index]  # by a wrapper of transports
        exchange = await transport.send(sent, Timeouts())
        assert [chunk async for chunk in exchange.chunks()]
    await transport.aclose()

    got = [(r.body, r.headers["x-run"], r.headers["x-late"]) for r in server.received]
    assert got == [(body, str(n // 2), str(n)) for n, body in enumerate(bodies)]


async def test_the_length_of_a_body_is_the_one_that_it_has(server: Loopback) -> None:
    """Whatever a request states that no route has checked."""
    server.handler = lambda _: Answer([chat_whole()])
    headers = {"content-length": "1"}
    sent = HttpRequest(method="POST", url=f"{server.url}/v1", headers=headers, body=b"{}")
    transport = HttpTransport()
    for _ in range(2):
        exchange = await transport.send(sent, Timeouts())
        assert [chunk async for chunk in exchange.chunks()]
    await transport.aclose()

    assert [received.body for received in server.received] == [b"{}", b"{}"]


async def test_a_request_without_a_body_has_no_length(server: Loopback) -> None:
    """Unless it is a POST, which some servers refuse without one."""
    transport = HttpTransport()
    for method in ("GET", "POST"):
        sent = HttpRequest(method=method, url=f"{server.url}/v1")
        exchange = await transport.send(sent, Timeouts())
        await exchange.aclose()
    await transport.aclose()

    assert [r.headers.get("content-length") for r in server.received] == [None, "0"]


async def test_a_header_with_a_line_end_is_not_written(server: Loopback) -> None:
    """Also where no route has checked it."""
    transport = HttpTransport()
    sent = HttpRequest(method="GET", url=server.url, headers={"x-a": "b\r\nx-c: d"})
    with pytest.raises((NetworkError, InvalidRequestError, ValueError)):
        await transport.send(sent, Timeouts())
    await transport.aclose()

    assert server.received == []


# -- compression


async def test_the_size_limit_holds_for_what_is_compressed(server: Loopback) -> None:
    """Sixteen kilobytes that stand for sixteen megabytes are read to the limit and no further."""
    data = gzip.compress(b" " * 16_000_000 + chat_whole())
    server.handler = lambda _: Answer([data], headers={**JSON, "content-encoding": "gzip"})
    error = await failure(server.url, defaults=RouteDefaults(max_response_bytes=1_000_000))

    assert isinstance(error, StreamError)
    assert "larger than 1000000 bytes" in error.message


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_damaged_body_is_an_error_of_the_network(server: Loopback, streaming: bool) -> None:
    """It is a value like every other failure."""
    headers = {**(SSE if streaming else JSON), "content-encoding": "gzip"}
    server.handler = lambda _: Answer([b"no gzip"], headers=headers)
    async with Client() as client:
        wanted = request(model=model_at(server.url), prompt="Hi")
        result = await (client.stream(wanted).result() if streaming else client.generate(wanted))

    assert isinstance(result.failure(), NetworkError)


@pytest.mark.parametrize(
    "answer",
    [
        Answer([b'{"er'], 429, {**JSON, "retry-after": "3"}, length=100, cut=True),
        Answer([b"no gzip"], 429, {**JSON, "retry-after": "3", "content-encoding": "gzip"}),
        Answer([b""], 429, {**JSON, "retry-after": "3", "content-encoding": "gzip"}, length=0),
    ],
    ids=["cut", "damaged", "empty"],
)
async def test_an_error_without_a_body_one_can_read_keeps_its_status(
    server: Loopback, answer: Answer
) -> None:
    """The headers suffice for the class of the error."""
    server.handler = lambda _: answer
    error = await failure(server.url)

    assert isinstance(error, RateLimitError)
    assert error.retry_after == 3.0


# -- time limits


@pytest.mark.parametrize("streaming", [True, False])
async def test_thinking_longer_than_a_pause_may_be(server: Loopback, streaming: bool) -> None:
    """`idle` is for pauses between events; before the first one `first_event` counts."""
    script: Script = [0.4, *chat_stream()] if streaming else [b" ", 0.4, chat_whole()]
    server.handler = lambda _: Answer(script, headers=SSE if streaming else JSON)
    async with Client(timeouts=Timeouts(idle=0.1, first_event=5)) as client:
        wanted = request(model=model_at(server.url), prompt="Hi")
        result = await (client.stream(wanted).result() if streaming else client.generate(wanted))

    assert result.unwrap().text == "Hello"


async def test_a_limit_for_reads_ends_with_its_response(server: Loopback) -> None:
    """The next response over the same connection may be as slow as it is allowed to be."""
    scripts = [[*chat_stream()], [0.4, *chat_stream()]]
    server.handler = lambda _: Answer(scripts.pop(0), headers=SSE)
    async with Client(timeouts=Timeouts(idle=0.1, first_event=5)) as client:
        wanted = request(model=model_at(server.url), prompt="Hi")
        for _ in range(2):
            assert (await client.stream(wanted).result()).unwrap().text == "Hello"

    assert server.connections == 1


@needs_proc
@pytest.mark.parametrize("proxied", [False, True])
async def test_a_silent_connection_is_probed_each_minute(server: Loopback, proxied: bool) -> None:
    """Networks forget a connection that carries nothing while a model thinks."""
    names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
    probed: list[tuple[int, ...]] = []

    def look(received: Received) -> Answer:
        for file in map(int, os.listdir("/proc/self/fd")):
            if is_open_to(port_of(server), file):
                with socket.socket(fileno=os.dup(file)) as found:
                    kept = found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                    options = [getattr(socket, name) for name in names]
                    values = [found.getsockopt(socket.IPPROTO_TCP, one) for one in options]
                    probed.append((kept, *values))
        return chat_handler(received)

    server.handler = look
    options = HttpOptions(proxy=server.url) if proxied else None
    async with Client(http=options) as client:
        url = "http://provider.invalid" if proxied else server.url
        (await client.generate(request(model=model_at(url), prompt="Hi"))).unwrap()

    assert probed == [(1, 60, 60, 5)]


async def test_a_proxy_that_stays_silent_is_a_timeout() -> None:
    """Opening a tunnel is a part of connecting, and has its limit."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        options = HttpOptions(proxy=f"http://127.0.0.1:{deaf.getsockname()[1]}")
        async with Client(http=options, timeouts=Timeouts(connect=0.2)) as client:
            with anyio.fail_after(PATIENCE_S):
                wanted = request(model=model_at("https://provider.invalid"), prompt="Hi")
                error = (await client.generate(wanted)).failure()

    assert isinstance(error, RequestTimeoutError)
    assert error.error_code == "connect"


# -- HTTP/2


def stalling(received: Received) -> Answer:
    """Begin a response; go on only where asked to."""
    body: Any = received.json
    begun = chat_chunk(delta={"content": "a"})
    stays = body["messages"][0]["content"] == "stay"
    return Answer([begun, 1.0] if stays else [begun, *chat_stream()], headers=SSE)


async def test_one_stalled_response_of_http2_does_not_end_others(
    http2_server: Http2Loopback, authority: Authority
) -> None:
    """They share a connection, and nothing else."""
    http2_server.handler = stalling
    options = HttpOptions(http2=True, ca_file=str(authority.file))
    model = model_at(http2_server.url)
    async with Client(http=options) as client:
        stay = request(model=model, prompt="stay")
        async with client.stream(stay) as patient:
            await anext(patient)
            limits = Timeouts(idle=0.1)
            error = (await client.stream(stay, timeouts=limits).result()).failure()
            result = await client.stream(request(model=model, prompt="Hi")).result()

    assert error.error_code == "idle"
    assert result.unwrap().text == "aHello"
    assert http2_server.connections == 1


async def test_closing_a_stream_of_http2_from_another_task(
    http2_server: Http2Loopback, authority: Authority
) -> None:
    """Its reader, which waits for data, raises an error."""
    http2_server.handler = stalling
    options = HttpOptions(http2=True, ca_file=str(authority.file))
    async with Client(http=options) as client:
        stream = client.stream(request(model=model_at(http2_server.url), prompt="stay"))
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:

                async def read() -> None:
                    async for _ in stream:
                        pass

                group.start_soon(read)
                await anyio.sleep(0.2)
                await stream.aclose()

        assert "closed" in (await stream.result()).failure().message


async def test_a_client_that_is_given_carries_routes_that_want_http2(server: Loopback) -> None:
    """Whatever it is set up for, proxies and certificates, is not gone round."""
    seen: list[str] = []

    async def see(sent: httpx.Request) -> None:
        seen.append(sent.url.path)

    async with httpx.AsyncClient(event_hooks={"request": [see]}) as http, Client(http=http) as mine:
        facade = OpenAICompatible.configure(name="loop", base_url=server.url, api_key="k")
        model = facade.chat_route.with_(transport=Http(http2=True)).model("m")
        await mine.complete(request(model=model, prompt="Hi"))

    assert seen == ["/chat/completions"]


# -- cancelling


@needs_proc
async def test_a_call_that_is_cancelled_at_any_step_leaves_no_socket_open(
    server: Loopback, anyio_backend_name: str
) -> None:
    """Whenever a task of asyncio's is cancelled: connecting, sending, reading."""
    if anyio_backend_name == "trio":
        pytest.skip("a task of trio's is cancelled only where it waits")
    wanted = HttpRequest(
        method="POST",
        url=f"{server.url}/chat/completions",
        body=b'{"messages": []}',
    )
    for steps in range(1, 60):
        transport = HttpTransport()

        async def send(transport: HttpTransport = transport) -> None:
            response = await transport.send(wanted, Timeouts())
            await response.aclose()

        task = asyncio.ensure_future(send())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        gc.collect()
        await transport.aclose()

        assert await until(lambda: open_sockets(port_of(server)) == 0), steps


@needs_proc
async def test_a_tls_handshake_that_is_cancelled_at_any_moment_leaves_no_socket_open(
    authority: Authority, request: pytest.FixtureRequest
) -> None:
    """Including the last one, at which it has succeeded."""
    if "aiohttp-uvloop" in request.node.name:
        pytest.skip("uvloop 0.23 logs an error of its own where its TLS is closed in a handshake")
    options = HttpOptions(ca_file=str(authority.file))
    with serve_tls(chat_handler, authority) as secure:
        url = f"{secure.url}/chat/completions"
        wanted = HttpRequest(method="POST", url=url, body=b'{"messages": []}')
        for pause in (0.0, 0.001, 0.002, 0.004, 0.008, 0.016):
            transport = HttpTransport(options=options)
            with anyio.move_on_after(pause):
                await (await transport.send(wanted, Timeouts())).aclose()
            gc.collect()
            await transport.aclose()

            assert await until(lambda: open_sockets(port_of(secure)) == 0), pause


# -- connections


async def test_a_connection_that_the_server_closed_while_idle_is_not_used(server: Loopback) -> None:
    """Also if the program has kept the event loop from noticing."""
    closing = {**JSON, "connection": "keep-alive"}
    data = chat_whole()
    server.handler = lambda _: Answer([data], headers=closing, length=len(data), cut=True)
    async with Client() as client:
        asked = request(model=model_at(server.url), prompt="Hi")
        for number in range(3):
            assert (await client.generate(asked)).unwrap().text == "Hello"
            wait_until(lambda: server.closed > number)  # noqa: B023  (called at once)

    assert server.connections == 3


async def test_an_early_response_to_a_large_request_can_be_read() -> None:
    """The server refuses the body and closes while it is still being sent."""
    refusal = b'HTTP/1.1 413 Too Large\r\ncontent-length: 27\r\n\r\n{"error":{"message":"big"}}'

    def refuse(listening: socket.socket) -> None:
        with listening.accept()[0] as connection:
            connection.recv(1024)
            connection.sendall(refusal)
            connection.shutdown(socket.SHUT_WR)
            time.sleep(0.3)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=refuse, args=(listening,), daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with Client() as client:
            asked = request(model=model_at(url), prompt="long " * 1_000_000)
            with anyio.fail_after(20):
                error = (await client.generate(asked)).failure()

    assert error.status_code == 413


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (chat_stream(["x" * 5_000] * 300), "first" + "x" * 1_500_000),
        ([b":\n\n"] * 10_000 + chat_stream(), "firstHello"),
    ],
    ids=["bytes", "chunks"],
)
async def test_a_stream_larger_than_the_buffers_is_read_whole_by_a_slow_reader(
    server: Loopback, more: list[bytes | float], text: str
) -> None:
    """The engine stops reading the socket while its buffer is full, and goes on afterwards."""
    first = chat_chunk(delta={"content": "first"})
    server.handler = lambda _: Answer([first, *more], headers=SSE)
    async with Client() as client:
        stream = client.stream(request(model=model_at(server.url), prompt="Hi"))
        await anext(stream)
        for _ in range(3):
            await anyio.sleep(0.05)
            await anext(stream)
        with anyio.fail_after(20):
            response = (await stream.result()).unwrap()

    assert response.text == text


def chunk(data: bytes) -> bytes:
    """Return *data* as one chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


@pytest.mark.parametrize(
    ("most_bytes", "before", "with_the_end"),
    [
        (2**16, chunk(b":\n\n") * 4_097, chunk(b":\n\n")),  # one more than wait to be read
        (1_000, b"", chunk(b":%b\n\n" % (b"x" * 3_000))),
    ],
    ids=["after many chunks", "with many bytes"],
)
async def test_the_rest_of_a_stream_that_was_paused_is_read_when_it_comes_in_one_piece(
    most_bytes: int, before: bytes, with_the_end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After so much that the engine stops reading, nothing follows the last bytes."""
    prepare: Any = _Connection.set_response_params
    smaller = partialmethod(prepare, read_bufsize=most_bytes)
    monkeypatch.setattr(_Connection, "set_response_params", smaller)
    first = chat_chunk(delta={"content": "first"})
    rest = b"".join(part for part in chat_stream() if isinstance(part, bytes))

    def answer(listening: socket.socket) -> None:
        with listening.accept()[0] as connection:
            connection.recv(65_536)
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            connection.sendall(head + b"transfer-encoding: chunked\r\n\r\n" + chunk(first))
            time.sleep(0.1)
            connection.sendall(before)
            time.sleep(0.5)
            connection.sendall(with_the_end + chunk(rest) + b"0\r\n\r\n")
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, args=(listening,), daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with Client() as client:
            stream = client.stream(request(model=model_at(url), prompt="Hi"))
            await anext(stream)
            await anyio.sleep(0.3)
            with anyio.fail_after(10):
                response = (await stream.result()).unwrap()

    assert response.text == "firstHello"


def hang_up(listening: socket.socket) -> None:
    listening.accept()[0].close()


@pytest.mark.parametrize("hangs_up", [True, False])
async def test_a_server_that_does_not_answer_the_tls_handshake(hangs_up: bool) -> None:
    """Hanging up is an error of the network; silence runs into the limit for connecting."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        if hangs_up:
            threading.Thread(target=hang_up, args=(listening,), daemon=True).start()
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        with anyio.fail_after(20):
            error = await failure(url, timeouts=Timeouts(connect=5.0 if hangs_up else 0.3))

    assert isinstance(error, NetworkError if hangs_up else RequestTimeoutError)
    assert hangs_up or error.error_code == "connect"
    assert "scope" not in error.message


async def test_a_name_without_an_address_is_an_error_of_the_network() -> None:
    """Names under `invalid` have none (RFC 2606)."""
    assert isinstance(await failure("http://provider.invalid"), NetworkError)


async def test_a_unix_socket_carries_requests(tmp_path: Path) -> None:
    """The URL's host is not looked up, and no proxy counts."""
    data = chat_whole()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"

    def answer(listening: socket.socket) -> None:
        with listening.accept()[0] as connection:
            for _ in range(2):
                connection.recv(65536)
                connection.sendall(head % len(data) + data)

    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        threading.Thread(target=answer, args=(listening,), daemon=True).start()
        transport = HttpTransport(socket=path)
        wanted = HttpRequest(method="POST", url="http://unix/v1", body=b"{}")
        for _ in range(2):
            response = await transport.send(wanted, Timeouts())
            assert b"".join([chunk async for chunk in response.chunks()]) == data
        await transport.aclose()


# -- which engine


ENGINES: dict[str, tuple[dict[str, Any], str, str]] = {
    "default": ({}, "asyncio", "aiohttp"),
    "aiohttp": ({"engine": "aiohttp"}, "asyncio", "aiohttp"),
    "httpx": ({"engine": "httpx"}, "asyncio", "httpx"),
    "default on trio": ({}, "trio", "httpx"),
    "aiohttp on trio": ({"engine": "aiohttp"}, "trio", "httpx"),
    "http2": ({"http2": True}, "asyncio", "httpx"),
    "aiohttp with http2": ({"engine": "aiohttp", "http2": True}, "asyncio", "httpx"),
    "socks5": ({"proxy": "socks5://127.0.0.1:9"}, "asyncio", "httpx"),
    "https proxy": ({"proxy": "https://127.0.0.1:9"}, "asyncio", "httpx"),
    "http proxy": ({"proxy": "http://127.0.0.1:9"}, "asyncio", "aiohttp"),
}
"""Options, event loop, and the engine."""

ASKING = """
import json, os, sys
import anyio
from llmcore import Client, OpenAICompatible, request
from llmcore.client.http.options import HttpOptions

async def main(options):
    model = OpenAICompatible.configure(name="x", base_url="https://127.0.0.1:9").model("m")
    async with Client(http=HttpOptions(**options)) as client:
        assert "fail" in str(await client.generate(request(model=model, prompt="Hi")))

def loaded():
    return {"httpx", "aiohttp"} & sys.modules.keys()

assert not loaded()
for name, (options, loop, _) in json.loads(sys.argv[1]).items():
    if os.fork() == 0:
        anyio.run(main, options, backend=loop)
        print(json.dumps([name, sorted(loaded())]), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def loaded_engines() -> dict[str, list[str]]:
    """Return which engines a program has loaded, by its case: a fork of one that has loaded none.

    An interpreter for each would take ten seconds of a core.
    """
    done = run_fresh(ASKING, json.dumps(ENGINES))
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs are forked")
@pytest.mark.parametrize("case", ENGINES)
def test_the_engine_follows_from_options_and_loop(
    case: str, loaded_engines: dict[str, list[str]]
) -> None:
    """aiohttp where it can be used; only the engine that is used is loaded."""
    _, _, engine = ENGINES[case]

    assert loaded_engines[case] == [engine]


def test_an_engine_that_is_unknown_is_refused() -> None:
    """With the ones there are."""
    unknown: Any = "urllib"
    with pytest.raises(ConfigurationError, match="'httpx' or 'aiohttp'"):
        HttpOptions(engine=unknown)


async def test_an_engine_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which says what to install."""
    without(monkeypatch, "aiohttp")
    async with Client(http=HttpOptions(engine="aiohttp")) as client:
        asked = request(model=model_at("http://127.0.0.1:9"), prompt="Hi")
        error = (await client.generate(asked)).failure()

    assert isinstance(error, ConfigurationError)
    assert "llmcore-routes[fast]" in error.message


# -- redirects and errors


@pytest.mark.parametrize("location", ["http://[bad", "http://127.0.0.1:99999/", "ftp://h/x"])
async def test_a_redirect_to_nowhere(server: Loopback, location: str) -> None:
    """A server's bad redirect is an LLMError, not an exception of Python's; it would come again."""
    server.handler = lambda _: Answer([b""], 307, {"location": location}, length=0)
    error = await failure(server.url)

    assert isinstance(error, NetworkError)
    assert not error.retryable


def test_a_model_with_a_route_that_is_none_is_an_error_of_prepare() -> None:
    """A value, as every failure of it is."""
    no_route: Any = "https://h"
    model = Model("m", provider="p", route=no_route)

    assert isinstance(Client().prepare(request(model=model, prompt="Hi")).failure(), LLMError)


@pytest.mark.parametrize(
    ("host", "hint"),
    [
        ("127.0.0.1", "; start the server there, or set another address (base_url)"),
        ("127.0.0.2", "; check the address (base_url) and the network"),
    ],
)
async def test_error_of_a_connection_that_failed_is_one_sentence_with_what_to_check(
    host: str, hint: str
) -> None:
    """And has no representation of the HTTP library's objects in it."""
    async with Client() as client:
        model = OpenAICompatible.configure(name="x", base_url=f"https://{host}:9/v1").model("m")
        result = await client.generate(request(model=model, prompt="Hi"))

    message = result.failure().message
    assert message.startswith(f"the connection to https://{host}:9 failed: ")
    assert message.endswith(hint)
    assert "object at" not in message


async def test_tls_with_a_server_that_has_none_is_an_error_that_says_so() -> None:
    """A server of HTTP answers the first bytes of TLS with an error in plain text."""

    def serve_once(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_once, args=(listener,))
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        async with Client() as client:
            model = OpenAICompatible.configure(name="x", base_url=url).model("m")
            result = await client.generate(request(model=model, prompt="Hi"))
        thread.join()

    assert result.failure().message.endswith("does not use TLS there: write http:// in base_url")


def kinds() -> list[type[Exception]]:
    """Return every exception class that httpcore and httpx have for requests that fail."""
    core = [one for one in vars(httpcore).values() if isinstance(one, type)]
    return [
        *(one for one in core if issubclass(one, Exception)),
        *(httpx.DecodingError, httpx.TooManyRedirects, httpx.UnsupportedProtocol),
    ]


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_exception_of_a_transport_is_translated(kind: type[Exception]) -> None:
    """Time limits by their names, all else as an error of the network."""
    wanted = HttpRequest(method="POST", url="http://x.example")
    ours = translate(kind("it broke"), wanted.url)

    assert isinstance(ours, RequestTimeoutError if "Timeout" in kind.__name__ else NetworkError)
