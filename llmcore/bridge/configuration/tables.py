"""The tables of `openbridge.toml` that no variable can hold: upstreams, models, prices, clients.

    [[upstreams]]
    name = "anthropic-a"
    provider = "anthropic"
    key_file = "/run/secrets/anthropic-a"
    weight = 2

    [models."claude-sonnet-5"]
    targets = [
        ["anthropic-a/claude-sonnet-5", { upstream = "anthropic-b", model = "claude-sonnet-5" }],
        "bedrock/anthropic.claude-sonnet-5",
    ]
    aliases = ["sonnet"]

    [prices]
    "vllm/qwen3-32b" = { input = 0.1, output = 0.3 }

Targets are in the order in which they are tried; those of a list within the list are of one rank
and share its requests by their weights. Values are checked by `msgspec.convert`.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from attrs import evolve, field, fields_dict
from msgspec import Meta

from llmcore.bridge.configuration.document import ConfigDocument, Keys
from llmcore.catalog.model_info import Rates
from llmcore.routes.base_url import checked_base_url
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen

Name: TypeAlias = Annotated[str, Meta(min_length=1)]
_Weight: TypeAlias = Annotated[float, Meta(ge=0, le=1e6)]
_Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=1e9)]
_Count: TypeAlias = Annotated[int, Meta(ge=1, le=10**9)]

NOT_KEYS: Final = frozenset({"none", "null", "undefined", "nil", "false"})
"""Words that programs write in place of a missing key."""

_T = TypeVar("_T")

TABLES: Final = ("upstreams", "models", "prefixes", "prices", "clients")
"""The names of these tables."""


@frozen(kw_only=True)
class KeySource:
    """Where a key comes from: the file itself, another file, or the output of a command."""

    key: Name | None = field(default=None, repr=False)
    key_file: Name | None = None
    """Read again whenever it has changed."""
    key_command: tuple[Name, ...] = ()
    """A program and its arguments, run without a shell; the key is the first line it prints."""
    key_seconds: _Seconds = 300.0
    """How long the output of `key_command` is used before it runs again."""
    place: str = field(default="", eq=False)
    """The file and the line of its table, for errors."""

    @property
    def is_given(self) -> bool:
        """Whether a source is given."""
        return bool(self.key or self.key_file or self.key_command)


@frozen(kw_only=True)
class UpstreamSettings(KeySource):
    """One account or deployment of a provider."""

    name: Name
    provider: Name
    """An id of `llmcore providers`, or `openai-compatible`."""
    base_url: Name | None = None
    weight: _Weight = 1.0
    """Its share of the requests to its rank; a target can have a weight of its own."""
    max_running: _Count | None = None
    """The most responses under way at once, over all workers of one store."""
    requests_per_minute: _Count | None = None
    """The most requests a minute, over all workers of one store."""
    first_event_seconds: _Seconds | None = None
    idle_seconds: _Seconds | None = None
    variables: Mapping[str, str] = field(factory=dict, repr=False)
    """Further variables of the provider, such as its region."""
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    """Headers of every request for a response."""
    body: Mapping[str, Any] = field(factory=dict)
    """Fields of its body: objects are merged, other values replace those of the request."""

    @property
    def is_limited(self) -> bool:
        """Whether it is sent a bounded number of requests."""
        return bool(self.max_running or self.requests_per_minute)

    @property
    def account(self) -> str:
        """A digest of the address and the key, which differs for another account of its name."""
        source = (self.key, self.key_file, self.key_command, sorted(self.variables.items()))
        account = repr((self.provider, self.base_url, *source)).encode()
        return hashlib.blake2b(account, digest_size=6).hexdigest()


@frozen(kw_only=True)
class TargetSettings:
    """An upstream, or a provider of which there are several, and its name of the model."""

    upstream: Name
    model: Name
    weight: _Weight | None = None


_INSTEAD: Final = ("on_context_overflow", "on_content_filter")
"""Which other model gets a request that the targets of a name refuse."""


@frozen(kw_only=True)
class ModelSettings:
    """A name of a model that clients use."""

    ranks: tuple[tuple[TargetSettings, ...], ...]
    """The targets, the preferred ones first."""
    aliases: tuple[str, ...] = ()
    on_context_overflow: str | None = None
    """The model that gets requests which are too long for this one."""
    on_content_filter: str | None = None
    """The model that gets requests which this one's provider refuses for their content."""


@frozen(kw_only=True)
class PrefixSettings:
    """The upstream of all names that begin with a prefix."""

    upstream: Name
    model: Name | None = None
    strip: bool = False
    add: str = ""


@frozen(kw_only=True)
class ClientSettings(KeySource):
    """A client, by the key that it must send."""

    name: Name


@frozen(kw_only=True)
class FileTables:
    """Everything in the tables."""

    upstreams: tuple[UpstreamSettings, ...] = ()
    models: Mapping[str, ModelSettings] = field(factory=dict)
    prefixes: Mapping[str, PrefixSettings] = field(factory=dict)
    prices: Mapping[str, Rates] = field(factory=dict)
    """By `upstream/model` or `provider/model`."""
    clients: tuple[ClientSettings, ...] = ()

    def __bool__(self) -> bool:
        entries = (self.upstreams, self.models, self.prefixes, self.prices, self.clients)
        return any(entries)


_SourceT = TypeVar("_SourceT", bound=KeySource)


def read_tables(document: ConfigDocument, providers: frozenset[str]) -> FileTables:
    """Return the tables of *document*, where targets may also name one of *providers*.

    Raises ConfigurationError, with the line, for an invalid table.
    """
    read = _Tables(document)
    tables = FileTables(
        upstreams=read.entries("upstreams", UpstreamSettings),
        models={name: read.model(name) for name in read.names("models")},
        prefixes={
            name: read.table(("prefixes", name), PrefixSettings) for name in read.names("prefixes")
        },
        prices={name: read.table(("prices", name), Rates) for name in read.names("prices")},
        clients=read.entries("clients", ClientSettings),
    )
    _check_upstreams(document, tables, providers)
    read.check_keys("upstreams", tables.upstreams, required=False)
    read.check_keys("clients", tables.clients, required=True)
    _check_models(document, tables, providers)
    _check_prices(document, tables, providers)
    return tables


@frozen
class _Tables:
    document: ConfigDocument

    def names(self, table: str) -> Sequence[str]:
        """Return the keys of a table of tables."""
        entries = self.document.tables.get(table, {})
        if not isinstance(entries, dict):
            raise self.document.error((table,), "is not a table")
        return list(entries)

    def entries(self, table: str, kind: type[_SourceT]) -> tuple[_SourceT, ...]:
        """Return each entry of an array of tables."""
        entries = self.document.tables.get(table, [])
        if not isinstance(entries, list):
            raise self.document.error((table,), f"is not an array of tables: write [[{table}]]")
        return tuple(
            evolve(self.table((table, at), kind), place=self.document.place((table, at)))
            for at in range(len(entries))
        )

    def table(self, keys: Keys, kind: type[_T]) -> _T:
        """Return the table at *keys* as a *kind*."""
        known = [name for name in fields_dict(kind) if name != "place"]  # type: ignore[arg-type]
        self.document.refuse_unknown(keys, known)
        return self.converted(keys, self.value(keys), kind)

    def value(self, keys: Keys) -> Any:
        """Return the value at *keys*."""
        value: Any = self.document.tables
        for key in keys:
            value = value[key]
        return value

    def converted(self, keys: Keys, value: Any, kind: type[_T]) -> _T:
        """Return *value* as a *kind*."""
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            message, _, path = str(error).partition(" - at `$.")
            key = path.partition("`")[0].partition("[")[0]
            place = (*keys, key) if key else keys
            raise self.document.error(place, f"is invalid: {message}") from error

    def model(self, name: str) -> ModelSettings:
        """Return the model *name* of `[models]`."""
        keys = ("models", name)
        self.document.refuse_unknown(keys, ("targets", "aliases", *_INSTEAD))
        given = self.value(keys)
        targets = given.get("targets")
        if not isinstance(targets, list) or not targets:
            raise self.document.error((*keys, "targets"), "must be a list with a target in it")
        instead = {keyword: given.get(keyword) for keyword in _INSTEAD}
        for keyword, other in instead.items():
            if other is not None and not isinstance(other, str):
                raise self.document.error((*keys, keyword), "must be a text in quotes")
        return ModelSettings(
            ranks=tuple(self.rank((*keys, "targets"), target) for target in targets),
            aliases=self.converted((*keys, "aliases"), given.get("aliases", []), tuple[Name, ...]),
            **instead,
        )

    def rank(self, keys: Keys, value: Any) -> tuple[TargetSettings, ...]:
        """Return the targets of one rank."""
        targets = value if isinstance(value, list) else [value]
        if not targets:
            raise self.document.error(keys, "has an empty list: name a target in it")
        return tuple(self.target(keys, target) for target in targets)

    def target(self, keys: Keys, value: Any) -> TargetSettings:
        """Return one target: a table, or the text `upstream/model`."""
        if isinstance(value, str):
            upstream, slash, model = value.partition("/")
            if not (upstream and slash and model):
                raise self.document.error(keys, f"has {value!r}, which is not upstream/model")
            return TargetSettings(upstream=upstream, model=model)
        known = fields_dict(TargetSettings)
        strange = sorted(value.keys() - known.keys()) if isinstance(value, dict) else [repr(value)]
        if strange:
            what = f"a target is 'upstream/model' or {{ {', '.join(known)} }}"
            raise self.document.error(keys, f"has {', '.join(strange)}: {what}")
        return self.converted(keys, value, TargetSettings)

    def check_keys(
        self, table: str, sources: Sequence[UpstreamSettings | ClientSettings], *, required: bool
    ) -> None:
        """Refuse a name that two entries have, and more than one source of a key."""
        seen: set[str] = set()
        texts: set[str] = set()
        for place, source in enumerate(sources):
            keys: Keys = (table, place)
            if source.name in seen:
                raise self.document.error((*keys, "name"), f"{source.name!r} is used twice")
            seen.add(source.name)
            given = [bool(source.key), bool(source.key_file), bool(source.key_command)]
            if sum(given) > 1:
                message = "gives more than one of key, key_file and key_command"
                raise self.document.error(keys, message)
            if required and not any(given):
                raise self.document.error(keys, "needs a key, a key_file or a key_command")
            if source.key is None:
                continue
            if not may_be_key(source.key):
                message = "has characters that no HTTP header can have, or none"
                raise self.document.error((*keys, "key"), message)
            if looks_like_variable(source.key):
                raise self.document.error((*keys, "key"), NO_VARIABLES)
            if required and (source.key.lower() in NOT_KEYS or source.key in texts):
                message = "is the key of another client" if source.key in texts else "is not a key"
                raise self.document.error((*keys, "key"), message)
            texts.add(source.key)


NO_VARIABLES: Final = (
    "looks like the name of a variable, and none is replaced here: leave it out and set its own "
    "variable, or use a key_file or key_command where there is one"
)
"""Why a text that other programs replace by a variable cannot be a key."""
_VARIABLE: Final = re.compile(r"\$\{[^}]*\}|\$[A-Z_]\w*|%[A-Z_]\w*%|\{\{.*\}\}|os\.environ/\w+")


def looks_like_variable(key: str) -> bool:
    """Return whether *key* is what other programs replace by a variable of the environment.

    As a key it could be guessed.
    """
    return _VARIABLE.fullmatch(key.strip()) is not None


def may_be_key(text: str) -> bool:
    """Return whether an HTTP header can have *text* as its value, and it is not blank."""
    return text.isascii() and text.isprintable() and not text.isspace() and bool(text)


def price_fault(rates: Rates) -> str | None:
    """Return the name of a price that is below 0 or not finite; None if there is none."""
    prices = {name: getattr(rates, name) for name in fields_dict(Rates)}
    wrong = (
        name for name, price in prices.items() if price is not None and not 0 <= price < math.inf
    )
    return next(wrong, None)


_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""The names of upstreams, which are also parts of targets, headers and labels of metrics."""


def _check_upstreams(
    document: ConfigDocument, tables: FileTables, providers: frozenset[str]
) -> None:
    """Refuse names that targets and headers cannot have, unknown providers, and other addresses."""
    for place, upstream in enumerate(tables.upstreams):
        keys: Keys = ("upstreams", place)
        if not _NAME.fullmatch(upstream.name):
            message = f"is {upstream.name!r}: use letters, digits, '.', '_' and '-'"
            raise document.error((*keys, "name"), message)
        if upstream.provider not in providers:
            near = get_close_matches(upstream.provider.lower(), providers, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(providers))}"
            message = f"is {upstream.provider!r}, which is not a provider ({hint})"
            raise document.error((*keys, "provider"), message)
        if upstream.base_url is not None:
            try:
                checked_base_url(upstream.base_url)
            except ConfigurationError as error:
                raise document.error((*keys, "base_url"), f"is refused: {error}") from error
        for name, value in upstream.headers.items():
            if fault := _header_fault(name, value):
                raise document.error((*keys, "headers", name), fault)
        for name in _OF_GATEWAY:
            if name in upstream.body:
                raise document.error((*keys, "body", name), "is set by the gateway: leave it out")


_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A header's name, by RFC 9110, 5.6.2."""
_FRAMING: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
_OF_GATEWAY: Final = ("model", "stream")
"""Fields of a body by which the gateway chooses, charges and reads a response."""


def _header_fault(name: str, value: str) -> str | None:
    """Return why requests cannot have a header; None if they can."""
    if _HEADER.fullmatch(name) is None:
        return "is not the name of a header"
    if name.lower() in _FRAMING:
        return "is set by the HTTP client: leave it out"
    is_sent = all(" " <= char <= "~" or char == "\t" for char in value)
    return None if is_sent else "has characters that a header cannot have"


def _check_prices(document: ConfigDocument, tables: FileTables, providers: frozenset[str]) -> None:
    """Refuse prices of an upstream that does not exist, and those that are not amounts."""
    sellers = providers | {upstream.name for upstream in tables.upstreams}
    for name, rates in tables.prices.items():
        seller, _, model = name.partition("/")
        if not (seller and model):
            raise document.error(("prices", name), "is not upstream/model or provider/model")
        if seller not in sellers:
            known = ", ".join(upstream.name for upstream in tables.upstreams) or "a provider's id"
            message = f"names the upstream {seller!r}, which is not one of {known}"
            raise document.error(("prices", name), message)
        if wrong := price_fault(rates):
            raise document.error(("prices", name, wrong), "is not a price of 0 or more")


def _weight(target: TargetSettings, tables: FileTables) -> float:
    """Return the share of *target*: its own weight, or else that of its upstream.

    A target that names a provider has the weights of all upstreams of it together.
    """
    named = {upstream.name: upstream.weight for upstream in tables.upstreams}
    if target.upstream in named:
        return named[target.upstream] if target.weight is None else target.weight
    members = [member.weight for member in tables.upstreams if member.provider == target.upstream]
    return (1.0 if target.weight is None else target.weight) * (sum(members) if members else 1.0)


def _check_models(document: ConfigDocument, tables: FileTables, providers: frozenset[str]) -> None:
    """Refuse unknown upstreams, aliases that name two models, and overflow to the same model."""
    _check_targets(document, tables, providers)
    owners = _owners_of_names(document, tables)
    for name in tables.models:
        for keyword in _INSTEAD:
            _check_instead(document, tables, owners, name, keyword)


def _check_targets(document: ConfigDocument, tables: FileTables, providers: frozenset[str]) -> None:
    """Refuse targets at unknown upstreams, and models without one that has a weight."""
    named = {name for upstream in tables.upstreams for name in (upstream.name, upstream.provider)}
    aimed = [
        (("models", name, "targets"), target.upstream)
        for name, model in tables.models.items()
        for rank in model.ranks
        for target in rank
    ]
    aimed += [(("prefixes", at, "upstream"), rule.upstream) for at, rule in tables.prefixes.items()]
    for keys, upstream in aimed:
        if upstream not in named | providers:
            known = f"one of {', '.join(sorted(named))}, or " if named else ""
            message = f"names the upstream {upstream!r}, which is not {known}a provider's id"
            raise document.error(keys, message)
    for name, model in tables.models.items():
        if not any(_weight(target, tables) for rank in model.ranks for target in rank):
            message = "has no target with a weight above 0, so that none would be asked"
            raise document.error(("models", name, "targets"), message)


def _owners_of_names(document: ConfigDocument, tables: FileTables) -> Mapping[str, str]:
    """Return the model of each name and alias; refuse an alias that is another model's name."""
    owners = {name: name for name in tables.models}
    for name, model in tables.models.items():
        for alias in model.aliases:
            if owners.setdefault(alias, name) != name:
                message = f"has {alias!r}, which is a name of {owners[alias]!r} already"
                raise document.error(("models", name, "aliases"), message)
    return owners


def _check_instead(
    document: ConfigDocument, tables: FileTables, owners: Mapping[str, str], name: str, keyword: str
) -> None:
    """Refuse another model without an owner in *owners*, and one that leads back to the same."""
    keys: Keys = ("models", name, keyword)
    seen, other = {name}, getattr(tables.models[name], keyword)
    if other is not None and owners.get(other, name) == name:
        raise document.error(keys, f"names {other!r}, which is not another model of this file")
    while other is not None and (owner := owners.get(other)) is not None:
        if owner in seen:
            raise document.error(keys, f"leads back to {owner!r}: no model may come twice")
        seen.add(owner)
        other = getattr(tables.models[owner], keyword)
