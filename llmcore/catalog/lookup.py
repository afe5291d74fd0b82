"""Looking models up: one by its id, a provider's, the newest that can do something."""

from datetime import date, timedelta
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

from llmcore.catalog.model_info import ModelInfo
from llmcore.catalog.model_names import PROVIDER_ALIASES, names_of
from llmcore.catalog.records import catalog, model_at
from llmcore.schema.errors import ConfigurationError

Capability: TypeAlias = Literal["reasoning", "vision", "tools", "structured_output"]
"""What a model may be asked to be able to do."""

_LONG_AGO: Final = date(1970, 1, 1)
_GENERATION: Final = timedelta(days=30)


def get_model_info(model_id: str, provider: str | None = None) -> ModelInfo | None:
    """Return what is known of *model_id*: an id, an alias, or a dated or prefixed form of one.

    None if it is not in the catalog. Without a *provider*, `openai/gpt-5.2` and
    `openai:gpt-5.2` name one, and an id that several providers have means the first one's of
    `list_models`: its maker's, if that is a provider.
    """
    number = _find(model_id, provider) if provider is not None else _find_anywhere(model_id)
    return None if number is None else model_at(number)


def list_models(provider: str | None = None) -> tuple[ModelInfo, ...]:
    """Return the models of *provider*, or all; empty for a provider that is not in the catalog."""
    wanted = PROVIDER_ALIASES.get(provider, provider) if provider is not None else None
    return tuple(
        model_at(number)
        for number, record in enumerate(catalog().records)
        if wanted is None or record["provider"] == wanted
    )


def get_latest_model(provider: str, capability: Capability | None = None) -> ModelInfo | None:
    """Return the newest and best model of *provider*, of those known to have *capability*.

    Makers release a generation within weeks, its small models often last. So of all that came
    within 30 days of the newest it is the one with the highest output price, the newer of two
    with the same. Deprecated models and those without a release date come after all others.
    None if there is none. ConfigurationError for a capability that nobody tells of.
    """
    if capability is not None and capability not in get_args(Capability):
        names = ", ".join(get_args(Capability))
        raise ConfigurationError(f"no capability is called {capability!r}; there are: {names}")
    able = [m for m in list_models(provider) if capability is None or _is_able(m, capability)]
    if not able:
        return None
    newest = max(able, key=_newness)
    first = (not newest.deprecated, _day(newest) - _GENERATION)
    rivals = [model for model in able if _newness(model) >= first]
    return max(rivals, key=_strength)


def _is_able(model: ModelInfo, capability: Capability) -> bool:
    return getattr(model, f"supports_{capability}") is True


def _newness(model: ModelInfo) -> tuple[bool, date]:
    return (not model.deprecated, _day(model))


def _day(model: ModelInfo) -> date:
    return model.release_date or _LONG_AGO


def _strength(model: ModelInfo) -> tuple[float, date]:
    return (model.output_price or 0.0, _day(model))


@lru_cache(maxsize=4096)
def _find(model_id: str, provider: str) -> int | None:
    """Return the number of a provider's record."""
    known = catalog()
    provider = PROVIDER_ALIASES.get(provider, provider)
    for one in (provider, known.fallbacks.get(provider)):
        by_name = known.by_provider.get(one or "", {})
        for name in names_of(model_id, one or ""):
            if name in by_name:
                return by_name[name]
    return None


def _find_anywhere(model_id: str) -> int | None:
    for mark in ("/", ":"):
        provider, _, rest = model_id.partition(mark)
        number = _find(rest, provider) if rest and provider in catalog().by_provider else None
        if number is not None:
            return number
    found = (_find(model_id, provider) for provider in catalog().by_provider)
    return next((number for number in found if number is not None), None)
