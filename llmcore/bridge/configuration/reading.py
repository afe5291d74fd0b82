"""Reads the gateway's settings: from variables, a `.env` file and `openbridge.toml`."""

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from llmcore.bridge.configuration.document import ConfigDocument, read_document
from llmcore.bridge.configuration.settings import (
    OTHERWISE_WORDS,
    AccountSettings,
    CacheSettings,
    CoolDownSettings,
    GatewaySettings,
    Limits,
    StateSettings,
    read_settings,
)
from llmcore.bridge.configuration.tables import (
    NO_VARIABLES,
    NOT_KEYS,
    FileTables,
    looks_like_variable,
    read_tables,
)
from llmcore.bridge.configuration.values import Values
from llmcore.bridge.drop_rejected_parameters import fault_of_name
from llmcore.client.environment import provider_entries, unknown_provider
from llmcore.client.user_folders import named_path
from llmcore.schema.errors import ConfigurationError, install_extra, missing_extra
from llmcore.schema.json import present

COMPATIBLE: Final = "openai-compatible"
"""A server of Chat Completions, which a base URL names."""

FILE_NAME: Final = "openbridge.toml"
"""The configuration file that is read where none is named, if it exists."""


def env_file(environ: Mapping[str, str], folder: Path) -> Path | None:
    """Return the file of variables, whether it exists or not; None if none is to be read."""
    named = environ.get("OPENBRIDGE_ENV_FILE", "").strip()
    if named.lower() == "none":
        return None
    return named_path(named, "OPENBRIDGE_ENV_FILE") if named else folder / ".env"


def read_environment(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return *environ* with the variables of the `.env` file of *folder* that it lacks.

    `OPENBRIDGE_ENV_FILE` names another file, which must then be there; `none` ignores the folder's.
    """
    path = env_file(environ, folder)
    if path is None or not path.is_file():
        if path is not None and environ.get("OPENBRIDGE_ENV_FILE", "").strip():
            raise ConfigurationError(f"OPENBRIDGE_ENV_FILE names {path}, which is not a file")
        return dict(environ)
    try:
        from dotenv import dotenv_values
    except ImportError as error:
        raise missing_extra(f"reading {path}", "bridge", error) from error
    try:
        lines = dotenv_values(path)
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 text: {error}", cause=error) from error
    return {**present(lines), **environ}


def find_config(environ: Mapping[str, str], folder: Path) -> Path | None:
    """Return the configuration file: the one that `OPENBRIDGE_CONFIG` names, or that of *folder*.

    None if there is none. `OPENBRIDGE_CONFIG=none` ignores the folder's. Raises ConfigurationError
    if the named file is missing.
    """
    named = environ.get("OPENBRIDGE_CONFIG", "").strip()
    if named.lower() == "none":
        return None
    path = named_path(named, "OPENBRIDGE_CONFIG") if named else folder / FILE_NAME
    if path.is_file():
        return path
    if named:
        raise ConfigurationError(f"OPENBRIDGE_CONFIG names {path}, which is not a file")
    return None


def settings_from(environ: Mapping[str, str], config: Path | None = None) -> GatewaySettings:
    """Return the settings of *environ* and of the file *config*, over which *environ* wins.

    Raises ConfigurationError, naming the variable or the line, for an invalid value, for an
    unknown `OPENBRIDGE_` variable or key of the file, and for a public address without a client
    key.
    """
    return settings_of(environ, None if config is None else read_document(config))


def settings_of(environ: Mapping[str, str], document: ConfigDocument | None) -> GatewaySettings:
    """Return the settings of *environ* and of *document*, over which *environ* wins."""
    return settings_and_values(environ, document)[0]


def settings_and_values(
    environ: Mapping[str, str], document: ConfigDocument | None
) -> tuple[GatewaySettings, Values]:
    """Return the settings, and each value as it was read."""
    read = Values(environ, document)
    settings = _settings(read)
    read.refuse_unknown()
    _check(settings, read)
    return settings, read


def _settings(read: Values) -> GatewaySettings:
    tables = FileTables()
    if read.document is not None:
        tables = read_tables(read.document, frozenset(provider_ids()))
    return read_settings(
        GatewaySettings,
        read,
        upstream=read.text("UPSTREAM") or _found_upstream(read, tables),
        tables=tables,
        client_api_keys=_client_keys(read),
        cool_downs=read_settings(CoolDownSettings, read),
        limits=read_settings(Limits, read),
        state=read_settings(StateSettings, read),
        accounts=read_settings(AccountSettings, read),
        cache=read_settings(CacheSettings, read),
        config_path=None if read.document is None else read.document.path,
        environ=dict(read.environ),
    )


def _found_upstream(read: Values, tables: FileTables) -> str:
    """Return the upstream where none is named: the first of the file, with others of its provider.

    Without any it is the first provider that *read* configures, or the local model, if its package
    is installed.
    """
    if tables.upstreams:
        first = tables.upstreams[0]
        return first.name if first.provider == COMPATIBLE else first.provider
    if read.text("UPSTREAM_BASE_URL"):
        return COMPATIBLE
    upstream = next(
        (id_ for id_, entry in provider_entries().items() if entry.is_configured(read.environ)),
        None,
    )
    if upstream is not None:
        return upstream
    if find_spec("xllamacpp") is not None:
        return "local"
    raise ConfigurationError(
        "no upstream is configured: set the key of a provider, such as OPENAI_API_KEY or "
        "ANTHROPIC_API_KEY (`llmcore providers` lists them), OPENBRIDGE_UPSTREAM_BASE_URL, or "
        f"install the local model: {install_extra('local')} && llmcore local install"
    )


def _client_keys(read: Values) -> tuple[str, ...]:
    """Return the keys that clients must show one of.

    Raises ConfigurationError if the variable is set and names none: a gateway that was meant to
    have a key must not run without.
    """
    given = read.keys("CLIENT_API_KEY")
    if given is None:
        return ()
    keys = tuple(filter(None, given))
    if not keys or any(key.lower() in NOT_KEYS for key in keys):
        label = read.label("CLIENT_API_KEY", blank=True)
        raise ConfigurationError(
            f"{label} is set and names no key: set it to the keys that clients may use, or remove "
            "it to answer without keys on this machine"
        )
    return keys


def provider_ids() -> tuple[str, ...]:
    """Return every provider that an upstream can be of."""
    return (COMPATIBLE, "local", *provider_entries())


_ADMIN_KEY_CHARS: Final = 16
_ORIGIN: Final = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/?#@\sA-Z]*")
"""A scheme, a host and a port (RFC 6454, 6.2), or `null` for pages without an address."""


def _check(settings: GatewaySettings, read: Values) -> None:
    """Raise ConfigurationError for settings that contradict each other or are not safe."""
    for problems in (_table_problems, _access_problems, _policy_problems, _state_problems):
        for problem in problems(settings, read):
            raise ConfigurationError(problem)


def _table_problems(settings: GatewaySettings, read: Values) -> Iterator[str]:
    """Yield what is set in two places, or in none."""
    tables = settings.tables
    if settings.model_map_path is not None and (tables.models or tables.prefixes):
        yield (
            f"{read.label('MODEL_MAP_PATH')} and [models] or [prefixes] exclude each other: move "
            "the map into the file, or leave one of them out"
        )
    if settings.accounts.prices_path is not None and tables.prices:
        yield (
            f"{read.label('PRICES_PATH')} and [prices] exclude each other: move the prices into "
            "the file, or leave one of them out"
        )
    if settings.model_map_path is not None and settings.otherwise is not None:
        yield f"{read.label('OTHERWISE')}: a model map has its own `otherwise`; set it there"
    upstreams = [upstream.name for upstream in tables.upstreams]
    known = {*provider_ids(), *upstreams}
    if settings.upstream not in known:
        fault = unknown_provider(settings.upstream, [*upstreams, COMPATIBLE])
        yield f"{read.label('UPSTREAM')}: {fault.message}"
    otherwise = settings.otherwise or "pass"
    upstream, slash, model = otherwise.partition("/")
    if otherwise not in OTHERWISE_WORDS and not (upstream and slash and model):
        yield f"{read.label('OTHERWISE')}={otherwise!r} is not pass, refuse or upstream/model"
    if slash and upstream not in known:
        fault = unknown_provider(upstream, [*upstreams, COMPATIBLE])
        yield f"{read.label('OTHERWISE')}: {fault.message}"
    if settings.upstream == COMPATIBLE and not (settings.upstream_base_url or tables.upstreams):
        needed = read.place_for("UPSTREAM_BASE_URL")
        yield f"{read.label('UPSTREAM')}=openai-compatible needs {needed}"


def _access_problems(settings: GatewaySettings, read: Values) -> Iterator[str]:
    """Yield what would let strangers use or administer the gateway."""
    public = f"{read.label('HOST')}={settings.host} can be reached from other machines"
    if settings.is_public and not settings.needs_key:
        yield (
            f"{public}: set {read.place_for('CLIENT_API_KEY')} or {read.place_for('KEYS_ISSUED')}, "
            "or listen on 127.0.0.1"
        )
    admin_key = settings.accounts.admin_key
    if admin_key is not None and len(admin_key) < _ADMIN_KEY_CHARS:
        yield (
            f"{read.label('ADMIN_KEY')} has fewer than {_ADMIN_KEY_CHARS} characters, so that it "
            "could be guessed"
        )
    for name, keys in (
        ("ADMIN_KEY", [admin_key] if admin_key else []),
        ("CLIENT_API_KEY", settings.client_api_keys),
    ):
        if any(map(looks_like_variable, keys)):
            yield f"{read.label(name)} {NO_VARIABLES}"
    for origin in settings.allowed_origins:
        if origin == "*" and not settings.needs_key:
            yield (
                f"{read.label('ALLOWED_ORIGINS')}=* would let every web page use the gateway: set "
                f"{read.place_for('CLIENT_API_KEY')}, or name the origins of the pages"
            )
        if _ORIGIN.fullmatch(origin) is None:
            yield (
                f"{read.label('ALLOWED_ORIGINS')}: {origin!r} is not an origin as browsers send "
                "it, in small letters and without a path, such as https://app.example"
            )
    clients = {client.key for client in settings.tables.clients}
    if admin_key is not None and admin_key in clients.union(settings.client_api_keys):
        yield f"{read.label('ADMIN_KEY')} is one of the keys of clients, too"
    if settings.is_public and not settings.limits.rate_per_minute:
        yield (
            f"{public}: set {read.place_for('RATE_LIMIT_PER_MINUTE')}, the requests a minute that "
            "each key may make"
        )


_SCHEMES: Final = {
    "redis": ("redis", "rediss", "unix"),
    "postgres": ("postgresql", "postgres"),
}
"""How the URLs of stores begin."""


def _policy_problems(settings: GatewaySettings, read: Values) -> Iterator[str]:
    """Yield names of parameters that no request has."""
    for name in settings.retry_without:
        if fault := fault_of_name(name):
            yield f"{read.label('RETRY_WITHOUT')}: {name!r} {fault}"


def _state_problems(settings: GatewaySettings, read: Values) -> Iterator[str]:
    """Yield what the backend of the state lacks or cannot do."""
    state, label = settings.state, read.label("STATE_BACKEND")
    for backend, name in (("redis", "REDIS_URL"), ("postgres", "POSTGRES_URL")):
        url = read.text(name) or ""
        if url and read.text("STATE_BACKEND") is None:
            yield (
                f"{read.label(name)} is set, and {read.place_for('STATE_BACKEND')} is not: set it "
                f"to {backend}, or leave the URL out"
            )
        if url and state.backend == backend and url.partition(":")[0] not in _SCHEMES[backend]:
            yield f"{read.label(name)} must begin with {_SCHEMES[backend][0]}://"
    if state.backend == "redis" and not state.redis_url:
        yield f"{label}=redis needs {read.place_for('REDIS_URL')}"
    if state.backend == "postgres" and not state.postgres_url:
        yield f"{label}=postgres needs {read.place_for('POSTGRES_URL')}"
    if state.backend == "memory" and settings.workers > 1:
        yield (
            f"{read.label('WORKERS')}={settings.workers}: several workers need a store that they "
            "share: sqlite, redis or postgres, not memory"
        )
    if state.backend == "redis" and (state.max_entries or state.max_bytes):
        yield (
            f"{read.place_for('STATE_MAX_ENTRIES')} and {read.place_for('STATE_MAX_BYTES')} bound "
            "sqlite and memory: leave them out, and set maxmemory in Redis"
        )
