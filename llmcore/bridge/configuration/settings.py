"""The gateway's settings, as values."""

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from attrs import field, frozen

from llmcore.bridge.configuration.tables import FileTables

StateBackend = Literal["sqlite", "memory", "redis", "postgres"]
HostedTools = Literal["native", "drop", "error", "function"]
StructuredOutput = Literal["error", "degrade"]
CustomTools = Literal["function", "native"]
KeepAlive = Literal["comment", "blank", "none"]
Prefill = Literal["continue", "error"]
ReasoningText = Literal["auto", "summary", "content"]
UiSetting = Literal["auto", "on", "off"]
ResponseCaching = Literal["off", "deterministic", "all"]
LogLevel = Literal["debug", "info", "warning", "error"]
BudgetPeriod = Literal["day", "week", "month", "total"]
"""How long a budget lasts, by the UTC calendar; weeks begin on Mondays, `total` never ends."""

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
    max_background: int = 64
    """Background answers that a process makes at once; as many again may wait."""
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
    postgres_url: str | None = field(default=None, repr=False)
    ttl_s: float = 30 * 24 * 3600.0
    max_entries: int | None = None
    """Responses in memory or SQLite; None is the backend's own bound."""
    max_bytes: int | None = None
    """Of responses in memory or SQLite, packed; None is the backend's own bound."""


@frozen(kw_only=True)
class AccountSettings:
    """Issued keys, the budget of all answers together, and rows of spend."""

    issued_keys: bool = False
    """Whether clients may send issued keys, and must send a key."""
    admin_key: str | None = field(default=None, repr=False)
    """The key of the operations that manage keys; None is that there are none."""
    budget_usd: float | None = None
    """US dollars of all answers of a period together."""
    budget_tokens: int | None = None
    """Tokens of all answers of a period together."""
    budget_period: BudgetPeriod = "month"
    output_tokens: int | None = None
    """The output reserved for requests without a limit; None is the limit of the model."""
    prices_path: Path | None = None
    """A file of prices, which go before those of the catalog."""
    records_spend: bool = True
    """Whether a row is written of each answer; those with a budget always have one."""
    spend_kept_s: float = 90 * 86400.0
    spend_queue_rows: int = 10_000
    """Rows that may wait to be written."""


@frozen(kw_only=True)
class CoolDownSettings:
    """How long an upstream that failed is left alone while there are others, in seconds."""

    failure_s: float = 5.0
    """After a failure that states no time to wait."""
    key_s: float = 300.0
    """After it refused its key, or had no credit left."""
    breaker_failures: int = 5
    """So many failures in a row open the circuit."""
    breaker_s: float = 60.0
    """How long the circuit stays open; then one request tries."""


@frozen(kw_only=True)
class CacheSettings:
    """Settings of the response cache, and of marks for the upstreams' caches of prompts."""

    responses: ResponseCaching = "off"
    """Which answers may come from the response cache: those of temperature 0, or all."""
    ttl_s: float = 3600.0
    """How long an answer is given again."""
    prompt_marks: bool = False
    """Whether requests without marks for the upstream's cache of prompts get some."""


@frozen(kw_only=True)
class GatewaySettings:
    """The gateway's whole configuration."""

    host: str = "127.0.0.1"
    port: int = 8787
    workers: int = 1
    """Processes that serve the address, with one store for all of them."""
    log_level: LogLevel = "info"
    upstream: str = "openrouter"
    """The provider of models that the map does not name."""
    upstream_base_url: str | None = None
    """With the upstream `openai-compatible`: where it is."""
    upstream_api_key: str | None = field(default=None, repr=False)
    """With the upstream `openai-compatible`: its key."""
    model_map_path: Path | None = None
    otherwise: str | None = None
    """`pass`, `refuse`, or the target of names that the file does not have; None is `pass`."""
    tables: FileTables = FileTables()
    """Upstreams, models and clients of the configuration file."""
    cool_downs: CoolDownSettings = CoolDownSettings()
    client_api_keys: tuple[str, ...] = field(default=(), repr=False)
    """Keys of which clients must send one; empty admits all, on a loopback address only."""
    allowed_hosts: tuple[str, ...] = ()
    """Further host names that requests without a key may be addressed to."""
    seal_key: str | None = field(default=None, repr=False)
    """Signs the encrypted reasoning that clients keep for us; None is a key in the store."""
    limits: Limits = Limits()
    state: StateSettings = StateSettings()
    accounts: AccountSettings = AccountSettings()
    cache: CacheSettings = CacheSettings()
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
    telemetry: bool = False
    """Whether requests and calls of upstreams are traced and measured with OpenTelemetry."""
    check_stream: bool = False
    """Whether every stream is checked against the grammar of its API, and violations reported."""
    ui: UiSetting = "auto"
    """Whether there is a page at `/ui`; `auto` has it on a loopback address only."""
    ui_record: bool = False
    """Whether the page shows whole exchanges, which are then kept in memory."""
    config_path: Path | None = None
    """The configuration file, if one was read."""
    environ: Mapping[str, str] = field(factory=dict, repr=False)
    """Everything that was read; providers look for their keys here."""
    structured_output_by_front: Mapping[str, StructuredOutput] = field(factory=dict)
    """`structured_output` for single fronts, by their ids."""
    keep_alive_by_front: Mapping[str, KeepAlive] = field(factory=dict)
    """The heartbeat of silent streams in place of the front's own, by the ids of fronts."""
    prefill: Prefill = "continue"
    """Of a conversation that ends with the assistant, for models that do not continue an answer:
    add a message of the user's, or refuse."""
    model_prefix: str = ""
    """Put before models' names in lists for clients of Messages, and removed from requests."""
    max_choices: int = 1
    """The choices that a request of Chat Completions may ask for, each of them one call."""

    @property
    def needs_key(self) -> bool:
        """Whether clients must send a key."""
        configured = bool(self.client_api_keys or self.tables.clients)
        return configured or self.accounts.issued_keys

    @property
    def shares_state(self) -> bool:
        """Whether other processes use the same store."""
        return self.workers > 1 or self.state.backend in ("redis", "postgres")

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
