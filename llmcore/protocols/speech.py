"""Text to speech, over the APIs that have it: OpenAI's and those like it, Mistral's and Gemini's.

Documents, read November 2026: https://developers.openai.com/api/reference/resources/audio (and
Azure, which has the same), https://pypi.org/project/groq/1.7.0/ and
https://pypi.org/project/together/3.1.1/ (`types/audio/speech_create_params`),
https://openrouter.ai/docs/guides/overview/multimodal/tts,
https://pypi.org/project/mistralai/3.7.0/ (`client/models/speechrequest`),
https://ai.google.dev/gemini-api/docs/speech-generation. The answer is the recording itself, with
its type in `content-type: audio/mpeg`, but Gemini's and Mistral's:

    {"audio_data": "SUQzBAAA..."}
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, TypeAlias

from attrs import frozen

from llmcore.protocols.media import decode_base64, sniffed
from llmcore.protocols.protocol import NativeRequest, NativeResponse, UnaryProtocol
from llmcore.protocols.unary import (
    VERTEX_MODELS,
    content_body,
    google_path,
    google_usage,
    native_settings,
    posted,
    read_media,
    response_fields,
    usage_of,
)
from llmcore.schema.audio import SpeechRequest, SpeechResponse
from llmcore.schema.content import AudioPart
from llmcore.schema.diagnostics import Notes
from llmcore.schema.errors import InvalidRequestError, StreamError
from llmcore.schema.json import JsonValue, object_or_empty

SpeechProtocol: TypeAlias = UnaryProtocol[SpeechRequest, SpeechResponse]

NOT_RECORDINGS: Final = ("application/json", "text/")
"""How the content types begin of answers that are not the recording itself."""
_PATH: Final = "/audio/speech"
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

    def body(self, request: SpeechRequest, notes: Notes) -> dict[str, JsonValue]:
        """Return the body of *request*."""
        if self.needs_voice and request.voice is None:
            message = "the API needs a voice: set voice, such as voice='alloy'"
            raise InvalidRequestError(message)
        names = {
            "voice": self.voice,
            "output_format": "response_format",
            "instructions": self.instructions,
            "speed": self.speed,
            "language": self.language,
        }
        settings = native_settings(request, names, notes)
        return {"model": request.model_id, "input": request.text} | settings


def _build(request: SpeechRequest, *, fields: _Fields) -> NativeRequest:
    notes = Notes()
    return posted(request, _PATH, fields.body(request, notes), notes)


_GEMINI: Final[Mapping[str, str | None]] = {
    "output_format": None,
    "instructions": None,
    "speed": None,
}


def _build_gemini(request: SpeechRequest, *, below: str) -> NativeRequest:
    notes = Notes()
    native_settings(request, _GEMINI, notes)
    speech = native_settings(request, {"language": "languageCode"}, notes)
    if request.voice is not None:
        speech["voiceConfig"] = {"prebuiltVoiceConfig": {"voiceName": request.voice}}
    config: dict[str, JsonValue] = {"responseModalities": ["AUDIO"]}
    if speech:
        config["speechConfig"] = speech
    body = content_body(request.text, (), config)
    return posted(request, google_path(request, "generateContent", below), body, notes)


# -- answers


def read_speech(answer: NativeResponse, request: SpeechRequest) -> SpeechResponse:
    """Return the recording that an answer is; StreamError for an empty one, or for JSON."""
    stated = answer.headers.get("content-type", "")
    if stated.startswith(NOT_RECORDINGS):
        text = answer.content[:200].decode("utf-8", "replace")
        raise StreamError(f"the answer is not a recording: {text!r}", retryable=False)
    return _response(answer, request, answer.content, stated)


def _read_mistral(answer: NativeResponse, request: SpeechRequest) -> SpeechResponse:
    data = decode_base64(object_or_empty(answer.document).get("audio_data"))
    return _response(answer, request, data or b"", "")


def _response(
    answer: NativeResponse, request: SpeechRequest, data: bytes, stated: str
) -> SpeechResponse:
    if not data:
        raise StreamError("the answer has no recording", retryable=False)
    known = stated if stated.startswith("audio/") else sniffed(data)
    media_type = known or _MEDIA_TYPES.get(request.output_format or "")
    return SpeechResponse(
        audio=AudioPart(data=data, media_type=media_type),
        **response_fields(answer, request, usage_of(answer)),
    )


def _read_gemini(answer: NativeResponse, request: SpeechRequest) -> SpeechResponse:
    """Return the recording of Gemini: samples of 16 bits, the low byte first.

    Its type has their rate, as in `audio/L16;codec=pcm;rate=24000`.
    """
    found = read_media(answer, "audio")
    audio = AudioPart(data=b"".join(data for _, data in found), media_type=found[0][0])
    return SpeechResponse(audio=audio, **response_fields(answer, request, google_usage(answer)))


# -- the APIs


def _make(id: str, fields: _Fields) -> SpeechProtocol:
    build = partial(_build, fields=fields)
    return UnaryProtocol(id=id, build=build, read=read_speech, answers="bytes")


OPENAI: Final = _make("openai-speech", _Fields(needs_voice=True, instructions="instructions"))
COMPATIBLE: Final = _make("compatible-speech", _Fields(instructions="instructions"))
GROQ: Final = _make("groq-speech", _Fields(needs_voice=True))
TOGETHER: Final = _make("together-speech", _Fields(speed=None, language="language"))
OPENROUTER: Final = _make("openrouter-speech", _Fields())
MISTRAL: Final[SpeechProtocol] = UnaryProtocol(
    id="mistral-speech",
    build=partial(_build, fields=_Fields(voice="voice_id", speed=None)),
    read=_read_mistral,
)
GEMINI: Final[SpeechProtocol] = UnaryProtocol(
    id="gemini-speech", build=partial(_build_gemini, below=""), read=_read_gemini
)
VERTEX: Final[SpeechProtocol] = UnaryProtocol(
    id="vertex-speech", build=partial(_build_gemini, below=VERTEX_MODELS), read=_read_gemini
)
