"""Our own connections: `llmcore/client/connections.py`, `network.py` and `http.py`."""

import asyncio
import gzip
import socket
from collections.abc import Iterator
from typing import Any

import anyio
import httpcore
import httpx
import pytest

from llmcore.client.client import Client
from llmcore.client.connections import Connections
from llmcore.client.http.options import HttpOptions
from llmcore.client.http.transport import translate
from llmcore.client.network import Stream
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.route import RouteDefaults
from llmcore.routes.timeouts import Timeouts
from llmcore.routes.transport import Http
from llmcore.schema.errors import (
    InvalidRequestError,
    LLMError,
    NetworkError,
    RateLimitError,
    RequestTimeoutError,
    StreamError,
)
from llmcore.schema.model import Model
from llmcore.schema.request import request
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    Script,
    chat_chunk,
    chat_handler,
    chat_stream,
    chat_whole,
    serve,
)
from tests.support.servers.tls_loopback import Authority, Http2Loopback, new_authority, serve_http2

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


def model_at(url: str, **settings: Any) -> Model:
    facade = OpenAICompatible.configure(
        name="loop", base_url=url, api_key="sk-secret-key", **settings
    )
    return facade.model("m")


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
    """What the headers say is enough to act on."""
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


async def test_a_limit_for_reads_ends_with_its_answer(server: Loopback) -> None:
    """The next answer over the same connection may be as slow as it is allowed to be."""
    scripts = [[*chat_stream()], [0.4, *chat_stream()]]
    server.handler = lambda _: Answer(scripts.pop(0), headers=SSE)
    async with Client(timeouts=Timeouts(idle=0.1, first_event=5)) as client:
        wanted = request(model=model_at(server.url), prompt="Hi")
        for _ in range(2):
            assert (await client.stream(wanted).result()).unwrap().text == "Hello"

    assert server.connections == 1


async def test_a_proxy_that_says_nothing() -> None:
    """Opening a tunnel is a part of connecting, and has its limit."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        options = HttpOptions(proxy=f"http://127.0.0.1:{deaf.getsockname()[1]}")
        async with Client(http=options, timeouts=Timeouts(connect=0.2)) as client:
            with anyio.fail_after(5):
                wanted = request(model=model_at("https://provider.invalid"), prompt="Hi")
                error = (await client.generate(wanted)).failure()

    assert isinstance(error, RequestTimeoutError)
    assert error.error_code == "connect"


# -- HTTP/2


def stalling(received: Received) -> Answer:
    """Begin an answer; go on only where asked to."""
    body: Any = received.json
    begun = chat_chunk(delta={"content": "a"})
    stays = body["messages"][0]["content"] == "stay"
    return Answer([begun, 1.0] if stays else [begun, *chat_stream()], headers=SSE)


async def test_one_stalled_answer_of_http2_does_not_end_others(
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
    """Its reader, who waits for what does not come, is told."""
    http2_server.handler = stalling
    options = HttpOptions(http2=True, ca_file=str(authority.file))
    async with Client(http=options) as client:
        stream = client.stream(request(model=model_at(http2_server.url), prompt="stay"))
        with anyio.fail_after(5):
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


async def test_a_connection_that_was_cancelled_unused_is_closed(
    server: Loopback, anyio_backend_name: str
) -> None:
    """Whenever a task of asyncio's is cancelled, no open connection is forgotten in the pool."""
    if anyio_backend_name == "trio":
        pytest.skip("a task of trio's is cancelled only where it waits")
    wanted = HttpRequest(
        method="POST",
        url=f"{server.url}/chat/completions",
        body=b'{"messages": []}',
    )
    for steps in range(1, 40):
        connections = Connections(tls=HttpOptions().tls_context)

        async def send(connections: Connections = connections) -> None:
            answer = await connections.send(wanted, Timeouts())
            await answer.aclose()

        task = asyncio.ensure_future(send())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        (pool,) = connections._pools.values() or (httpcore.AsyncConnectionPool(),)
        unused = [one for one in pool.connections if ", NEW, " in one.info()]
        await connections.aclose()

        assert unused == []


# -- redirects and errors


@pytest.mark.parametrize("location", ["http://[bad", "http://h:99999/", "ftp://h/x"])
async def test_a_redirect_to_nowhere(server: Loopback, location: str) -> None:
    """What a server says is an error and never an exception of Python's."""
    server.handler = lambda _: Answer([b""], 307, {"location": location}, length=0)

    assert isinstance(await failure(server.url), NetworkError)


def test_a_model_with_a_route_that_is_none_is_an_error_of_prepare() -> None:
    """A value, as every failure of it is."""
    no_route: Any = "https://h"
    model = Model("m", provider="p", route=no_route)

    assert isinstance(Client().prepare(request(model=model, prompt="Hi")).failure(), LLMError)


def test_credentials_go_and_empty_parameters_stay() -> None:
    """What another host may see of a URL."""
    sent = HttpRequest(
        method="GET", url="https://h/p?key=sk&beta=&x=1", secret_query=frozenset({"key"})
    )

    assert sent.without_credentials().url == "https://h/p?beta=&x=1"


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
    ours = translate(kind("it broke"), wanted)

    assert isinstance(ours, RequestTimeoutError if "Timeout" in kind.__name__ else NetworkError)


async def test_a_proxy_at_an_address_of_ipv6() -> None:
    """Brackets are a part of it."""
    connections = Connections(tls=HttpOptions().tls_context)
    proxy = connections._proxy("http://ada:pw@[::1]:8080")

    assert (proxy.url.host, proxy.url.port) == (b"::1", 8080)


class _Written(httpcore.AsyncMockStream):
    """A connection that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__([])
        self.written: list[bytes] = []

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        self.written.append(buffer)


HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD = b"POST /v1 HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("writes", "sent"),
    [
        ([HEAD, b"{}", b""], [HEAD + b"{}", b""]),
        ([HEAD, b""], [HEAD]),
        ([b"GET / HTTP/1.1\r\n\r\n", b""], [b"GET / HTTP/1.1\r\n\r\n", b""]),
        (
            [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x00\x00"],
            [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x00\x00"],
        ),
    ],
)
async def test_a_head_goes_out_with_its_body(writes: list[bytes], sent: list[bytes]) -> None:
    """In one packet: half the work, and no server waits for the second."""
    inner = _Written()
    stream = Stream(inner)
    for buffer in writes:
        await stream.write(buffer)

    assert inner.written == sent
