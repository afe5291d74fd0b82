"""The stores that the settings name: of responses, of accounts, and the journal."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from llmcore.bridge.configuration.settings import GatewaySettings, StateBackend
from llmcore.bridge.spend.journal import SpendJournal
from llmcore.bridge.state.ledger import Ledger
from llmcore.bridge.state.sqlite import SqliteResponseStore
from llmcore.bridge.state.store import ResponseStore
from llmcore.client.user_folders import data_dir
from llmcore.schema.errors import ConfigurationError

_MIB: Final = 1024 * 1024
_BOUNDS: Final[Mapping[StateBackend, tuple[int, int]]] = {
    "memory": (10_000, 256 * _MIB),
    "sqlite": (100_000, 4096 * _MIB),
}
"""The responses, and their bytes, that a backend keeps if the settings set no bounds."""


def store_for(settings: GatewaySettings) -> ResponseStore:
    """Return the store, not opened yet; ConfigurationError if a package is missing."""
    state = settings.state
    most, most_bytes = _BOUNDS.get(state.backend, (0, 0))
    entries, size = state.max_entries or most, state.max_bytes or most_bytes
    match state.backend:
        case "sqlite" | "memory":
            kept = state.backend == "sqlite"
            return SqliteResponseStore(
                (state.path or _default_path(settings)) if kept else None,
                ttl_s=state.ttl_s,
                max_entries=entries,
                max_bytes=size,
                setting=settings.place_of("STATE_PATH"),
            )
        case "redis":
            from llmcore.bridge.state.redis import RedisResponseStore

            place = settings.place_of("REDIS_URL")
            return RedisResponseStore(state.redis_url or "", ttl_s=state.ttl_s, setting=place)
        case "postgres":
            from llmcore.bridge.state.postgres import PostgresResponseStore

            place = settings.place_of("POSTGRES_URL")
            return PostgresResponseStore(state.postgres_url or "", ttl_s=state.ttl_s, setting=place)


def effective_state(settings: GatewaySettings) -> Mapping[str, object]:
    """Return the settings that depend on the backend where they are not set, by their variables."""
    state = settings.state
    most, most_bytes = _BOUNDS.get(state.backend, (None, None))
    path = _default_path(settings) if state.backend == "sqlite" else None
    return {
        "STATE_PATH": state.path or path,
        "STATE_MAX_ENTRIES": state.max_entries or most,
        "STATE_MAX_BYTES": state.max_bytes or most_bytes,
    }


def place_of_state(settings: GatewaySettings) -> str:
    """Return where the state is, for people; without credentials."""
    state = settings.state
    match state.backend:
        case "sqlite":
            return str(state.path or _default_path(settings))
        case "memory":
            return "memory, until the gateway ends"
        case "redis":
            return f"Redis at {urlsplit(state.redis_url or '').hostname}"
        case "postgres":
            return f"PostgreSQL at {urlsplit(state.postgres_url or '').hostname}"


def ledger_for(settings: GatewaySettings) -> Ledger:
    """Return the store of accounts; nothing is opened yet.

    Beside a SQLite file of responses it is a file of its own, so that large records do not delay
    reservations: `openbridge-accounts.sqlite3` beside `openbridge.sqlite3`.
    """
    from llmcore.bridge.state import ledger_sql

    state = settings.state
    match state.backend:
        case "redis":
            from llmcore.bridge.state.ledger_redis import RedisLedger

            return RedisLedger(state.redis_url or "", setting=settings.place_of("REDIS_URL"))
        case "postgres":
            url, setting = state.postgres_url or "", settings.place_of("POSTGRES_URL")
            return ledger_sql.PostgresLedger(url, setting=setting)
        case "memory":
            path = None
        case "sqlite":
            path = _accounts_path(settings)
    return ledger_sql.SqliteLedger(path, setting=settings.place_of("STATE_PATH"))


def journal_for(settings: GatewaySettings) -> SpendJournal | None:
    """Return the journal of settlements that the ledger does not have yet; None for `memory`.

    Its files are in the folder of the accounts' file, also for Redis and PostgreSQL: their names
    then contain a digest of the server's address, which all of its gateways have in common.
    """
    state = settings.state
    if state.backend == "memory":
        return None
    try:
        path = _accounts_path(settings)
    except ConfigurationError:  # no folder for files; only the journal would need one
        return None
    address = state.redis_url if state.backend == "redis" else state.postgres_url
    if state.backend == "sqlite" or address is None:
        return SpendJournal(path.parent, path.stem)
    digest = hashlib.sha256(address.encode()).hexdigest()[:12]
    return SpendJournal(path.parent, f"{path.stem}-{state.backend}-{digest}")


def _accounts_path(settings: GatewaySettings) -> Path:
    beside = settings.state.path or _default_path(settings)
    return beside.with_name(f"{beside.stem}-accounts{beside.suffix}")


def _default_path(settings: GatewaySettings) -> Path:
    folder = data_dir(settings.environ, variable=settings.place_of("STATE_PATH"))
    return folder / "openbridge.sqlite3"
