"""Images (`generate_image`), transcription and speech (`generate_speech`, `stream_speech`)."""

from collections.abc import Iterable
from os import PathLike
from typing import TypeAlias, Unpack

from llmcore.client.byte_stream import ByteStream
from llmcore.client.call_hints import with_awaited_hints
from llmcore.generation.unary import UnarySettings, client_of, request_fields, retried
from llmcore.schema.audio import (
    Granularity,
    SpeechRequest,
    SpeechResponse,
    TranscriptionRequest,
    TranscriptionResponse,
)
from llmcore.schema.content import AudioPart, ImagePart
from llmcore.schema.images import ImageRequest, ImageResponse
from llmcore.schema.model import Model

ImageSource: TypeAlias = ImagePart | str | bytes | PathLike[str]
"""An image: a part, a path, a URL or bytes."""
AudioSource: TypeAlias = AudioPart | str | bytes | PathLike[str]
"""A recording: a part, a path, a URL or bytes."""


class ImageSettings(UnarySettings, total=False):
    """The settings of `generate_image` beside those of every unary call."""

    images: ImageSource | Iterable[ImageSource]
    """The images to edit, or to use as references."""
    mask: ImageSource | None
    """An image whose transparent areas are those of the first image that may change."""
    n: int | None
    """How many images are made; None for one."""
    size: str | None
    """`1536x1024` in pixels, or a step such as `2K`, by what the model takes."""
    aspect_ratio: str | None
    """Such as `16:9`."""
    quality: str | None
    """The provider's own word, such as `low` or `high`."""
    background: str | None
    """`transparent`, `opaque` or `auto`."""
    output_format: str | None
    """`png`, `jpeg` or `webp`."""


@with_awaited_hints()
async def generate_image(
    model: Model | str, prompt: str, **settings: Unpack[ImageSettings]
) -> ImageResponse:
    """Return the image that *prompt* describes, with usage and cost.

    With the setting `images`, these are changed by *prompt*. *model* is one of OpenAI, Azure,
    Gemini, Vertex, xAI, Together, OpenRouter or a server like OpenAI's, or an id such as
    `openai:gpt-image-2`. Raises LLMError.
    """
    fields = request_fields("generate_image", ImageSettings, settings)
    request = ImageRequest(model=model, prompt=prompt, **fields)
    return (await retried(client_of(settings).generate_image, request, settings)).unwrap()


class TranscriptionSettings(UnarySettings, total=False):
    """The settings of `transcribe` beside those of every unary call."""

    language: str | None
    """The spoken language, such as `en`; None lets the model find it."""
    prompt: str | None
    """Names and words that occur in the recording, or the text that precedes it."""
    timestamps: Granularity | Iterable[Granularity]
    """`segment`, `word` or both: the pieces that get start and end times."""
    diarize: bool
    """Whether segments have speakers."""
    temperature: float | None
    """From 0 to 1; None for the provider's."""


@with_awaited_hints(file="audio", lang="language")
async def transcribe(
    model: Model | str, audio: AudioSource, **settings: Unpack[TranscriptionSettings]
) -> TranscriptionResponse:
    """Return the text of the recording *audio*, with times and speakers where they are asked for.

    *model* is one of OpenAI, Azure, Groq, Mistral, Together, OpenRouter or a server like OpenAI's,
    or an id such as `openai:gpt-4o-transcribe`. Raises LLMError.
    """
    source = AudioPart.of(audio)
    fields = request_fields("transcribe", TranscriptionSettings, settings)
    request = TranscriptionRequest(model=model, audio=source, **fields)
    return (await retried(client_of(settings).transcribe, request, settings)).unwrap()


class SpeechSettings(UnarySettings, total=False):
    """The settings of `generate_speech` beside those of every unary call."""

    voice: str | None
    """The provider's name or id of the voice, such as `alloy` or `Kore`."""
    output_format: str | None
    """`mp3`, `wav`, `opus`, `aac`, `flac` or `pcm`; None for the provider's."""
    instructions: str | None
    """How to speak, for models that take instructions."""
    speed: float | None
    """1.0 is the usual speed."""
    language: str | None
    """The language of the text, such as `en`."""


@with_awaited_hints(input="text", prompt="text")
async def generate_speech(
    model: Model | str, text: str, **settings: Unpack[SpeechSettings]
) -> SpeechResponse:
    """Return *text* spoken, as `audio` with its bytes and their type.

    *model* is one of OpenAI, Azure, Gemini, Vertex, Groq, Mistral, Together, OpenRouter or a server
    like OpenAI's, or an id such as `openai:gpt-4o-mini-tts`. Raises LLMError.
    """
    fields = request_fields("generate_speech", SpeechSettings, settings)
    request = SpeechRequest(model=model, text=text, **fields)
    return (await retried(client_of(settings).generate_speech, request, settings)).unwrap()


@with_awaited_hints(input="text", prompt="text")
async def stream_speech(
    model: Model | str, text: str, **settings: Unpack[SpeechSettings]
) -> ByteStream:
    """Return *text* spoken, as pieces of the recording that can be played while the rest arrives.

    The arguments are those of `generate_speech`; Gemini, Vertex and Mistral send the whole
    recording at once. Raises LLMError until the recording begins; later, reading it raises.
    """
    fields = request_fields("stream_speech", SpeechSettings, settings)
    request = SpeechRequest(model=model, text=text, **fields)
    return (await retried(client_of(settings).stream_speech, request, settings)).unwrap()
