"""The folders of a user on this machine: caches, settings, data; and private files.

A relative path in an `XDG_...` variable counts as absent, by the XDG specification.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import evolve

from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen

_NAME = "llmcore"


@frozen
class _Kind:
    """A kind of folder and its location on each platform."""

    what: str
    variable: str
    """Names the folder itself, or is named in the error of a user without a home directory."""
    xdg_variable: str
    unix: str
    mac: str
    windows_variable: str
    windows: str
    windows_folder: str


_CACHE: Final = _Kind(
    *("a cache", "LLMCORE_CACHE_DIR", "XDG_CACHE_HOME", ".cache", "Library/Caches"),
    *("LOCALAPPDATA", "AppData/Local", "llmcore/Cache"),
)
_CONFIG: Final = _Kind(
    *("a login", "LLMCORE_CONFIG_DIR", "XDG_CONFIG_HOME", ".config"),
    *("Library/Application Support", "APPDATA", "AppData/Roaming", "llmcore"),
)
_DATA: Final = _Kind(
    *("data", "XDG_DATA_HOME", "XDG_DATA_HOME", ".local/share", "Library/Application Support"),
    *("LOCALAPPDATA", "AppData/Local", "llmcore/Data"),
)


def cache_dir(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the folder for caches. It may not exist yet.

    `LLMCORE_CACHE_DIR` names it; else it is `llmcore` in `XDG_CACHE_HOME`, or in the platform's own
    place for caches.
    """
    return _own_folder(_CACHE, environ, platform)


def config_dir(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the folder of settings and logins. It may not exist yet.

    `LLMCORE_CONFIG_DIR` names it; else it is `llmcore` in `XDG_CONFIG_HOME`, or in the platform's
    own place for settings.
    """
    return _own_folder(_CONFIG, environ, platform)


def data_dir(
    environ: Mapping[str, str], platform: str = sys.platform, *, variable: str = "XDG_DATA_HOME"
) -> Path:
    """Return the folder for the user's data. It may not exist yet.

    It is `llmcore` in `XDG_DATA_HOME`, or in the platform's own place for data. *variable* is named
    in the error of a user without a home directory.
    """
    return _folder(evolve(_DATA, variable=variable), environ, platform)


def named_path(text: "str | os.PathLike[str]", variable: str) -> Path:
    """Return the path that *variable* holds, with `~` and `~user` expanded.

    Raises ConfigurationError for an unknown user.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        message = f"{variable} has an unknown home directory: {str(text)!r}"
        raise ConfigurationError(message, cause=error) from error


def _own_folder(kind: _Kind, environ: Mapping[str, str], platform: str) -> Path:
    """Return the folder that the variable of *kind* names, or else that of the platform."""
    own = environ.get(kind.variable)
    return named_path(own, kind.variable) if own else _folder(kind, environ, platform)


def _folder(kind: _Kind, environ: Mapping[str, str], platform: str) -> Path:
    xdg = Path(environ.get(kind.xdg_variable, ""))
    if xdg.is_absolute():
        return xdg / _NAME
    if platform == "win32":
        named = environ.get(kind.windows_variable)
        root = Path(named) if named else _home(environ, kind) / kind.windows
        return root / kind.windows_folder
    return _home(environ, kind) / (kind.mac if platform == "darwin" else kind.unix) / _NAME


def _home(environ: Mapping[str, str], kind: _Kind) -> Path:
    named = environ.get("HOME") or environ.get("USERPROFILE")
    if named:
        return Path(named)
    try:
        return Path.home()
    except RuntimeError as error:
        message = f"there is no home directory for {kind.what}: set {kind.variable}"
        raise ConfigurationError(message, cause=error) from error


def write_for_owner(path: Path, data: bytes) -> None:
    """Write *data* atomically to a file that only its owner can read. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
