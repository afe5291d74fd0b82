"""Speech to text, and text to speech: the requests and the responses."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from attrs import field

from llmcore.schema.content import AudioPart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_call_hints
from llmcore.schema.pydantic_hooks import for_pydantic
from llmcore.schema.unary import UnaryRequest, UnaryResponse, check_text

Granularity: TypeAlias = Literal["segment", "word"]
"""The pieces of a transcript that have times."""


def _audio(given: object) -> AudioPart:
    return AudioPart.of(given)


def _granularities(given: Granularity | Iterable[Granularity]) -> tuple[Granularity, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _check_granularities(_request: object, _attribute: object, given: tuple[str, ...]) -> None:
    if not set(given) <= {"segment", "word"}:
        raise InvalidRequestError(f'timestamps are "segment", "word" or both, not {given!r}')


@with_call_hints()
@frozen(kw_only=True)
class TranscriptionRequest(UnaryRequest):
    """A request to transcribe a recording."""

    audio: AudioPart = field(converter=_audio)
    """The recording: a part, a path, a URL or bytes."""
    language: str | None = None
    """The spoken language, such as `en`; None lets the model find it."""
    prompt: str | None = None
    """Names and words that occur in the recording, or the text that precedes it."""
    timestamps: tuple[Granularity, ...] = field(
        default=(), converter=_granularities, validator=_check_granularities
    )
    """`segment`, `word` or both: the pieces that get start and end times."""
    diarize: bool = False
    """Whether segments have speakers."""
    temperature: float | None = None
    """From 0 to 1; None for the provider's."""


@frozen(kw_only=True)
class TimedText:
    """A piece of a transcript: a segment or a word."""

    text: str
    """The words."""
    start: float
    """When it begins, in seconds."""
    end: float
    """When it ends, in seconds."""
    speaker: str | None = None
    """The speaker, if `diarize` was set and the provider distinguishes speakers."""


@for_pydantic
@frozen(kw_only=True)
class TranscriptionResponse(UnaryResponse):
    """The text of a recording."""

    text: str
    """All of it; empty for a recording without speech."""
    segments: tuple[TimedText, ...] = ()
    """Its segments, if `timestamps` or `diarize` asks for them."""
    words: tuple[TimedText, ...] = ()
    """Its words, if `timestamps` asks for them."""
    language: str | None = None
    """The language that was found, as the provider writes it: `en`, `english`."""
    duration: float | None = None
    """The length of the recording in seconds, if the provider states it."""


@with_call_hints()
@frozen(kw_only=True)
class SpeechRequest(UnaryRequest):
    """A request to speak a text. Raises InvalidRequestError for an empty one."""

    text: str = field(validator=check_text)
    """The words."""
    voice: str | None = None
    """The provider's name or id of the voice, such as `alloy` or `Kore`."""
    output_format: str | None = None
    """`mp3`, `wav`, `opus`, `aac`, `flac` or `pcm`; None for the provider's."""
    instructions: str | None = None
    """How to speak, for models that take instructions."""
    speed: float | None = None
    """1.0 is the usual speed."""
    language: str | None = None
    """The language of the text, such as `en`."""


@for_pydantic
@frozen(kw_only=True)
class SpeechResponse(UnaryResponse):
    """A spoken text."""

    audio: AudioPart
    """The recording, with `data` and `media_type`, such as `audio/mpeg`."""
