"""The gateway's settings, read from the environment and a `.env` file."""

import ipaddress
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeVar, cast, get_args

from attrs import field, frozen

from llmcore.client.environment import provider_entries
from llmcore.client.user_folders import named_path
from llmcore.schema.errors import ConfigurationError

StateBackend = Literal["sqlite", "memory", "redis"]
HostedTools = Literal["native", "drop", "error", "function"]
StructuredOutput = Literal["error", "degrade"]
CustomTools = Literal["function", "native"]
ReasoningText = Literal["auto", "summary", "content"]
LogLevel = Literal["debug", "info", "warning", "error"]

_T = TypeVar("_T")

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

RETRY_WITHOUT = ("text.verbosity", "parallel_tool_calls", "service_tier", "prompt_cache_key")
"""Parameters that only tune, so that an answer without them is better than none."""


@frozen(kw_only=True)
class Limits:
    """How much the gateway takes and how long it waits; sizes in bytes, times in seconds."""

    max_body_bytes: int = 32 * 1024 * 1024
    """Of a request's body, both as it comes and decompressed."""
    max_header_bytes: int = 32 * 1024
    body_s: float = 30.0
    """For a request's head to arrive, and as long again for its body."""
    send_s: float = 60.0
    """For a client to take what it is sent."""
    first_event_s: float = 600.0
    idle_s: float = 300.0
    total_s: float | None = None
    """For the whole of an answer, all tries and the waits between them included."""
    max_running: int = 256
    """Answers under way at once; further requests are told to come back."""
    rate_per_minute: int = 0
    """Requests a minute of each client key (or of each address, without keys); 0 is unlimited."""
    shutdown_s: float = 120.0
    """How long running answers may take once the gateway is stopping."""


@frozen(kw_only=True)
class StateSettings:
    """Where responses are kept, and for how long."""

    backend: StateBackend = "sqlite"
    path: Path | None = None
    """The SQLite file; None is the user's data folder."""
    redis_url: str | None = field(default=None, repr=False)
    ttl_s: float = 30 * 24 * 3600.0
    max_entries: int | None = None
    """Responses in memory or SQLite; None is the backend's own bound."""
    max_bytes: int | None = None
    """Of responses in memory or SQLite, packed; None is the backend's own bound."""


@frozen(kw_only=True)
class GatewaySettings:
    """The gateway's whole configuration."""

    host: str = "127.0.0.1"
    port: int = 8787
    log_level: LogLevel = "info"
    upstream: str = "openrouter"
    """The provider of models that the map does not name."""
    upstream_base_url: str | None = None
    """With the upstream `openai-compatible`: where it is."""
    upstream_api_key: str | None = field(default=None, repr=False)
    """With the upstream `openai-compatible`: its key."""
    model_map_path: Path | None = None
    client_api_keys: tuple[str, ...] = field(default=(), repr=False)
    """Keys of which clients must send one; empty admits all, on a loopback address only."""
    allowed_hosts: tuple[str, ...] = ()
    """Further host names that requests without a key may be addressed to."""
    seal_key: str | None = field(default=None, repr=False)
    """Signs the encrypted reasoning that clients keep for us; None is a key in the store."""
    limits: Limits = Limits()
    state: StateSettings = StateSettings()
    retries: int = 2
    """Further tries of a request whose answer has not begun."""
    retry_timeouts: bool = False
    """Whether a request that timed out is sent again, which the upstream may bill twice."""
    keep_alive_s: float = 15.0
    """Silence after which a stream gets a comment; 0 is never."""
    hosted_tools: HostedTools = "native"
    structured_output: StructuredOutput = "error"
    custom_tools: CustomTools = "function"
    reasoning_text: ReasoningText = "auto"
    tools_path: Path | None = None
    """A file of further tool types."""
    retry_without: tuple[str, ...] = RETRY_WITHOUT
    relay: bool = True
    """Whether requests and answers pass as they came where the upstream speaks the client's API."""
    check_stream: bool = False
    """Whether every stream is checked against the grammar of its API, and violations reported."""
    environ: Mapping[str, str] = field(factory=dict, repr=False)
    """Everything that was read; providers look for their keys here."""

    @property
    def is_public(self) -> bool:
        """Whether others than this machine can reach the address."""
        return not is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Return whether *host* is an address of this machine alone."""
    name = host.strip("[]").lower()
    if name in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


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


def settings_from(environ: Mapping[str, str]) -> GatewaySettings:
    """Return the settings that *environ* spells.

    Raises ConfigurationError, naming the variable, for an invalid value, for an
    unknown `OPENBRIDGE_` variable, and for a public address without a client key.
    """
    read = _Variables(environ)
    settings = _settings(read)
    read.refuse_unknown()
    _check(settings)
    return settings


def _settings(read: "_Variables") -> GatewaySettings:
    return GatewaySettings(
        host=read.text("HOST") or "127.0.0.1",
        port=read.number("PORT", 8787, int, least=0, most=65535),
        log_level=_one_of(read, "LOG_LEVEL", "info", LogLevel),
        upstream=read.text("UPSTREAM") or _found_upstream(read),
        upstream_base_url=read.text("UPSTREAM_BASE_URL"),
        upstream_api_key=read.text("UPSTREAM_API_KEY"),
        model_map_path=read.path("MODEL_MAP_PATH"),
        client_api_keys=_client_keys(read),
        allowed_hosts=read.words("ALLOWED_HOSTS"),
        seal_key=read.text("SEAL_KEY"),
        limits=_limits(read),
        state=_state(read),
        retries=read.number("RETRIES", 2, int, least=0),
        retry_timeouts=read.flag("RETRY_TIMEOUTS"),
        keep_alive_s=read.number("KEEP_ALIVE_SECONDS", 15.0, float, least=0),
        hosted_tools=_one_of(read, "HOSTED_TOOLS", "native", HostedTools),
        structured_output=_one_of(read, "STRUCTURED_OUTPUT", "error", StructuredOutput),
        custom_tools=_one_of(read, "CUSTOM_TOOLS", "function", CustomTools),
        reasoning_text=_one_of(read, "REASONING_TEXT", "auto", ReasoningText),
        tools_path=read.path("TOOLS_PATH"),
        retry_without=read.words("RETRY_WITHOUT", RETRY_WITHOUT),
        relay=read.flag("RELAY", default=True),
        check_stream=read.flag("CHECK_STREAM"),
        environ=dict(read.environ),
    )


def _found_upstream(read: "_Variables") -> str:
    """Return the upstream where none is named: the first provider that *read* configures.

    Without any it is the local model, if its package is installed.
    """
    if read.text("UPSTREAM_BASE_URL"):
        return "openai-compatible"
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


def _client_keys(read: "_Variables") -> tuple[str, ...]:
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


def _limits(read: "_Variables") -> Limits:
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
        rate_per_minute=read.number("RATE_LIMIT_PER_MINUTE", 0, int, least=0),
        shutdown_s=read.number("SHUTDOWN_SECONDS", default.shutdown_s, float, least=0),
    )


def _state(read: "_Variables") -> StateSettings:
    default = StateSettings()
    return StateSettings(
        backend=_one_of(read, "STATE_BACKEND", "sqlite", StateBackend),
        path=read.path("STATE_PATH"),
        redis_url=read.text("REDIS_URL"),
        ttl_s=read.number("STATE_TTL_SECONDS", default.ttl_s, float, least=1),
        max_entries=read.number("STATE_MAX_ENTRIES", default.max_entries, int, least=1),
        max_bytes=read.number("STATE_MAX_BYTES", default.max_bytes, int, least=1),
    )


def _check(settings: GatewaySettings) -> None:
    if settings.is_public and not settings.client_api_keys:
        raise ConfigurationError(
            f"OPENBRIDGE_HOST={settings.host} can be reached from other machines: set "
            "OPENBRIDGE_CLIENT_API_KEY, or listen on 127.0.0.1"
        )
    if settings.is_public and not settings.limits.rate_per_minute:
        raise ConfigurationError(
            f"OPENBRIDGE_HOST={settings.host} can be reached from other machines: set "
            "OPENBRIDGE_RATE_LIMIT_PER_MINUTE, the requests a minute that each key may make"
        )
    state = settings.state
    if state.backend == "redis" and not state.redis_url:
        raise ConfigurationError("OPENBRIDGE_STATE_BACKEND=redis needs OPENBRIDGE_REDIS_URL")
    if settings.state.backend == "redis" and (
        settings.state.max_entries or settings.state.max_bytes
    ):
        raise ConfigurationError(
            "OPENBRIDGE_STATE_MAX_ENTRIES and OPENBRIDGE_STATE_MAX_BYTES bound sqlite and memory: "
            "leave them out, and set maxmemory in Redis"
        )
    if settings.upstream == "openai-compatible" and not settings.upstream_base_url:
        raise ConfigurationError(
            "OPENBRIDGE_UPSTREAM=openai-compatible needs OPENBRIDGE_UPSTREAM_BASE_URL"
        )


class _Variables:
    """Reads `OPENBRIDGE_` variables and remembers which it knows."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self._known = {"OPENBRIDGE_ENV_FILE"}

    def text(self, name: str) -> str | None:
        """Return the variable's text; None if it is absent or blank."""
        self._known.add(f"OPENBRIDGE_{name}")
        return self.environ.get(f"OPENBRIDGE_{name}", "").strip() or None

    def raw(self, name: str) -> str | None:
        """Return the variable as it is; None if it is absent."""
        self._known.add(f"OPENBRIDGE_{name}")
        return self.environ.get(f"OPENBRIDGE_{name}")

    def words(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the comma-separated words; `none` is the empty list."""
        text = self.text(name)
        if text is None:
            return default
        if text.lower() == "none":
            return ()
        return tuple(word for word in (part.strip() for part in text.split(",")) if word)

    def path(self, name: str) -> Path | None:
        """Return the variable as a path."""
        text = self.text(name)
        return None if text is None else named_path(text, f"OPENBRIDGE_{name}")

    def number(
        self,
        name: str,
        default: _T,
        kind: Callable[[str], _T],
        *,
        least: float,
        most: float = sys.float_info.max,
    ) -> _T:
        """Return the variable as a number from *least* to *most*."""
        text = self.text(name)
        if text is None:
            return default
        try:
            value = kind(text)
        except ValueError as error:
            message = f"OPENBRIDGE_{name}={text!r} is not a number"
            raise ConfigurationError(message, cause=error) from error
        if not least <= cast("float", value) <= most:
            bounds = f"at least {least:g}" + (f" and at most {most:g}" if most < 1e9 else "")
            raise ConfigurationError(f"OPENBRIDGE_{name}={text} must be {bounds}")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return the variable as a boolean; *default* if it is absent."""
        text = (self.text(name) or str(default)).lower()
        if text not in _TRUE | _FALSE:
            raise ConfigurationError(f"OPENBRIDGE_{name}={text!r} is neither true nor false")
        return text in _TRUE

    def refuse_unknown(self) -> None:
        """Raise ConfigurationError for a variable that nothing reads, such as a misspelt one."""
        ours = {name for name in self.environ if name.startswith("OPENBRIDGE_")}
        if unknown := sorted(ours - self._known):
            known = ", ".join(sorted(self._known))
            raise ConfigurationError(f"unknown: {', '.join(unknown)} (known: {known})")


def _one_of(read: _Variables, name: str, default: _T, words: object) -> _T:
    text = (read.text(name) or str(default)).lower()
    if text not in get_args(words):
        choices = ", ".join(get_args(words))
        raise ConfigurationError(f"OPENBRIDGE_{name}={text!r} is not one of {choices}")
    return cast("_T", text)
