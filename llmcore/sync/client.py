"""The blocking client, and the contents that its providers keep processed."""

from typing import Any, Final, Self

from llmcore.client import cached_contents
from llmcore.client import client as asynchronous
from llmcore.client.client import takes_requests
from llmcore.routes.route import PreparedRequest, ToolChoiceMode
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import LLMError
from llmcore.schema.hints import with_hints, with_names_of_others
from llmcore.schema.model import Body_co, Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result
from llmcore.sync.background import blocking_method, method_with_parameters_of
from llmcore.sync.streams import EventStream

_CALLS: Final = "call llmcore.sync.{}(..., client=client)"


@with_hints(
    **dict.fromkeys(
        ("chat", "messages", "responses", "completions", "invoke", "run", "ask"),
        "call llmcore.sync.generate(model, prompt, client=client)",
    ),
    models="write client.list_models(provider)",
    batches="write Batches(client.asynchronous), of llmcore.client.batches",
    files="write client.upload_file(...)",
    **{name: _CALLS.format(name) for name in ("embed", "rerank", "transcribe", "generate_image")},
)
@with_names_of_others(__aenter__="write `with`: llmcore.sync is blocking, llmcore.Client is not")
class Client:
    """Runs requests and waits for them: `llmcore.Client`, whose arguments it takes, blocking.

    Safe for concurrent use from several threads, and inside of a running event loop. Close it,
    or use it as a context manager.
    """

    @method_with_parameters_of(asynchronous.Client)
    def __init__(self, *args: Any, **settings: Any) -> None:
        self.asynchronous = asynchronous.Client(*args, **settings)
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
    @method_with_parameters_of(asynchronous.Client.from_env)
    def from_env(cls, *args: Any, **settings: Any) -> Self:
        """Return a client of every provider whose variables are set; the first is the default."""
        return cls.of(asynchronous.Client.from_env(*args, **settings))

    def __repr__(self) -> str:
        return f"sync.{self.asynchronous!r}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    close = blocking_method(asynchronous.Client.aclose)
    """Close the connections and stop what was started. Idempotent."""
    initialize = blocking_method(asynchronous.Client.initialize)
    """Check the configuration of every provider; nothing is sent to a model."""

    @takes_requests
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

    generate = blocking_method(asynchronous.Client.generate)
    """Run a request and return the response, or the error."""
    complete = blocking_method(asynchronous.Client.complete)
    """Run a request and return the response; raises the error."""
    count_tokens = blocking_method(asynchronous.Client.count_tokens)
    """Return how many input tokens a request has, counted by its provider where it can."""
    list_models = blocking_method(asynchronous.Client.list_models)
    """Return the models that a provider lists now, with the catalog's facts about them."""
    load_models = blocking_method(asynchronous.Client.load_models)
    """Use the models of a file or of an `https://` URL before those of the catalog."""
    upload_file = blocking_method(asynchronous.Client.upload_file)
    """Store a file, a path or bytes, at a provider."""
    list_files = blocking_method(asynchronous.Client.list_files)
    """Return the files that a provider stores for the account."""
    delete_file = blocking_method(asynchronous.Client.delete_file)
    """Delete a file."""

    @takes_requests
    def stream(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None, raw: bool = False
    ) -> EventStream:
        """Return the events of *request*, which is sent when the first event is read."""
        return EventStream(self.asynchronous.stream(request, timeouts=timeouts, raw=raw))

    @takes_requests
    def events(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None, raw: bool = False
    ) -> EventStream:
        """Return the events of *request*, sent without streaming: all come with the response."""
        return EventStream(self.asynchronous.events(request, timeouts=timeouts, raw=raw))


class CachedContents:
    """The cached contents of the accounts of *client*: `client.cached_contents`, blocking."""

    def __init__(self, client: Client, model: Model | None = None) -> None:
        self.asynchronous = cached_contents.CachedContents(client.asynchronous, model)
        """The asynchronous ones behind these."""

    def __repr__(self) -> str:
        return f"sync.{self.asynchronous!r}"

    create = blocking_method(cached_contents.CachedContents.create)
    """Keep the messages, the system prompt and the tools of a request for its model."""
    list = blocking_method(cached_contents.CachedContents.list)
    """Return the cached contents of the account at a provider."""
    get = blocking_method(cached_contents.CachedContents.get)
    """Return a cached content of a provider by its name."""
    update = blocking_method(cached_contents.CachedContents.update)
    """Keep a content for a time from now on, and return it as it is then."""
    delete = blocking_method(cached_contents.CachedContents.delete)
    """Delete a content."""
