"""Methods of the client that send requests other than generations."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import anyio.to_thread
from attrs import evolve

from llmcore.client.byte_stream import ByteStream
from llmcore.client.call_hints import with_awaited_hints
from llmcore.client.configured_models import PROBE_MODEL
from llmcore.client.media_files import load_unary_files
from llmcore.client.unary import UnaryCalls, result_of
from llmcore.routes.route import Route, route_of
from llmcore.routes.transport_spec import Timeouts
from llmcore.routes.unary import UnaryRoute
from llmcore.schema.audio import (
    SpeechRequest,
    SpeechResponse,
    TranscriptionRequest,
    TranscriptionResponse,
)
from llmcore.schema.embeddings import (
    EmbeddingRequest,
    EmbeddingResponse,
    RerankRequest,
    RerankResponse,
)
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError, StreamError
from llmcore.schema.files import StoredFile
from llmcore.schema.hints import shown_kind
from llmcore.schema.images import ImageRequest, ImageResponse
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result, Success
from llmcore.schema.unary import UnaryRequest, UnaryResponse

if TYPE_CHECKING:  # these load the catalog's modules, and protocols that few programs use
    from llmcore.catalog.model_info import ModelInfo
    from llmcore.client.files import Files
    from llmcore.protocols.embeddings import EmbeddingProtocol

_Request = TypeVar("_Request", bound=UnaryRequest)
_Response = TypeVar("_Response", bound=UnaryResponse)

_FindRoute: TypeAlias = Callable[[Route[Any], str], UnaryRoute[_Request, _Response]]
"""Returns the route of an operation for a generating route and a model's id."""

_TAKES: Final = (
    "the client takes one request, such as EmbeddingRequest(...); the functions of the library "
    "take its parts, such as llmcore.embed(model, text, client=client)"
)
_takes_requests: Final = with_awaited_hints(
    _TAKES, **dict.fromkeys(("model", "text", "texts", "prompt", "query", "audio"), _TAKES)
)


class UnaryMethods(ABC):
    """Lists of models, embedding, reranking, images, speech and stored files.

    Each method sends one request or a few of them, over the client's connections; middleware is
    not run.
    """

    models: "tuple[ModelInfo, ...]"
    """Models of the caller's own, which take precedence over the catalog's."""

    @property
    @abstractmethod
    def default_provider(self) -> str | None:
        """The provider of models that name none."""

    @property
    @abstractmethod
    def unary(self) -> UnaryCalls:
        """The sender of requests other than generations, over the client's connections."""

    @abstractmethod
    def resolve(self, request: LLMRequest) -> Result[Model, LLMError]:
        """Return the configured model of *request*; ConfigurationError if there is none."""

    @with_awaited_hints()
    async def list_models(
        self, provider: str | None = None, *, timeouts: Timeouts | None = None
    ) -> "Result[tuple[ModelInfo, ...], LLMError]":
        """Return the models that *provider* lists now, with the catalog's facts about them.

        The ids are the provider's, in its order; limits that it states go before the catalog's.
        Without *provider*, those of the default provider. ConfigurationError for a provider that
        is not configured or has no such list.
        """
        from llmcore.client.model_lists import listed_models

        def listed() -> "Awaitable[tuple[ModelInfo, ...]]":
            model = self._resolved(PROBE_MODEL, provider or self.default_provider)
            return listed_models(self.unary, model, self.models, timeouts)

        return await result_of(listed)

    @with_awaited_hints()
    async def load_models(
        self, source: str | Path, *, timeouts: Timeouts | None = None
    ) -> "Result[tuple[ModelInfo, ...], LLMError]":
        """Use the models of a file or of an `https://` URL before those of the catalog.

        They have the form of the catalog's own file, `{"models": [...]}`, replace models of the
        same provider and id in `models`, and are returned. Call it again to refresh them. A file
        that cannot be read changes nothing.
        """
        from llmcore.client.model_lists import loaded_models

        loaded = await result_of(lambda: loaded_models(self.unary, source, timeouts))
        if isinstance(loaded, Success):
            from llmcore.catalog.own_models import merged

            self.models = merged(loaded.value, self.models)
        return loaded

    @_takes_requests
    async def embed(
        self, request: EmbeddingRequest, *, timeouts: Timeouts | None = None
    ) -> Result[EmbeddingResponse, LLMError]:
        """Return the vectors of the texts of *request*, in one request to the provider.

        InvalidRequestError for more texts than the provider takes at once: `embed_many` splits
        them. Middleware is not run.
        """
        from llmcore.routes.retrieval import embedding_route

        return await self._model_response(embedding_route, request, timeouts)

    @with_awaited_hints()
    def embedding_limits(self, request: EmbeddingRequest) -> "EmbeddingProtocol":
        """Return the API that embeds *request*, with its limits; raises ConfigurationError."""
        from llmcore.routes.retrieval import embedding_protocol

        model = self._resolved(request.model, request.provider)
        return embedding_protocol(route_of(model), model.id)

    @_takes_requests
    async def rerank(
        self, request: RerankRequest, *, timeouts: Timeouts | None = None
    ) -> Result[RerankResponse, LLMError]:
        """Return the documents of *request* in the order of their scores. No middleware is run."""
        from llmcore.routes.retrieval import rerank_route

        return await self._model_response(rerank_route, request, timeouts)

    @_takes_requests
    async def generate_image(
        self, request: ImageRequest, *, timeouts: Timeouts | None = None
    ) -> Result[ImageResponse, LLMError]:
        """Return the images of *request*. No middleware is run."""
        from llmcore.routes.media import image_route

        return await self._model_response(image_route, request, timeouts)

    @_takes_requests
    async def transcribe(
        self, request: TranscriptionRequest, *, timeouts: Timeouts | None = None
    ) -> Result[TranscriptionResponse, LLMError]:
        """Return the text of the recording of *request*. No middleware is run."""
        from llmcore.routes.media import transcription_route

        return await self._model_response(transcription_route, request, timeouts)

    @_takes_requests
    async def generate_speech(
        self, request: SpeechRequest, *, timeouts: Timeouts | None = None
    ) -> Result[SpeechResponse, LLMError]:
        """Return the text of *request* spoken. No middleware is run."""
        from llmcore.routes.media import speech_route

        return await self._model_response(speech_route, request, timeouts)

    @_takes_requests
    async def stream_speech(
        self, request: SpeechRequest, *, timeouts: Timeouts | None = None
    ) -> Result[ByteStream, LLMError]:
        """Return the speech of the text of *request*, to be read while it arrives.

        The recording is what `generate_speech` would return as a whole. A ConfigurationError where
        the API answers with a document, as those of Gemini and Mistral do. No middleware is run.
        """

        async def opened() -> ByteStream:
            model = self._model_of(request)
            return await _speech_stream(self.unary, request, model, timeouts)

        return await result_of(opened)

    async def _model_response(
        self, find: _FindRoute[_Request, _Response], request: _Request, timeouts: Timeouts | None
    ) -> Result[_Response, LLMError]:
        async def answered() -> _Response:
            model = self._model_of(request)
            route = find(route_of(model), model.id)
            named = evolve(request, model=model, provider=None)
            loaded = await anyio.to_thread.run_sync(load_unary_files, named)
            return _with_cost(await self.unary.call(route, loaded, timeouts), model, self.models)

        return await result_of(answered)

    def _model_of(self, request: UnaryRequest) -> Model:
        if not isinstance(request, UnaryRequest):
            raise InvalidRequestError(f"{_TAKES}; got {shown_kind(request)}")
        return self._resolved(request.model, request.provider)

    @with_awaited_hints()
    async def upload_file(
        self,
        source: bytes | str | Path,
        *,
        provider: str | None = None,
        filename: str | None = None,
        media_type: str | None = None,
        purpose: str | None = None,
    ) -> Result[StoredFile, LLMError]:
        """Store a file, a path or bytes, at *provider*: OpenAI, Azure, Anthropic, Gemini, Mistral.

        `file.part()` of the result is the part of a message that names it.
        """
        from llmcore.client.files import upload_of

        async def stored() -> StoredFile:
            upload = await upload_of(source, filename, media_type, purpose)
            return await self._files(provider).upload(upload)

        return await result_of(stored)

    @with_awaited_hints()
    async def list_files(
        self, provider: str | None = None
    ) -> Result[tuple[StoredFile, ...], LLMError]:
        """Return the files that *provider* stores for the account."""
        return await result_of(lambda: self._files(provider).list())

    @with_awaited_hints()
    async def delete_file(self, file: StoredFile) -> Result[None, LLMError]:
        """Delete *file*; InvalidRequestError, before sending, if it is another account's."""
        return await result_of(lambda: self._files(file.provider).delete(file))

    @with_awaited_hints()
    async def file_at(
        self, file: StoredFile, provider: str | None = None
    ) -> Result[StoredFile, LLMError]:
        """Return *file* as *provider* has it: itself, or a copy stored there from its `data`.

        InvalidRequestError if it is another provider's or account's and has no `data`.
        """
        return await result_of(lambda: self._files(provider).here(file))

    def _files(self, provider: str | None) -> "Files":
        from llmcore.client.files import Files

        model = self._resolved(PROBE_MODEL, provider or self.default_provider)
        return Files(self.unary, route_of(model))

    def _resolved(self, model: Model | str, provider: str | None) -> Model:
        """Return the configured model; raises ConfigurationError if there is none."""
        return self.resolve(LLMRequest(model=model, provider=provider, messages=())).unwrap()


async def _speech_stream(
    calls: UnaryCalls, request: SpeechRequest, model: Model, timeouts: Timeouts | None
) -> ByteStream:
    """Return *request* spoken by *model*, to be read while it arrives. Raises LLMError."""
    from llmcore.protocols.audio import NOT_RECORDINGS
    from llmcore.routes.media import speech_route

    route = speech_route(route_of(model), model.id)
    if route.protocol.response_kind != "bytes":
        message = f"the API of {model.provider!r} answers with the whole recording: use "
        raise ConfigurationError(message + "generate_speech", provider=model.provider)
    opened = await calls.opened(route, evolve(request, model=model, provider=None), timeouts)
    stated = opened.media_type or ""
    if stated.startswith(NOT_RECORDINGS):
        await opened.aclose()
        message = f"the response is not a recording, but {stated}"
        raise StreamError(message, provider=model.provider, retryable=False)
    return opened


def _with_cost(response: _Response, model: Model, models: "Sequence[ModelInfo]") -> _Response:
    from llmcore.catalog.cost import cost_of  # a data file is behind it

    for name in dict.fromkeys((response.model, model.id)):
        cost = cost_of(model.provider, name, response.usage, models=models)
        if cost is not None:
            return evolve(response, cost=cost)
    return response
