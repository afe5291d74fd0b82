"""`stream_speech`: a recording that is read while it arrives."""

import threading
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from llmcore import Client, ConfigurationError, Google, OpenAI, Timeouts, sync
from llmcore.client.byte_stream import ByteStream
from llmcore.generation.media import stream_speech
from llmcore.routes.defaults import RouteDefaults
from llmcore.schema.errors import (
    InvalidRequestError,
    LLMError,
    NetworkError,
    RequestTimeoutError,
    StreamError,
)
from llmcore.schema.model import Model
from llmcore.testing import Metadata, Player, Recorder, load, scripted
from tests.support.servers.loopback import Answer, Loopback, held, serve

pytestmark = pytest.mark.anyio

MPEG = {"content-type": "audio/mpeg"}
FIRST, SECOND = b"ID3" + bytes(200), bytes(range(250))


def voice_at(server: Loopback, **settings: Any) -> Model:
    return OpenAI.configure(api_key="sk-secret", base_url=server.url, **settings).model("v")


async def read(stream: ByteStream) -> bytes:
    async with stream:
        return b"".join([piece async for piece in stream])


async def test_the_beginning_is_read_before_the_end_is_sent() -> None:
    """The server sends the second piece once the first was read."""
    release = threading.Event()
    script = chain([FIRST], held(release, [SECOND]))
    with serve(lambda _: Answer(script, headers=MPEG)) as server:
        async with Client() as client:
            model = voice_at(server)
            stream = await stream_speech(model, "Hello", voice="alloy", client=client)
            async with stream:
                first = await anext(stream)
                release.set()
                rest = [piece async for piece in stream]

    assert first + b"".join(rest) == FIRST + SECOND
    assert (stream.media_type, stream.provider) == ("audio/mpeg", "openai")
    assert b'"input":"Hello"' in server.received[0].body


def test_it_is_read_in_blocking_code() -> None:
    with serve(lambda _: Answer([FIRST, SECOND], headers=MPEG)) as server, sync.Client() as client:
        with sync.stream_speech(voice_at(server), "Hi", voice="alloy", client=client) as pieces:
            assert b"".join(pieces) == FIRST + SECOND
        assert pieces.media_type == "audio/mpeg"
        left = sync.stream_speech(voice_at(server), "Hi", voice="alloy", client=client)
        assert next(iter(left))


async def test_what_fails_before_the_recording_begins_is_sent_again() -> None:
    answers = [Answer([b"{}"], 503, {"content-type": "application/json", "retry-after": "0"}, 2)]
    answers.append(Answer([FIRST], headers=MPEG))
    with serve(lambda _: answers.pop(0)) as server:
        async with Client() as client:
            stream = await stream_speech(voice_at(server), "Hi", voice="alloy", client=client)
            assert await read(stream) == FIRST
    assert len(server.received) == 2


@pytest.mark.parametrize(
    ("answer", "settings", "kind", "told"),
    [
        (Answer([FIRST], headers=MPEG, cut=True), {}, NetworkError, "connection"),
        (Answer([FIRST, 5.0], headers=MPEG), {}, RequestTimeoutError, "'idle' of 0.05 seconds"),
        (
            Answer([FIRST, SECOND], headers=MPEG),
            {"defaults": RouteDefaults(max_response_bytes=220)},
            StreamError,
            "max_response_bytes",
        ),
    ],
)
async def test_what_fails_afterwards_is_raised_where_it_is_read(
    answer: Answer, settings: dict[str, Any], kind: type[LLMError], told: str
) -> None:
    """And is not sent again: the beginning may have been played."""
    with serve(lambda _: answer) as server:
        async with Client(timeouts=Timeouts(idle=0.05)) as client:
            model = voice_at(server, **settings)
            stream = await stream_speech(model, "Hi", voice="alloy", client=client)
            with pytest.raises(kind, match=told) as caught:
                await read(stream)
    assert caught.value.provider == "openai"
    assert len(server.received) == 1


PIECE: list[bytes | float] = [b"x", 0.02]
DRIPPING = [FIRST, *(PIECE * 200)]


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Timeouts(total=0.2), "total"),
        (Timeouts(step=0.2), "step"),
        (Timeouts(step=5.0, total=0.2, idle=None), "total"),
    ],
)
async def test_the_time_limits_of_a_call_hold_while_it_is_read(limits: Timeouts, name: str) -> None:
    """Though no piece comes late."""
    with serve(lambda _: Answer(DRIPPING, headers=MPEG)) as server:
        async with Client(timeouts=limits) as client:
            stream = await stream_speech(voice_at(server), "Hi", voice="alloy", client=client)
            with pytest.raises(RequestTimeoutError, match=f"{name!r} of 0.2 seconds") as caught:
                await read(stream)
    assert caught.value.provider == "openai"


async def test_a_recording_without_content_is_an_error() -> None:
    with serve(lambda _: Answer([], headers=MPEG, length=0)) as server:
        async with Client() as client:
            stream = await stream_speech(voice_at(server), "Hi", voice="alloy", client=client)
            with pytest.raises(StreamError, match="the response has no content"):
                await read(stream)


@pytest.mark.parametrize(
    ("scripted_answer", "kind", "told"),
    [
        ((400, {}, {"error": {"message": "no such voice"}}), InvalidRequestError, "no such voice"),
        ({"error": {"message": "odd"}}, StreamError, "not a recording, but application/json"),
    ],
)
async def test_what_is_not_a_recording_is_an_error(
    scripted_answer: Any, kind: type[LLMError], told: str
) -> None:
    client = Client(transport=scripted(scripted_answer))
    model = OpenAI.configure(api_key="k").model("v")

    with pytest.raises(kind, match=told):
        await stream_speech(model, "Hi", voice="alloy", client=client)


async def test_an_api_that_answers_with_a_document_is_not_asked() -> None:
    client = Client(transport=scripted())

    with pytest.raises(ConfigurationError, match="generate_speech"):
        await stream_speech(Google.configure(api_key="k").model("tts"), "Hi", client=client)


async def test_it_is_recorded_and_played(tmp_path: Path) -> None:
    path, model = tmp_path / "speech.json", OpenAI.configure(api_key="sk-secret").model("v")
    recorder = Recorder(scripted((200, MPEG, FIRST)), Metadata(name="s"), path=path, environ={})
    for transport in (recorder, None):
        client = Client(transport=transport or Player(load(path)))
        stream = await stream_speech(model, "Hi", voice="alloy", client=client)
        assert await read(stream) == FIRST
        await recorder.aclose()
    assert "sk-secret" not in path.read_text()
