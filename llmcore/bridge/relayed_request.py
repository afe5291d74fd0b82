"""The request of a client as an upstream of the same API gets it: with the body that came.

Upstreams of Chat Completions send the usage of a stream only where `stream_options` requests it.
Each stream is requested with it; clients that did not request it get the stream without it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Self

from attrs import field, fields

from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_chat.request import asks_openrouter_for_usage
from llmcore.fronts.sealer import PREFIX as SEAL
from llmcore.protocols.protocol import BodyBuilder, Built, Protocol
from llmcore.routes.auth import AuthContext
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import HttpOverlay
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result

_FORWARDED_HEADERS: Final = ("anthropic-beta", "anthropic-version", "openai-beta")
_FORWARDED_QUERY: Final = ("beta",)
_ROUTE_FIELDS: Final = ("model", "anthropic_version")
"""Fields that the route sets, not the client. Vertex AI has the model in its path."""
_MODELS_KEPT: Final = 256
"""Models whose requests are kept; clients can ask for any name."""
_STREAM_OPTIONS: Final = "stream_options"
_PLACEHOLDER: Final = Message.user("?")
_SEALS: Final = (SEAL, "b2IxL")
"""How sealed state begins, and how it does in base64."""
_FIRST_LETTERS: Final = tuple(seal[:2] for seal in _SEALS)
_QUOTED_SEALS: Final = tuple(f'"{seal}'.encode() for seal in _SEALS)
_LARGE_BYTES: Final = 10_000
_LONG_TEXTS: Final = 80
"""The bytes of a large body for each of its values with which it is faster to look at these."""


def holds_sealed_state(body: JsonObject, size: int) -> bool:
    """Return whether *body* has state that the gateway sealed, which no upstream must receive.

    It came in *size* bytes. Most large bodies have few texts, and long ones: to look at how each
    begins takes half of the time of a search through all bytes.
    """
    most = size // _LONG_TEXTS if size > _LARGE_BYTES else 0
    values: list[JsonValue] = [body]
    for value in values:  # and those that are added to them
        if type(value) is str:
            if value[:2] in _FIRST_LETTERS and value.startswith(_SEALS):  # which costs more
                return True
            continue
        if isinstance(value, dict):
            values += value.values()
        elif isinstance(value, list):
            values += value
        if len(values) > most:
            data = json.dumps(body)
            return any(seal in data for seal in _QUOTED_SEALS)
    return False


@frozen(kw_only=True)
class RelayedRequest(LLMRequest[Any]):
    """A request whose native body takes the place of its messages."""

    body: JsonObject = field(factory=dict)
    usage_options: JsonObject = field(factory=dict)
    """The `stream_options` that request the usage of a stream."""
    hides_usage: bool = False
    """Whether the client did not request the usage of its stream."""

    @classmethod
    def to(cls, model: Model, route: Route[Any], *, skims: bool) -> Self:
        """Return a request to *model* over *route*; `of` sets its body.

        With *skims*, only the beginning and the end of a plain response are read.
        """
        protocol = route.protocol

        def build(request: LLMRequest, streaming: bool) -> Result[Built[Any], LLMError]:
            body = request.body if isinstance(request, RelayedRequest) else {}
            route_fields = _route_fields(protocol, request.model_id, model.provider, streaming)
            return route_fields.map(lambda fields: Built(_native(body, fields)))

        relaying: Protocol[Any, Any, Any] = changed(
            protocol,
            body=BodyBuilder(build=build, optional=protocol.body.optional),
            whole=_skimming(protocol) if skims else protocol.whole,
        )
        relayed = Model(model.id, model.provider, route=_RelayRoute.over(route, relaying))
        streamed = protocol.body.build(_blank(model.id, model.provider), True)
        options = streamed.map(lambda built: built.body.get(_STREAM_OPTIONS) or {})
        return cls(model=relayed, messages=(), usage_options=options.value_or({}))

    def of(self, request: ClientRequest) -> Self:
        """Return the request with the body of *request*, and its headers that are forwarded."""
        headers, query = request.headers, request.query
        sent = {name: headers[name] for name in _FORWARDED_HEADERS if name in headers}
        named = {name: query[name] for name in _FORWARDED_QUERY if name in query}
        asking = _asking_for_usage(request.body, self.usage_options)
        hides = asking is not None and not asks_openrouter_for_usage(request.body)
        body = request.body if asking is None else asking
        if not (sent or named):
            return changed(self, body=body, hides_usage=hides)
        overlay = HttpOverlay(headers=sent, query=named)
        return changed(self, body=body, hides_usage=hides, http=overlay)


class RelayedRequests:
    """The requests to relay, by the models of upstreams; see `RelayedRequest.to` for *skims*."""

    def __init__(self, *, skims: bool) -> None:
        self._skims = skims
        self._by_model: dict[int, tuple[Model, RelayedRequest]] = {}

    def of(self, request: ClientRequest, model: Model, route: Route[Any]) -> RelayedRequest:
        """Return the request that sends the body of *request* to *model*, that of an upstream."""
        known = self._by_model.get(id(model))
        if known is None or known[0] is not model:
            if len(self._by_model) >= _MODELS_KEPT:
                self._by_model.clear()
            known = (model, RelayedRequest.to(model, route, skims=self._skims))
            self._by_model[id(model)] = known
        return known[1].of(request)


def _skimming(
    protocol: Protocol[Any, Any, Any],
) -> Callable[[JsonValue, LLMRequest], Iterable[LLMEvent]]:
    """Return a reader of whole responses that skips the content of plain ones."""
    skim, whole = protocol.skim, protocol.whole
    if skim is None:
        return whole
    return lambda document, request: skim(document, request) or whole(document, request)


@lru_cache(maxsize=256)
def _route_fields(
    protocol: Protocol[Any, Any, Any], model_id: str, provider: str, streaming: bool
) -> Result[JsonObject, LLMError]:
    """Return the fields that the route sets in every body."""
    return protocol.body.build(_blank(model_id, provider), streaming).map(
        lambda built: {name: built.body[name] for name in _ROUTE_FIELDS if name in built.body}
    )


def _blank(model_id: str, provider: str) -> LLMRequest:
    return LLMRequest(model=Model(model_id, provider), messages=(_PLACEHOLDER,))


def _asking_for_usage(body: JsonObject, usage: JsonObject) -> JsonObject | None:
    """Return *body* with the options *usage*; None if it is not that of a stream, or has them."""
    options = body.get(_STREAM_OPTIONS) or {}
    if not usage or body.get("stream") is not True or not isinstance(options, Mapping):
        return None
    if options.get("include_usage") is True:
        return None
    return {**body, _STREAM_OPTIONS: {**options, **usage}}


def _native(body: JsonObject, fields: JsonObject) -> JsonObject:
    """Return *body* with the *fields* of the route in place of the client's."""
    native = {**body, **fields}
    if "model" not in fields:
        native.pop("model", None)
    return native


# -- the route


@frozen(kw_only=True)
class _RelayRoute(Route[Any]):
    """A route for relayed requests, which have no messages and no tools to be adapted."""

    @classmethod
    def over(cls, route: Route[Any], protocol: Protocol[Any, Any, Any]) -> Self:
        """Return *route* with *protocol*, which makes the bodies of relayed requests."""
        kept = {entry.name: getattr(route, entry.name) for entry in fields(Route) if entry.init}
        return cls(**{**kept, "protocol": protocol})

    def prepare(
        self,
        request: LLMRequest,
        *,
        streaming: bool,
        context: AuthContext,
        rejected: Collection[str] = (),
    ) -> Result[PreparedRequest[Any], LLMError]:
        """Return what `Route.prepare` does."""
        if rejected or self.defaults.provider_options:
            return Route.prepare(
                self, request, streaming=streaming, context=context, rejected=rejected
            )
        effective = self.defaults.applied_to(request)
        built = self.protocol.body.build(effective, streaming)
        composed = built.bind(lambda made: self._compose(effective, made, streaming, context))
        return composed.alt(self._of_provider)
