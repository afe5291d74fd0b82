"""Replaying cassettes."""

import copy
from itertools import pairwise
from typing import Any

import anyio
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import llmcore.testing.player
from llmcore.client.client import Client
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import LLMError, NetworkError, RequestTimeoutError
from llmcore.schema.events import TextDelta
from llmcore.schema.model import Model
from llmcore.schema.request import request
from llmcore.testing import (
    Cassette,
    CassetteMismatchError,
    Chunk,
    Interaction,
    Metadata,
    NoResponse,
    Player,
    RecordedRequest,
    RecordedResponse,
)
from llmcore.testing.cassette_file import dumps, loads
from tests.support.servers.loopback import DONE, chat_chunk, chat_stream

pytestmark = pytest.mark.anyio

BODY = b"".join(item for item in chat_stream() if isinstance(item, bytes))
SSE = {"content-type": "text/event-stream"}


def post(body: bytes = b'{"n":1}', path: str = "/v1/x", **headers: Any) -> HttpRequest:
    sent = {"content-type": "application/json", **headers}
    return HttpRequest(method="POST", url=f"https://api.example.com{path}", headers=sent, body=body)


def kept(request: HttpRequest, response: RecordedResponse | NoResponse) -> Interaction:
    return Interaction(request=RecordedRequest.of(request), response=response)


def playing(*interactions: Interaction, **options: Any) -> Player:
    return Player(
        Cassette(metadata=Metadata(name="example/one"), interactions=interactions), **options
    )


async def received(player: Player, request: HttpRequest) -> list[bytes]:
    exchange = await player.send(request, Timeouts())
    return [chunk async for chunk in exchange.chunks()]


def chat_model() -> Model:
    provider = OpenAICompatible.configure(name="any", base_url="https://x/v1", api_key="k-secret-1")
    return provider.model("m-1")


CHAT = request(model=chat_model(), prompt="Hi")


def chat_request(streaming: bool = True) -> HttpRequest:
    return Client().prepare(CHAT, streaming=streaming).unwrap().http


@st.composite
def cut_bodies(draw: st.DrawFn) -> list[bytes]:
    body = draw(st.binary(max_size=60))
    cuts = draw(st.lists(st.integers(0, len(body)), max_size=6))
    return [body[start:end] for start, end in pairwise([0, *sorted(cuts), len(body)])]


@given(pieces=cut_bodies(), binary=st.booleans())
async def test_any_bytes_in_any_pieces_are_played_exactly(
    pieces: list[bytes], binary: bool
) -> None:
    """A body comes back to the byte, through a file, cut where the network cut it."""
    response = RecordedResponse(
        headers={"content-type": "application/octet-stream" if binary else "text/plain"},
        body=b"".join(pieces),
        chunks=tuple(Chunk(len(piece)) for piece in pieces),
    )
    cassette = Cassette(metadata=Metadata(name="x"), interactions=[kept(post(), response)])

    assert await received(Player(loads(dumps(cassette))), post()) == pieces


async def test_requests_are_served_in_order() -> None:
    """Equal requests get different responses, as retries and polling do."""
    player = playing(
        kept(post(), RecordedResponse(status=503, body=b"no")),
        kept(post(), RecordedResponse(status=200, headers={"x-request-id": "r"}, body=b"yes")),
    )

    first = await player.send(post(), Timeouts())
    second = await player.send(post(), Timeouts())

    assert (first.status, second.status) == (503, 200)
    assert second.headers == {"x-request-id": "r"}
    assert [chunk async for chunk in second.chunks()] == [b"yes"]
    assert player.requests == [RecordedRequest.of(post())] * 2
    player.finish()


@pytest.mark.parametrize(
    "sent",
    [
        post(b'{ "n": 1 }'),
        post(b'{"n":1}', "/v1/x?key=another-key"),
        post(user_agent="x", authorization="Bearer y"),
        evolve(post(), method="post"),
    ],
)
async def test_requests_that_differ_in_layout_only_match(sent: HttpRequest) -> None:
    """Layout, credentials and unlisted headers are not compared."""
    recorded = post(path="/v1/x?key=k") if "key" in sent.url else post()
    player = playing(kept(recorded, RecordedResponse(body=b"ok")))

    assert await received(player, sent) == [b"ok"]


@pytest.mark.parametrize(
    "sent",
    [
        post(b'{"n":2}'),
        post(path="/v1/y"),
        post(path="/v1/x?alt=sse"),
        post(accept="text/plain"),
        evolve(post(), method="GET"),
    ],
)
async def test_a_request_that_differs_is_a_mismatch_error(sent: HttpRequest) -> None:
    """It raises at once, and again at the end in case the first error was swallowed."""
    player = playing(kept(post(), RecordedResponse()))

    with pytest.raises(CassetteMismatchError, match="Request 1 differs") as caught:
        await player.send(sent, Timeouts())
    with pytest.raises(CassetteMismatchError) as again:
        player.finish()

    assert again.value is caught.value
    assert isinstance(caught.value, AssertionError)
    assert not isinstance(caught.value, LLMError)


async def test_extra_headers_are_compared_when_named() -> None:
    """Those named by the test, and those that the recording holds."""
    one, other = post(x_mode="fast"), post(x_mode="slow")
    recorded = Interaction(
        request=RecordedRequest.of(one, ["x_mode"]), response=RecordedResponse(body=b"ok")
    )

    with pytest.raises(CassetteMismatchError, match="x_mode: slow"):
        await playing(recorded).send(other, Timeouts())
    with pytest.raises(CassetteMismatchError, match="x_mode: slow"):
        await playing(kept(post(), RecordedResponse()), headers=["X_Mode"]).send(other, Timeouts())


async def test_the_message_of_a_mismatch_equals_the_snapshot(snapshot: SnapshotAssertion) -> None:
    """Which request of which cassette, what differs, what to do; and no credential."""
    recorded = post(b'{"model":"m-1","messages":[{"role":"user","content":"Hi"}]}')
    sent = post(b'{"model":"m-1","messages":[{"role":"user","content":"my-key-1234"}]}')
    sent = sent.with_header("authorization", "Bearer my-key-1234", secret=True)
    player = playing(kept(recorded, RecordedResponse()), hint="Record it again: pytest --record")

    with pytest.raises(CassetteMismatchError) as caught:
        await player.send(sent, Timeouts())

    assert str(caught.value) == snapshot


async def test_a_request_too_many_and_one_too_few_are_reported() -> None:
    """By number, method and URL."""
    player = playing(kept(post(), RecordedResponse()), kept(post(path="/v1/z"), NoResponse()))

    with pytest.raises(CassetteMismatchError) as caught:
        player.finish()
    assert "2 recorded requests were not sent:\n  1: POST https://api.example.com/v1/x" in str(
        caught.value
    )

    empty = playing()
    with pytest.raises(CassetteMismatchError, match="one too many: 0 requests were recorded"):
        await empty.send(post(), Timeouts())


async def test_any_order_serves_each_request_its_own_interaction() -> None:
    """Concurrent requests need no fixed order, and equal ones are still told apart."""
    player = playing(
        *(
            kept(post(b'{"n":%d}' % n), RecordedResponse(body=b"%d" % answer))
            for n, answer in ((1, 10), (2, 20), (1, 11))
        ),
        order="any",
    )
    got: dict[int, list[list[bytes]]] = {}

    async def ask(n: int) -> None:
        got.setdefault(n, []).append(await received(player, post(b'{"n":%d}' % n)))

    async with anyio.create_task_group() as group:
        for n in (2, 1, 1):
            group.start_soon(ask, n)

    assert {n: sorted(answers) for n, answers in got.items()} == {
        1: [[b"10"], [b"11"]],
        2: [[b"20"]],
    }
    player.finish()


async def test_any_order_compares_an_unknown_request_with_the_most_similar() -> None:
    """The diff is with the request that was probably meant."""
    player = playing(
        kept(post(b'{"a":1,"b":2,"c":3}'), RecordedResponse()),
        kept(post(b'{"x":1,"y":2,"z":3}'), RecordedResponse()),
        order="any",
    )

    with pytest.raises(CassetteMismatchError, match="matches none of those") as caught:
        await player.send(post(b'{"x":1,"y":2,"z":4}'), Timeouts())

    assert '-  "z": 3' in str(caught.value)


async def test_realtime_repeats_the_recorded_delays() -> None:
    """Before the headers, and between the chunks; otherwise nothing waits."""
    response = RecordedResponse(body=b"ab", delay_ms=150, chunks=(Chunk(1, 0), Chunk(1, 150)))
    took = {}
    for realtime in (True, False):
        started = anyio.current_time()
        await received(playing(kept(post(), response), realtime=realtime), post())
        took[realtime] = anyio.current_time() - started

    assert took[True] >= 0.29
    assert took[False] < 0.15


async def test_recorded_failures_are_raised_again() -> None:
    """A refused connection, and one that broke in the middle; each time anew."""
    broken = RecordedResponse(body=b"ab", failure=NetworkError("broke"))
    refused = NoResponse(failure=RequestTimeoutError("no response", error_code="connect"))
    player = playing(kept(post(), refused), kept(post(), broken))

    with pytest.raises(RequestTimeoutError, match="no response") as caught:
        await player.send(post(), Timeouts())
    chunks: Any = (await player.send(post(), Timeouts())).chunks()

    assert await anext(chunks) == b"ab"
    with pytest.raises(NetworkError, match="broke"):
        await anext(chunks)
    assert caught.value == refused.failure
    assert caught.value is not refused.failure


@pytest.mark.parametrize("response", [NoResponse(), RecordedResponse(body=b"ab", abandoned=True)])
async def test_reading_beyond_an_abandoned_recording_is_an_error(
    response: NoResponse | RecordedResponse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what would have come; who leaves as it did then sees no failure."""
    monkeypatch.setattr(llmcore.testing.player, "PATIENCE_S", 0.05)
    leaving, staying = playing(kept(post(), response)), playing(kept(post(), response))

    with anyio.move_on_after(0.01):
        await received(leaving, post())
    leaving.finish()
    with pytest.raises(CassetteMismatchError, match="waits for more"):
        await received(staying, post())


async def test_a_closed_exchange_yields_no_more_chunks() -> None:
    """As a connection that was cut."""
    response = RecordedResponse(body=b"ab", chunks=(Chunk(1), Chunk(1)))
    player = playing(kept(post(), response))
    exchange = await player.send(post(), Timeouts())
    chunks: Any = exchange.chunks()

    assert await anext(chunks) == b"a"
    await exchange.aclose()
    assert [chunk async for chunk in chunks] == []
    await player.aclose()


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_client_does_not_swallow_a_mismatch(streaming: bool) -> None:
    """Streams and Results never raise LLMErrors; a mismatch is not an LLMError, and does raise."""
    other = evolve(chat_request(streaming), body=b'{"model":"other"}')
    client = Client(transport=playing(kept(other, RecordedResponse(headers=SSE, body=BODY))))
    call = client.stream(CHAT).result() if streaming else client.generate(CHAT)

    with pytest.raises(CassetteMismatchError, match="Request 1 differs"):
        await call


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_client_streams_what_was_recorded(size: int) -> None:
    """The same events, however the bytes were cut."""
    starts = range(0, len(BODY), size)
    chunks = tuple(Chunk(len(BODY[start : start + size])) for start in starts)
    response = RecordedResponse(headers=SSE, body=BODY, chunks=chunks)
    player = playing(kept(chat_request(), response))

    async with Client(transport=player).stream(CHAT) as stream:
        texts = [text async for text in stream.text_stream]

    assert texts == ["Hel", "lo"]
    player.finish()


async def test_a_client_that_stops_reading_early_is_not_a_mismatch() -> None:
    """An abandoned recording is served to who abandons it again."""
    half = chat_chunk(delta={"content": "Hel"})
    response = RecordedResponse(headers=SSE, body=half, abandoned=True)
    player = playing(kept(chat_request(), response))

    async with Client(transport=player).stream(CHAT) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break

    player.finish()


async def test_a_recorded_break_is_an_error_event_with_the_partial_response() -> None:
    """The failure goes the way it went."""
    half = chat_chunk(delta={"content": "Hel"})
    failure = NetworkError("the connection failed")
    response = RecordedResponse(headers=SSE, body=half, failure=copy.copy(failure))
    player = playing(kept(chat_request(), response))

    result = await Client(transport=player).stream(CHAT).result()

    assert isinstance(result.failure(), NetworkError)
    partial = result.failure().partial
    assert partial is not None
    assert partial.text == "Hel"
    assert response.failure == failure
    assert DONE not in response.body
