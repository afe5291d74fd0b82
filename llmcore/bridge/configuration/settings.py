"""The gateway's settings, as values: what each is called, its default, and its bounds.

A setting has the name of its variable without `OPENBRIDGE_`; `values.SECTIONS` states where it
is in the file.
"""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

from attrs import Factory, field, fields

from llmcore.bridge.configuration.tables import FileTables
from llmcore.bridge.configuration.values import MOST, Values, place_of
from llmcore.fronts.front import FRONT_IDS, KeepAlive, front_by_id
from llmcore.fronts.policy import ChatReasoning
from llmcore.schema.frozen import frozen

StateBackend = Literal["sqlite", "memory", "redis", "postgres"]
HostedTools = Literal["native", "drop", "error", "function"]
StructuredOutput = Literal["error", "degrade"]
CustomTools = Literal["function", "native"]
Prefill = Literal["continue", "error"]
ReasoningText = Literal["auto", "summary", "content"]
UiSetting = Literal["auto", "on", "off"]
ResponseCaching = Literal["off", "deterministic", "all"]
LogLevel = Literal["debug", "info", "warning", "error"]
BudgetPeriod = Literal["day", "week", "month", "total"]
"""How long a budget lasts, by the calendar; weeks begin on Mondays, `total` never ends."""

OTHERWISE_WORDS: Final = ("pass", "refuse")
"""Values of `otherwise` that are not targets."""

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

RETRY_WITHOUT = (
    "text.verbosity",
    "parallel_tool_calls",
    "service_tier",
    "prompt_cache_key",
    "reasoning.summary",
    "reasoning",
)
"""Parameters that only tune, so that a response without them is better than none."""

# -- how a setting is declared

_T = TypeVar("_T")

_READ: Final = "read"
"""In the metadata of a field that is one setting: what reads it."""


def _setting(default: object, read: Callable[[Values], object], *, secret: bool = False) -> Any:
    """Declare a field; a *secret* is not shown in its repr."""
    return field(default=default, repr=not secret, metadata={_READ: read})


def _text(name: str, default: str | None = None, *, secret: bool = False) -> Any:
    return _setting(default, lambda values: values.text(name) or default, secret=secret)


def _path(name: str) -> Any:
    return _setting(None, lambda values: values.path(name))


def _words(name: str, default: tuple[str, ...] = ()) -> Any:
    return _setting(default, lambda values: values.words(name, default))


def _flag(name: str, *, default: bool = False) -> Any:
    return _setting(default, lambda values: values.flag(name, default=default))


def _one_of(name: str, default: str, choices: object) -> Any:
    return _setting(default, lambda values: values.one_of(name, default, choices))


def _integer(name: str, default: int | None, *, least: int = 0, most: float = MOST) -> Any:
    return _setting(
        default, lambda values: values.number(name, default, int, least=least, most=most)
    )


def _seconds(name: str, default: float, *, least: float = 0.001) -> Any:
    return _setting(default, lambda values: values.number(name, default, float, least=least))


def _amount(name: str, kind: type[int | float], *, most: float = MOST) -> Any:
    """Declare a bound. None, which is the default, and 0 mean that there is none."""
    return _setting(
        None, lambda values: values.number(name, kind(), kind, least=0, most=most) or None
    )


def _by_front(name: str, choices: Callable[[str], Sequence[str]]) -> Any:
    """Declare a field with a word for some fronts; *choices* are those that a front can have."""

    def read(values: Values) -> object:
        return values.by_front(name, FRONT_IDS, choices)

    return _setting(Factory(dict), read)


def read_settings(kind: type[_T], values: Values, **others: object) -> _T:
    """Return a *kind*, its settings read from *values*, and *others* the rest of its fields.

    Raises ConfigurationError for an invalid value.
    """
    readers = {attribute.name: attribute.metadata.get(_READ) for attribute in fields(kind)}  # type: ignore[arg-type]
    found = {name: read(values) for name, read in readers.items() if read is not None}
    return kind(**found, **others)


# -- the settings


@frozen(kw_only=True)
class Limits:
    """Limits of requests, responses and waiting; sizes are in bytes, times in seconds."""

    max_body_bytes: int = _integer("MAX_BODY_BYTES", 32 * 1024 * 1024, least=1)
    """The largest body of a request, both as received and decompressed."""
    max_header_bytes: int = _integer("MAX_HEADER_BYTES", 32 * 1024, least=1024)
    body_s: float = _seconds("BODY_SECONDS", 30.0)
    """The time for a request's head to arrive, and again for its body: more, as it comes."""
    send_s: float = _seconds("SEND_SECONDS", 60.0)
    """The longest time in which a client takes none of the bytes that are sent to it."""
    first_event_s: float = _seconds("FIRST_EVENT_SECONDS", 600.0)
    idle_s: float = _seconds("IDLE_SECONDS", 300.0)
    total_s: float | None = _amount("TOTAL_SECONDS", float)
    """The time limit of a whole response, including all tries and the waits between them."""
    max_running: int = _integer("MAX_RUNNING", 256, least=1)
    """Responses under way at once; further requests get a 503."""
    max_background: int = _integer("MAX_BACKGROUND", 64, least=1)
    """Background responses that a process makes at once; as many again may wait."""
    rate_per_minute: int = _integer("RATE_LIMIT_PER_MINUTE", 0)
    """Requests a minute of each client key (or of each address, without keys); 0 is unlimited."""
    max_choices: int = _integer("MAX_CHOICES", 1, least=1, most=128)
    """The choices that a request of Chat Completions may ask for, each of them one call."""
    shutdown_s: float = _seconds("SHUTDOWN_SECONDS", 120.0, least=0)
    """How long running responses may take once the gateway is stopping."""


@frozen(kw_only=True)
class StateSettings:
    """Where responses are kept, and for how long."""

    backend: StateBackend = _one_of("STATE_BACKEND", "sqlite", StateBackend)
    path: Path | None = _path("STATE_PATH")
    """The SQLite file; None is the user's data folder."""
    redis_url: str | None = _text("REDIS_URL", secret=True)
    postgres_url: str | None = _text("POSTGRES_URL", secret=True)
    ttl_s: float = _seconds("STATE_TTL_SECONDS", 30 * 24 * 3600.0, least=1)
    max_entries: int | None = _integer("STATE_MAX_ENTRIES", None, least=1)
    """Responses in memory or SQLite; None is the backend's own bound."""
    max_bytes: int | None = _integer("STATE_MAX_BYTES", None, least=1)
    """Bytes of packed responses in memory or SQLite; None is the backend's own bound."""


@frozen(kw_only=True)
class AccountSettings:
    """Issued keys, the budget of all responses together, and rows of spend."""

    issued_keys: bool = _flag("KEYS_ISSUED")
    """Whether clients may send issued keys, and must send a key."""
    admin_key: str | None = _text("ADMIN_KEY", secret=True)
    """The key of the operations that manage keys; None is that there are none."""
    budget_usd: float | None = _amount("BUDGETS_USD", float, most=1e6)
    """US dollars of all responses of a period in total."""
    budget_tokens: int | None = _amount("BUDGETS_TOKENS", int, most=1e15)
    """Tokens of all responses of a period together."""
    budget_period: BudgetPeriod = _one_of("BUDGETS_PERIOD", "month", BudgetPeriod)
    time_zone: tzinfo = _setting(UTC, lambda values: values.time_zone("BUDGETS_TIME_ZONE"))
    """At whose midnight the periods of all budgets, and the days and months of reports, begin."""
    output_tokens: int | None = _amount("BUDGETS_OUTPUT_TOKENS", int)
    """The output reserved for requests without a limit; None is the limit of the model."""
    prices_path: Path | None = _path("PRICES_PATH")
    """A file of prices, which go before those of the catalog."""
    records_spend: bool = _flag("SPEND_RECORD", default=True)
    """Whether a row is written of each response; those with a budget always have one."""
    spend_kept_s: float = _setting(
        90 * 86400.0,
        lambda values: 86400.0 * values.number("SPEND_KEEP_DAYS", 90.0, float, least=0.01),
    )
    spend_queue_rows: int = _integer("SPEND_QUEUE_ROWS", 10_000, least=1)
    """Rows that may wait to be written."""


@frozen(kw_only=True)
class CoolDownSettings:
    """How many seconds an upstream that failed gets no requests while there are others."""

    failure_s: float = _seconds("COOL_DOWN_SECONDS", 5.0, least=0)
    """Seconds after a failure that states no time to wait."""
    key_s: float = _seconds("KEY_COOL_DOWN_SECONDS", 300.0, least=0)
    """Seconds after it refused its key, or had no credit left."""
    breaker_failures: int = _integer("BREAKER_FAILURES", 5, least=1)
    """The number of failures in a row that opens the circuit."""
    breaker_s: float = _seconds("BREAKER_SECONDS", 60.0)
    """Seconds that the circuit stays open; after them, one request is sent as a probe."""


@frozen(kw_only=True)
class CacheSettings:
    """Settings of the response cache, and of marks for the upstreams' caches of prompts."""

    responses: ResponseCaching = _one_of("CACHE_RESPONSES", "off", ResponseCaching)
    """Which responses may come from the response cache: those of temperature 0, or all."""
    ttl_s: float = _seconds("CACHE_SECONDS", 3600.0, least=1)
    """How long a stored response is returned."""
    prompt_marks: bool = _flag("CACHE_PROMPT_MARKS")
    """Whether requests without cache marks get some, so that the upstream caches their prompts."""


@frozen(kw_only=True)
class GatewaySettings:
    """The gateway's whole configuration."""

    host: str = _text("HOST", "127.0.0.1")
    port: int = _integer("PORT", 8787, most=65535)
    workers: int = _integer("WORKERS", 1, least=1, most=64)
    """Processes that serve the address, with one store for all of them."""
    log_level: LogLevel = _one_of("LOG_LEVEL", "info", LogLevel)
    upstream: str = "openrouter"
    """The provider of models that the map does not name."""
    upstream_base_url: str | None = _text("UPSTREAM_BASE_URL")
    """With the upstream `openai-compatible`: where it is."""
    upstream_api_key: str | None = _text("UPSTREAM_API_KEY", secret=True)
    """With the upstream `openai-compatible`: its key."""
    model_map_path: Path | None = _path("MODEL_MAP_PATH")
    otherwise: str | None = _text("OTHERWISE")
    """`pass`, `refuse`, or the target of names that the file does not have; None is `pass`."""
    tables: FileTables = FileTables()
    """Upstreams, models and clients of the configuration file."""
    cool_downs: CoolDownSettings = CoolDownSettings()
    client_api_keys: tuple[str, ...] = field(default=(), repr=False)
    """Keys of which clients must send one; empty admits all, on a loopback address only."""
    allowed_hosts: tuple[str, ...] = _words("ALLOWED_HOSTS")
    """Further host names that requests without a key may be addressed to."""
    allowed_origins: tuple[str, ...] = _words("ALLOWED_ORIGINS")
    """Origins whose web pages may use the gateway from a browser; `*` is all of them."""
    seal_key: str | None = _text("SEAL_KEY", secret=True)
    """Signs the encrypted reasoning that clients keep for us; None is a key in the store."""
    limits: Limits = Limits()
    state: StateSettings = StateSettings()
    accounts: AccountSettings = AccountSettings()
    cache: CacheSettings = CacheSettings()
    retries: int = _integer("RETRIES", 2)
    """Further tries of a request whose response has not begun."""
    retry_timeouts: bool = _flag("RETRY_TIMEOUTS")
    """Whether a request that timed out is sent again, which the upstream may bill twice."""
    keep_alive_s: float = _seconds("KEEP_ALIVE_SECONDS", 15.0, least=0)
    """Silence after which a stream gets a comment; 0 is never."""
    hosted_tools: HostedTools = _one_of("HOSTED_TOOLS", "native", HostedTools)
    structured_output: StructuredOutput = _one_of("STRUCTURED_OUTPUT", "error", StructuredOutput)
    custom_tools: CustomTools = _one_of("CUSTOM_TOOLS", "function", CustomTools)
    reasoning_text: ReasoningText = _one_of("REASONING_TEXT", "auto", ReasoningText)
    chat_reasoning: ChatReasoning = _one_of("CHAT_REASONING", "reasoning_content", ChatReasoning)
    tools_path: Path | None = _path("TOOLS_PATH")
    """A file of further tool types."""
    retry_without: tuple[str, ...] = _words("RETRY_WITHOUT", RETRY_WITHOUT)
    relay: bool = _flag("RELAY", default=True)
    """Whether requests and responses pass as they came where the upstream speaks the client's
    API."""
    telemetry: bool = _flag("TELEMETRY")
    """Whether requests and calls of upstreams are traced and measured with OpenTelemetry."""
    check_stream: bool = _flag("CHECK_STREAM")
    """Whether every stream is checked against the grammar of its API, and violations reported."""
    ui: UiSetting = _one_of("UI", "auto", UiSetting)
    """Whether there is a page at `/ui`; `auto` has it on a loopback address only."""
    ui_record: bool = _flag("UI_RECORD")
    """Whether the page shows whole exchanges, which are then kept in memory."""
    config_path: Path | None = None
    """The configuration file, if one was read."""
    environ: Mapping[str, str] = field(factory=dict, repr=False)
    """Everything that was read; providers look for their keys here."""
    structured_output_by_front: Mapping[str, StructuredOutput] = _by_front(
        "STRUCTURED_OUTPUT_BY_FRONT", lambda _front_id: get_args(StructuredOutput)
    )
    """`structured_output` for single fronts, by their ids."""
    keep_alive_by_front: Mapping[str, KeepAlive] = _by_front(
        "KEEP_ALIVE_BY_FRONT", lambda front_id: front_by_id(front_id).keep_alives
    )
    """The heartbeat of silent streams in place of the front's own, by the ids of fronts."""
    prefill: Prefill = _one_of("PREFILL", "continue", Prefill)
    """How to handle a conversation that ends with the assistant if the model cannot continue it:
    add a message of the user's, or refuse."""
    model_prefix: str = _text("MODEL_PREFIX", "")
    """Put before models' names in lists for clients of Messages, and removed from requests."""

    @property
    def needs_key(self) -> bool:
        """Whether clients must send a key."""
        configured = bool(self.client_api_keys or self.tables.clients)
        return configured or self.accounts.issued_keys

    @property
    def shares_state(self) -> bool:
        """Whether other processes use the same store."""
        return self.workers > 1 or self.state.backend in ("redis", "postgres")

    def place_of(self, name: str) -> str:
        """Return where the setting of the variable `OPENBRIDGE_<name>` is, or is to be set."""
        return place_of(name, self.environ, self.config_path)

    @property
    def folder(self) -> Path:
        """The folder that relative paths of the configuration file are below."""
        return Path() if self.config_path is None else self.config_path.parent

    @property
    def has_ui(self) -> bool:
        """Whether there is a page at `/ui`."""
        return self.ui == "on" or (self.ui == "auto" and not self.is_public)

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
