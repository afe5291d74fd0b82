"""Images, transcription and speech: the route of each, beside a provider's generating one.

A `Model` of any facade makes images or speech, or transcribes, where its provider can: these
functions find the API and its address, configured like the model's own route.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from llmcore.protocols import audio, images
from llmcore.protocols.audio import SpeechProtocol, TranscriptionProtocol
from llmcore.protocols.images import ImageProtocol
from llmcore.routes.route import Route
from llmcore.routes.unary import UnaryRoute, missing, of_model
from llmcore.schema.audio import (
    SpeechRequest,
    SpeechResponse,
    TranscriptionRequest,
    TranscriptionResponse,
)
from llmcore.schema.images import ImageRequest, ImageResponse

ImageRoute: TypeAlias = UnaryRoute[ImageRequest, ImageResponse]
TranscriptionRoute: TypeAlias = UnaryRoute[TranscriptionRequest, TranscriptionResponse]
SpeechRoute: TypeAlias = UnaryRoute[SpeechRequest, SpeechResponse]

# providers that differ from other servers of their API

_IMAGES: Final[Mapping[str, ImageProtocol]] = {
    "xai": images.XAI,
    "together": images.TOGETHER,
    "openrouter": images.OPENROUTER,
}
_TRANSCRIPTIONS: Final[Mapping[str, TranscriptionProtocol]] = {
    "openai": audio.TRANSCRIPTIONS_OPENAI,
    "azure": audio.TRANSCRIPTIONS_OPENAI,
    "groq": audio.TRANSCRIPTIONS_GROQ,
    "together": audio.TRANSCRIPTIONS_TOGETHER,
    "mistral": audio.TRANSCRIPTIONS_MISTRAL,
    "openrouter": audio.TRANSCRIPTIONS_OPENROUTER,
}
_SPEECH: Final[Mapping[str, SpeechProtocol]] = {
    "openai": audio.SPEECH_OPENAI,
    "azure": audio.SPEECH_OPENAI,
    "groq": audio.SPEECH_GROQ,
    "together": audio.SPEECH_TOGETHER,
    "mistral": audio.SPEECH_MISTRAL,
    "openrouter": audio.SPEECH_OPENROUTER,
}


def image_route(route: Route[Any], model_id: str) -> ImageRoute:
    """Return the route that makes images; ConfigurationError for a provider that cannot."""
    if route.protocol.family == "google":
        protocol = images.VERTEX if route.provider == "vertex" else images.GEMINI
    elif route.protocol.family == "openai":
        protocol = _IMAGES.get(route.provider, images.OPENAI)
    else:
        raise missing(route, "images")
    return of_model(route, protocol, model_id)


def transcription_route(route: Route[Any], model_id: str) -> TranscriptionRoute:
    """Return the route that transcribes; ConfigurationError for a provider that cannot.

    Gemini's models do it as a generation, of a message with the recording.
    """
    if route.protocol.family != "openai" or route.provider == "xai":
        raise missing(route, "transcription")
    protocol = _TRANSCRIPTIONS.get(route.provider, audio.TRANSCRIPTIONS_COMPATIBLE)
    return of_model(route, protocol, model_id)


def speech_route(route: Route[Any], model_id: str) -> SpeechRoute:
    """Return the route that speaks; ConfigurationError for a provider that cannot."""
    if route.protocol.family == "google":
        protocol = audio.SPEECH_VERTEX if route.provider == "vertex" else audio.SPEECH_GEMINI
    elif route.protocol.family == "openai" and route.provider != "xai":
        protocol = _SPEECH.get(route.provider, audio.SPEECH_COMPATIBLE)
    else:
        raise missing(route, "speech")
    return of_model(route, protocol, model_id)
