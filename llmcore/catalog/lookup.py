"""Looking models up: one by its id, a provider's, the newest that can do something."""

import re
from collections.abc import Collection, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

from llmcore.catalog.model_info import ModelInfo
from llmcore.catalog.model_names import FAMILIES, PROVIDER_ALIASES, names_of
from llmcore.catalog.records import catalog, model_at
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.hints import with_call_hints

Capability: TypeAlias = Literal["reasoning", "vision", "tools", "structured_output"]
"""A capability that a model can be chosen by."""

_LONG_AGO: Final = date(1970, 1, 1)
_GENERATION: Final = timedelta(days=30)


@with_call_hints()
def get_model_info(
    model_id: str, provider: str | None = None, *, models: Sequence[ModelInfo] = ()
) -> ModelInfo | None:
    """Return what is known of *model_id*: an id, an alias, or a dated or prefixed form of one.

    None if it is not in the catalog. Without a *provider*, `openai/gpt-5.2` and
    `openai:gpt-5.2` name one, and an id that several providers have means the first one's of
    `list_models`: its maker's, if that is a provider. A short name such as `sonnet` is the newest
    model of its family. *models*, your own, go before those of the catalog.
    """
    return model_info(model_id, provider, models)


def model_info(
    model_id: str, provider: str | None, models: Sequence[ModelInfo]
) -> ModelInfo | None:
    """Return what `get_model_info` does, without hints on wrong arguments: for each call's cost."""
    if provider is not None:
        provider = PROVIDER_ALIASES.get(provider, provider)
    for model in models:
        if provider in (None, model.provider) and model_id in (model.id, *model.aliases):
            return model
    return _known(model_id, provider)


@lru_cache(maxsize=4096)
def _known(model_id: str, provider: str | None) -> ModelInfo | None:
    """Return the model of the catalog, which each call looks up for its cost."""
    number = _find(model_id, provider) if provider is not None else _find_anywhere(model_id)
    return newest_of_family(model_id, provider) if number is None else model_at(number)


def newest_of_family(name: str, provider: str | None) -> ModelInfo | None:
    """Return the newest model that a short name such as `sonnet` means; None for other names."""
    maker, pattern = FAMILIES.get(name.lower(), ("", ""))
    if PROVIDER_ALIASES.get(provider or "", provider) not in (None, maker):
        return None
    family = [model for model in list_models(maker) if re.fullmatch(pattern, model.id)]
    return max(family, key=_newness, default=None)


@with_call_hints(
    **dict.fromkeys(
        ("capability", "capabilities", "tools", "vision"),
        "filter its result: [model for model in list_models() if model.supports_tools]",
    )
)
def list_models(
    provider: str | None = None, *, models: Sequence[ModelInfo] = ()
) -> tuple[ModelInfo, ...]:
    """Return the models of *provider*, or all; empty for a provider that is not in the catalog.

    *models*, your own, come first, and replace those of the catalog that have the same id.
    ConfigurationError if *provider* is a misspelled id.
    """
    models = tuple(models)  # it is read twice
    provider_id = PROVIDER_ALIASES.get(provider, provider) if provider is not None else None
    if provider_id is not None and provider_id not in {model.provider for model in models}:
        _reject_misspelled(provider_id)
    of_provider = tuple(model for model in models if provider_id in (None, model.provider))
    replaced = {(model.provider, model.id) for model in of_provider}
    return of_provider + tuple(
        model_at(number)
        for number, record in enumerate(catalog().records)
        if provider_id in (None, record["provider"])
        and (record["provider"], record["id"]) not in replaced
    )


def _reject_misspelled(provider: str) -> None:
    """Raise ConfigurationError if *provider* is not in the catalog, but nearly."""
    known = catalog().by_provider
    if provider in known:
        return
    from difflib import get_close_matches

    if near := get_close_matches(provider.lower(), known, 1, cutoff=0.8):
        raise ConfigurationError(
            f"the catalog has no provider {provider!r}: did you mean {near[0]!r}?"
        )


def likely_model(model_id: str, provider: str) -> str | None:
    """Return the model that was likely meant by *model_id*, which *provider* does not have.

    It is one of another provider with this id, as `openai:gpt-5.2`, or the nearest id of
    *provider*. None without one, and if the catalog has it at *provider*.
    """
    if get_model_info(model_id, provider) is not None:
        return None
    if (other := get_model_info(model_id)) is not None:
        return f"{other.provider}:{other.id}"
    return _nearest(model_id, catalog().by_provider.get(provider, {}))


def misspelt_model(model_id: str) -> ModelInfo | None:
    """Return the model whose id is nearest to *model_id*; None if none is near.

    The first letters of a name are the whole family, and nearest to an old model of it.
    """
    near = _nearest(model_id, dict.fromkeys(record["id"] for record in catalog().records))
    return get_model_info(near) if near and not near.startswith(model_id.lower()) else None


def _nearest(model_id: str, ids: Collection[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(model_id[:100].lower(), ids, 1, cutoff=0.8)), None)


@with_call_hints()
def get_latest_model(
    provider: str, capability: Capability | None = None, *, models: Sequence[ModelInfo] = ()
) -> ModelInfo | None:
    """Return the newest and best model of *provider*, of those known to have *capability*.

    Makers release a generation within weeks, its small models often last. So of all that came
    within 30 days of the newest it is the one with the highest output price, the newer of two
    with the same. Deprecated models and those without a release date come after all others.
    None if there is none. ConfigurationError for a capability that does not exist or a misspelled
    provider. *models*, your own, count besides those of the catalog.
    """
    if capability is not None and capability not in get_args(Capability):
        names = ", ".join(get_args(Capability))
        raise ConfigurationError(f"no capability is called {capability!r}; there are: {names}")
    listed = list_models(provider, models=models)
    able = listed
    if capability is not None:
        able = tuple(model for model in listed if getattr(model, f"supports_{capability}") is True)
    if not able:
        return None
    newest = max(able, key=_newness)
    first = (not newest.deprecated, _day(newest) - _GENERATION)
    rivals = [model for model in able if _newness(model) >= first]
    return max(rivals, key=lambda model: (model.output_price or 0.0, _day(model)))


def _newness(model: ModelInfo) -> tuple[bool, date]:
    return (not model.deprecated, _day(model))


def _day(model: ModelInfo) -> date:
    return model.release_date or _LONG_AGO


@lru_cache(maxsize=4096)
def _find(model_id: str, provider: str) -> int | None:
    """Return the number of a provider's record."""
    known = catalog()
    provider = PROVIDER_ALIASES.get(provider, provider)
    for provider_id in (provider, known.fallbacks.get(provider)):
        by_name = known.by_provider.get(provider_id or "", {})
        for name in names_of(model_id, provider_id or ""):
            if name in by_name:
                return by_name[name]
    return None


def _find_anywhere(model_id: str) -> int | None:
    for mark in ("/", ":"):
        provider, _, rest = model_id.partition(mark)
        number = _find(rest, provider) if rest and provider in catalog().by_provider else None
        if number is not None:
            return number
    positions = (_find(model_id, provider) for provider in catalog().by_provider)
    return next((number for number in positions if number is not None), None)
