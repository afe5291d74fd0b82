"""Providers found in the environment: by their variables, and by entry points of packages."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from attrs import evolve

from llmcore.catalog.lookup import get_model_info, misspelt_model
from llmcore.catalog.model_names import NAMES_ELSEWHERE, PROVIDER_ALIASES
from llmcore.client.configured_models import ConfiguredProviders, prompt_as_model
from llmcore.routes.providers import LISTED, RETRIEVAL_PROVIDERS, ProviderEntry, split_api
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.hints import shown_kind

ENTRY_POINT_GROUP = "llmcore.providers"
"""Where packages announce their `ProviderEntry` values."""


@cache  # all installed packages are looked through, which takes 10 ms
def provider_entries() -> Mapping[str, ProviderEntry]:
    """Return all providers by id: llmcore's own in their order, then those of other packages.

    Those of a package that is installed later are found by the next process.
    Raises ConfigurationError for an invalid entry point.
    """
    entries = dict(LISTED)
    points = entry_points(group=ENTRY_POINT_GROUP)
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        entry = _loaded(point)
        if entry.id in entries:
            raise ConfigurationError(
                f"the entry point {point.value!r} offers the provider {entry.id!r}, "
                f"which is {entries[entry.id].home!r} already"
            )
        entries[entry.id] = entry
    return entries


def _loaded(point: EntryPoint) -> ProviderEntry:
    where = f"the entry point {point.name!r} = {point.value!r} in the group {ENTRY_POINT_GROUP!r}"
    try:
        entry = point.load()
    except Exception as error:  # foreign code can raise anything
        message = f"{where} cannot be loaded: {type(error).__name__}: {error}"
        raise ConfigurationError(message, cause=error) from error
    if not isinstance(entry, ProviderEntry):
        raise ConfigurationError(f"{where} is {shown_kind(entry)}, not a ProviderEntry")
    return entry


def provider_over(provider: str, protocol: str | None) -> str:
    """Return the name of *provider* with the API of *protocol*, such as `openai-chat`.

    It is the provider's id alone if that means this protocol, or if nothing else is known.
    """
    entry = provider_entries().get(provider)
    api = "" if entry is None or protocol is None else entry.api_of(protocol)
    return f"{provider}-{api}" if api else provider


def configured_by(environ: Mapping[str, str], default: str | None) -> ConfiguredProviders:
    """Return the providers whose variables *environ* sets, by id and in order.

    Their first is the default unless another is chosen. Those that work without variables (servers
    of the user's at their usual address, the local model, those with a login) are there on request.
    Keys are read later, when a request is prepared.
    """
    configured = {
        id_: entry.from_environ(environ)
        for id_, entry in provider_entries().items()
        if entry.is_configured(environ)
    }
    on_request = {
        id_: cache(partial(entry.from_environ, environ))
        for id_, entry in provider_entries().items()
        if entry.works_without_variables
    }
    made = ConfiguredProviders.of(configured, default, on_request)
    return made if made.default_was_chosen else evolve(made, default=next(iter(configured), None))


_FAKE: Final = "fake"
"""The provider of `llmcore.testing.FakeModel`."""


def unconfigured(
    provider: str | None, model_id: str, configured: Collection[str]
) -> ConfigurationError:
    """Return the error of a model whose provider is not among *configured*.

    It names the variables to set, if *provider*, the prefix of the id or the catalog shows which
    provider is meant, or the provider whose name is nearest to a misspelt one.
    """
    listing = f"(configured: {', '.join(configured) or 'none'})"
    entries = provider_entries()
    prefix, colon, _ = model_id.partition(":")
    stated = provider or (prefix if colon else None)
    provider_id, api = split_api(stated or "")
    entry = entries.get(PROVIDER_ALIASES.get(provider_id, provider_id))
    if entry is not None and api and entry.id in configured:
        remedy = f"write '{provider_id}:...' for its own"
        message = f"the provider {provider_id!r} has no API {api!r}: {remedy}"
    elif entry is not None:
        message = f"the provider {provider_id!r} is not configured {listing}: {_remedy(entry)}"
    elif (meant := _written_elsewhere(provider, model_id)) is not None:
        message = f"which provider has the model {model_id!r}? Write {meant!r} {listing}"
    elif stated and (near := nearest_provider(stated, configured)):
        message = f"the provider {stated!r} is not configured {listing}: did you mean {near!r}?"
    elif provider == _FAKE:
        message = "the model of a FakeModel needs its client: write client=fake.client"
    elif provider:
        message = f"the provider {provider!r} is not configured {listing}"
    elif (info := get_model_info(model_id)) is not None and info.provider in entries:
        owner = f"{model_id!r} is a model of the provider {info.provider!r}"
        message = f"{owner}, which is not configured {listing}: {_remedy(entries[info.provider])}"
    elif (hint := prompt_as_model(model_id)) is not None:
        message = hint
    elif PROVIDER_ALIASES.get(model_id, model_id) in entries:
        message = f"{model_id!r} is a provider, not a model: write '{model_id}:MODEL'"
    elif not model_id:
        message = f"there is no default provider {listing}: {_ANY_REMEDY}"
    elif (model := misspelt_model(model_id)) is not None and model.provider in entries:
        found = f"Did you mean '{model.provider}:{model.id}'?"
        message = f"which provider has the model {model_id!r}? {found} {listing}"
    else:
        no_provider = f" {prefix!r} is not a provider." if colon else ""
        message = (
            f"which provider has the model {model_id!r}?{no_provider} Write 'PROVIDER:{model_id}' "
            f"or provider=..., or give the client a default_provider {listing}"
        )
    return ConfigurationError(message)


def names_a_provider(model_id: str) -> bool:
    """Return whether *model_id* is a provider, or begins with one as model names of LiteLLM do."""
    is_provider = PROVIDER_ALIASES.get(model_id, model_id) in provider_entries()
    return is_provider or _written_elsewhere(None, model_id) is not None


def _written_elsewhere(provider: str | None, model_id: str) -> str | None:
    """Return the name here of a model as LiteLLM, LangChain or pydantic-ai write it."""
    prefix, separator, rest = [*re.split("([:/])", model_id, maxsplit=1), "", ""][:3]
    is_known_here = separator == ":" and prefix not in NAMES_ELSEWHERE
    if provider or not rest or is_known_here:
        return None
    meant = NAMES_ELSEWHERE.get(prefix) or PROVIDER_ALIASES.get(prefix, prefix)
    retrieval = {entry.id for entry in RETRIEVAL_PROVIDERS}
    if meant not in provider_entries().keys() - retrieval:
        return None
    owner = get_model_info(model_id)
    return None if owner is not None and owner.provider == prefix else f"{meant}:{rest}"


def nearest_provider(name: str, others: Iterable[str] = (), *, cutoff: float = 0.6) -> str | None:
    """Return the id or alias of a provider that *name* is or is nearest to; None without any.

    *others* are names of the caller's own; *cutoff* is that of `difflib.get_close_matches`.
    """
    known = (*provider_entries(), *PROVIDER_ALIASES, *others)
    return next(iter(difflib.get_close_matches(name.lower(), known, 1, cutoff)), None)


def unknown_provider(name: str, others: Iterable[str] = ()) -> ConfigurationError:
    """Return the error of a provider *name* that does not exist, neither here nor in *others*."""
    near = nearest_provider(name, others)
    known = ", ".join((*others, *provider_entries()))
    hint = f"did you mean {near!r}?" if near else f"there are {known}"
    return ConfigurationError(f"there is no provider {name!r}: {hint}")


_ANY_REMEDY: Final = (
    "set a key such as OPENAI_API_KEY, or give a configured model, such as "
    "OpenAI(api_key=...).responses('gpt-5.2')"
)


def _remedy(entry: ProviderEntry) -> str:
    """Return how to configure the provider of *entry*."""
    facade = entry.home.rpartition(":")[2]
    given = f"give the client {facade}(...)"
    if entry.login is not None:
        return f"run `{entry.login}`, or {given}"
    if not entry.switches:
        return given
    variables = " or ".join(entry.switches)
    return f"set {variables}, which the default client and Client.from_env() read, or {given}"
