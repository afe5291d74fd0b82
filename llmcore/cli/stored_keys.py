"""API keys that the command line keeps: in the system's keyring, or in a private file.

The file `keys.json` has, by the provider's variable, either the key or null for one in the
keyring, so that the keyring is opened only where it holds a key.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from llmcore.cli.user_config import write_private
from llmcore.client.user_folders import config_dir
from llmcore.schema.errors import ConfigurationError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

_SERVICE: Final = "llmcore"


def keys_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the file, which may not exist."""
    return config_dir(environ) / "keys.json"


def stored_names(environ: Mapping[str, str]) -> dict[str, bool]:
    """Return the variables whose keys are stored, each with whether it is in the keyring."""
    return {name: key is None for name, key in _read(environ).items()}


def with_stored_keys(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return *environ* with the stored keys of variables that it does not set.

    Raises ConfigurationError if the file or the keyring cannot be read.
    """
    stored = _read(environ)
    missing = {name: key for name, key in stored.items() if not environ.get(name, "").strip()}
    keys = {name: _from_keyring(name) if key is None else key for name, key in missing.items()}
    return {**environ, **{name: key for name, key in keys.items() if key}}


def store_key(environ: Mapping[str, str], name: str, key: str) -> str:
    """Store *key* for the variable *name* and return where: `the keyring`, or the file's path."""
    ring = _keyring()
    stored = _read(environ)
    if ring is not None:
        _on_keyring(lambda: ring.set_password(_SERVICE, name, key))
    write_private(keys_file(environ), {**stored, name: None if ring is not None else key})
    return str(keys_file(environ)) if ring is None else "the keyring"


def remove_key(environ: Mapping[str, str], name: str) -> bool:
    """Remove the key of the variable *name*; False if none is stored."""
    stored = _read(environ)
    if name not in stored:
        return False
    ring = _keyring()
    if stored.pop(name) is None and ring is not None:
        _on_keyring(lambda: ring.delete_password(_SERVICE, name))
    write_private(keys_file(environ), stored)
    return True


def _read(environ: Mapping[str, str]) -> dict[str, str | None]:
    path = keys_file(environ)
    try:
        stored = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path}: {type(error).__name__}") from None
    if not isinstance(stored, dict) or not all(
        isinstance(key, str | None) for key in stored.values()
    ):
        raise ConfigurationError(f"{path} is not a JSON object of keys: run `llmcore keys set`")
    return stored


def _keyring() -> "KeyringBackend | None":
    """Return the system's keyring; None without the package, or without a keyring."""
    try:
        import keyring
    except ImportError:
        return None
    ring = keyring.get_keyring()
    return ring if ring.priority >= 1 else None


def _from_keyring(name: str) -> str | None:
    ring = _keyring()
    if ring is None:
        message = f"the key of {name} is in a keyring that is not available: run `llmcore keys set`"
        raise ConfigurationError(message)
    passwords: list[str | None] = []
    _on_keyring(lambda: passwords.append(ring.get_password(_SERVICE, name)))
    return passwords[0]


def _on_keyring(action: Callable[[], None]) -> None:
    from keyring.errors import KeyringError

    try:
        action()
    except KeyringError as error:
        message = f"the keyring cannot be used: {type(error).__name__}"
        raise ConfigurationError(message, cause=error) from error
