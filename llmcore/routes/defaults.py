"""The values that a route adds to every request, and the limits of its models."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve, field, fields

from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.changed import changed
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_call_hints
from llmcore.schema.json import ProviderMetadata, plain_metadata
from llmcore.schema.options import GenerationOptions, HttpOverlay, merge_json
from llmcore.schema.request import LLMRequest


@with_call_hints()
@frozen(kw_only=True)
class ModelLimits:
    """How many tokens the models behind a route take. None is unknown."""

    context: int | None = None
    """Input and output together."""
    output: int | None = None
    """The most tokens of output."""

    @property
    def most_output(self) -> int | None:
        """The largest `max_tokens` that the models can use; None if it is unknown."""
        known = [limit for limit in (self.context, self.output) if limit is not None]
        return min(known, default=None)


_NO_GENERATION: Final = GenerationOptions()


@with_call_hints()
@frozen(kw_only=True)
class RouteDefaults:
    """Values that a route adds to every request that does not set them."""

    headers: Mapping[str, str] = field(factory=dict, repr=False)
    """Headers of every request."""
    generation: GenerationOptions = _NO_GENERATION
    """Sampling parameters for requests that set none."""
    provider_options: ProviderMetadata = field(factory=dict, converter=plain_metadata)
    """Native fields of every body."""
    http: HttpOverlay = HttpOverlay()
    """Changes to every HTTP request."""
    timeouts: Timeouts | None = None
    """Time limits for calls that have none of their own; None uses the client's."""
    limits: ModelLimits = ModelLimits()
    """A larger `max_tokens` is lowered, with a Diagnostic."""
    max_response_bytes: int = 256 * 1024 * 1024
    """The most bytes that are read of a response."""

    def applied_to(self, request: LLMRequest) -> LLMRequest:
        """Return *request* with these defaults below it."""
        options: ProviderMetadata = request.provider_options
        if self.provider_options:
            options = merge_json(self.provider_options, options, keep_none=True)  # type: ignore[assignment]
        generation = _filled(request.generation, self.generation)
        http = request.http.over(self.http)
        same = options == request.provider_options and generation is request.generation
        if same and http is request.http:
            return request
        return changed(request, generation=generation, provider_options=options, http=http)


def with_headers(
    defaults: RouteDefaults | None,
    headers: Mapping[str, str] | None,
    own: Mapping[str, str] = MappingProxyType({}),
) -> RouteDefaults:
    """Return *defaults* with *headers* above theirs, and a provider's *own* below.

    Raises ConfigurationError for values of another type.
    """
    if defaults is not None and not isinstance(defaults, RouteDefaults):
        raise ConfigurationError(f"defaults must be RouteDefaults(...), not {shown_kind(defaults)}")
    given = defaults or RouteDefaults()
    return evolve(given, headers={**own, **given.headers, **checked_headers(headers)})


def checked_headers(headers: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return *headers*, or none; ConfigurationError if they are not a mapping."""
    if headers is not None and not isinstance(headers, Mapping):
        raise ConfigurationError(f"headers must be a dict, not {shown_kind(headers)}")
    return headers or {}


_GENERATION = tuple(option.name for option in fields(GenerationOptions))
_UNSET: Final = (None, ())


def _filled(above: GenerationOptions, below: GenerationOptions) -> GenerationOptions:
    """Return *above*, its unset fields taken from *below*."""
    if below is _NO_GENERATION:
        return above
    unset = [name for name in _GENERATION if getattr(above, name) in _UNSET]
    given = {name: getattr(below, name) for name in unset}
    changes = {name: value for name, value in given.items() if value not in _UNSET}
    return evolve(above, **changes) if changes else above
