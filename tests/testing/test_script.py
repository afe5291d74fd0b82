"""Responses from a script."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from llmcore.client.client import Client
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import NetworkError, RequestTimeoutError
from llmcore.schema.model import Model
from llmcore.schema.request import request
from llmcore.testing import ScriptEndedError, scripted
from tests.support.servers.loopback import chat_stream, chat_whole

pytestmark = pytest.mark.anyio

POST = HttpRequest(method="POST", url="https://x/y", body=b'{"a":1}')


def chat_model() -> Model:
    provider = OpenAICompatible.configure(name="any", base_url="https://x", api_key="k")
    return provider.model("m-1")


async def answered(response: Any) -> tuple[int, dict[str, str], list[bytes]]:
    """Return status, headers and chunks of what *response* scripts."""
    exchange = await scripted(response).send(POST, Timeouts())
    chunks = [chunk async for chunk in exchange.chunks()]
    await exchange.aclose()
    return exchange.status, exchange.headers, chunks


async def over_time(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await anyio.lowlevel.checkpoint()
        yield chunk


@pytest.mark.parametrize(
    ("response", "status", "content_type", "chunks"),
    [
        (b"data: 1\n\n", 200, "text/event-stream", [b"data: 1\n\n"]),
        (": ping\n\n", 200, "text/event-stream", [b": ping\n\n"]),
        ('{"é":1}', 200, "application/json", ['{"é":1}'.encode()]),
        (" [1]", 200, "application/json", [b" [1]"]),
        (b" " * 200 + b"{}", 200, "application/json", [b" " * 200 + b"{}"]),
        ("<html>", 200, "text/plain", [b"<html>"]),
        (b"\xff\xfe", 200, "text/plain", [b"\xff\xfe"]),
        ("", 200, "text/plain", []),
        ({"a": [1]}, 200, "application/json", [b'{"a":[1]}']),
        ([{"a": 1}, 2], 200, "application/json", [b'[{"a":1},2]']),
        (["da", b"ta"], 200, "text/event-stream", [b"da", b"ta"]),
        ([("da", 1), b"ta"], 200, "text/event-stream", [b"da", b"ta"]),
        ((b"1", b"", b"2"), 200, "text/event-stream", [b"1", b"", b"2"]),
        ((429, {"Retry-After": "3"}, {"error": 1}), 429, "application/json", [b'{"error":1}']),
        ((500, {"Content-Type": "text/html"}, "{"), 500, "text/html", [b"{"]),
    ],
)
async def test_scripted_responses_of_every_form_are_served(
    response: Any, status: int, content_type: str, chunks: list[bytes]
) -> None:
    """Text, bytes, JSON, chunks, or all of it with status and headers."""
    got_status, headers, got = await answered(response)

    assert (got_status, headers["content-type"], got) == (status, content_type, chunks)


async def test_a_generator_is_read_chunk_by_chunk() -> None:
    """Its chunks are made when they are asked for."""
    made = []

    def chunks() -> Iterator[bytes]:
        for chunk in (b"1", b"2"):
            made.append(chunk)
            yield chunk

    exchange = await scripted(chunks()).send(POST, Timeouts())
    body: Any = exchange.chunks()

    assert await anext(body) == b"1"
    assert made == [b"1"]
    assert [chunk async for chunk in body] == [b"2"]


async def test_header_names_are_lower_case() -> None:
    """As every transport gives them."""
    _, headers, _ = await answered((200, {"Retry-After": "3"}, ""))

    assert headers["retry-after"] == "3"


async def test_an_asynchronous_iterable_is_closed_with_the_body() -> None:
    """A generator that stops in the middle is not left to the garbage collector."""
    generator = over_time(b"1", b"2")
    exchange = await scripted(generator).send(POST, Timeouts())
    chunks: Any = exchange.chunks()

    first = await anext(chunks)
    await chunks.aclose()

    assert first == b"1"
    assert [chunk async for chunk in generator] == []


async def test_scripted_delays_are_waited_for() -> None:
    """A pair waits its milliseconds before the chunk."""
    started = anyio.current_time()
    await answered([(b"1", 30.0), (b"2", 30.0)])

    assert anyio.current_time() - started >= 0.055


async def test_an_exception_comes_instead_of_a_response_or_a_chunk() -> None:
    """A connection that is refused, and one that breaks."""
    with pytest.raises(NetworkError, match="refused"):
        await answered(NetworkError("refused"))
    with pytest.raises(NetworkError, match="broke"):
        await answered([b"1", NetworkError("broke")])


async def test_a_value_that_is_not_a_chunk_is_an_error() -> None:
    """A number in a list of chunks is a mistake in the test."""
    with pytest.raises(TypeError, match="not an int"):
        await answered([b"1", 2])


async def test_requests_are_kept_for_assertions() -> None:
    """The requests, in order, as sent and as JSON."""
    transport = scripted({}, {})
    await transport.send(POST, Timeouts())

    assert transport.requests == [POST]
    assert transport.bodies == [{"a": 1}]
    with pytest.raises(ScriptEndedError, match="2 responses were scripted, but 1 requests came"):
        transport.finish()
    await transport.send(POST, Timeouts())
    transport.finish()
    with pytest.raises(ScriptEndedError, match="request 3 came, but 2 responses"):
        await transport.send(POST, Timeouts())
    await transport.aclose()


async def test_a_client_runs_on_a_scripted_transport() -> None:
    """Streams, whole responses and errors, one after the other."""
    stream = [item for item in chat_stream() if isinstance(item, bytes)]
    transport = scripted(stream, chat_whole(), (429, {}, {"error": {"message": "slow down"}}))
    asked = request(model=chat_model(), prompt="Hi")

    async with Client(transport=transport) as client:
        texts = [text async for text in client.stream(asked).text_stream]
        whole = await client.generate(asked)
        failed = await client.generate(asked)

    assert texts == ["Hel", "lo"]
    assert whole.unwrap().text == "Hello"
    assert "slow down" in str(failed.failure())
    assert [
        body["stream"] for body in transport.bodies if isinstance(body, dict) and "stream" in body
    ]
    transport.finish()


async def test_a_scripted_stall_meets_the_time_limit() -> None:
    """A server that stops sending meets the client's time limit."""

    async def stalled() -> AsyncIterator[bytes]:
        yield chat_stream()[0]  # type: ignore[misc]
        await anyio.sleep_forever()

    client = Client(transport=scripted(stalled()), timeouts=Timeouts(idle=0.05))
    result = await client.stream(request(model=chat_model(), prompt="Hi")).result()

    assert isinstance(result.failure(), RequestTimeoutError)


async def test_a_request_beyond_the_script_is_an_error() -> None:
    """It is not an LLMError, so no call turns it into a result."""
    client = Client(transport=scripted())

    with pytest.raises(ScriptEndedError, match="0 responses were scripted"):
        await client.generate(request(model=chat_model(), prompt="Hi"))
