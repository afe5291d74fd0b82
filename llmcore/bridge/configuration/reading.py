"""Reads the gateway's settings: from variables, a `.env` file and `openbridge.toml`."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, get_args

from llmcore.bridge.configuration.document import ConfigDocument, read_document
from llmcore.bridge.configuration.settings import (
    RETRY_WITHOUT,
    AccountSettings,
    BudgetPeriod,
    CacheSettings,
    CoolDownSettings,
    CustomTools,
    GatewaySettings,
    HostedTools,
    Limits,
    LogLevel,
    Prefill,
    ReasoningText,
    ResponseCaching,
    StateBackend,
    StateSettings,
    StructuredOutput,
    UiSetting,
)
from llmcore.bridge.configuration.tables import FileTables, read_tables
from llmcore.bridge.configuration.values import Values
from llmcore.client.environment import provider_entries
from llmcore.client.user_folders import named_path
from llmcore.fronts.front import FRONT_IDS
from llmcore.schema.errors import ConfigurationError

COMPATIBLE: Final = "openai-compatible"
"""A server of Chat Completions, which a base URL names."""

FILE_NAME: Final = "openbridge.toml"
"""The configuration file that is read where none is named, if it is there."""


def read_environment(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return *environ* over what the `.env` file of *folder* says.

    `OPENBRIDGE_ENV_FILE` names another file, which must then be there.
    """
    named = environ.get("OPENBRIDGE_ENV_FILE", "").strip()
    path = named_path(named, "OPENBRIDGE_ENV_FILE") if named else folder / ".env"
    if not path.is_file():
        if named:
            raise ConfigurationError(f"OPENBRIDGE_ENV_FILE names {path}, which is not a file")
        return dict(environ)
    try:
        from dotenv import dotenv_values
    except ImportError as error:
        message = f"reading {path} needs: pip install 'llmcore-routes[bridge]'"
        raise ConfigurationError(message, cause=error) from error
    try:
        lines = dotenv_values(path)
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 text: {error}", cause=error) from error
    return {**{name: value for name, value in lines.items() if value is not None}, **environ}


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
    return GatewaySettings(
        host=read.text("HOST") or "127.0.0.1",
        port=read.number("PORT", 8787, int, least=0, most=65535),
        workers=read.number("WORKERS", 1, int, least=1, most=64),
        log_level=read.one_of("LOG_LEVEL", "info", LogLevel),
        upstream=read.text("UPSTREAM") or _found_upstream(read, tables),
        upstream_base_url=read.text("UPSTREAM_BASE_URL"),
        upstream_api_key=read.text("UPSTREAM_API_KEY"),
        model_map_path=read.path("MODEL_MAP_PATH"),
        otherwise=read.text("OTHERWISE"),
        tables=tables,
        cool_downs=_cool_downs(read),
        client_api_keys=_client_keys(read),
        allowed_hosts=read.words("ALLOWED_HOSTS"),
        seal_key=read.text("SEAL_KEY"),
        limits=_limits(read),
        state=_state(read),
        accounts=_accounts(read),
        retries=read.number("RETRIES", 2, int, least=0),
        retry_timeouts=read.flag("RETRY_TIMEOUTS"),
        keep_alive_s=read.number("KEEP_ALIVE_SECONDS", 15.0, float, least=0),
        hosted_tools=read.one_of("HOSTED_TOOLS", "native", HostedTools),
        structured_output=read.one_of("STRUCTURED_OUTPUT", "error", StructuredOutput),
        custom_tools=read.one_of("CUSTOM_TOOLS", "function", CustomTools),
        reasoning_text=read.one_of("REASONING_TEXT", "auto", ReasoningText),
        tools_path=read.path("TOOLS_PATH"),
        retry_without=read.words("RETRY_WITHOUT", RETRY_WITHOUT),
        relay=read.flag("RELAY", default=True),
        check_stream=read.flag("CHECK_STREAM"),
        cache=CacheSettings(
            responses=read.one_of("CACHE_RESPONSES", "off", ResponseCaching),
            ttl_s=read.number("CACHE_SECONDS", 3600.0, float, least=1),
            prompt_marks=read.flag("CACHE_PROMPT_MARKS"),
        ),
        telemetry=read.flag("TELEMETRY"),
        ui=read.one_of("UI", "auto", UiSetting),
        ui_record=read.flag("UI_RECORD"),
        config_path=None if read.document is None else read.document.path,
        environ=dict(read.environ),
        structured_output_by_front=read.by_front("STRUCTURED_OUTPUT_BY_FRONT", _FORMATS),
        keep_alive_by_front=read.by_front("KEEP_ALIVE_BY_FRONT", _KEEP_ALIVES),
        prefill=read.one_of("PREFILL", "continue", Prefill),
        model_prefix=read.text("MODEL_PREFIX") or "",
        max_choices=read.number("MAX_CHOICES", 1, int, least=1, most=128),
    )


_FORMATS: Final = dict.fromkeys(FRONT_IDS, get_args(StructuredOutput))
_KEEP_ALIVES: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic-messages": ("comment", "blank", "none"),
    "openai-chat": ("blank", "none"),
    "openai-responses": ("none",),
    "gemini": ("none",),
}
"""The heartbeats that clients of each front can read, besides its own."""


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
    found = next((one.id for one in provider_entries() if one.is_configured(read.environ)), None)
    if found is not None:
        return found
    if find_spec("xllamacpp") is not None:
        return "local"
    raise ConfigurationError(
        "no upstream is configured: set the key of a provider, such as OPENAI_API_KEY or "
        "ANTHROPIC_API_KEY (`llmcore providers` lists them), OPENBRIDGE_UPSTREAM_BASE_URL, or "
        "install the local model: pip install 'llmcore-routes[local]'"
    )


_NOT_KEYS = frozenset({"none", "null", "undefined", "nil", "false"})
"""Words that programs write in place of a missing key."""


def _client_keys(read: Values) -> tuple[str, ...]:
    """Return the keys that clients must show one of.

    Raises ConfigurationError if the variable is set and names none: a gateway that was meant to
    have a key must not run without.
    """
    text = read.raw("CLIENT_API_KEY")
    if text is None:
        return ()
    keys = tuple(key for key in (part.strip() for part in text.split(",")) if key)
    if not keys or any(key.lower() in _NOT_KEYS for key in keys):
        raise ConfigurationError(
            "OPENBRIDGE_CLIENT_API_KEY is set and names no key: set it to the keys that clients "
            "may use, or remove it to answer without keys on this machine"
        )
    return keys


def provider_ids() -> tuple[str, ...]:
    """Return every provider that an upstream can be of."""
    return (COMPATIBLE, "local", *(entry.id for entry in provider_entries()))


def _limits(read: Values) -> Limits:
    default = Limits()
    return Limits(
        max_body_bytes=read.number("MAX_BODY_BYTES", default.max_body_bytes, int, least=1),
        max_header_bytes=read.number("MAX_HEADER_BYTES", default.max_header_bytes, int, least=1024),
        body_s=read.number("BODY_SECONDS", default.body_s, float, least=0.001),
        send_s=read.number("SEND_SECONDS", default.send_s, float, least=0.001),
        first_event_s=read.number("FIRST_EVENT_SECONDS", default.first_event_s, float, least=0.001),
        idle_s=read.number("IDLE_SECONDS", default.idle_s, float, least=0.001),
        total_s=read.number("TOTAL_SECONDS", 0.0, float, least=0) or None,
        max_running=read.number("MAX_RUNNING", default.max_running, int, least=1),
        max_background=read.number("MAX_BACKGROUND", default.max_background, int, least=1),
        rate_per_minute=read.number("RATE_LIMIT_PER_MINUTE", 0, int, least=0),
        shutdown_s=read.number("SHUTDOWN_SECONDS", default.shutdown_s, float, least=0),
    )


def _cool_downs(read: Values) -> CoolDownSettings:
    default = CoolDownSettings()
    return CoolDownSettings(
        failure_s=read.number("COOL_DOWN_SECONDS", default.failure_s, float, least=0.001),
        key_s=read.number("KEY_COOL_DOWN_SECONDS", default.key_s, float, least=0.001),
        breaker_failures=read.number("BREAKER_FAILURES", default.breaker_failures, int, least=1),
        breaker_s=read.number("BREAKER_SECONDS", default.breaker_s, float, least=0.001),
    )


def _state(read: Values) -> StateSettings:
    default = StateSettings()
    return StateSettings(
        backend=read.one_of("STATE_BACKEND", "sqlite", StateBackend),
        path=read.path("STATE_PATH"),
        redis_url=read.text("REDIS_URL"),
        postgres_url=read.text("POSTGRES_URL"),
        ttl_s=read.number("STATE_TTL_SECONDS", default.ttl_s, float, least=1),
        max_entries=read.number("STATE_MAX_ENTRIES", default.max_entries, int, least=1),
        max_bytes=read.number("STATE_MAX_BYTES", default.max_bytes, int, least=1),
    )


def _accounts(read: Values) -> AccountSettings:
    default = AccountSettings()
    return AccountSettings(
        issued_keys=read.flag("KEYS_ISSUED"),
        admin_key=read.text("ADMIN_KEY"),
        budget_usd=read.number("BUDGETS_USD", 0.0, float, least=0, most=1e6) or None,
        budget_tokens=read.number("BUDGETS_TOKENS", 0, int, least=0, most=1e15) or None,
        budget_period=read.one_of("BUDGETS_PERIOD", default.budget_period, BudgetPeriod),
        output_tokens=read.number("BUDGETS_OUTPUT_TOKENS", 0, int, least=0) or None,
        prices_path=read.path("PRICES_PATH"),
        records_spend=read.flag("SPEND_RECORD", default=True),
        spend_kept_s=86400.0 * read.number("SPEND_KEEP_DAYS", 90.0, float, least=0.01),
        spend_queue_rows=read.number("SPEND_QUEUE_ROWS", default.spend_queue_rows, int, least=1),
    )


_ADMIN_KEY_CHARS: Final = 16


def _check(settings: GatewaySettings, read: Values) -> None:
    tables = settings.tables
    if settings.model_map_path is not None and (tables.models or tables.prefixes):
        raise ConfigurationError(
            f"{read.label('MODEL_MAP_PATH')} and [models] or [prefixes] exclude each other: move "
            "the map into the file, or leave one of them out"
        )
    if settings.accounts.prices_path is not None and tables.prices:
        raise ConfigurationError(
            f"{read.label('PRICES_PATH')} and [prices] exclude each other: move the prices into "
            "the file, or leave one of them out"
        )
    if settings.model_map_path is not None and settings.otherwise is not None:
        raise ConfigurationError(
            f"{read.label('OTHERWISE')}: a model map has its own `otherwise`; set it there"
        )
    public = f"{read.label('HOST')}={settings.host} can be reached from other machines"
    if settings.is_public and not settings.needs_key:
        raise ConfigurationError(
            f"{public}: set OPENBRIDGE_CLIENT_API_KEY or OPENBRIDGE_KEYS_ISSUED, or listen on "
            "127.0.0.1"
        )
    admin_key = settings.accounts.admin_key
    if admin_key is not None and len(admin_key) < _ADMIN_KEY_CHARS:
        raise ConfigurationError(
            f"{read.label('ADMIN_KEY')} has fewer than {_ADMIN_KEY_CHARS} characters, so that it "
            "could be guessed"
        )
    if admin_key is not None and admin_key in settings.client_api_keys:
        raise ConfigurationError(f"{read.label('ADMIN_KEY')} is one of the keys of clients, too")
    if settings.is_public and not settings.limits.rate_per_minute:
        raise ConfigurationError(
            f"{public}: set OPENBRIDGE_RATE_LIMIT_PER_MINUTE, the requests a minute that each key "
            "may make"
        )
    state = settings.state
    if state.backend == "redis" and not state.redis_url:
        raise ConfigurationError(f"{read.label('STATE_BACKEND')}=redis needs OPENBRIDGE_REDIS_URL")
    if state.backend == "postgres" and not state.postgres_url:
        raise ConfigurationError(
            f"{read.label('STATE_BACKEND')}=postgres needs OPENBRIDGE_POSTGRES_URL"
        )
    if state.backend == "redis" and (state.max_entries or state.max_bytes):
        raise ConfigurationError(
            "OPENBRIDGE_STATE_MAX_ENTRIES and OPENBRIDGE_STATE_MAX_BYTES bound sqlite and memory: "
            "leave them out, and set maxmemory in Redis"
        )
    if settings.upstream == COMPATIBLE and not (
        settings.upstream_base_url or settings.tables.upstreams
    ):
        raise ConfigurationError(
            f"{read.label('UPSTREAM')}=openai-compatible needs OPENBRIDGE_UPSTREAM_BASE_URL"
        )
