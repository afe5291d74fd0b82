"""Speech to text and text to speech, over the APIs that have them.

They are OpenAI's, those that differ in their fields, and, for speech, Gemini's. Documents, read
November 2026: https://developers.openai.com/api/reference/resources/audio (and Azure, which has the
same), https://console.groq.com/docs/speech-to-text, https://pypi.org/project/groq/1.7.0/,
https://docs.mistral.ai/studio/audio/speech-to-text/transcribe-files,
https://pypi.org/project/mistralai/3.7.0/ (`client/models/speechrequest`),
https://pypi.org/project/together/3.1.1/ (`types/audio`),
https://openrouter.ai/docs/client-sdks/typescript/models/sttrequest,
https://openrouter.ai/docs/guides/overview/multimodal/tts,
https://ai.google.dev/gemini-api/docs/speech-generation. A transcript with times:

    {"text": "Hello.", "language": "english", "duration": 0.9,
     "segments": [{"id": 0, "start": 0.0, "end": 0.9, "text": "Hello."}],
     "words": [{"word": "Hello", "start": 0.0, "end": 0.6}],
     "usage": {"type": "duration", "seconds": 1}}

The response to a text is the recording itself, with its type in `content-type: audio/mpeg`, but
Gemini's and Mistral's:

    {"audio_data": "SUQzBAAA..."}
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from attrs import field

from llmcore.protocols import unary
from llmcore.protocols.media import (
    audio_format,
    base64_data,
    raw_data,
    remote_url,
    sniffed,
    video_format,
)
from llmcore.protocols.protocol import NativeRequest, NativeResponse, UnaryProtocol
from llmcore.schema.audio import (
    SpeechRequest,
    SpeechResponse,
    TimedText,
    TranscriptionRequest,
    TranscriptionResponse,
)
from llmcore.schema.content import AudioPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError, StreamError
from llmcore.schema.files import FileUpload
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.native_json import float_or_none, object_or_empty, objects, str_or_none

TranscriptionProtocol: TypeAlias = UnaryProtocol[TranscriptionRequest, TranscriptionResponse]

_TEXT_PATH: Final = "/audio/transcriptions"


@frozen(kw_only=True)
class _Form:
    """The native fields of a provider's requests."""

    prompt: str | None = "prompt"
    diarize: str | None = None
    """The field that asks for speakers; None if the API has no such field."""
    formats: bool = True
    """Whether `response_format` decides about times."""
    diarized: JsonObject = field(factory=dict)
    """Further fields of a request that asks for speakers."""
    speakers_have_times: bool = False
    """Whether such a request must not ask for times, which segments have anyway."""
    url: str | None = None
    """The field of the recording's URL; None if the API takes none."""
    file_id: str | None = None
    """The field of the id of a stored file; None if the API takes none."""
    list_mark: str = "[]"
    """The end of the names of lists."""

    def settings(
        self, request: TranscriptionRequest, diagnostics: Diagnostics
    ) -> dict[str, JsonValue]:
        """Return the fields of *request* apart from the recording."""
        names: dict[str, str | None] = {
            "language": "language",
            "prompt": self.prompt,
            "temperature": "temperature",
        }
        if request.diarize and self.speakers_have_times:
            if "word" in request.timestamps:
                why = "the API has no times of words where it tells speakers apart"
                diagnostics.at("timestamps").unsupported(why)
        else:
            names["timestamps"] = "timestamp_granularities"
        if not (request.diarize and self.diarized):
            names["diarize"] = self.diarize
        body = {"model": request.model_id} | unary.native_settings(request, names, diagnostics)
        if self.formats:
            body["response_format"] = "verbose_json" if request.timestamps else "json"
        return {**body, **self.diarized} if request.diarize else body


_OPENAI: Final = _Form(
    # the chunks are required beyond 30 seconds
    diarized={"response_format": "diarized_json", "chunking_strategy": "auto"},
    speakers_have_times=True,
)
_COMPATIBLE: Final = _Form()
_GROQ: Final = _Form(url="url")
_TOGETHER: Final = _Form(
    diarize="diarize", diarized={"diarize": True, "response_format": "verbose_json"}, url="file"
)
_MISTRAL: Final = _Form(
    prompt=None,
    diarize="diarize",
    formats=False,
    url="file_url",
    file_id="file_id",
    list_mark="",  # https://pypi.org/project/mistralai/3.7.0/ (`client/utils/forms`)
)
_OPENROUTER: Final = _Form(prompt=None, diarize="diarize")


def _transcribe(request: TranscriptionRequest, *, form: _Form) -> NativeRequest:
    diagnostics = Diagnostics()
    body = form.settings(request, diagnostics)
    send = partial(
        unary.posted_form, request, _TEXT_PATH, diagnostics=diagnostics, list_mark=form.list_mark
    )
    audio = request.audio
    url = remote_url(audio)
    if url is not None and form.url is not None:
        return send(body | {form.url: url})
    if audio.file_id is not None and form.file_id is not None:
        return send(body | {form.file_id: audio.file_id})
    recording = raw_data(audio)
    if recording is None:
        what = "URLs" if url is not None else "file ids"
        raise InvalidRequestError(f"the API takes no {what} of recordings: send the bytes")
    media_type, data = recording
    file = FileUpload(data=data, filename=f"audio.{_ending(media_type)}", media_type=media_type)
    return send(body, files=[("file", file)])


def _build_openrouter(request: TranscriptionRequest) -> NativeRequest:
    diagnostics = Diagnostics()
    body = _OPENROUTER.settings(request, diagnostics)
    url = remote_url(request.audio)
    encoded = base64_data(request.audio)
    if url is not None:
        body["input_audio"] = {"url": url}
    elif encoded is not None:
        body["input_audio"] = {"data": encoded[1], "format": _ending(encoded[0])}
    else:
        raise InvalidRequestError("the API takes no file ids of recordings: send the bytes")
    return unary.posted(request, _TEXT_PATH, body, diagnostics)


def _ending(media_type: str) -> str:
    """Return the ending of a file's name, by which servers know its form."""
    known = audio_format(media_type) or video_format(media_type)
    return known or media_type.rpartition("/")[2]


# -- responses


def read_transcript(
    response: NativeResponse, request: TranscriptionRequest
) -> TranscriptionResponse:
    """Return the transcript of a response of any of these APIs; StreamError if it has no text."""
    document = object_or_empty(response.document)
    text = document.get("text")
    if not isinstance(text, str):
        raise StreamError("the response has no transcript", retryable=False)
    speakers = _timed(document.get("speaker_segments")) if request.diarize else ()
    return TranscriptionResponse(
        text=text,
        segments=speakers or _timed(document.get("segments")),
        words=_timed(document.get("words")),
        language=_language(document),
        duration=_duration(document),
        **unary.response_fields(response, request, unary.usage_of(response)),
    )


def _timed(value: JsonValue) -> tuple[TimedText, ...]:
    """Return the pieces of a list that have their times; others are of no use."""
    return tuple(piece for entry in objects(value) if (piece := _piece(entry)) is not None)


def _piece(entry: Mapping[str, Any]) -> TimedText | None:
    start, end = _seconds(entry.get("start")), _seconds(entry.get("end"))
    text = entry.get("text", entry.get("word"))
    if start is None or end is None or not isinstance(text, str):
        return None
    names = ("speaker_label", "speaker", "speaker_id")
    speaker = next((entry[name] for name in names if entry.get(name) is not None), None)
    return TimedText(
        text=text, start=start, end=end, speaker=None if speaker is None else str(speaker)
    )


def _seconds(value: object) -> float | None:
    seconds = float_or_none(value)
    return seconds if seconds is not None and math.isfinite(seconds) else None


def _language(document: JsonObject) -> str | None:
    languages = document.get("languages")
    first = languages[0] if isinstance(languages, list) and languages else None
    code = object_or_empty(first).get("code")
    return str_or_none(document.get("language")) or str_or_none(code)


def _duration(document: JsonObject) -> float | None:
    usage = object_or_empty(document.get("usage"))
    stated = (document.get("duration"), usage.get("seconds"), usage.get("prompt_audio_seconds"))
    return next((seconds for value in stated if (seconds := _seconds(value)) is not None), None)


# -- the APIs


def _transcriptions(id: str, form: _Form) -> TranscriptionProtocol:
    return UnaryProtocol(id=id, build=partial(_transcribe, form=form), read=read_transcript)


TRANSCRIPTIONS_OPENAI: Final = _transcriptions("openai-transcriptions", _OPENAI)
TRANSCRIPTIONS_COMPATIBLE: Final = _transcriptions("compatible-transcriptions", _COMPATIBLE)
TRANSCRIPTIONS_GROQ: Final = _transcriptions("groq-transcriptions", _GROQ)
TRANSCRIPTIONS_TOGETHER: Final = _transcriptions("together-transcriptions", _TOGETHER)
TRANSCRIPTIONS_MISTRAL: Final = _transcriptions("mistral-transcriptions", _MISTRAL)
TRANSCRIPTIONS_OPENROUTER: Final[TranscriptionProtocol] = UnaryProtocol(
    id="openrouter-transcriptions", build=_build_openrouter, read=read_transcript
)


# -- text to speech

SpeechProtocol: TypeAlias = UnaryProtocol[SpeechRequest, SpeechResponse]

NOT_RECORDINGS: Final = ("application/json", "text/")
"""How the content types begin of responses that are not the recording itself."""
_SPEECH_PATH: Final = "/audio/speech"
_MEDIA_TYPES: Final[Mapping[str, str]] = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "ogg": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}


@frozen(kw_only=True)
class _Fields:
    """The native names of the settings, of which a provider has those that are not None."""

    voice: str = "voice"
    needs_voice: bool = False
    instructions: str | None = None
    speed: str | None = "speed"
    language: str | None = None

    def body(self, request: SpeechRequest, diagnostics: Diagnostics) -> dict[str, JsonValue]:
        """Return the body of *request*."""
        if self.needs_voice and request.voice is None:
            raise InvalidRequestError("the API needs a voice: set voice, such as voice='alloy'")
        names = {
            "voice": self.voice,
            "output_format": "response_format",
            "instructions": self.instructions,
            "speed": self.speed,
            "language": self.language,
        }
        settings = unary.native_settings(request, names, diagnostics)
        return {"model": request.model_id, "input": request.text} | settings


def _build_speech(request: SpeechRequest, *, fields: _Fields) -> NativeRequest:
    diagnostics = Diagnostics()
    return unary.posted(request, _SPEECH_PATH, fields.body(request, diagnostics), diagnostics)


_GEMINI: Final[Mapping[str, str | None]] = {
    "output_format": None,
    "instructions": None,
    "speed": None,
}


def _build_gemini(request: SpeechRequest, *, below: str) -> NativeRequest:
    diagnostics = Diagnostics()
    unary.native_settings(request, _GEMINI, diagnostics)
    speech = unary.native_settings(request, {"language": "languageCode"}, diagnostics)
    if request.voice is not None:
        speech["voiceConfig"] = {"prebuiltVoiceConfig": {"voiceName": request.voice}}
    config: dict[str, JsonValue] = {"responseModalities": ["AUDIO"]}
    if speech:
        config["speechConfig"] = speech
    body = unary.content_body(request.text, (), config)
    path = unary.google_path(request, "generateContent", below)
    return unary.posted(request, path, body, diagnostics)


# -- responses


def read_speech(response: NativeResponse, request: SpeechRequest) -> SpeechResponse:
    """Return the recording that a response is; StreamError for an empty one, or for JSON."""
    stated = response.headers.get("content-type", "")
    if stated.startswith(NOT_RECORDINGS):
        text = response.content[:200].decode("utf-8", "replace")
        raise StreamError(f"the response is not a recording: {text!r}", retryable=False)
    return _response(response, request, response.content, stated)


def _read_mistral(response: NativeResponse, request: SpeechRequest) -> SpeechResponse:
    data = decode_base64(object_or_empty(response.document).get("audio_data"))
    return _response(response, request, data or b"", "")


def _response(
    response: NativeResponse, request: SpeechRequest, data: bytes, stated: str
) -> SpeechResponse:
    if not data:
        raise StreamError("the response has no recording", retryable=False)
    known = stated if stated.startswith("audio/") else sniffed(data)
    media_type = known or _MEDIA_TYPES.get(request.output_format or "")
    return SpeechResponse(
        audio=AudioPart(data=data, media_type=media_type),
        **unary.response_fields(response, request, unary.usage_of(response)),
    )


def _read_gemini(response: NativeResponse, request: SpeechRequest) -> SpeechResponse:
    """Return the recording of Gemini: samples of 16 bits, the low byte first.

    Its type has their rate, as in `audio/L16;codec=pcm;rate=24000`.
    """
    pieces = unary.read_media(response, "audio")
    audio = AudioPart(data=b"".join(data for _, data in pieces), media_type=pieces[0][0])
    return SpeechResponse(
        audio=audio, **unary.response_fields(response, request, unary.google_usage(response))
    )


# -- the APIs


def _speech(id: str, fields: _Fields) -> SpeechProtocol:
    build = partial(_build_speech, fields=fields)
    return UnaryProtocol(id=id, build=build, read=read_speech, response_kind="bytes")


SPEECH_OPENAI: Final = _speech(
    "openai-speech", _Fields(needs_voice=True, instructions="instructions")
)
SPEECH_COMPATIBLE: Final = _speech("compatible-speech", _Fields(instructions="instructions"))
SPEECH_GROQ: Final = _speech("groq-speech", _Fields(needs_voice=True))
SPEECH_TOGETHER: Final = _speech("together-speech", _Fields(speed=None, language="language"))
SPEECH_OPENROUTER: Final = _speech("openrouter-speech", _Fields())
SPEECH_MISTRAL: Final[SpeechProtocol] = UnaryProtocol(
    id="mistral-speech",
    build=partial(_build_speech, fields=_Fields(voice="voice_id", speed=None)),
    read=_read_mistral,
)
SPEECH_GEMINI: Final[SpeechProtocol] = UnaryProtocol(
    id="gemini-speech", build=partial(_build_gemini, below=""), read=_read_gemini
)
SPEECH_VERTEX: Final[SpeechProtocol] = UnaryProtocol(
    id="vertex-speech", build=partial(_build_gemini, below=unary.VERTEX_MODELS), read=_read_gemini
)
