"""The effective settings as text, without secrets: `openbridge config show`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Final

from attrs import asdict

from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.configuration.tables import KeySource, ModelSettings, PrefixSettings
from llmcore.bridge.configuration.values import SECTIONS, Values, file_keys
from llmcore.bridge.state.stores import effective_state
from llmcore.schema import json
from llmcore.schema.json import present

SECRETS: Final = frozenset(
    {"CLIENT_API_KEY", "SEAL_KEY", "UPSTREAM_API_KEY", "ADMIN_KEY", "REDIS_URL", "POSTGRES_URL"}
)
"""Settings that hold a secret, or an address with one."""
_HIDDEN: Final = "[set]"


def shown(settings: GatewaySettings, values: Values) -> str:
    """Return *settings* in the form of the file, with the origin of each of *values*."""
    shown_values = {
        **values.results,
        **effective_state(settings),
        "UPSTREAM": settings.upstream,
        "HOST": settings.host,
        "OTHERWISE": settings.otherwise or (None if settings.model_map_path else "pass"),
    }
    lines: list[str] = []
    for section, names in SECTIONS.items():
        if names:
            lines += [
                f"[{section}]",
                *(_setting(name, shown_values.get(name), values) for name in names),
            ]
            lines.append("")
    return "\n".join([*lines, *_tables(settings)]).rstrip()


def _setting(name: str, value: object, values: Values) -> str:
    key, given = file_keys(name)[1], values.given(name)
    origin = values.label(name) if given else "default"
    if name in SECRETS:
        value = _HIDDEN if given else None
    if value is None:
        return f"# {key} is not set"
    line = f"{key} = {_toml(value)}"
    return f"{line:<44}  # {origin}"


def _toml(value: object) -> str:
    """Return *value* as TOML writes it."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case tuple() | list():
            return f"[{', '.join(map(_toml, value))}]"
        case Mapping():
            return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
        case str() | Path() | tzinfo():
            return json.dumps(str(value)).decode()
        case _:
            raise TypeError(type(value).__name__)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _tables(settings: GatewaySettings) -> Iterator[str]:
    tables = settings.tables
    for upstream in tables.upstreams:
        fields = {
            "name": upstream.name,
            "provider": upstream.provider,
            "base_url": upstream.base_url,
            **_key_source(upstream),
            "weight": upstream.weight,
            "max_running": upstream.max_running,
            "requests_per_minute": upstream.requests_per_minute,
            "first_event_seconds": upstream.first_event_seconds,
            "idle_seconds": upstream.idle_seconds,
            "variables": dict.fromkeys(upstream.variables, _HIDDEN) or None,
            "headers": dict.fromkeys(upstream.headers, _HIDDEN) or None,
            "body": upstream.body or None,
        }
        yield from _table("[[upstreams]]", fields)
    for name, model in tables.models.items():
        yield from _table(f"[models.{_key(name)}]", _model(model))
    for prefix, rule in tables.prefixes.items():
        yield from _table(f"[prefixes.{_key(prefix)}]", _prefix(rule))
    if tables.prices:
        prices = {_key(name): present(asdict(price)) for name, price in tables.prices.items()}
        yield from _table("[prices]", prices)
    for client in tables.clients:
        yield from _table("[[clients]]", {"name": client.name, **_key_source(client)})


def _table(header: str, fields: Mapping[str, object]) -> Sequence[str]:
    given = [f"{name} = {_toml(value)}" for name, value in fields.items() if value is not None]
    return [header, *given, ""]


def _key_source(source: KeySource) -> Mapping[str, object]:
    if source.key_command:
        return {"key_command": source.key_command, "key_seconds": source.key_seconds}
    return {"key": _HIDDEN if source.key else None, "key_file": source.key_file}


def _model(model: ModelSettings) -> Mapping[str, object]:
    ranks = [
        [
            {"upstream": target.upstream, "model": target.model}
            | ({} if target.weight is None else {"weight": target.weight})
            for target in rank
        ]
        for rank in model.ranks
    ]
    return {
        "targets": ranks,
        "aliases": model.aliases or None,
        "on_context_overflow": model.on_context_overflow,
        "on_content_filter": model.on_content_filter,
    }


def _prefix(rule: PrefixSettings) -> Mapping[str, object]:
    return {
        "upstream": rule.upstream,
        "model": rule.model,
        "strip": rule.strip,
        "add": rule.add or None,
    }
