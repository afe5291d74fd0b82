"""Providers found in the environment: by their variables, and by entry points of packages."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from llmcore.routes.providers import PROVIDERS, Facade, ProviderEntry
from llmcore.schema.errors import ConfigurationError

ENTRY_POINT_GROUP = "llmcore.providers"
"""Where packages announce their `ProviderEntry` values."""


def provider_entries() -> tuple[ProviderEntry, ...]:
    """Return all providers: llmcore's own in their order, then those of other packages by name.

    Raises ConfigurationError for an invalid entry point.
    """
    found = {entry.id: entry for entry in PROVIDERS}
    points = entry_points(group=ENTRY_POINT_GROUP)
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        entry = _loaded(point)
        if entry.id in found:
            raise ConfigurationError(
                f"the entry point {point.value!r} offers the provider {entry.id!r}, "
                f"which is {found[entry.id].home!r} already"
            )
        found[entry.id] = entry
    return tuple(found.values())


def _loaded(point: EntryPoint) -> ProviderEntry:
    where = f"the entry point {point.name!r} = {point.value!r} in the group {ENTRY_POINT_GROUP!r}"
    try:
        entry = point.load()
    except Exception as error:  # foreign code can raise anything
        message = f"{where} cannot be loaded: {type(error).__name__}: {error}"
        raise ConfigurationError(message, cause=error) from error
    if not isinstance(entry, ProviderEntry):
        raise ConfigurationError(f"{where} is a {type(entry).__name__}, not a ProviderEntry")
    return entry


def providers_from_env(environ: Mapping[str, str]) -> dict[str, Facade]:
    """Return the configured providers whose variables *environ* sets, by id and in order.

    Keys are read later, when a request is prepared.
    """
    return {
        entry.id: entry.from_environ(environ)
        for entry in provider_entries()
        if entry.is_configured(environ)
    }
