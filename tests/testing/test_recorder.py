"""Recording from a real server on loopback, and replaying it."""

import json
import socket
import threading
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import evolve

from llmcore.client.client import Client
from llmcore.client.http.http_transport import HttpTransport
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import NetworkError, RequestTimeoutError
from llmcore.schema.events import TextDelta
from llmcore.schema.model import Model
from llmcore.schema.request import request
from llmcore.testing import (
    Cassette,
    Interaction,
    Metadata,
    NoResponse,
    Player,
    Recorded,
    RecordedResponse,
    Recorder,
    SecretFoundError,
    load,
    scripted,
)
from tests.support.servers.loopback import (
    Answer,
    Handler,
    Loopback,
    Received,
    chat_handler,
    chat_stream,
    held,
    serve,
)

pytestmark = pytest.mark.anyio

META = Metadata(name="loopback/one", provider="loop", tags=["text"])
KEY = "loop-key-0123456789"
EVENTS = {"content-type": "text/event-stream"}


def answering(*answers: Answer) -> Handler:
    waiting = list(answers)
    return lambda _received: waiting.pop(0)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


def model_at(server: Loopback) -> Model:
    provider = OpenAICompatible.configure(name="loop", base_url=server.url + "/v1", api_key=KEY)
    return provider.model("m-1")


def post(server: Loopback, body: bytes = b"{}") -> HttpRequest:
    return HttpRequest(method="POST", url=f"{server.url}/v1/x", body=body)


async def read(transport: Any, request: HttpRequest) -> list[bytes]:
    exchange = await transport.send(request, Timeouts())
    return [chunk async for chunk in exchange.chunks()]


def response_of(cassette: Cassette, index: int = 0) -> RecordedResponse:
    interaction = cassette.interactions[index]
    assert isinstance(interaction, Interaction)
    response = interaction.response
    assert isinstance(response, RecordedResponse)
    return response


async def test_a_recorded_conversation_replays_the_same(server: Loopback, tmp_path: Path) -> None:
    """Streamed and whole responses of a real server, through a file, on another port."""
    path = tmp_path / "one.json"

    async def talk(client: Client, server: Loopback) -> list[Any]:
        asked = request(model=model_at(server), prompt="Hi")
        events = [event async for event in client.stream(asked)]
        return [events, await client.generate(asked)]

    recorder = Recorder(HttpTransport(), META, path=path, environ={})
    async with Client(transport=recorder) as client:
        live = await talk(client, server)
    await recorder.aclose()
    await recorder.aclose()
    cassette = load(path)
    player = Player(cassette)
    with serve(chat_handler) as other:
        replayed = await talk(Client(transport=player), other)

        assert other.received == []
    player.finish()
    assert replayed == live
    assert cassette.metadata.origin == Recorded(server="localhost", model="m-1")
    assert KEY not in path.read_text()


async def test_chunks_come_at_once_and_are_kept_with_their_delays() -> None:
    """The caller sees each piece when it comes, not when all have come."""
    received = threading.Event()
    rest = held(received, [0.15, b"data: 2\n\n", b"data: \xff\n\n"])
    seen: list[bytes] = []
    with serve(answering(Answer(chain([b"data: 1\n\n"], rest), headers=EVENTS))) as server:
        recorder = Recorder(HttpTransport(), META)
        exchange = await recorder.send(post(server), Timeouts())
        async for chunk in exchange.chunks():
            seen.append(chunk)
            received.set()  # the server sends the rest only now
        await recorder.aclose()

    response = response_of(recorder.cassette)
    assert seen[0] == b"data: 1\n\n"
    assert response.body == b"data: 1\n\ndata: 2\n\ndata: \xff\n\n"
    assert [piece for piece, _ in response.pieces()] == seen
    assert sum(delay_ms for _, delay_ms in response.pieces()) > 140
    assert not response.abandoned


async def test_a_binary_body_replays_to_the_byte(tmp_path: Path) -> None:
    """In the pieces it came in."""
    pieces = [bytes(range(256)), b"\x00\x01", bytes(300)]
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    script: list[bytes | float] = [pieces[0], 0.05, pieces[1], 0.05, pieces[2]]
    with serve(answering(Answer(script, headers=headers))) as server:
        recorder = Recorder(HttpTransport(), META, path=tmp_path / "b.json", environ={})
        sent = post(server)
        live = await read(recorder, sent)
        await recorder.aclose()

    stored = json.loads((tmp_path / "b.json").read_text())["interactions"][0]["response"]
    assert live == pieces
    assert stored["body_encoding"] == "base64"
    assert await read(Player(load(tmp_path / "b.json")), sent) == pieces


async def test_a_compressed_body_is_recorded_decompressed() -> None:
    """The cassette is readable, and does not mention the removed compression."""
    packed = zlib.compress(b'{"answer":42}')
    answer = Answer(
        [packed],
        headers={"content-encoding": "deflate", "content-type": "application/json"},
        length=len(packed),
    )
    with serve(answering(answer)) as server:
        recorder = Recorder(HttpTransport(), META)
        await read(recorder, post(server))
        await recorder.aclose()

    response = response_of(recorder.cassette)
    assert response.body == b'{"answer":42}'
    assert response.headers == {"content-type": "application/json"}


async def test_concurrent_requests_are_recorded_in_the_order_of_sending() -> None:
    """Whoever is answered first."""

    def later_first(received: Received) -> Answer:
        number = int(received.body)
        return Answer([0.1 / (number + 1), b"%d" % number], headers=EVENTS)

    with serve(later_first) as server:
        recorder = Recorder(HttpTransport(), META)
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(read, recorder, post(server, b"%d" % number))
                await anyio.sleep(0.005)
        await recorder.aclose()

    interactions = recorder.cassette.interactions
    assert [one.request.body for one in interactions] == [b"0", b"1", b"2", b"3"]
    answers = [response_of(recorder.cassette, index).body for index in range(4)]
    assert answers == [b"0", b"1", b"2", b"3"]


async def test_a_stream_that_is_not_read_to_its_end_is_recorded_as_abandoned() -> None:
    """And marked; later bytes of the server are not read."""
    slow = chat_stream(("Hel", "lo", "!"), pause=600)
    with serve(answering(Answer(slow, headers=EVENTS))) as server:
        recorder = Recorder(HttpTransport(), META)
        async with Client(transport=recorder).stream(
            request(model=model_at(server), prompt="Hi")
        ) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
        await recorder.aclose()

    response = response_of(recorder.cassette)
    assert response.abandoned
    assert response.failure is None
    assert b"Hel" in response.body
    assert b"DONE" not in response.body


@pytest.mark.parametrize("reading", [True, False])
async def test_a_stream_closed_by_another_task_is_recorded_as_abandoned(reading: bool) -> None:
    """The failing read that follows is the caller's own doing."""
    pause = 30.0 if reading else 0.0
    script: list[bytes | float] = [*chat_stream(("Hel",))[:1], pause, b"data: [DONE]\n\n"]
    with serve(answering(Answer(script, headers=EVENTS))) as server:
        recorder = Recorder(HttpTransport(), META)
        stream = Client(transport=recorder).stream(request(model=model_at(server), prompt="Hi"))
        async with anyio.create_task_group() as group:
            await anext(stream)
            if reading:
                group.start_soon(stream.result)
                await anyio.sleep(0.05)
            await stream.aclose()
        await recorder.aclose()

    response = response_of(recorder.cassette)
    assert response.abandoned
    assert response.failure is None


async def test_a_call_cancelled_before_the_headers_is_recorded_without_response() -> None:
    """The request took place, so it stands in the cassette."""

    class Silent:
        """A server that never answers."""

        async def send(self, request: HttpRequest, timeouts: Timeouts) -> Any:
            await anyio.sleep_forever()

        async def aclose(self) -> None:
            """Nothing is open."""

    recorder = Recorder(Silent(), META)
    with anyio.move_on_after(0.02):
        await read(recorder, HttpRequest(method="POST", url="https://x/y"))

    assert getattr(recorder.cassette.interactions[0], "response", None) == NoResponse()


async def test_a_connection_that_breaks_breaks_again_when_replayed() -> None:
    """The same kind of error, with the same bytes before it."""
    answer = Answer([*chat_stream(("Hel",))[:1]], headers=EVENTS, cut=True)
    with serve(answering(answer)) as server:
        recorder = Recorder(HttpTransport(), META)
        asked = request(model=model_at(server), prompt="Hi")
        live = await Client(transport=recorder).stream(asked).result()
        await recorder.aclose()
    player = Player(recorder.cassette)
    replayed = await Client(transport=player).stream(asked).result()

    assert isinstance(live.failure(), NetworkError)
    assert replayed == live
    assert response_of(recorder.cassette).failure.partial is None  # type: ignore[union-attr]
    player.finish()


async def test_a_failed_connection_is_recorded_with_its_error() -> None:
    """Retries that follow a failure replay with it."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # without listening
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        model = OpenAICompatible.configure(name="loop", base_url=url, api_key=KEY).model("m-1")
        recorder = Recorder(HttpTransport(), META)
        asked = request(model=model, prompt="Hi")
        live = await Client(transport=recorder).generate(asked)
        await recorder.aclose()
    replayed = await Client(transport=Player(recorder.cassette)).generate(asked)

    assert isinstance(live.failure(), NetworkError)
    assert replayed.failure() == live.failure()


async def test_a_timeout_while_recording_is_replayed() -> None:
    """The stream stalls at the same place for who has the same patience."""
    script: list[bytes | float] = [*chat_stream(("Hel",))[:1], 30.0]
    with serve(answering(Answer(script, headers=EVENTS))) as server:
        recorder = Recorder(HttpTransport(), META)
        asked = request(model=model_at(server), prompt="Hi")
        limits = Timeouts(idle=0.1)
        live = await Client(transport=recorder).stream(asked, timeouts=limits).result()
        await recorder.aclose()
    replayed = (
        await Client(transport=Player(recorder.cassette)).stream(asked, timeouts=limits).result()
    )

    assert isinstance(live.failure(), RequestTimeoutError)
    assert replayed.failure().error_code == live.failure().error_code == "idle"


async def test_credentials_stay_out_of_the_cassette(tmp_path: Path) -> None:
    """Marked headers and parameters are left out without a word."""
    recorder = Recorder(scripted({}), META, path=tmp_path / "a.json", environ={})
    signed = (
        HttpRequest(method="POST", url="https://x/y?v=1", headers={"cookie": "c", "accept": "*/*"})
        .with_header("x-key", KEY, secret=True)
        .with_query("key", KEY, secret=True)
    )
    await read(recorder, signed)
    await recorder.aclose()

    recorded = load(tmp_path / "a.json").interactions[0].request
    assert recorded.url == "https://x/y?v=1"
    assert recorded.headers == {"accept": "*/*"}
    assert KEY not in (tmp_path / "a.json").read_text()


async def test_an_echoed_credential_keeps_the_cassette_from_being_written(tmp_path: Path) -> None:
    """A server that quotes our key back is found out, wherever it does."""
    path = tmp_path / "a.json"
    recorder = Recorder(scripted({"error": f"bad key {KEY}"}), META, path=path, environ={})
    signed = HttpRequest(method="POST", url="https://x").with_header(
        "authorization", f"Bearer {KEY}", secret=True
    )
    await read(recorder, signed)

    with pytest.raises(SecretFoundError) as caught:
        await recorder.aclose()

    assert "interactions[0].response.body.error holds a credential" in str(caught.value)
    assert KEY not in str(caught.value)
    assert not path.exists()


async def test_the_token_of_a_remote_tool_keeps_the_cassette_from_being_written(
    tmp_path: Path,
) -> None:
    """It is in the body, where nothing marks it as a credential."""
    path = tmp_path / "a.json"
    recorder = Recorder(scripted({}), META, path=path, environ={})
    body = b'{"tools": [{"type": "mcp", "authorization": "a1-b2-c3-d4"}]}'
    await read(recorder, HttpRequest(method="POST", url="https://x", body=body))

    with pytest.raises(SecretFoundError):
        await recorder.aclose()

    assert not path.exists()


async def test_given_metadata_is_not_overwritten() -> None:
    """The test's metadata takes precedence."""
    origin = Recorded(server="llama.cpp", version="b1")
    recorder = Recorder(scripted({}), Metadata(name="x", origin=origin))
    await read(recorder, HttpRequest(method="POST", url="https://x/y", body=b'{"model":"m"}'))

    assert recorder.cassette.metadata.origin == evolve(origin, model="m")


async def test_a_body_without_a_model_leaves_the_model_of_the_origin_empty() -> None:
    """Not every body is JSON, and not every object names its model."""
    for body in (b"", b"[1]", b'{"model":5}'):
        recorder = Recorder(scripted({}), META)
        await read(recorder, HttpRequest(method="POST", url="https://x/y", body=body))

        assert recorder.cassette.metadata.origin == Recorded(server="x")
