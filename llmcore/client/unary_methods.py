"""Methods of the client that send requests other than generations."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from llmcore.client.byte_stream import ByteStream
from llmcore.client.call_hints import with_awaited_hints
from llmcore.client.configured_models import PROBE_MODEL
from llmcore.client.model_calls import FindRoute, model_response, speech_stream
from llmcore.client.unary import UnaryCalls
from llmcore.routes.route import route_of
from llmcore.routes.transport import Timeouts
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
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.files import StoredFile
from llmcore.schema.hints import shown_kind
from llmcore.schema.images import ImageRequest, ImageResponse
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.unary import UnaryRequest, UnaryResponse

if TYPE_CHECKING:  # these load the catalog's modules, and protocols that few programs use
    from llmcore.catalog.model_info import ModelInfo
    from llmcore.client.files import Files
    from llmcore.protocols.embeddings import EmbeddingProtocol

_Request = TypeVar("_Request", bound=UnaryRequest)
_Response = TypeVar("_Response", bound=UnaryResponse)


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

    async def list_models(
        self, provider: str | None = None, *, timeouts: Timeouts | None = None
    ) -> "Result[tuple[ModelInfo, ...], LLMError]":
        """Return the models that *provider* lists now, with the catalog's facts about them.

        The ids are the provider's, in its order; limits that it states go before the catalog's.
        Without *provider*, those of the default provider. ConfigurationError for a provider that
        is not configured or has no such list.
        """
        resolved = self._resolved(PROBE_MODEL, provider or self.default_provider)
        if isinstance(resolved, Failure):
            return resolved
        from llmcore.client.model_lists import listed_models, with_facts

        model = resolved.value
        listed = await listed_models(self.unary, route_of(model), timeouts)
        return listed.map(
            lambda live: tuple(with_facts(entry, model.provider, self.models) for entry in live)
        )

    async def load_models(
        self, source: str | Path, *, timeouts: Timeouts | None = None
    ) -> "Result[tuple[ModelInfo, ...], LLMError]":
        """Use the models of a file or of an `https://` URL before those of the catalog.

        They have the form of the catalog's own file, `{"models": [...]}`, replace models of the
        same provider and id in `models`, and are returned. Call it again to refresh them. A file
        that cannot be read changes nothing.
        """
        from llmcore.client.model_lists import loaded_models

        loaded = await loaded_models(self.unary, source, timeouts)
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

    def embedding_limits(self, request: EmbeddingRequest) -> "EmbeddingProtocol":
        """Return the API that embeds *request*, with its limits; raises ConfigurationError."""
        from llmcore.routes.retrieval import embedding_protocol

        model = self._resolved(request.model, request.provider).unwrap()
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
        """Return the text of *request* spoken, to be read while it arrives.

        The recording is what `generate_speech` would return as a whole. A ConfigurationError where
        the API answers with a document, as those of Gemini and Mistral do. No middleware is run.
        """
        resolved = self._model_of(request)
        if isinstance(resolved, Failure):
            return resolved
        return await speech_stream(self.unary, request, resolved.value, timeouts)

    async def _model_response(
        self, find: FindRoute[_Request, _Response], request: _Request, timeouts: Timeouts | None
    ) -> Result[_Response, LLMError]:
        resolved = self._model_of(request)
        if isinstance(resolved, Failure):
            return resolved
        return await model_response(
            self.unary, find, request, resolved.value, self.models, timeouts
        )

    def _model_of(self, request: UnaryRequest) -> Result[Model, LLMError]:
        if not isinstance(request, UnaryRequest):
            kind = shown_kind(request)
            return Failure(InvalidRequestError(f"{_TAKES}; got {kind}"))
        return self._resolved(request.model, request.provider)

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

        upload = await upload_of(source, filename, media_type, purpose)
        if isinstance(upload, Failure):
            return upload
        files = self._files(provider)
        return files if isinstance(files, Failure) else await files.value.upload(upload.value)

    async def list_files(
        self, provider: str | None = None
    ) -> Result[tuple[StoredFile, ...], LLMError]:
        """Return the files that *provider* stores for the account."""
        files = self._files(provider)
        return files if isinstance(files, Failure) else await files.value.list()

    async def delete_file(self, file: StoredFile) -> Result[None, LLMError]:
        """Delete *file*; InvalidRequestError, before sending, if it is another account's."""
        files = self._files(file.provider)
        return files if isinstance(files, Failure) else await files.value.delete(file)

    async def file_at(
        self, file: StoredFile, provider: str | None = None
    ) -> Result[StoredFile, LLMError]:
        """Return *file* as *provider* has it: itself, or a copy stored there from its `data`.

        InvalidRequestError if it is another provider's or account's and has no `data`.
        """
        files = self._files(provider)
        return files if isinstance(files, Failure) else await files.value.here(file)

    def _files(self, provider: str | None) -> "Result[Files, LLMError]":
        from llmcore.client.files import Files

        model = self._resolved(PROBE_MODEL, provider or self.default_provider)
        return model.map(lambda resolved: Files(self.unary, route_of(resolved)))

    def _resolved(self, model: Model | str, provider: str | None) -> Result[Model, LLMError]:
        return self.resolve(LLMRequest(model=model, provider=provider, messages=()))
