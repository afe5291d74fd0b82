"""Maps the model names that clients use to providers and models.

A model map is a JSON file:

    {
      "models": {
        "gpt-5.5": "openrouter/openai/gpt-5.5",
        "fast": {"provider": "groq", "model": "llama-3.3-70b-versatile"}
      },
      "prefixes": {
        "claude-": {"provider": "anthropic"},
        "gpt-": {"provider": "openrouter", "add": "openai/"}
      },
      "otherwise": "pass"
    }

A name in `models` wins, then the longest prefix. `otherwise` is `pass` (the upstream gets the
name as it is; the default), `refuse`, or a target that takes every other name. A target
written as a text is `provider/model`.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

from attrs import evolve, field

from llmcore.bridge.configuration.document import data_of
from llmcore.bridge.configuration.settings import OTHERWISE_WORDS, GatewaySettings
from llmcore.bridge.configuration.tables import FileTables, ModelSettings, TargetSettings
from llmcore.schema import json
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue

_LONG_CONTEXT: Final = "[1m]"
_DATE: Final = re.compile(r"-20[0-9]{6}$")


@frozen
class UpstreamModel:
    """An upstream and its own name of the model."""

    provider: str
    """An upstream of the configuration file, or a provider."""
    model: str
    weight: float = 1.0
    """Its share of the requests to its rank."""

    @property
    def label(self) -> str:
        """Its name in logs and headers."""
        return f"{self.provider}/{self.model}"


@frozen
class ModelPool:
    """The targets of one name."""

    ranks: tuple[tuple[UpstreamModel, ...], ...]
    """Ranks of targets, the preferred rank first; the targets of one share requests by weight."""
    on_context_overflow: str | None = None
    """The name of the model that gets requests which are too long for this one."""
    on_content_filter: str | None = None
    """The name of the model that gets requests which this one refuses for their content."""

    @property
    def others(self) -> tuple[str, ...]:
        """The names of models that may get a request instead."""
        return tuple(filter(None, (self.on_context_overflow, self.on_content_filter)))

    @property
    def first(self) -> UpstreamModel:
        """The first target."""
        return self.targets[0]

    @cached_property
    def targets(self) -> tuple[UpstreamModel, ...]:
        """All of them, the preferred ones first."""
        return tuple(target for rank in self.ranks for target in rank)


@frozen(kw_only=True)
class Prefix:
    """A rule for all names that begin with `prefix`."""

    prefix: str
    provider: str
    model: str | None = None
    """The one model for all of them; None keeps the name."""
    strip: bool = False
    """Whether the prefix is removed from the upstream's name."""
    add: str = ""
    """The text that is put before the upstream's name."""

    def target(self, name: str) -> UpstreamModel:
        """Return the target of *name*, which begins with the prefix."""
        if self.model is not None:
            return UpstreamModel(self.provider, self.model)
        kept = name[len(self.prefix) :] if self.strip else name
        return UpstreamModel(self.provider, self.add + kept)


@frozen(kw_only=True)
class ModelMap:
    """Maps a client's name of a model to its targets."""

    pools: Mapping[str, ModelPool] = field(factory=dict)
    """The targets of the names that it has, aliases included."""
    prefixes: tuple[Prefix, ...] = ()
    """The longest first."""
    upstream: str
    """The provider of names that pass as they are."""
    groups: Mapping[str, tuple[tuple[str, float], ...]] = field(factory=dict)
    """The upstreams of each provider that the configuration file has, with their weights."""
    otherwise: UpstreamModel | None = None
    """The target of all other names; None lets them pass, or refuses them."""
    passes: bool = True

    def pool(self, name: str) -> ModelPool | None:
        """Return the targets of *name*; None if it has none.

        Names that no rule changes pass without `[1m]`, which no provider accepts.
        """
        plain, undated = _spellings(name)
        for known in (plain, undated):
            if known in self.pools:
                return self._expanded(self.pools[known])
        target = self._target_of_other(plain)
        return None if target is None else self._expanded(ModelPool(((target,),)))

    def _expanded(self, pool: ModelPool) -> ModelPool:
        """Return *pool* with the upstreams of a provider in place of its id."""
        if not any(target.provider in self.groups for target in pool.targets):
            return pool
        return evolve(pool, ranks=tuple(self._members(rank) for rank in pool.ranks))

    def _members(self, rank: tuple[UpstreamModel, ...]) -> tuple[UpstreamModel, ...]:
        return tuple(
            evolve(target, provider=name, weight=target.weight * weight)
            for target in rank
            for name, weight in self.groups.get(target.provider, ((target.provider, 1.0),))
        )

    @property
    def first_upstream(self) -> str:
        """The upstream of names that pass; the first of several."""
        return self.groups.get(self.upstream, ((self.upstream, 1.0),))[0][0]

    @property
    def names(self) -> list[str]:
        """Every name that the map has, aliases included."""
        return list(self.pools)

    def _target_of_other(self, name: str) -> UpstreamModel | None:
        """Return the one target of a *name* that the map does not have; None for no target."""
        for rule in self.prefixes:
            if name.startswith(rule.prefix):
                return rule.target(name)
        if self.otherwise is not None:
            return self.otherwise
        return UpstreamModel(self.upstream, name) if self.passes else None

    @property
    def providers(self) -> frozenset[str]:
        """Every provider that the map names."""
        targets = [target for pool in self.pools.values() for target in pool.targets]
        targets += [self.otherwise] if self.otherwise else []
        named = {target.provider for target in targets} | {rule.provider for rule in self.prefixes}
        named |= {self.upstream} if self.passes else set()
        members = {name for group in self.groups.values() for name, _ in group}
        return frozenset((named - self.groups.keys()) | members)


def _spellings(name: str) -> tuple[str, str]:
    """Return *name* without `[1m]`, and also without the date of a snapshot.

    Clients ask for a long context by `[1m]`.
    """
    plain = name.removesuffix(_LONG_CONTEXT)
    return plain, _DATE.sub("", plain)


def read_model_map(path: Path | None, upstream: str) -> ModelMap:
    """Return the map in the file *path*; without one, every name passes to *upstream*.

    Raises ConfigurationError, naming the place in the file, for invalid entries.
    """
    if path is None:
        return ModelMap(upstream=upstream)
    data = data_of(path, "the model map")
    try:
        return model_map_from(json.loads(data), upstream)
    except (ValueError, ConfigurationError) as error:
        raise ConfigurationError(f"the model map {path}: {error}", cause=error) from error


def model_map_of(settings: GatewaySettings) -> ModelMap:
    """Return the map of *settings*: of their tables, and of the file that they name."""
    tables = settings.tables
    base = read_model_map(settings.model_map_path, settings.upstream)
    if settings.otherwise is not None:
        word = settings.otherwise
        otherwise = None if word in OTHERWISE_WORDS else _target(word, "otherwise")
        base = evolve(base, otherwise=otherwise, passes=word == "pass")
    if not tables:
        return base
    weights = {upstream.name: upstream.weight for upstream in tables.upstreams}
    rules = [
        Prefix(
            prefix=prefix, provider=rule.upstream, model=rule.model, strip=rule.strip, add=rule.add
        )
        for prefix, rule in tables.prefixes.items()
    ]
    pools = {
        name: _pool(model, weights)
        for first, model in tables.models.items()
        for name in (first, *model.aliases)
    }
    prefixes = (*base.prefixes, *sorted(rules, key=lambda rule: -len(rule.prefix)))
    return evolve(base, pools={**base.pools, **pools}, prefixes=prefixes, groups=_groups(tables))


def _pool(model: ModelSettings, weights: Mapping[str, float]) -> ModelPool:
    def target(settings: TargetSettings) -> UpstreamModel:
        weight = settings.weight
        if weight is None:
            weight = weights.get(settings.upstream, 1.0)
        return UpstreamModel(settings.upstream, settings.model, weight)

    ranks = tuple(tuple(map(target, rank)) for rank in model.ranks)
    return ModelPool(ranks, model.on_context_overflow, model.on_content_filter)


def _groups(tables: FileTables) -> Mapping[str, tuple[tuple[str, float], ...]]:
    """Return the upstreams of each provider, unless one of the upstreams has its name."""
    names = {upstream.name for upstream in tables.upstreams}
    groups: dict[str, tuple[tuple[str, float], ...]] = {}
    for upstream in tables.upstreams:
        if upstream.provider not in names:
            groups[upstream.provider] = (
                *groups.get(upstream.provider, ()),
                (upstream.name, upstream.weight),
            )
    return groups


def model_map_from(data: JsonValue, upstream: str) -> ModelMap:
    """Return the map in the JSON value *data*; ConfigurationError if it is invalid."""
    given = _object(data, "the file", {"models", "prefixes", "otherwise"})
    models = _mapping(given.get("models", {}), "models")
    prefixes = _mapping(given.get("prefixes", {}), "prefixes")
    rules = [_prefix(prefix, rule) for prefix, rule in prefixes.items()]
    word = given.get("otherwise", "pass")
    return ModelMap(
        pools={
            name: ModelPool(((_target(value, f"models.{name}"),),))
            for name, value in models.items()
        },
        prefixes=tuple(sorted(rules, key=lambda rule: -len(rule.prefix))),
        upstream=upstream,
        otherwise=None if word in OTHERWISE_WORDS else _target(word, "otherwise"),
        passes=word == "pass",
    )


def _target(value: JsonValue, where: str) -> UpstreamModel:
    if isinstance(value, str):
        provider, slash, model = value.partition("/")
        if not (provider and slash and model):
            raise ConfigurationError(f"{where} is {value!r}, not provider/model")
        return UpstreamModel(provider, model)
    given = _object(value, where, {"provider", "model"})
    return UpstreamModel(_text(given, "provider", where), _text(given, "model", where))


def _prefix(prefix: str, value: JsonValue) -> Prefix:
    where = f"prefixes.{prefix}"
    given = _object(value, where, {"provider", "model", "strip", "add"})
    strip = given.get("strip", False)
    if not isinstance(strip, bool):
        raise ConfigurationError(f"{where}.strip is neither true nor false")
    return Prefix(
        prefix=prefix,
        provider=_text(given, "provider", where),
        model=_text(given, "model", where) if "model" in given else None,
        strip=strip,
        add=_text(given, "add", where) if "add" in given else "",
    )


def _mapping(value: JsonValue, where: str) -> Mapping[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{where} is not a JSON object")
    return value


def _object(value: JsonValue, where: str, known: set[str]) -> Mapping[str, JsonValue]:
    given = _mapping(value, where)
    if unknown := sorted(given.keys() - known):
        names = ", ".join(sorted(known))
        raise ConfigurationError(f"{where} has the unknown {', '.join(unknown)} (known: {names})")
    return given


def _text(given: Mapping[str, JsonValue], name: str, where: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"{where}.{name} must be a text")
    return value
