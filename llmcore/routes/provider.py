"""Provider: routes under one id, for providers that need no settings of their own.

    acme = Provider.make(id="acme", routes=[chat_route, responses_route])

    model = acme.model("acme-1")                              # over the first route
    model = acme.route("acme-responses").model("acme-1")      # over another one

A provider with keys, regions or versions to configure is a facade instead: a
`ConfigurableProvider`, such as `ChatProvider`.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Final, ParamSpec, Self, TypeVar

from llmcore.routes.auth import NotPickled
from llmcore.routes.route import Route
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import Elsewhere, with_call_hints, with_checked_arguments, with_hints
from llmcore.schema.model import Model

_OF_MODELS: Final = "its models have it, such as those of .model('ID')"

_CALL: Final = "write llmcore.generate(model, prompt), or llmcore.sync.generate"
_OF_SDKS: Final = {
    "chat": ("completions", "create", "send_message"),
    "responses": ("create", "parse", "stream"),
    "messages": ("create", "stream"),
}
"""The attributes of these methods in SDKs, as in `client.chat.completions`."""

_OF_CALLS: Final = "it is a setting of calls, such as generate(model, prompt, {}=...)"
_with_checked_arguments: Final = with_checked_arguments(
    **dict.fromkeys(("key", "token"), "api_key"),
    **dict.fromkeys(("api_base", "host", "url", "azure_endpoint", "endpoint"), "base_url"),
    **dict.fromkeys(("aws_region", "region_name", "location"), "region"),
    **{name: _OF_CALLS.format(name) for name in ("timeout", "max_retries", "temperature")},
    default_headers="headers",
    default_query="query",
    model="name it by its method model('ID')",
    http_client="give it to the client: Client(http=...)",
    **dict.fromkeys(
        ("proxy", "proxies", "verify", "ssl_verify", "ca_bundle", "cert"),
        "give it to the client: Client(http=HttpOptions(proxy=..., ca_file=...))",
    ),
    **dict.fromkeys(("auth_token", "bearer_token"), "write auth=Auth.bearer(...)"),
    **dict.fromkeys(
        ("aws_access_key_id", "aws_access_key"),
        "AWS credentials are those of the environment, or of profile=...",
    ),
    **dict.fromkeys(("project", "vertexai"), "write Vertex(project=..., location=...)"),
)

_with_model_hints: Final = with_call_hints(
    "write .generate(prompt, ...) of the model it returns",
    model="model_id",
    **dict.fromkeys(
        ("messages", "input", "temperature", "max_tokens", "stream", "tools", "api_key"),
        "give it the model's id alone: llmcore.generate(provider.model('ID'), prompt, ...)",
    ),
)

P = ParamSpec("P")
Made = TypeVar("Made")


def _configure_like(kind: type) -> Callable[..., object]:
    """Return `configure` with the signature and the docstring of *kind*, which `help` shows."""

    def configure(cls: Callable[..., Made], *args: object, **settings: object) -> Made:
        return cls(*args, **settings)

    signature = inspect.signature(kind.__init__)  # type: ignore[misc]
    configure.__signature__ = signature.replace(return_annotation=Self)  # type: ignore[attr-defined]
    configure.__doc__ = kind.__init__.__doc__  # type: ignore[misc]
    return configure


_OF_MEDIA: Final = ", of llmcore.generation.media or llmcore.sync"


@with_hints(
    **dict.fromkeys(("complete", "generate", "stream", "invoke", "run"), _OF_MODELS),
    **dict.fromkeys(
        ("chat", "completions", "messages", "responses"),
        "write llmcore.generate(provider.model('ID'), prompt), or llmcore.sync.generate",
    ),
    **dict.fromkeys(
        ("embeddings", "embedding", "embed"), "write llmcore.embed(provider.model('ID'), text)"
    ),
    beta="what it has in an SDK is in the methods without `beta` here",
    audio="use transcribe(provider.model('ID'), file) or generate_speech" + _OF_MEDIA,
    images="use generate_image(provider.model('ID'), prompt)" + _OF_MEDIA,
    chats="hold an llmcore.Conversation: chat.generate(provider.model('ID'), prompt)",
    caches="write CachedContents(client), of llmcore.client.cached_contents",
    aio="llmcore.generate and the others are awaited; those of llmcore.sync block",
    with_options="give timeout=..., max_retries=... to each call, or Client(timeouts=...)",
    batches="write Batches(client).submit(requests)",
    files="write client.upload_file(...)",
    GenerativeModel="a model is `.model('ID')`",
    models="a model is `.model('ID')`; `client.list_models(...)` lists those of a provider",
)
class ConfigurableProvider(NotPickled):
    """The base of facades: frozen classes whose arguments are settings, not their fields.

    A facade is decorated with `@frozen(init=False)`, and its `__init__` sets the fields.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Have wrong calls of the facade explained, also those of the vendor's SDK."""
        if "__init__" in vars(cls):
            _with_checked_arguments(cls)
            setattr(cls, "configure", classmethod(_configure_like(cls)))  # noqa: B010  (typed below)
        for name in ("chat", "responses", "messages", "model"):
            if name in vars(cls):
                setattr(cls, name, _with_model_hints(vars(cls)[name]))
        for name, attributes in _OF_SDKS.items():
            for path in attributes if name in vars(cls) else ():
                elsewhere = Elsewhere(f"{cls.__name__}().{name}.{path}", _CALL)
                setattr(vars(cls)[name], path, elsewhere)

    @classmethod
    def configure(cls: Callable[P, Made], *args: P.args, **settings: P.kwargs) -> Made:
        """Return the configured provider: the class called with the same settings."""
        return cls(*args, **settings)

    def _set_fields(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)  # the class is frozen


@frozen(kw_only=True)
class Provider:
    """A provider whose routes are fixed."""

    id: str
    """The provider's id."""
    routes: tuple[Route, ...]
    """The routes; the first is the default."""

    @classmethod
    def make(cls, *, id: str, routes: Sequence[Route]) -> Self:
        """Return the provider *id*; ConfigurationError for no routes, or another provider's."""
        if not routes:
            raise ConfigurationError(f"the provider {id!r} needs at least one route", provider=id)
        foreign = next((route for route in routes if route.provider != id), None)
        if foreign is not None:
            message = (
                f"the route {foreign.id!r} is of the provider {foreign.provider!r}, not {id!r}"
            )
            raise ConfigurationError(message, provider=id)
        ids = [route.id for route in routes]
        if len(set(ids)) < len(ids):
            message = f"two routes have the same id: {', '.join(ids)}"
            raise ConfigurationError(message, provider=id)
        return cls(id=id, routes=tuple(routes))

    def route(self, route_id: str) -> Route:
        """Return the route *route_id*; ConfigurationError if there is none."""
        for route in self.routes:
            if route.id == route_id:
                return route
        known = ", ".join(route.id for route in self.routes)
        message = f"the provider {self.id!r} has no route {route_id!r} (there are: {known})"
        raise ConfigurationError(message, provider=self.id)

    def model(self, model_id: str) -> Model:
        """Return the model *model_id*, reached over the first route."""
        return self.routes[0].model(model_id)
