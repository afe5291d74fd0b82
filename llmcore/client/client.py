"""The client: runs requests and returns results and event streams. It never retries.

Retrying, tool loops and everything else that takes several calls is built on top, in
`llmcore.generation`.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Final, Self, cast

import msgspec
from attrs import evolve

from llmcore.client.call import Call, OnResponse
from llmcore.client.call_hints import with_awaited_hints
from llmcore.client.configured_models import PROBE_MODEL, ConfiguredProviders
from llmcore.client.cost import with_cost
from llmcore.client.counting import counted
from llmcore.client.credentials import Credentials
from llmcore.client.event_stream import EventStream
from llmcore.client.http.http_transport import HttpClient
from llmcore.client.http.options import HttpOptions
from llmcore.client.long_response import LongResponse
from llmcore.client.media_files import load_files
from llmcore.client.middleware.chain import Middleware, Next, checked_middleware, compose
from llmcore.client.preparation import PendingRequest, Preparation, native_request
from llmcore.client.transport import Transport
from llmcore.client.transport_selection import Transports
from llmcore.client.unary import UnaryCalls, result_of
from llmcore.client.unary_methods import UnaryMethods
from llmcore.protocols.protocol import RestOfResponse
from llmcore.routes.auth import TOKEN_TO_COME, NotPickled
from llmcore.routes.providers import ModelSource
from llmcore.routes.route import PreparedRequest, Route, ToolChoiceMode, route_of
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.changed import changed
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError
from llmcore.schema.hints import (
    shown_kind,
    with_call_hints,
    with_checked_arguments,
    with_names_of_others,
)
from llmcore.schema.messages import Message
from llmcore.schema.model import Body_co, Model
from llmcore.schema.options import check_kind
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.token_estimate import TokenCount
from llmcore.schema.unary import UnaryRequest

if TYPE_CHECKING:  # these load the catalog's modules, and protocols that few programs use
    from llmcore.catalog.model_info import ModelInfo


_OF_PROMPTS: Final = "for a prompt call llmcore.generate(model, prompt, client=client)"
_CONFIGURE: Final = "configure the provider: Client(providers={'openai': OpenAI(api_key=...)})"
_OF_CALLS: Final = "it is a setting of a call: generate(model, prompt, max_retries=...)"
takes_requests: Final = with_awaited_hints(
    f"make a request(model=..., prompt=...), or {_OF_PROMPTS}",
    **dict.fromkeys(("model", "prompt", "messages", "input"), _OF_PROMPTS),
)


@with_checked_arguments(
    "with keys in the environment write Client.from_env(), or else "
    "Client(providers={'openai': OpenAI(api_key=...)})",
    **dict.fromkeys(("api_key", "base_url", "organization"), _CONFIGURE),
    model="name it in the call: generate('openai:gpt-5.2', ...)",
    provider="default_provider",
    timeout="timeouts",
    max_retries=_OF_CALLS,
    http_client="http",
    **dict.fromkeys(
        ("proxy", "proxies", "verify", "ca_file", "http2"),
        "write http=HttpOptions(...), of llmcore.client.http.options",
    ),
    **dict.fromkeys(("retries", "retry_policy", "fallbacks"), _OF_CALLS),
    cache="write middleware=[ResponseCache()]",
    **dict.fromkeys(("rate_limit", "rpm"), "write middleware=[RateLimiter(...)]"),
    **dict.fromkeys(("headers", "default_headers"), _CONFIGURE),
)
@with_names_of_others(
    """
    chat messages responses completions invoke run ask
        -> call llmcore.generate(model, prompt, client=client)
    embeddings get_embeddings -> call llmcore.embed(model, text, client=client)
    batches -> write Batches(client), of llmcore.client.batches
    files -> write client.upload_file(...)
    images audio -> see llmcore.generation.media
    with_options copy -> give the setting to the call, such as timeout=...
    __enter__ -> write `async with`, or use llmcore.sync.Client in blocking code
    """
)
class Client(UnaryMethods, NotPickled):
    """Runs requests. Safe for concurrent use, from several tasks, loops and threads.

    It holds connections and no state of any request. Close it, or use it as an
    asynchronous context manager. `Client.from_env()` has all providers whose variables are set.

    - `providers`: by id, where string models are looked up.
    - `default_provider`: for requests that name no provider, neither by `provider=` nor as in
      `openai:gpt-5.2`. Without it, the configured provider is used for which the catalog lists the
      model, or else the request fails. Requests without a model use the provider's newest.
    - `middleware`: functions around each call, the first one outermost.
    - `models`: models of your own and their prices, which take precedence over the catalog's.
    - `http`: `HttpOptions` for HTTP/2, proxies and certificates; or an `httpx.AsyncClient`, or
      anything with its interface, which the caller closes.
    - `transport`: sends every request instead of HTTP, such as a cassette player.
    - `timeouts`: the time limits of calls that set none.
    - `environ`: where keys and base URLs are read, by default `os.environ`.
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
        check_kind(
            "timeouts",
            timeouts,
            (Timeouts, NoneType),
            "a Timeouts, such as Timeouts(total=60)",
            ConfigurationError,
        )
        self.timeouts = timeouts or Timeouts()
        """The time limits of calls that set none, unless the route has its own."""
        self.models = tuple(models)
        self._environ = environ
        self._reads_environment = False
        self._use(ConfiguredProviders.of(providers or {}, default_provider), middleware)
        self._credentials = Credentials(http if isinstance(http, HttpOptions) else HttpOptions())
        self._transports = Transports(http=http, transport=transport, environ=self.environ)
        self._preparation = Preparation(self._credentials, self._transports, self.environ)

    @classmethod
    @with_call_hints(
        "it reads the keys of all providers: leave the arguments out",
        **dict.fromkeys(
            ("api_key", "base_url", "providers", "provider"),
            "it reads them from the environment: else write Client(providers={'openai': "
            "OpenAI(api_key=...)})",
        ),
        timeout="write timeouts=Timeouts(total=...)",
    )
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
        """Return a client of every provider whose variables are set; the first is the default.

        The order is that of `llmcore.routes.providers`. Providers that need no key, such as
        `ollama` and `local`, take models that name them, such as `ollama:llama3.2`. If a request
        names a provider that is not configured, the variables are read again. Raises
        ConfigurationError, naming the variable, for an invalid value.
        """
        from llmcore.client.environment import configured_by  # loads importlib.metadata

        made = cls(
            http=http, transport=transport, timeouts=timeouts, models=models, environ=environ
        )
        made._use(configured_by(made.environ, default_provider), middleware)
        made._reads_environment = True
        return made

    def _use(self, configured: ConfiguredProviders, middleware: Sequence[Middleware]) -> None:
        self._configured = configured
        self.middleware = checked_middleware(middleware, configured.names)
        """The middleware of each call, the outermost first."""

    def __repr__(self) -> str:
        names = [f"{name}*" if name == self.default_provider else name for name in self.providers]
        middleware = f"; {len(self.middleware)} middleware" if self.middleware else ""
        return f"Client({', '.join(names) or 'no providers'}{middleware})"

    @property
    def providers(self) -> Mapping[str, ModelSource]:
        """The providers by their names."""
        return self._configured.by_name

    @property
    def default_provider(self) -> str | None:
        """The provider of models that name none."""
        return self._configured.default

    @default_provider.setter
    def default_provider(self, provider: str | None) -> None:
        self._configured = evolve(self._configured, default=provider)

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment from which keys are read."""
        return os.environ if self._environ is None else self._environ

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close this event loop's connections and stop local servers. Idempotent."""
        await self._transports.aclose()

    async def close(self) -> None:
        """Close the client; the same as `aclose`."""
        await self.aclose()

    @takes_requests
    def prepare(
        self, request: LLMRequest[Body_co], *, streaming: bool = False
    ) -> Result[PreparedRequest[Body_co], LLMError]:
        """Return the exact native request: method, URL, headers, body, diagnostics.

        Nothing is sent. Local files are read. A placeholder replaces a token that would be
        fetched, and for a key that is missing, which a Diagnostic reports.
        """
        resolved = self.resolve(request)
        if isinstance(resolved, Failure):
            return resolved
        try:
            loaded = load_files(request)
            context = evolve(self._preparation.context(TOKEN_TO_COME), shown=True)
            prepared = native_request(
                loaded, resolved.value, streaming=streaming, context=context, models=self.models
            )
        except LLMError as error:
            return Failure(error)
        priced = prepared.map(lambda ready: changed(ready, models=self.models))
        return cast("Result[PreparedRequest[Body_co], LLMError]", priced)

    @takes_requests
    async def count_tokens(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None
    ) -> Result[TokenCount, LLMError]:
        """Return how many input tokens *request* has, counted by its provider where it can.

        Anthropic, OpenAI's Responses, Gemini, Vertex, Bedrock and llama.cpp count, each what
        `generate` would send; of others the count is an estimate and marked as one. Nothing is
        generated, and the providers do not bill it.
        """

        async def count() -> TokenCount:
            model = self.resolve(request).unwrap()
            named = evolve(request, model=model, provider=None)
            return await counted(self.unary, route_of(model), named, self.models, timeouts)

        return await result_of(count)

    @with_call_hints()
    def supports_tool_choice(
        self, mode: ToolChoiceMode, model: Model | str, *, provider: str | None = None
    ) -> bool:
        """Return whether *model* accepts the tool choice *mode* together with function tools.

        By its API and the catalog; settings such as reasoning may still exclude it. Raises
        ConfigurationError for a model that the client cannot resolve.
        """
        resolved = self._resolved(model, provider)
        from llmcore.catalog.lookup import get_model_info  # a data file is behind it

        known = get_model_info(resolved.id, resolved.provider, models=self.models)
        if known is not None and mode not in (known.tool_choice_modes or (mode,)):
            return False
        return route_of(resolved).takes_tool_choice(resolved.id, mode)

    @takes_requests
    async def generate(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None, raw: bool = False
    ) -> Result[LLMResponse, LLMError]:
        """Run *request* and return the response, or the error.

        With *raw*, the response has the native document that it was read from.
        """
        stream = self._call(request, streaming=False, timeouts=timeouts, raw=raw)
        try:
            return await stream.result()
        finally:
            await stream.aclose()

    @takes_requests
    async def complete(
        self, request: LLMRequest, *, timeouts: Timeouts | None = None, raw: bool = False
    ) -> LLMResponse:
        """Run *request* and return the response; raises the error."""
        return (await self.generate(request, timeouts=timeouts, raw=raw)).unwrap()

    @takes_requests
    def stream(
        self,
        request: LLMRequest,
        *,
        timeouts: Timeouts | None = None,
        raw: bool = False,
        on_response: OnResponse | None = None,
    ) -> EventStream:
        """Return the events of *request*; it is sent when the first one is requested.

        With *raw*, each event has the native frame that it was read from, and the response those
        frames. *on_response* may wrap each response before it is read.
        """
        return self._call(
            request, streaming=True, timeouts=timeouts, raw=raw, on_response=on_response
        )

    @takes_requests
    def events(
        self,
        request: LLMRequest,
        *,
        timeouts: Timeouts | None = None,
        raw: bool = False,
        on_response: OnResponse | None = None,
    ) -> EventStream:
        """Return the events of *request*, sent without streaming: all come with the response."""
        return self._call(
            request, streaming=False, timeouts=timeouts, raw=raw, on_response=on_response
        )

    async def initialize(self) -> None:
        """Check the configuration of every provider; nothing is sent to a model.

        Raises ConfigurationError that names every provider whose key is missing, whose URL is
        invalid, or whose token cannot be fetched. Tokens that expire are fetched, which can send
        requests to the services that issue them.
        """
        faults = []
        for name, provider in self.providers.items():
            try:
                await self._check(provider.model(PROBE_MODEL))
            except LLMError as error:
                faults.append(f"{name}: {error.message}")
        if faults:
            raise ConfigurationError("; ".join(faults))

    async def _check(self, model: Model) -> None:
        """Raise the error that a call of *model* would raise before sending."""
        route = route_of(model)
        token = await self._credentials.token(route.auth, self.environ)
        probe = LLMRequest(model=model, messages=(Message.user("?"),))
        route.prepare(probe, streaming=False, context=self._preparation.context(token)).unwrap()

    def timeouts_for(
        self, request: LLMRequest | UnaryRequest, timeout: float | Timeouts | None = None
    ) -> Timeouts:
        """Return the time limits of a call of *request*: its route's, or else the client's.

        *timeout* replaces them, or, as a number of seconds, only `total`.
        """
        if isinstance(timeout, Timeouts):
            return timeout
        if isinstance(request, UnaryRequest):
            request = LLMRequest(model=request.model, provider=request.provider, messages=())
        limits = _limits_of(self.resolve(request)) or self.timeouts
        return limits if timeout is None else evolve(limits, total=timeout)

    def resolve(self, request: LLMRequest) -> Result[Model, LLMError]:
        """Return the configured model of *request*; ConfigurationError if there is none."""
        if not isinstance(request, LLMRequest):
            message = f"the client takes request(model=..., prompt=...), not {shown_kind(request)}"
            hint = "for a prompt call llmcore.generate(model, prompt)"
            return Failure(InvalidRequestError(f"{message}; {hint}"))
        resolved = self._configured.resolve(request, self.models)
        if isinstance(resolved, Success) or not self._reads_environment:
            return resolved
        from llmcore.client.environment import configured_by

        try:  # the variable that the last error named may have been set since, as in a notebook
            now = configured_by(self.environ, None)
        except ConfigurationError as error:
            return Failure(error)
        self._configured = self._configured.with_later(now)
        return self._configured.resolve(request, self.models)

    def _call(
        self,
        request: LLMRequest,
        *,
        streaming: bool,
        timeouts: Timeouts | None,
        raw: bool,
        on_response: OnResponse | None = None,
    ) -> EventStream:
        settings = _CallSettings(streaming, timeouts, raw, on_response)
        if not self.middleware:
            return self._run(settings, request)
        call = Next(
            run=partial(self._run, settings),
            streaming=streaming,
            resolve=self.resolve,
            environ=self.environ,
            models=self.models,
        )
        return compose(self.middleware, call)(request)

    def _run(self, settings: "_CallSettings", request: LLMRequest) -> EventStream:
        """Return the events of *request* and of those for the rest of its response."""
        resolved = self.resolve(request)
        requested = resolved.value.id if isinstance(resolved, Success) else ""
        priced = partial(with_cost, models=self.models, requested=requested)
        rest = None if settings.on_response is not None else _rest_of(resolved)
        if rest is None:
            call = self._asked(settings, resolved, request)
            return EventStream(call, call.accumulator, priced)
        source = LongResponse(request, partial(self._asked, settings, resolved), rest, priced)
        return EventStream(source, source, _as_it_is)

    def _asked(
        self, settings: "_CallSettings", resolved: Result[Model, LLMError], request: LLMRequest
    ) -> Call:
        """Return the call of *request*, whose model is *resolved*."""
        pending = PendingRequest(
            request, resolved, streaming=settings.streaming, models=self.models
        )
        return Call(
            partial(self._preparation.ready, pending),
            settings.timeouts or _limits_of(resolved) or self.timeouts,
            raw=settings.raw,
            on_response=settings.on_response,
        )

    def with_middleware(self, *middleware: Middleware) -> Self:
        """Return a client with *middleware* around this one's, over the same connections.

        It is closed with this one. Raises ConfigurationError for middleware that needs a provider
        that is not configured.
        """
        inner = checked_middleware(middleware, self._configured.names)
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.middleware = (*inner, *self.middleware)
        return other

    @property
    def unary(self) -> UnaryCalls:
        """The sender of requests other than generations, over the client's connections."""
        return UnaryCalls(self._credentials, self._transports, self.environ, self.timeouts)


class _CallSettings(msgspec.Struct, frozen=True):
    """The arguments of a call beside its request."""

    streaming: bool
    timeouts: Timeouts | None
    raw: bool
    on_response: OnResponse | None


def _rest_of(resolved: Result[Model, LLMError]) -> RestOfResponse | None:
    """Return the function that requests the rest of a response, where an API gives it in parts."""
    route = resolved.value.route if isinstance(resolved, Success) else None
    return route.protocol.rest if isinstance(route, Route) else None


def _as_it_is(response: LLMResponse) -> LLMResponse:
    return response


def _limits_of(resolved: Result[Model, LLMError]) -> Timeouts | None:
    """Return the time limits of the route of a model, if it has its own."""
    route = resolved.value.route if isinstance(resolved, Success) else None
    return route.defaults.timeouts if isinstance(route, Route) else None
