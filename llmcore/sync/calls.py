"""`generate`, `stream`, `generate_object`, `stream_object` and `retry`, blocking."""

import inspect
import random
import time
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast, overload

from llmcore.client.client import Client as AsyncClient
from llmcore.generation import objects
from llmcore.generation import settings as call_settings
from llmcore.generation.generate import generate as asynchronous_generate
from llmcore.generation.many import Prompt
from llmcore.generation.many import generate_many as asynchronous_generate_many
from llmcore.generation.media import (
    AudioSource,
    ImageOptions,
    SpeechOptions,
    TranscriptionOptions,
)
from llmcore.generation.media import generate_image as asynchronous_generate_image
from llmcore.generation.media import generate_speech as asynchronous_generate_speech
from llmcore.generation.media import stream_speech as asynchronous_stream_speech
from llmcore.generation.media import transcribe as asynchronous_transcribe
from llmcore.generation.results import GenerateResult
from llmcore.generation.retrieval import EmbeddingOptions
from llmcore.generation.retrieval import embed as asynchronous_embed
from llmcore.generation.retrieval import embed_many as asynchronous_embed_many
from llmcore.generation.retrieval import rerank as asynchronous_rerank
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.retry import retry as asynchronous_retry
from llmcore.generation.settings import RunSettings, Settings
from llmcore.generation.stream import stream as asynchronous_stream
from llmcore.generation.unary import UnaryOptions
from llmcore.schema.audio import SpeechResponse, TranscriptionResponse
from llmcore.schema.embeddings import EmbeddingResponse, RerankResponse
from llmcore.schema.errors import LLMError
from llmcore.schema.images import ImageResponse
from llmcore.schema.model import Model
from llmcore.schema.result import Result
from llmcore.sync.background import background
from llmcore.sync.client import Client
from llmcore.sync.streams import ByteStream, StreamObjectResult, StreamResult

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., object])


class SyncSettings(RunSettings, total=False):
    """The keyword arguments of the blocking `generate` and `stream`, apart from the prompt."""

    client: Client | AsyncClient | None
    """None uses the default client, which the asynchronous functions share."""


def asynchronous_settings(given: SyncSettings) -> Settings:
    """Return *given* for the asynchronous functions, with the client behind a blocking one."""
    client = given.get("client")
    plain = {**given, "client": client.asynchronous if isinstance(client, Client) else client}
    return cast("Settings", plain)


def _with_signature_of(twin: Callable[..., object]) -> Callable[[_F], _F]:
    """Return a decorator that sets the signature of *twin*, but for `client` and the result."""

    def decorate(function: _F) -> _F:
        returned = inspect.signature(function).return_annotation
        client = SyncSettings.__annotations__["client"]
        signature = inspect.signature(twin)
        parameters = [
            parameter.replace(annotation=client) if parameter.name == "client" else parameter
            for parameter in signature.parameters.values()
        ]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=parameters, return_annotation=returned
        )
        return function

    return decorate


@_with_signature_of(asynchronous_generate)
def generate(
    model: Model | str | None = None, prompt: str | None = None, **settings: Unpack[SyncSettings]
) -> GenerateResult[None]:
    """Call *model*, run the tools it calls, send their results, and return the final response.

    `llmcore.generate`, blocking: the same arguments, the same errors. Ctrl-C cancels the call.
    """
    given = asynchronous_settings(settings)
    return background().run(lambda: asynchronous_generate(model, prompt, **given))


class SyncUnarySettings(UnaryOptions, total=False):
    """The settings of every unary call, blocking."""

    client: Client | AsyncClient | None
    """None uses the default client, which the asynchronous functions share."""


class SyncEmbeddingSettings(SyncUnarySettings, EmbeddingOptions, total=False):
    """The keyword arguments of `embed` and `embed_many`, blocking."""


def _plain(settings: SyncUnarySettings) -> Any:
    return asynchronous_settings(cast("SyncSettings", settings))


def embed(
    model: Model | str, text: str, **settings: Unpack[SyncEmbeddingSettings]
) -> EmbeddingResponse:
    """Return the vector of *text*: `llmcore.embed`, blocking."""
    given = _plain(settings)
    return background().run(lambda: asynchronous_embed(model, text, **given))


def embed_many(
    model: Model | str,
    texts: Iterable[str],
    *,
    concurrency: int = 4,
    **settings: Unpack[SyncEmbeddingSettings],
) -> EmbeddingResponse:
    """Return the vectors of *texts*, in their order: `llmcore.embed_many`, blocking."""
    given = _plain(settings)
    return background().run(
        lambda: asynchronous_embed_many(model, texts, concurrency=concurrency, **given)
    )


def rerank(
    model: Model | str,
    query: str,
    documents: Iterable[str],
    *,
    top_n: int | None = None,
    **settings: Unpack[SyncUnarySettings],
) -> RerankResponse:
    """Return *documents*, the best answers to *query* first: `llmcore.rerank`, blocking."""
    given = _plain(settings)
    return background().run(
        lambda: asynchronous_rerank(model, query, documents, top_n=top_n, **given)
    )


class SyncImageSettings(SyncUnarySettings, ImageOptions, total=False):
    """The keyword arguments of `generate_image`, blocking."""


def generate_image(
    model: Model | str, prompt: str, **settings: Unpack[SyncImageSettings]
) -> ImageResponse:
    """Return the image that *prompt* describes: the blocking `generate_image`."""
    given = _plain(settings)
    return background().run(lambda: asynchronous_generate_image(model, prompt, **given))


class SyncTranscriptionSettings(SyncUnarySettings, TranscriptionOptions, total=False):
    """The keyword arguments of `transcribe`, blocking."""


def transcribe(
    model: Model | str, audio: AudioSource, **settings: Unpack[SyncTranscriptionSettings]
) -> TranscriptionResponse:
    """Return the text of the recording *audio*: the blocking `transcribe`."""
    given = _plain(settings)
    return background().run(lambda: asynchronous_transcribe(model, audio, **given))


class SyncSpeechSettings(SyncUnarySettings, SpeechOptions, total=False):
    """The keyword arguments of `generate_speech`, blocking."""


def generate_speech(
    model: Model | str, text: str, **settings: Unpack[SyncSpeechSettings]
) -> SpeechResponse:
    """Return *text* spoken: the blocking `generate_speech`."""
    given = _plain(settings)
    return background().run(lambda: asynchronous_generate_speech(model, text, **given))


def stream_speech(
    model: Model | str, text: str, **settings: Unpack[SyncSpeechSettings]
) -> ByteStream:
    """Return *text* spoken, piece by piece: the blocking `stream_speech`."""
    given = _plain(settings)
    return ByteStream(background().run(lambda: asynchronous_stream_speech(model, text, **given)))


def generate_many(
    model: Model | str | None,
    prompts: Iterable[Prompt],
    *,
    concurrency: int = 20,
    progress: bool = False,
    resume_from: str | Path | None = None,
    **settings: Unpack[SyncSettings],
) -> list[Result[GenerateResult[None], LLMError]]:
    """Return what `generate` returns for each of *prompts*, in their order.

    `llmcore.generate_many`, blocking: the same arguments, the same errors.
    """
    given = asynchronous_settings(settings)
    return background().run(
        lambda: asynchronous_generate_many(
            model,
            prompts,
            concurrency=concurrency,
            progress=progress,
            resume_from=resume_from,
            **given,
        )
    )


@_with_signature_of(asynchronous_stream)
def stream(
    model: Model | str | None = None, prompt: str | None = None, **settings: Unpack[SyncSettings]
) -> StreamResult:
    """Return the events of what `generate` would do with the same arguments.

    `llmcore.stream`, blocking. Invalid arguments raise here; all other errors are raised while
    reading.
    """
    return StreamResult(asynchronous_stream(model, prompt, **asynchronous_settings(settings)))


@overload
def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: type[_T],
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> GenerateResult[_T]: ...


@overload
def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> GenerateResult[Any]: ...


@_with_signature_of(objects.generate_object)
def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> GenerateResult[Any]:
    """Do what `generate` does, and return the response parsed and validated in `output`.

    `llmcore.generate_object`, blocking.
    """
    given = asynchronous_settings(settings)
    return background().run(
        lambda: objects.generate_object(
            model,
            prompt,
            schema=schema,
            schema_name=schema_name,
            schema_description=schema_description,
            **given,
        )
    )


@overload
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: type[_T],
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> StreamObjectResult[_T]: ...


@overload
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> StreamObjectResult[Any]: ...


@_with_signature_of(objects.stream_object)
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[SyncSettings],
) -> StreamObjectResult[Any]:
    """Stream the object that `generate_object` would return.

    `llmcore.stream_object`, blocking.
    """
    result = objects.stream_object(
        model,
        prompt,
        schema=schema,
        schema_name=schema_name,
        schema_description=schema_description,
        **asynchronous_settings(settings),
    )
    return StreamObjectResult(result)


def set_default_client(client: Client | AsyncClient | None) -> None:
    """Set the client of calls that name none, blocking and asynchronous ones alike.

    None makes a new client when it is needed. The previous client is not closed.
    """
    call_settings.set_default_client(client.asynchronous if isinstance(client, Client) else client)


def retry(
    call: Callable[[], _T],
    policy: RetryPolicy | None = None,
    *,
    rng: random.Random | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> _T:
    """Repeat *call* while it raises retryable errors; return its value or raise the last error.

    `llmcore.generation.retry.retry` for a blocking call, in this thread.
    """

    async def attempt() -> _T:
        return call()

    async def pause(seconds: float) -> None:
        sleep(seconds)

    return _result_of(asynchronous_retry(attempt, policy, rng=rng, sleep=pause))


def _result_of(steps: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of a coroutine that never suspends."""
    try:
        steps.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    finally:
        steps.close()
    raise RuntimeError("a coroutine that waits needs an event loop")
