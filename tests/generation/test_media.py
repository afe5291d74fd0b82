"""`generate_image`, `transcribe`, `generate_speech`: sending, cost, errors, retries, cassettes."""

import base64
from pathlib import Path
from typing import Any

import pytest

from llmcore import (
    Client,
    ConfigurationError,
    Diagnostic,
    InvalidRequestError,
    Message,
    OpenAI,
    request,
    sync,
)
from llmcore.catalog.model_info import ModelInfo, Prices, Rates
from llmcore.generation.media import generate_image, generate_speech, transcribe
from llmcore.routes.chat_providers import Together
from llmcore.routes.defaults import RouteDefaults
from llmcore.schema.audio import SpeechResponse, TranscriptionResponse
from llmcore.schema.errors import ContentFilterError, StreamError
from llmcore.testing import Metadata, Player, Recorder, load, scripted
from tests.support.servers.loopback import Answer, Received, serve

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
MODEL = OpenAI.configure(api_key="sk-secret").model("gpt-image-2")
PRICED = ModelInfo(
    id="gpt-image-2",
    provider="openai",
    display_name="Images",
    prices=Prices(standard=Rates(input=5.0, output=30.0)),
)
IMAGES: Any = {
    "created": 1,
    "data": [{"b64_json": base64.b64encode(PNG).decode()}],
    "usage": {"input_tokens": 10, "output_tokens": 100, "total_tokens": 110},
}


async def test_an_image_has_its_bytes_usage_and_cost() -> None:
    client = Client(transport=scripted(IMAGES), models=[PRICED])

    response = await generate_image(MODEL, "A fox", size="1024x1024", client=client)

    assert (response.image.data, response.image.media_type) == (PNG, "image/png")
    assert (response.provider, response.model) == ("openai", "gpt-image-2")
    assert response.cost == pytest.approx((10 * 5 + 100 * 30) / 1e6)


async def test_the_cost_of_an_image_without_a_price_is_unknown() -> None:
    response = await generate_image(MODEL, "A fox", client=Client(transport=scripted(IMAGES)))

    assert response.cost is None


def test_a_file_is_edited_over_loopback(tmp_path: Path) -> None:
    path = tmp_path / "photo.png"
    path.write_bytes(PNG)

    with serve(json_answer(IMAGES)) as server:
        model = OpenAI.configure(api_key="k", base_url=server.url).model("gpt-image-2")
        with sync.Client() as client:
            response = sync.generate_image(model, "A fox", images=path, client=client)

    (received,) = server.received
    assert received.path == "/images/edits"
    assert received.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert PNG in received.body
    assert b'name="image"; filename="image.png"' in received.body
    assert response.image.data == PNG


def json_answer(document: Any) -> Any:
    import json

    data = json.dumps(document).encode()

    def handler(_received: Received) -> Answer:
        return Answer([data], 200, {"content-type": "application/json"}, len(data))

    return handler


async def test_an_image_is_an_input_of_the_next_request() -> None:
    transport = scripted(IMAGES, IMAGES)
    client = Client(transport=transport)

    first = await generate_image(MODEL, "A fox", client=client)
    await generate_image(MODEL, "Now red", images=first.images, client=client)

    asked = Message.user("What is it?", first.image)
    ready = client.prepare(request(model=MODEL, messages=[asked]))
    assert ready.unwrap()
    transport.finish()


async def test_a_file_that_is_not_there_is_an_error_before_sending() -> None:
    client = Client(transport=scripted())

    with pytest.raises(InvalidRequestError, match=r"cannot read .*none\.png"):
        await generate_image(MODEL, "A fox", images="none.png", client=client)


async def test_a_refused_prompt_is_a_typed_error_without_the_key() -> None:
    said = {"error": {"message": "Rejected, sk-secret", "code": "moderation_blocked"}}
    client = Client(transport=scripted((400, {}, said)))

    with pytest.raises(ContentFilterError) as caught:
        await generate_image(MODEL, "A fox", client=client)
    assert "sk-secret" not in str(caught.value)


async def test_a_busy_server_is_asked_again() -> None:
    busy = (429, {"retry-after": "0"}, {"error": {"message": "slow down"}})
    transport = scripted(busy, IMAGES)

    assert await generate_image(MODEL, "A fox", client=Client(transport=transport))
    transport.finish()


async def test_a_response_beyond_the_limit_is_not_read() -> None:
    limited = OpenAI.configure(api_key="k", defaults=RouteDefaults(max_response_bytes=100))
    client = Client(transport=scripted(IMAGES))

    with pytest.raises(StreamError, match="larger than 100 bytes"):
        await generate_image(limited.model("m"), "A fox", client=client)


async def test_settings_that_the_provider_lacks_are_reported() -> None:
    model = Together.configure(api_key="k").model("m")
    client = Client(transport=scripted(IMAGES))

    response = await generate_image(model, "A fox", quality="high", client=client)

    assert response.diagnostics == (
        Diagnostic(
            "unsupported-parameter", "quality", action="dropped", message="the API has no quality"
        ),
    )
    with pytest.raises(InvalidRequestError, match="strict request"):
        await generate_image(model, "A fox", quality="high", strict=True, client=client)


async def test_a_provider_without_images_is_a_failure_of_the_client() -> None:
    from llmcore import Anthropic

    model = Anthropic.configure(api_key="k").model("claude-sonnet-4-5")

    with pytest.raises(ConfigurationError, match="has no images"):
        await generate_image(model, "A fox", client=Client(transport=scripted()))


async def test_an_edit_is_recorded_and_played(tmp_path: Path) -> None:
    path = tmp_path / "image.json"
    recorder = Recorder(scripted(IMAGES), Metadata(name="image"), path=path, environ={})
    ask: Any = {"images": PNG, "n": 1}
    first = await generate_image(MODEL, "A fox", **ask, client=Client(transport=recorder))
    await recorder.aclose()

    again = await generate_image(MODEL, "A fox", **ask, client=Client(transport=Player(load(path))))

    assert again == first
    assert "sk-secret" not in path.read_text()


# -- transcription and speech

MP3 = b"ID3" + bytes(range(256)) * 8
TEXT: Any = {"text": "Hello.", "usage": {"type": "tokens", "input_tokens": 14, "output_tokens": 4}}
WHISPER = OpenAI.configure(api_key="sk-secret").model("gpt-4o-transcribe")
VOICE = OpenAI.configure(api_key="sk-secret").model("gpt-4o-mini-tts")


async def test_a_recording_is_written_down_with_usage_and_cost() -> None:
    priced = ModelInfo(
        id="gpt-4o-transcribe",
        provider="openai",
        display_name="Ears",
        prices=Prices(standard=Rates(input=6.0, output=10.0)),
    )
    client = Client(transport=scripted(TEXT), models=[priced])

    response = await transcribe(WHISPER, MP3, language="en", client=client)

    assert response.text == "Hello."
    assert response.cost == pytest.approx((14 * 6 + 4 * 10) / 1e6)


def test_speech_is_the_bytes_that_the_server_sends_and_is_written_down_again() -> None:
    """Over loopback, in pieces; the recording is the input of a transcription."""

    def handler(received: Received) -> Answer:
        if received.path.endswith("/audio/speech"):
            pieces = [MP3[:100], MP3[100:]]
            return Answer(pieces, 200, {"content-type": "audio/mpeg"})
        answer: Answer = json_answer(TEXT)(received)
        return answer

    with serve(handler) as server:
        openai = OpenAI.configure(api_key="k", base_url=server.url)
        with sync.Client() as client:
            said = sync.generate_speech(openai.model("v"), "Hello", voice="alloy", client=client)
            heard = sync.transcribe(openai.model("t"), said.audio, client=client)

    assert (said.audio.data, said.audio.media_type) == (MP3, "audio/mpeg")
    assert heard.text == "Hello."
    assert [one.headers["accept"] for one in server.received] == ["*/*", "application/json"]
    assert MP3 in server.received[1].body


async def test_a_refused_speech_is_a_typed_error() -> None:
    said = {"error": {"message": "no such voice", "code": "invalid_value"}}
    client = Client(transport=scripted((400, {}, said)))

    with pytest.raises(InvalidRequestError, match="no such voice"):
        await generate_speech(VOICE, "Hello", voice="x", client=client)


async def test_a_recording_beyond_the_limit_is_not_read() -> None:
    limited = OpenAI.configure(api_key="k", defaults=RouteDefaults(max_response_bytes=100))
    client = Client(transport=scripted(spoken()))

    with pytest.raises(StreamError, match="larger than 100 bytes"):
        await generate_speech(limited.model("v"), "Hello", voice="alloy", client=client)


def spoken() -> Any:
    return (200, {"content-type": "audio/mpeg"}, MP3)


async def test_recordings_are_recorded_and_played(tmp_path: Path) -> None:
    path = tmp_path / "speech.json"
    recorder = Recorder(scripted(spoken(), TEXT), Metadata(name="s"), path=path, environ={})
    first = await said_and_heard(Client(transport=recorder))
    await recorder.aclose()

    again = await said_and_heard(Client(transport=Player(load(path))))

    assert again == first
    assert first[0].audio.data == MP3
    assert "sk-secret" not in path.read_text()


async def said_and_heard(client: Client) -> tuple[SpeechResponse, TranscriptionResponse]:
    said = await generate_speech(VOICE, "Hello", voice="alloy", client=client)
    return said, await transcribe(WHISPER, said.audio, client=client)
