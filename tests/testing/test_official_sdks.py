"""Scripts and cassettes under the SDKs of OpenAI, Anthropic and Google.

Each SDK asks a server on loopback over a recorder, and then the cassette of that, with the same
outcome; both whole and streamed, asynchronous and blocking.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

import anthropic
import anyio
import httpx
import httpx2
import openai
import pytest
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from benchmarks import wire
from llmcore import sync
from llmcore.client.http.http_transport import HttpTransport
from llmcore.schema.errors import NetworkError
from llmcore.testing import CassetteMismatchError, Metadata, Player, Recorder, scripted
from tests.support.servers.loopback import Answer, Received, serve

pytestmark = pytest.mark.anyio

KEY: Final = "sk-test-0123456789abcdef"
Ask = Callable[[Any, str], Awaitable[list[str]]]
"""Asks over a transport, at a base URL; returns the texts of both responses."""
COUNT: Final = 4
"""Deltas of a streamed response."""
STREAMED: Final = wire.WORD * COUNT
WHOLE: Final = "x" * 10


@pytest.fixture(scope="module", autouse=True)
def background() -> Iterator[None]:
    yield
    sync.shutdown()


# -- asking by each SDK: whole, then streamed


async def openai_async(transport: Any, url: str) -> list[str]:
    async with httpx2.AsyncClient(transport=transport) as http:
        client = openai.AsyncOpenAI(api_key=KEY, base_url=url, http_client=http, max_retries=0)
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        whole = await client.chat.completions.create(**asked)
        stream = await client.chat.completions.create(**asked, stream=True)
        pieces = [c.choices[0].delta.content or "" async for c in stream if c.choices]
    return [whole.choices[0].message.content or "", "".join(pieces)]


def openai_blocking(transport: Any, url: str) -> list[str]:
    with httpx2.Client(transport=transport) as http:
        client = openai.OpenAI(api_key=KEY, base_url=url, http_client=http, max_retries=0)
        whole = client.responses.create(model="m", input="Hi")
        with client.responses.stream(model="m", input="Hi") as stream:
            streamed = stream.get_final_response()
    return [whole.output_text, streamed.output_text]


async def anthropic_async(transport: Any, url: str) -> list[str]:
    async with httpx2.AsyncClient(transport=transport) as http:
        client = anthropic.AsyncAnthropic(
            api_key=KEY, base_url=url, http_client=http, max_retries=0
        )
        asked: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
        whole: Any = (await client.messages.create(**asked)).content[0]
        async with client.messages.stream(**asked) as stream:
            streamed = await stream.get_final_text()
    return [whole.text, streamed]


def anthropic_blocking(transport: Any, url: str) -> list[str]:
    with httpx2.Client(transport=transport) as http:
        client = anthropic.Anthropic(api_key=KEY, base_url=url, http_client=http, max_retries=0)
        asked: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
        whole: Any = client.messages.create(**asked).content[0]
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_text()
    return [whole.text, streamed]


def google(url: str, **http: Any) -> genai.Client:
    options = genai_types.HttpOptions(base_url=url, **http)
    return genai.Client(api_key=KEY, vertexai=False, http_options=options)


def google_async_over(library: Any) -> Ask:
    async def ask(transport: Any, url: str) -> list[str]:
        async with library.AsyncClient(transport=transport) as http:
            models = google(url, httpx_async_client=http).aio.models
            whole = await models.generate_content(model="m", contents="Hi")
            stream = await models.generate_content_stream(model="m", contents="Hi")
            pieces = [piece.text or "" async for piece in stream]
        return [whole.text or "", "".join(pieces)]

    return ask


def google_blocking_over(library: Any) -> Callable[[Any, str], list[str]]:
    def ask(transport: Any, url: str) -> list[str]:
        with library.Client(transport=transport) as http:
            client = google(url, httpx_client=http)
            whole = client.models.generate_content(model="m", contents="Hi")
            stream = client.models.generate_content_stream(model="m", contents="Hi")
            pieces = [piece.text or "" for piece in stream]
        return [whole.text or "", "".join(pieces)]

    return ask


def in_a_thread(ask: Callable[[Any, str], list[str]]) -> Ask:
    return lambda transport, url: anyio.to_thread.run_sync(ask, transport, url)


ASKING: Final[Mapping[str, tuple[str, Ask]]] = {
    "openai": ("chat", openai_async),
    "openai, blocking": ("responses", in_a_thread(openai_blocking)),
    "anthropic": ("messages", anthropic_async),
    "anthropic, blocking": ("messages", in_a_thread(anthropic_blocking)),
    "google over httpx": ("gemini", google_async_over(httpx)),
    "google over httpx2": ("gemini", google_async_over(httpx2)),
    "google over httpx, blocking": ("gemini", in_a_thread(google_blocking_over(httpx))),
    "google over httpx2, blocking": ("gemini", in_a_thread(google_blocking_over(httpx2))),
}
"""The protocol that each SDK speaks, and how it asks."""


@pytest.fixture(params=ASKING)
def asking(
    request: pytest.FixtureRequest,
) -> tuple[str, Ask]:
    return ASKING[request.param]


@pytest.fixture
def anyio_backend() -> str:
    """Return the event loop that all of these SDKs support."""
    return "asyncio"


def answers(protocol: str) -> tuple[bytes, list[bytes]]:
    """Return the response in one piece and streamed."""
    return wire.whole(protocol, len(WHOLE)), wire.stream(protocol, "text", COUNT)


# -- under every SDK


async def test_an_sdk_reads_scripted_responses(asking: Any) -> None:
    """Whole and streamed."""
    protocol, ask = asking
    transport = scripted(*answers(protocol))

    assert await ask(transport, "https://api.example.com/v1") == [WHOLE, STREAMED]
    assert len(transport.requests) == 2
    transport.finish()


async def test_an_sdk_replays_what_was_recorded_under_it(asking: Any) -> None:
    """With the same outcome, and nothing more of it on the network."""
    protocol, ask = asking
    whole, streamed = answers(protocol)

    def handler(received: Received) -> Answer:
        wants_stream = b'"stream":true' in received.body.replace(b" ", b"")
        if wants_stream or "stream" in received.path.lower():
            return Answer(streamed, headers={"content-type": "text/event-stream"})
        return Answer([whole], headers={"content-type": "application/json"})

    with serve(handler) as server:
        recorder = Recorder(HttpTransport(), Metadata(name="sdk/one"), environ={})
        recorded = await ask(recorder, server.url)
        player = Player(recorder.cassette)
        replayed = await ask(player, server.url)

    assert recorded == replayed == [WHOLE, STREAMED]
    assert len(server.received) == 2
    assert KEY not in repr(recorder.cassette)
    player.finish()


async def test_an_sdk_that_asks_for_something_else_is_a_mismatch(asking: Any) -> None:
    """The SDK may turn it into an error of its own; `finish` raises it in any case."""
    protocol, ask = asking
    recorder = Recorder(scripted(*answers(protocol)), Metadata(name="sdk/two"), environ={})
    await ask(recorder, "https://api.example.com/v1")
    player = Player(recorder.cassette)
    with pytest.raises((CassetteMismatchError, openai.APIError, anthropic.APIError)):
        await ask(player, "https://api.example.com/v2")

    with pytest.raises(CassetteMismatchError, match="/v2"):
        player.finish()


# -- errors


async def test_an_sdk_takes_a_broken_connection_for_one(asking: Any) -> None:
    """As its own error, or as that of httpx."""
    _, ask = asking
    kinds = (openai.APIConnectionError, anthropic.APIConnectionError)
    natives = (httpx.ConnectError, httpx2.ConnectError, genai_errors.APIError)
    with pytest.raises((*kinds, *natives)):
        await ask(scripted(NetworkError("gone")), "https://api.example.com/v1")


async def test_an_sdk_takes_an_error_status_for_one() -> None:
    """With the provider's message."""
    body = {"error": {"message": "slow down", "type": "rate_limit", "code": None}}
    with pytest.raises(openai.RateLimitError, match="slow down"):
        await openai_async(scripted((429, {}, body)), "https://api.example.com/v1")
