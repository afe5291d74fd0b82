"""Transcription and speech: native bodies, responses, errors; held against the official SDKs."""

import base64
import json
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.audio import SpeechCreateParams
from openai.types.audio.transcription_create_params import TranscriptionCreateParamsNonStreaming
from pydantic import TypeAdapter

from llmcore import Anthropic, AudioPart, Azure, Google, Model, OpenAI, OpenAICompatible, OpenRouter
from llmcore.protocols import audio
from llmcore.protocols.audio import read_speech, read_transcript
from llmcore.protocols.protocol import NativeResponse
from llmcore.routes.auth import Auth, AuthContext
from llmcore.routes.chat_providers import Groq, Together
from llmcore.routes.media import speech_route, transcription_route
from llmcore.routes.mistral import Mistral
from llmcore.routes.route import route_of
from llmcore.routes.vertex import Vertex
from llmcore.routes.xai import XAI
from llmcore.schema.audio import SpeechRequest, TimedText, TranscriptionRequest
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError, StreamError
from tests.support.forms import form_parts
from tests.support.strategies.requests import json_values

KEY: Any = {"api_key": "k"}
MP3 = b"ID3" + b"x" * 9
B64 = base64.b64encode(MP3).decode()
URL = "https://a/b.mp3"

OPENAI = OpenAI.configure(**KEY).model("m")
AZURE = Azure.configure(resource_name="r", **KEY).model("m")
DATED = Azure.configure(resource_name="r", api_version="2025-04-01", **KEY).model("m")
ACME = OpenAICompatible.configure(name="acme", base_url="https://acme/v1").model("m")
GROQ = Groq.configure(**KEY).model("m")
TOGETHER = Together.configure(**KEY).model("m")
MISTRAL = Mistral.configure(**KEY).model("m")
OPENROUTER = OpenRouter.configure(**KEY).model("m")
GOOGLE = Google.configure(**KEY).model("m")
VERTEX = Vertex.configure(base_url="https://v/v1", auth=Auth.none()).model("m")
OTHERS = [Anthropic.configure(**KEY).model("m"), XAI.configure(**KEY).model("m")]


def asked_for(model: Model, audio: Any = MP3, **settings: Any) -> Any:
    asked = TranscriptionRequest(model=model, audio=audio, **settings)
    route = transcription_route(route_of(model), model.id)
    return route.prepare(asked, context=AuthContext())


def form_of(call: Any) -> dict[str, list[str]]:
    """Return the fields of a form; its file by its name and type."""
    found: dict[str, list[str]] = {}
    for part in form_parts(call.http.headers, call.http.body):
        if part.filename is not None:
            assert part.content == MP3
        said = f"{part.filename} {part.media_type}" if part.filename else part.content.decode()
        found.setdefault(part.name, []).append(said)
    return found


FILE = {"model": ["m"], "file": ["audio.mp3 audio/mpeg"]}
PLAIN = FILE | {"response_format": ["json"]}
TIMES = FILE | {
    "response_format": ["verbose_json"],
    "timestamp_granularities[]": ["segment", "word"],
}
SPEAKERS = FILE | {"response_format": ["diarized_json"], "chunking_strategy": ["auto"]}
BOTH: Any = {"timestamps": ("segment", "word")}
WORDS: Any = {"language": "en", "prompt": "Ada", "temperature": 0.2}
SAID = {"language": ["en"], "prompt": ["Ada"], "temperature": ["0.2"]}

FORMS: list[tuple[Model, dict[str, Any], dict[str, list[str]], list[str]]] = [
    (OPENAI, {}, PLAIN, []),
    (OPENAI, WORDS, PLAIN | SAID, []),
    (OPENAI, BOTH, TIMES, []),
    (OPENAI, {"diarize": True}, SPEAKERS, []),
    (OPENAI, {"diarize": True, "timestamps": "segment"}, SPEAKERS, []),
    (OPENAI, {"diarize": True, "timestamps": "word"}, SPEAKERS, ["timestamps"]),
    (AZURE, BOTH, TIMES, []),
    (ACME, {"diarize": True}, PLAIN, ["diarize"]),
    (GROQ, BOTH, TIMES, []),
    (
        GROQ,
        {"audio": URL},
        {"model": ["m"], "url": [URL], "response_format": ["json"]},
        [],
    ),
    (
        TOGETHER,
        {"audio": URL, "diarize": True},
        {
            "model": ["m"],
            "file": [URL],
            "response_format": ["verbose_json"],
            "diarize": ["true"],
        },
        [],
    ),
    (
        MISTRAL,
        WORDS | BOTH | {"diarize": True},
        FILE
        | {
            "language": ["en"],
            "temperature": ["0.2"],
            "timestamp_granularities": ["segment", "word"],
            "diarize": ["true"],
        },
        ["prompt"],
    ),
    (MISTRAL, {"audio": URL}, {"model": ["m"], "file_url": [URL]}, []),
    (
        MISTRAL,
        {"audio": AudioPart(file_id="f-1")},
        {"model": ["m"], "file_id": ["f-1"]},
        [],
    ),
]


@pytest.mark.parametrize(("model", "settings", "fields", "dropped"), FORMS)
def test_a_transcript_is_asked_for_as_the_provider_documents(
    model: Model, settings: Any, fields: Any, dropped: list[str]
) -> None:
    call = asked_for(model, **settings).unwrap()

    assert form_of(call) == fields
    assert [note.path for note in call.diagnostics] == dropped


@pytest.mark.parametrize(
    ("model", "url"),
    [
        (OPENAI, "https://api.openai.com/v1"),
        (AZURE, "https://r.openai.azure.com/openai/v1"),
        (DATED, "https://r.openai.azure.com/openai/deployments/m"),
        (ACME, "https://acme/v1"),
        (GROQ, "https://api.groq.com/openai/v1"),
        (TOGETHER, "https://api.together.ai/v1"),
        (MISTRAL, "https://api.mistral.ai/v1"),
        (OPENROUTER, "https://openrouter.ai/api/v1"),
    ],
)
def test_audio_has_its_addresses_beside_the_provider_s_other_ones(model: Model, url: str) -> None:
    dated = "?api-version=2025-04-01" if model is DATED else ""

    assert asked_for(model).unwrap().http.url == f"{url}/audio/transcriptions{dated}"
    assert spoken(model, voice="v").http.url == f"{url}/audio/speech{dated}"


def test_openrouter_gets_a_recording_in_json() -> None:
    call = asked_for(OPENROUTER, language="en", prompt="Ada", timestamps="word").unwrap()
    by_url = asked_for(OPENROUTER, audio=URL).unwrap()

    assert json.loads(call.http.body) == {
        "model": "m",
        "language": "en",
        "timestamp_granularities": ["word"],
        "response_format": "verbose_json",
        "input_audio": {"data": B64, "format": "mp3"},
    }
    assert [note.path for note in call.diagnostics] == ["prompt"]
    assert json.loads(by_url.http.body)["input_audio"] == {"url": URL}


@pytest.mark.parametrize(
    ("model", "audio"),
    [
        (OPENAI, URL),
        (OPENAI, AudioPart(file_id="f")),
        (ACME, URL),
        (GROQ, AudioPart(file_id="f")),
        (OPENROUTER, AudioPart(file_id="f")),
        (OPENAI, b"nothing known"),
    ],
)
def test_a_recording_that_the_api_does_not_take_is_an_error(model: Model, audio: Any) -> None:
    assert isinstance(asked_for(model, audio).failure(), InvalidRequestError)


@pytest.mark.parametrize("model", [*OTHERS, GOOGLE])
def test_a_provider_without_transcription_is_an_error_before_sending(model: Model) -> None:
    with pytest.raises(ConfigurationError, match="has no transcription"):
        transcription_route(route_of(model), "m")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"audio": 3}, "AudioPart.of takes a path"),
        ({"audio": MP3, "timestamps": "sentence"}, "timestamps"),
    ],
)
def test_an_invalid_request_is_an_error_that_names_the_field(given: Any, said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        TranscriptionRequest(model="m", **given)


# -- transcripts

ASKED = TranscriptionRequest(model=Model("m", "p"), audio=MP3)
SPOKEN = TranscriptionRequest(model=Model("m", "p"), audio=MP3, diarize=True)


def test_a_transcript_with_times_is_read() -> None:
    document: Any = {
        "task": "transcribe",
        "language": "english",
        "duration": 0.9,
        "text": "Hello.",
        "segments": [{"id": 0, "start": 0.0, "end": 0.9, "text": "Hello."}, {"id": 1}],
        "words": [{"word": "Hello", "start": 0, "end": 0.6}],
        "usage": {"type": "duration", "seconds": 1},
    }

    found = read_transcript(NativeResponse(document=document), ASKED)

    assert (found.text, found.language, found.duration) == ("Hello.", "english", 0.9)
    assert found.segments == (TimedText(text="Hello.", start=0.0, end=0.9),)
    assert found.words == (TimedText(text="Hello", start=0.0, end=0.6),)
    assert found.usage.raw == document["usage"]
    assert found.usage.input_tokens is None


@pytest.mark.parametrize(
    ("named", "speaker"),
    [({"speaker": "A"}, "A"), ({"speaker_id": "SPEAKER_00"}, "SPEAKER_00"), ({"speaker": 0}, "0")],
)
def test_the_speakers_of_segments_are_read(named: Any, speaker: str) -> None:
    segment = {"start": 0.0, "end": 1.0, "text": "Hi", **named}
    plain: Any = {"text": "Hi", "segments": [segment]}
    by: Any = {"text": "Hi", "segments": [{**segment, "text": "no"}], "speaker_segments": [segment]}

    (first,) = read_transcript(NativeResponse(document=plain), SPOKEN).segments
    (second,) = read_transcript(NativeResponse(document=by), SPOKEN).segments

    assert first == second == TimedText(text="Hi", start=0.0, end=1.0, speaker=speaker)


@pytest.mark.parametrize(
    ("usage", "tokens", "duration", "cost"),
    [
        ({"type": "tokens", "input_tokens": 14, "output_tokens": 45}, (14, 45), None, None),
        ({"type": "duration", "seconds": 3}, (None, None), 3.0, None),
        (
            {"prompt_tokens": 4, "completion_tokens": 6, "prompt_audio_seconds": 7},
            (4, 6),
            7.0,
            None,
        ),
        ({"seconds": 2.5, "cost": 0.01}, (None, None), 2.5, 0.01),
    ],
)
def test_usage_and_length_are_read(usage: Any, tokens: Any, duration: Any, cost: Any) -> None:
    document = {"text": "", "usage": usage, "languages": [{"code": "en"}]}

    found = read_transcript(NativeResponse(document=document), ASKED)

    assert (found.usage.input_tokens, found.usage.output_tokens) == tokens
    assert (found.duration, found.usage.cost_usd) == (duration, cost)
    assert found.language == "en"


@pytest.mark.parametrize("document", [None, {}, {"text": None}, [], "text"])
def test_a_response_without_a_transcript_is_an_error(document: Any) -> None:
    with pytest.raises(StreamError, match="no transcript"):
        read_transcript(NativeResponse(document=document), ASKED)


@given(
    json_values(),
    st.sampled_from(["segments", "words", "language", "languages", "duration", "usage", "text"]),
)
def test_reading_a_transcript_fails_in_no_other_way(value: Any, name: str) -> None:
    piece: Any = {"start": 0, "end": 1, "text": "a"}
    parts = [piece | {key: value} for key in ("start", "end", "text", "speaker")]
    for document in (value, {"text": "a", name: value}, {"text": "a", "segments": parts}):
        try:
            found = read_transcript(NativeResponse(document=document), SPOKEN)
        except StreamError:
            continue
        assert all(isinstance(one.start, float) for one in (*found.segments, *found.words))


# -- speech


def spoken(model: Model, **settings: Any) -> Any:
    asked = SpeechRequest(model=model, text="Hello", **settings)
    route = speech_route(route_of(model), model.id)
    return route.prepare(asked, context=AuthContext()).unwrap()


ALL: Any = {
    "voice": "v",
    "output_format": "mp3",
    "instructions": "Low",
    "speed": 1.5,
    "language": "en",
}
SPEAK = {"model": "m", "input": "Hello", "voice": "v", "response_format": "mp3"}
GEMINI_BODY = {
    "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
    "generationConfig": {
        "responseModalities": ["AUDIO"],
        "speechConfig": {
            "languageCode": "en",
            "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "v"}},
        },
    },
}


@pytest.mark.parametrize(
    ("model", "body", "dropped"),
    [
        (OPENAI, SPEAK | {"instructions": "Low", "speed": 1.5}, ["language"]),
        (AZURE, SPEAK | {"instructions": "Low", "speed": 1.5}, ["language"]),
        (ACME, SPEAK | {"instructions": "Low", "speed": 1.5}, ["language"]),
        (GROQ, SPEAK | {"speed": 1.5}, ["instructions", "language"]),
        (OPENROUTER, SPEAK | {"speed": 1.5}, ["instructions", "language"]),
        (TOGETHER, SPEAK | {"language": "en"}, ["instructions", "speed"]),
        (
            MISTRAL,
            {"model": "m", "input": "Hello", "voice_id": "v", "response_format": "mp3"},
            ["instructions", "speed", "language"],
        ),
        (GOOGLE, GEMINI_BODY, ["output_format", "instructions", "speed"]),
        (VERTEX, GEMINI_BODY, ["output_format", "instructions", "speed"]),
    ],
)
def test_speech_is_asked_for_as_the_provider_documents(
    model: Model, body: Any, dropped: list[str]
) -> None:
    call = spoken(model, **ALL)

    assert json.loads(call.http.body) == body
    assert [note.path for note in call.diagnostics] == dropped


@pytest.mark.parametrize("model", [OPENAI, AZURE, GROQ])
def test_a_missing_voice_is_an_error_where_the_api_needs_one(model: Model) -> None:
    asked = SpeechRequest(model=model, text="Hello")

    refused = speech_route(route_of(model), "m").prepare(asked, context=AuthContext())

    assert isinstance(refused.failure(), InvalidRequestError)
    assert "set voice" in refused.failure().message


@pytest.mark.parametrize("model", OTHERS)
def test_a_provider_without_speech_is_an_error_before_sending(model: Model) -> None:
    with pytest.raises(ConfigurationError, match="has no speech"):
        speech_route(route_of(model), "m")


SAY = SpeechRequest(model=Model("m", "p"), text="Hello", output_format="mp3")


@pytest.mark.parametrize(
    ("content", "stated", "media_type"),
    [
        (MP3, "audio/mpeg", "audio/mpeg"),
        (b"xy", "audio/pcm;rate=24000;channels=1", "audio/pcm;rate=24000;channels=1"),
        (b"RIFF____WAVE", "application/octet-stream", "audio/wav"),
        (b"xy", "application/octet-stream", "audio/mpeg"),
        (b"xy", "", "audio/mpeg"),
    ],
)
def test_a_recording_has_the_type_that_is_stated_or_seen_or_asked_for(
    content: bytes, stated: str, media_type: str
) -> None:
    answer = NativeResponse(content=content, headers={"content-type": stated})

    found = read_speech(answer, SAY)

    assert (found.audio.data, found.audio.media_type) == (content, media_type)
    assert found.raw is None


@pytest.mark.parametrize(
    ("content", "stated", "said"),
    [(b"", "audio/mpeg", "no recording"), (b'{"a": 1}', "application/json", "not a recording")],
)
def test_a_response_without_a_recording_is_an_error(content: bytes, stated: str, said: str) -> None:
    with pytest.raises(StreamError, match=said):
        read_speech(NativeResponse(content=content, headers={"content-type": stated}), SAY)


def test_the_recordings_of_gemini_and_mistral_are_read_out_of_json() -> None:
    kind = "audio/L16;codec=pcm;rate=24000"
    parts = [{"inlineData": {"mimeType": kind, "data": data}} for data in ("AAE=", "AgM=")]
    document: Any = {
        "candidates": [{"content": {"parts": parts}}],
        "usageMetadata": {"promptTokenCount": 2, "candidatesTokenCount": 30},
    }

    gemini = audio.SPEECH_GEMINI.read(NativeResponse(document=document), SAY)
    mistral = audio.SPEECH_MISTRAL.read(NativeResponse(document={"audio_data": B64}), SAY)

    assert (gemini.audio.data, gemini.audio.media_type) == (b"\0\1\2\3", kind)
    assert gemini.usage.output_tokens == 30
    assert (mistral.audio.data, mistral.audio.media_type) == (MP3, "audio/mpeg")


@given(json_values(), st.binary(max_size=30), st.text(max_size=30))
def test_reading_speech_fails_in_no_other_way(value: Any, content: bytes, stated: str) -> None:
    answer = NativeResponse(document=value, content=content, headers={"content-type": stated})
    also = NativeResponse(document={"audio_data": value, "usage": value})
    for read in (read_speech, audio.SPEECH_MISTRAL.read, audio.SPEECH_GEMINI.read):
        for one in (answer, also):
            try:
                assert read(one, SAY).audio.data
            except LLMError:
                continue


# -- held against the openai package


def their_client(seen: list[Any], **answer: Any) -> openai.OpenAI:
    def handle(asked: Any) -> Any:
        asked.read()
        seen.append(asked)
        return httpx2.Response(200, **answer)

    transport = httpx2.MockTransport(handle)
    return openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport))


def test_the_openai_package_sends_the_same_form_and_reads_the_same_transcript() -> None:
    seen: list[Any] = []
    document: Any = {
        "text": "Hi",
        "language": "english",
        "duration": 1.0,
        "words": [{"word": "Hi", "start": 0.0, "end": 0.5}],
    }
    theirs = their_client(seen, json=document).audio.transcriptions.create(
        model="m",
        file=("audio.mp3", MP3, "audio/mpeg"),
        language="en",
        response_format="verbose_json",
        timestamp_granularities=["word"],
    )

    ours = asked_for(OPENAI, language="en", timestamps="word").unwrap().http
    read = read_transcript(NativeResponse(document=document), ASKED)

    (request,) = seen
    assert ours.url == str(request.url)
    assert set(form_parts(ours.headers, ours.body)) == set(
        form_parts(request.headers, request.content)
    )
    assert (theirs.text, theirs.language, theirs.duration) == (
        read.text,
        read.language,
        read.duration,
    )
    assert [(one.word, one.start, one.end) for one in theirs.words or []] == [
        (one.text, one.start, one.end) for one in read.words
    ]


def test_the_openai_package_sends_the_same_for_speech() -> None:
    seen: list[Any] = []
    theirs = their_client(seen, content=MP3, headers={"content-type": "audio/mpeg"})
    recording = theirs.audio.speech.create(
        model="m", input="Hello", voice="v", response_format="mp3", instructions="Low", speed=1.5
    )

    ours = spoken(OPENAI, **ALL).http

    (request,) = seen
    assert (ours.url, json.loads(ours.body)) == (str(request.url), json.loads(request.content))
    headers = {"content-type": "audio/mpeg"}
    assert read_speech(NativeResponse(content=recording.content, headers=headers), SAY).audio.data


@pytest.mark.parametrize("settings", [settings for model, settings, *_ in FORMS if model is OPENAI])
def test_our_fields_are_those_of_the_openai_package_s_types(settings: Any) -> None:
    known = TranscriptionCreateParamsNonStreaming.__annotations__.keys()
    spoken_body = json.loads(spoken(OPENAI, **ALL).http.body)

    fields = form_of(asked_for(OPENAI, **settings).unwrap())
    assert {name.removesuffix("[]") for name in fields} <= known
    assert TypeAdapter(SpeechCreateParams).validate_python(spoken_body) == spoken_body
