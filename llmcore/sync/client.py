"""The blocking client."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from llmcore.client import client as asynchronous
from llmcore.client.configured_models import ModelSource
from llmcore.client.http.options import HttpOptions
from llmcore.client.http.transport import HttpClient
from llmcore.client.middleware.chain import Middleware
from llmcore.client.transport import Transport
from llmcore.routes.route import PreparedRequest, ToolChoiceMode
from llmcore.routes.transport import Timeouts
from llmcore.schema.errors import LLMError
from llmcore.schema.files import StoredFile
from llmcore.schema.model import Body_co, Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result
from llmcore.schema.token_estimate import TokenCount
from llmcore.sync.background import background
from llmcore.sync.streams import EventStream

if TYPE_CHECKING:  # loads the catalog's modules
    from llmcore.catalog.model_info import ModelInfo


class Client:
    """Runs requests and waits for them: `llmcore.Client`, whose arguments it takes, blocking.

    Safe for concurrent use from several threads, and inside of a running event loop. Close it,
    or use it as a context manager.
    """

    def __init__(
        self,
        *,
        providers: Mapping[str, ModelSource] | None = None,
        default_provider: str | None = None,
        middleware: Sequence[Middleware] = (),
        http: HttpClient | HttpOptions | None = None,
        transport: Transport | None = None,
        timeouts: Timeouts | None = None,
        models: "Sequence[ModelInfo]" = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.asynchronous = asynchronous.Client(
            providers=providers,
            default_provider=default_provider,
            middleware=middleware,
            http=http,
            transport=transport,
            timeouts=timeouts,
            models=models,
            environ=environ,
        )
        """The asynchronous client behind this one.

        It can be used directly, with the same settings.
        """

    @classmethod
    def of(cls, client: asynchronous.Client) -> Self:
        """Return a blocking view of *client*."""
        view = cls.__new__(cls)
        view.asynchronous = client
        return view

    @classmethod
    def from_env(
        cls,
        *,
        default_provider: str | None = None,
        middleware: Sequence[Middleware] = (),
        http: HttpClient | HttpOptions | None = None,
        transport: Transport | None = None,
        timeouts: Timeouts | None = None,
        models: "Sequence[ModelInfo]" = (),
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """Return a client of every provider whose variables are set; the first is the default."""
        return cls.of(
            asynchronous.Client.from_env(
                default_provider=default_provider,
                middleware=middleware,
                http=http,
                transport=transport,
                timeouts=timeouts,
                models=models,
                environ=environ,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and stop what was started. Idempotent."""
        background().run(self.asynchronous.aclose)

    def initialize(self) -> None:
        """Check the configuration of every provider; nothing is sent to a model."""
        background().run(self.asynchronous.initialize)

    def prepare(
        self, request: LLMRequest[Body_co], *, streaming: bool = False
    ) -> Result[PreparedRequest[Body_co], LLMError]:
        """Return the exact native request: method, URL, headers, body, diagnostics."""
        return self.asynchronous.prepare(request, streaming=streaming)

    def supports_tool_choice(
        self, mode: ToolChoiceMode, model: Model | str, *, provider: str | None = None
    ) -> bool:
        """Return whether *model* accepts the tool choice *mode*."""
        return self.asynchronous.supports_tool_choice(mode, model, provider=provider)

    def generate(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None, raw: bool = False
    ) -> Result[LLMResponse, LLMError]:
        """Run *request* and return the response, or the error."""
        return background().run(
            lambda: self.asynchronous.generate(request, timeouts=timeouts, raw=raw)
        )

    def complete(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None, raw: bool = False
    ) -> LLMResponse:
        """Run *request* and return the response; raises the error."""
        return background().run(
            lambda: self.asynchronous.complete(request, timeouts=timeouts, raw=raw)
        )

    def count_tokens(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None
    ) -> Result[TokenCount, LLMError]:
        """Return how many input tokens *request* has, counted by its provider where it can."""
        return background().run(lambda: self.asynchronous.count_tokens(request, timeouts=timeouts))

    def list_models(
        self, provider: str | None = None, *, timeouts: Timeouts | None = None
    ) -> "Result[tuple[ModelInfo, ...], LLMError]":
        """Return the models that *provider* lists now, with what the catalog knows of them."""
        return background().run(lambda: self.asynchronous.list_models(provider, timeouts=timeouts))

    def load_models(
        self, source: str | Path, *, timeouts: Timeouts | None = None
    ) -> "Result[tuple[ModelInfo, ...], LLMError]":
        """Use the models of a file or of an `https://` URL before those of the catalog."""
        return background().run(lambda: self.asynchronous.load_models(source, timeouts=timeouts))

    def upload_file(
        self,
        source: bytes | str | Path,
        *,
        provider: str | None = None,
        filename: str | None = None,
        media_type: str | None = None,
        purpose: str | None = None,
    ) -> Result[StoredFile, LLMError]:
        """Store a file, a path or bytes, at *provider*."""
        return background().run(
            lambda: self.asynchronous.upload_file(
                source,
                provider=provider,
                filename=filename,
                media_type=media_type,
                purpose=purpose,
            )
        )

    def list_files(self, provider: str | None = None) -> Result[tuple[StoredFile, ...], LLMError]:
        """Return the files that *provider* stores for the account."""
        return background().run(lambda: self.asynchronous.list_files(provider))

    def delete_file(self, file: StoredFile) -> Result[None, LLMError]:
        """Delete *file*."""
        return background().run(lambda: self.asynchronous.delete_file(file))

    def stream(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None, raw: bool = False
    ) -> EventStream:
        """Return the events of *request*, which is sent when the first event is read."""
        return EventStream(self.asynchronous.stream(request, timeouts=timeouts, raw=raw))

    def events(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None, raw: bool = False
    ) -> EventStream:
        """Return the events of *request*, sent without streaming: all come with the response."""
        return EventStream(self.asynchronous.events(request, timeouts=timeouts, raw=raw))
