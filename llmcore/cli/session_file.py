"""Where the command line keeps conversations."""

from collections.abc import Mapping

from llmcore.client.user_folders import data_dir, named_path
from llmcore.schema.errors import ConfigurationError
from llmcore.sessions.store import SessionStore

_VARIABLE = "LLMCORE_SESSIONS"


def open_store(environ: Mapping[str, str]) -> SessionStore:
    """Return the store that `LLMCORE_SESSIONS` names, or the user's own file.

    The variable holds the path of an SQLite file, or the URL of a Redis server.
    ConfigurationError for what is neither.
    """
    place = environ.get(_VARIABLE, "").strip()
    scheme, is_url, _ = place.partition("://")
    if scheme.lower() in ("redis", "rediss", "unix") and is_url:
        from llmcore.sessions.redis_store import RedisStore

        return RedisStore(place)
    if is_url:
        message = f"{_VARIABLE} is no file and no URL of a Redis server, such as redis://localhost"
        raise ConfigurationError(message)
    from llmcore.sessions.sqlite_store import SQLiteStore

    if place:
        return SQLiteStore(named_path(place, _VARIABLE))
    return SQLiteStore(data_dir(environ, variable=_VARIABLE) / "sessions.db")
