"""WebSockets in cassettes: recorded from a real server, replayed without one."""

from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import evolve

from llmcore import Client, LLMResponse, Message, OpenAI, request
from llmcore.client.http.http_transport import HttpTransport
from llmcore.schema.errors import NetworkError, StreamError
from llmcore.schema.request import LLMRequest
from llmcore.testing import (
    Cassette,
    CassetteError,
    CassetteMismatchError,
    Metadata,
    Player,
    Recorded,
    RecordedRequest,
    Recorder,
    SecretFoundError,
    SocketMessage,
    WebSocketInteraction,
    load,
    save,
)
from llmcore.testing.cassette_file import dumps, from_data, loads
from llmcore.testing.recorder import SocketTrack
from tests.support.servers.loopback import Answer, serve, sse
from tests.support.servers.socket_server import Action, Close, Native, answer, says, sockets
from tests.support.waiting import until
from tests.support.wire.responses import events_of, message

pytestmark = pytest.mark.anyio

KEY = "loop-key-0123456789"
META = Metadata(name="loopback/socket", provider="openai", tags=["websocket"])


def ask(base_url: str = "http://127.0.0.1:1/v1") -> LLMRequest:
    """Return a question; where the server listens is not kept."""
    model = OpenAI.configure(api_key=KEY, base_url=base_url).responses_websocket("gpt-5.2")
    return request(model=model, prompt="Hello")


async def talk(client: Client, asked: LLMRequest, *texts: str) -> list[LLMResponse]:
    """Send a request, then continue with *texts*."""
    said = [(await client.stream(asked).result()).unwrap()]
    for text in texts:
        more = (*asked.messages, said[-1].message, Message.user(text))
        asked = evolve(asked, messages=more)
        said.append((await client.stream(asked).result()).unwrap())
    return said


async def recorded(answers: Any, *texts: str) -> tuple[Cassette, list[LLMResponse]]:
    """Return the cassette of a conversation with a server, and what was said."""
    with sockets(answers) as server:
        recorder = Recorder(HttpTransport(), META)
        async with aclosing(recorder), Client(transport=recorder) as client:
            said = await talk(client, ask(server.url), *texts)
        return recorder.cassette, said


def socket_of(cassette: Cassette, index: int = 0) -> WebSocketInteraction:
    """Return a socket in *cassette*."""
    one = cassette.interactions[index]
    assert isinstance(one, WebSocketInteraction)
    return one


async def test_a_socket_conversation_is_recorded_and_replayed() -> None:
    """Direction and order are kept, and the credentials are not."""
    cassette, said = await recorded(says("Fine."), "More", "Still more")
    player = Player(cassette)
    async with Client(transport=player) as client:
        again = await talk(client, ask(), "More", "Still more")
    player.finish()

    kept = socket_of(cassette)
    assert again == said
    assert kept.request.url == "ws://localhost/v1/responses"
    assert kept.request.headers == {}
    assert KEY not in dumps(cassette)
    turns = [one.direction for one in kept.messages if 'response.create"' in one.text]
    assert turns == ["client"] * 3
    assert kept.messages[0].direction == "client"
    assert kept.messages[-1].direction == "server"
    assert cassette.metadata.origin == Recorded(server="localhost", model="gpt-5.2")


async def test_a_socket_that_was_replaced_is_replaced_in_the_replay() -> None:
    """Where the server closed one between two turns, the replay opens another, too."""

    def closes(_asked: Native, response_id: str) -> Iterable[Action]:
        last = [Close(1001)] if response_id == "resp_1" else []
        return [*answer(response_id, message("Fine.")), *last]

    with sockets(closes) as server:
        recorder = Recorder(HttpTransport(), META)
        async with aclosing(recorder), Client(transport=recorder) as client:
            (first,) = await talk(client, ask(server.url))
            assert await until(lambda: server.acted >= 1)
            await anyio.sleep(0.05)
            more = (*ask().messages, first.message, Message.user("More"))
            (second,) = await talk(client, evolve(ask(server.url), messages=more))
    player = Player(recorder.cassette)
    async with Client(transport=player) as client:
        assert await talk(client, ask(), "More") == [first, second]
    player.finish()

    assert len(recorder.cassette.interactions) == 2


async def test_a_refused_socket_and_its_fallback_are_replayed() -> None:
    """The same Diagnostic, the same response."""

    def handler(received: Any) -> Answer:
        if received.method == "GET":
            return Answer([b"no"], status=426, length=2)
        events = [sse(event) for event in events_of([message("By HTTP.")])]
        return Answer(events, headers={"content-type": "text/event-stream"})

    with serve(handler) as server:
        recorder = Recorder(HttpTransport(), META)
        async with aclosing(recorder), Client(transport=recorder) as client:
            said = await talk(client, ask(f"{server.url}/v1"))
    player = Player(loads(dumps(recorder.cassette)))
    async with Client(transport=player) as client:
        again = await talk(client, ask())
    player.finish()

    kinds = [one.kind for one in recorder.cassette.interactions]
    assert kinds == ["websocket", "http"]
    assert again[0].text == said[0].text == "By HTTP."
    assert [note.code for note in again[0].diagnostics] == ["websocket-fallback"]


async def test_a_socket_that_broke_breaks_in_the_replay() -> None:
    """At the same place, with the same error."""

    def breaks(_asked: Native, response_id: str) -> Iterable[Action]:
        return [*answer(response_id, message("Fine, thank you."))[:6], Close(1011, "broken")]

    with sockets(breaks) as server:
        recorder = Recorder(HttpTransport(), META)
        async with aclosing(recorder), Client(transport=recorder) as client:
            first = (await client.stream(ask(server.url)).result()).failure()
    player = Player(loads(dumps(recorder.cassette)))
    async with Client(transport=player) as client:
        again = (await client.stream(ask()).result()).failure()
    player.finish()

    assert isinstance(first, StreamError)
    assert isinstance(socket_of(recorder.cassette).failure, NetworkError)
    assert again == first


# -- what differs


async def test_a_message_that_differs_is_a_mismatch_with_a_diff() -> None:
    """Line by line, also if it comes later in the conversation."""
    cassette, _ = await recorded(says("Fine."), "More")
    player = Player(cassette)
    async with Client(transport=player) as client:
        with pytest.raises(CassetteMismatchError) as caught:
            await talk(client, ask(), "Less")
    with pytest.raises(CassetteMismatchError):
        player.finish()

    text = str(caught.value)
    assert "Message 2 of the WebSocket ws://localhost/v1/responses differs" in text
    assert '-      "content": "More",' in text
    assert '+      "content": "Less",' in text
    assert KEY not in text


async def test_a_message_beyond_the_recording_is_a_mismatch() -> None:
    """The recording's sockets are used up."""
    cassette, _ = await recorded(says("Fine."))
    async with Client(transport=Player(cassette)) as client:
        with pytest.raises(CassetteMismatchError, match="one too many"):
            await talk(client, ask(), "More")


async def test_a_recorded_message_that_is_not_sent_fails_at_the_end() -> None:
    """As a request that was not sent does."""
    cassette, _ = await recorded(says("Fine."), "More")
    player = Player(cassette)
    async with Client(transport=player) as client:
        await talk(client, ask())

    with pytest.raises(CassetteMismatchError, match="1 of the recorded messages"):
        player.finish()


async def test_waiting_beyond_the_recording_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever left then must leave now."""
    monkeypatch.setattr("llmcore.testing.player.PATIENCE_S", 0.01)
    cassette, _ = await recorded(says("Fine."))
    kept = socket_of(cassette)
    cut = evolve(cassette, interactions=[evolve(kept, messages=kept.messages[:4])])
    async with Client(transport=Player(cut)) as client:
        with pytest.raises(CassetteMismatchError, match="no message here"):
            await talk(client, ask())


# -- files

TEXTS = ['{"a":1}', '{"a": 1}', '{\n  "é": [1, 2.50]\n}', "not json", "", "two\nlines", "[1]"]


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_message_texts_round_trip_to_the_byte(text: str, tmp_path: Path) -> None:
    """JSON stands in the file as JSON."""
    messages = [
        SocketMessage(direction="client", text=text),
        SocketMessage(direction="server", text=text, delay_ms=1.5),
    ]
    asked = RecordedRequest(method="GET", url="wss://x/y", headers={"openai-beta": "b"})
    failure = NetworkError("gone", error_code="1011")
    one = WebSocketInteraction(request=asked, messages=messages, failure=failure)
    cassette = Cassette(metadata=META, interactions=[one])
    save(cassette, tmp_path / "a.json", environ={})

    assert load(tmp_path / "a.json") == cassette


def test_a_key_in_a_message_is_not_written(tmp_path: Path) -> None:
    """Wherever it stands."""
    leaky = SocketMessage(direction="server", text=f'{{"instructions":"use {KEY}"}}')
    asked = RecordedRequest(method="GET", url="wss://x/y")
    cassette = Cassette(
        metadata=META, interactions=[WebSocketInteraction(request=asked, messages=[leaky])]
    )
    with pytest.raises(SecretFoundError, match=r"messages\[0\]\.text"):
        save(cassette, tmp_path / "a.json", environ={}, known_secrets=[KEY])

    assert not (tmp_path / "a.json").exists()


async def test_the_recorder_knows_the_keys_of_handshakes(tmp_path: Path) -> None:
    """A server that quotes ours keeps the cassette from being written."""
    with sockets(says(f"Your key is {KEY}.")) as server:
        recorder = Recorder(HttpTransport(), META)
        async with aclosing(recorder), Client(transport=recorder) as client:
            await talk(client, ask(server.url))

    with pytest.raises(SecretFoundError):
        recorder.save(tmp_path / "a.json")


def test_an_http_interaction_needs_a_response() -> None:
    """The error names the missing part."""
    asked = {"method": "POST", "url": "https://x", "headers": {}}
    data: Any = {
        "version": 1,
        "metadata": {"name": "x", "origin": {"kind": "recorded"}},
        "interactions": [{"kind": "http", "request": asked}],
    }
    with pytest.raises(CassetteError, match="POST https://x has no response"):
        from_data(data)


def test_delays_are_the_milliseconds_since_the_message_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([1.25, 1.25, 3.0])
    monkeypatch.setattr(anyio, "current_time", lambda: next(times))
    track = SocketTrack(request=RecordedRequest(method="GET", url="wss://h/x"), since=1.0)
    track.sent(b"{}")
    track.came([b"{}", b"{}"])

    assert [message.delay_ms for message in track.messages] == [250.0, 0.0, 1750.0]
