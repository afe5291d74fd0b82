"""Where the command line keeps conversations."""

from collections.abc import Mapping
from pathlib import Path

from llmcore.client.user_folders import data_dir
from llmcore.sessions.store import SessionStore


def open_store(environ: Mapping[str, str]) -> SessionStore:
    """Return the store that `LLMCORE_SESSIONS` names, or the user's own file.

    The variable holds the path of an SQLite file, or the URL of a Redis server.
    """
    place = environ.get("LLMCORE_SESSIONS", "")
    if place.startswith(("redis://", "rediss://", "unix://")):
        from llmcore.sessions.redis_store import RedisStore

        return RedisStore(place)
    from llmcore.sessions.sqlite_store import SQLiteStore

    if place:
        return SQLiteStore(Path(place).expanduser())
    return SQLiteStore(data_dir(environ, variable="LLMCORE_SESSIONS") / "sessions.db")
