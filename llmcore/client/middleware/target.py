"""The provider, model and route of a call, as known before it is made."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from attrs import field

from llmcore.client.middleware.chain import Next
from llmcore.routes.route import Route
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.request import LLMRequest

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo


@frozen(kw_only=True)
class ModelChoice:
    """A provider's model and its route."""

    provider: str
    """The provider's id; empty if unknown."""
    model: str
    route: Route | None = field(default=None, repr=False)
    base_url: str | None = None
    """The base URL without credentials; None for a model on this machine."""
    models: "Sequence[ModelInfo]" = field(default=(), repr=False)
    """The client's own models and prices."""


TargetKey: TypeAlias = Callable[[ModelChoice], Hashable]
"""Returns the key of calls that are limited or counted together."""


def by_model(target: ModelChoice) -> Hashable:
    """Count each model of each provider separately."""
    return target.provider, target.model


def by_provider(target: ModelChoice) -> Hashable:
    """Count all models of a provider together."""
    return target.provider


def together(_target: ModelChoice) -> Hashable:
    """Count all calls together."""
    return None


def target_of(request: LLMRequest, next: Next) -> ModelChoice:
    """Return the provider, model and route of *request*; no route if it cannot be resolved."""
    model = next.resolve(request).value_or(None)
    if model is None:
        return ModelChoice(provider=request.provider_id, model=request.model_id, models=next.models)
    route = model.route if isinstance(model.route, Route) else None
    return ModelChoice(
        provider=model.provider,
        model=model.id,
        route=route,
        base_url=_base_url(route, next),
        models=next.models,
    )


def _base_url(route: Route | None, next: Next) -> str | None:
    """Return the base URL of *route*, without credentials, query and fragment."""
    url = None if route is None else route.endpoint.base_url
    try:
        url = url(next.environ) if callable(url) else url
        parts = urlsplit((url or "").strip())
        host = parts.netloc.rpartition("@")[2]
    except (ConfigurationError, ValueError):  # preparing the request raises the error
        return None
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}" if host else None
