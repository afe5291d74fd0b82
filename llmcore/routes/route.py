"""Route: a protocol, an endpoint, an auth and a framing, composed and ready to run.

Each of the four answers its own question and can be replaced alone:

    Protocol   what is exchanged
    Endpoint   where
    Auth       as whom
    Framing    how bytes become frames
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import datetime
from reprlib import Repr
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

import msgspec
from attrs import evolve, field

from llmcore.protocols.protocol import Built, Protocol
from llmcore.protocols.tools import fit_tool_names
from llmcore.routes.auth import NO_KEY, Auth, AuthContext, NotPickled
from llmcore.routes.base_url import BaseUrlVariable
from llmcore.routes.defaults import RouteDefaults
from llmcore.routes.endpoint import Endpoint, EndpointContext, PathOf, shown_base_url
from llmcore.routes.framing import Framing
from llmcore.routes.http_request import HttpRequest, json_body, sendable, with_query
from llmcore.routes.providers import unknown_option_keys
from llmcore.routes.transport_spec import Http, TransportSpec
from llmcore.schema import json
from llmcore.schema.changed import changed, copying
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    LLMError,
    UnsupportedToolChoiceError,
)
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind
from llmcore.schema.json import JsonObject, ProviderMetadata, without
from llmcore.schema.messages import Message
from llmcore.schema.model import Body_co, Model, checked_model_id
from llmcore.schema.options import merge_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.secret_names import redacted_json
from llmcore.schema.token_estimate import TokenCount
from llmcore.schema.tools import ToolChoice, ToolDefinition
from llmcore.version import VERSION

if TYPE_CHECKING:  # a data file is behind them
    from llmcore.catalog.estimate import RequestEstimate
    from llmcore.catalog.model_info import ModelInfo

ToolChoiceMode: TypeAlias = Literal["auto", "none", "required", "named"]

_PROBE: Final = ToolDefinition(name="probe", description="", parameters={"type": "object"})

CANNOT_COUNT: Final = "cannot-count"
"""The error code of a route that cannot count tokens."""

_JOINED_HEADERS = frozenset({"anthropic-beta", "openai-beta"})
"""Headers that are lists: those of defaults, features and callers are joined."""

_SIGNATURES: Final = 16
"""The number of signed requests that a route keeps."""
_with_body: Final = copying(HttpRequest, "url", "body")

_SHORT: Final = Repr()
_SHORT.maxlevel = 20
_SHORT.maxstring = 200
_SHORT.maxdict = _SHORT.maxlist = 100
"""Shortens long texts of a body, such as images in base64."""


@frozen(kw_only=True)
class PreparedRequest(Generic[Body_co]):
    """The exact native request, not yet sent."""

    http: HttpRequest
    """The HTTP request, signed."""
    body: Body_co = field(repr=lambda body: _SHORT.repr(redacted_json(body)))
    """The native body, as it is in `http.body`."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out, changed or added."""
    streaming: bool
    """Whether the response is requested as a stream."""
    request: LLMRequest = field(repr=False)
    """The request with the route's defaults applied."""
    models: "Sequence[ModelInfo]" = field(default=(), repr=False, eq=False)
    """The own models of the client that prepared it, whose prices `estimate` takes first."""

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.http.method

    @property
    def url(self) -> str:
        """The URL, secrets redacted."""
        return self.http.safe_url

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, secrets redacted; the real ones are in `http.headers`."""
        return self.http.safe_headers

    def estimate(
        self,
        count: TokenCount | None = None,
        *,
        models: "Sequence[ModelInfo] | None" = None,
        at: datetime | None = None,
    ) -> "RequestEstimate":
        """Return the tokens of the request and what they cost at list prices; nothing is sent.

        Without *count*, which `client.count_tokens` returns, the tokens are estimated. *models*,
        your own, go before those of the catalog; None takes those of the client that prepared the
        request. *at* matters where prices change with the hour.
        """
        from llmcore.catalog.estimate import estimate_of  # reads a data file

        model = self.request.model
        route = model.route if isinstance(model, Model) else None
        window = route.defaults.limits.context if isinstance(route, Route) else None
        known_models = self.models if models is None else models
        return estimate_of(self.request, count=count, window=window, models=known_models, at=at)


def _without(
    built: Built[Body_co], rejected: Collection[str], diagnostics: tuple[Diagnostic, ...]
) -> Built[Body_co]:
    """Return *built* without the *rejected* fields, with *diagnostics* before its own."""
    body = cast("JsonObject", built.body)
    dropped = [name for name in rejected if name in body]
    if not (dropped or diagnostics):
        return built
    left_out = (
        Diagnostic(
            "rejected-field",
            name,
            action="noted",
            message=f"the server rejected {name}, so it is sent without it",
        )
        for name in dropped
    )
    return evolve(
        built,
        body=cast("Body_co", without(body, *dropped)),
        diagnostics=(*diagnostics, *built.diagnostics, *left_out),
    )


class _Signed(msgspec.Struct, frozen=True):
    request: HttpRequest
    diagnostics: tuple[Diagnostic, ...] = ()


_OtherBody = TypeVar("_OtherBody", bound=Mapping[str, Any])


class RouteChanges(TypedDict, total=False):
    """The fields that `Route.with_` can replace, besides the protocol."""

    id: str
    provider: str
    endpoint: Endpoint
    auth: Auth
    framing: Framing
    transport: TransportSpec
    defaults: RouteDefaults


def _is_auth(_route: "Route[Any]", _attribute: object, auth: Any) -> None:
    if not isinstance(auth, Auth):
        rule = "auth is an Auth such as Auth.bearer(key)"  # its value may be a key
        raise ConfigurationError(f"{rule}, not {shown_kind(auth)}: a key alone is api_key")


@frozen(kw_only=True)
class Route(NotPickled, Generic[Body_co]):
    """A way to a provider's models."""

    id: str
    """The name of the route."""
    provider: str
    """The provider's id."""
    protocol: Protocol[Body_co, Any, Any]
    """The API: builds bodies and reads responses."""
    endpoint: Endpoint
    """The address."""
    auth: Auth = field(validator=_is_auth)
    """The credentials."""
    framing: Framing
    """How bytes are split into frames."""
    transport: TransportSpec = Http()
    """The transport that sends requests."""
    defaults: RouteDefaults = RouteDefaults()
    """Defaults of every request."""
    _signatures: dict[Hashable, HttpRequest] = field(factory=dict, init=False, eq=False, repr=False)
    """Signed requests without bodies, by everything that their headers depend on."""

    def __repr__(self) -> str:
        address = self.endpoint.base_url
        shown = isinstance(address, str | BaseUrlVariable)
        at = f", base_url={shown_base_url(address)}" if shown else ""
        return f"Route({self.id!r}, provider={self.provider!r}, protocol={self.protocol.id}{at})"

    @staticmethod
    def make(
        *,
        id: str,
        provider: str,
        protocol: Protocol[_OtherBody, Any, Any],
        endpoint: Endpoint,
        auth: Auth | None = None,
        framing: Framing | None = None,
        transport: TransportSpec | None = None,
        defaults: RouteDefaults | None = None,
    ) -> "Route[_OtherBody]":
        """Compose a route; without an auth it signs nothing, without a framing it reads SSE."""
        return Route(
            id=id,
            provider=provider,
            protocol=protocol,
            endpoint=endpoint,
            auth=Auth.none() if auth is None else auth,
            framing=framing or Framing.sse(),
            transport=transport or Http(),
            defaults=defaults or RouteDefaults(),
        )

    @overload
    def with_(self, **changes: Unpack[RouteChanges]) -> Self: ...
    @overload
    def with_(
        self, *, protocol: Protocol[_OtherBody, Any, Any], **changes: Unpack[RouteChanges]
    ) -> "Route[_OtherBody]": ...
    def with_(self, **changes: Any) -> "Route[Any]":
        """Return a new route that differs in *changes*."""
        return evolve(self, **changes)

    def model(self, model_id: str) -> Model[Body_co]:
        """Return the model *model_id* behind this route; ConfigurationError if it is not an id."""
        return Model(checked_model_id(model_id), self.provider, route=self)

    def takes_tool_choice(self, model_id: str, mode: ToolChoiceMode) -> bool:
        """Return whether the API can tell the model *model_id* the tool choice *mode*.

        The protocol builds a request with one function tool and nothing else: other settings, such
        as thinking, may rule a choice out.
        """
        choice = ToolChoice(mode, _PROBE.name if mode == "named" else None)
        probe = LLMRequest(
            model=self.model(model_id),
            messages=(Message.user("?"),),
            tools=(_PROBE,),
            tool_choice=choice,
        )
        match self.protocol.body.build(self.defaults.applied_to(probe), False):
            case Success(built):
                dropped = {note.path for note in built.diagnostics if note.action == "dropped"}
                return "tool_choice" not in dropped
            case Failure(error):
                return not isinstance(error, UnsupportedToolChoiceError)

    def prepare(
        self,
        request: LLMRequest,
        *,
        streaming: bool,
        context: AuthContext,
        rejected: Collection[str] = (),
    ) -> Result[PreparedRequest[Body_co], LLMError]:
        """Return the native request of *request*; nothing is sent.

        With `request.strict`, anything lost, changed or invented is an InvalidRequestError. Of the
        body's optional fields, those that the server has *rejected* before are left out.
        """
        effective, diagnostics = self._limited(self.defaults.applied_to(request))
        if effective.cache.content is not None:
            try:
                effective.cache.content.check_use(self.provider, effective.model_id)
            except InvalidRequestError as error:
                return Failure(error)
        fitted = fit_tool_names(effective, self.protocol.tool_names)
        unknown = unknown_option_keys(effective, self.provider, self.protocol.metadata_key)
        diagnostics = (*unknown, *diagnostics, *fitted.diagnostics)
        built = self.protocol.body.build(fitted.request, streaming)
        if isinstance(built, Success):
            body = _without(built.value, rejected, diagnostics)
            composed = self._compose(effective, body, streaming, context)
            if isinstance(composed, Success):
                return composed
            built = composed
        return built.alt(self._of_provider)

    def prepare_count(
        self, request: LLMRequest, context: AuthContext
    ) -> Result[HttpRequest, LLMError]:
        """Return what counts the tokens of *request*, built from the body of its response.

        ConfigurationError with the code CANNOT_COUNT if the API cannot count.
        """
        counting = self.protocol.count_tokens
        cannot = ConfigurationError(f"{self.id} cannot count", error_code=CANNOT_COUNT)
        if counting is None:
            return Failure(cannot)
        unsigned = evolve(self, auth=Auth.none())
        prepared = unsigned.prepare(request, streaming=False, context=context)
        if isinstance(prepared, Failure):
            return prepared
        native = prepared.value
        body = cast("JsonObject", native.body)
        counted = counting.request(native.http.url, body, request.model_id)
        if counted is None:
            return Failure(cannot)
        http = evolve(native.http, url=counted[0], body=json.dumps(counted[1]))
        return self._signed(http, context).map(lambda signed: signed.request)

    def _limited(self, request: LLMRequest) -> tuple[LLMRequest, tuple[Diagnostic, ...]]:
        """Return *request*, `max_tokens` lowered to the route's limits, and a note of that."""
        wanted = request.generation.max_tokens
        most = None if wanted is None else self.defaults.limits.most_output
        if wanted is None or most is None or wanted <= most:
            return request, ()
        lowered = changed(request, generation=evolve(request.generation, max_tokens=most))
        message = f"max_tokens lowered from {wanted} to the {most} that the route allows"
        return lowered, (
            Diagnostic(
                "max-tokens-lowered", "generation.max_tokens", action="changed", message=message
            ),
        )

    def resume(
        self, cut: PreparedRequest[Body_co], cursor: ProviderMetadata, context: AuthContext
    ) -> Result[PreparedRequest[Body_co], LLMError]:
        """Return the request for the rest of the response to *cut*, from *cursor* on.

        ConfigurationError where the protocol has no such thing, InvalidRequestError where this
        response cannot be resumed.
        """
        machine = self.protocol.stream
        if machine.resume is None:
            message = f"{self.protocol.id} cannot stream the rest of a response again"
            return Failure(ConfigurationError(message, provider=self.provider))
        try:
            rest = machine.resume(cursor)
        except LLMError as error:
            return Failure(self._of_provider(error))
        where = EndpointContext(
            model_id=cut.request.model_id, body=cut.body, streaming=True, environ=context.environ
        )
        kept = ("accept", "user-agent", *(name.lower() for name in self.defaults.headers))
        headers = {name: cut.http.headers[name] for name in kept if name in cut.http.headers}

        def finish(url: str) -> Result[PreparedRequest[Body_co], LLMError]:
            unsigned = HttpRequest(method="GET", url=with_query(url, rest.query), headers=headers)
            signed = self._signed(unsigned, context)
            return signed.map(lambda done: evolve(cut, http=done.request))

        return evolve(self.endpoint, target=f"/{rest.path}").url(where).bind(finish)

    def _compose(
        self, request: LLMRequest, built: Built[Body_co], streaming: bool, context: AuthContext
    ) -> Result[PreparedRequest[Body_co], LLMError]:
        native, overlay = cast("JsonObject", built.body), request.http.body
        body, data, replaced = json_body(merge_json(native, overlay) if overlay else native)
        diagnostics = (*built.diagnostics, *replaced)
        losses = [note for note in diagnostics if note.action != "noted"]
        if request.strict and losses:
            text = "; ".join(map(str, losses))
            return Failure(InvalidRequestError(f"strict request cannot be sent as it is: {text}"))
        url = self._address(request, body, streaming, context)
        if isinstance(url, Failure):
            return url
        signed = self._request_to(url.value, data, request, built, streaming, context)
        if isinstance(signed, Failure):
            return signed
        return Success(
            PreparedRequest(
                http=signed.value.request,
                body=cast("Body_co", body),
                diagnostics=(*diagnostics, *signed.value.diagnostics),
                streaming=streaming,
                request=request,
            )
        )

    def _address(
        self, request: LLMRequest, body: JsonObject, streaming: bool, context: AuthContext
    ) -> Result[str, LLMError]:
        """Return the URL of *request*, its query included."""
        where = EndpointContext(
            model_id=request.model_id, body=body, streaming=streaming, environ=context.environ
        )
        url, query = self.endpoint.url(where), request.http.query
        return url.map(lambda bare: with_query(bare, query)) if query else url

    def _request_to(
        self,
        url: str,
        body: bytes,
        request: LLMRequest,
        built: Built[Any],
        streaming: bool,
        context: AuthContext,
    ) -> Result[_Signed, LLMError]:
        """Return it signed, with the headers of one before that differs in URL and body alone."""
        own = request.http.headers or context.shown or not self.auth.repeats
        known = None if own else self._signed_by(built, streaming, context)
        if known is not None and (before := self._signatures.get(known)) is not None:
            return Success(_Signed(_with_body(before, url, body)))
        headers = self._headers(request, built, streaming)
        unsigned = HttpRequest(method="POST", url=url, headers=headers, body=body)
        signed = self._signed(unsigned, context)
        if known is not None and isinstance(signed, Success):
            if len(self._signatures) >= _SIGNATURES:  # tokens are replaced from time to time
                self._signatures.clear()
            self._signatures[known] = _with_body(signed.value.request, "", b"")
        return signed

    def _signed_by(self, built: Built[Any], streaming: bool, context: AuthContext) -> Hashable:
        """Return everything that the headers of a request without own ones depend on."""
        values = map(context.environ.get, self.auth.variables)
        return (streaming, context.token, context.missing_key, *values, *built.headers.items())

    def _signed(self, unsigned: HttpRequest, context: AuthContext) -> Result[_Signed, LLMError]:
        checked = sendable(unsigned)
        signed = checked.bind(lambda sound: self.auth.sign(sound, context)).map(_Signed)
        if isinstance(signed, Failure) and signed.error.error_code == NO_KEY and context.shown:
            message = f"{signed.error.message}; a placeholder is shown in its place"
            note = Diagnostic("missing-api-key", "auth", action="noted", message=message)
            signed = checked.bind(lambda sound: self.auth.sign(sound, context.without_key())).map(
                lambda request: _Signed(request, (note,))
            )
        return signed.bind(
            lambda done: sendable(done.request, checked=unsigned.headers).map(lambda _: done)
        )

    def _headers(
        self, request: LLMRequest, built: Built[Any], streaming: bool
    ) -> Mapping[str, str]:
        """Return the headers of all layers; the caller's take precedence."""
        headers = {
            "content-type": "application/json",
            "accept": self.framing.content_types[0] if streaming else "application/json",
            "user-agent": f"llmcore/{VERSION}",
        }
        return layered(headers, self.defaults.headers, built.headers, request.http.headers)

    def _of_provider(self, error: LLMError) -> LLMError:
        """Return *error* with the provider that it is from."""
        error.provider = error.provider or self.provider
        return error


def beside(
    route: Route[Any], target: str | PathOf, id: str, protocol: Protocol[_OtherBody, Any, Any]
) -> Route[_OtherBody]:
    """Return a route to another API of the same server, which is at *target* below its base URL."""
    return route.with_(id=id, protocol=protocol, endpoint=evolve(route.endpoint, target=target))


def layered(*layers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers of *layers* by lower-case names; the last one counts, lists are joined."""
    headers: dict[str, str] = {}
    for layer in layers:
        for name, value in layer.items():
            key = name.lower()
            joins = key in _JOINED_HEADERS and key in headers
            headers[key] = _joined(headers[key], value) if joins else value
    return headers


def _joined(first: str, second: str) -> str:
    """Join two comma-separated lists, each item once."""
    items = [item.strip() for item in f"{first},{second}".split(",")]
    return ",".join(dict.fromkeys(item for item in items if item))


def route_of(model: Model) -> Route[Any]:
    """Return the route of *model*; ConfigurationError if it has none."""
    if isinstance(model.route, Route):
        return model.route
    raise ConfigurationError(f"the model {model.id!r} has no route")
