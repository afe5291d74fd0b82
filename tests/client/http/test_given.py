"""Values of `Client(http=...)`: clients and transports of httpx and httpx2, aiohttp sessions."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any, Final, get_args

import aiohttp
import httpx
import httpx2
import pytest

from llmcore.client.client import Client
from llmcore.client.http.http_transport import HttpClient
from llmcore.client.http.options import HttpOptions
from llmcore.schema.errors import ConfigurationError, NetworkError, RateLimitError
from llmcore.schema.request import request
from llmcore.schema.response import LLMResponse
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    chat_handler,
    chat_whole,
    model_at,
    serve,
)
from tests.support.servers.tls_loopback import Proxy, proxy

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


@asynccontextmanager
async def open_transport(make: Callable[[], Any]) -> AsyncIterator[Any]:
    """Yield a transport, which has no context of its own until it is entered."""
    transport = make()
    yield transport
    await transport.aclose()


GIVEN: Final[Mapping[str, Callable[[], AbstractAsyncContextManager[Any]]]] = {
    "httpx client": httpx.AsyncClient,
    "httpx2 client": httpx2.AsyncClient,
    "httpx transport": lambda: open_transport(httpx.AsyncHTTPTransport),
    "httpx2 transport": lambda: open_transport(httpx2.AsyncHTTPTransport),
    "aiohttp session": aiohttp.ClientSession,
}


@pytest.fixture(params=GIVEN)
async def given(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    of_aiohttp = request.node.callspec.params["anyio_backend"].startswith("aiohttp")
    if request.param == "aiohttp session" and not of_aiohttp:
        pytest.skip("aiohttp seems not to be installed, and runs on asyncio only")
    async with GIVEN[request.param]() as made:
        yield made


async def test_calls_go_over_what_is_given_and_leave_it_open(given: Any, server: Loopback) -> None:
    """Whole and streamed, for one client after the other."""
    wanted = request(model=model_at(server.url), prompt="Hi")
    for _ in range(2):
        async with Client(http=given) as client:
            assert (await client.complete(wanted)).text == "Hello"
            assert (await client.stream(wanted).result()).unwrap().text == "Hello"

    assert server.connections == 1
    sent = server.received[0].headers
    assert sent["authorization"] == "Bearer sk-secret-key"
    assert sent["user-agent"].startswith("llmcore/")


async def test_a_refused_connection_is_an_error_of_the_network(given: Any) -> None:
    """Whichever library meets it."""
    async with Client(http=given) as client:
        asked = request(model=model_at("http://127.0.0.1:9"), prompt="Hi")
        error = (await client.generate(asked)).failure()

    assert isinstance(error, NetworkError)
    assert error.cause is not None


async def test_an_error_status_is_an_error_of_the_provider(given: Any) -> None:
    """Also where the library could raise one of its own."""
    busy = Answer([b'{"error": {"message": "later"}}'], status=429, headers=JSON)
    with serve(lambda _: busy) as server:
        async with Client(http=given) as client:
            asked = request(model=model_at(server.url), prompt="Hi")
            error = (await client.generate(asked)).failure()

    assert isinstance(error, RateLimitError)


async def test_a_redirect_is_followed_without_credentials_for_another_host(given: Any) -> None:
    """As by the engines: the library does not follow it by itself."""
    with serve(lambda _: Answer([chat_whole("Hello")], headers=JSON)) as target:
        elsewhere = target.url.replace("127.0.0.1", "localhost")
        away = Answer([], status=307, headers={"location": f"{elsewhere}/chat/completions"})
        with serve(lambda _: away) as server:
            async with Client(http=given) as client:
                asked = request(model=model_at(server.url), prompt="Hi")
                assert (await client.complete(asked)).text == "Hello"

    assert "authorization" not in target.received[0].headers


@pytest.mark.parametrize(
    "wrong", [httpx.Client(), httpx.HTTPTransport(), httpx.AsyncHTTPTransport, "httpx", object()]
)
async def test_what_cannot_send_requests_asynchronously_is_refused(wrong: Any) -> None:
    """When the client is made, with what can be given instead."""
    with pytest.raises(ConfigurationError, match=r"httpx\.AsyncClient"):
        Client(http=wrong)


# -- which engine a response came by


async def noted(options: HttpOptions, url: str) -> LLMResponse:
    async with Client(http=options) as client:
        return await client.complete(request(model=model_at(url), prompt="Hi"))


async def test_responses_name_their_engine_in_debug(
    server: Loopback, anyio_backend_name: str, request: pytest.FixtureRequest
) -> None:
    """With its version, as a Diagnostic that strict requests do not mind; never by default."""
    engine = request.node.callspec.params["anyio_backend"].partition("-")[0]
    response = await noted(HttpOptions(debug=True), server.url)

    (note,) = response.diagnostics
    assert (note.code, note.action) == ("http-engine", "noted")
    assert note.message == f"HTTP by {engine} {version(engine)}"
    assert (await noted(HttpOptions(), server.url)).diagnostics == ()


async def test_responses_name_the_engine_that_took_over_in_debug(server: Loopback) -> None:
    """A proxy is named as one, and not by its URL, which may hold a password."""
    relay: Proxy
    with proxy() as relay:
        options = HttpOptions(engine="httpx", proxy=relay.url, debug=True)
        (note,) = (await noted(options, server.url)).diagnostics

    assert note.message == f"HTTP by httpx {version('httpx')}, through a proxy"


def test_types_of_http_clients_are_known_where_aiohttp_is_not_installed() -> None:
    """An unknown type in the signature of `Client` is an error of pyright's strict mode."""
    modules = [getattr(kind, "__module__", "") for kind in get_args(HttpClient)]
    named = [getattr(kind, "__forward_arg__", "") for kind in get_args(HttpClient)]

    assert not [module for module in modules if module.partition(".")[0] in ("aiohttp", "httpx")]
    assert not [name for name in named if "." in name]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_exception_of_a_given_sessions_own_code_is_not_taken_for_a_closed_client(
    server: Loopback,
) -> None:
    async def trace(*_arguments: object) -> None:
        raise RuntimeError("a fault of the trace")

    config = aiohttp.TraceConfig()
    config.on_request_start.append(trace)
    async with aiohttp.ClientSession(trace_configs=[config]) as session:
        client = Client(http=session)
        with pytest.raises(RuntimeError, match="a fault of the trace"):
            await client.generate(request(model=model_at(server.url), prompt="Hi"))
