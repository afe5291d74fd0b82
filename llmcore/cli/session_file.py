"""Where the command line keeps conversations."""

import sys
from collections.abc import Mapping
from pathlib import Path

from llmcore.schema.errors import ConfigurationError
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

    return SQLiteStore(Path(place).expanduser() if place else data_dir(environ) / "sessions.db")


def data_dir(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the folder for what the user keeps: `llmcore` in `XDG_DATA_HOME`.

    Without that variable (a relative path counts as absent, as the XDG specification says) it
    is in the platform's own place for data.
    """
    xdg = Path(environ.get("XDG_DATA_HOME", ""))
    if xdg.is_absolute():
        return xdg / "llmcore"
    if platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return (Path(local) if local else _home(environ) / "AppData/Local") / "llmcore" / "Data"
    if platform == "darwin":
        return _home(environ) / "Library" / "Application Support" / "llmcore"
    return _home(environ) / ".local" / "share" / "llmcore"


def _home(environ: Mapping[str, str]) -> Path:
    named = environ.get("HOME") or environ.get("USERPROFILE")
    if named:
        return Path(named)
    try:
        return Path.home()
    except RuntimeError as error:
        message = "there is no home directory to keep sessions in: set LLMCORE_SESSIONS"
        raise ConfigurationError(message, cause=error) from error
