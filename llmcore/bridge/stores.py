"""The store that the settings ask for."""

from pathlib import Path

from llmcore.bridge.config import Settings
from llmcore.bridge.memory_store import MemoryStore
from llmcore.bridge.sqlite_store import SqliteStore
from llmcore.bridge.store import Store
from llmcore.client.user_folders import data_dir


def store_for(settings: Settings) -> Store:
    """Return the store; nothing is opened yet. ConfigurationError if a part is missing."""
    state = settings.state
    match state.backend:
        case "sqlite":
            return SqliteStore(state.path or _default_path(settings), ttl_s=state.ttl_s)
        case "memory":
            return MemoryStore(
                ttl_s=state.ttl_s, max_entries=state.max_entries, max_bytes=state.max_bytes
            )
        case "redis":
            from llmcore.bridge.redis_store import RedisStore

            return RedisStore(state.redis_url or "", ttl_s=state.ttl_s)


def _default_path(settings: Settings) -> Path:
    return data_dir(settings.environ, variable="OPENBRIDGE_STATE_PATH") / "openbridge.sqlite3"
