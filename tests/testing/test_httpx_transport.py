"""Scripts, cassettes and recorders as transports of httpx and httpx2: no SDK is in between."""

import gzip
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import httpx
import httpx2
import pytest

from llmcore import sync
from llmcore.client.http.http_transport import HttpTransport
from llmcore.routes.http_request import HttpRequest
from llmcore.schema.errors import NetworkError, RequestTimeoutError, StreamError
from llmcore.testing import (
    Cassette,
    CassetteMismatchError,
    Interaction,
    Metadata,
    Player,
    RecordedRequest,
    RecordedResponse,
    Recorder,
    scripted,
)
from tests.support.servers.loopback import Answer, Received, serve

pytestmark = pytest.mark.anyio

URL = "https://api.example.com/v1/x"
JSON = {"content-type": "application/json"}


@pytest.fixture(params=[httpx, httpx2], ids=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module", autouse=True)
def background() -> Iterator[None]:
    yield
    sync.shutdown()


async def asynchronously(library: Any, transport: Any, **more: Any) -> list[bytes]:
    """Return the pieces of the body that a POST over *transport* is answered with."""
    async with (
        library.AsyncClient(transport=transport) as client,
        client.stream("POST", URL, json={"n": 1}, **more) as response,
    ):
        return [chunk async for chunk in response.aiter_bytes()]


async def blocking(library: Any, transport: Any, **more: Any) -> list[bytes]:
    """Do the same with a blocking client, in a thread."""

    def read() -> list[bytes]:
        with (
            library.Client(transport=transport) as client,
            client.stream("POST", URL, json={"n": 1}, **more) as response,
        ):
            return list(response.iter_bytes())

    return await anyio.to_thread.run_sync(read)


@pytest.fixture(params=[asynchronously, blocking], ids=["async", "blocking"])
def post(request: pytest.FixtureRequest) -> Any:
    return request.param


async def leave(library: Any, transport: Any) -> None:
    """Read one piece of a body and close it. A client would leave generators of its own."""
    response = await transport.handle_async_request(library.Request("GET", URL))
    await anext(aiter(response.stream))
    await response.aclose()


# -- scripts


async def test_a_body_comes_in_the_pieces_of_the_script(library: Any, post: Any) -> None:
    """The request is there as llmcore sends it, without headers of the connection."""
    transport = scripted(["data: 1\n\n", ("data: 2\n\n", 5)])

    assert await post(library, transport) == [b"data: 1\n\n", b"data: 2\n\n"]
    (sent,) = transport.requests
    assert (sent.method, sent.url) == ("POST", URL)
    assert transport.bodies == [{"n": 1}]
    assert not sent.headers.keys() & {"host", "content-length", "accept-encoding"}


@pytest.mark.parametrize(
    ("raised", "name"),
    [
        (NetworkError("gone"), "ConnectError"),
        (RequestTimeoutError("slow", error_code="connect"), "ConnectTimeout"),
        (RequestTimeoutError("slow", error_code="pool"), "PoolTimeout"),
        (RequestTimeoutError("slow", error_code="read"), "ReadTimeout"),
    ],
)
async def test_an_error_in_place_of_a_response_is_the_librarys(
    library: Any, post: Any, raised: Exception, name: str
) -> None:
    """With ours as its cause, and its request."""
    with pytest.raises(getattr(library, name)) as caught:
        await post(library, scripted(raised))

    assert caught.value.__cause__ is raised
    assert caught.value.request.url == URL


@pytest.mark.parametrize(
    ("raised", "name"),
    [
        (NetworkError("gone"), "ReadError"),
        (RequestTimeoutError("slow", error_code="read"), "ReadTimeout"),
        (StreamError("not HTTP"), "RemoteProtocolError"),
    ],
)
async def test_an_error_in_the_middle_of_a_body_is_the_librarys(
    library: Any, post: Any, raised: Exception, name: str
) -> None:
    """After the pieces that came before it."""
    with pytest.raises(getattr(library, name)) as caught:
        await post(library, scripted(["data: 1\n\n", raised]))

    assert caught.value.__cause__ is raised


async def test_an_error_that_is_not_of_the_network_stays_itself(library: Any, post: Any) -> None:
    """Such as a test's own."""
    with pytest.raises(ZeroDivisionError):
        await post(library, scripted(ZeroDivisionError("the test's own")))


async def test_the_time_limit_for_reads_of_the_client_holds(library: Any, post: Any) -> None:
    """A script may be slower than the client waits."""
    with pytest.raises(library.ReadTimeout):
        await post(library, scripted([("data: 1\n\n", 30_000)]), timeout=0.05)


async def test_leaving_in_the_middle_of_a_body_ends_it(library: Any) -> None:
    """The script's own generator is closed at once."""
    ended = []

    async def endless() -> Any:
        try:
            while True:
                yield b"data: 1\n\n"
        finally:
            ended.append(True)

    await leave(library, scripted(endless()))

    assert ended == [True]


# -- cassettes


def cassette(body: bytes = b'{"n":1}') -> Cassette:
    headers = {**JSON, "accept": "*/*"}
    sent = HttpRequest(method="POST", url=URL, headers=headers, body=body)
    response = RecordedResponse(headers=JSON, body=b'{"text":"Hello"}')
    kept = Interaction(request=RecordedRequest.of(sent), response=response)
    return Cassette(metadata=Metadata(name="example/one"), interactions=[kept])


async def test_a_recorded_request_gets_the_recorded_response(library: Any, post: Any) -> None:
    """And the cassette is used up."""
    player = Player(cassette())

    assert await post(library, player) == [b'{"text":"Hello"}']
    player.finish()


async def test_another_request_is_a_mismatch_and_no_error_of_the_network(
    library: Any, post: Any
) -> None:
    """`finish` raises it again, for an SDK may have caught and retried it."""
    player = Player(cassette(b'{"n":2}'))
    with pytest.raises(CassetteMismatchError):
        await post(library, player)

    with pytest.raises(CassetteMismatchError, match="Request 1 differs"):
        player.finish()


# -- recording


def answer(received: Received) -> Answer:
    """Answer with compressed events."""
    data = gzip.compress(b"data: 1\n\ndata: 2\n\n")
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    return Answer([data], headers=headers)


@pytest.mark.parametrize("make", ["AsyncClient", "Client"])
async def test_what_is_recorded_under_a_client_can_be_played_under_it(
    library: Any, make: str
) -> None:
    """Decompressed, and without the sender's key."""
    texts = []
    with serve(answer) as server:
        recorder = Recorder(HttpTransport(), Metadata(name="example/two"), environ={})
        for transport in (recorder, None):
            used = transport or Player(recorder.cassette)
            headers = {"authorization": "Bearer sk-secret-key-0123456789"}
            if make == "AsyncClient":
                async with library.AsyncClient(transport=used, headers=headers) as client:
                    texts.append((await client.post(server.url, json={"n": 1})).text)
            else:

                def ask(used: Any = used, headers: Any = headers) -> str:
                    with library.Client(transport=used, headers=headers) as client:
                        text: str = client.post(server.url, json={"n": 1}).text
                        return text

                texts.append(await anyio.to_thread.run_sync(ask))

    assert texts == ["data: 1\n\ndata: 2\n\n"] * 2
    assert len(server.received) == 1
    assert server.received[0].headers["authorization"].endswith("0123456789")
    assert "0123456789" not in repr(recorder.cassette)


async def test_a_response_that_was_left_is_recorded_as_left(library: Any) -> None:
    """As under llmcore's own client."""
    inner = scripted(["data: 1\n\n", "data: 2\n\n"])
    recorder = Recorder(inner, Metadata(name="example/three"), environ={})
    await leave(library, recorder)

    response = recorder.cassette.interactions[0].response  # type: ignore[union-attr]
    assert isinstance(response, RecordedResponse)
    assert (response.body, response.abandoned) == (b"data: 1\n\n", True)


async def test_a_failure_is_recorded_as_ours(library: Any) -> None:
    """And replayed as the library's."""
    recorder = Recorder(scripted(NetworkError("gone")), Metadata(name="x/four"), environ={})
    with suppress(library.ConnectError):
        await asynchronously(library, recorder)

    with pytest.raises(library.ConnectError, match="gone"):
        await asynchronously(library, Player(recorder.cassette))
