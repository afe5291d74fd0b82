"""The store that the settings ask for."""

from llmcore.bridge.config import Settings
from llmcore.bridge.memory_store import MemoryStore
from llmcore.bridge.sqlite_store import SqliteStore, data_dir
from llmcore.bridge.store import Store


def store_for(settings: Settings) -> Store:
    """Return the store; nothing is opened yet. ConfigurationError if a part is missing."""
    state = settings.state
    match state.backend:
        case "sqlite":
            path = state.path or data_dir(settings.environ) / "openbridge.sqlite3"
            return SqliteStore(path, ttl_s=state.ttl_s)
        case "memory":
            return MemoryStore(
                ttl_s=state.ttl_s, max_entries=state.max_entries, max_bytes=state.max_bytes
            )
        case "redis":
            from llmcore.bridge.redis_store import RedisStore

            return RedisStore(state.redis_url or "", ttl_s=state.ttl_s)
