"""Unary routes: a unary protocol, an endpoint and an auth, put together like a `Route`.

The framing is always the same: the body is one document. Those to the lists of models and to the
batches of a provider are found by one of its generating routes.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic
from urllib.parse import quote

from attrs import evolve, field

from llmcore.protocols.batches import GEMINI, MISTRAL, OPENAI, BatchProtocol, anthropic_batches
from llmcore.protocols.protocol import (
    NativeRequest,
    Page,
    PageRequest,
    Request,
    Response_co,
    UnaryProtocol,
)
from llmcore.protocols.unary import LiveModel, paged
from llmcore.routes.auth import Auth, AuthContext
from llmcore.routes.defaults import RouteDefaults
from llmcore.routes.endpoint import BaseUrlOf, Endpoint, EndpointContext
from llmcore.routes.http_request import HttpRequest, json_body, sendable, with_query
from llmcore.routes.route import Route, layered
from llmcore.routes.transport_spec import Http, TransportSpec, WebSocket
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import (
    UNSUPPORTED_OPERATION,
    ConfigurationError,
    InvalidRequestError,
    LLMError,
)
from llmcore.schema.frozen import frozen
from llmcore.schema.result import Failure, Result
from llmcore.version import VERSION

_USER_AGENT: Final = f"llmcore/{VERSION}"
_BELOW: Final[Mapping[str, str]] = {"perplexity": "/v1"}
"""Where the unary calls of a provider are, below the base URL of its generations.

Source: the `perplexityai` package, 0.46.1 (`generated/api`).
"""


@frozen(kw_only=True)
class PreparedCall:
    """The exact native request of a unary call, not yet sent."""

    http: HttpRequest
    """The HTTP request, signed."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out or changed."""


@frozen(kw_only=True)
class UnaryRoute(Generic[Request, Response_co]):
    """A way to one operation of a provider."""

    provider: str
    """The provider's id."""
    protocol: UnaryProtocol[Request, Response_co] = field(repr=lambda protocol: protocol.id)
    """Builds the request and reads the response."""
    endpoint: Endpoint
    """The base URL and the query of every request; the protocol has the path."""
    auth: Auth
    """The credentials."""
    transport: TransportSpec = Http()
    """The transport that sends requests."""
    defaults: RouteDefaults = RouteDefaults()
    """Headers, time limits and the like of every request."""

    @staticmethod
    def beside(
        route: Route,
        protocol: UnaryProtocol[Request, Response_co],
        base_url: str | BaseUrlOf | None = None,
    ) -> "UnaryRoute[Request, Response_co]":
        """Return the route of *protocol* at the provider of *route*, configured alike.

        *base_url* replaces that of *route*, for operations that are elsewhere.
        """
        over_http = Http() if isinstance(route.transport, WebSocket) else route.transport
        below = _BELOW.get(route.provider)
        if below is not None and base_url is None:
            base_url = rebased(route, lambda url: url.removesuffix("/") + below)
        return UnaryRoute(
            provider=route.provider,
            protocol=protocol,
            endpoint=evolve(route.endpoint, base_url=base_url or route.endpoint.base_url),
            auth=route.auth,
            transport=over_http,
            defaults=route.defaults,
        )

    def prepare(
        self, operation: Request, *, context: AuthContext
    ) -> Result[PreparedCall, LLMError]:
        """Return the native request of *operation*; nothing is sent."""
        try:
            native = self.protocol.build(operation)
        except LLMError as error:
            error.provider = error.provider or self.provider
            return Failure(error)
        if native.body is None:
            data, diagnostics = native.content, native.diagnostics
        else:
            _, data, replaced = json_body(native.body)
            diagnostics = (*native.diagnostics, *replaced)
        losses = [note for note in diagnostics if note.action != "noted"]
        if losses and getattr(operation, "strict", False):
            text = "; ".join(map(str, losses))
            message = f"strict request cannot be sent as it is: {text}"
            return Failure(InvalidRequestError(message, provider=self.provider))
        where = EndpointContext(
            model_id="", body=native.body or {}, streaming=False, environ=context.environ
        )
        at = evolve(self.endpoint, target=native.path)
        return at.url(where).bind(
            lambda url: (
                sendable(self._unsigned(native, data, url))
                .bind(lambda request: self.auth.sign(request, context))
                .map(lambda http: PreparedCall(http=http, diagnostics=diagnostics))
            )
        )

    def _unsigned(self, native: NativeRequest, body: bytes, url: str) -> HttpRequest:
        content = {"content-type": native.content_type} if body else {}
        accepted = "*/*" if self.protocol.response_kind == "bytes" else "application/json"
        defaults = {"accept": accepted, "user-agent": _USER_AGENT}
        headers = layered(
            defaults, content, self.defaults.headers, native.headers, self.defaults.http.headers
        )
        query = {**native.query, **self.defaults.http.query}
        return HttpRequest(
            method=native.method, url=with_query(url, query), headers=headers, body=body
        )


# -- beside a generating route


def of_model(
    route: Route[Any], protocol: UnaryProtocol[Request, Response_co], model_id: str
) -> UnaryRoute[Request, Response_co]:
    """Return the route of *protocol* for a model: below its deployment, in Azure's dated versions.

    See https://learn.microsoft.com/azure/foundry/openai/reference.
    """
    if route.provider != "azure" or "api-version" not in route.endpoint.query:
        return UnaryRoute.beside(route, protocol)
    below = f"/deployments/{quote(model_id, safe='')}"
    return UnaryRoute.beside(route, protocol, rebased(route, lambda url: url + below))


def missing(route: Route[Any], what: str) -> ConfigurationError:
    """Return the error of a provider without the operation *what*."""
    message = f"the provider {route.provider!r} has no {what}"
    return ConfigurationError(message, provider=route.provider, error_code=UNSUPPORTED_OPERATION)


def rebased(route: Route[Any], change: Callable[[str], str]) -> str | BaseUrlOf | None:
    """Return the base URL of *route* changed by *change*, also where the environment decides."""
    base_url = route.endpoint.base_url
    if callable(base_url):
        made = base_url

        def changed_base(environ: Mapping[str, str]) -> str:
            return change(made(environ))

        return changed_base
    return None if base_url is None else change(base_url)


# -- lists of models

_OPENAI_MODELS: Final = paged("openai-models", "/models")
_GEMINI_MODELS: Final = paged("gemini-models", "/models", size="pageSize", mark="pageToken")
_BEDROCK_MODELS: Final = paged("bedrock-models", "/foundation-models")
_COHERE_MODELS: Final = paged("cohere-models", "/v1/models", size="page_size", mark="page_token")


def model_list_route(route: Route[Any]) -> UnaryRoute[PageRequest, Page[LiveModel]]:
    """Return the route to the list of models, beside a generating *route* and configured alike.

    ConfigurationError for providers without a list of the models that an account can call.
    """
    if route.provider == "vertex" or route.provider.startswith("cloudflare"):
        message = f"the provider {route.provider!r} has no list of the models that can be called"
        raise ConfigurationError(message, provider=route.provider)
    if route.provider == "cohere":
        return UnaryRoute.beside(route, _COHERE_MODELS)
    match route.protocol.family:
        case "anthropic":
            path = messages_path(route, "/models")
            protocol = paged("anthropic-models", path, size="limit", mark="after_id")
            return UnaryRoute.beside(route, protocol)
        case "google":
            return UnaryRoute.beside(route, _GEMINI_MODELS)
        case "bedrock":
            control = rebased(route, lambda url: url.replace("://bedrock-runtime.", "://bedrock."))
            return UnaryRoute.beside(route, _BEDROCK_MODELS, control)
        case _:
            return UnaryRoute.beside(route, _OPENAI_MODELS)


def messages_path(route: Route[Any], path: str) -> str:
    """Return *path* where the Messages API of *route* has it: below `/v1`, once."""
    target = route.endpoint.target
    prefix = target.removesuffix("/messages") if isinstance(target, str) else ""
    return prefix + path


# -- batches

_WITHOUT_BATCHES: Final = (
    "azure", "vertex", "openrouter", "github-copilot", "local",
    "fireworks", "perplexity", "together",
)  # fmt: skip
"""Providers without batches, or with those of another form.

Fireworks has batches below accounts, Perplexity those of Responses, and Together takes their files
by an upload of its own: the packages `fireworks-ai` 1.2.30, `perplexityai` 0.46.1 and `together`
3.1.1.
"""


def batch_protocol(route: Route[Any]) -> BatchProtocol:
    """Return the batches of the provider of *route*; ConfigurationError if it has none."""
    if route.provider == "mistral":
        return MISTRAL
    if route.provider not in _WITHOUT_BATCHES and not route.provider.startswith("cloudflare"):
        match route.protocol.family:
            case "anthropic":
                return anthropic_batches(messages_path(route, "/messages/batches"))
            case "google":
                return GEMINI
            case "openai":
                return OPENAI
    raise ConfigurationError(
        f"no batches are known for {route.protocol.id} of {route.provider!r}: run the requests "
        "with generate_many",
        provider=route.provider,
    )
